// Frames, events and queries. Unlike in GstBaseTransform, frames leave later, on another thread.
#include "plugin/element/filter_flow.hpp"

#include <utility>

#include "plugin/element/clicks.hpp"
#include "plugin/element/filter_properties.hpp"
#include "plugin/element/region_filter.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/debug.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {
namespace {

// The parent class of this plugin's elements.
GstBaseTransformClass* base_class() {
  return GST_BASE_TRANSFORM_CLASS(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
}

// If the former caps return after caps that set_caps refused, the pads still have them, and
// GstBaseTransform does not call set_caps. False if they are refused now.
bool resumes(GstBaseTransform* base) {
  if (stream_of(base).is_configured()) return true;
  GstCaps* in = gst_pad_get_current_caps(base->sinkpad);
  GstCaps* out = gst_pad_get_current_caps(base->srcpad);
  const bool resumed =
      !in || !out || GST_BASE_TRANSFORM_GET_CLASS(base)->set_caps(base, in, out) == TRUE;
  gst_clear_caps(&in);
  gst_clear_caps(&out);
  return resumed;
}

// The element itself starts a change of output: if caps stay equal, for example when drawing
// begins, GstBaseTransform does not call set_caps.
GstFlowReturn submit_input_buffer(GstBaseTransform* base, gboolean is_discont, GstBuffer* input) {
  if (!resumes(base)) {
    gst_buffer_unref(input);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (!stream_of(base).follow_output()) {
    gst_buffer_unref(input);
    return GST_FLOW_ERROR;
  }
  return base_class()->submit_input_buffer(base, is_discont, input);
}

GstFlowReturn generate_output(GstBaseTransform* base, GstBuffer** none) {
  *none = nullptr;  // frames leave by the source pad's task
  GstBuffer* input = std::exchange(base->queued_buf, nullptr);
  if (!input) return GST_FLOW_OK;
  follow_controls(base, input);
  FilterStream& stream = stream_of(base);
  if (stream.leaves_out(input)) {
    gst_buffer_unref(input);
    return GST_FLOW_OK;
  }
  GstBuffer* output = nullptr;
  if (stream.picture() > Output::drawn_on) {
    const MemoryAttempt attempt;
    const GstFlowReturn flow = base_class()->prepare_output_buffer(base, input, &output);
    if (flow != GST_FLOW_OK) {
      if (flow == GST_FLOW_ERROR) stream.report(attempt.error("an output picture"));
      gst_buffer_unref(input);
      return flow;
    }
  } else {
    input = gst_buffer_make_writable(input);
  }
  return stream.submit(input, output);
}

// Never called, because generate_output replaces them. Without these two functions GstBaseTransform
// would use the input buffer as its output and do nothing in place.
GstFlowReturn transform(GstBaseTransform*, GstBuffer*, GstBuffer*) {
  return GST_FLOW_NOT_SUPPORTED;
}
GstFlowReturn transform_ip(GstBaseTransform*, GstBuffer*) { return GST_FLOW_NOT_SUPPORTED; }

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  FilterStream& stream = stream_of(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) {
    stream.interrupt();
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    stream.flush();
  } else if (GST_EVENT_IS_SERIALIZED(event) && !stream.passes_frames(event)) {
    const GstFlowReturn flow = stream.drain();
    // No later input will return the flow upstream.
    const bool failed = flow == GST_FLOW_NOT_LINKED || flow == GST_FLOW_NOT_NEGOTIATED;
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && failed) GST_ELEMENT_FLOW_ERROR(base, flow);
  }
  return base_class()->sink_event(base, event);
}

gboolean src_event(GstBaseTransform* base, GstEvent* event) {
  FilterStream& stream = stream_of(base);
  follow_click(GST_ELEMENT(base), stream.engine(), event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    stream.listen_to_qos(event);  // GstBaseTransform would drop frames itself
    return gst_pad_push_event(base->sinkpad, event);
  }
  return base_class()->src_event(base, event);
}

gboolean on_query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  FilterStream& stream = stream_of(base);
  const bool asks_context = GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT;
  if (asks_context && stream.cuda().answer(GST_ELEMENT(base), query)) return TRUE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN && direction == GST_PAD_SINK) stream.drain();
  if (!base_class()->query(base, direction, query)) return FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY && direction == GST_PAD_SRC) {
    gboolean live = FALSE;
    GstClockTime min = 0, max = 0;
    gst_query_parse_latency(query, &live, &min, &max);
    const GstClockTime own = stream.latency().stated();
    if (GST_CLOCK_TIME_IS_VALID(max)) max += own;
    gst_query_set_latency(query, live, min + own, max);
  }
  return TRUE;
}

}  // namespace

void install_flow(GstBaseTransformClass* klass) {
  klass->submit_input_buffer = submit_input_buffer;
  klass->generate_output = generate_output;
  klass->transform = transform;
  klass->transform_ip = transform_ip;
  klass->transform_ip_on_passthrough = FALSE;
  klass->sink_event = sink_event;
  klass->src_event = src_event;
  klass->query = on_query;
}

}  // namespace regions
