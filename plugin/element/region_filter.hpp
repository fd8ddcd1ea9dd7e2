// RegionFilter: the base of all our elements, a GstBaseTransform that runs an Engine on frames in
// system or CUDA memory with several of them in flight.
#pragma once

#include <gst/base/gstbasetransform.h>

#include "plugin/stream/engine.hpp"

namespace regions {

class FilterStream;

// Registers the element with the plugin.
gboolean register_element(GstPlugin* plugin, const ElementSpec& spec);

// Whether register_element() made its class.
bool is_ours(GstElement* element);
// What an element of ours holds.
FilterStream& stream_of(gpointer element);

}  // namespace regions
