// Regions as bits at their first voxels: numbered, and filtered by area. An id is a place in raster
// order: of a voxel of volumes, whose rows are filled up to words, or of a cell.
#pragma once

#include "core/stack.hpp"
#include "gpu/cclabel/base/interleaved_rows.hpp"
#include "gpu/cclabel/base/largest.hpp"
#include "gpu/cclabel/base/records.hpp"
#include "gpu/primitives/bits.hpp"

namespace regions::cclabel {

struct Firsts {
  Stack stack;
  uint32_t in_row;   // words that are interleaved; 1 where they follow each other
  uint32_t pitch;    // ids from a row to the next
  uint32_t words;    // of the bits
  uint32_t* bits;    // [words] first voxels of regions
  uint32_t* before;  // [words] regions that start before the word
  uint32_t* sums;    // [words / kSumWords] regions that start there
  uint32_t* area;    // by id, of regions, where filters want it
  uint32_t* total;   // [2] regions, and those of them that have a label

  static constexpr uint32_t kSumWords = 1024;

  // Where a word is, counted in raster order.
  REGIONS_HD uint32_t index_of(uint32_t word) const { return VoxelRows::at(word, in_row); }
};

#ifdef __CUDACC__

// The label of the region with this id, whose word is at `place`; 0 if it is of none, or of one
// that was filtered out.
__device__ inline uint32_t label_of_first(const uint32_t* bits, const uint32_t* before,
                                          uint32_t place, uint32_t id) {
  const uint32_t word = bits[place], earlier = before[place];  // both on their way at once
  const auto bit = static_cast<int>(id % 32);
  const uint32_t label = earlier + static_cast<uint32_t>(__popc(word & below(bit))) + 1;
  return label & (0u - (word >> bit & 1));
}

#endif

// Gives every region the area 0, for the phase that sums it up.
void clear_areas(const Firsts& firsts, cudaStream_t stream);
// Takes regions with areas outside least..most out of the numbering.
void drop_by_area(const Firsts& firsts, uint32_t least, uint32_t most, cudaStream_t stream);
// If there are more than `limit` regions, which must be numbered: takes all but the largest out of
// the numbering, which is to be done again.
void drop_smallest(const Firsts& firsts, uint32_t limit, Selection* selection, cudaStream_t stream);
// Numbers regions in raster order of their first voxels; begins the records.
void number_firsts(const Firsts& firsts, Count count, const Records& records, cudaStream_t stream);

}  // namespace regions::cclabel
