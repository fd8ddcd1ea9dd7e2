// Classes that observe the times of a stream's frames: jumps of the timestamps, late frames (QoS),
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
  // than `max_gap` before the previous frame begins. `default_duration` is used for a frame without
  // a duration. Returns false for a frame without a timestamp. Times are in ns.
  bool is_jump(const GstBuffer* frame, GstClockTime default_duration, GstClockTime max_gap);

 private:
  // Times of the previous frame.
  GstClockTime begin_ = GST_CLOCK_TIME_NONE, end_ = GST_CLOCK_TIME_NONE;
};

// Skips frames that are too late according to downstream's QoS events. GstBaseTransform can
// do this too, but it would skip single frames of a volume. Besides, it counts a frame as processed
// only if the frame leaves the element at once.
class LateFrames {
 public:
  // Any thread may call this.
  void handle_qos(GstEvent* event);
  // Forgets all QoS events and counts. Called at a flush or a new start.
  void reset();

  // Only the streaming thread calls the members below.

  // Whether the frame is too late. Always false if the segment's format is not TIME.
  bool is_late(const GstSegment& segment, const GstBuffer* frame) const;
  // Counts the skipped frame and posts a QoS message.
  void skip(GstElement* element, const GstSegment& segment, const GstBuffer* frame);
  // Counts a frame that is processed. If the previous frame was skipped, sets the flag DISCONT of
  // `frame`, which must be writable.
  void count_processed(GstBuffer* frame);

 private:
  mutable std::mutex mutex_;  // guards earliest_ and proportion_, which QoS events set
  GstClockTime earliest_ = GST_CLOCK_TIME_NONE;  // frames up to this running time are late
  double proportion_ = 1;  // processing time relative to real time, from the last QoS event

  guint64 processed_ = 0, skipped_ = 0;  // numbers of frames
  bool is_after_skipped_ = false;        // the previous frame was skipped
};

// The time at which each track of a stream was first seen.
class TrackTimes {
 public:
  // Returns the time of the first frame of each region's track, for the regions of a frame with
  // timestamp `now`. Call it for the frames in order. For a region without a track, the time is
  // `now`.
  std::vector<GstClockTime> first_seen(std::span<const Region> regions, GstClockTime now);
  // Forgets all tracks, for a new stream or scene.
  void clear();

 private:
  struct Seen {
    GstClockTime first = GST_CLOCK_TIME_NONE;  // timestamp of the track's first frame, ns
    uint64_t last_frame = 0;  // value of TrackTimes::frame_ when the track was last seen
  };
  // Keeps about `remaining` tracks and forgets the tracks that were not seen for the longest time.
  void forget_longest_unseen(size_t remaining);

  std::mutex mutex_;                           // guards all members below
  std::unordered_map<uint32_t, Seen> tracks_;  // the key is the track id
  uint64_t frame_ = 0;                         // counts first_seen() calls
};

// How long one frame was inside the element, in µs. The time during which it waits for earlier
// frames to be pushed is downstream's latency and not included.
struct FrameLatency {
  gint64 filling = 0;  // time from the first to the last frame of a volume
  // From the last frame to the end of the work, plus the time of the wait for a free slot.
  gint64 processing = 0;
};

// The latency that the element reports. It is the time to collect a volume, which follows from the
// caps, plus the measured processing time. Any thread may call any member. The members that return
// bool return whether reported() changed.
class Latency {
 public:
  // Called for new caps: a frame lasts `frame_duration` ns (0: unknown), a volume has `depth`
  // frames, and at most `slots` frames or volumes are in flight.
  bool configure(GstClockTime frame_duration, int depth, int slots);
  // Adds the measurement of one frame.
  bool record(const FrameLatency& measured);
  // Called when the work changes. Discards the measurements.
  bool reset();

  // Returns the latency in ns, with a margin of a quarter of the measurement. It is at most the
  // duration of the frames that can be in flight at once.
  GstClockTime reported() const;

 private:
  template <class Update>
  bool changes_by(Update update);

  std::atomic<GstClockTime> filling_{0};     // time to collect a volume, from the caps (ns)
  std::atomic<GstClockTime> processing_{0};  // largest measured time, with the margin (ns)
  std::atomic<GstClockTime> max_reported_{GST_CLOCK_TIME_NONE};  // limit of reported() (ns)
};

}  // namespace regions
