// Times the rules of a frame: tracked objects that walk through zones and across lines.
#include <cmath>

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "core/events/detector.hpp"

namespace regions {
namespace {

constexpr Size kPicture = {1920, 1080};

// Zones with eight corners that cover the picture, so that each object is in one or two of them.
events::Rules some_rules(int zones, int lines) {
  events::Rules rules;
  rules.size = kPicture;
  for (int i = 0; i < zones; ++i) {
    events::Zone zone;
    zone.id = std::to_string(i);
    zone.hysteresis = 4;
    zone.hysteresis_time = 0.2;
    zone.loitering_time = zone.stopped_time = 5;
    zone.occupancy = true;
    auto& ring = zone.rings.emplace_back();
    for (int corner = 0; corner < 8; ++corner) {
      const double angle = corner * 0.785398;
      ring.push_back({200 + i * 397 % 1500 + 200 * std::cos(angle),
                      200 + i * 211 % 700 + 200 * std::sin(angle)});
    }
    rules.zones.push_back(zone);
  }
  for (int i = 0; i < lines; ++i) {
    events::Line line;
    line.id = std::to_string(i);
    line.points = {{i * 173.0, 0}, {1900 - i * 91.0, 1080}};
    rules.lines.push_back(line);
  }
  return rules;
}

std::vector<events::Object> objects_at(int count, int frame) {
  std::vector<events::Object> objects(static_cast<size_t>(count));
  uint32_t id = 0;
  for (events::Object& object : objects) {
    object.id = ++id;
    object.track = id;
    const double x = std::fmod(id * 137.5 + frame * (1 + id % 5), 1880);
    const double y = std::fmod(id * 71.25 + frame * (id % 3), 1000);
    object.box = {x, y, x + 40, y + 80};
  }
  return objects;
}

void measure(int object_count, int zones, int lines, bool json) {
  events::EventDetector detector;
  detector.set_rules(some_rules(zones, lines));
  constexpr int kFrames = 1000;
  std::vector<std::vector<events::Object>> frames;
  for (int i = 0; i < kFrames; ++i) frames.push_back(objects_at(object_count, i));
  size_t events = 0;
  int64_t time = 0;
  const Timing timing = time_calls(1,
                                   [&](int) {
                                     for (const auto& objects : frames) {
                                       detector.update({time += 40000000, objects, true, {}, {}});
                                       events += detector.events().size();
                                     }
                                   },
                                   {20, 2});
  Row row("events", json);
  row.add("objects", object_count).add("zones", zones).add("lines", lines);
  row.add("us", timing.median / kFrames, 3).add("cpu_us", timing.cpu_median / kFrames, 3);
  row.add("runs", timing.runs).remark(std::to_string(events) + " events").print();
}

int run(int argc, char** argv) {
  bool json = false;
  std::vector<int> objects = {10, 100, 1000}, zones = {1, 20, 100};
  int lines = 5;
  parse(argc, argv, "[OPTION…]\nTimes the rules of a frame.",
        {{"--json", nullptr, "print one JSON object per line", into(json)},
         {"--objects", "LIST", "objects per frame (default: 10,100,1000)", into(objects)},
         {"--zones", "LIST", "default: 1,20,100", into(zones)},
         {"--lines", "N", "default: 5", into(lines)}});
  for (const int object_count : objects) {
    for (const int zone_count : zones) measure(object_count, zone_count, lines, json);
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) { return regions::run_program("events", regions::run, argc, argv); }
