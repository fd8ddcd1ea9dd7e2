// A tile in shared memory: its bits, its nodes' forest, and how its threads share them.
#pragma once

#include "gpu/cclabel/volumes/contacts.hpp"
#include "gpu/cclabel/volumes/tuning.hpp"
#include "gpu/primitives/warp.hpp"

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
  uint32_t node_starts[kBands];             // first columns of nodes of bands
  uint16_t nodes_before[kBands];            // nodes before the word: nodes are counted through
  uint32_t firsts[T::words];                // of components
  uint32_t parent[kNodes];                  // of roots, once no link is made, see numbered_root()
  uint16_t first[kNodes];                   // voxel of each node; of roots, of their component
  uint32_t warp_sums[T::threads / 32];
  uint32_t contact_count, component_count;

  ushort2 pairs[T::threads / 32][32 * kPairs];  // contacts, listed for the block

  __device__ static Spot spot(int word) {
    return {static_cast<uint32_t>(word), 0, word % kBandsY * kBandRows,
            word / kBandsY * kBandSlices};
  }
  __device__ static int at(int y, int z) { return (z + 1) * kPitch + y + 1; }
  // The row of a thread.
  __device__ uint32_t& row_of(int i) { return bits[at(i % T::rows, i / T::rows)]; }
  __device__ void clear_around() {
    for (int y = static_cast<int>(threadIdx.x) - 1; y <= T::rows; y += kThreads) {
      bits[at(y, -1)] = bits[at(y, T::slices)] = 0;
    }
    for (int z = static_cast<int>(threadIdx.x); z < T::slices; z += kThreads) {
      bits[at(-1, z)] = bits[at(T::rows, z)] = 0;
    }
  }
  __device__ uint32_t row(int, int y, int z) const { return bits[at(y, z)]; }
  __device__ static uint32_t word(int, int y, int z) {
    return static_cast<uint32_t>((z >> (kBandSlices - 1)) * kBandsY + (y >> (kBandRows - 1)));
  }
  __device__ uint32_t starts(uint32_t word) const { return node_starts[word]; }
  __device__ uint32_t first_of(uint32_t word) const { return nodes_before[word]; }
  __device__ BandWords band(const Spot& spot) const {
    BandWords words;
    for (int r = 0; r < kBandRows * kBandSlices; ++r) {
      words.row[r] = row(0, spot.y + r % kBandRows, spot.z + r / kBandRows);
    }
    return words;
  }

  // The first voxel, by raster order in the tile, of a band's node with these columns.
  __device__ static uint32_t first_voxel(const Spot& spot, const BandWords& rows,
                                         uint32_t columns) {
    uint32_t first = 0;
    int at = 0;
#pragma unroll
    for (int r = kBandRows * kBandSlices - 1; r >= 0; --r) {
      const uint32_t here = rows.row[r] & columns;
      if (!here) continue;
      first = here;
      at = r % kBandRows + r / kBandRows * T::rows;
    }
    const int row = spot.z * T::rows + spot.y + at;
    return static_cast<uint32_t>(row * 32 + __ffs(static_cast<int>(first)) - 1);
  }
};

// A tile in shared memory whose nodes become components.
template <class S>
concept TileNodes = BandSpace<S> && requires(S& s) {
  S::kThreads, S::kParts, S::kIsStraight;
  s.node_starts[0], s.nodes_before[0];  // of words
  s.parent[0], s.first[0];              // of nodes
  s.contact_count, s.component_count;
};

// Calls visit(node, columns) for the thread's nodes of a word, every kParts-th one; the columns go
// on to where the next node begins.
template <TileNodes Space, class Visit>
__device__ void for_each_node(const Space& s, uint32_t word, const Visit& visit) {
  constexpr int kParts = Space::kParts;
  const int part = static_cast<int>(threadIdx.x) % kParts;
  const uint32_t starts = s.node_starts[word];
  uint32_t left = starts, node = s.nodes_before[word] + static_cast<uint32_t>(part);
#pragma unroll
  for (int k = 1; k < kParts; ++k) {
    if (part >= k) left &= left - 1;
  }
  for (; left; node += kParts) {
    const uint32_t bit = left & (0u - left), later = starts & ~(bit | (bit - 1));
    visit(node, ((later & (0u - later)) - 1) & ~(bit - 1));
#pragma unroll
    for (int k = 0; k < kParts; ++k) left &= left - 1;
  }
}

}  // namespace regions::volumes

#endif
