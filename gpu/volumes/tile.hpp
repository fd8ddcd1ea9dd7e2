// A tile in shared memory: its bits, its runs' forest, and how its threads share them.
#pragma once

#include "gpu/cclabel/warp.hpp"
#include "gpu/volumes/contacts.hpp"
#include "gpu/volumes/tuning.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// A tile's rows, as a Space (contacts.hpp) of one word.
template <class T, Connectivity connectivity>
struct Tile {
  static constexpr int kBandSlices = slices_of_band(connectivity);
  static constexpr int kBandsY = T::rows / kBandRows;
  static constexpr int kBandsZ = (T::slices + kBandSlices - 1) / kBandSlices;
  static constexpr int kBands = kBandsY * kBandsZ;
  static constexpr int kNodes = kBands * nodes_of_word(connectivity);
  static constexpr int kThreads = T::threads;
  static constexpr int kRows = T::rows;
  static constexpr int kSlices = T::slices;
  static constexpr bool kIsStraight = connectivity == Connectivity::six;
  static constexpr int kParts = T::threads / kBands;  // threads that share the nodes of a word

  static constexpr int kPitch = T::rows + 2;

  uint32_t bits[(T::slices + 2) * kPitch];  // with zeros all around, so that row() need not ask
  uint32_t columns[kBands];                 // of bands, and
  uint32_t node_starts[kBands];             // first columns of their nodes
  uint16_t nodes_before[kBands];            // nodes before the word: nodes are counted through
  uint32_t firsts[T::words];                // of components
  uint16_t parts_before[T::words];          // components of the class that begin before the row
  uint32_t parent[kNodes];
  uint16_t first[kNodes];  // voxel of each node; of roots, of their component
  uint32_t warp_sums[T::threads / 32];
  uint32_t contact_count;

  ushort2 pairs[T::threads / 32][32 * kPairs];  // contacts that a warp shares out

  __device__ static Spot spot(int word) {
    return {static_cast<uint32_t>(word), 0, word % kBandsY * kBandRows,
            word / kBandsY * kBandSlices};
  }
  __device__ static int at(int y, int z) { return (z + 1) * kPitch + y + 1; }
  // The row of a thread.
  __device__ uint32_t& row_of(int i) { return bits[at(i % T::rows, i / T::rows)]; }
  __device__ void clear_around() {
    for (int i = static_cast<int>(threadIdx.x); i < (T::slices + 2) * kPitch; i += kThreads) {
      if (!holds(i % kPitch - 1, i / kPitch - 1)) bits[i] = 0;
    }
  }
  __device__ static bool holds(int y, int z) {
    return y >= 0 && z >= 0 && y < T::rows && z < T::slices;
  }
  __device__ uint32_t row(int w, int y, int z) const { return w == 0 ? bits[at(y, z)] : 0; }
  __device__ static uint32_t word(int, int y, int z) {
    return static_cast<uint32_t>((z >> (kBandSlices - 1)) * kBandsY + (y >> (kBandRows - 1)));
  }
  __device__ uint32_t starts(uint32_t word) const { return node_starts[word]; }
  __device__ uint32_t node(uint32_t word, uint32_t starts, int b) const {
    return nodes_before[word] + static_cast<uint32_t>(__popc(starts & cclabel::up_to(b))) - 1;
  }
  __device__ BandWords band(const Spot& spot) const {
    BandWords words;
    for (int r = 0; r < kBandRows * kBandSlices; ++r) {
      words.row[r] = row(0, spot.y + r % kBandRows, spot.z + r / kBandRows);
    }
    return words;
  }

  // The first voxel, by raster order in the tile, of the node that starts at column b of a word.
  __device__ uint32_t first_voxel(const Spot& spot, int b) const {
    const uint32_t ends = (~columns[spot.word] | node_starts[spot.word]) & ~cclabel::up_to(b);
    const uint32_t node = ~cclabel::below(b) & (ends ? (ends & (0u - ends)) - 1 : 0xffffffffu);
    for (int r = 0; r < kBandRows * kBandSlices; ++r) {
      const int y = spot.y + r % kBandRows, z = spot.z + r / kBandRows;
      const uint32_t here = row(0, y, z) & node;
      if (here) {
        return static_cast<uint32_t>((z * T::rows + y) * 32 + __ffs(static_cast<int>(here)) - 1);
      }
    }
    return kNone;  // not so: the node is of one of its rows
  }
};

// A thread's share of a word's nodes.
template <class Space>
struct Share {
  Spot spot;
  uint32_t mask;  // the columns

  __device__ Share() {
    constexpr int kColumns = 32 / Space::kParts;
    const int i = static_cast<int>(threadIdx.x), word = i / Space::kParts;
    spot = Space::spot(word);
    mask =
        kColumns == 32 ? 0xffffffffu : ((1u << kColumns % 32) - 1) << i % Space::kParts * kColumns;
  }
};

// Calls visit(node, column) for all nodes of the thread.
template <class Space, class Visit>
__device__ void for_each_node(const Space& s, const Share<Space>& share, const Visit& visit) {
  const uint32_t starts = s.node_starts[share.spot.word], mine = starts & share.mask;
  uint32_t node = s.nodes_before[share.spot.word] +
                  static_cast<uint32_t>(__popc(starts & ((share.mask & (0u - share.mask)) - 1)));
  for (uint32_t left = mine; left; left &= left - 1) {
    visit(node++, __ffs(static_cast<int>(left)) - 1);
  }
}

}  // namespace regions::volumes

#endif
