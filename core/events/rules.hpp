// Rules about the objects of a video: zones and lines, and the events that are reported for them.
// parse_rules() reads them from JSON; docs/events.md describes the format.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/events/shapes.hpp"
#include "core/field.hpp"

namespace regions::events {

// The part of an object that decides whether the object is inside a zone.
enum class Anchor : uint8_t { bottom_center, center, centroid, overlap, area };
inline constexpr int kAnchorPoints = 3;  // the first three anchors are points
constexpr bool is_point(Anchor anchor) { return static_cast<int>(anchor) < kAnchorPoints; }

// The side of a line to which an object crosses it.
enum class Side : uint8_t { both, left, right };

// The members of all rules. Lengths are in pixels, times in seconds.
struct Rule {
  std::string id;
  Anchor anchor = Anchor::bottom_center;
  double hysteresis = 0;
  double object_retention = 1;
  Rgb color = {255, 255, 0};
  int thickness = 2;
};

struct Zone : Rule {
  std::vector<std::vector<Point>> rings;  // empty for a circle
  Point center;
  double radius = 0;

  double hysteresis_time = 0;
  double min_share = 0.5;
  double leave_share = 0.5;
  bool enter = true;
  bool leave = true;
  bool occupancy = false;
  bool track_dwell_time = true;
  double loitering_time = 0;
  int crowding_objects = 0;
  double crowding_time = 0;
  double stopped_time = 0;
  double abandoned_time = 0;
  double removed_time = 0;
  double still_distance = 10;
  double direction_distance = 0;
  double direction_angle = 0;
  double direction_tolerance = 45;
  double motion_share = 0;
  double motion_time = 0;

  Area area() const { return rings.empty() ? Area(center, radius) : Area(rings); }
  // Whether pixels of a label map, a mask or runs are required.
  bool reads_pixels() const { return anchor == Anchor::area || motion_share > 0; }
};

struct Line : Rule {
  std::vector<Point> points;
  Side direction = Side::both;
};

// The keys of zones and lines in JSON, except their names, shapes and colours.
std::span<const Field> fields_of(const Zone&);
std::span<const Field> fields_of(const Line&);

struct Rules {
  Size size;               // picture size that pixels refer to; empty: the size of the video
  bool fractions = false;  // points and radii are fractions of the picture's sides
  std::vector<Zone> zones;
  std::vector<Line> lines;
};

inline constexpr size_t kMaxRuleBytes = 1 << 20;  // maximum length of rules as JSON

// Reads rules from JSON. Throws InputError, which names the position or the rule, if the text is
// not valid.
Rules parse_rules(std::string_view json);

// Returns the rules in pixels of a picture of this size. Throws InputError if the rules are for a
// picture of another shape, or if a zone or line is outside of the picture.
Rules rules_for(const Rules& rules, Size picture);

}  // namespace regions::events
