// Describes events as GstStructures, for element messages and for the `regions` metadata.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <vector>

#include "core/events/detector.hpp"
#include "plugin/memory/gst_object.hpp"

namespace regions::events {

constexpr const char* kEventName = "regions-event";  // name of the structure of an event

// Returns the structure of an event. `utc` is the wall-clock time of the frame in ns since 1970, if
// it is known. Fields:
//
// | field      | type     | content
// |------------|----------|--------------------------------------------------------------------
// | event      | string   | a name of kEventTypes: "enter"
// | zone, line | string   | id of the rule: one of the two
// | time       | guint64  | stream time of the frame (ns)
// | utc        | guint64  | wall-clock time of the frame (ns since 1970), if it is known
// |            |          | if the event concerns an object:
// | track      | guint64  | its track
// | id         | uint     | its number in this frame; 0 if it is not in the frame
// | x, y       | double   | its position (pixels)
// | lost       | gboolean | leave, removed: its track was lost
// | dwell      | guint64  | leave, loitering: time inside; stopped, moving, abandoned, removed:
// time |            |          | without motion (ns) | count      | int      | occupancy, crowding,
// crowding-end: objects in the zone | angle      | double   | direction: direction of motion
// (degrees) | share      | double   | motion, motion-end: share of the zone that is foreground |
// side       | string   | crossing: "left" or "right"
StructurePtr structure_of(const Event& event, const Rules& rules, std::optional<uint64_t> utc);

// Adds the results of the detector to a structure of `regions` metadata, which must be writable.
// Takes the structures of the events.
void add_events(GstStructure* metadata, const EventDetector& detector,
                std::vector<StructurePtr> events);

// Attaches `regions` metadata without regions to the buffer, for a picture of this size. Returns
// its structure.
GstStructure* attach_empty_metadata(GstBuffer* buffer, Size picture);

}  // namespace regions::events
