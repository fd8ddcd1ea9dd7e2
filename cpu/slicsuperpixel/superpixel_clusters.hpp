// Data of the clusters on the CPU, and the passes that assign pixels to clusters and update the
// centres (Achanta et al. 2012, algorithm 1).
//
// Rows of centres and sums are stored as one array per component, so that a vector holds the same
// component of neighbouring cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/image.hpp"
#include "core/slicsuperpixel/clusters.hpp"
#include "core/workers.hpp"

namespace regions {

// Cells whose colours are stored together: as many as the widest vectors have lanes.
inline constexpr int kCellBatch = 16;

// Entries before the first cell of a row, and the minimum after its last cell: one vector.
inline constexpr int kCellMargin = 16;
inline size_t cell_stride(int columns) {
  return (static_cast<size_t>(columns) + kCellMargin - 1) / kCellMargin * kCellMargin +
         2 * kCellMargin;
}

// Centres of one row of cells, one array per component. For clusters without pixels and for
// positions outside the grid, `base` is kEmpty.
struct CellCenterRow {
  static constexpr int kParts = 5;
  static constexpr int32_t kEmpty = -1;
  int16_t* part[kParts];  // SLIC: Center::color, x, y; SLICO: ClusterColor::mean, x, y
  int32_t* base;          // SLIC: Center::base; SLICO: the largest colour distance
};

// Sums of one row of clusters, one array per component.
struct CellSumRow {
  // the members of ClusterSums, and the largest colour distance (SLICO)
  static constexpr int kParts = 7;
  uint32_t* part[kParts];
};

// Memory for the clusters of a frame. `colors` and `sums` are used for small cells only.
struct CellBuffers {
  // rows of sums per band: three in use, four shared with other bands
  static constexpr int kBandRows = 7;

  int8_t* colors;       // [rows][columns / kCellBatch][height][width][component][kCellBatch]
  int16_t* centers[2];  // [rows + 2][kParts][stride]
  int32_t* bases[2];    // [rows + 2][stride]
  uint32_t* sums;       // [bands][kBandRows][kParts][stride]

  static size_t color_bytes(Size size);
  // Returns pixel (u, v) of cell `column`; the same pixel of the following cells of the batch
  // follows.
  int8_t* pixels(int column, int row, int u, int v, const SlicGrid& grid) const {
    const int batches = (grid.columns + kCellBatch - 1) / kCellBatch;
    const auto batch = static_cast<size_t>(row) * static_cast<size_t>(batches) +
                       static_cast<size_t>(column / kCellBatch);
    const auto pixel = batch * static_cast<size_t>(grid.width * grid.height) +
                       static_cast<size_t>(v * grid.width + u);
    return colors + pixel * (3 * kCellBatch) + column % kCellBatch;
  }
  // `row` is -1..rows, including one row above and one below the grid.
  CellCenterRow center_row(int center_set, int row, const SlicGrid& grid) const;
  CellSumRow sum_row(int band, int row, const SlicGrid& grid) const;
};

// The input of a pass over small cells.
struct CellInput {
  const CellBuffers& memory;
  const SlicGrid& grid;
  const SlicScale& scale;
  int center_set;  // which of the two sets of centres is read

  bool is_slico() const { return scale.adaptive > 0; }
};

// The colours of a picture, one plane per component. Each row can be read kPlanePadding pixels
// beyond the width.
inline constexpr int kPlanePadding = 576;  // a cell that starts inside the picture, and a vector
struct ColorPlanes {
  Image<int8_t> plane[3];

  uint32_t at(int x, int y) const {
    return packed_color(plane[0](x, y), plane[1](x, y), plane[2](x, y));
  }
};

// The input of a pass over cells of any size.
struct AssignInput {
  ColorPlanes colors;
  CellInput cells;
};

// ClusterSums padded to a vector.
struct alignas(32) PackedSums {
  uint32_t part[8];  // components 0..2, x, y, count, two unused

  ClusterSums unpacked() const { return {{part[0], part[1], part[2]}, part[3], part[4], part[5]}; }
};

// The sums to which the pixels of one row of cells are added. Candidate c of cell `column` has the
// entry [c / 3][column + c % 3 - 1]. Each row has one more entry at each end.
struct RowSums {
  PackedSums* sums[3];
  uint32_t* max_distance[3];  // largest colour distances, SLICO only
};

// Assigns the pixels of cell row `row` that take part (`row_subset`), adds them to `sums`, and
// stores the chosen candidate 0..8 of each pixel in `chosen`.
void assign_and_sum(const AssignInput& input, int row, RowSubset row_subset, Image<uint8_t> chosen,
                    const RowSums& sums);

// Does the same if `sums` and `chosen` already hold the result of an earlier pass over the same
// rows: only pixels whose candidate has changed are moved from one sum to another. Not for SLICO.
void reassign_pixels(const AssignInput& input, int row, RowSubset row_subset, Image<uint8_t> chosen,
                     const RowSums& sums);

// Assigns all pixels of cell row `row` and writes the cluster_code() of each pixel.
void write_cluster_codes(const AssignInput& input, int row, Image<uint8_t> codes);

// These passes for SLICO are called by the functions above.
void slico_assign_and_sum(const AssignInput& input, int row, RowSubset row_subset,
                          const RowSums& sums);
void write_slico_codes(const AssignInput& input, int row, Image<uint8_t> codes);

// Returns true if the passes process one cell per lane: the packed sums of a cell must fit, and
// lanes must be better used than with one pixel per lane.
inline constexpr int kMaxSmallCell = 8;  // side in pixels
inline bool has_small_cells(const SlicGrid& grid) {
  return grid.width <= kMaxSmallCell && grid.height <= kMaxSmallCell && grid.columns >= grid.width;
}

// Assigns the pixels of small cells of row `row` and adds them to the clusters of the row above, of
// row `row` and of the row below.
void assign_and_sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]);
void slico_assign_and_sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]);

// Assigns all pixels of a row of small cells and writes the cluster_code() of each pixel.
void write_cell_codes(const CellInput& input, int row, Image<uint8_t> codes);
void write_slico_cell_codes(const CellInput& input, int row, Image<uint8_t> codes);

// Computes the centres of a row of clusters from their sums and writes them to the other set of
// centres. Copies the sums to `saved_sums` and `saved_max_distance` if these are not null. Returns
// the sum of the centres' movements in sixteenths of a pixel.
uint64_t update_centers(const CellInput& input, int row, const CellSumRow& sums,
                        ClusterSums* saved_sums, uint32_t* saved_max_distance);

// Runs one iteration over all small cells; returns the centres' movement like update_centers().
// saved_sums: [rows][columns].
uint64_t iterate_cells(const CellInput& input, const Workers& workers, ClusterSums* saved_sums,
                       uint32_t* saved_max_distance);

// Marks the positions around the grid as clusters without pixels. Call it once before the first
// iteration.
void mark_border_empty(const CellBuffers& memory, const SlicGrid& grid);

// Copies the colours of small cells into `memory.colors`. Call it once before the first iteration.
void gather_cell_colors(const CellBuffers& memory, const ColorPlanes& colors, const SlicGrid& grid,
                        const Workers& workers);

// Stores the centres of sums.size() cells from `column` on, which must be the first cell of a
// batch.
void store_centers(const CellInput& input, int column, int row, std::span<const ClusterSums> sums,
                   const uint32_t* max_distance);

}  // namespace regions
