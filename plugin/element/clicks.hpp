// Clicks into the picture that a sink downstream shows.
#pragma once

#include <gst/gst.h>

#include "plugin/stream/engine.hpp"

namespace regions {

// Tells the element's engine of a click, if the event is one, and the application of the property
// that changed. Clicks whose coordinates are no
// numbers are ignored.
void follow_click(GstElement* element, Engine& engine, GstEvent* event);

}  // namespace regions
