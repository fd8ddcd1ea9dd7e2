// Rules in JSON: values, the format of gvaanalytics, and the messages for invalid texts.
#include "core/events/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/error_message.hpp"

namespace regions::events {
namespace {

std::string message_of(const std::string& json) {
  return error_message_of([&] { parse_rules(json); });
}

// Rules with one zone that has the corners of a square and these further keys.
std::string zone_with(const std::string& keys) {
  return R"({"zones": [{"id": "z", "points": [[0, 0], [9, 0], [9, 9], [0, 9]], )" + keys + "}]}";
}

TEST(Rules, AllKeys_AreRead) {
  const Rules rules = parse_rules(R"({
    "comment": "a yard with a gate", "width": 640, "height": 360,
    "zones": [
      {"id": "yard", "points": [[0, 0], [100.5, 0], [100, 100], [0, 0]], "rings": [[[50, 10], [60, 10], [60, 20]]],
       "anchor": "area", "min-share": 0.75, "leave-share": 0.25, "hysteresis-time": 0.5, "enter": false,
       "crowding-objects": 3, "color": {"r": 1, "g": 2, "b": 3}, "thickness": 5},
      {"id": "well", "type": "circle", "center": [300, 200], "radius": 20}],
    "lines": [{"id": "gate", "points": [[0, 50], [50, 50], [60, 80]], "direction": "left", "hysteresis": 4}]})");
  EXPECT_EQ(rules.size, (Size{640, 360}));
  ASSERT_EQ(rules.zones.size(), 2U);
  const Zone& yard = rules.zones[0];
  EXPECT_EQ(yard.id, "yard");
  ASSERT_EQ(yard.rings.size(), 2U);
  EXPECT_EQ(yard.rings[0], (std::vector<Point>{{0, 0}, {100.5, 0}, {100, 100}}));
  EXPECT_EQ(yard.anchor, Anchor::area);
  EXPECT_EQ(yard.min_share, 0.75);
  EXPECT_EQ(yard.leave_share, 0.25);
  EXPECT_EQ(yard.hysteresis_time, 0.5);
  EXPECT_FALSE(yard.enter);
  EXPECT_TRUE(yard.leave);
  EXPECT_EQ(yard.crowding_objects, 3);
  EXPECT_EQ(yard.color.blue, 3);
  EXPECT_EQ(yard.thickness, 5);
  EXPECT_TRUE(rules.zones[1].rings.empty());
  EXPECT_EQ(rules.zones[1].radius, 20);
  ASSERT_EQ(rules.lines.size(), 1U);
  EXPECT_EQ(rules.lines[0].points.size(), 3U);
  EXPECT_EQ(rules.lines[0].direction, Side::left);
  EXPECT_EQ(rules.lines[0].hysteresis, 4);
}

TEST(Rules, FilesOfGvaanalytics_AreRead) {
  const Rules rules = parse_rules(R"({
    "zones": [
      {"id": "OperatorZone", "type": "polygon", "thickness": 3, "track-dwell-time": true, "object-retention": 3.0,
       "points": [{"x": 120, "y": 100}, {"x": 400, "y": 100}, {"x": 400, "y": 300}], "color": {"r": 255, "g": 0, "b": 0}},
      {"id": "round", "type": "circle", "center": {"x": 50, "y": 60}, "radius": 10}],
    "tripwires": [{"id": "north", "points": [{"x": 0, "y": 10}, {"x": 90, "y": 10}], "thickness": 2}]})");
  EXPECT_EQ(rules.zones[0].object_retention, 3);
  EXPECT_EQ(rules.zones[0].rings[0][1], (Point{400, 100}));
  EXPECT_EQ(rules.zones[1].center, (Point{50, 60}));
  EXPECT_EQ(rules.lines[0].id, "north");

  const Rules inline_zones =
      parse_rules(R"([{"id": "a", "points": [[0, 0], [640, 0], [640, 480]]}])");
  EXPECT_EQ(inline_zones.zones.size(), 1U);
  const Rules inline_wires = parse_rules(R"([{"id": "a", "points": [[100, 100], [500, 100]]}])");
  EXPECT_EQ(inline_wires.lines.size(), 1U);
}

TEST(Rules, EmptyRules_AreValid) {
  EXPECT_TRUE(parse_rules("{}").zones.empty());
  EXPECT_TRUE(parse_rules("[]").lines.empty());
}

TEST(Rules, InvalidTexts_NameTheFault) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "rules: no valid JSON: parse error at line 1, column 1: "},
      {"{\"zones\": [}", "rules: no valid JSON: parse error at line 1, column 12: "},
      {"3", "rules: expected an object with the keys zones and lines"},
      {R"({"zone": []})", "rules: unknown key 'zone'; the keys are: zones, lines, tripwires, "},
      {R"({"zones": [], "zones": []})", "rules: the key 'zones' occurs twice"},
      {R"({"zones": 3})", "rules: zones must be an array of up to 256 objects"},
      {R"({"zones": [3]})", "rules: zone 1 is 3, not an object"},
      {R"({"zones": [{}]})", "rules: zone 1 requires \"id\", a name of 1 to 128 bytes"},
      {R"({"zones": [{"id": ""}]})", "rules: zone 1 requires \"id\""},
      {R"({"zones": [{"id": "a\nb"}]})", "rules: zone 1: the id contains a control character"},
      {R"({"zones": [{"id": "z"}]})", R"(rules: zone 'z' requires "points" or "rings")"},
      {R"({"zones": [{"id": "z", "points": []}]})",
       "rules: zone 'z': ring 1 has 0 different points; an area requires at least 3"},
      {R"({"zones": [{"id": "z", "points": [[0, 0], [1, 1], [2, 2]]}]})",
       "rules: zone 'z': ring 1 encloses no area"},
      {R"({"zones": [{"id": "z", "points": [[0, 0], [9, 9], [9, 0], [0, 9]]}]})",
       "rules: zone 'z' is not a simple area: the edge that begins at point 1 of ring 1 meets the "
       "edge that begins at point 3 of ring 1"},
      {R"({"zones": [{"id": "z", "points": [[0, 0], [9, 0], [5, 0], [5, 9]]}]})",
       "rules: zone 'z' is not a simple area: "},
      {R"({"zones": [{"id": "z", "rings": [[[0, 0], [9, 0], [5, 9]], [[0, 0], [9, 0], [5, -9]]]}]})",
       "rules: zone 'z' is not a simple area: "},
      {R"({"zones": [{"id": "z", "points": [[0, 0], [9, 0], [1e9, 9]]}]})",
       "rules: zone 'z', point 3 is 1000000000.0, which is outside of any picture"},
      {R"({"zones": [{"id": "z", "points": [[0, 0], [9, 0], [1e999, 9]]}]})",
       "rules: no valid JSON: number overflow"},
      {R"({"zones": [{"id": "z", "points": [[0, 0], [9, 0], [1]]}]})",
       R"(rules: zone 'z', point 3 is [1]; a point is [x, y] or {"x": x, "y": y})"},
      {R"({"zones": [{"id": "z", "type": "square"}]})",
       R"(rules: zone 'z': type is "square"; it must be "polygon" or "circle")"},
      {R"({"zones": [{"id": "z", "type": "circle", "radius": 3}]})",
       R"(rules: zone 'z': a circle requires "center" and "radius" above 0)"},
      {R"({"zones": [{"id": "z", "radius": -3, "center": [1, 1]}]})",
       "rules: zone 'z': a circle requires"},
      {R"({"lines": [{"id": "l", "points": [[1, 1], [1, 1]]}]})",
       "rules: line 'l' requires at least two different points"},
      {R"({"lines": [{"id": "l", "points": [[1, 1], [2, 1]], "anchor": "area"}]})",
       "rules: line 'l': anchor is \"area\"; it must be one of: bottom-center, center, centroid"},
      {R"({"lines": [{"id": "l", "points": [[1, 1], [2, 1]], "hysteresis-time": 1}]})",
       "rules: line 'l': unknown key 'hysteresis-time'; the keys are: id, color, points, anchor, "},
      {R"({"lines": [{"id": "l", "points": [[1, 1], [2, 1]]}, {"id": "l", "points": [[1, 1], [2, 1]]}]})",
       "rules: the id 'l' occurs twice in lines"},
      {R"({"width": 100})", "rules: width and height belong together"},
      {R"({"width": 0.5, "height": 3})",
       "rules: width is 0.5; it must be a whole number in 1..65535"},
      {R"({"units": "inches"})", R"(rules: units is "inches"; it must be "pixels" or "fractions")"},
      {R"({"units": "fractions", "width": 9, "height": 9})",
       "rules: with units=fractions, the rules fit any picture; remove width and height"},
      {zone_with(R"("hysteresis": -1)"),
       "rules: zone 'z': hysteresis is -1; it must be in 0..65535"},
      {zone_with(R"("hysteresis": "1")"),
       "rules: zone 'z': hysteresis is \"1\"; it must be a number"},
      {zone_with(R"("enter": 1)"), "rules: zone 'z': enter is 1; it must be true or false"},
      {zone_with(R"("crowding-objects": 2.5)"),
       "rules: zone 'z': crowding-objects is 2.5; it must be a whole number"},
      {zone_with(R"("min-share": 0.2, "leave-share": 0.4)"),
       "rules: zone 'z': leave-share is larger than min-share"},
      {zone_with(R"("color": {"r": 256})"), "rules: zone 'z': color: r is 256; expected 0…255"},
      {zone_with(R"("color": "red")"), "rules: zone 'z': color is \"red\"; a colour is "},
      {zone_with("\"comment\": \"\xff\""), "rules: no valid JSON: parse error"},
      {std::string(3000, '['), "rules: more than 8 levels"},
      {std::string(kMaxRuleBytes + 1, ' '), "rules: the text has more than 1048576 bytes"},
  };
  for (const auto& [json, message] : cases) {
    EXPECT_TRUE(message_of(json).starts_with(message))
        << json.substr(0, 200) << "\n  " << message_of(json) << "\n  " << message;
  }
}

TEST(Rules, AZoneWith4096Corners_IsReadAndMoreAreRefused) {
  const auto polygon = [](int corners) {
    std::string points;
    for (int i = 0; i < corners / 2; ++i) points += "[" + std::to_string(i) + ", 0],";
    for (int i = corners / 2; i > 0; --i) points += "[" + std::to_string(i) + ", 9],";
    points.pop_back();
    return R"({"zones": [{"id": "z", "points": [)" + points + "]}]}";
  };
  EXPECT_EQ(parse_rules(polygon(4096)).zones[0].rings[0].size(), 4096U);
  EXPECT_EQ(message_of(polygon(4098)), "rules: zone 'z' has 4098 points; it may have up to 4096");
}

TEST(Rules, DrawnForAnotherSize_AreScaled) {
  const Rules rules = parse_rules(R"({"width": 640, "height": 360,
    "zones": [{"id": "z", "center": [320, 180], "radius": 10, "hysteresis": 4}],
    "lines": [{"id": "l", "points": [[0, 0], [640, 360]]}]})");
  const Rules scaled = rules_for(rules, {1920, 1080});
  EXPECT_EQ(scaled.zones[0].center, (Point{960, 540}));
  EXPECT_EQ(scaled.zones[0].radius, 30);
  EXPECT_EQ(scaled.zones[0].hysteresis, 12);
  EXPECT_EQ(scaled.lines[0].points[1], (Point{1920, 1080}));
  EXPECT_EQ(error_message_of([&] {
              rules_for(rules, {720, 576});
            }),
            "the rules are for 640x360 pixels, but the video has 720x576, another shape; correct "
            "width and height, or use fractions");
}

TEST(Rules, Fractions_FitEveryPicture) {
  const Rules rules = parse_rules(R"({"units": "fractions",
    "zones": [{"id": "z", "points": [[0, 0], [0.5, 0], [0.5, 1]]}, {"id": "c", "center": [0.5, 0.5], "radius": 0.1}]})");
  const Rules scaled = rules_for(rules, {720, 576});
  EXPECT_EQ(scaled.zones[0].rings[0][2], (Point{360, 576}));
  EXPECT_EQ(scaled.zones[1].radius, 72);
}

TEST(Rules, OutsideOfThePicture_AreRefused) {
  EXPECT_EQ(
      error_message_of([] {
        rules_for(parse_rules(R"([{"id": "z", "center": [900, 10], "radius": 9}])"), {640, 480});
      }),
      "zone 'z' is outside of the picture, which has 640x480 pixels");
  EXPECT_EQ(
      error_message_of([] {
        rules_for(parse_rules(R"([{"id": "l", "points": [[0, 500], [9, 500]]}])"), {640, 480});
      }),
      "line 'l' is outside of the picture, which has 640x480 pixels");
}

}  // namespace
}  // namespace regions::events
