// RegionFilter: the base class of this plugin's elements. It is a GstBaseTransform that runs an
// ElementAlgorithm on frames in system or CUDA memory, with several frames in flight.
#pragma once

#include <gst/base/gstbasetransform.h>

#include "plugin/stream/element_algorithm.hpp"

namespace regions {

class FilterStream;

// Registers the element with the plugin.
gboolean register_element(GstPlugin* plugin, const ElementSpec& spec);

// ---- for the sources of this folder

// The stream of an element of this plugin. `element` is its GstElement or another GObject type of
// the same object. Any thread may call it while it holds a reference to the element.
FilterStream& stream_of(gpointer element);
// The parent class of this plugin's elements.
GstBaseTransformClass* base_transform_class();

// Set virtual functions of the class.
// Frames, events and queries: submit_input_buffer, generate_output, sink_event, src_event, query.
void install_frame_functions(GstBaseTransformClass* klass);
// Allocation queries: propose_allocation, decide_allocation.
void install_allocation_functions(GstBaseTransformClass* klass);

// Installs the properties: active-device and stats, then FilterSettings, then the algorithm's
// parameters.
void install_properties(GObjectClass* klass, const ElementSpec& spec);
// Set or read a property by its id.
// If a value is out of range, the property keeps its former value
// and a warning is posted. The values that a preset implies are set as properties of `element`.
void set_element_property(FilterStream& stream, GObject* element, guint id, const GValue* value);
void get_element_property(FilterStream& stream, guint id, GValue* value);
// Sets the properties that have a control binding to their values at the frame's stream time.
void sync_controlled_properties(GstBaseTransform* element, GstBuffer* frame);

}  // namespace regions
