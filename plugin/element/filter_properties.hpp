// The properties of our elements: active-device and stats, then the settings of all, then the
// engine's own.
#pragma once

#include "plugin/stream/filter_stream.hpp"

namespace regions {

void install_filter_properties(GObjectClass* klass, const ElementSpec& spec);

// Set or read a property by its id. A value out of range leaves the property as it was, with a
// warning. What a preset implies is set as properties of `element`.
void set_filter_property(FilterStream& stream, GObject* element, guint id, const GValue* value);
void get_filter_property(FilterStream& stream, guint id, GValue* value);

// Sets the properties that are under control to their values at the frame's stream time.
void follow_controls(GstBaseTransform* element, GstBuffer* frame);

}  // namespace regions
