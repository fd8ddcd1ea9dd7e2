// Remembering tracks.
#include "plugin/stream/track_times.hpp"

#include <algorithm>

namespace regions {

std::vector<GstClockTime> TrackTimes::first_seen(std::span<const Region> regions,
                                                 GstClockTime now) {
  // Which lost tracks the algorithm still waits for is not known here; so many may come back.
  constexpr size_t kFewest = 4096;
  const std::lock_guard lock(mutex_);
  ++frame_;
  std::vector<GstClockTime> times;
  times.reserve(regions.size());
  for (const Region& region : regions) {
    if (region.track == 0) {  // not born yet
      times.push_back(now);
      continue;
    }
    Seen& seen = tracks_.try_emplace(region.track, Seen{now, 0}).first->second;
    seen.last_frame = frame_;
    times.push_back(seen.first);
  }
  const size_t most = std::max(4 * regions.size(), kFewest);
  if (tracks_.size() > most) forget_longest_unseen(most / 2);
  return times;
}

void TrackTimes::clear() {
  const std::lock_guard lock(mutex_);
  tracks_.clear();
}

void TrackTimes::forget_longest_unseen(size_t most) {
  std::vector<uint64_t> frames;
  frames.reserve(tracks_.size());
  for (const auto& [track, seen] : tracks_) frames.push_back(seen.last_frame);
  const auto cut = frames.end() - static_cast<ptrdiff_t>(most);
  std::nth_element(frames.begin(), cut, frames.end());
  std::erase_if(tracks_, [&](const auto& entry) { return entry.second.last_frame < *cut; });
}

}  // namespace regions
