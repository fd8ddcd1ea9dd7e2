// Implements TimeJumps, LateFrames, TrackTimes and Latency.
#include "plugin/stream/stream_times.hpp"

#include <algorithm>
#include <utility>

namespace regions {
namespace {

GstClockTime running_time_of(const GstSegment& segment, const GstBuffer* frame) {
  if (segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
}

}  // namespace

// ---- jumps and late frames

bool TimeJumps::is_jump(const GstBuffer* frame, GstClockTime default_duration,
                        GstClockTime max_gap) {
  const GstClockTime begin = GST_BUFFER_PTS(frame);
  if (!GST_CLOCK_TIME_IS_VALID(begin)) return false;
  const GstClockTime duration =
      GST_BUFFER_DURATION_IS_VALID(frame) ? GST_BUFFER_DURATION(frame) : default_duration;
  const GstClockTime last_begin = std::exchange(begin_, begin);
  const GstClockTime last_end = std::exchange(end_, begin + duration);
  if (!GST_CLOCK_TIME_IS_VALID(last_begin)) return false;
  // Forward playback: this frame begins after the end of the previous frame. Reversed playback:
  // this frame ends before the previous frame begins.
  return (begin > last_end && begin - last_end > max_gap) ||
         (end_ < last_begin && last_begin - end_ > max_gap);
}

void LateFrames::handle_qos(GstEvent* event) {
  GstClockTimeDiff lateness = 0;
  GstClockTime time = 0;
  const std::lock_guard lock(mutex_);
  gst_event_parse_qos(event, nullptr, &proportion_, &lateness, &time);
  const auto earliest = static_cast<GstClockTimeDiff>(time) + lateness;
  earliest_ = earliest < 0 ? 0 : static_cast<GstClockTime>(earliest);
  if (!GST_CLOCK_TIME_IS_VALID(time)) earliest_ = GST_CLOCK_TIME_NONE;
}

void LateFrames::reset() {
  const std::lock_guard lock(mutex_);
  earliest_ = GST_CLOCK_TIME_NONE;
  proportion_ = 1;
  processed_ = skipped_ = 0;
  is_after_skipped_ = false;
}

bool LateFrames::is_late(const GstSegment& segment, const GstBuffer* frame) const {
  const GstClockTime time = running_time_of(segment, frame);
  const std::lock_guard lock(mutex_);
  return GST_CLOCK_TIME_IS_VALID(time) && GST_CLOCK_TIME_IS_VALID(earliest_) && time <= earliest_;
}

void LateFrames::skip(GstElement* element, const GstSegment& segment, const GstBuffer* frame) {
  is_after_skipped_ = true;
  ++skipped_;
  const GstClockTime time = running_time_of(segment, frame), pts = GST_BUFFER_PTS(frame);
  GstMessage* message = gst_message_new_qos(
      GST_OBJECT(element), FALSE, time, gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, pts),
      pts, GST_BUFFER_DURATION(frame));
  {
    const std::lock_guard lock(mutex_);
    gst_message_set_qos_values(message, GST_CLOCK_DIFF(time, earliest_), proportion_, 1000000);
  }
  gst_message_set_qos_stats(message, GST_FORMAT_BUFFERS, processed_, skipped_);
  gst_element_post_message(element, message);
}

void LateFrames::count_processed(GstBuffer* frame) {
  ++processed_;
  if (std::exchange(is_after_skipped_, false)) GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
}

// ---- tracks

std::vector<GstClockTime> TrackTimes::first_seen(std::span<const Region> regions,
                                                 GstClockTime now) {
  // The algorithm may resume a lost track. This class cannot know which lost tracks the algorithm
  // still has, so it remembers at least this number of tracks.
  constexpr size_t kMinRemembered = 4096;
  const std::lock_guard lock(mutex_);
  ++frame_;
  std::vector<GstClockTime> times;
  times.reserve(regions.size());
  for (const Region& region : regions) {
    // A region gets a track only after it was seen in `track-birth` frames.
    if (region.track == 0) {
      times.push_back(now);
      continue;
    }
    Seen& seen = tracks_.try_emplace(region.track, Seen{now, 0}).first->second;
    seen.last_frame = frame_;
    times.push_back(seen.first);
  }
  const size_t max_tracks = std::max(4 * regions.size(), kMinRemembered);
  if (tracks_.size() > max_tracks) forget_longest_unseen(max_tracks / 2);
  return times;
}

void TrackTimes::clear() {
  const std::lock_guard lock(mutex_);
  tracks_.clear();
}

void TrackTimes::forget_longest_unseen(size_t remaining) {
  std::vector<uint64_t> last_frames;
  last_frames.reserve(tracks_.size());
  for (const auto& [track, seen] : tracks_) last_frames.push_back(seen.last_frame);
  const auto oldest_kept = last_frames.end() - static_cast<ptrdiff_t>(remaining);
  std::nth_element(last_frames.begin(), oldest_kept, last_frames.end());
  std::erase_if(tracks_, [&](const auto& entry) { return entry.second.last_frame < *oldest_kept; });
}

// ---- latency

// Calls `update`. Returns whether it changed reported().
template <class Update>
bool Latency::changes_by(Update update) {
  const GstClockTime before = reported();
  update();
  return reported() != before;
}

bool Latency::configure(GstClockTime frame_duration, int depth, int slots) {
  return changes_by([&] {
    filling_ = frame_duration * static_cast<guint64>(depth - 1);
    max_reported_ = frame_duration > 0
                        ? frame_duration * static_cast<guint64>(depth) * static_cast<guint64>(slots)
                        : GST_CLOCK_TIME_NONE;
  });
}

bool Latency::record(const FrameLatency& measured) {
  return changes_by([&] {
    // If the caps state the frame duration, the time to fill a volume is known and not measured.
    const gint64 filling = filling_ > 0 ? 0 : measured.filling;
    const auto total = static_cast<GstClockTime>(filling + measured.processing) * GST_USECOND;
    // The margin of a quarter keeps the reported latency constant after a few frames.
    if (total > processing_) processing_ = total + total / 4;
  });
}

bool Latency::reset() {
  return changes_by([&] { processing_ = 0; });
}

GstClockTime Latency::reported() const {
  return std::min(filling_ + processing_, max_reported_.load());
}

}  // namespace regions
