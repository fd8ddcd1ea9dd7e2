// An element's settings and device, and the path of its frames through the ring.
#include "plugin/stream/filter_stream.hpp"

#include <algorithm>
#include <utility>

#include "plugin/memory/debug.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {

FilterStream::FilterStream(GstBaseTransform* element, const ElementSpec& spec)
    : element_(element), engine_(spec.make_engine()) {}

FilterSettings FilterStream::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

void FilterStream::set_setting(const Field& field, const Value& value) {
  const std::lock_guard lock(mutex_);
  assign(field, &settings_, value);
}

Value FilterStream::get_setting(const Field& field) const {
  const std::lock_guard lock(mutex_);
  return field.get(&settings_);
}

std::string FilterStream::active_device() const {
  const std::lock_guard lock(mutex_);
  return active_device_;
}

bool FilterStream::uses_cuda() const {
  const std::lock_guard lock(mutex_);
  return !backend_ || (backend_->kind() == BackendKind::cuda && takes_cuda_memory());
}

std::shared_ptr<Backend> FilterStream::backend() const {
  const std::lock_guard lock(mutex_);
  return backend_;
}

std::shared_ptr<FrameRing> FilterStream::ring() const {
  const std::lock_guard lock(mutex_);
  return ring_;
}

GstFlowReturn FilterStream::submit(GstBuffer* input, GstBuffer* output) {
  if (ring() && !follow(input)) {
    gst_buffer_unref(input);
    if (output) gst_buffer_unref(output);
    return GST_FLOW_ERROR;
  }
  const auto frames = ring();
  if (frames) {
    try {
      input = out_of_short_pool(input, *frames);
    } catch (const std::exception& error) {
      report(error);
      if (output) gst_buffer_unref(output);
      return GST_FLOW_ERROR;
    }
    late_.take_in(output ? output : input);
    engine_->tell_mask(!has_labels(input));
    const bool whole = holds_picture(input, setup_.in);
    if (!whole) warn_of_empty(input);
    const GstFlowReturn flow = whole ? frames->submit(input, output) : frames->pass(input, output);
    if (flow == GST_FLOW_OK) ++counts_.in;
    return flow;
  }
  gst_buffer_unref(input);
  if (output) gst_buffer_unref(output);
  return GST_FLOW_NOT_NEGOTIATED;
}

GstFlowReturn FilterStream::drain() {
  left_out_ = 0;  // the next frame begins another volume
  const auto frames = ring();
  return frames ? frames->drain() : GST_FLOW_OK;
}

bool FilterStream::passes_frames(const GstEvent* event) {
  if (engine_->slices() == 1) return false;
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_TAG:
    case GST_EVENT_TOC:
    case GST_EVENT_SINK_MESSAGE:
    case GST_EVENT_CUSTOM_DOWNSTREAM:
      return true;
    default:
      return false;
  }
}

void FilterStream::interrupt() {
  let_wait(false);
  if (const auto frames = ring()) frames->interrupt();
}

void FilterStream::shut() {
  engine_->may_wait(false);
  {
    const std::lock_guard lock(mutex_);
    shut_ = true;
    if (ring_) ring_->interrupt();
  }
  let_wait(false);
}

// Whether threads may wait for buffers of the output's pool. The ring, which gives none back while
// it is interrupted, may hold all of them.
void FilterStream::let_wait(bool may) {
  GstBufferPool* const pool = gst_base_transform_get_buffer_pool(element_);
  if (!pool) return;
  {
    const std::lock_guard lock(mutex_);
    gst_buffer_pool_set_flushing(pool, may && !shut_ ? FALSE : TRUE);
  }
  gst_object_unref(pool);
}

void FilterStream::reopen() {
  counts_.in = counts_.out = counts_.late = counts_.dropped = counts_.work_time = 0;
  engine_->may_wait(true);
  const std::lock_guard lock(mutex_);
  shut_ = false;
}

void FilterStream::flush() {
  if (const auto frames = ring()) {
    frames->flush();
    const std::lock_guard lock(mutex_);
    if (shut_) frames->interrupt();
  }
  let_wait(true);
  GST_DEBUG_OBJECT(element_, "a new scene begins: flushed");
  forget();
}

// No frame is under way.
void FilterStream::forget() {
  jumps_.forget();
  late_.forget();
  left_out_ = 0;
  {
    const std::lock_guard lock(mutex_);
    refusal_.clear();
  }
  const auto device = backend();
  if (!device) return;
  const Backend::Entry entry(*device);
  engine_->reset();
}

bool FilterStream::leaves_out(const GstBuffer* frame) {
  const auto most = static_cast<GstClockTime>(settings().max_gap * GST_SECOND);
  if (jumps_.jumps(frame, frame_duration(), most)) {
    GST_DEBUG_OBJECT(element_, "a new scene begins: time jumps to %" GST_TIME_FORMAT,
                     GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
    begin_scene();
  }
  const auto frames = ring();
  const bool may_begin =
      left_out_ == 0 && !engine_->has_window() && frames && !frames->is_filling();
  if (may_begin && gst_base_transform_is_qos_enabled(element_) &&
      late_.is_late(element_->segment, frame)) {
    left_out_ = engine_->slices();
  }
  if (left_out_ == 0) return false;
  --left_out_;
  ++counts_.late;
  GST_DEBUG_OBJECT(element_, "frame at %" GST_TIME_FORMAT " left out: too late (QoS)",
                   GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
  late_.leave_out(GST_ELEMENT(element_), element_->segment, frame);
  return true;
}

void FilterStream::begin_scene() {
  const auto device = backend();
  if (drain() == GST_FLOW_FLUSHING || !device) return;  // frames are under way; flush() forgets
  const Backend::Entry entry(*device);
  engine_->begin_scene();
}

void FilterStream::drop(size_t frames) {
  if (frames == 0) return;
  counts_.dropped += frames;
  GST_DEBUG_OBJECT(element_, "frames dropped by a flush, a stop or an error: %zu", frames);
}

void FilterStream::stop() {
  end();
  forget();
}

void FilterStream::end() {
  std::shared_ptr<FrameRing> old;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(ring_, nullptr);
  }
  if (old) {
    old->flush();  // not in the destructor, because another thread may still hold the ring
    old.reset();
    const auto device = backend();
    const Backend::Entry entry(*device);
    try {
      engine_->finish();
    } catch (const std::exception& error) {
      GST_ELEMENT_WARNING(element_, RESOURCE, WRITE, ("%s", error.what()), (nullptr));
    }
  }
  map_pool_.reset();
}

void FilterStream::tell_work(const FrameSlot& slot) {
  if (!slot.warning().empty() && !warned_) {
    warned_ = true;
    GST_ELEMENT_WARNING(element_, STREAM, FORMAT, ("%s", slot.warning().c_str()),
                        ("reported once per stream"));
  }
  GST_LOG_OBJECT(element_,
                 "frame at %" GST_TIME_FORMAT ": %u regions, worked on for %" GST_TIME_FORMAT,
                 GST_TIME_ARGS(slot.time()), slot.total_regions(),
                 GST_TIME_ARGS(static_cast<GstClockTime>(slot.work_time())));
  counts_.work_time += static_cast<guint64>(slot.work_time());
}

GstFlowReturn FilterStream::push(const Finished& finished) {
  if (latency_.take(finished.stay)) post_latency();
  if (finished.structure && settings().post_messages) post_regions(finished);
  ++counts_.out;
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(element_), finished.buffer);
}

}  // namespace regions
