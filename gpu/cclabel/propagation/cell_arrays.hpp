// The arrays and passes of label propagation and sweeps, for one frame or volume in flight.
//
// A cell is a pixel or voxel. Its number is its index in raster order of the output, where all
// slices and layers are stacked on top of each other. The passes, in the order in which they are
// called:
//   propagation:  1. link_cells()    finds which neighbours each cell is linked to
//                 2. find_farthest() finds the farthest linked cells, for variants that need them
//                 3. propagate()     iterates until no label changes
//   sweep:        1. sweep()         thresholds the cells and iterates until no label changes
//   then both:    4. find_first_cells() finds the first cell of each region, counts regions
//                 5. sum_areas(), number_first_pixels() filter and number the regions
//                 6. measure_regions() sums the records, if the frame has a table
//                 7. write_labels(), write_colors() write the outputs
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/cclabel/propagation/propagation.hpp"
#include "gpu/primitives/union_find.hpp"

namespace regions::propagation {

using cclabel::Records;

// Neighbour k of a cell is at offset (k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1) in (x, y, z). The cell
// itself is neighbour 13, and is never linked.
inline constexpr int kNeighbours = 27;
inline constexpr int kDirections = 6;  // +x, -x, +y, -y, +z, -z

struct CellBlock {
  static constexpr int threads = 256;
};

struct Progress {
  uint32_t changed[3];  // [pass % 3] whether the pass changed a label
  uint32_t passes;
};

// Copied to kernels by value.
struct CellArrays {
  VolumeLayout layout;
  Connectivity connectivity;
  int stride;  // cells from one row of `sweep_labels` to the next, a multiple of 128

  uint32_t* label;          // [cells] 1 + number of a cell that represents the region; 0: no region
  uint32_t* links;          // [cells] bit k: linked to neighbour k
  uint16_t* farthest[2];    // [kDirections][cells] distance to the farthest linked cell; [1] is
                            // for pointer doubling
  uint32_t* sweep_labels;   // [rows][stride] labels of sweeps
  uint32_t* first_cell;     // [cells] at the representative: first cell of the region
  uint32_t* region_firsts;  // [words] bits: first cells of regions
  uint32_t* regions_before;  // [words] regions whose first cell precedes the word
  uint32_t* region_counts;   // [words / FirstPixelBitmap::kWordsPerCount] first cells in each block
                             // of words
  uint32_t* area;            // [cells] at the first cell: cells of the region, if filters need it
  uint32_t* total;           // [2] number of regions, and of regions that have a label
  Progress* progress;

  cclabel::FirstPixelBitmap regions() const {
    const auto pitch = static_cast<uint32_t>(layout.slice.width);
    return {.volume_layout = layout,
            .words_per_row = 1,
            .pitch = pitch,
            .words = words(),
            .bits = region_firsts,
            .regions_before = regions_before,
            .region_counts = region_counts,
            .area = area,
            .total = total};
  }
  REGIONS_HD uint32_t count() const { return static_cast<uint32_t>(layout.size().area()); }
  REGIONS_HD uint32_t words() const { return (count() + 31) / 32; }
  // The difference between the number of neighbour k and the cell's own number.
  REGIONS_HD int offset_of(int k) const {
    return k % 3 - 1 + (k / 3 % 3 - 1 + (k / 9 - 1) * layout.slice.height) * layout.slice.width;
  }
};

// The neighbour one step along direction 0..kDirections-1.
REGIONS_HD constexpr int neighbour_along(int direction) {
  constexpr int steps[] = {1, 3, 9};
  return 13 + (direction % 2 ? -steps[direction / 2] : steps[direction / 2]);
}

// The neighbours of a connectivity, as bits.
REGIONS_HD constexpr uint32_t neighbours_of(Connectivity connectivity) {
  uint32_t bits = 0;
  for (int k = 0; k < kNeighbours; ++k) {
    const int x = k % 3 != 1, y = k / 3 % 3 != 1, z = k / 9 != 1, steps = x + y + z;
    const bool is_flat = !is_spatial(connectivity);
    const int max_steps = connectivity == Connectivity::four || connectivity == Connectivity::six
                              ? 1
                          : connectivity == Connectivity::twenty_six ? 3
                                                                     : 2;
    if (steps >= 1 && steps <= max_steps && !(is_flat && z)) bits |= 1u << k;
  }
  return bits;
}

// The image that is labelled and, for criterion=binary, the level of each layer.
struct CellInput {
  cclabel::LabelInput image;
  cclabel::Levels levels;
  bool has_background;  // background has regions too
};

// Every function below enqueues its kernels on `stream` and returns. Errors of a launch are thrown.

// Finds the links of every cell, and sets its label to its own number + 1, or 0 if it has no
// region.
void link_cells(const CellInput& input, const CellArrays& cells, cudaStream_t stream);
// Finds the farthest linked cells at a distance of at most `length` (0: no limit), by pointer
// doubling.
void find_farthest(const CellArrays& cells, int length, cudaStream_t stream);
// Number of blocks of propagate() that can be resident on the device at once.
int propagation_blocks(const Variant& variant);
// Passes over all cells until no label changes: each cell takes the largest label that it reads.
// The device decides when to stop.
void propagate(const CellArrays& cells, const Variant& variant, int blocks, cudaStream_t stream);

// The stride of `sweep_labels` for rows of `width` cells: whole warps with at least four cells per
// lane.
int sweep_stride(int width);
// Number of blocks of sweep() that can be resident on the device at once.
int sweep_blocks(int width);
// Labels all cells: the label becomes the number of the region's first cell + 1, or 0 outside
// regions. Only for criterion=binary.
void sweep(const CellInput& input, const CellArrays& cells, int blocks, cudaStream_t stream);

// Finds the first cell of each region in raster order, and counts the regions in each block of
// words.
void find_first_cells(const CellArrays& cells, cudaStream_t stream);
// Writes the area of each region.
void sum_areas(const CellArrays& cells, cudaStream_t stream);
// Adds the cells of `frame` to the records, which must be initialised.
void measure_regions(const CellArrays& cells, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);
// Write the label of each cell, between `min_value` (of label 1) and `limit`, or the colour of its
// region.
void write_labels(const CellArrays& cells, LabelMap labels, cudaStream_t stream);
void write_labels(const CellArrays& cells, const Frame& out, uint32_t min_value, uint32_t limit,
                  cudaStream_t stream);
void write_colors(const CellArrays& cells, const Frame& out, cudaStream_t stream);

}  // namespace regions::propagation
