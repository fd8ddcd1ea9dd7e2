// The union-find forest that merges components of tiles into regions. It has one entry per
// component. The entry contains two numbers of the component's parent: the index of the parent's
// entry, and the id of the parent's first voxel. The ids decide which of two roots becomes the
// parent. Because the entry contains both numbers, each step towards the root costs one read, and a
// thread that finds a root also has the id of the region's first voxel.
#pragma once

#include <cstdint>

#include "gpu/primitives/warp.hpp"

namespace regions::volume {

// Upper 32 bits: id of the parent's first voxel. Lower 32 bits: index of the parent's entry.
// Comparing two entries compares their ids. The parent of a root is the root itself.
using ForestEntry = unsigned long long;

#ifdef __CUDACC__

__device__ inline ForestEntry make_entry(uint32_t id, uint32_t index) {
  return static_cast<ForestEntry>(id) << 32 | index;
}
__device__ inline uint32_t id_of_entry(ForestEntry entry) {
  return static_cast<uint32_t>(entry >> 32);
}
__device__ inline uint32_t index_of_entry(ForestEntry entry) {
  return static_cast<uint32_t>(entry);
}

// flatten() and unite() work like the functions of the same name in gpu/primitives/union_find.hpp,
// whose entries are only node numbers. While threads merge trees, entries are changed only by
// atomics and read by volatile loads. Reading an old value only makes a path longer.

// Makes the root of each lane's component its parent, and returns the root's entry. The whole warp
// must call this function; lanes without `exists` write nothing.
__device__ inline ForestEntry flatten(ForestEntry* forest, uint32_t index, bool exists) {
  const volatile ForestEntry* entries = forest;
  ForestEntry parent = entries[index];
  while (true) {
    const ForestEntry grandparent = entries[index_of_entry(parent)];
    const bool moves = grandparent != parent;
    if (!__any_sync(kAllLanes, moves)) return parent;
    if (moves && exists) atomicExch(forest + index, grandparent);
    parent = grandparent;
  }
}

inline constexpr ForestEntry kNoEntry = ~0ull;

// Merges the trees of components `a` and `b` in each lane with `is_needed`. The whole warp must
// call this function. Returns the entry of the root that got a parent, or kNoEntry. The order of
// warps does not matter: the root of a merged tree is always the component with the smallest id.
__device__ inline ForestEntry unite(ForestEntry* forest, uint32_t a, uint32_t b, bool is_needed) {
  const volatile ForestEntry* entries = forest;
  ForestEntry former_root = kNoEntry;
  bool is_separate = is_needed;
  while (__any_sync(kAllLanes, is_separate)) {
    if (!is_separate) continue;
    const ForestEntry parent_a = entries[a], parent_b = entries[b];
    const uint32_t index_a = index_of_entry(parent_a), index_b = index_of_entry(parent_b);
    const bool is_a_larger = parent_a > parent_b;
    if (parent_a == parent_b) {
      is_separate = false;
    } else if (is_a_larger ? index_a == a : index_b == b) {
      // The parent with the larger id is a root. Any component with a smaller id may become its
      // parent.
      const ForestEntry larger = is_a_larger ? parent_a : parent_b;
      const ForestEntry smaller = is_a_larger ? parent_b : parent_a;
      const ForestEntry seen = atomicCAS(forest + index_of_entry(larger), larger, smaller);
      if (seen == larger) {
        former_root = larger;
        is_separate = false;
      }
      a = index_of_entry(seen);
      b = index_of_entry(smaller);
    } else {
      const ForestEntry grandparent_a = entries[index_a], grandparent_b = entries[index_b];
      if (grandparent_a != parent_a) atomicExch(forest + a, grandparent_a);
      if (grandparent_b != parent_b) atomicExch(forest + b, grandparent_b);
      a = index_of_entry(grandparent_a);
      b = index_of_entry(grandparent_b);
    }
  }
  return former_root;
}

#endif

}  // namespace regions::volume
