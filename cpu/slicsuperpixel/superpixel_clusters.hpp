// The memory of the clusters on the CPU, and the passes that assign pixels to clusters and update
// the cluster centres (Achanta et al. 2012, algorithm 1).
//
// Each component of the centres and sums of a row of cells has its own array. A vector therefore
// holds the same component of neighbouring cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/image.hpp"
#include "core/slicsuperpixel/clusters.hpp"
#include "core/workers.hpp"

namespace regions {

// Number of neighbouring cells whose colours are stored together. It is the number of lanes of the
// widest vectors.
inline constexpr int kCellBatch = 16;

// Number of unused entries before the first cell of a row, and minimum number of unused entries
// after the last cell. The margins are large enough to read a whole vector.
inline constexpr int kCellMargin = 16;
// Returns the number of entries in the array for one row of cells, including both margins.
inline size_t cell_stride(int columns) {
  return (static_cast<size_t>(columns) + kCellMargin - 1) / kCellMargin * kCellMargin +
         2 * kCellMargin;
}

// The cluster centres of one row of cells, with one array per component. `base` is kEmpty for
// clusters without pixels and for positions outside the grid.
struct CellCenterRow {
  static constexpr int kParts = 5;
  static constexpr int32_t kEmpty = -1;
  // For SLIC: Center::color, Center::x and Center::y. For SLICO: ClusterColor::mean, Center::x and
  // Center::y.
  int16_t* part[kParts];
  int32_t* base;  // for SLIC: Center::base; for SLICO: the largest colour distance
};

// The sums of one row of clusters, with one array per component.
struct CellSumRow {
  static constexpr int kParts = 7;
  // The six numbers in ClusterSums, then the largest colour distance (used by SLICO only).
  uint32_t* part[kParts];
};

// Memory for the clusters of a frame. `colors` is used for small cells only. Large cells use only
// the first row of `sums` in each band.
struct CellBuffers {
  // Number of rows of sums per band: three rows to which pixels are currently added, and four rows
  // whose clusters also receive pixels from a neighbouring band.
  static constexpr int kBandRows = 7;

  int8_t* colors;       // [rows][columns / kCellBatch][height][width][component][kCellBatch]
  int16_t* centers[2];  // two sets: [rows + 2][kParts][stride], CellCenterRow::part
  int32_t* bases[2];    // two sets: [rows + 2][stride], CellCenterRow::base
  uint32_t* sums;       // [bands][kBandRows][kParts][stride], CellSumRow::part

  static size_t color_bytes(Size size);
  // Returns the address of the colour of pixel (u, v) in cell `column`. The next bytes are the
  // colours of pixel (u, v) in the following cells of the batch.
  int8_t* pixels(int column, int row, int u, int v, const SlicGrid& grid) const {
    const int batches = (grid.columns + kCellBatch - 1) / kCellBatch;
    const auto batch = static_cast<size_t>(row) * static_cast<size_t>(batches) +
                       static_cast<size_t>(column / kCellBatch);
    const auto pixel = batch * static_cast<size_t>(grid.width * grid.height) +
                       static_cast<size_t>(v * grid.width + u);
    return colors + pixel * (3 * kCellBatch) + column % kCellBatch;
  }
  // Returns a row of centres of set `center_set`. `row` is in the range -1 to grid.rows, because
  // there is one additional row above the grid and one below it.
  CellCenterRow center_row(int center_set, int row, const SlicGrid& grid) const;
  CellSumRow sum_row(int band, int row, const SlicGrid& grid) const;
};

// The input of a pass over small cells.
struct CellInput {
  const CellBuffers& memory;
  const SlicGrid& grid;
  const SlicScale& scale;
  int center_set;  // 0 or 1: which of the two sets of centres is read

  bool is_slico() const { return scale.adaptive > 0; }
};

// Number of readable pixels after the end of each row of a colour plane. They are sufficient for
// the widest cell, 512 pixels, that starts inside the picture, and for a vector.
inline constexpr int kPlanePadding = 576;
// The colours of a picture, with one plane per colour component.
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

// The numbers of ClusterSums, padded to the size of a vector.
struct alignas(32) PackedSums {
  uint32_t part[8];  // sums of three colour components, x and y; count; two unused entries

  ClusterSums unpacked() const { return {{part[0], part[1], part[2]}, part[3], part[4], part[5]}; }
};

// The sums to which the pixels of one row of cells are added. Candidate c (0..8) of cell `column`
// has the entry [c / 3][column + c % 3 - 1]. Each row has one additional entry at each end.
struct RowSums {
  PackedSums* sums[3];
  uint32_t* max_distance[3];  // largest colour distances, used by SLICO only
};

// Assigns the pixels of cell row `row` to clusters, adds the pixels to `sums`, and stores the
// number 0..8 of the candidate that each pixel chose in `chosen`. Uses only the image rows in
// `row_subset`.
void assign_and_sum(const AssignInput& input, int row, RowSubset row_subset, Image<uint8_t> chosen,
                    const RowSums& sums);

// Like assign_and_sum(), but `sums` and `chosen` must contain the result of an earlier pass over
// the same image rows. Changes the sums only for pixels that now choose another candidate:
// subtracts such a pixel from the sums of its old candidate, and adds it to the sums of its new
// candidate. Does not support SLICO.
void reassign_pixels(const AssignInput& input, int row, RowSubset row_subset, Image<uint8_t> chosen,
                     const RowSums& sums);

// Assigns all pixels of cell row `row` and writes the cluster_code() of each pixel.
void write_cluster_codes(const AssignInput& input, int row, Image<uint8_t> codes);

// The SLICO versions of assign_and_sum() and write_cluster_codes(), which call them.
void slico_assign_and_sum(const AssignInput& input, int row, RowSubset row_subset,
                          const RowSums& sums);
void write_slico_codes(const AssignInput& input, int row, Image<uint8_t> codes);

inline constexpr int kMaxSmallCell = 8;  // maximum width and height of a small cell, in pixels
// Returns true if the passes process one cell per vector lane instead of one pixel per lane. The
// cells must be so small that the packed sums of a cell cannot overflow. There must be so many
// cells that more lanes are in use than with one pixel per lane.
inline bool has_small_cells(const SlicGrid& grid) {
  return grid.width <= kMaxSmallCell && grid.height <= kMaxSmallCell && grid.columns >= grid.width;
}

// Assigns the pixels of the small cells in cell row `row` to clusters. Adds the pixels to sums[0]
// for clusters of the row above, sums[1] for clusters of the same row and sums[2] for the row
// below.
void assign_and_sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]);
void slico_assign_and_sum_cells(const CellInput& input, int row, const CellSumRow (&sums)[3]);

// Assigns all pixels of a row of small cells and writes the cluster_code() of each pixel.
void write_cell_codes(const CellInput& input, int row, Image<uint8_t> codes);
void write_slico_cell_codes(const CellInput& input, int row, Image<uint8_t> codes);

// Computes the centres of a row of clusters from their sums and writes them to set 1 -
// input.center_set. Copies the sums to `saved_sums` and `saved_max_distance` if the pointers are
// not null. Returns the sum of the centres' movements in sixteenths of a pixel.
uint64_t update_centers(const CellInput& input, int row, const CellSumRow& sums,
                        ClusterSums* saved_sums, uint32_t* saved_max_distance);

// Runs one iteration over all small cells. Returns the sum of the centres' movements in sixteenths
// of a pixel. `saved_sums` and `saved_max_distance` have the shape [rows][columns] or are null.
uint64_t iterate_cells(const CellInput& input, const Workers& workers, ClusterSums* saved_sums,
                       uint32_t* saved_max_distance);

// Marks the positions around the grid as clusters without pixels. Call it once before the first
// iteration.
void mark_border_empty(const CellBuffers& memory, const SlicGrid& grid);

// Copies the colours of small cells into `memory.colors`. Call it once before the first iteration.
void gather_cell_colors(const CellBuffers& memory, const ColorPlanes& colors, const SlicGrid& grid,
                        const Workers& workers);

// Computes the centres of sums.size() consecutive cells from their sums and stores them in set
// input.center_set. `column` is the first cell and must be a multiple of kCellBatch.
void store_centers(const CellInput& input, int column, int row, std::span<const ClusterSums> sums,
                   const uint32_t* max_distance);

}  // namespace regions
