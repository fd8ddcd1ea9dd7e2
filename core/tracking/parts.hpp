// A region that several tracks share: each has a box of its own size in it, at its predicted place,
// which the region's sides correct: each belongs to the track that is outermost there.
#pragma once

#include "core/tracking/cost.hpp"

namespace regions {

// The sides of a region. A side's key is greatest for the track that is furthest out there, of
// equal ones the first.
enum Side : int { kLeft, kTop, kRight, kBottom };
inline constexpr int kSides = 4;

REGIONS_HD inline uint64_t side_key(int side, const Track& track, uint32_t t) {
  const int32_t out = side == kLeft    ? -track.left
                      : side == kTop   ? -track.top
                      : side == kRight ? track.right
                                       : track.bottom;
  return static_cast<uint64_t>(int64_t{out} + (int64_t{1} << 30)) << 32 | (UINT32_MAX - t);
}

// How far a box moves along one axis into a region's, and there half of the way to the side where
// it is outermost. A box that is no smaller comes to the middle.
REGIONS_HD inline int32_t move_between(int32_t low, int32_t high, int32_t region_low,
                                       int32_t region_high, bool is_first, bool is_last) {
  const int32_t to_low = region_low - low, to_high = region_high - high;
  if (to_low >= to_high) return kTrackUnit / 2 * (to_low + to_high);
  if (to_low > 0) return kTrackUnit * to_low;
  if (to_high < 0) return kTrackUnit * to_high;
  return is_first == is_last ? 0 : kTrackUnit / 2 * (is_first ? to_low : to_high);
}

// Track `t` in this region. `outermost(side)` is the key of the track that is furthest out there.
template <class Outermost>
REGIONS_HD inline Track part_of(Track track, uint32_t t, const Region& region,
                                Outermost outermost) {
  bool is_out[kSides];
  for (int side = 0; side < kSides; ++side) {
    is_out[side] = static_cast<uint32_t>(outermost(side)) == UINT32_MAX - t;
  }
  const int32_t dx = move_between(track.left, track.right, region.left, region.right, is_out[kLeft],
                                  is_out[kRight]);
  const int32_t dy = move_between(track.top, track.bottom, region.top, region.bottom, is_out[kTop],
                                  is_out[kBottom]);
  move_to(track, track.x + dx, track.y + dy);
  return track;
}

// The record of a track's part of a region: the box, cut at the region's; the rest is what the
// track was like when it was last seen alone.
REGIONS_HD inline void put_box(Region& record, const Track& part, const Region& region) {
  record.left = static_cast<int32_t>(larger_of(part.left, region.left));
  record.top = static_cast<int32_t>(larger_of(part.top, region.top));
  record.right = static_cast<int32_t>(smaller_of(part.right, region.right));
  record.bottom = static_cast<int32_t>(smaller_of(part.bottom, region.bottom));
}

REGIONS_HD inline Region record_of(const Track& part, const Region& region, uint32_t color_bits) {
  Region record;
  record.id = region.id;
  record.track = part.id;
  record.first_x = region.first_x;
  record.first_y = region.first_y;
  record.layer = region.layer;
  put_box(record, part, region);
  record.area = part.area;
  record.sum_x = uint64_t{part.area} * static_cast<uint32_t>(larger_of(part.x, 0)) / kTrackUnit;
  record.sum_y = uint64_t{part.area} * static_cast<uint32_t>(larger_of(part.y, 0)) / kTrackUnit;
  for (int c = 0; c < 3; ++c) {
    record.sum_value[c] =
        (uint64_t{part.area} * static_cast<uint32_t>(part.color[c]) << (color_bits - 8)) /
        kTrackUnit;
  }
  return record;
}

}  // namespace regions
