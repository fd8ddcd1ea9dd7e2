// Evaluates the rules of a frame: first each tracked object, then lost tracks, then the zones.
#include "core/events/detector.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace regions::events {
namespace {

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(std::llround(seconds * 1e9)); }

Point point_of(const Object& object, Anchor anchor) {
  const Box& box = object.box;
  const double x = (box.left + box.right) / 2;
  // The centre of the lowest row, so that an object at the edge of the picture is inside a zone
  // that ends there.
  constexpr double kHalfRow = 0.5;
  switch (anchor) {
    case Anchor::center:
      return {x, (box.top + box.bottom) / 2};
    case Anchor::centroid:
      return object.centroid;
    default:
      return {x, box.bottom - kHalfRow};
  }
}

// The point of an object that events report and that motion is measured by. An anchor that is not a
// point is represented by the centre of the box.
Anchor position_anchor(Anchor anchor) { return is_point(anchor) ? anchor : Anchor::center; }

double square(double value) { return value * value; }
double squared_distance(Point a, Point b) { return square(a.x - b.x) + square(a.y - b.y); }

// The angle of a motion as seen in the picture: 0 to the right, 90 upwards.
double angle_of(Point motion) {
  const double degrees = std::atan2(-motion.y, motion.x) * 180 / std::numbers::pi;
  return degrees < 0 ? degrees + 360 : degrees;
}

// The members of a rule with the same id in `old_rules`, or a new value.
template <class P, class T>
std::vector<T> carry_over(const std::vector<P>& rules, const std::vector<P>& old_rules,
                          const std::vector<T>& values) {
  std::vector<T> result(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    for (size_t k = 0; k < old_rules.size(); ++k) {
      if (old_rules[k].id == rules[i].id) result[i] = values[k];
    }
  }
  return result;
}

}  // namespace

std::optional<int64_t> EventDetector::DelayedFlag::update(bool value, int64_t now,
                                                          int64_t set_delay, int64_t clear_delay) {
  if (value == is_set) {
    since = kNever;
    return {};
  }
  if (since == kNever) since = now;
  if (now - since < (value ? set_delay : clear_delay)) return {};
  is_set = value;
  return std::exchange(since, kNever);
}

void EventDetector::set_rules(Rules rules) {
  const bool is_scaled = rules_.size.area() > 0 && !(rules_.size == rules.size);
  const double x = is_scaled ? static_cast<double>(rules.size.width) / rules_.size.width : 1;
  const double y = is_scaled ? static_cast<double>(rules.size.height) / rules_.size.height : 1;
  const auto scale = [&](Point& p) { p = {p.x * x, p.y * y}; };
  for (Track& track : tracks_) {
    for (Point& point : track.last) scale(point);
    for (Visit& visit : track.visits) {
      scale(visit.still_position);
      scale(visit.direction_position);
    }
    track.visits = carry_over(rules.zones, rules_.zones, track.visits);
    track.is_visiting = carry_over(rules.zones, rules_.zones, track.is_visiting);
    track.crossings = carry_over(rules.lines, rules_.lines, track.crossings);
  }
  zone_flags_ = carry_over(rules.zones, rules_.zones, zone_flags_);
  zone_states_ = carry_over(rules.zones, rules_.zones, zone_states_);
  line_states_ = carry_over(rules.lines, rules_.lines, line_states_);
  rules_ = std::move(rules);
  zone_plans_.clear();
  zone_reaches_.clear();
  retention_ = 0;
  for (const Zone& zone : rules_.zones) {
    const Area area = zone.area();
    zone_plans_.push_back({area, nanoseconds(zone.hysteresis_time),
                           nanoseconds(zone.object_retention), nanoseconds(zone.loitering_time),
                           nanoseconds(zone.stopped_time), nanoseconds(zone.abandoned_time),
                           nanoseconds(zone.removed_time)});
    zone_reaches_.push_back({area.bounds().grown(zone.hysteresis), zone.anchor,
                             static_cast<uint8_t>(position_anchor(zone.anchor))});
    retention_ = std::max(retention_, zone_plans_.back().retention);
  }
  line_plans_.clear();
  for (const Line& line : rules_.lines) {
    line_plans_.push_back({bounds_of(line.points), nanoseconds(line.object_retention)});
    retention_ = std::max(retention_, line_plans_.back().retention);
  }
  events_.clear();
  presences_.clear();
}

void EventDetector::forget_objects() {
  tracks_.clear();
  track_index_.clear();
  zone_flags_.assign(rules_.zones.size(), {});
  for (ZoneState& state : zone_states_) state.count = 0;
}

void EventDetector::begin_scene() {
  forget_objects();
  events_.clear();
  presences_.clear();
  now_ = kNever;
  scene_change_ = SceneChange::none;
}

Event& EventDetector::report(EventType type, size_t rule) {
  Event& event = events_.emplace_back();
  event.type = type;
  event.rule = rule;
  event.time = now_;
  return event;
}

Event& EventDetector::report(EventType type, size_t rule, const Track& track,
                             const Object* object) {
  const Anchor anchor =
      type == EventType::crossing ? rules_.lines[rule].anchor : rules_.zones[rule].anchor;
  Event& event = report(type, rule);
  event.track = track.id;
  event.object = object ? object->id : 0;
  event.position = object ? point_of(*object, position_anchor(anchor))
                          : track.last[static_cast<size_t>(position_anchor(anchor))];
  return event;
}

void EventDetector::update(const FrameObjects& frame) {
  // A frame of a changed scene may have no objects, so it does not show whether they are tracked.
  const bool is_tracked = frame.scene_change == SceneChange::none ? frame.is_tracked : is_tracked_;
  if (frame.time < now_ || is_tracked != is_tracked_) begin_scene();
  now_ = frame.time;
  is_tracked_ = is_tracked;
  ++frame_number_;
  events_.clear();
  presences_.clear();
  if (!update_scene(frame.scene_change)) return;
  if (frame.is_tracked) {
    for (size_t i = 0; i < frame.objects.size(); ++i) {
      if (frame.objects[i].track != 0) update_track(frame, i);
    }
  }
  forget_lost_tracks();
  for (size_t zone = 0; zone < rules_.zones.size(); ++zone) update_zone(zone, frame);
}

bool EventDetector::update_scene(SceneChange change) {
  const SceneChange before = std::exchange(scene_change_, change);
  if (change == before) return change == SceneChange::none;
  if (change != SceneChange::none) {
    if (before == SceneChange::none) change_began_ = now_;
    report(EventType::scene_change, 0).change = change;
    return false;
  }
  Event& event = report(EventType::scene_steady, 0);
  event.change = before;
  event.dwell = now_ - change_began_;
  if (before == SceneChange::moved) {
    forget_objects();  // their positions refer to another view
  } else {
    // The objects had no frames in the meantime, and are not lost because of that.
    for (Track& track : tracks_) track.last_seen += event.dwell;
  }
  return true;
}

void EventDetector::update_track(const FrameObjects& frame, size_t index) {
  const Object& object = frame.objects[index];
  const auto [entry, is_new] = track_index_.try_emplace(object.track, tracks_.size());
  if (is_new) {
    Track& created = tracks_.emplace_back();
    created.id = object.track;
    created.visits.resize(rules_.zones.size());
    created.is_visiting.resize(rules_.zones.size());
    created.crossings.resize(rules_.lines.size());
  }
  Track& track = tracks_[entry->second];
  if (track.last_frame == frame_number_) return;  // only the first record of a track counts
  Point points[kAnchorPoints];
  for (int i = 0; i < kAnchorPoints; ++i) points[i] = point_of(object, static_cast<Anchor>(i));
  if (!is_new) update_crossings(track, object, points);
  track.last_seen = now_;
  track.last_frame = frame_number_;
  std::copy(std::begin(points), std::end(points), track.last);
  for (size_t zone = 0; zone < rules_.zones.size(); ++zone) {
    const ZoneReach& reach = zone_reaches_[zone];
    if (is_point(reach.anchor) && !track.is_visiting[zone] &&
        !reach.reach.contains(track.last[reach.position_anchor])) {
      continue;
    }
    double share = -1;
    if (reach.anchor == Anchor::area) {
      if (frame.shares.empty() || frame.shares[zone].empty()) continue;
      share = frame.shares[zone][index];
    }
    update_visit(zone, track, object, share, is_new);
  }
}

// `position` is the object's point for rules with a point as anchor.
bool EventDetector::is_inside(size_t zone, const Object& object, Point position, double share,
                              bool was_inside) const {
  const ZonePlan& plan = zone_plans_[zone];
  const Zone& rule = rules_.zones[zone];
  if (rule.anchor == Anchor::area) {
    return share > 0 && share >= (was_inside ? rule.leave_share : rule.min_share);
  }
  if (rule.anchor == Anchor::overlap) {
    constexpr double kTouch = 1e-6;  // pixels; a common edge does not count as overlap
    return plan.area.meets(object.box.grown((was_inside ? rule.hysteresis : 0) - kTouch));
  }
  return plan.area.contains(position) ||
         (was_inside && rule.hysteresis > 0 &&
          plan.area.distance_to_border(position) <= rule.hysteresis);
}

void EventDetector::update_visit(size_t zone, Track& track, const Object& object, double share,
                                 bool is_new) {
  const ZonePlan& plan = zone_plans_[zone];
  Visit& visit = track.visits[zone];
  const Point position = track.last[zone_reaches_[zone].position_anchor];
  const bool is_inside = this->is_inside(zone, object, position, share, visit.was_inside);
  if (!is_inside && !visit.was_inside && !visit.inside.is_set) return;
  if (is_inside && !visit.was_inside && !visit.inside.is_set) {
    visit.entered = visit.still_since = now_;
    visit.still_position = visit.direction_position = position;
    visit.is_born_inside = is_new;
  }
  visit.was_inside = is_inside;
  const auto change =
      visit.inside.update(is_inside, now_, plan.hysteresis_time, plan.hysteresis_time);
  if (change && is_inside) {
    ++zone_states_[zone].entered;
    ++zone_states_[zone].count;
    if (rules_.zones[zone].enter) report(EventType::enter, zone, track, &object);
  } else if (change) {
    end_visit(zone, track, visit, &object, *change - visit.entered);
  }
  track.is_visiting[zone] = visit.was_inside || visit.inside.is_set;
  if (visit.inside.is_set) presences_.push_back({zone, object.id, track.id, now_ - visit.entered});
  if (is_inside && visit.inside.is_set) report_stay(zone, track, visit, object, position);
}

void EventDetector::report_stay(size_t zone, Track& track, Visit& visit, const Object& object,
                                Point position) {
  const Zone& rule = rules_.zones[zone];
  const ZonePlan& plan = zone_plans_[zone];
  const int64_t dwell = now_ - visit.entered;
  if (plan.loitering > 0 && !visit.is_loitering && dwell >= plan.loitering) {
    visit.is_loitering = true;
    report(EventType::loitering, zone, track, &object).dwell = dwell;
  }
  if (squared_distance(position, visit.still_position) > square(rule.still_distance)) {
    if (visit.is_stopped)
      report(EventType::moving, zone, track, &object).dwell = now_ - visit.still_since;
    visit.still_position = position;
    visit.still_since = now_;
    visit.is_stopped = visit.is_abandoned = false;
  }
  const int64_t still = now_ - visit.still_since;
  if (plan.stopped > 0 && !visit.is_stopped && still >= plan.stopped) {
    visit.is_stopped = true;
    report(EventType::stopped, zone, track, &object).dwell = still;
  }
  if (plan.abandoned > 0 && visit.is_born_inside && !visit.is_abandoned &&
      still >= plan.abandoned) {
    visit.is_abandoned = true;
    report(EventType::abandoned, zone, track, &object).dwell = still;
  }
  update_direction(zone, track, visit, object, position);
}

void EventDetector::update_direction(size_t zone, Track& track, Visit& visit, const Object& object,
                                     Point position) {
  const Zone& rule = rules_.zones[zone];
  if (rule.direction_distance <= 0 ||
      squared_distance(position, visit.direction_position) < square(rule.direction_distance)) {
    return;
  }
  const double angle = angle_of(position - visit.direction_position);
  const double difference = std::abs(std::remainder(angle - rule.direction_angle, 360.0));
  const bool matches = difference <= rule.direction_tolerance;
  if (matches && !visit.goes_direction)
    report(EventType::direction, zone, track, &object).value = angle;
  visit.goes_direction = matches;
  visit.direction_position = position;
}

// `object` is null if the track is lost.
void EventDetector::end_visit(size_t zone, Track& track, Visit& visit, const Object* object,
                              int64_t dwell) {
  const Zone& rule = rules_.zones[zone];
  ++zone_states_[zone].left;
  --zone_states_[zone].count;
  const int64_t still = visit.entered + dwell - visit.still_since;
  const int64_t removed = zone_plans_[zone].removed;
  if (removed > 0 && still >= removed) {
    Event& event = report(EventType::removed, zone, track, object);
    event.dwell = still;
    event.is_lost = !object;
  }
  if (rule.leave) {
    Event& event = report(EventType::leave, zone, track, object);
    event.dwell = dwell;
    event.is_lost = !object;
  }
  visit = {};
}

// `points` are the anchor points of the object in this frame.
void EventDetector::update_crossings(Track& track, const Object& object, const Point* points) {
  for (size_t line = 0; line < rules_.lines.size(); ++line) {
    const Line& rule = rules_.lines[line];
    const auto anchor = static_cast<size_t>(rule.anchor);
    const Point from = track.last[anchor], to = points[anchor];
    int& net = track.crossings[line];
    if (now_ - track.last_seen > line_plans_[line].retention) {
      net = 0;
      continue;
    }
    const Box move = {std::min(from.x, to.x), std::min(from.y, to.y), std::max(from.x, to.x),
                      std::max(from.y, to.y)};
    if (line_plans_[line].bounds.meets(move)) net += crossings_of(rule.points, from, to);
    if (net == 0) continue;
    if (rule.hysteresis > 0 && distance_to_line(rule.points, to) < rule.hysteresis) continue;
    const Side side = net > 0 ? Side::right : Side::left;
    net = 0;
    ++(side == Side::right ? line_states_[line].to_right : line_states_[line].to_left);
    if (rule.direction != Side::both && rule.direction != side) continue;
    Event& event = report(EventType::crossing, line, track, &object);
    event.side = side;
    event.position = to;
  }
}

// Ends the visits of a track that is not in this frame, in zones that keep it no longer.
void EventDetector::end_lost_visits(Track& track) {
  for (size_t zone = 0; zone < rules_.zones.size(); ++zone) {
    if (now_ - track.last_seen <= zone_plans_[zone].retention) continue;
    Visit& visit = track.visits[zone];
    // A track that was already outside when it was lost had left at that time.
    const int64_t end = visit.was_inside ? track.last_seen : visit.inside.since;
    if (visit.inside.is_set) end_visit(zone, track, visit, nullptr, end - visit.entered);
    visit = {};
    track.is_visiting[zone] = false;
  }
}

void EventDetector::forget_lost_tracks() {
  for (size_t i = 0; i < tracks_.size();) {
    Track& track = tracks_[i];
    if (track.last_frame != frame_number_) end_lost_visits(track);
    if (now_ - track.last_seen <= retention_) {
      ++i;
      continue;
    }
    track_index_.erase(track.id);
    if (i + 1 < tracks_.size()) {
      track = std::move(tracks_.back());
      track_index_[track.id] = i;
    }
    tracks_.pop_back();
  }
}

void EventDetector::update_zone(size_t zone, const FrameObjects& frame) {
  const Zone& rule = rules_.zones[zone];
  ZoneState& state = zone_states_[zone];
  ZoneFlags& flags = zone_flags_[zone];
  const int64_t hysteresis = zone_plans_[zone].hysteresis_time;
  const bool has_shares = !frame.shares.empty() && !frame.shares[zone].empty();
  state.foreground = frame.foreground.empty() ? -1 : frame.foreground[zone];
  if (rule.motion_share > 0 && state.foreground >= 0 &&
      flags.motion.update(state.foreground >= rule.motion_share, now_,
                          nanoseconds(rule.motion_time), hysteresis)) {
    report(flags.motion.is_set ? EventType::motion : EventType::motion_end, zone).value =
        state.foreground;
  }
  const bool can_count = rule.anchor != Anchor::area || has_shares || frame.objects.empty();
  if (!frame.is_tracked && can_count) {
    state.count = 0;
    for (size_t i = 0; i < frame.objects.size(); ++i) {
      const double share = has_shares ? frame.shares[zone][i] : -1;
      const Point position = point_of(frame.objects[i], position_anchor(rule.anchor));
      if (!is_inside(zone, frame.objects[i], position, share, false)) continue;
      ++state.count;
      presences_.push_back({zone, frame.objects[i].id, 0, -1});
    }
  }
  // Tracks have passed the hysteresis already.
  const int64_t count_delay = frame.is_tracked ? 0 : hysteresis;
  if (rule.occupancy &&
      flags.count_change.update(state.count != flags.reported_count, now_, count_delay, 0)) {
    flags.count_change = {};
    flags.reported_count = state.count;
    report(EventType::occupancy, zone).count = state.count;
  }
  if (rule.crowding_objects > 0 &&
      flags.crowding.update(state.count >= rule.crowding_objects, now_,
                            nanoseconds(rule.crowding_time), count_delay)) {
    report(flags.crowding.is_set ? EventType::crowding : EventType::crowding_end, zone).count =
        state.count;
  }
}

}  // namespace regions::events
