// Iterations over small cells on the CPU.
//
// Each task handles a band of cell rows. A row of clusters receives pixels from three rows of
// cells, so its centres are updated when the pixels of the next cell row have been assigned. The
// rows of clusters at the border of two bands are updated after the pixels of both bands have been
// assigned.
#include <algorithm>
#include <atomic>

#include "cpu/slicsuperpixel/slicsuperpixel.hpp"
#include "cpu/slicsuperpixel/superpixel_clusters.hpp"

namespace regions {
namespace {

// The division of the grid's rows into bands, one band per task. Band b consists of rows begin(b)
// to begin(b + 1) - 1. If there are several bands, each band has at least two rows.
struct RowBands {
  const SlicGrid& grid;
  int count;

  RowBands(const SlicGrid& cell_grid, const Workers& workers)
      : grid(cell_grid), count(std::clamp(grid.rows / 2, 1, max_count(workers))) {}
  static int max_count(const Workers& workers) {
    return workers.threads() == 1 ? 1 : std::min(4 * workers.threads(), FragmentBand::kMaxBands);
  }
  int begin(int band) const {
    return static_cast<int>(static_cast<int64_t>(grid.rows) * band / count);
  }
};

// Each band has kBandRows rows of sums. Rows 0 to 2 are the rows to which pixels are currently
// added. The other rows save the sums of clusters that receive pixels from two bands: clusters in
// the row above the band, in its first and last rows, and in the row below the band.
enum SharedRow { above_first = 3, first, last, below_last };

void clear(const CellSumRow& row, const SlicGrid& grid) {
  // The arrays of a row are contiguous in memory.
  std::fill_n(row.part[0] - kCellMargin, CellSumRow::kParts * cell_stride(grid.columns), 0u);
}

// One iteration over all small cells: assigns the pixels and updates the centres.
class Iteration {
 public:
  Iteration(const CellInput& input, const Workers& workers, ClusterSums* saved_sums,
            uint32_t* max_distance)
      : input_(input),
        bands_(input.grid, workers),
        saved_sums_(saved_sums),
        saved_max_distance_(max_distance) {}

  uint64_t run(const Workers& workers) {
    workers.parallel_for(bands_.count, [&](int band) { assign_band(band); });
    workers.parallel_for(2 * (bands_.count - 1), [&](int i) { combine_shared_rows(i / 2, i % 2); });
    return total_movement_;
  }

 private:
  CellSumRow working_row(int band, int row) const {
    return input_.memory.sum_row(band, (row + 3) % 3, input_.grid);
  }

  // Assigns the pixels of a band and updates the centres of the rows that are complete.
  void assign_band(int band) {
    const int begin = bands_.begin(band), end = bands_.begin(band + 1);
    clear(working_row(band, begin - 1), input_.grid);
    clear(working_row(band, begin), input_.grid);
    uint64_t total_movement = 0;
    for (int row = begin; row < end; ++row) {
      clear(working_row(band, row + 1), input_.grid);
      const CellSumRow sums[3] = {working_row(band, row - 1), working_row(band, row),
                                  working_row(band, row + 1)};
      assign_and_sum_cells(input_, row, sums);
      total_movement += finish_row(band, row - 1);
    }
    total_movement += finish_row(band, end - 1) + finish_row(band, end);
    total_movement_ += total_movement;
  }

  // Updates the centres of a row of clusters after all cells of the band have been added to it. If
  // another band also adds pixels to the row, saves the sums for combine_shared_rows() instead.
  // Returns the sum of the centres' movements.
  uint64_t finish_row(int band, int row) const {
    if (row < 0 || row >= input_.grid.rows) return 0;
    const int begin = bands_.begin(band), end = bands_.begin(band + 1);
    const CellSumRow sums = working_row(band, row);
    const bool shared = (row <= begin && begin > 0) || (row >= end - 1 && end < input_.grid.rows);
    if (!shared) return update_row(row, sums);
    const int shared_row = row < begin                 ? above_first
                           : row == begin && begin > 0 ? first
                           : row < end                 ? last
                                                       : below_last;
    const CellSumRow to = input_.memory.sum_row(band, shared_row, input_.grid);
    std::copy_n(sums.part[0] - kCellMargin, CellSumRow::kParts * cell_stride(input_.grid.columns),
                to.part[0] - kCellMargin);
    return 0;
  }

  // Adds up the sums from both bands and updates the centres of the last row of `band` (below = 0),
  // or of the first row of the next band (below = 1).
  void combine_shared_rows(int band, int below) {
    const SlicGrid& grid = input_.grid;
    const CellSumRow sums = input_.memory.sum_row(band, below ? below_last : last, grid);
    const CellSumRow next = input_.memory.sum_row(band + 1, below ? first : above_first, grid);
    for (int p = 0; p < CellSumRow::kParts; ++p) {
      for (int c = 0; c < grid.columns; ++c) {
        uint32_t& sum = sums.part[p][c];
        sum = p == 6 ? std::max(sum, next.part[p][c]) : sum + next.part[p][c];
      }
    }
    total_movement_ += update_row(bands_.begin(band + 1) - 1 + below, sums);
  }

  uint64_t update_row(int row, const CellSumRow& sums) const {
    if (!saved_sums_) return update_centers(input_, row, sums, nullptr, nullptr);
    const size_t first_cell = input_.grid.index(0, row);
    return update_centers(input_, row, sums, saved_sums_ + first_cell,
                          saved_max_distance_ + first_cell);
  }

  const CellInput& input_;
  const RowBands bands_;
  ClusterSums* const saved_sums_;
  uint32_t* const saved_max_distance_;
  std::atomic<uint64_t> total_movement_ = 0;
};

}  // namespace

CellCenterRow CellBuffers::center_row(int center_set, int row, const SlicGrid& grid) const {
  const size_t stride = cell_stride(grid.columns);
  const size_t offset = static_cast<size_t>(row + 1) * stride + kCellMargin;
  CellCenterRow result = {};
  for (size_t p = 0; p < CellCenterRow::kParts; ++p) {
    result.part[p] = centers[center_set] +
                     (static_cast<size_t>(row + 1) * CellCenterRow::kParts + p) * stride +
                     kCellMargin;
  }
  result.base = bases[center_set] + offset;
  return result;
}

size_t CellBuffers::color_bytes(Size size) {
  const auto padded = [](int side, int padding) {
    return static_cast<size_t>(side) + static_cast<size_t>(padding);
  };
  return 3 * padded(size.width, (kCellBatch + 1) * kMaxSmallCell) *
         padded(size.height, kMaxSmallCell);
}

CellSumRow CellBuffers::sum_row(int band, int row, const SlicGrid& grid) const {
  const size_t stride = cell_stride(grid.columns);
  CellSumRow result = {};
  for (size_t p = 0; p < CellSumRow::kParts; ++p) {
    const size_t index = static_cast<size_t>(band) * kBandRows + static_cast<size_t>(row);
    result.part[p] = sums + (index * CellSumRow::kParts + p) * stride + kCellMargin;
  }
  return result;
}

uint64_t iterate_cells(const CellInput& input, const Workers& workers, ClusterSums* saved_sums,
                       uint32_t* saved_max_distance) {
  return Iteration(input, workers, saved_sums, saved_max_distance).run(workers);
}

void mark_border_empty(const CellBuffers& memory, const SlicGrid& grid) {
  const size_t stride = cell_stride(grid.columns);
  for (int row = -1; row <= grid.rows; ++row) {
    const int cells = row >= 0 && row < grid.rows ? grid.columns : 0;
    for (int center_set = 0; center_set < 2; ++center_set) {
      int32_t* const base = memory.center_row(center_set, row, grid).base;
      std::fill(base - kCellMargin, base, CellCenterRow::kEmpty);
      std::fill(base + cells, base - kCellMargin + stride, CellCenterRow::kEmpty);
    }
  }
}

void gather_cell_colors(const CellBuffers& memory, const ColorPlanes& colors, const SlicGrid& grid,
                        const Workers& workers) {
  workers.parallel_for(grid.rows, [&](int row) {
    for (int v = 0; v < std::min(grid.height, grid.size.height - row * grid.height); ++v) {
      for (int c = 0; c < 3; ++c) {
        const int8_t* const from = colors.plane[c].row(row * grid.height + v);
        for (int begin = 0; begin < grid.columns; begin += kCellBatch) {
          const int8_t* const first = from + begin * grid.width;
          const int cells = std::min(kCellBatch, grid.columns - begin);
          for (int u = 0; u < grid.width; ++u) {
            int8_t* const to = memory.pixels(begin, row, u, v, grid) + c * kCellBatch;
            for (int k = 0; k < cells; ++k) to[k] = first[k * grid.width + u];
          }
        }
      }
    }
  });
}

}  // namespace regions
