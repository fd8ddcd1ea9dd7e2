// How rows of words lie in memory: some rows interleaved, so that word 0 of all of them comes
// first, then word 1. So the rows of a tile, a word wide, lie side by side, where row by row each
// would take a sector of memory (32 bytes) for itself: at 256^3, reading tiles and writing their
// rows took 12 us for 25, and all of labelling 3% to 10% less (H200, 2026-11-22).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/image.hpp"

namespace regions::cclabel {

template <uint32_t rows>
struct InterleavedRows {
  static_assert((rows & (rows - 1)) == 0, "counted by bits");

  // The place of word w of a row, of `words`.
  REGIONS_HD static uint32_t at(uint32_t row, uint32_t w, uint32_t words) {
    return (row & ~(rows - 1)) * words + w * rows + (row & (rows - 1));
  }
  // That of a word counted row by row.
  REGIONS_HD static uint32_t at(uint32_t word, uint32_t words) {
    const uint32_t row = word / words;
    return at(row, word - row * words, words);
  }
  // That so many rows take.
  static size_t words(size_t row_count, size_t words) {
    return (row_count + rows - 1) / rows * rows * words;
  }
};
using VoxelRows = InterleavedRows<16>;
using BandRows = InterleavedRows<8>;

}  // namespace regions::cclabel
