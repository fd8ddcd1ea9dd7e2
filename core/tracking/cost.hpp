// What a track looks like and how well a region fits it: whole numbers, so that backends agree.
#pragma once

#include "core/tracking/tracking.hpp"

namespace regions {

inline constexpr int kTrackUnit = 16;  // of places and colours

REGIONS_HD inline int64_t smaller_of(int64_t a, int64_t b) { return a < b ? a : b; }
REGIONS_HD inline int64_t larger_of(int64_t a, int64_t b) { return a > b ? a : b; }
REGIONS_HD inline int64_t distance_of(int64_t a, int64_t b) { return a < b ? b - a : a - b; }

// A region as the newest sight of a track.
REGIONS_HD inline Track sight_of(const Region& region, const TrackRules& rules) {
  Track now;
  now.x = static_cast<int32_t>(region.sum_x * kTrackUnit / region.area);
  now.y = static_cast<int32_t>(region.sum_y * kTrackUnit / region.area);
  now.left = region.left;
  now.top = region.top;
  now.right = region.right;
  now.bottom = region.bottom;
  now.area = static_cast<uint32_t>(region.area);
  for (int c = 0; c < 3; ++c) {
    const uint64_t sum = region.sum_value[c] * kTrackUnit >> (rules.color_bits - 8);
    now.color[c] = static_cast<int32_t>(sum / region.area);
  }
  now.seen = 1;
  return now;
}

// The box goes with the centre, by whole pixels.
REGIONS_HD inline void move_to(Track& track, int32_t x, int32_t y) {
  const int32_t dx = (x >> 4) - (track.x >> 4), dy = (y >> 4) - (track.y >> 4);
  static_assert(kTrackUnit == 1 << 4);
  track.x = x;
  track.y = y;
  track.left += dx;
  track.right += dx;
  track.top += dy;
  track.bottom += dy;
}

// Shared pixels tell of one thing only if it may have come there: its predicted centre lies in the
// region's box, grown by half the track's size. In a queue of things that move by their own
// distance, everything overlaps its neighbour.
REGIONS_HD inline bool is_plausible(const Track& track, const Track& region) {
  const int dx = track.width() / 2 + 1, dy = track.height() / 2 + 1;
  const int x = track.x / kTrackUnit, y = track.y / kTrackUnit;
  return x >= region.left - dx && x <= region.right + dx && y >= region.top - dy &&
         y <= region.bottom + dy;
}

// How far from its predicted centre a track may be found, as it may turn back: twice its shorter
// side and what it moves in a frame; more after every frame unseen. In a picture of 65535 pixels a
// side it stays below 2^28.
REGIONS_HD inline uint32_t reach_of(const Track& track) {
  const int64_t side = smaller_of(track.width(), track.height());
  const int64_t reach = 2 * kTrackUnit * side + distance_of(track.vx, 0) + distance_of(track.vy, 0);
  return static_cast<uint32_t>(reach + reach * smaller_of(track.missed, 64) / 32);
}

REGIONS_HD inline Spot spot_of(const Track& track, uint32_t reach) {
  return {track.x, track.y, track.area, reach};
}

// Whether misfit() may be anything but kNoFit; cheap.
REGIONS_HD inline bool may_fit(const Spot& track, const Spot& region) {
  if (region.area == 0 || uint64_t{region.area} * 4 < track.area) return false;
  if (region.reach != 0) return true;
  const int64_t reach = track.reach;
  return uint64_t{track.area} * 4 >= region.area && distance_of(track.x, region.x) <= reach &&
         distance_of(track.y, region.y) <= reach;
}

inline constexpr uint32_t kNoFit = UINT32_MAX;

// How badly a region fits a track, whose place is predicted: 0 is perfect. `parted`: the region
// came out of the one in which the track was last, so that its size then says little and its place
// needs no limit.
REGIONS_HD inline uint32_t misfit(const Track& track, const Track& region, bool parted) {
  // A fragment is not the track, whatever its place; nor is what is many times its size.
  if (uint64_t{region.area} * 4 < track.area) return kNoFit;
  if (!parted && region.area > uint64_t{track.area} * 4) return kNoFit;
  const int64_t reach = reach_of(track);
  const int64_t dx = region.x - track.x, dy = region.y - track.y;
  const int64_t away = (dx * dx + dy * dy) * 256 / (reach * reach);
  if (!parted && away > 256) return kNoFit;
  const int64_t large = larger_of(track.area, region.area);
  const int64_t size = 256 * distance_of(track.area, region.area) / large;
  int64_t color = 0;
  for (int c = 0; c < 3; ++c) color += distance_of(track.color[c], region.color[c]);
  color = smaller_of(color * 4 / kTrackUnit, 768);
  return static_cast<uint32_t>(smaller_of(away, 1024) + size / 4 + color);
}

REGIONS_HD inline uint16_t seen_again(const Track& track) {
  return static_cast<uint16_t>(smaller_of(track.seen + 1, UINT16_MAX));
}

// The track after a frame in which it was seen alone as `now`.
REGIONS_HD inline Track followed(const Track& track, const Track& now) {
  // What lost a third of its pixels is going behind something: the rest says little of where all of
  // it is and how large.
  const bool is_whole = uint64_t{now.area} * 3 >= uint64_t{track.area} * 2;
  Track next = track;
  if (is_whole) next = now;
  move_to(next, now.x, now.y);
  next.id = track.id;
  next.seen = seen_again(track);
  next.missed = 0;
  next.host = 0;
  next.vx = track.vx;
  next.vy = track.vy;
  if (!is_whole) next.area = track.area - (track.area - now.area) / 4;
  // The mean of the first speeds, corrected by an eighth later; what was in company was not there
  // where it was believed to be.
  const bool was_alone = track.guests == 0 && track.host == 0;
  if (was_alone && is_whole) {
    const int sights = static_cast<int>(smaller_of(track.seen, 8));
    next.vx += (now.x - track.x) / sights;
    next.vy += (now.y - track.y) / sights;
  }
  for (int c = 0; c < 3; ++c) {
    next.color[c] = track.color[c] + (now.color[c] - track.color[c]) / 8;
  }
  return next;
}

// A copy, read in pieces of 16 bytes: neighbours in a warp ask for tracks that lie anywhere, so
// what counts is how often they ask.
REGIONS_HD inline Track whole(const Track& track) {
#ifdef __CUDA_ARCH__
  struct Pieces {
    uint4 piece[sizeof(Track) / sizeof(uint4)];
  };
  return __builtin_bit_cast(Track, *reinterpret_cast<const Pieces*>(&track));
#else
  return track;
#endif
}

inline constexpr uint32_t kNoMatch = UINT32_MAX;

// Keys of pairs, whose maximum has the most pixels, then the lowest place, of which there are fewer
// than 2^31. They remember whether the pair looks alike.
REGIONS_HD inline uint64_t key_of(uint32_t pixels, uint32_t place, bool is_alike) {
  return uint64_t{pixels} << 32 | (kNoMatch - 2 * place - (is_alike ? 0 : 1));
}
REGIONS_HD inline uint32_t place_in(uint64_t key) {
  return key ? (kNoMatch - static_cast<uint32_t>(key)) / 2 : kNoMatch;
}
REGIONS_HD inline bool is_alike_in(uint64_t key) { return key % 2 != 0; }

}  // namespace regions
