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
  static constexpr int kBandRows = rows_of_band(connectivity);
  static constexpr int kBandSlices = slices_of_band(connectivity);
  static constexpr int kBandsY = T::rows / kBandRows;
  static constexpr int kBandsZ = (T::slices + kBandSlices - 1) / kBandSlices;
  static constexpr int kBands = kBandsY * kBandsZ;
  static constexpr int kNodes = kBands * 16;
  static constexpr bool kBandsAreRows = kBandRows * kBandSlices == 1;
  static constexpr int kThreads = T::threads;
  static constexpr int kParts = T::threads / kBands;  // threads that share the nodes of a word

  static constexpr int kPitch = T::rows + 2;

  uint32_t bits[(T::slices + 2) * kPitch];  // with zeros all around, so that row() need not ask
  uint32_t bands[kBands];
  uint32_t firsts[T::slices * T::rows];  // of components
  uint32_t parent[kNodes];
  uint32_t first[kBandsAreRows ? 1 : kNodes];  // voxel of each node, then of its component

  uint16_t parts_before[T::slices * T::rows];  // components of the class that begin before the row
  uint16_t nodes_before[kBands];               // nodes before the word
  uint32_t warp_sums[T::threads / 32];

  uint2 pairs[T::threads / 32][32 * kPairs];  // contacts that a warp shares out

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
  __device__ uint32_t band(uint32_t word) const { return bands[word]; }

  // The first voxel, by raster order in the tile, of the run of this spot.
  __device__ uint32_t first_voxel(const Spot& spot, uint32_t run) const {
    for (int r = 0; r < kBandRows * kBandSlices; ++r) {
      const int y = spot.y + r % kBandRows, z = spot.z + r / kBandRows;
      const uint32_t here = row(0, y, z) & run;
      if (here) {
        return static_cast<uint32_t>((z * T::rows + y) * 32 + __ffs(static_cast<int>(here)) - 1);
      }
    }
    return kNone;  // not so: the run is of one of its rows
  }
  // The first voxel of a root's component, once all are known.
  __device__ uint32_t first_of(uint32_t root) const {
    if constexpr (!kBandsAreRows) return first[root];
    // Rows in order: the root's own first one, where one of two bits begins a run.
    const uint32_t starts = starts_of(bands[root / 16]) >> root % 16 * 2;
    return root * 2 + (starts & 1 ? 0 : 1);
  }
};

// A thread's share of a word's nodes.
template <class Space>
struct Share {
  Spot spot;
  uint32_t mask;

  __device__ Share() {
    constexpr int kColumns = 32 / Space::kParts;
    const int i = static_cast<int>(threadIdx.x), word = i / Space::kParts;
    spot = Space::spot(word);
    mask =
        kColumns == 32 ? 0xffffffffu : ((1u << kColumns % 32) - 1) << i % Space::kParts * kColumns;
  }
};

// Calls visit(node, exists) for all nodes of the thread, by whole warps.
template <class Space, class Visit>
__device__ void for_each_node(const Space& s, const Share<Space>& share, Visit visit) {
  uint32_t left = starts_of(s.bands[share.spot.word]) & share.mask;
  const uint32_t exists = __ballot_sync(cclabel::kAllLanes, left != 0);
  if (!exists) return;
  // Lanes without one follow a node that some lane has.
  const uint32_t some =
      share.spot.word * 16 + static_cast<uint32_t>((__ffs(static_cast<int>(left)) - 1) / 2);
  const uint32_t spare = __shfl_sync(cclabel::kAllLanes, some, __ffs(static_cast<int>(exists)) - 1);
  while (__any_sync(cclabel::kAllLanes, left != 0)) {
    const bool has_node = left != 0;
    const int b = __ffs(static_cast<int>(left)) - 1;
    left &= left - 1;
    visit(has_node ? share.spot.word * 16 + static_cast<uint32_t>(b / 2) : spare, has_node);
  }
}

}  // namespace regions::volumes

#endif
