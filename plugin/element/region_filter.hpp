// RegionFilter: the base class of this plugin's elements. It is a GstBaseTransform that runs an
// ElementAlgorithm on frames in system or CUDA memory, with several frames in flight.
#pragma once

#include <gst/base/gstbasetransform.h>

#include "plugin/stream/element_algorithm.hpp"

namespace regions {

class FilterStream;

// Registers the element with the plugin.
gboolean register_element(GstPlugin* plugin, const ElementSpec& spec);

// ---- internal functions of the folder plugin/element

// Returns the stream of an element of this plugin. `element` points to the element's GObject. Any
// thread may call this function while it holds a reference to the element.
FilterStream& stream_of(gpointer element);
// Returns the parent class of this plugin's elements.
GstBaseTransformClass* base_transform_class();

// Sets the virtual functions that handle frames, events and queries: submit_input_buffer,
// generate_output, sink_event, src_event, query.
void install_frame_functions(GstBaseTransformClass* klass);
// Sets the virtual functions for allocation queries: propose_allocation, decide_allocation.
void install_allocation_functions(GstBaseTransformClass* klass);

// Installs the properties: active-device and stats, then FilterSettings, then the algorithm's
// parameters.
void install_properties(GObjectClass* klass, const ElementSpec& spec);
// Sets a property by its id. If a value is out of range, the property keeps its former value and a
// warning is posted. If the property is a preset, also sets the other properties that it implies.
void set_element_property(FilterStream& stream, GObject* element, guint id, const GValue* value);
// Reads a property by its id.
void get_element_property(FilterStream& stream, guint id, GValue* value);
// For each property that a GstControlBinding controls, sets the value that the binding has at the
// frame's stream time.
void sync_controlled_properties(GstBaseTransform* element, GstBuffer* frame);

}  // namespace regions
