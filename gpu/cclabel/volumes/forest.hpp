// The forest that joins components of tiles to regions. A component has two numbers: its place, by
// tile and order in there, where its entry is, close to those of its neighbours; and the id of its
// first voxel, by which roots are chosen. An entry has both of the component that it hangs below,
// so that each step up costs one read, and a thread with a root knows the region's first voxel.
#pragma once

#include <cstdint>

#include "gpu/primitives/warp.hpp"

namespace regions::volumes {

using Entry = unsigned long long;  // ids decide between two

#ifdef __CUDACC__

__device__ inline Entry entry_of(uint32_t id, uint32_t place) {
  return static_cast<Entry>(id) << 32 | place;
}
__device__ inline uint32_t id_of_entry(Entry entry) { return static_cast<uint32_t>(entry >> 32); }
__device__ inline uint32_t index_of_entry(Entry entry) { return static_cast<uint32_t>(entry); }

// Both work as their namesakes of gpu/cclabel/pictures/tiles.hpp do, in forests whose entries are
// numbers.

// Hangs the component of each lane of a warp directly below its root, and returns that one's entry.
__device__ inline Entry flatten(Entry* forest, uint32_t place, bool exists) {
  const volatile Entry* seen = forest;
  Entry above = seen[place];
  while (true) {
    const Entry beyond = seen[index_of_entry(above)];
    const bool moves = beyond != above;
    if (!__any_sync(kAllLanes, moves)) return above;
    if (moves && exists) atomicExch(forest + place, beyond);
    above = beyond;
  }
}

inline constexpr Entry kNoEntry = ~0ull;

// Joins the trees of components `a` and `b` for all lanes of a warp that want it. Returns the entry
// of the root that stopped being one, or kNoEntry.
__device__ inline Entry unite(Entry* forest, uint32_t a, uint32_t b, bool wanted) {
  const volatile Entry* read = forest;
  Entry lost = kNoEntry;
  bool is_apart = wanted;
  while (__any_sync(kAllLanes, is_apart)) {
    if (!is_apart) continue;
    const Entry above_a = read[a], above_b = read[b];
    const uint32_t up_a = index_of_entry(above_a), up_b = index_of_entry(above_b);
    const bool is_a = above_a > above_b;  // what the larger one is above of
    if (above_a == above_b) {
      is_apart = false;
    } else if (is_a ? up_a == a : up_b == b) {
      // A root: whatever is smaller will do for it to hang below, root or not.
      const Entry larger = is_a ? above_a : above_b, smaller = is_a ? above_b : above_a;
      const Entry seen = atomicCAS(forest + index_of_entry(larger), larger, smaller);
      if (seen == larger) {
        lost = larger;
        is_apart = false;
      }
      a = index_of_entry(seen);
      b = index_of_entry(smaller);
    } else {
      const Entry beyond_a = read[up_a], beyond_b = read[up_b];
      if (beyond_a != above_a) atomicExch(forest + a, beyond_a);
      if (beyond_b != above_b) atomicExch(forest + b, beyond_b);
      a = index_of_entry(beyond_a);
      b = index_of_entry(beyond_b);
    }
  }
  return lost;
}

#endif

}  // namespace regions::volumes
