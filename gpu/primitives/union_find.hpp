// Concurrent union-find: a forest of nodes that many threads merge at the same time. Each node's
// parent is an array element; a root is its own parent.
#pragma once

#include <cstdint>

#include "gpu/primitives/warp.hpp"

namespace regions {

// Stands for "no node". All node indices are smaller, because pictures have at most 65535 * 65536
// pixels.
inline constexpr uint32_t kNone = 0xffffffffu;

#ifdef __CUDACC__

// Reads a node's parent. While several threads work on a forest, parents are written by atomic
// operations only, so that the tool racecheck accepts these races as intended. Parents are read by
// volatile loads; an outdated value only makes the path to the root longer. In all functions below,
// the lanes of a warp iterate together, because lanes that diverge would remain diverged. `Forest`
// is a pointer to the parents, or a type whose sum with a node is the address of the node's parent.
template <class Forest>
__device__ inline uint32_t load_parent(Forest forest, uint32_t node) {
  return *static_cast<const volatile uint32_t*>(forest + node);
}

// Makes each lane's node a child of its root, and returns this root. Each lane writes the parent of
// its own node only, so the result does not depend on other warps. Other lanes shorten the paths of
// their nodes at the same time, so the number of steps is logarithmic in the depth of the tree
// (pointer jumping). Writes nothing in lanes where `exists` is false. Stops after `max_steps`
// steps, unless `max_steps` is 0. Must not run concurrently with unite().
template <int max_steps = 0, class Forest>
__device__ inline uint32_t flatten(Forest forest, uint32_t node, bool exists) {
  uint32_t parent = load_parent(forest, node);
  for (int step = 0; max_steps == 0 || step < max_steps; ++step) {
    const uint32_t grandparent = load_parent(forest, parent);
    const bool can_shorten = grandparent != parent;
    if (!__any_sync(kAllLanes, can_shorten)) break;
    if (can_shorten && exists) atomicExch(forest + node, grandparent);
    parent = grandparent;
  }
  return parent;
}

// Halves the path from each selected lane's node to its root, up to `times` times. Long paths arise
// when many nodes are linked at the same time, for example by a line that crosses many tile
// borders. unite() halves only the paths that it walks along. This function shortens the remaining
// paths for later searches of roots. May run concurrently with unite().
template <class Forest>
__device__ inline void halve_paths(Forest forest, uint32_t node, bool is_selected, int times) {
  for (int i = 0; i < times && __any_sync(kAllLanes, is_selected); ++i) {
    if (!is_selected) continue;
    const uint32_t parent = load_parent(forest, node), grandparent = load_parent(forest, parent);
    is_selected = grandparent != parent;
    if (is_selected) atomicExch(forest + node, grandparent);
  }
}

// Merges the trees of `a` and `b` under the smaller root, in each selected lane. Returns the node
// that is no longer a root, or kNone. The order of calls affects the shape of the trees, but
// neither the sets nor their roots. The function halves the paths that it walks along: a node that
// is not a root gets its grandparent as parent. The parent of a root changes only when the root is
// linked. As in the algorithms of Rem and Komura, roots are linked by compare-and-swap; if this
// fails, the search continues from the value that was read.
template <class Forest>
__device__ inline uint32_t unite(Forest forest, uint32_t a, uint32_t b, bool is_selected) {
  uint32_t former_root = kNone;
  bool is_pending = is_selected;
  while (__any_sync(kAllLanes, is_pending)) {
    if (!is_pending) continue;
    const uint32_t parent_a = load_parent(forest, a), parent_b = load_parent(forest, b);
    if (parent_a == parent_b) {
      is_pending = false;
    } else if (parent_a == a && parent_b == b) {
      const uint32_t larger = a > b ? a : b, smaller = a > b ? b : a;
      const uint32_t found_parent = atomicCAS(forest + larger, larger, smaller);
      if (found_parent == larger) {
        former_root = larger;
        is_pending = false;
      }
      a = found_parent;
      b = smaller;
    } else {
      const uint32_t grandparent_a = load_parent(forest, parent_a);
      const uint32_t grandparent_b = load_parent(forest, parent_b);
      if (grandparent_a != parent_a) atomicExch(forest + a, grandparent_a);
      if (grandparent_b != parent_b) atomicExch(forest + b, grandparent_b);
      a = grandparent_a;
      b = grandparent_b;
    }
  }
  return former_root;
}

#endif

}  // namespace regions
