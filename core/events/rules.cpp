// The parameter tables of zones and lines, and the conversion of rules to pixels of a picture.
#include "core/events/rules.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace regions::events {
namespace {

constexpr double kMaxSeconds = 604800;  // a week
constexpr double kMaxPixels = 65535;

constexpr Choice kAnchors[] = {
    {static_cast<int>(Anchor::bottom_center), "bottom-center",
     "The middle of the lowest row of the box: the feet of a standing person"},
    {static_cast<int>(Anchor::center), "center", "The centre of the box"},
    {static_cast<int>(Anchor::centroid), "centroid", "The mean position of the object's pixels"},
    {static_cast<int>(Anchor::overlap), "overlap", "Any part of the box"},
    {static_cast<int>(Anchor::area), "area",
     "The share of the object's pixels inside the zone, see min-share. Needs a label map or runs"}};
constexpr std::span kPointAnchors(kAnchors, kAnchorPoints);

constexpr Choice kSides[] = {{static_cast<int>(Side::both), "both", "Both directions"},
                             {static_cast<int>(Side::left), "left",
                              "To the left, seen from the first towards the last point"},
                             {static_cast<int>(Side::right), "right",
                              "To the right, seen from the first towards the last point"}};

template <class P>
std::vector<Field> rule_fields(std::span<const Choice> anchors) {
  return {
      field<P, &P::anchor>("anchor", "Part of an object that decides where the object is.", {},
                           anchors),
      field<P, &P::object_retention>(
          "object-retention", "Time for which an object is kept after its track is lost (seconds).",
          {0, kMaxSeconds}),
      field<P, &P::thickness>("thickness", "Line width of the drawing (pixels).", {1, 64})};
}

std::vector<Field> border_fields() {
  return {
      field<Zone, &Zone::hysteresis>(
          "hysteresis",
          "Distance from the zone at which an object that was inside leaves it (pixels).",
          {0, kMaxPixels}),
      field<Zone, &Zone::hysteresis_time>(
          "hysteresis-time",
          "Time for which an object must be inside or outside before this is reported (seconds).",
          {0, kMaxSeconds}),
      field<Zone, &Zone::min_share>(
          "min-share",
          "With anchor=area: share of the object's pixels at which the object enters (fraction).",
          {0, 1}),
      field<Zone, &Zone::leave_share>("leave-share",
                                      "With anchor=area: share below which an object that was "
                                      "inside leaves (fraction). At most "
                                      "min-share.",
                                      {0, 1}),
      field<Zone, &Zone::enter>("enter", "Report objects that enter."),
      field<Zone, &Zone::leave>("leave",
                                "Report objects that leave, and the time that they stayed."),
      field<Zone, &Zone::occupancy>("occupancy", "Report each change of the number of objects."),
      field<Zone, &Zone::track_dwell_time>(
          "track-dwell-time",
          "Accepted for files of gvaanalytics. The time is measured in any case.")};
}

std::vector<Field> stay_fields() {
  return {
      field<Zone, &Zone::loitering_time>(
          "loitering-time", "Report objects that stay longer than this (seconds). 0: off.",
          {0, kMaxSeconds}),
      field<Zone, &Zone::crowding_objects>(
          "crowding-objects", "Report when at least this number of objects is inside. 0: off.",
          {0, 1 << 20}),
      field<Zone, &Zone::crowding_time>(
          "crowding-time", "Time for which they must be inside before this is reported (seconds).",
          {0, kMaxSeconds}),
      field<Zone, &Zone::stopped_time>(
          "stopped-time", "Report objects that do not move for this time (seconds). 0: off.",
          {0, kMaxSeconds}),
      field<Zone, &Zone::abandoned_time>(
          "abandoned-time",
          "Report objects that appeared inside and do not move for this time (seconds). 0: off.",
          {0, kMaxSeconds}),
      field<Zone, &Zone::removed_time>(
          "removed-time",
          "Report when an object that did not move for this time is gone (seconds). 0: off.",
          {0, kMaxSeconds}),
      field<Zone, &Zone::still_distance>(
          "still-distance",
          "An object that moves at most this far does not count as moving (pixels).",
          {0, kMaxPixels})};
}

std::vector<Field> motion_fields() {
  return {
      field<Zone, &Zone::direction_distance>(
          "direction-distance",
          "Report the direction of motion after this distance (pixels). 0: off.", {0, kMaxPixels}),
      field<Zone, &Zone::direction_angle>(
          "direction-angle", "Direction that is reported: 0 is to the right, 90 upwards (degrees).",
          {-360, 360}),
      field<Zone, &Zone::direction_tolerance>(
          "direction-tolerance", "Largest difference from direction-angle (degrees).", {0, 180}),
      field<Zone, &Zone::motion_share>(
          "motion-share",
          "Report when this share of the zone is foreground (fraction). 0: off. Needs a label map, "
          "a mask or runs.",
          {0, 1}),
      field<Zone, &Zone::motion_time>(
          "motion-time", "Time for which it must be foreground before this is reported (seconds).",
          {0, kMaxSeconds})};
}

std::vector<Field> zone_fields() {
  std::vector<Field> fields = rule_fields<Zone>(kAnchors);
  for (const auto& own : {border_fields(), stay_fields(), motion_fields()}) {
    fields.insert(fields.end(), own.begin(), own.end());
  }
  return fields;
}

std::vector<Field> line_fields() {
  std::vector<Field> fields = rule_fields<Line>(kPointAnchors);
  const Field own[] = {
      field<Line, &Line::hysteresis>(
          "hysteresis",
          "Distance from the line at which a crossing is reported. An object that turns back "
          "earlier has not crossed (pixels).",
          {0, kMaxPixels}),
      field<Line, &Line::direction>("direction", "Direction in which crossings are reported.", {},
                                    kSides)};
  fields.insert(fields.end(), std::begin(own), std::end(own));
  return fields;
}

// The factors from the units of the rules to pixels.
struct Factors {
  double x, y;    // of points
  double length;  // of lengths in pixels
  double radius;  // of the radius of a circle
};

std::string text_of(Size size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

Factors factors_of(const Rules& rules, Size picture) {
  const double width = picture.width, height = picture.height;
  if (rules.fractions) return {width, height, 1, width};
  if (rules.size.area() == 0) return {1, 1, 1, 1};
  const double x = width / rules.size.width, y = height / rules.size.height;
  constexpr double kMaxDistortion = 0.02;
  expects(std::abs(x / y - 1) <= kMaxDistortion, [&] {
    return "the rules are for " + text_of(rules.size) + " pixels, but the video has " +
           text_of(picture) + ", another shape; correct width and height, or use fractions";
  });
  return {x, y, x, x};
}

void scale(std::vector<Point>& points, const Factors& factors) {
  for (Point& p : points) p = {p.x * factors.x, p.y * factors.y};
}

void expect_visible(const std::string& name, const Box& bounds, Size picture) {
  const Box whole = {0, 0, static_cast<double>(picture.width), static_cast<double>(picture.height)};
  const bool is_visible = bounds.left <= whole.right && bounds.right >= whole.left &&
                          bounds.top <= whole.bottom && bounds.bottom >= whole.top;
  expects(is_visible, [&] {
    return name + " is outside of the picture, which has " + text_of(picture) + " pixels";
  });
}

}  // namespace

std::span<const Field> fields_of(const Zone&) {
  static const std::vector<Field> fields = zone_fields();
  return fields;
}

std::span<const Field> fields_of(const Line&) {
  static const std::vector<Field> fields = line_fields();
  return fields;
}

Rules rules_for(const Rules& rules, Size picture) {
  const Factors factors = factors_of(rules, picture);
  Rules result = rules;
  result.size = picture;
  result.fractions = false;
  for (Zone& zone : result.zones) {
    for (auto& ring : zone.rings) scale(ring, factors);
    zone.center = {zone.center.x * factors.x, zone.center.y * factors.y};
    zone.radius *= factors.radius;
    for (double* length : {&zone.hysteresis, &zone.still_distance, &zone.direction_distance})
      *length *= factors.length;
    expect_visible("zone '" + zone.id + "'", zone.area().bounds(), picture);
  }
  for (Line& line : result.lines) {
    scale(line.points, factors);
    line.hysteresis *= factors.length;
    expect_visible("line '" + line.id + "'", bounds_of(line.points), picture);
  }
  return result;
}

}  // namespace regions::events
