// GStreamer inside a fuzz target.
#pragma once

#include <gst/gst.h>

namespace regions::fuzz {

// Once, before the first input. With `others`, the system's plugins are what is fuzzed. Else there
// is ours alone, part of the program, and what GLib calls critical is a fault.
void start_gstreamer(bool others);

}  // namespace regions::fuzz
