// Concurrent union-find: a forest of nodes that many threads merge at the same time. Each node has
// an entry that names its parent; a root is its own parent. An entry is either the parent's index
// (uint32_t), or a 64-bit number with a key of the parent in its upper half and the parent's index
// in its lower half. Nodes with smaller entries become parents of nodes with larger entries.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "gpu/primitives/warp.hpp"

namespace regions {

// Stands for "no node". All node indices are smaller, because pictures have at most 65535 * 65536
// pixels.
inline constexpr uint32_t kNone = 0xffffffffu;

#ifdef __CUDACC__

// While several threads work on a forest, entries are written by atomic operations only, so that
// the tool racecheck accepts these races as intended. Entries are read by volatile loads; an
// outdated value only makes the path to the root longer. In all functions below, the lanes of a
// warp iterate together, because lanes that diverge would remain diverged.

// The type of the entries of a forest. `Forest` is a pointer to the entries, or a type whose sum
// with a node is the address of the node's entry.
template <class Forest>
using ForestEntryOf =
    std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<Forest>() + uint32_t{})>>;
// Reads a node's entry.
template <class Forest>
__device__ inline ForestEntryOf<Forest> load_parent(Forest forest, uint32_t node) {
  return *static_cast<const volatile ForestEntryOf<Forest>*>(forest + node);
}

// The index of the parent that an entry names.
template <class Entry>
__device__ inline uint32_t parent_index(Entry entry) {
  return static_cast<uint32_t>(entry);
}

// Makes each lane's node a child of its root, and returns the root's entry. Each lane writes only
// the entry of its node, so the result does not depend on other warps. Other lanes shorten the
// paths of their nodes at the same time, so the number of steps is logarithmic in the depth of the
// tree (pointer jumping). Lanes where `exists` is false write nothing. Stops after `max_steps`
// steps, possibly before the root is reached; 0 means no limit. Must not run concurrently with
// unite().
template <int max_steps = 0, class Forest>
__device__ inline ForestEntryOf<Forest> flatten(Forest forest, uint32_t node, bool exists) {
  auto parent = load_parent(forest, node);
  for (int step = 0; max_steps == 0 || step < max_steps; ++step) {
    const auto grandparent = load_parent(forest, parent_index(parent));
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

// Decides when unite() links two nodes that it has reached.
enum class LinkRule : uint8_t {
  both_roots,   // only if both are roots
  larger_root,  // if the node with the larger entry is a root; the other may be any node
};

// Merges the trees of `a` and `b` under the root with the smaller entry, in each selected lane.
// Returns the entry of the node that is no longer a root. If the lane linked nothing, all bits of
// the result are set (kNone). The order of calls affects the shape of the trees, but neither the
// sets nor their roots. The function halves the paths that it walks along: a node that is not a
// root gets its grandparent as parent. The parent of a root changes only when the root is linked.
// As in the algorithms of Rem and Komura, roots are linked by compare-and-swap; if this fails, the
// search continues from the value that was read.
template <LinkRule rule = LinkRule::both_roots, class Forest>
__device__ inline ForestEntryOf<Forest> unite(Forest forest, uint32_t a, uint32_t b,
                                              bool is_selected) {
  using Entry = ForestEntryOf<Forest>;
  // With both_roots, roots are compared by their indices, which must be their entries.
  static_assert(rule == LinkRule::larger_root || std::is_same_v<Entry, uint32_t>);
  Entry former_root = static_cast<Entry>(~Entry{0});
  bool is_pending = is_selected;
  while (__any_sync(kAllLanes, is_pending)) {
    if (!is_pending) continue;
    const Entry parent_a = load_parent(forest, a), parent_b = load_parent(forest, b);
    const uint32_t index_a = parent_index(parent_a), index_b = parent_index(parent_b);
    const bool is_a_larger = rule == LinkRule::both_roots ? a > b : parent_a > parent_b;
    if (parent_a == parent_b) {
      is_pending = false;
    } else if (rule == LinkRule::both_roots ? index_a == a && index_b == b
               : is_a_larger                ? index_a == a
                                            : index_b == b) {
      const Entry larger = is_a_larger ? parent_a : parent_b;
      const Entry smaller = is_a_larger ? parent_b : parent_a;
      const Entry found_parent = atomicCAS(forest + parent_index(larger), larger, smaller);
      if (found_parent == larger) {
        former_root = larger;
        is_pending = false;
      }
      a = parent_index(found_parent);
      b = parent_index(smaller);
    } else {
      const Entry grandparent_a = load_parent(forest, index_a);
      const Entry grandparent_b = load_parent(forest, index_b);
      if (grandparent_a != parent_a) atomicExch(forest + a, grandparent_a);
      if (grandparent_b != parent_b) atomicExch(forest + b, grandparent_b);
      a = parent_index(grandparent_a);
      b = parent_index(grandparent_b);
    }
  }
  return former_root;
}

#endif

}  // namespace regions
