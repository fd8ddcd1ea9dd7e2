// TrackTimes: when each track of a stream was first seen.
#pragma once

#include <gst/gst.h>

#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/region.hpp"

namespace regions {

class TrackTimes {
 public:
  // Of each region's track, in a frame of this time; frames come in order. A region without a track
  // is seen first now.
  std::vector<GstClockTime> first_seen(std::span<const Region> regions, GstClockTime now);
  // Ids begin anew.
  void clear();

 private:
  struct Seen {
    GstClockTime first = GST_CLOCK_TIME_NONE;
    uint64_t last_frame = 0;
  };
  void forget_longest_unseen(size_t most);

  std::mutex mutex_;
  std::unordered_map<uint32_t, Seen> tracks_;
  uint64_t frame_ = 0;
};

}  // namespace regions
