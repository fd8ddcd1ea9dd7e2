// Measurements based on the times of a stream's frames: jumps of the timestamps, late frames (QoS),
// the first frame of each track, and the element's latency.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/region.hpp"

namespace regions {

// Detects jumps: compares each frame's timestamp with the end of the previous frame.
class TimeJumps {
 public:
  void reset() { begin_ = end_ = GST_CLOCK_TIME_NONE; }
  // Whether the frame begins more than `max_gap` after the end of the previous frame, or ends more
  // than `max_gap` before its begin. `default_duration` is used for a frame without a duration.
  // False for a frame without a timestamp. Times are in ns.
  bool is_jump(const GstBuffer* frame, GstClockTime default_duration, GstClockTime max_gap);

 private:
  GstClockTime begin_ = GST_CLOCK_TIME_NONE, end_ = GST_CLOCK_TIME_NONE;  // of the previous frame
};

// Skips frames that are too late according to downstream's QoS events. GstBaseTransform does the
// same, but would skip single frames of a volume, and it counts only frames that leave at once
// as processed.
class LateFrames {
 public:
  // Any thread may call this.
  void handle_qos(GstEvent* event);
  // For a flush or a new start.
  void reset();

  // The streaming thread calls the members below. Times are in TIME segments.
  bool is_late(const GstSegment& segment, const GstBuffer* frame) const;
  // Counts the skipped frame and posts a QoS message.
  void skip(GstElement* element, const GstSegment& segment, const GstBuffer* frame);
  // Counts a frame that is processed. Sets the flag DISCONT of `frame` (writable) if the
  // previous frame was skipped.
  void accept(GstBuffer* frame);

 private:
  mutable std::mutex mutex_;  // guards earliest_ and proportion_, which QoS events set
  GstClockTime earliest_ = GST_CLOCK_TIME_NONE;  // frames up to this running time are late
  double proportion_ = 1;

  guint64 processed_ = 0, skipped_ = 0;  // frames
  bool is_after_skipped_ = false;        // the previous frame was skipped
};

// The time at which each track of a stream was first seen.
class TrackTimes {
 public:
  // Returns the time of the first frame of each region's track, for the regions of a frame with
  // timestamp `now`. Frames come in order. For a region without a track the result is `now`.
  std::vector<GstClockTime> first_seen(std::span<const Region> regions, GstClockTime now);
  // Forgets all tracks, for a new stream or scene.
  void clear();

 private:
  struct Seen {
    GstClockTime first = GST_CLOCK_TIME_NONE;
    uint64_t last_frame = 0;
  };
  void forget_longest_unseen(size_t remaining);

  std::mutex mutex_;                           // guards all members below
  std::unordered_map<uint32_t, Seen> tracks_;  // by track id
  uint64_t frame_ = 0;                         // counts first_seen() calls
};

// How long one frame was inside the element, in µs. The time during which it waits for earlier
// frames to be pushed is downstream's latency and not included.
struct FrameLatency {
  gint64 filling = 0;     // from the first frame of a volume to its last frame
  gint64 processing = 0;  // from then to the end of the work, including the wait for a free slot
};

// The latency that the element reports: known from the caps (collecting a volume) plus measured
// (processing). Any thread may call any member. The members that return bool return whether
// reported() changed.
class Latency {
 public:
  // For new caps: a frame lasts `frame` ns (0: unknown), `depth` frames make a volume, and `slots`
  // volumes or frames are in flight.
  bool configure(GstClockTime frame, int depth, int slots);
  bool record(const FrameLatency& measured);
  // Discards the measurements because other work begins.
  bool reset();

  // With a margin of a quarter of the measurement; at most the duration of all frames in flight.
  GstClockTime reported() const;

 private:
  template <class F>
  bool changes(F f);

  std::atomic<GstClockTime> filling_{0}, processing_{0};  // ns
  std::atomic<GstClockTime> max_{GST_CLOCK_TIME_NONE};    // ns
};

}  // namespace regions
