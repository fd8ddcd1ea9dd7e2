// A forest of nodes that many threads join at once: union-find, each node's parent in an array.
#pragma once

#include <cstdint>

#include "gpu/primitives/warp.hpp"

namespace regions {

// No node: pixels have smaller ids, as 65535 * 65536 is less.
inline constexpr uint32_t kNone = 0xffffffffu;

#ifdef __CUDACC__

// While several threads work on a forest, entries are changed by atomics alone (which racecheck,
// too, takes for intended) and read by volatile loads; a stale read only means a longer way. The
// lanes of a warp go step by step together: left to themselves they would drift apart and stay so.
// A Forest is an array of parents, or what has an array's sum with a node: its parent's address.
template <class Forest>
__device__ inline uint32_t parent_in(Forest forest, uint32_t node) {
  return *static_cast<const volatile uint32_t*>(forest + node);
}

// Hangs the node of each lane of a warp directly below its root, and returns that. A lane writes no
// entry but its own, so that what it leaves there is the root, whatever other warps do; the entries
// of others shorten its way, which makes this pointer jumping (logarithmic in the depth). With
// `exists` false nothing is written. After `most` steps, unless 0, nodes are left where they are.
// Must not run beside unite().
template <int most = 0, class Forest>
__device__ inline uint32_t flatten(Forest forest, uint32_t node, bool exists) {
  uint32_t above = parent_in(forest, node);
  for (int step = 0; most == 0 || step < most; ++step) {
    const uint32_t beyond = parent_in(forest, above);
    const bool moves = beyond != above;
    if (!__any_sync(kAllLanes, moves)) break;
    if (moves && exists) atomicExch(forest + node, beyond);
    above = beyond;
  }
  return above;
}

// Halves the way of each lane's node to its root some times, where that has more than a link. Nodes
// that are linked one below the other all at once, as lines are that cross many seams, make long
// ways on which unite() halves nothing, as nothing else is joined there; this makes them short for
// those that walk them. May run beside unite().
template <class Forest>
__device__ inline void shorten(Forest forest, uint32_t node, bool wanted, int times) {
  for (int i = 0; i < times && __any_sync(kAllLanes, wanted); ++i) {
    if (!wanted) continue;
    const uint32_t above = parent_in(forest, node), beyond = parent_in(forest, above);
    wanted = beyond != above;
    if (wanted) atomicExch(forest + node, beyond);
  }
}

// Joins the trees of `a` and `b` under the smaller root for all lanes of a warp that want it.
// Returns the root that stopped being one, or kNone. The order of calls decides the shape of the
// trees, never which nodes share one nor its root. Paths are halved on the way: a node that is no
// root is given its grandparent; a root is changed by the link alone (Rem's and Komura's rules:
// link roots by compare-and-swap, try again from what was seen).
template <class Forest>
__device__ inline uint32_t unite(Forest forest, uint32_t a, uint32_t b, bool wanted) {
  uint32_t lost = kNone;
  bool is_apart = wanted;
  while (__any_sync(kAllLanes, is_apart)) {
    if (!is_apart) continue;
    const uint32_t above_a = parent_in(forest, a), above_b = parent_in(forest, b);
    if (above_a == above_b) {
      is_apart = false;
    } else if (above_a == a && above_b == b) {
      const uint32_t larger = a > b ? a : b, smaller = a > b ? b : a;
      const uint32_t seen = atomicCAS(forest + larger, larger, smaller);
      if (seen == larger) {
        lost = larger;
        is_apart = false;
      }
      a = seen;
      b = smaller;
    } else {
      const uint32_t beyond_a = parent_in(forest, above_a);
      const uint32_t beyond_b = parent_in(forest, above_b);
      if (beyond_a != above_a) atomicExch(forest + a, beyond_a);
      if (beyond_b != above_b) atomicExch(forest + b, beyond_b);
      a = beyond_a;
      b = beyond_b;
    }
  }
  return lost;
}

#endif

}  // namespace regions
