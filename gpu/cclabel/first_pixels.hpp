// Bitmap of the first pixels of regions, by which regions are filtered and numbered 1..n in raster
// order. Images, volumes and label propagation share these definitions.
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

// Which totals a numbering pass writes: after the first numbering total[0] (all regions) and
// total[1] (regions that have a label); after the smallest regions have been dropped only total[1].
enum class Totals : uint8_t { both, labelled };

// Areas of regions by id. An id is the index of the region's first pixel in raster order.
struct RegionAreas {
  uint32_t* area;      // [ids], valid only for ids of regions
  int id_bits;         // number of bits of an id, and of an area
  uint32_t limit = 0;  // areas are needed only if there are more than `limit` regions; 0: always

  // With a limit, `total` must have been written by a numbering pass.
  REGIONS_HD bool are_needed(const uint32_t* total) const { return limit == 0 || *total > limit; }
};

// State of the radix select that finds the `limit` largest regions (filter_regions.cu).
struct LargestSelection {
  static constexpr int kDigitBits = 11;
  static constexpr int kDigits = 1 << kDigitBits;
  uint64_t min_key;  // smallest key among the largest regions; its higher digits during the search
  uint32_t rank;     // of this key among all keys with the same higher digits, descending, from 1
  uint32_t arrived_blocks;  // number of blocks that have added their counts
  uint32_t count[kDigits];  // number of keys by digit value
};

// Layout of rows of words in which groups of `rows` rows are interleaved: word 0 of all rows of the
// group comes first, then word 1. The rows of a tile that is one word wide are then adjacent in
// memory. Row by row, each word would take its own 32-byte memory sector. Measured at 256^3 (H200,
// 2026-11-22): reading tiles and writing their rows took 12 µs (was 25 µs), and labelling as a
// whole became 3% to 10% faster.
template <uint32_t rows>
struct InterleavedRows {
  static_assert((rows & (rows - 1)) == 0, "rows must be a power of two");

  // The index of word `w` of a row that has `words` words.
  REGIONS_HD static uint32_t index(uint32_t row, uint32_t w, uint32_t words) {
    return (row & ~(rows - 1)) * words + w * rows + (row & (rows - 1));
  }
  // The index of a word that is counted row by row.
  REGIONS_HD static uint32_t index(uint32_t word, uint32_t words) {
    const uint32_t row = word / words;
    return index(row, word - row * words, words);
  }
  // The number of words that `row_count` rows take, including padding.
  static size_t words(size_t row_count, size_t words) {
    return (row_count + rows - 1) / rows * rows * words;
  }
};
using VoxelRows = InterleavedRows<16>;
using BandRows = InterleavedRows<8>;

// One bit per voxel, set at the first voxel of each region. The id of a voxel is its index in
// raster order, with rows of volumes padded to whole words. Label propagation has cells instead of
// voxels.
struct FirstPixelBitmap {
  VolumeLayout volume_layout;  // width, height and slices of the volume
  uint32_t words_per_row;      // of interleaved rows; 1 if words are in raster order
  uint32_t pitch;              // ids from one row to the next
  uint32_t words;              // of `bits`
  uint32_t* bits;              // [words]
  uint32_t* regions_before;    // [words] number of labelled regions that start before the word
  uint32_t* region_counts;  // [words / kWordsPerCount] number of regions that start in these words
  uint32_t* area;           // by id, valid only for regions, and only while a filter needs areas
  uint32_t* total;          // [2] number of regions, number of regions that have a label

  static constexpr uint32_t kWordsPerCount = 1024;

  // The index of a word that is counted in raster order.
  REGIONS_HD uint32_t index_of(uint32_t word) const {
    return VoxelRows::index(word, words_per_row);
  }
};

// Threads of kernels in which a thread processes one word of the bitmap.
struct BitmapBlock {
  static constexpr int threads = 256;
};

// Sets the area of every region to 0.
void clear_areas(const FirstPixelBitmap& bitmap, cudaStream_t stream);
// Removes the regions whose area is outside min..max from the bitmap. Needs areas.
void drop_by_area(const FirstPixelBitmap& bitmap, uint32_t min, uint32_t max, cudaStream_t stream);
// If there are more than `limit` regions, removes all except the `limit` largest from the bitmap.
// Among equal areas, the first in raster order remain. Needs areas and a first numbering, and
// requires a second numbering.
void drop_smallest(const FirstPixelBitmap& bitmap, uint32_t limit, LargestSelection* selection,
                   cudaStream_t stream);
// Numbers the regions in raster order of their first voxels: writes `before` and the totals, and
// initializes the records of labels 1..records.capacity.
void number_first_pixels(const FirstPixelBitmap& bitmap, Totals totals, const Records& records,
                         cudaStream_t stream);

// The areas of regions that keep their label, from the parameters min-area and max-area.
struct AreaBounds {
  uint32_t min, max;

  explicit AreaBounds(const CcLabelParams& params)
      : min(clamped(params.min_area)),
        max(params.max_area > 0 ? clamped(params.max_area) : UINT32_MAX) {}
  bool exclude_any() const { return min > 1 || max < UINT32_MAX; }
  // An area in 32 bits: real areas are below 2^32 because a side has at most 65535 pixels.
  static uint32_t clamped(int64_t area) {
    return static_cast<uint32_t>(std::min<int64_t>(area, UINT32_MAX - 1));
  }
};

// Whether the output format may be too small for the labels of a volume of this size, so that the
// smallest regions lose their label.
inline bool may_drop_smallest(const FrameTask& task, const CcLabelParams& params,
                              const VolumeLayout& volume_layout) {
  return params.overflow == Overflow::drop_smallest &&
         max_output_label(task, params) < volume_layout.size().area();
}

// Decides which regions get a label, and numbers them 1..n. All methods share this sequence.
// `regions` must have these member functions, which enqueue kernels:
//   drop_by_area(bounds)  removes the regions outside the bounds
//   number(totals)        numbers the remaining regions in raster order
//   keep_largest(limit)   if more than `limit` are numbered, removes all except the largest
template <class Regions>
void filter_and_number_regions(const FrameTask& task, const CcLabelParams& params,
                               const VolumeLayout& volume_layout, const Regions& regions) {
  const AreaBounds bounds(params);
  if (bounds.exclude_any()) regions.drop_by_area(bounds);
  regions.number(Totals::both);
  if (!may_drop_smallest(task, params, volume_layout)) return;
  regions.keep_largest(max_output_label(task, params));
  regions.number(Totals::labelled);
}

// The argument `regions` of filter_and_number_regions() for volumes and cells. `Labelled` must have
// a member function regions(), which returns its FirstPixelBitmap, and a function
// sum_areas(labelled, stream).
template <class Labelled>
struct FirstPixelRegions {
  const Labelled& labelled;
  LargestSelection* selection;
  const Records& records;
  cudaStream_t stream;

  void drop_by_area(const AreaBounds& bounds) const {
    sum_areas(labelled, stream);
    cclabel::drop_by_area(labelled.regions(), bounds.min, bounds.max, stream);
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

// The label of the region whose id is `id` and whose bitmap word is at `index`. Returns 0 if the
// bit is not set, because no region starts there or the region was filtered out.
__device__ inline uint32_t label_at_first_pixel(const uint32_t* bits,
                                                const uint32_t* regions_before, uint32_t index,
                                                uint32_t id) {
  const uint32_t word = bits[index],
                 earlier = regions_before[index];  // two loads in flight at once
  const auto bit = static_cast<int>(id % 32);
  const uint32_t label = earlier + static_cast<uint32_t>(__popc(word & bits_below(bit))) + 1;
  return label & (0u - (word >> bit & 1));
}

inline constexpr uint32_t kFewTiles = 1024;

// Sets how the kernel divides a multiprocessor's memory into shared memory and cache. A
// multiprocessor must be idle before the division changes. With few tiles, all kernels use the same
// division, so that the blocks of one kernel can start while the previous kernel still runs.
// Measured with 26-connected noise (H200, 2026-11-21): 28 µs (was 32 µs) at 128^3. At 256^3, which
// has more than kFewTiles, the same division would take 116 µs instead of 110 µs.
template <class... Declared>
void set_carveout(void (*kernel)(Declared...), uint32_t tiles) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             tiles <= kFewTiles ? static_cast<int>(cudaSharedmemCarveoutMaxShared)
                                                : static_cast<int>(cudaSharedmemCarveoutDefault)),
        "asking for shared memory");
}

#endif

}  // namespace regions::cclabel
