// Which superpixel of a frame continues which cluster of a warm start, on both backends.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

// The track of a superpixel under warm start is the number of a cluster. Each cluster claims the
// superpixel that its largest piece has become or joined; clusters whose piece did not have to join
// go first, then the lowest. Of what no cluster claims, the first that begins with a pixel of a
// cluster is that cluster's spare, which has a number, too; the rest get numbers beyond those, for
// this frame alone.
//
// The greatest of these is a cluster's largest piece, the first of equal ones; 0 is none. `first`
// is a number of the piece's first pixel that grows in raster order.
REGIONS_HD inline uint64_t piece_claim(uint32_t area, uint32_t first) {
  return static_cast<uint64_t>(area) << 32 | ~first;
}
REGIONS_HD inline uint32_t claimed_area(uint64_t claim) {
  return static_cast<uint32_t>(claim >> 32);
}
REGIONS_HD inline uint32_t claimed_first(uint64_t claim) { return ~static_cast<uint32_t>(claim); }
inline constexpr uint32_t kNoTrack = UINT32_MAX;
inline constexpr uint32_t kJoined = 1u << 31;  // the cluster's largest piece had to join
// The least of these wins; `cell` is the cluster's index.
REGIONS_HD inline uint32_t claimed_by(size_t cell, bool stayed) {
  return (static_cast<uint32_t>(cell) + 1) | (stayed ? 0 : kJoined);
}
// The index of the cluster that pixel (x, y) is in, by its code.
REGIONS_HD inline size_t cluster_at(uint8_t code, int x, int y, const SlicGrid& grid) {
  const auto nearest = [](int own, int low_bits) {
    const int ahead = (low_bits - own) & 3;
    return ahead == 3 ? own - 1 : own + ahead;
  };
  return grid.index(nearest(x / grid.width, code & 3), nearest(y / grid.height, code >> 2));
}
// Of superpixel `id`, which begins in `cluster` and has been claimed so; `spare` is the least id of
// those that begin there and that no cluster has claimed.
REGIONS_HD inline uint32_t track_of(uint32_t claimed, uint32_t id, size_t cluster, uint32_t spare,
                                    const SlicGrid& grid) {
  if (claimed != kNoTrack) return claimed & ~kJoined;
  const auto cells = static_cast<uint32_t>(grid.cells());
  return spare == id ? cells + 1 + static_cast<uint32_t>(cluster) : 2 * cells + id;
}

}  // namespace regions
