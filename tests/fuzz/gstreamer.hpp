// GStreamer inside a fuzz target: our plugin is part of the program, what GLib calls critical is a
// fault.
#pragma once

#include <gst/gst.h>

namespace regions::fuzz {

// Once, before the first input. `others`: the system's plugins too.
void start_gstreamer(bool others);

}  // namespace regions::fuzz
