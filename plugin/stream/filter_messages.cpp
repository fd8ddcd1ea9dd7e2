// Messages of an element's stream to the application: regions, latency, counts, errors.
#include <utility>

#include "plugin/memory/debug.hpp"
#include "plugin/stream/filter_stream.hpp"

namespace regions {

void FilterStream::post_regions(const Finished& finished) {
  GstBuffer* buffer = finished.buffer;
  GstStructure* structure = gst_structure_copy(finished.structure);
  gst_structure_set_name(structure, engine_->name());
  gst_structure_remove_fields(structure, "labels", "labels-format", "table", "table-columns",
                              nullptr);
  const GstSegment* segment = &element_->segment;
  const bool timed = segment->format == GST_FORMAT_TIME;
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  const guint64 stream_time =
      timed ? gst_segment_to_stream_time(segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE;
  const guint64 running_time =
      timed ? gst_segment_to_running_time(segment, GST_FORMAT_TIME, pts) : GST_CLOCK_TIME_NONE;
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
      latency_.stated(), "work-time", G_TYPE_UINT64, counts_.work_time.load(), nullptr);
}

void FilterStream::post_latency() {
  GST_DEBUG_OBJECT(element_, "latency is now %" GST_TIME_FORMAT, GST_TIME_ARGS(latency_.stated()));
  gst_element_post_message(GST_ELEMENT(element_), gst_message_new_latency(GST_OBJECT(element_)));
}

// A frame without a picture causes a warning, as in GstVideoFilter, unless it is an empty gap.
void FilterStream::warn_of_empty(GstBuffer* frame) {
  const size_t bytes = gst_buffer_get_size(frame);
  GST_DEBUG_OBJECT(element_,
                   "frame at %" GST_TIME_FORMAT
                   " of %zu bytes holds no picture: passes, blank where replaced",
                   GST_TIME_ARGS(GST_BUFFER_PTS(frame)), bytes);
  if (bytes == 0 && GST_BUFFER_FLAG_IS_SET(frame, GST_BUFFER_FLAG_GAP)) return;
  const std::string what =
      "a frame of " + std::to_string(bytes) + " bytes holds no " +
      std::to_string(setup_.in.size.width) + "x" + std::to_string(setup_.in.size.height) + " " +
      std::string(name_of(setup_.in.layout.format)) + " picture, although its caps promise one";
  if (std::exchange(warned_of_empty_, true)) {
    GST_WARNING_OBJECT(element_, "%s", what.c_str());
    return;
  }
  GST_ELEMENT_WARNING(element_, STREAM, FORMAT, ("%s", what.c_str()),
                      ("such frames pass without being processed; reported once per stream"));
}

GstClockTime FilterStream::frame_duration() const {
  const int fps_n = setup_.in.info.fps_n, fps_d = setup_.in.info.fps_d;
  return fps_n > 0 ? gst_util_uint64_scale_int(GST_SECOND, fps_d, fps_n) : 0;
}

namespace {

struct Code {
  GQuark domain;
  gint code;
};

bool is_from_new(const std::exception& error) {
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
}

Code code_of(const std::exception& error) {
  if (dynamic_cast<const MemoryError*>(&error) || is_from_new(error)) {
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT};
  }
  if (dynamic_cast<const DeviceError*>(&error)) {
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
  }
  if (dynamic_cast<const MissingFile*>(&error)) {
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
  }
  if (dynamic_cast<const UnreadableFile*>(&error)) {
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ};
  }
  if (dynamic_cast<const UnwritableFile*>(&error)) {
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE};
  }
  if (dynamic_cast<const SettingsError*>(&error)) {
    return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS};
  }
  if (dynamic_cast<const InputError*>(&error)) return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT};
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
}

}  // namespace

void FilterStream::report(const std::exception& error) {
  const auto [domain, code] = code_of(error);
  gst_element_message_full(GST_ELEMENT(element_), GST_MESSAGE_ERROR, domain, code,
                           g_strdup(is_from_new(error) ? "no memory" : error.what()), nullptr,
                           __FILE__, GST_FUNCTION, __LINE__);
}

void FilterStream::report_refused_caps(const std::exception& error) {
  {
    const std::lock_guard lock(mutex_);
    if (refusal_ == error.what()) return;
    refusal_ = error.what();
  }
  report(error);
}

void FilterStream::refuse(const char* property, const std::exception& error) {
  if (!runs()) {
    g_warning("%s: %s kept as it was: %s", engine_->name(), property, error.what());
    return;
  }
  GST_ELEMENT_WARNING(element_, LIBRARY, SETTINGS,
                      ("%s kept as it was: %s", property, error.what()), (nullptr));
}

}  // namespace regions
