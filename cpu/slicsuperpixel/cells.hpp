// Clusters of small cells. Vectors hold one pixel of each of many cells, where those of strips.hpp
// hold pixels of one cell and would be empty but for a few lanes.
#pragma once

#include <span>

#include "core/workers.hpp"
#include "cpu/slicsuperpixel/assign.hpp"

namespace regions {

// Whether the passes go by cells: what their packed sums hold, and lanes fill better than by
// pixels.
inline constexpr int kMaxSmallCell = 8;  // pixels a side
inline bool has_small_cells(const SlicGrid& grid) {
  return grid.width <= kMaxSmallCell && grid.height <= kMaxSmallCell && grid.columns >= grid.width;
}

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

// Before the first iteration: no clusters round the grid.
void surround_centers(const CellMemory& memory, const SlicGrid& grid);

// Likewise: the colours by cells.
void prepare_cells(const CellMemory& memory, const ColorPlanes& colors, const SlicGrid& grid,
                   const Workers& workers);

// Sets the centres of the cells from `column` on, which begins a batch, one for each of these.
void put_centers(const CellInput& input, int column, int row, std::span<const ClusterSums> sums,
                 const uint32_t* reach);

}  // namespace regions
