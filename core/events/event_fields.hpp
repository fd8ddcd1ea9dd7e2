// The fields of an event, as programs see them: in metadata, in messages and in Python.
#pragma once

#include "core/events/detector.hpp"

namespace regions::events {

// A value in ns.
struct Duration {
  int64_t ns = 0;
};

// Calls set(name, value) for each field that the event has. A value is a text, a number, a bool or
// a Duration.
template <class Set>
void for_each_field(const Event& event, const Rules& rules, const Set& set) {
  const bool is_crossing = event.type == EventType::crossing;
  set("event", name_of(event.type));
  if (event.change != SceneChange::none)
    set("change", name_of(event.change));
  else if (is_crossing)
    set("line", rules.lines[event.rule].id.c_str());
  else
    set("zone", rules.zones[event.rule].id.c_str());
  set("time", Duration{event.time});
  if (event.track != 0) {
    set("track", event.track);
    set("id", event.object);
    set("x", event.position.x);
    set("y", event.position.y);
  }
  if (event.type == EventType::leave || event.type == EventType::removed)
    set("lost", event.is_lost);
  if (event.dwell >= 0) set("dwell", Duration{event.dwell});
  if (event.count >= 0) set("count", event.count);
  if (event.type == EventType::direction) set("angle", event.value);
  if (event.type == EventType::motion || event.type == EventType::motion_end)
    set("share", event.value);
  if (is_crossing) set("side", event.side == Side::left ? "left" : "right");
}

}  // namespace regions::events
