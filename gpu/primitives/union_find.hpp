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

// Hangs the node of each lane of a warp directly below its root, and returns that. A lane writes no
// entry but its own, so that what it leaves there is the root, whatever other warps do; the entries
// of others shorten its way, which makes this pointer jumping (logarithmic in the depth). With
// `exists` false nothing is written. Must not run beside unite().
__device__ inline uint32_t flatten(uint32_t* parent, uint32_t node, bool exists) {
  const volatile uint32_t* forest = parent;
  uint32_t above = forest[node];
  while (true) {
    const uint32_t beyond = forest[above];
    const bool moves = beyond != above;
    if (!__any_sync(kAllLanes, moves)) return above;
    if (moves && exists) atomicExch(parent + node, beyond);
    above = beyond;
  }
}

// Joins the trees of `a` and `b` under the smaller root for all lanes of a warp that want it.
// Returns the root that stopped being one, or kNone. The order of calls decides the shape of the
// trees, never which nodes share one nor its root. Paths are halved on the way: a node that is no
// root is given its grandparent; a root is changed by the link alone (Rem's and Komura's rules:
// link roots by compare-and-swap, try again from what was seen).
__device__ inline uint32_t unite(uint32_t* parent, uint32_t a, uint32_t b, bool wanted) {
  volatile uint32_t* forest = parent;
  uint32_t lost = kNone;
  bool is_apart = wanted;
  while (__any_sync(kAllLanes, is_apart)) {
    if (!is_apart) continue;
    const uint32_t above_a = forest[a], above_b = forest[b];
    if (above_a == above_b) {
      is_apart = false;
    } else if (above_a == a && above_b == b) {
      const uint32_t larger = a > b ? a : b, smaller = a > b ? b : a;
      const uint32_t seen = atomicCAS(parent + larger, larger, smaller);
      if (seen == larger) {
        lost = larger;
        is_apart = false;
      }
      a = seen;
      b = smaller;
    } else {
      const uint32_t beyond_a = forest[above_a], beyond_b = forest[above_b];
      if (beyond_a != above_a) atomicExch(parent + a, beyond_a);
      if (beyond_b != above_b) atomicExch(parent + b, beyond_b);
      a = beyond_a;
      b = beyond_b;
    }
  }
  return lost;
}

#endif

}  // namespace regions
