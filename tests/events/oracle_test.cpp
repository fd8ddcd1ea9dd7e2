// Compares the detector with slow oracles on 1,000 random scenes. The oracles use exact integers
// and the whole history of an object.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "core/events/detector.hpp"

namespace regions::events {
namespace {

// Coordinates of the oracles: eighths of a pixel.
constexpr int kUnit = 8;
struct ExactPoint {
  int64_t x = 0, y = 0;
  Point point() const { return {static_cast<double>(x) / kUnit, static_cast<double>(y) / kUnit}; }
};

int64_t turn(ExactPoint a, ExactPoint b, ExactPoint p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}
int sign(int64_t value) { return (value > 0) - (value < 0); }

struct ExactZone {
  std::vector<std::vector<ExactPoint>> rings;
  ExactPoint center;
  int64_t radius = 0;  // 0: polygon
};

// Whether the point is inside, by the parity of edges above it. Nothing on the border.
std::optional<bool> oracle_contains(const ExactZone& zone, ExactPoint p) {
  if (zone.radius > 0) {
    const int64_t dx = p.x - zone.center.x, dy = p.y - zone.center.y;
    const int64_t beyond = dx * dx + dy * dy - zone.radius * zone.radius;
    return beyond == 0 ? std::nullopt : std::optional(beyond < 0);
  }
  bool is_inside = false;
  for (const auto& ring : zone.rings) {
    for (size_t i = 0; i < ring.size(); ++i) {
      ExactPoint a = ring[i], b = ring[(i + 1) % ring.size()];
      if (turn(a, b, p) == 0 && std::min(a.x, b.x) <= p.x && p.x <= std::max(a.x, b.x) &&
          std::min(a.y, b.y) <= p.y && p.y <= std::max(a.y, b.y)) {
        return {};
      }
      if (a.x > b.x) std::swap(a, b);
      if (a.x <= p.x && p.x < b.x && turn(a, b, p) > 0) is_inside = !is_inside;
    }
  }
  return is_inside;
}

// Signed crossings of a move. Nothing if the move touches an end of a segment or of itself.
std::optional<int> oracle_crossings(const std::vector<ExactPoint>& line, ExactPoint p,
                                    ExactPoint q) {
  int total = 0;
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const ExactPoint a = line[i], b = line[i + 1];
    const int p_side = sign(turn(a, b, p)), q_side = sign(turn(a, b, q));
    const int a_side = sign(turn(p, q, a)), b_side = sign(turn(p, q, b));
    if (p.x == q.x && p.y == q.y) continue;
    if (p_side * q_side * a_side * b_side == 0) {
      // Harmless only if both ends of one segment are strictly on one side of the other.
      if (p_side * q_side > 0 || a_side * b_side > 0) continue;
      return {};
    }
    if (p_side != q_side && a_side != b_side) total += q_side > 0 ? 1 : -1;
  }
  return total;
}

struct Scene {
  Rules rules;
  std::vector<ExactZone> zones;
  std::vector<std::vector<ExactPoint>> lines;
  std::vector<int64_t> times;  // [frame] ns
  // [frame][track] centre of the lowest row, if the object is in the frame
  std::vector<std::map<uint64_t, ExactPoint>> feet;
};

class SceneMaker {
 public:
  explicit SceneMaker(uint32_t seed) : random_(seed) {}

  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  ExactPoint any_point() { return {below(320 * kUnit), below(240 * kUnit)}; }

  // A ring around a centre: its corners have increasing angles, so it is simple.
  std::vector<ExactPoint> ring_around(ExactPoint center, int max_radius, int corners) {
    std::vector<ExactPoint> ring;
    for (int i = 0; i < corners; ++i) {
      const double angle = 6.283185307 * i / corners;
      const int radius = max_radius / 3 + below(max_radius * 2 / 3);
      ring.push_back({center.x + static_cast<int64_t>(radius * std::cos(angle)),
                      center.y + static_cast<int64_t>(radius * std::sin(angle))});
    }
    return ring;
  }

  Scene make() {
    Scene scene;
    scene.rules.size = {320, 240};
    for (int i = 0; i < 5; ++i) add_zone(scene, i);
    for (int i = 0; i < 3; ++i) add_line(scene, i);
    std::map<uint64_t, ExactPoint> position;
    int64_t time = 1000000000LL * below(100);
    for (int frame = 0; frame < 40; ++frame) {
      time += 40000000LL * (1 + below(3));
      for (uint64_t track = 1; track <= 6; ++track) {
        ExactPoint& p = position.try_emplace(track, any_point()).first->second;
        p.x = std::clamp<int64_t>(p.x / 4 * 4 + (below(41) - 20) * 4, 0, 320 * kUnit);
        p.y =
            std::clamp<int64_t>(p.y / 8 * 8 + (below(21) - 10) * 8, 8, 240 * kUnit - 8) / 8 * 8 + 4;
      }
      auto& feet = scene.feet.emplace_back();
      for (const auto& [track, p] : position)
        if (below(8) != 0) feet[track] = p;
      scene.times.push_back(time);
    }
    return scene;
  }

 private:
  void add_zone(Scene& scene, int index) {
    ExactZone exact;
    Zone zone;
    zone.id = "zone" + std::to_string(index);
    zone.hysteresis_time = index == 4 ? 0.2 : 0;
    zone.loitering_time = 0.5;
    zone.object_retention = 100;  // no track is lost
    const ExactPoint center = any_point();
    if (index == 0) {
      exact.center = zone_center(zone, center);
      exact.radius = kUnit * (10 + below(60));
      zone.radius = static_cast<double>(exact.radius) / kUnit;
    } else {
      exact.rings.push_back(ring_around(center, 100 * kUnit, 3 + below(9)));
      if (index == 2) exact.rings.push_back(ring_around(center, 20 * kUnit, 5));
    }
    for (const auto& ring : exact.rings) {
      auto& points = zone.rings.emplace_back();
      for (const ExactPoint& p : ring) points.push_back(p.point());
    }
    scene.zones.push_back(exact);
    scene.rules.zones.push_back(zone);
  }
  static ExactPoint zone_center(Zone& zone, ExactPoint center) {
    zone.center = center.point();
    return center;
  }
  void add_line(Scene& scene, int index) {
    Line line;
    line.id = "line" + std::to_string(index);
    line.object_retention = 100;
    auto& exact = scene.lines.emplace_back();
    for (int i = 0; i < 2 + index; ++i) {
      exact.push_back(any_point());
      line.points.push_back(exact.back().point());
    }
    scene.rules.lines.push_back(line);
  }

  std::mt19937 random_;
};

// An event as both sides write it: type, rule, track, frame, and dwell or side.
using Entry = std::tuple<std::string, std::string, uint64_t, size_t, int64_t>;

// The events of one object in one zone, from its whole history: a state is reported in the first
// frame in which the object has had it for the delay.
void oracle_visits(const Scene& scene, size_t zone, uint64_t track,
                   const std::vector<std::optional<bool>>& inside, std::vector<Entry>& events) {
  const Zone& rule = scene.rules.zones[zone];
  const auto delay = static_cast<int64_t>(rule.hysteresis_time * 1e9);
  bool reported = false, loiters = false;
  int64_t entered = 0;
  for (size_t frame = 0; frame < inside.size(); ++frame) {
    if (!inside[frame]) continue;  // not in the frame
    // The start of the present state, if no frame since then differs.
    size_t start = frame;
    for (size_t k = frame; k-- > 0;) {
      if (!inside[k]) continue;
      if (*inside[k] != *inside[frame]) break;
      start = k;
    }
    if (*inside[frame] != reported && scene.times[frame] - scene.times[start] >= delay) {
      reported = *inside[frame];
      if (reported) {
        entered = scene.times[start];
        events.emplace_back("enter", rule.id, track, frame, -1);
      } else {
        events.emplace_back("leave", rule.id, track, frame, scene.times[start] - entered);
        loiters = false;
      }
    }
    const int64_t dwell = scene.times[frame] - entered;
    if (reported && *inside[frame] && !loiters && dwell >= 500000000) {
      loiters = true;
      events.emplace_back("loitering", rule.id, track, frame, dwell);
    }
  }
}

// Returns nothing if a point or a move touches a border, where several answers are right.
std::optional<std::vector<Entry>> oracle_events(const Scene& scene) {
  std::vector<Entry> events;
  for (uint64_t track = 1; track <= 6; ++track) {
    for (size_t zone = 0; zone < scene.zones.size(); ++zone) {
      std::vector<std::optional<bool>> inside(scene.feet.size());
      for (size_t frame = 0; frame < scene.feet.size(); ++frame) {
        const auto found = scene.feet[frame].find(track);
        if (found == scene.feet[frame].end()) continue;
        inside[frame] = oracle_contains(scene.zones[zone], found->second);
        if (!inside[frame]) return {};
      }
      oracle_visits(scene, zone, track, inside, events);
    }
    for (size_t line = 0; line < scene.lines.size(); ++line) {
      std::optional<ExactPoint> last;
      for (size_t frame = 0; frame < scene.feet.size(); ++frame) {
        const auto found = scene.feet[frame].find(track);
        if (found == scene.feet[frame].end()) continue;
        const auto crossings = last ? oracle_crossings(scene.lines[line], *last, found->second) : 0;
        if (!crossings) return {};
        last = found->second;
        if (*crossings == 0) continue;
        events.emplace_back("crossing", scene.rules.lines[line].id, track, frame,
                            *crossings > 0 ? 1 : -1);
      }
    }
  }
  std::ranges::sort(events);
  return events;
}

// Objects whose boxes are 4 pixels wide and 20 high, and whose lowest row has its centre at `feet`.
std::vector<Object> objects_at(const std::map<uint64_t, ExactPoint>& feet) {
  std::vector<Object> objects;
  for (const auto& [track, exact] : feet) {
    const Point p = exact.point();
    Object object;
    object.track = track;
    object.id = static_cast<uint32_t>(objects.size() + 1);
    object.box = {p.x - 2, p.y + 0.5 - 20, p.x + 2, p.y + 0.5};
    objects.push_back(object);
  }
  return objects;
}

std::vector<Entry> detected_events(const Scene& scene) {
  EventDetector detector;
  detector.set_rules(scene.rules);
  std::vector<Entry> entries;
  for (size_t frame = 0; frame < scene.feet.size(); ++frame) {
    const std::vector<Object> objects = objects_at(scene.feet[frame]);
    FrameObjects input;
    input.time = scene.times[frame];
    input.objects = objects;
    input.is_tracked = true;
    detector.update(input);
    for (const Event& event : detector.events()) {
      const bool is_crossing = event.type == EventType::crossing;
      const Rule& rule = is_crossing ? static_cast<const Rule&>(scene.rules.lines[event.rule])
                                     : static_cast<const Rule&>(scene.rules.zones[event.rule]);
      entries.emplace_back(name_of(event.type), rule.id, event.track, frame,
                           is_crossing ? (event.side == Side::right ? 1 : -1) : event.dwell);
    }
  }
  std::ranges::sort(entries);
  return entries;
}

TEST(EventDetector, RandomScenes_HaveTheEventsOfTheOracle) {
  size_t compared = 0, event_count = 0;
  for (uint32_t seed = 1; compared < 1000 && seed < 20000; ++seed) {
    const Scene scene = SceneMaker(seed).make();
    const auto expected = oracle_events(scene);
    if (!expected) continue;
    ++compared;
    event_count += expected->size();
    ASSERT_EQ(detected_events(scene), *expected) << "seed " << seed;
  }
  EXPECT_EQ(compared, 1000U);
  EXPECT_GT(event_count, 10000U);
}

}  // namespace
}  // namespace regions::events
