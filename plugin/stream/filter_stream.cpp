// Implements FilterStream, part 1: settings, frames and events, buffer pools, messages.
#include "plugin/stream/filter_stream.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/gst_object.hpp"
#include "plugin/metadata/region_meta.hpp"

namespace regions {
namespace {

bool has_probes(GstPad* pad) {
  GST_OBJECT_LOCK(pad);
  const bool has_any = pad->num_probes > 0;
  GST_OBJECT_UNLOCK(pad);
  return has_any;
}

// A GStreamer error domain and a code in this domain.
struct ErrorCode {
  GQuark domain;
  gint code;
};

template <class Error>
bool is(const std::exception& error) {
  return dynamic_cast<const Error*>(&error) != nullptr;
}

ErrorCode error_code_of(const std::exception& error) {
  if (is<MemoryError>(error) || is<std::bad_alloc>(error))
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT};
  if (is<DeviceError>(error)) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
  if (is<MissingFile>(error)) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
  if (is<UnreadableFile>(error)) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ};
  if (is<UnwritableFile>(error)) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE};
  if (is<SettingsError>(error)) return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS};
  if (is<InputError>(error)) return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT};
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
}

}  // namespace

FilterStream::FilterStream(GstBaseTransform* element, const ElementSpec& spec,
                           FindStream find_stream)
    : element_(element),
      find_stream_(find_stream),
      resources_{spec.make_element_algorithm()},
      settings_(spec.settings) {}

// ---- settings

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
  const auto current_backend = backend();
  return current_backend ? current_backend->description() : "none";
}

bool FilterStream::accepts_cuda_memory() const {
  const std::lock_guard lock(mutex_);
  return !backend_ || (backend_->kind() == BackendKind::cuda && supports_cuda_memory());
}

std::shared_ptr<Backend> FilterStream::backend() const {
  const std::lock_guard lock(mutex_);
  return backend_;
}

std::shared_ptr<FramePipeline> FilterStream::pipeline() const {
  const std::lock_guard lock(mutex_);
  return pipeline_;
}

SharedPlan FilterStream::plan() const {
  const std::lock_guard lock(mutex_);
  return plan_;
}

void FilterStream::set_plan(SharedPlan new_plan) {
  const std::lock_guard lock(mutex_);
  plan_ = std::move(new_plan);
}

// ---- frames and events

GstFlowReturn FilterStream::submit(BufferPtr input, BufferPtr output) {
  if (pipeline() && !adapt_to_frame(input.get())) return GST_FLOW_ERROR;
  const auto current_pipeline = pipeline();
  if (!current_pipeline) return GST_FLOW_NOT_NEGOTIATED;
  try {
    input = copy_from_short_pool(std::move(input), *current_pipeline);
  } catch (const std::exception& error) {
    post_error(error);
    return GST_FLOW_ERROR;
  }
  const SharedPlan current_plan = plan();
  late_frames_.count_processed(output ? output.get() : input.get());
  resources_.algorithm->set_mask_missing(!has_labels(input.get()) &&
                                         !has_segmentation(input.get()));
  const bool has_picture = holds_picture(input.get(), current_plan->in);
  GstFlowReturn flow = GST_FLOW_OK;
  if (!has_picture) {
    warn_of_missing_picture(input.get());
    flow = current_pipeline->end_volume();
    if (flow != GST_FLOW_OK) return flow;
  }
  flow = current_pipeline->submit([&](InFlightFrame& frame) {
    return has_picture ? frame.add(current_plan, std::move(input), std::move(output))
                       : frame.add_without_picture(std::move(input), std::move(output));
  });
  if (flow == GST_FLOW_OK) ++counts_.in;
  return flow;
}

GstFlowReturn FilterStream::drain() {
  frames_to_skip_ = 0;  // the next frame begins another volume
  const auto current_pipeline = pipeline();
  return current_pipeline ? current_pipeline->drain() : GST_FLOW_OK;
}

bool FilterStream::may_overtake_frames(const GstEvent* event) {
  if (resources_.algorithm->slices() == 1) return false;
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
  set_pool_flushing(true);
  if (const auto current_pipeline = pipeline()) current_pipeline->interrupt();
}

void FilterStream::prepare_stop() {
  resources_.algorithm->set_flushing(true);
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (pipeline_) pipeline_->interrupt();
  }
  set_pool_flushing(true);
}

// Sets whether waits for a buffer of the output pool fail at once. An interrupted pipeline returns
// no buffers to the pool and may hold all of them, so a thread that waits for one would wait
// forever.
void FilterStream::set_pool_flushing(bool is_flushing) {
  GstBufferPool* const pool = gst_base_transform_get_buffer_pool(element_);
  if (!pool) return;
  {
    const std::lock_guard lock(mutex_);
    gst_buffer_pool_set_flushing(pool, is_flushing || is_stopping_ ? TRUE : FALSE);
  }
  gst_object_unref(pool);
}

void FilterStream::allow_waiting() {
  counts_.in = counts_.out = counts_.late = counts_.dropped = counts_.work_time = 0;
  resources_.algorithm->set_flushing(false);
  const std::lock_guard lock(mutex_);
  is_stopping_ = false;
}

void FilterStream::flush() {
  if (const auto current_pipeline = pipeline()) {
    current_pipeline->flush();
    const std::lock_guard lock(mutex_);
    if (is_stopping_) current_pipeline->interrupt();
  }
  set_pool_flushing(false);
  GST_DEBUG_OBJECT(element_, "a new scene begins: flushed");
  reset_history();
}

// Discards everything that depends on earlier frames. No frame may be in flight.
void FilterStream::reset_history() {
  time_jumps_.reset();
  late_frames_.reset();
  frames_to_skip_ = 0;
  {
    const std::lock_guard lock(mutex_);
    caps_error_.clear();
  }
  const auto current_backend = backend();
  if (!current_backend) return;
  const Backend::Entry entry(*current_backend);
  resources_.algorithm->reset();
}

bool FilterStream::skip_if_late(const GstBuffer* frame) {
  const auto max_gap = static_cast<GstClockTime>(settings().max_gap * GST_SECOND);
  if (time_jumps_.is_jump(frame, frame_duration(), max_gap)) {
    GST_DEBUG_OBJECT(element_, "a new scene begins: time jumps to %" GST_TIME_FORMAT,
                     GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
    begin_scene();
  }
  const auto current_pipeline = pipeline();
  const bool may_skip = frames_to_skip_ == 0 && !resources_.algorithm->has_sliding_window() &&
                        current_pipeline && !current_pipeline->has_incomplete_volume();
  if (may_skip && gst_base_transform_is_qos_enabled(element_) &&
      late_frames_.is_late(element_->segment, frame)) {
    frames_to_skip_ = resources_.algorithm->slices();
  }
  if (frames_to_skip_ == 0) return false;
  --frames_to_skip_;
  ++counts_.late;
  GST_DEBUG_OBJECT(element_, "frame at %" GST_TIME_FORMAT " left out: too late (QoS)",
                   GST_TIME_ARGS(GST_BUFFER_PTS(frame)));
  late_frames_.skip(GST_ELEMENT(element_), element_->segment, frame);
  return true;
}

void FilterStream::begin_scene() {
  const auto current_backend = backend();
  // During a flush, frames may be in flight. flush() will reset the algorithm.
  if (drain() == GST_FLOW_FLUSHING || !current_backend) return;
  const Backend::Entry entry(*current_backend);
  resources_.algorithm->begin_scene();
}

void FilterStream::count_dropped(size_t frames) {
  if (frames == 0) return;
  counts_.dropped += frames;
  GST_DEBUG_OBJECT(element_, "frames dropped by a flush, a stop or an error: %zu", frames);
}

void FilterStream::record_work(const InFlightFrame& frame) {
  if (!frame.warning().empty() && !has_warned_) {
    has_warned_ = true;
    GST_ELEMENT_WARNING(element_, STREAM, FORMAT, ("%s", frame.warning().c_str()),
                        ("reported once per stream"));
  }
  GST_LOG_OBJECT(element_,
                 "frame at %" GST_TIME_FORMAT ": %u regions, worked on for %" GST_TIME_FORMAT,
                 GST_TIME_ARGS(frame.time()), frame.total_regions(),
                 GST_TIME_ARGS(static_cast<GstClockTime>(frame.work_time())));
  counts_.work_time += static_cast<guint64>(frame.work_time());
}

GstFlowReturn FilterStream::push(const InFlightFrame& frame, FrameBuffers& buffers) {
  if (latency_.record(frame.latency())) post_latency();
  if (buffers.structure && settings().post_messages) post_regions(buffers);
  ++counts_.out;
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(element_), buffers.output.release());
}

bool FilterStream::accepts_fences_from(const std::shared_ptr<Backend>& other) const {
  const std::lock_guard lock(mutex_);
  return pipeline_ && plan_->accepts_fences_from(other);
}

// Whether frames may be pushed with a fence. They may not if a pad probe sees them or if messages
// describe them, because both require complete results.
bool FilterStream::next_element_accepts_fences() const {
  if (settings().post_messages) return false;
  GstPad* const pad = GST_BASE_TRANSFORM_SRC_PAD(element_);
  const ObjectPtr<GstPad> peer(gst_pad_get_peer(pad));
  if (!peer || has_probes(pad) || has_probes(peer.get())) return false;
  const ObjectPtr<GstElement> next(gst_pad_get_parent_element(peer.get()));
  const FilterStream* const next_stream = next ? find_stream_(next.get()) : nullptr;
  return next_stream && next_stream->accepts_fences_from(plan()->backend);
}

// ---- pools

unsigned FilterStream::max_held_frames() const {
  const std::lock_guard lock(mutex_);
  if (!pipeline_) return 0;
  // The 1 is for a frame that waits for a free slot.
  return static_cast<unsigned>(plan_->setup.slots) * static_cast<unsigned>(plan_->slices()) + 1;
}

// Returns the frame itself, or a copy of it. The frames of a volume are held until later frames
// arrive. If the frame's pool could run out of buffers before that, the frame is copied and its
// buffer returns to the pool.
BufferPtr FilterStream::copy_from_short_pool(BufferPtr input,
                                             FramePipeline& current_pipeline) const {
  if (plan()->slices() == 1) return input;
  // The upstream element fills one buffer, and a sink displays at least one.
  const size_t buffers_elsewhere = 1 + std::max(1U, downstream_needs_.load());
  if (!is_from_short_pool(input.get(), current_pipeline.held_frames() + buffers_elsewhere))
    return input;
  GST_DEBUG_OBJECT(element_, "frame at %" GST_TIME_FORMAT " is copied: its pool is short",
                   GST_TIME_ARGS(GST_BUFFER_PTS(input.get())));
  BufferPtr copy(gst_buffer_copy_deep(input.get()));
  if (!copy) throw MemoryError("out of memory for the copy of a frame from an exhausted pool");
  return copy;
}

GstBufferPool* FilterStream::propose_pool(GstCaps* caps, size_t bytes, unsigned min_buffers) {
  const auto current_backend = backend();
  if (!current_backend || current_backend->kind() != BackendKind::cuda) return nullptr;
  return parse_caps(caps).cuda
             ? resources_.cuda.make_pool(caps, bytes, min_buffers, plan()->replaces_picture())
             : make_pinned_pool(current_backend, caps, bytes, min_buffers);
}

GstBufferPool* FilterStream::output_pool(GstCaps* caps, size_t* bytes) {
  const auto current_backend = backend();
  const SharedPlan current_plan = plan();
  if (!current_backend || current_backend->memory() != Memory::device ||
      !current_plan->replaces_picture())
    return nullptr;
  *bytes = current_plan->out.bytes;
  try {
    return make_pinned_pool(current_backend, caps, *bytes, 2);
  } catch (const std::exception& error) {  // pools of other memory are slower, but work too
    GST_WARNING_OBJECT(element_, "%s", error.what());
    return nullptr;
  }
}

// ---- messages

void FilterStream::post_regions(const FrameBuffers& buffers) {
  GstBuffer* buffer = buffers.output.get();
  GstStructure* structure = gst_structure_copy(buffers.structure);
  gst_structure_set_name(structure, resources_.algorithm->name());
  const RegionArray regions(buffers.structure);
  gst_structure_set_value(structure, "regions", regions.get());
  gst_structure_remove_fields(structure, "labels", "labels-format", "table", "table-columns",
                              nullptr);
  const GstSegment* segment = &element_->segment;
  const bool has_times = segment->format == GST_FORMAT_TIME;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  const guint64 stream_time =
      has_times ? gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE;
  const guint64 running_time =
      has_times ? gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE;
  gst_structure_set(structure, "timestamp", G_TYPE_UINT64, pts, "stream-time", G_TYPE_UINT64,
                    stream_time, "running-time", G_TYPE_UINT64, running_time, "duration",
                    G_TYPE_UINT64, GST_BUFFER_DURATION(buffer), nullptr);
  gst_element_post_message(GST_ELEMENT(element_),
                           gst_message_new_element(GST_OBJECT(element_), structure));
}

GstStructure* FilterStream::stats() const {
  return gst_structure_new(
      "application/x-regions-stats", "frames-in", G_TYPE_UINT64, counts_.in.load(), "frames-out",
      G_TYPE_UINT64, counts_.out.load(), "frames-late", G_TYPE_UINT64, counts_.late.load(),
      "frames-dropped", G_TYPE_UINT64, counts_.dropped.load(), "latency", G_TYPE_UINT64,
      latency_.reported(), "work-time", G_TYPE_UINT64, counts_.work_time.load(), nullptr);
}

void FilterStream::post_latency() {
  GST_DEBUG_OBJECT(element_, "latency is now %" GST_TIME_FORMAT,
                   GST_TIME_ARGS(latency_.reported()));
  gst_element_post_message(GST_ELEMENT(element_), gst_message_new_latency(GST_OBJECT(element_)));
}

// Posts a warning about a frame without a picture, as GstVideoFilter does. Later warnings of the
// stream are only logged. Gaps without bytes are normal and cause no warning.
void FilterStream::warn_of_missing_picture(GstBuffer* frame) {
  const size_t bytes = gst_buffer_get_size(frame);
  GST_DEBUG_OBJECT(element_,
                   "frame at %" GST_TIME_FORMAT
                   " of %zu bytes holds no picture: passes, blank where replaced",
                   GST_TIME_ARGS(GST_BUFFER_PTS(frame)), bytes);
  if (bytes == 0 && GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_GAP)) return;
  const SharedPlan current_plan = plan();
  const PictureCaps& in = current_plan->in;
  const std::string warning = "a frame of " + std::to_string(bytes) + " bytes holds no " +
                              std::to_string(in.size.width) + "x" + std::to_string(in.size.height) +
                              " " + std::string(name_of(in.layout.format)) +
                              " picture, although its caps promise one";
  if (std::exchange(has_warned_of_missing_picture_, true)) {
    GST_WARNING_OBJECT(element_, "%s", warning.c_str());
    return;
  }
  GST_ELEMENT_WARNING(element_, STREAM, FORMAT, ("%s", warning.c_str()),
                      ("such frames pass without being processed; reported once per stream"));
}

GstClockTime FilterStream::frame_duration() const {
  const SharedPlan current_plan = plan();
  const int fps_n = current_plan->in.info.fps_n, fps_d = current_plan->in.info.fps_d;
  return fps_n > 0 ? gst_util_uint64_scale_int(GST_SECOND, fps_d, fps_n) : 0;
}

void FilterStream::post_error(const std::exception& error) {
  const auto [domain, code] = error_code_of(error);
  gst_element_message_full(GST_ELEMENT(element_), GST_MESSAGE_ERROR, domain, code,
                           g_strdup(is<std::bad_alloc>(error) ? "no memory" : error.what()),
                           nullptr, __FILE__, GST_FUNCTION, __LINE__);
}

void FilterStream::post_caps_error(const std::exception& error) {
  {
    const std::lock_guard lock(mutex_);
    if (caps_error_ == error.what()) return;
    caps_error_ = error.what();
  }
  post_error(error);
}

void FilterStream::warn_of_refused_value(const char* property, const std::exception& error) {
  if (!is_running()) {
    g_warning("%s: %s kept as it was: %s", resources_.algorithm->name(), property, error.what());
    return;
  }
  GST_ELEMENT_WARNING(element_, LIBRARY, SETTINGS,
                      ("%s kept as it was: %s", property, error.what()), (nullptr));
}

}  // namespace regions
