// The shapes of rules and their counts as marks: regionevents attaches them to frames, and
// regionoverlay draws them.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "core/drawing/marks.hpp"
#include "core/events/detector.hpp"
#include "plugin/memory/gst_object.hpp"

namespace regions::events {

// The marks of rules, which stay the same until the rules or the picture size change.
struct Shapes {
  BufferPtr lines;  // table of LineMark: the borders of zones, and the lines
  // [zones + 2 * lines], positions of the numbers: of each zone, then of the right and the left
  // side of each line
  std::vector<NumberMark> numbers;
};
// Returns the marks of rules in pixels of `rules.size`.
Shapes shapes_of(const Rules& rules);

// The text that describes an event, and the colour of its rule.
CaptionMark caption_of(const Event& event, const Rules& rules);

// Adds the caption, and the shapes and the numbers of the frame to the metadata: the number of
// objects in each zone, and on each side of a line the number of objects that crossed to this side.
void add_marks(GstStructure* metadata, const Shapes& shapes, const EventDetector& detector,
               const CaptionMark& caption);

// Appends the records of the marks in the metadata of the buffer, for a picture of this size.
// Malformed tables are ignored.
void read_marks(GstBuffer* buffer, Size picture, const StampPlan& plan,
                std::vector<Region>& records);

}  // namespace regions::events
