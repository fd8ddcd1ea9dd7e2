// What the times of a stream's frames tell: where the stream jumps, and which frames come too late.
#pragma once

#include <gst/gst.h>

#include <mutex>

namespace regions {

// Compares each frame's timestamp with where the frame before ended.
class TimeJumps {
 public:
  void forget() { begin_ = end_ = GST_CLOCK_TIME_NONE; }
  // Whether the frame begins more than `most` after the end, or before the begin, of the last one.
  // A frame without a duration lasts for `usual`. A frame without a timestamp tells nothing.
  bool jumps(const GstBuffer* frame, GstClockTime usual, GstClockTime most);

 private:
  GstClockTime begin_ = GST_CLOCK_TIME_NONE, end_ = GST_CLOCK_TIME_NONE;
};

// Frames that downstream's QoS events call too late. GstBaseTransform does the same, but leaves
// frames out of volumes, and counts as processed only what leaves at once.
class LateFrames {
 public:
  // Any thread.
  void listen(GstEvent* qos);
  // For a flush or a new start.
  void forget();

  // All below by the streaming thread. Whether a frame is too late. Times are in TIME segments.
  bool is_late(const GstSegment& segment, const GstBuffer* frame) const;
  // Posts that the frame is left out.
  void leave_out(GstElement* element, const GstSegment& segment, const GstBuffer* frame);
  // The frame (writable) is taken in; its flag DISCONT tells of frames left out before it.
  void take_in(GstBuffer* leaving);

 private:
  mutable std::mutex mutex_;  // guards what QoS events bring
  GstClockTime earliest_ = GST_CLOCK_TIME_NONE;
  double proportion_ = 1;

  guint64 processed_ = 0, dropped_ = 0;  // frames
  bool gap_ = false;                     // behind the last frame taken in
};

}  // namespace regions
