// FirstPixelBitmap: a bitmap of the first voxels of regions, from which regions are numbered 1..n
// in raster order. Also the filters of regions. Volumes and label propagation use the bitmap;
// images use some of the other definitions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/frame.hpp"
#include "core/image.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

// Which totals a numbering pass writes. total[0] is the number of regions, total[1] is the number
// of regions that have a label. The first numbering writes both. The numbering after the smallest
// regions have been removed writes only total[1].
enum class Totals : uint8_t { both, labelled };

// The areas of regions, in pixels, by region id. An id is the index of the region's first pixel in
// raster order.
struct RegionAreas {
  uint32_t* area;      // [id] valid only for ids of regions
  int id_bits;         // maximum number of bits of an id, and of an area
  uint32_t limit = 0;  // areas are needed only for more than `limit` regions; 0: always

  // If `limit` is not 0, a numbering pass must have written `total`.
  REGIONS_HD bool are_needed(const uint32_t* total) const { return limit == 0 || *total > limit; }
};

// State of the radix select that finds the `limit` largest regions (filter_regions.cu).
struct LargestSelection {
  static constexpr int kDigitBits = 11;
  static constexpr int kDigits = 1 << kDigitBits;
  // Smallest key of the largest regions. During the search, only its higher digits are known.
  uint64_t min_key;
  uint32_t rank;  // rank of this key among all keys with the same higher digits; the largest key
                  // has rank 1
  uint32_t arrived_blocks;  // number of blocks that have added their counts
  uint32_t count[kDigits];  // number of keys by digit value
};

// Memory layout of a bitmap in which groups of `rows` rows are interleaved: first word 0 of all
// rows of the group, then word 1 of all rows, and so on. The words of a tile that is one word wide
// are then adjacent in memory. In a layout row by row, each of these words would be in another
// 32-byte memory sector. Measured for 256^3 voxels (H200, 2026-11-22): reading tiles and writing
// their rows takes 12 µs (was 25 µs), and labelling as a whole is 3% to 10% faster.
template <uint32_t rows>
struct InterleavedRows {
  static_assert((rows & (rows - 1)) == 0, "rows must be a power of two");

  // Returns the memory index of word `w` of a row. Each row has `words` words.
  REGIONS_HD static uint32_t index(uint32_t row, uint32_t w, uint32_t words) {
    return (row & ~(rows - 1)) * words + w * rows + (row & (rows - 1));
  }
  // Returns the memory index of a word, from its index in raster order.
  REGIONS_HD static uint32_t index(uint32_t word, uint32_t words) {
    const uint32_t row = word / words;
    return index(row, word - row * words, words);
  }
  // Returns the number of words in memory that `row_count` rows take, including padding.
  static size_t words(size_t row_count, size_t words) {
    return (row_count + rows - 1) / rows * rows * words;
  }
};
using VoxelRows = InterleavedRows<16>;  // layout of rows of voxels
using BandRows = InterleavedRows<8>;    // layout of bands, see volume/volume.hpp

// A bitmap with one bit per voxel, set at the first voxel of each region, and the numbers of
// regions that are derived from it. This is a view: VolumeArrays::regions() and
// CellArrays::regions() return it for their own arrays. The id of a voxel is its index in raster
// order; rows of volumes are padded to whole words. For label propagation, voxels are called cells
// and rows are not padded.
struct FirstPixelBitmap {
  VolumeLayout volume_layout;  // width, height and slices of the volume
  uint32_t words_per_row;      // words of a row in VoxelRows layout; 1: words are in raster order
  uint32_t pitch;              // difference of ids from one row to the next
  uint32_t words;              // number of words of `region_starts`
  uint32_t* region_starts;     // [words] bits: first voxels of regions
  uint32_t* regions_before;    // [words] number of labelled regions that start in earlier words;
                               // drop_smallest() uses it as scratch memory
  uint32_t* region_counts;     // [words / kWordsPerCount] number of regions per group of words
  uint32_t* area;              // [id] area in voxels; valid only for regions, and only for filters
  uint32_t* total;             // [2] number of regions, number of regions that have a label

  static constexpr uint32_t kWordsPerCount = 1024;  // number of words per group

  // Returns the memory index of a word, from its index in raster order.
  REGIONS_HD uint32_t index_of(uint32_t word) const {
    return VoxelRows::index(word, words_per_row);
  }
};

// Block size of kernels in which each thread processes one word of the bitmap.
struct BitmapBlock {
  static constexpr int threads = 256;
};

// filter_regions.cu implements the next three functions.

// Sets the area of every region to 0.
void clear_areas(const FirstPixelBitmap& bitmap, cudaStream_t stream);
// Removes each region whose area is outside the bounds from the bitmap. The areas must be complete.
void drop_by_area(const FirstPixelBitmap& bitmap, const AreaBounds& bounds, cudaStream_t stream);
// If there are more than `limit` regions, removes all except the `limit` largest regions from the
// bitmap. Among regions of equal area, the first in raster order remain. The areas must be complete
// and number_first_pixels() must have run. number_first_pixels() must run again afterwards.
void drop_smallest(const FirstPixelBitmap& bitmap, uint32_t limit, LargestSelection* selection,
                   cudaStream_t stream);
// Implemented in number_regions.cu. Numbers the regions in raster order of their first voxels:
// writes regions_before and total, and initializes the records of labels 1..records.capacity.
void number_first_pixels(const FirstPixelBitmap& bitmap, Totals totals, const Records& records,
                         cudaStream_t stream);

// Returns whether the output format may be too small for the labels of a volume of this size, and
// the parameters demand that the smallest regions then lose their label.
inline bool may_drop_smallest(const FrameTask& task, const CcLabelParams& params,
                              const VolumeLayout& volume_layout) {
  return params.overflow == Overflow::drop_smallest &&
         max_output_label(task, params) < volume_layout.size().area();
}

// Removes regions by the filters, and numbers the remaining regions 1..n. All methods use this
// sequence of passes. `regions` must have these member functions, which enqueue kernels:
//   drop_by_area(bounds)  removes each region whose area is outside the bounds
//   number(totals)        numbers the remaining regions in raster order
//   keep_largest(limit)   if there are more than `limit` regions, keeps only the largest
template <class Regions>
void filter_and_number_regions(const FrameTask& task, const CcLabelParams& params,
                               const VolumeLayout& volume_layout, const Regions& regions) {
  const AreaBounds bounds = area_bounds_of(params);
  if (bounds.exclude_any()) regions.drop_by_area(bounds);
  regions.number(Totals::both);
  if (!may_drop_smallest(task, params, volume_layout)) return;
  regions.keep_largest(max_output_label(task, params));
  regions.number(Totals::labelled);
}

// The filter and numbering passes for volumes and cells, as filter_and_number_regions() requires
// them. `Labelled` is VolumeArrays or CellArrays: it must have a member function regions() that
// returns a FirstPixelBitmap, and a function sum_areas(labelled, stream).
template <class Labelled>
struct FirstPixelRegions {
  const Labelled& labelled;
  LargestSelection* selection;
  const Records& records;
  cudaStream_t stream;

  void drop_by_area(const AreaBounds& bounds) const {
    sum_areas(labelled, stream);
    cclabel::drop_by_area(labelled.regions(), bounds, stream);
  }
  void number(Totals totals) const {
    number_first_pixels(labelled.regions(), totals, records, stream);
  }
  void keep_largest(uint32_t limit) const {
    sum_areas(labelled, stream);
    drop_smallest(labelled.regions(), limit, selection, stream);
  }
};

#ifdef __CUDACC__

// Returns the label of the region with this id. The region's bitmap word is at `index`. Returns 0
// if the bit is not set, because no region starts at this voxel or a filter removed the region.
__device__ inline uint32_t label_at_first_pixel(const uint32_t* region_starts,
                                                const uint32_t* regions_before, uint32_t index,
                                                uint32_t id) {
  const uint32_t word = region_starts[index],
                 earlier = regions_before[index];  // both loads are issued at once
  const auto bit = static_cast<int>(id % 32);
  const uint32_t label = earlier + static_cast<uint32_t>(__popc(word & bits_below(bit))) + 1;
  return label & (0u - (word >> bit & 1));
}

// Volumes with at most this many tiles use other block shapes and memory settings than larger
// volumes.
inline constexpr uint32_t kFewTiles = 1024;

// Sets the carveout of a kernel: the share of a multiprocessor's memory that is shared memory; the
// rest is cache. A multiprocessor must be idle before its carveout changes. With few tiles, all
// kernels therefore use the same carveout, so that the blocks of one kernel can start while the
// previous kernel still runs. Measured with 26-connected noise (H200, 2026-11-21): 128^3 voxels
// take 28 µs (was 32 µs). 256^3 voxels have more than kFewTiles tiles; with the same carveout they
// would take 116 µs instead of 110 µs.
template <class... Arguments>
void set_carveout(void (*kernel)(Arguments...), uint32_t tiles) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             tiles <= kFewTiles ? static_cast<int>(cudaSharedmemCarveoutMaxShared)
                                                : static_cast<int>(cudaSharedmemCarveoutDefault)),
        "asking for shared memory");
}

#endif

}  // namespace regions::cclabel
