// Times regionevents: the rules of a frame alone, and with reading and writing the metadata.
// Tracked objects walk through zones and across lines.
#include <cmath>

#include "bench/programs/program.hpp"
#include "bench/programs/row.hpp"
#include "core/events/detector.hpp"
#include "plugin/events/event_structures.hpp"
#include "plugin/events/frame_reader.hpp"
#include "plugin/events/shape_marks.hpp"

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
    const double x = std::fmod(id * 137.5 + frame * 0.5 * (id % 5), 1880);
    const double y = std::fmod(id * 71.25 + frame * 0.5 * (id % 3), 1000);
    object.box = {x, y, x + 40, y + 80};
  }
  return objects;
}

constexpr Effort kEffort = {4000, 3, 500};  // each call is one frame
constexpr int64_t kFrameTime = 40000000;    // ns

void print(const char* part, int objects, int zones, int lines, const Timing& timing, size_t events,
           bool json) {
  Row row("events", json);
  row.add("part", part).add("objects", objects).add("zones", zones).add("lines", lines);
  row.add("us", timing.median, 3).add("cpu_us", timing.cpu_median, 3);
  row.add("runs", timing.runs).remark(std::to_string(events) + " events").print();
}

void measure_rules(int object_count, int zones, int lines, bool json) {
  events::EventDetector detector;
  detector.set_rules(some_rules(zones, lines));
  std::vector<events::Object> objects;
  size_t events = 0;
  int frame = 0;
  const auto evaluate = [&](int) {
    detector.update({frame * kFrameTime, objects, true, {}, {}});
    events += detector.events().size();
  };
  const auto move = [&] { objects = objects_at(object_count, ++frame); };
  const Timing timing = time_calls(1, evaluate, kEffort, move);
  print("rules", object_count, zones, lines, timing, events, json);
}

// A buffer with the metadata that cclabel attaches for these objects.
BufferPtr frame_of(const std::vector<events::Object>& objects, StructurePool& pool) {
  std::vector<Region> regions;
  for (const events::Object& object : objects) {
    Region& region = regions.emplace_back();
    region.id = object.id;
    region.track = static_cast<uint32_t>(object.track);
    region.left = static_cast<int>(object.box.left);
    region.top = static_cast<int>(object.box.top);
    region.right = region.left + 39;
    region.bottom = region.top + 79;
    region.area = 3200;
  }
  const std::vector<GstClockTime> first_seen(objects.size(), 0);
  FrameResults results;
  results.algorithm = "cclabel";
  results.size = kPicture;
  results.total = static_cast<uint32_t>(objects.size());
  results.regions = regions;
  results.first_seen = first_seen;
  results.layout = layout_of(PixelFormat::nv12);
  BufferPtr buffer(gst_buffer_new());
  attach_regions(buffer.get(), results, Workers(1), pool);
  return buffer;
}

void measure_frames(int object_count, int zones, int lines, bool json) {
  const auto pool = std::make_shared<StructurePool>();
  events::EventDetector detector;
  detector.set_rules(some_rules(zones, lines));
  const events::Shapes shapes = events::shapes_of(detector.rules());
  events::FrameReader reader;
  BufferPtr buffer;
  size_t events = 0;
  int frame = 0;
  const auto process = [&](int) {
    reader.read(buffer.get(), kPicture);
    detector.update(reader.frame_at(frame * kFrameTime));
    std::vector<StructurePtr> structures;
    for (const events::Event& event : detector.events())
      structures.push_back(events::structure_of(event, detector.rules(), {}));
    events += structures.size();
    events::add_events(reader.metadata(), detector, std::move(structures));
    events::add_marks(reader.metadata(), shapes, detector, {"enter yard #7", 0});
  };
  const auto label = [&] { buffer = frame_of(objects_at(object_count, ++frame), *pool); };
  const Timing timing = time_calls(1, process, kEffort, label);
  print("frame", object_count, zones, lines, timing, events, json);
}

int run(int argc, char** argv) {
  bool json = false;
  std::vector<int> objects = {10, 100, 1000}, zones = {1, 20, 100};
  int lines = 5;
  parse(argc, argv, "[OPTION…]\nTimes the rules and the metadata of a frame.",
        {{"--json", nullptr, "print one JSON object per line", into(json)},
         {"--objects", "LIST", "objects per frame (default: 10,100,1000)", into(objects)},
         {"--zones", "LIST", "default: 1,20,100", into(zones)},
         {"--lines", "N", "default: 5", into(lines)}});
  gst_init(nullptr, nullptr);
  register_region_meta();
  for (const int object_count : objects) {
    for (const int zone_count : zones) {
      measure_rules(object_count, zone_count, lines, json);
      measure_frames(object_count, zone_count, lines, json);
    }
  }
  return 0;
}

}  // namespace
}  // namespace regions

int main(int argc, char** argv) { return regions::run_program("events", regions::run, argc, argv); }
