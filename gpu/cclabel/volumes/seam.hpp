// A tile and what lies beside it in shared memory: bits and first columns of nodes, fetched at
// once, so that a thread that looks for contacts waits for memory once.
#pragma once

#include "gpu/cclabel/volumes/contacts.hpp"
#include "gpu/cclabel/volumes/tile.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// One class of a tile, with a word and a row around it and a slice before, as a Space
// (contacts.hpp). Rows are counted from the tile's first.
template <class T, Connectivity connectivity, int threads>
struct Seam {
  using Inner = Tile<T, connectivity>;
  static constexpr bool kIsStraight = connectivity == Connectivity::six;
  static constexpr int kThreads = threads;
  // Straight touches reach no word and no row behind the tile's.
  static constexpr int kWords = kIsStraight ? 2 : 3;
  static constexpr int kRows = T::rows + (kIsStraight ? 1 : 2);
  // A band of two slices may have one where the tile has none.
  static constexpr int kSlices = Inner::kBandsZ * Inner::kBandSlices + 1;
  static constexpr int kBandsY = Inner::kBandsY + (kIsStraight ? 1 : 2);
  static constexpr int kBandsZ = Inner::kBandsZ + 1;

  uint32_t bits[kSlices * kRows * kWords];
  uint32_t node_starts[kBandsZ * kBandsY * kWords];
  uint32_t first_node[kBandsZ * kBandsY * kWords];

  // The whole block calls it.
  __device__ void fetch(const Volume& v, const TilePlace& place) {
    const Size slice = v.stack.slice;
    const auto exists = [&](int w, int y, int z) {
      return w >= 0 && w < v.words && y >= 0 && y < slice.height && z >= 0 && z < v.stack.slices;
    };
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kSlices * kRows * kWords; i += threads) {
      const int row = i % kRows, word_in_row = i / kRows % kWords, in_tile = i / kRows / kWords;
      const int w = place.w - 1 + word_in_row, y = place.y - 1 + row, z = place.z - 1 + in_tile;
      uint32_t word = 0;
      if (exists(w, y, z)) {
        word = v.bits[v.index_of(v.stack.row({y, z, place.layer}), w)];
        if (place.cls != 0) word = ~word & inside(v, w);
      }
      bits[(in_tile * kRows + row) * kWords + word_in_row] = word;
    }
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kBandsZ * kBandsY * kWords; i += threads) {
      const int band = i % kBandsY, word_in_row = i / kBandsY % kWords, slab = i / kBandsY / kWords;
      const int w = place.w - 1 + word_in_row;
      const int y = place.y + (band - 1) * kBandRows;
      const int z = place.z + (slab - 1) * Inner::kBandSlices;
      WordNodes nodes = {};
      if (exists(w, y, z)) nodes = v.nodes[band_word(v, place.cls, place.layer, w, y, z)];
      const int to = (slab * kBandsY + band) * kWords + word_in_row;
      node_starts[to] = nodes.starts;
      first_node[to] = nodes.first;
    }
  }

  __device__ uint32_t row(int w, int y, int z) const {
    return bits[((z + 1) * kRows + y + 1) * kWords + w + 1];
  }
  __device__ static uint32_t word(int w, int y, int z) {
    const int band_z = (z + Inner::kBandSlices) >> (Inner::kBandSlices - 1);
    const int band_y = (y + kBandRows) >> (kBandRows - 1);
    return static_cast<uint32_t>((band_z * kBandsY + band_y) * kWords + w + 1);
  }
  __device__ uint32_t starts(uint32_t word) const { return node_starts[word]; }
  __device__ uint32_t first_of(uint32_t word) const { return first_node[word]; }
};

}  // namespace regions::volumes

#endif
