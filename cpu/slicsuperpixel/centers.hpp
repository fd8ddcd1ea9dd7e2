// Centres and sums of clusters, a part an array, so that vectors hold cells side by side.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/slicsuperpixel/slico.hpp"

namespace regions {

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

// Memory for the cells of a frame; colours and sums by cells are of small ones.
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

}  // namespace regions
