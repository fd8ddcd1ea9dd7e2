// What the times of a stream's frames tell.
#include "plugin/stream/frame_times.hpp"

#include <utility>

namespace regions {
namespace {

GstClockTime running_time_of(const GstSegment& segment, const GstBuffer* frame) {
  if (segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
}

}  // namespace

bool TimeJumps::jumps(const GstBuffer* frame, GstClockTime usual, GstClockTime most) {
  const GstClockTime begin = GST_BUFFER_PTS(frame);
  if (!GST_CLOCK_TIME_IS_VALID(begin)) return false;
  const GstClockTime lasts =
      GST_BUFFER_DURATION_IS_VALID(frame) ? GST_BUFFER_DURATION(frame) : usual;
  const GstClockTime last_begin = std::exchange(begin_, begin);
  const GstClockTime last_end = std::exchange(end_, begin + lasts);
  if (!GST_CLOCK_TIME_IS_VALID(last_begin)) return false;
  // Backwards, frames of reversed playback lie one behind the other, too.
  return (begin > last_end && begin - last_end > most) ||
         (end_ < last_begin && last_begin - end_ > most);
}

void LateFrames::listen(GstEvent* qos) {
  GstClockTimeDiff late = 0;
  GstClockTime time = 0;
  const std::lock_guard lock(mutex_);
  gst_event_parse_qos(qos, nullptr, &proportion_, &late, &time);
  const auto earliest = static_cast<GstClockTimeDiff>(time) + late;
  earliest_ = earliest < 0 ? 0 : static_cast<GstClockTime>(earliest);
  if (!GST_CLOCK_TIME_IS_VALID(time)) earliest_ = GST_CLOCK_TIME_NONE;
}

void LateFrames::forget() {
  const std::lock_guard lock(mutex_);
  earliest_ = GST_CLOCK_TIME_NONE;
  proportion_ = 1;
  processed_ = dropped_ = 0;
  gap_ = false;
}

bool LateFrames::is_late(const GstSegment& segment, const GstBuffer* frame) const {
  const GstClockTime time = running_time_of(segment, frame);
  const std::lock_guard lock(mutex_);
  return GST_CLOCK_TIME_IS_VALID(time) && GST_CLOCK_TIME_IS_VALID(earliest_) && time <= earliest_;
}

void LateFrames::leave_out(GstElement* element, const GstSegment& segment, const GstBuffer* frame) {
  gap_ = true;
  ++dropped_;
  const GstClockTime time = running_time_of(segment, frame), pts = GST_BUFFER_PTS(frame);
  GstMessage* message = gst_message_new_qos(
      GST_OBJECT(element), FALSE, time, gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, pts),
      pts, GST_BUFFER_DURATION(frame));
  {
    const std::lock_guard lock(mutex_);
    gst_message_set_qos_values(message, GST_CLOCK_DIFF(time, earliest_), proportion_, 1000000);
  }
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, processed_, dropped_);
  gst_element_post_message(element, message);
}

void LateFrames::take_in(GstBuffer* leaving) {
  ++processed_;
  if (std::exchange(gap_, false)) GST_BUFFER_FLAG_SET(leaving, GST_BUFFER_FLAG_DISCONT);
}

}  // namespace regions
