// Overview of labelling by propagation and by sweeps: the passes, and the buffers through which
// they exchange data (CellArrays).
//
// A cell is a pixel or voxel. Its number is its index in raster order of the output, in which all
// slices and layers are stacked below each other. In the end, all cells of a region have the same
// label: 1 + the number of one of these cells, the representative cell. Propagation selects the
// last cell of the region, sweeps select the first.
//
// PropagationLabeller::enqueue() (propagation.cpp) calls the passes in this order. All buffers are
// members of CellArrays.
//
//   With method=propagation (propagate_cells.cu):
//   1. link_cells() finds the neighbours to which each cell is linked.
//        reads:  the image
//        writes: links, label (each cell's own number + 1); clears first_cell and progress
//   2. find_farthest(), only if the variant requires it, finds the farthest linked cells. The
//      plugin's variant does not require it; tests and benchmarks use such variants.
//        reads:  links
//        writes: farthest
//   3. propagate() replaces labels by greater labels of linked cells until no label changes.
//        reads:  links, farthest, label
//        writes: label, progress
//
//   With method=sweep (sweep_cells.cu), instead of 1 to 3:
//   1. sweep() thresholds the image and replaces labels by smaller labels of linked cells until no
//      label changes.
//        reads:  the image
//        writes: sweep_labels, label, progress; clears first_cell
//
//   With both methods (number_cells.cu, unless noted):
//   4. find_first_cells() finds the first cell of each region and counts the regions.
//        reads:  label
//        writes: first_cell, region_starts, region_counts
//   5. filter_and_number_regions() (first_pixels.hpp) calls sum_areas() and the filters, if a
//      filter is set, and number_first_pixels().
//        reads:  label, first_cell, region_starts, region_counts
//        writes: area, region_starts, region_counts, regions_before, total; initializes Records
//   6. measure_regions() sums the records, if the frame has a table.
//        reads:  the image, label, first_cell, region_starts, regions_before
//        writes: Records
//   7. publish_table() (cclabel/write.cu) copies the table to the host.
//        reads:  total, Records
//        writes: RegionTable, in pinned host memory
//   8. write_labels(), write_colors() write the outputs.
//        reads:  label, first_cell, region_starts, regions_before
//        writes: the label map, the output picture
//   9. The number of passes is copied to pinned host memory.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/cclabel/propagation/propagation.hpp"
#include "gpu/primitives/union_find.hpp"  // kNone

namespace regions::propagation {

using cclabel::Records;

// Neighbour k of a cell is at offset (k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1) in (x, y, z). The cell
// itself is neighbour 13, and is never linked.
inline constexpr int kNeighbours = 27;
inline constexpr int kDirections = 6;  // +x, -x, +y, -y, +z, -z

// Block size of kernels in which each thread processes one cell.
struct CellBlock {
  static constexpr int threads = 256;
};

// The progress of the cooperative kernel of propagate() or sweep().
struct Progress {
  uint32_t changed[3];  // [pass % 3] 1 if the pass changed a label
  uint32_t passes;      // number of passes so far
};

// The buffers in device memory for one in-flight frame or volume. Copied to kernels by value.
struct CellArrays {
  VolumeLayout layout;
  Connectivity connectivity;
  int stride;  // number of cells from one row of `sweep_labels` to the next, a multiple of 128

  uint32_t* label;           // [cells] 1 + number of the region's representative cell; 0: no region
  uint32_t* links;           // [cells] bit k: the cell is linked to neighbour k
  uint16_t* farthest[2];     // [kDirections][cells] distance to the farthest linked cell; [1] is
                             // for pointer doubling
  uint32_t* sweep_labels;    // [rows][stride] labels during sweep()
  uint32_t* first_cell;      // [cells] by representative cell: first cell of the region
  uint32_t* region_starts;   // [words] bits: first cells of regions
  uint32_t* regions_before;  // [words] number of labelled regions that start in earlier words
  uint32_t* region_counts;   // [words / kWordsPerCount] number of regions per group of words
  uint32_t* area;            // [cells] by first cell: number of cells of the region, for filters
  uint32_t* total;           // [2] number of regions, and of regions that have a label
  Progress* progress;

  cclabel::FirstPixelBitmap regions() const {
    const auto pitch = static_cast<uint32_t>(layout.slice.width);
    return {.volume_layout = layout,
            .words_per_row = 1,
            .pitch = pitch,
            .words = words(),
            .region_starts = region_starts,
            .regions_before = regions_before,
            .region_counts = region_counts,
            .area = area,
            .total = total};
  }
  REGIONS_HD uint32_t count() const { return static_cast<uint32_t>(layout.size().area()); }
  REGIONS_HD uint32_t words() const { return (count() + 31) / 32; }
  // Returns the difference between the number of neighbour k and the cell's own number.
  REGIONS_HD int offset_of(int k) const {
    return k % 3 - 1 + (k / 3 % 3 - 1 + (k / 9 - 1) * layout.slice.height) * layout.slice.width;
  }
};

// Returns which neighbour k is one step along a direction, 0..kDirections - 1.
REGIONS_HD constexpr int neighbour_along(int direction) {
  constexpr int steps[] = {1, 3, 9};
  return 13 + (direction % 2 ? -steps[direction / 2] : steps[direction / 2]);
}

// Returns the neighbours of a connectivity: bit k is set for neighbour k.
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
  cclabel::ThresholdLevels thresholds;
  bool label_background;  // whether background regions are labelled too
};

// Every function below enqueues its kernels on `stream` and returns. Errors of a launch are thrown.

// Finds the links of each cell. Sets the cell's label to its own number + 1, or to 0 if it belongs
// to no region.
void link_cells(const CellInput& input, const CellArrays& cells, cudaStream_t stream);
// For each cell and direction, finds the farthest cell that can be reached in a straight line of
// links, at a distance of at most `length` (0: no limit). Uses pointer doubling.
void find_farthest(const CellArrays& cells, int length, cudaStream_t stream);
// Returns how many blocks of propagate() can be resident on the device at once.
int propagation_blocks(const Variant& variant);
// Repeats passes over all cells until no label changes. In each pass, a cell takes the largest
// label among the cells that it reads. The kernel decides when to stop.
void propagate(const CellArrays& cells, const Variant& variant, int blocks, cudaStream_t stream);

// Returns the stride of `sweep_labels` for rows of `width` cells: 32 lanes with at least four cells
// each.
int sweep_stride(int width);
// Returns how many blocks of sweep() can be resident on the device at once.
int sweep_blocks(int width);
// Labels all cells: sets each label to the number of the region's first cell + 1, or to 0 outside
// regions. Supports only criterion=binary, connectivity=26, and widths up to 1024 cells.
void sweep(const CellInput& input, const CellArrays& cells, int blocks, cudaStream_t stream);

// Finds the first cell of each region in raster order, and counts the regions that start in each
// group of words.
void find_first_cells(const CellArrays& cells, cudaStream_t stream);
// Writes the area of each region.
void sum_areas(const CellArrays& cells, cudaStream_t stream);
// Adds the pixels of `frame` to the records. number_first_pixels() must have initialized the
// records.
void measure_regions(const CellArrays& cells, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);
// Write the outputs: the label of each cell, or the colour of its region. Labels below `min_value`
// and above `limit` are replaced by these bounds.
void write_labels(const CellArrays& cells, LabelMap labels, cudaStream_t stream);
void write_labels(const CellArrays& cells, const Frame& out, uint32_t min_value, uint32_t limit,
                  cudaStream_t stream);
void write_colors(const CellArrays& cells, const Frame& out, cudaStream_t stream);

}  // namespace regions::propagation
