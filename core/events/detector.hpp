// EventDetector: follows the objects of a video and reports the events of its rules.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/events/rules.hpp"
#include "core/scene_change.hpp"

namespace regions::events {

// An object in a frame. Edges are between pixels.
struct Object {
  uint64_t track = 0;  // id that stays the same from frame to frame; 0: the object has no track
  uint32_t id = 0;     // number in this frame
  Box box;
  Point centroid;
  uint64_t area = 0;  // pixels
};

// The objects of a frame, and the shares of pixels that rules request.
struct FrameObjects {
  int64_t time = 0;  // ns
  std::span<const Object> objects;
  bool is_tracked = false;
  // [zone][object] share of the object's pixels inside the zone, for zones with anchor=area.
  // A zone without shares is not evaluated in this frame.
  std::span<const std::vector<double>> shares;
  // [zone] share of the zone that is foreground. Negative: unknown.
  std::span<const double> foreground;
  // While the scene changes, the objects are unknown: their tracks and visits wait.
  SceneChange scene_change = SceneChange::none;
};

enum class EventType : uint8_t {
  enter,
  leave,
  occupancy,
  loitering,
  crowding,
  crowding_end,
  stopped,
  moving,
  abandoned,
  removed,
  direction,
  motion,
  motion_end,
  crossing,
  scene_change,
  scene_steady
};
inline constexpr Choice kEventTypes[] = {
    {static_cast<int>(EventType::enter), "enter", "An object entered the zone"},
    {static_cast<int>(EventType::leave), "leave",
     "An object left the zone, or its track was lost inside"},
    {static_cast<int>(EventType::occupancy), "occupancy",
     "The number of objects in the zone changed"},
    {static_cast<int>(EventType::loitering), "loitering",
     "An object is in the zone for loitering-time"},
    {static_cast<int>(EventType::crowding), "crowding",
     "At least crowding-objects objects are in the zone"},
    {static_cast<int>(EventType::crowding_end), "crowding-end",
     "Fewer than crowding-objects objects are in the zone"},
    {static_cast<int>(EventType::stopped), "stopped", "An object does not move for stopped-time"},
    {static_cast<int>(EventType::moving), "moving", "A stopped object moves again"},
    {static_cast<int>(EventType::abandoned), "abandoned",
     "An object that appeared in the zone does not move for abandoned-time"},
    {static_cast<int>(EventType::removed), "removed",
     "An object that did not move for removed-time is gone"},
    {static_cast<int>(EventType::direction), "direction", "An object moves in direction-angle"},
    {static_cast<int>(EventType::motion), "motion", "The share motion-share is foreground"},
    {static_cast<int>(EventType::motion_end), "motion-end", "Less than motion-share is foreground"},
    {static_cast<int>(EventType::crossing), "crossing", "An object crossed the line"},
    {static_cast<int>(EventType::scene_change), "scene-change",
     "The whole picture changed suddenly; no objects are known"},
    {static_cast<int>(EventType::scene_steady), "scene-steady", "The change of the scene is over"}};
constexpr const char* name_of(EventType type) { return kEventTypes[static_cast<int>(type)].name; }

// An event. Members without a meaning for its type keep their defaults.
struct Event {
  EventType type = EventType::enter;
  size_t rule = 0;         // index of the zone; of the line for crossings; unused for the scene
  int64_t time = 0;        // of the frame, ns
  uint64_t track = 0;      // of the object; 0: the event concerns no single object
  uint32_t object = 0;     // number of the object in this frame; 0 if it is not in the frame
  Point position;          // of the object's anchor, pixels
  int64_t dwell = -1;      // time that the object was inside or still, ns; negative: unknown
  int count = -1;          // objects in the zone; negative: unknown
  double value = 0;        // direction: its angle in degrees; motion: the share
  Side side = Side::both;  // crossings: the side to which the object went
  bool is_lost = false;    // the track was lost
  SceneChange change = SceneChange::none;  // scene_change and scene_steady
};

// The state of a zone after a frame.
struct ZoneState {
  int count = 0;           // objects inside
  uint64_t entered = 0;    // objects that entered since the start
  uint64_t left = 0;       // objects that left since the start
  double foreground = -1;  // share of foreground; negative: unknown
};
struct LineState {
  uint64_t to_left = 0;  // crossings since the start
  uint64_t to_right = 0;
};
// An object in a zone.
struct Presence {
  size_t zone = 0;
  uint32_t object = 0;  // number of the object in this frame
  uint64_t track = 0;   // 0 without tracks
  int64_t dwell = -1;   // ns; negative without tracks
};

class EventDetector {
 public:
  // Sets the rules, which are in pixels of `rules.size`. If the detector already has rules, zones
  // and lines with the same id keep their objects and counts, and positions are scaled to the new
  // picture size.
  void set_rules(Rules rules);
  const Rules& rules() const { return rules_; }

  // Evaluates a frame. The results are valid until the next call. If the time is earlier than the
  // time of the previous frame, all objects are forgotten first, as in begin_scene().
  void update(const FrameObjects& frame);
  // Forgets all objects, without events. The counts of events since the start continue.
  void begin_scene();

  std::span<const Event> events() const { return events_; }
  std::span<const ZoneState> zones() const { return zone_states_; }
  std::span<const LineState> lines() const { return line_states_; }
  std::span<const Presence> presences() const { return presences_; }

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

  // A condition that changes only after it was true or false for some time.
  struct DelayedFlag {
    bool is_set = false;
    int64_t since = kNever;  // start of the present difference from is_set

    // If is_set changes, returns the time since which `value` has been the new value.
    std::optional<int64_t> update(bool value, int64_t now, int64_t set_delay, int64_t clear_delay);
  };
  // A track in a zone.
  struct Visit {
    DelayedFlag inside;
    bool was_inside = false;      // in the track's last frame, before the delay
    bool is_born_inside = false;  // was inside in the track's first frame
    bool is_loitering = false, is_stopped = false, is_abandoned = false;  // reported
    bool goes_direction = false;                                          // reported
    int64_t entered = 0;  // time of the first frame inside, ns
    Point still_position, direction_position;
    int64_t still_since = 0;
  };
  struct Track {
    uint64_t id = 0;
    int64_t last_seen = 0;    // ns
    uint64_t last_frame = 0;  // number of the last frame with this track
    Point last[kAnchorPoints];
    std::vector<Visit> visits;         // [zone]
    std::vector<uint8_t> is_visiting;  // [zone], whether the visit has begun and not ended
    std::vector<int> crossings;        // [line], to the right minus to the left, not yet reported
  };
  // Values that follow from the rules, in pixels and ns.
  struct ZonePlan {
    Area area;
    int64_t hysteresis_time, retention, loitering, stopped, abandoned, removed;
  };
  // The part of a zone that decides for most objects that they are far outside.
  struct ZoneReach {
    Box reach;  // points outside of this box are outside, also with hysteresis
    Anchor anchor;
    uint8_t position_anchor;  // index in Track::last
  };
  struct LinePlan {
    Box bounds;
    int64_t retention;
  };
  struct ZoneFlags {
    DelayedFlag crowding, motion;
    int reported_count = 0;
    DelayedFlag count_change;
  };

  void forget_objects();
  // Returns false while the scene changes.
  bool update_scene(SceneChange change);
  void update_track(const FrameObjects& frame, size_t index);
  void update_visit(size_t zone, Track& track, const Object& object, double share, bool is_new);
  void report_stay(size_t zone, Track& track, Visit& visit, const Object& object, Point position);
  void update_direction(size_t zone, Track& track, Visit& visit, const Object& object,
                        Point position);
  void end_visit(size_t zone, Track& track, Visit& visit, const Object* object, int64_t dwell);
  void update_crossings(Track& track, const Object& object, const Point* points);
  void end_lost_visits(Track& track);
  void forget_lost_tracks();
  void update_zone(size_t zone, const FrameObjects& frame);
  bool is_inside(size_t zone, const Object& object, Point position, double share,
                 bool was_inside) const;
  Event& report(EventType type, size_t rule);
  Event& report(EventType type, size_t rule, const Track& track, const Object* object);

  Rules rules_;
  std::vector<ZonePlan> zone_plans_;
  std::vector<ZoneReach> zone_reaches_;
  std::vector<LinePlan> line_plans_;
  bool is_tracked_ = false;  // whether the previous frame was tracked
  uint64_t frame_number_ = 0;
  int64_t retention_ = 0;  // of the rule that keeps objects longest, ns
  int64_t now_ = kNever;
  SceneChange scene_change_ = SceneChange::none;  // of the previous frame
  int64_t change_began_ = kNever;
  std::vector<Track> tracks_;
  std::unordered_map<uint64_t, size_t> track_index_;  // [track id]
  std::vector<ZoneFlags> zone_flags_;
  std::vector<Event> events_;
  std::vector<ZoneState> zone_states_;
  std::vector<LineState> line_states_;
  std::vector<Presence> presences_;
};

}  // namespace regions::events
