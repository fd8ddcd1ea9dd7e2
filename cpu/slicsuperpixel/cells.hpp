// Clusters of small cells. Vectors hold one pixel of each of many cells, where those of strips.hpp
// hold pixels of one cell and would be empty but for a few lanes.
#pragma once

#include <span>

#include "core/workers.hpp"
#include "cpu/slicsuperpixel/assign.hpp"

namespace regions {

// Whether the passes go by cells: what their packed sums hold, and lanes fill better than by
// pixels.
inline constexpr int kMostSmallCell = 8;  // pixels a side
inline bool has_small_cells(const SlicGrid& grid) {
  return grid.width <= kMostSmallCell && grid.height <= kMostSmallCell &&
         grid.columns >= grid.width;
}

// Cells whose colours lie side by side: as many as the longest vectors have lanes.
inline constexpr int kCellBatch = 16;

// Entries before the first cell of a row and, at least, behind its last; a vector.
inline constexpr int kCellMargin = 16;
inline size_t cell_stride(int columns) {
  return (static_cast<size_t>(columns) + kCellMargin - 1) / kCellMargin * kCellMargin +
         2 * kCellMargin;
}

// Centres of a row of cells, a part an array. Clusters without pixels, or outside the grid, have
// base kLost.
struct CellCenterRow {
  static constexpr int kParts = 5;
  static constexpr int32_t kLost = -1;
  int16_t* part[kParts];  // of Center: color, x, y; of slico ClusterColor's mean for color
  int32_t* base;          // of Center; of slico the reach
};

// Sums of a row of clusters, a part an array.
struct CellSumRow {
  static constexpr int kParts = 7;  // of ClusterSums, and slico's reach
  uint32_t* part[kParts];
};

// Memory for the cells of a frame.
struct CellMemory {
  static constexpr int kStripRows = 7;  // rows of sums a strip: three at work, four at its ends

  int8_t* colors;  // [rows][columns / kCellBatch][height][width][component][kCellBatch] of pixels
  int16_t* centers[2];  // [rows + 2][kParts][stride]
  int32_t* bases[2];    // [rows + 2][stride]
  uint32_t* sums;       // [strips][kStripRows][kParts][stride]

  static size_t color_bytes(Size size);
  // Pixel (u, v) of the cells from `column` on, up to the end of their batch.
  int8_t* pixels(int column, int row, int u, int v, const SlicGrid& grid) const {
    const int batches = (grid.columns + kCellBatch - 1) / kCellBatch;
    const auto batch = static_cast<size_t>(row) * static_cast<size_t>(batches) +
                       static_cast<size_t>(column / kCellBatch);
    const auto pixel = batch * static_cast<size_t>(grid.width * grid.height) +
                       static_cast<size_t>(v * grid.width + u);
    return colors + pixel * (3 * kCellBatch) + column % kCellBatch;
  }
  // `row` -1..rows.
  CellCenterRow center_row(int which, int row, const SlicGrid& grid) const;
  CellSumRow sum_row(int strip, int which, const SlicGrid& grid) const;
};

// What a pass reads.
struct CellInput {
  const CellMemory& memory;
  const SlicGrid& grid;
  const SlicScale& scale;
  int which;  // of the two sets of centres

  bool adapts() const { return scale.adaptive > 0; }
};

// Adds the pixels of cell row `row` to the clusters of the rows above, at and below it.
void sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]);
void sum_adaptive_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]);

// Writes each pixel's cluster_code.
void write_cell_codes(const CellInput& input, int row, Image<uint8_t> codes);
void write_adaptive_cell_codes(const CellInput& input, int row, Image<uint8_t> codes);

// Centres of a row from its clusters' sums, into the other set, and the sums to `kept` if it is not
// null; returns how far they moved, in sixteenths of a pixel.
uint64_t average_cells(const CellInput& before, int row, const CellSumRow& sums, ClusterSums* kept,
                       uint32_t* kept_reach);

// One iteration over all cells; returns how far centres moved. kept: [rows][columns].
uint64_t iterate_cells(const CellInput& before, const Workers& workers, ClusterSums* kept,
                       uint32_t* kept_reach);

// Before the first iteration: the colours by cells, and no clusters round the grid.
void prepare_cells(const CellMemory& memory, const ColorPlanes& colors, const SlicGrid& grid,
                   const Workers& workers);

// Sets the centres of the cells from `column` on, which begins a batch, one for each of these.
void put_centers(const CellInput& input, int column, int row, std::span<const ClusterSums> sums,
                 const uint32_t* reach);

}  // namespace regions
