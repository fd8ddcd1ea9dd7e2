// EventDetector: each kind of event, hysteresis, lost tracks, jumps of time, and changes of rules.
#include "core/events/detector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace regions::events {
namespace {

constexpr int64_t kFrame = 100000000;  // ns

// A detector for a picture of 200×100 pixels, and the events so far as text.
class Scene {
 public:
  explicit Scene(const std::string& json) { set_rules(json); }
  void set_rules(const std::string& json, Size size = {200, 100}) {
    detector.set_rules(rules_for(parse_rules(json), size));
  }

  // An object of 4×10 pixels whose lowest row has its centre at x, y.
  static Object object_at(uint64_t track, double x, double y) {
    Object object;
    object.track = track;
    object.id = static_cast<uint32_t>(track);
    object.box = {x - 2, y - 9.5, x + 2, y + 0.5};
    object.centroid = {x, y - 5};
    return object;
  }

  // Evaluates a frame and returns its events, such as "enter:yard:1 ".
  std::string frame(const std::vector<Object>& objects, bool is_tracked = true) {
    FrameObjects input;
    input.time = time;
    input.objects = objects;
    input.is_tracked = is_tracked;
    input.shares = shares;
    input.foreground = foreground;
    input.scene_change = change;
    detector.update(input);
    time += kFrame;
    std::ostringstream text;
    for (const Event& event : detector.events()) text << text_of(event) << " ";
    return text.str();
  }
  std::string frames(int count, const std::vector<Object>& objects, bool is_tracked = true) {
    std::string text;
    for (int i = 0; i < count; ++i) text += frame(objects, is_tracked);
    return text;
  }

  EventDetector detector;
  int64_t time = 0;
  std::vector<std::vector<double>> shares;
  std::vector<double> foreground;
  SceneChange change = SceneChange::none;

 private:
  std::string text_of(const Event& event) const {
    std::ostringstream text;
    const bool is_crossing = event.type == EventType::crossing;
    text << name_of(event.type) << ":"
         << (event.change != SceneChange::none ? name_of(event.change)
             : is_crossing                     ? detector.rules().lines[event.rule].id
                                               : detector.rules().zones[event.rule].id);
    if (event.track != 0) text << ":" << event.track;
    if (event.dwell >= 0) text << "@" << static_cast<double>(event.dwell) / 1e9;
    if (event.count >= 0) text << "#" << event.count;
    if (event.side != Side::both) text << (event.side == Side::left ? "<" : ">");
    if (event.is_lost) text << "!";
    return text.str();
  }
};

const std::vector<Object> kNobody;

std::string yard(const std::string& keys) {
  return R"([{"id": "yard", "points": [[100, 0], [200, 0], [200, 100], [100, 100]], )" + keys +
         "}]";
}
// The events of one object that is at each of these columns for one frame.
std::string walk(Scene& scene, const std::vector<double>& columns) {
  std::string text;
  for (const double x : columns) text += scene.frame({Scene::object_at(1, x, 50)});
  return text;
}

TEST(Zone, ObjectThatPasses_EntersAndLeaves) {
  Scene scene(yard(R"("thickness": 1)"));
  EXPECT_EQ(walk(scene, {90, 99, 101, 120, 99, 90}), "enter:yard:1 leave:yard:1@0.2 ");
  EXPECT_EQ(scene.detector.zones()[0].entered, 1U);
  EXPECT_EQ(scene.detector.zones()[0].left, 1U);
  EXPECT_EQ(scene.detector.zones()[0].count, 0);
}

TEST(Zone, ObjectAtTheEdgeOfThePicture_IsInside) {
  Scene scene(yard(R"("thickness": 1)"));
  EXPECT_EQ(scene.frame({Scene::object_at(1, 150, 99.5)}), "enter:yard:1 ");
}

TEST(Zone, Anchors_DecideByDifferentParts) {
  for (const auto& [anchor, x, is_inside] :
       std::vector<std::tuple<std::string, double, bool>>{{"bottom-center", 99.5, false},
                                                          {"bottom-center", 100.5, true},
                                                          {"center", 100.5, true},
                                                          {"centroid", 100.5, true},
                                                          {"overlap", 97.5, false},
                                                          {"overlap", 98, false},
                                                          {"overlap", 98.5, true}}) {
    Scene scene(yard(R"("anchor": ")" + anchor + "\""));
    EXPECT_EQ(walk(scene, {x}), is_inside ? "enter:yard:1 " : "") << anchor << " " << x;
  }
}

TEST(Zone, CentroidAnchor_IsNotTheBox) {
  Scene scene(yard(R"("anchor": "centroid")"));
  Object object = Scene::object_at(1, 150, 50);
  object.centroid.x = 90;
  EXPECT_EQ(scene.frame({object}), "");
}

TEST(Zone, AreaAnchor_UsesTheShareOfPixels) {
  Scene scene(yard(R"("anchor": "area", "min-share": 0.6, "leave-share": 0.3)"));
  std::string text;
  for (const double share : {0.0, 0.5, 0.6, 0.4, 0.3, 0.2}) {
    scene.shares = {{share}};
    text += scene.frame({Scene::object_at(1, 0, 50)});
  }
  EXPECT_EQ(text, "enter:yard:1 leave:yard:1@0.3 ");
  // A zone without shares is not evaluated, so no object leaves it.
  scene.shares = {{1.0}};
  EXPECT_EQ(scene.frame({Scene::object_at(1, 0, 50)}), "enter:yard:1 ");
  scene.shares = {{}};
  EXPECT_EQ(scene.frames(20, {Scene::object_at(1, 0, 50)}), "");
}

TEST(Zone, ObjectOnTheBorder_FluttersOnlyWithoutHysteresis) {
  const std::vector<double> flutter = {99, 101, 99, 101, 98, 101, 90};
  Scene plain(yard(R"("thickness": 1)"));
  EXPECT_EQ(walk(plain, flutter),
            "enter:yard:1 leave:yard:1@0.1 enter:yard:1 leave:yard:1@0.1 enter:yard:1 "
            "leave:yard:1@0.1 ");
  Scene in_pixels(yard(R"("hysteresis": 5)"));
  EXPECT_EQ(walk(in_pixels, flutter), "enter:yard:1 leave:yard:1@0.5 ");
  Scene in_time(yard(R"("hysteresis-time": 0.2)"));
  EXPECT_EQ(walk(in_time, flutter), "");
  EXPECT_EQ(walk(in_time, {101, 101, 101, 99, 101, 101, 99, 99, 99}),
            "enter:yard:1 leave:yard:1@0.6 ");
}

TEST(Zone, LostTrack_LeavesAfterTheRetention) {
  Scene scene(yard(R"("object-retention": 0.3)"));
  EXPECT_EQ(walk(scene, {150, 150, 150}), "enter:yard:1 ");
  EXPECT_EQ(scene.frames(3, kNobody), "");
  EXPECT_EQ(scene.detector.zones()[0].count, 1);
  EXPECT_EQ(walk(scene, {150}), "") << "the track came back";
  EXPECT_EQ(scene.frames(3, kNobody), "");
  EXPECT_EQ(scene.frame(kNobody), "leave:yard:1@0.6! ");
  EXPECT_EQ(scene.detector.zones()[0].count, 0);
  EXPECT_EQ(walk(scene, {150}), "enter:yard:1 ") << "a later track with this id is another object";
}

TEST(Zone, ManyLostTracks_AllLeave) {
  Scene scene(yard(R"("object-retention": 0)"));
  std::vector<Object> objects;
  for (uint64_t track = 1; track <= 50; ++track)
    objects.push_back(Scene::object_at(track, 150, 50));
  scene.frame(objects);
  EXPECT_EQ(scene.detector.zones()[0].count, 50);
  objects.erase(objects.begin() + 10, objects.begin() + 40);
  scene.frame(objects);
  EXPECT_EQ(scene.detector.zones()[0].count, 20);
  EXPECT_EQ(scene.detector.events().size(), 30U);
  scene.frame(kNobody);
  EXPECT_EQ(scene.detector.events().size(), 20U);
}

TEST(Zone, LongStay_IsLoiteringOncePerVisit) {
  Scene scene(yard(R"("loitering-time": 0.3, "enter": false, "leave": false)"));
  EXPECT_EQ(walk(scene, {150, 151, 152, 153, 154, 155, 90, 150, 150, 150, 150}),
            "loitering:yard:1@0.3 loitering:yard:1@0.3 ");
}

TEST(Zone, Crowd_BeginsAndEnds) {
  Scene scene(
      yard(R"("crowding-objects": 2, "crowding-time": 0.2, "occupancy": true, "enter": false,
                      "leave": false, "object-retention": 0)"));
  const Object one = Scene::object_at(1, 150, 50), two = Scene::object_at(2, 160, 50);
  EXPECT_EQ(scene.frame({one}), "occupancy:yard#1 ");
  EXPECT_EQ(scene.frames(2, {one, two}), "occupancy:yard#2 ");
  EXPECT_EQ(scene.frames(2, {one, two}), "crowding:yard#2 ");
  EXPECT_EQ(scene.frame({two}), "occupancy:yard#1 crowding-end:yard#1 ");
  EXPECT_EQ(scene.frame(kNobody), "occupancy:yard#0 ");
}

TEST(Zone, WithoutTracks_CountsObjects) {
  Scene scene(yard(R"("crowding-objects": 2, "occupancy": true, "hysteresis-time": 0.1)"));
  const Object one = Scene::object_at(0, 150, 50), outside = Scene::object_at(0, 10, 50);
  EXPECT_EQ(scene.frames(2, {one, outside}, false), "occupancy:yard#1 ");
  EXPECT_EQ(scene.frames(2, {one, one}, false), "crowding:yard#2 occupancy:yard#2 ");
  EXPECT_EQ(scene.frame({one}, false), "") << "a miss of one frame";
  EXPECT_EQ(scene.frames(3, {one, one}, false), "");
  EXPECT_EQ(scene.frames(2, kNobody, false), "occupancy:yard#0 crowding-end:yard#0 ");
}

TEST(Zone, StillObject_StopsAndMovesAgain) {
  Scene scene(yard(R"("stopped-time": 0.3, "still-distance": 3, "enter": false, "leave": false)"));
  EXPECT_EQ(walk(scene, {120, 130, 140, 150, 151, 149, 150, 152, 160}),
            "stopped:yard:1@0.3 moving:yard:1@0.5 ");
}

TEST(Zone, SlowObject_IsNotStill) {
  Scene scene(yard(R"("stopped-time": 0.5, "still-distance": 3)"));
  std::vector<double> columns;
  for (double x = 110; x < 190; x += 1) columns.push_back(x);
  EXPECT_EQ(walk(scene, columns), "enter:yard:1 ");
}

TEST(Zone, ObjectThatAppearsAndStays_IsAbandonedThenRemoved) {
  Scene scene(yard(R"("abandoned-time": 0.3, "removed-time": 0.3, "enter": false, "leave": false,
                      "object-retention": 0)"));
  EXPECT_EQ(scene.frames(4, {Scene::object_at(1, 150, 50)}), "abandoned:yard:1@0.3 ");
  EXPECT_EQ(scene.frame(kNobody), "removed:yard:1@0.3! ");
  EXPECT_EQ(walk(scene, {90, 150, 150, 150, 150, 150, 90}), "removed:yard:1@0.5 ")
      << "an object that walked in is not abandoned";
}

TEST(Zone, DirectionOfMotion_IsReportedWhenItBegins) {
  Scene scene(yard(R"("direction-distance": 10, "direction-angle": 180, "direction-tolerance": 30,
                      "enter": false, "leave": false)"));
  EXPECT_EQ(walk(scene, {150, 160, 170}), "") << "to the right";
  EXPECT_EQ(walk(scene, {160, 150, 140}), "direction:yard:1 ");
  EXPECT_EQ(walk(scene, {150, 140}), "direction:yard:1 ");
}

TEST(Zone, DirectionAngle_IsCountedFromTheRightUpwards) {
  for (const auto& [dx, dy, angle] : std::vector<std::array<double, 3>>{
           {20, 0, 0}, {0, -20, 90}, {-20, 0, 180}, {0, 20, 270}, {20, 20, 315}}) {
    Scene scene(yard(R"("direction-distance": 10, "enter": false, "direction-angle": )" +
                     std::to_string(angle) + R"(, "direction-tolerance": 1)"));
    scene.frame({Scene::object_at(1, 150, 50)});
    scene.frame({Scene::object_at(1, 150 + dx, 50 + dy)});
    ASSERT_EQ(scene.detector.events().size(), 1U) << angle;
    EXPECT_NEAR(scene.detector.events()[0].value, angle, 1e-9);
  }
}

TEST(Zone, ShareOfForeground_IsMotion) {
  Scene scene(yard(R"("motion-share": 0.2, "motion-time": 0.1)"));
  std::string text;
  for (const double share : {0.1, 0.3, 0.3, 0.25, 0.1, -1.0, 0.3}) {
    scene.foreground = {share};
    text += scene.frame(kNobody, false);
  }
  EXPECT_EQ(text, "motion:yard motion-end:yard ");
}

TEST(Line, Crossing_HasItsDirection) {
  Scene scene(R"([{"id": "gate", "points": [[100, 0], [100, 100]]}])");
  // The line points down, so an object that goes to the right goes to the line's left side.
  EXPECT_EQ(walk(scene, {90, 95, 105, 110, 95}), "crossing:gate:1< crossing:gate:1> ");
  EXPECT_EQ(scene.detector.lines()[0].to_left, 1U);
  EXPECT_EQ(scene.detector.lines()[0].to_right, 1U);
}

TEST(Line, OneDirection_ReportsOnlyItsCrossings) {
  Scene scene(R"([{"id": "gate", "points": [[100, 0], [100, 100]], "direction": "right"}])");
  EXPECT_EQ(walk(scene, {90, 110, 90}), "crossing:gate:1> ");
  EXPECT_EQ(scene.detector.lines()[0].to_left, 1U) << "both directions are counted";
}

TEST(Line, ObjectThatTurnsBackWithinTheHysteresis_DoesNotCross) {
  Scene scene(R"([{"id": "gate", "points": [[100, 0], [100, 100]], "hysteresis": 5}])");
  EXPECT_EQ(walk(scene, {90, 99, 101, 99, 102, 98, 104, 96}), "");
  EXPECT_EQ(walk(scene, {101, 104, 106, 101, 99, 101}), "crossing:gate:1< ");
}

TEST(Line, TrackThatWasLostForLong_DoesNotCross) {
  Scene scene(R"([{"id": "gate", "points": [[100, 0], [100, 100]], "object-retention": 0.3}])");
  walk(scene, {90});
  scene.frames(2, kNobody);
  EXPECT_EQ(walk(scene, {110}), "crossing:gate:1< ");
  scene.frames(10, kNobody);
  EXPECT_EQ(walk(scene, {90}), "");
}

TEST(FrameTime, GoesBack_ObjectsAreForgottenWithoutEvents) {
  Scene scene(yard(R"("loitering-time": 0.3)"));
  EXPECT_EQ(walk(scene, {150, 150}), "enter:yard:1 ");
  scene.time = 0;
  EXPECT_EQ(walk(scene, {90, 150}), "enter:yard:1 ") << "no crossing between different scenes";
  EXPECT_EQ(scene.detector.zones()[0].entered, 2U);
  EXPECT_EQ(scene.detector.zones()[0].count, 1);
}

TEST(FrameTime, StandsStill_FrameIsEvaluated) {
  Scene scene(yard(R"("thickness": 1)"));
  walk(scene, {90});
  scene.time -= kFrame;
  EXPECT_EQ(walk(scene, {150}), "enter:yard:1 ");
}

TEST(FrameTime, ExtremeValues_AreAccepted) {
  Scene scene(yard(R"("loitering-time": 604800)"));
  for (const int64_t time : {int64_t{0}, INT64_MAX - kFrame, int64_t{0}, -INT64_MAX / 2}) {
    scene.time = time;
    scene.frame({Scene::object_at(1, 150, 50)});
  }
}

TEST(RulesChange, ZoneWithTheSameId_KeepsItsObjects) {
  Scene scene(yard(R"("loitering-time": 9)"));
  EXPECT_EQ(walk(scene, {150, 150, 150}), "enter:yard:1 ");
  scene.set_rules(R"([{"id": "other", "points": [[0, 0], [9, 0], [9, 9]]},
                      {"id": "yard", "points": [[120, 0], [200, 0], [200, 100], [120, 100]], "loitering-time": 0.4}])");
  EXPECT_EQ(walk(scene, {150, 150}), "loitering:yard:1@0.4 ");
  EXPECT_EQ(scene.detector.zones()[1].entered, 1U);
  scene.set_rules("{}");
  EXPECT_EQ(walk(scene, {150, 90}), "");
}

TEST(RulesChange, AnotherPictureSize_MovesNoObjectAcrossALine) {
  const std::string rules =
      R"({"units": "fractions", "lines": [{"id": "gate", "points": [[0.5, 0], [0.5, 1]]}]})";
  Scene scene(rules);
  EXPECT_EQ(walk(scene, {90}), "");
  scene.set_rules(rules, {100, 50});
  EXPECT_EQ(scene.frame({Scene::object_at(1, 46, 25)}), "");
  EXPECT_EQ(scene.frame({Scene::object_at(1, 51, 25)}), "crossing:gate:1< ");
}

TEST(SceneChangeEvents, CoveredCamera_ObjectsWaitInsideTheirZones) {
  Scene scene(yard(R"("object-retention": 0.2)"));
  EXPECT_EQ(walk(scene, {150, 150}), "enter:yard:1 ");
  scene.change = SceneChange::covered;
  EXPECT_EQ(scene.frame({}, false), "scene-change:covered ");
  EXPECT_EQ(scene.frames(20, {}, false), "");
  EXPECT_EQ(scene.detector.zones()[0].count, 1);
  scene.change = SceneChange::none;
  EXPECT_EQ(walk(scene, {150}), "scene-steady:covered@2.1 ");
  EXPECT_EQ(scene.frames(4, {}), "leave:yard:1@2.3! ");
}

TEST(SceneChangeEvents, MovedCamera_ObjectsAreForgottenWithoutEvents) {
  Scene scene(yard("\"thickness\": 1"));
  EXPECT_EQ(walk(scene, {150, 150}), "enter:yard:1 ");
  scene.change = SceneChange::light;
  EXPECT_EQ(walk(scene, {150}), "scene-change:light ");
  scene.change = SceneChange::moved;
  EXPECT_EQ(walk(scene, {20}), "scene-change:moved ");
  scene.change = SceneChange::none;
  EXPECT_EQ(walk(scene, {20}), "scene-steady:moved@0.2 ");
  EXPECT_EQ(scene.detector.zones()[0].count, 0);
  EXPECT_EQ(walk(scene, {150}), "enter:yard:1 ");
}

TEST(Presences, TrackedObjects_HaveDwellTimes) {
  Scene scene(yard(R"("thickness": 1)"));
  walk(scene, {150, 150, 150});
  ASSERT_EQ(scene.detector.presences().size(), 1U);
  EXPECT_EQ(scene.detector.presences()[0].track, 1U);
  EXPECT_EQ(scene.detector.presences()[0].object, 1U);
  EXPECT_EQ(scene.detector.presences()[0].dwell, 2 * kFrame);
}

TEST(Tracks, IdZero_IsNotFollowed) {
  Scene scene(yard(R"("occupancy": true)"));
  EXPECT_EQ(scene.frame({Scene::object_at(0, 150, 50)}), "");
}

}  // namespace
}  // namespace regions::events
