// The nodes of a tile in shared memory, joined to components: a forest that grows from what
// touches, all links going to smaller nodes (after Rem: the larger of two parents moves), and is
// flattened.
#pragma once

#include "gpu/cclabel/volumes/straight.hpp"
#include "gpu/cclabel/volumes/tile.hpp"
#include "gpu/primitives/block_list.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// Joins two trees for each lane that wants it (Rem's, with splicing: of two parents, the larger
// moves, and what hangs below it is hung below the smaller). The whole warp calls it: lanes go step
// by step together (6-connected noise of density 50 at 256^3, 112 us for 117, H200, 2026-11-22),
// and link or splice alike (103.5 for 109). They ask each other after two steps (18- and
// 26-connected, 0.5% to 1%).
__device__ inline void join_trees(uint32_t* parent, uint32_t a, uint32_t b, bool wanted) {
  const volatile uint32_t* forest = parent;
  bool is_apart = wanted;
  while (__any_sync(kAllLanes, is_apart)) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const uint32_t above_a = forest[a], above_b = forest[b];
      const uint32_t larger = max(above_a, above_b), smaller = min(above_a, above_b);
      const uint32_t below = larger == above_a ? a : b;
      const bool is_root = below == larger;
      is_apart = is_apart && larger != smaller;
      a = larger;
      b = smaller;
      if (is_apart) {
        // Whatever is smaller will do to hang below, root or not; another may have been quicker.
        const uint32_t seen = atomicCAS(parent + below, larger, smaller);
        if (is_root) a = seen;
        is_apart = !is_root || seen != larger;
      }
    }
  }
}

// Once no link is made, a root has the number of its component beside itself.
__device__ inline uint32_t numbered_root(uint32_t root, uint32_t component) {
  return component << 16 | root;
}
__device__ inline uint32_t node_above(uint32_t parent) { return parent & 0xffff; }
__device__ inline uint32_t component_of_root(uint32_t parent) { return parent >> 16; }

// The root of the node of each lane of a warp. No link is made beside it.
__device__ inline uint32_t root_of(const volatile uint32_t* parent, uint32_t node) {
  uint32_t root = node_above(parent[node]), above = node_above(parent[root]);
  while (__any_sync(kAllLanes, above != root)) {
    root = node_above(parent[above]);
    above = node_above(parent[root]);
  }
  return root;
}

// The list of contacts may be used again, and none is counted. The whole block calls it.
template <TileNodes Space>
__device__ void count_anew(Space& s) {
  __syncthreads();  // no thread needs the list any more
  if (threadIdx.x == 0) s.contact_count = 0;
  __syncthreads();  // no thread counts before
}

// How contacts are listed, and what their nodes are.
__device__ inline ushort2 take_contact(Contacts& contacts) {
  const uint2 nodes = contacts.take();
  return make_ushort2(static_cast<uint16_t>(nodes.x), static_cast<uint16_t>(nodes.y));
}
template <TileNodes Space>
__device__ ushort2 take_contact(StraightContacts<Space>& contacts) {
  return contacts.take();
}
template <TileNodes Space>
__device__ ushort2 nodes_of(const Space& s, ushort2 contact) {
  return Space::kIsStraight ? StraightContacts<Space>::nodes(s, contact) : contact;
}

// Hangs nodes some steps higher up in their trees.
template <TileNodes Space>
__device__ void shorten_paths(Space& s, uint32_t nodes) {
  const volatile uint32_t* forest = s.parent;
  for (uint32_t node = threadIdx.x; node < nodes; node += Space::kThreads) {
    const uint32_t parent = forest[node];
    uint32_t above = parent;
#pragma unroll
    for (int step = 0; step < 3; ++step) above = forest[above];
    if (above != parent) atomicExch(&s.parent[node], above);  // it is no root
  }
}

// The contacts that a thread has left.
template <class C>
concept ContactList = requires(C& contacts) {
  { contacts.count() } -> std::convertible_to<int>;
  { take_contact(contacts) } -> std::convertible_to<ushort2>;
};

// Joins the trees of the contacts of all threads, which are shared out evenly over the block, as
// many at a time as there is room to list. None is counted before. Trees of straight touches are
// high: it pays to lower them where many contacts are left (256^3, noise of density 20, 35.2 us for
// 36.3; of density 50, 46 for 49 if never; H200, 2026-11-22).
template <TileNodes Space, ContactList Contacts>
__device__ void join_contacts(Space& s, uint32_t nodes, Contacts& contacts) {
  constexpr uint32_t kFew = 256;
  constexpr uint32_t kMax = Space::kThreads * kPairs;
  const uint32_t lane = threadIdx.x % 32;
  ushort2* list = s.pairs[0];
  while (true) {
    const auto mine = static_cast<uint32_t>(contacts.count());
    uint32_t at = reserve_entries(s.contact_count, mine);
    const uint32_t stop = min(at + mine, kMax);
#pragma unroll 1  // lists are short
    for (; at < stop; ++at) {
      list[at] = take_contact(contacts);
    }
    __syncthreads();  // the list is complete, and every node in a tree
    const uint32_t all = s.contact_count, count = min(all, kMax);
    if (Space::kIsStraight && all > kFew) {
      shorten_paths(s, nodes);
      __syncthreads();  // trees are low
    }
    for (uint32_t start = threadIdx.x - lane; start < count; start += Space::kThreads) {
      const bool exists = start + lane < count;
      const ushort2 touching = nodes_of(s, list[exists ? start + lane : start]);
      join_trees(s.parent, touching.x, touching.y, exists);
    }
    if (all <= kMax) return;
    count_anew(s);
  }
}

// Makes trees of nodes that touch across words of the tile, all links going to smaller nodes. By
// their first touch nodes are hung at once, which saves 1.3 to 2.5 of 27 to 38 us (256^3, noise of
// densities 20 to 50, 18-connected, H200, 2026-11-22); where they are few, trees are shortened, 0.3
// of 22 (densities 70 and 90).
template <Connectivity connectivity, TileNodes Space>
__device__ void join_touching(Space& s, uint32_t nodes) {
  const Spot spot = Space::spot(static_cast<int>(threadIdx.x) / Space::kParts);
  const BandWords rows = s.band(spot);
  for_each_node(s, spot.word, [&](uint32_t node, uint32_t columns) {
    s.parent[node] = node;
    s.first[node] = static_cast<uint16_t>(s.first_voxel(spot, rows, columns));
  });
  __syncthreads();  // every node is a tree, and grows by threads of its own word
  // A thread has a word and one of its touches at a time.
  constexpr int kTurns = Space::kBands * Touches<connectivity>::count;
  static_assert(Space::kBands % 32 == 0, "a warp has one touch");
  static_assert(kTurns % Space::kThreads == 0, "all threads take part");
  for (int i = static_cast<int>(threadIdx.x); i < kTurns; i += Space::kThreads) {
    Contacts contacts;
    with_touch<connectivity>(i / Space::kBands, [&](const Touch& touch) {
      contacts = Contacts(s, Space::spot(i % Space::kBands), touch);
    });
    if (i < Space::kBands) {
      contacts.take_firsts([&](uint32_t node, uint32_t other) { s.parent[node] = other; });
    }
    if (i < Space::kThreads && nodes <= 2 * Space::kBands) {
      __syncthreads();  // trees are begun: high ones, as words have a node or two
      shorten_paths(s, nodes);
    }
    if (i >= Space::kThreads) count_anew(s);
    join_contacts(s, nodes, contacts);
  }
}

// The same where touches are straight. Most nodes touch one before them, and hang below it at once:
// few contacts are left to look at, and of those most are of one tree.
template <TileNodes Space>
__device__ void join_straight(Space& s, uint32_t nodes) {
  StraightContacts<Space> contacts(s, Space::spot(static_cast<int>(threadIdx.x) / Space::kParts));
  contacts.take_firsts(s, [&](uint32_t node, uint32_t voxel, uint32_t parent) {
    s.parent[node] = parent;
    s.first[node] = static_cast<uint16_t>(voxel);
  });
  join_contacts(s, nodes, contacts);
}

// The least of all, whatever their order; most see at once that theirs is not.
__device__ inline void lower(uint16_t* least, uint16_t value) {
  uint16_t seen = *static_cast<const volatile uint16_t*>(least);
  while (value < seen) seen = atomicCAS(least, seen, value);
}

// Joins the nodes of the tile to components, and numbers these. None is counted before.
template <TileNodes Space, Connectivity connectivity>
__device__ void join_nodes(Space& s, uint32_t nodes) {
  if constexpr (Space::kIsStraight) {
    join_straight(s, nodes);
  } else {
    join_touching<connectivity>(s, nodes);
  }
  __syncthreads();  // no link is made after this
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < nodes; start += Space::kThreads) {
    const bool exists = start + lane < nodes;
    const uint32_t node = exists ? start + lane : start;
    const uint32_t root = root_of(s.parent, node);
    const bool is_root = exists && root == node;
    const uint32_t roots = __ballot_sync(kAllLanes, is_root);
    const auto counted = static_cast<uint32_t>(__popc(roots & up_to(static_cast<int>(lane))));
    uint32_t number = 0;  // warps come in any order
    if (lane == 31) number = atomicAdd(&s.component_count, counted);
    number = __shfl_sync(kAllLanes, number, 31) + counted - 1;
    // Others read it.
    if (exists) atomicExch(s.parent + node, is_root ? numbered_root(root, number) : root);
    const bool is_earlier = s.first[node] < s.first[root];  // seldom
    if (__any_sync(kAllLanes, is_earlier) && is_earlier) {
      lower(&s.first[root], s.first[node]);
    }
  }
  __syncthreads();  // roots, their numbers and their first voxels are complete
}

}  // namespace regions::volumes

#endif
