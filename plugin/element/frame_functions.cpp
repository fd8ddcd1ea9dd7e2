// Handles the frames, events and queries of an element. Unlike in GstBaseTransform, frames are
// pushed some time after they arrived, usually by another thread.
#include <gst/video/navigation.h>

#include <cmath>
#include <utility>

#include "plugin/element/region_filter.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {
namespace {

constexpr gint kLeftButton = 1;

// Returns false if the event is neither a mouse click nor a touch.
bool read_click(GstEvent* event, gint& button, gdouble& x, gdouble& y) {
  switch (gst_navigation_event_get_type(event)) {
    case GST_NAVIGATION_EVENT_MOUSE_BUTTON_PRESS:
      return gst_navigation_event_parse_mouse_button_event(event, &button, &x, &y);
    case GST_NAVIGATION_EVENT_TOUCH_DOWN:
      button = kLeftButton;
      return gst_navigation_event_parse_touch_event(event, nullptr, &x, &y, nullptr);
    default:
      return false;
  }
}

// If the event is a click, passes it to the algorithm, and notifies the application of the property
// that changed. Clicks with infinite or NaN coordinates are ignored.
void handle_click_event(GstElement* element, ElementAlgorithm& algorithm, GstEvent* event) {
  gint button = 0;
  gdouble x = 0, y = 0;
  if (!read_click(event, button, x, y)) return;
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  if (const char* changed = algorithm.handle_click(button, x, y)) {
    g_object_notify(G_OBJECT(element), changed);
  }
}

// Configures the stream again if the last caps were refused. After a refusal the pads keep their
// former caps. If these former caps arrive again, GstBaseTransform does not call set_caps, so this
// function calls it. Returns false if the caps are refused again.
bool ensure_configured(GstBaseTransform* base) {
  if (stream_of(base).is_configured()) return true;
  GstCaps* in = gst_pad_get_current_caps(base->sinkpad);
  GstCaps* out = gst_pad_get_current_caps(base->srcpad);
  const bool is_accepted =
      !in || !out || GST_BASE_TRANSFORM_GET_CLASS(base)->set_caps(base, in, out) == TRUE;
  gst_clear_caps(&in);
  gst_clear_caps(&out);
  return is_accepted;
}

// Before each frame, applies a change of the property `output`. GstBaseTransform does not call
// set_caps if the caps stay equal, for example when drawing begins.
GstFlowReturn submit_input_buffer(GstBaseTransform* base, gboolean is_discont, GstBuffer* input) {
  if (!ensure_configured(base)) {
    gst_buffer_unref(input);
    return GST_FLOW_NOT_NEGOTIATED;
  }
  if (!stream_of(base).apply_pending_output()) {
    gst_buffer_unref(input);
    return GST_FLOW_ERROR;
  }
  return base_transform_class()->submit_input_buffer(base, is_discont, input);
}

GstFlowReturn generate_output(GstBaseTransform* base, GstBuffer** no_output) {
  *no_output = nullptr;  // FramePipeline pushes the frames
  BufferPtr input(std::exchange(base->queued_buf, nullptr)), output;
  if (!input) return GST_FLOW_OK;
  sync_controlled_properties(base, input.get());
  FilterStream& stream = stream_of(base);
  if (stream.skip_if_late(input.get())) return GST_FLOW_OK;
  if (stream.output() > Output::drawn_on) {
    const MemoryAttempt allocation_attempt;
    GstBuffer* allocated = nullptr;
    const GstFlowReturn flow =
        base_transform_class()->prepare_output_buffer(base, input.get(), &allocated);
    if (flow == GST_FLOW_ERROR) stream.post_error(allocation_attempt.error("an output picture"));
    if (flow != GST_FLOW_OK) return flow;
    output.reset(allocated);
  } else {
    input.reset(gst_buffer_make_writable(input.release()));
  }
  return stream.submit(std::move(input), std::move(output));
}

// These two functions are never called, because generate_output() does the work. Without them
// GstBaseTransform would assume passthrough and not allow in-place work.
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
  } else if (GST_EVENT_IS_SERIALIZED(event) && !stream.may_overtake_frames(event)) {
    const GstFlowReturn flow = stream.drain();
    // At EOS no later frame returns this flow upstream, so it is posted as an error.
    const bool has_failed = flow == GST_FLOW_NOT_LINKED || flow == GST_FLOW_NOT_NEGOTIATED;
    if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && has_failed) GST_ELEMENT_FLOW_ERROR(base, flow);
  }
  return base_transform_class()->sink_event(base, event);
}

gboolean src_event(GstBaseTransform* base, GstEvent* event) {
  FilterStream& stream = stream_of(base);
  handle_click_event(GST_ELEMENT(base), stream.algorithm(), event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    stream.handle_qos(event);  // bypasses GstBaseTransform, which would drop frames itself
    return gst_pad_push_event(base->sinkpad, event);
  }
  return base_transform_class()->src_event(base, event);
}

gboolean on_query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  FilterStream& stream = stream_of(base);
  const bool is_context_query = GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT;
  if (is_context_query && stream.cuda().answer_query(GST_ELEMENT(base), query)) return TRUE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN && direction == GST_PAD_SINK) stream.drain();
  if (!base_transform_class()->query(base, direction, query)) return FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY && direction == GST_PAD_SRC) {
    gboolean live = FALSE;
    GstClockTime min = 0, max = 0;
    gst_query_parse_latency(query, &live, &min, &max);
    const GstClockTime added = stream.latency().reported();
    if (GST_CLOCK_TIME_IS_VALID(max)) max += added;
    gst_query_set_latency(query, live, min + added, max);
  }
  return TRUE;
}

}  // namespace

void install_frame_functions(GstBaseTransformClass* klass) {
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
