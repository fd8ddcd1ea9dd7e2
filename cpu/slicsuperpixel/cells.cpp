// A row of clusters gets pixels from three rows of cells. So a strip of rows is averaged while it
// is assigned, one row behind; the clusters at its ends when both strips there are done.
#include "cpu/slicsuperpixel/cells.hpp"

#include <algorithm>
#include <atomic>

#include "cpu/slicsuperpixel/slot.hpp"

namespace regions {
namespace {

// Of a strip, rows begin..end-1 of the grid. It has at least two, if it is not the only one.
struct Strips {
  const SlicGrid& grid;
  int count;

  Strips(const SlicGrid& of, const Workers& workers)
      : grid(of), count(std::clamp(grid.rows / 2, 1, most(workers))) {}
  static int most(const Workers& workers) {
    return workers.threads() == 1 ? 1 : std::min(4 * workers.threads(), PieceStrip::kMax);
  }
  int begin(int strip) const {
    return static_cast<int>(static_cast<int64_t>(grid.rows) * strip / count);
  }
};

// Which of a strip's rows of sums are what: rows at work by turns, then the two at its upper end
// and the two at its lower end, of clusters that get pixels from two strips.
enum EndRow { above_first = 3, first, last, below_last };

void clear(const CellSumRow& row, const SlicGrid& grid) {
  // Parts follow one another.
  std::fill_n(row.part[0] - kCellMargin, CellSumRow::kParts * cell_stride(grid.columns), 0u);
}

class Iteration {
 public:
  Iteration(const CellInput& before, const Workers& workers, ClusterSums* kept, uint32_t* reach)
      : in_(before), strips_(before.grid, workers), kept_(kept), kept_reach_(reach) {}

  uint64_t run(const Workers& workers) {
    workers.parallel_for(strips_.count, [&](int s) { assign(s); });
    workers.parallel_for(2 * (strips_.count - 1), [&](int i) { join_ends(i / 2, i % 2); });
    return moved_;
  }

 private:
  CellSumRow at_work(int strip, int row) const {
    return in_.memory.sum_row(strip, (row + 3) % 3, in_.grid);
  }

  void assign(int strip) {
    const int begin = strips_.begin(strip), end = strips_.begin(strip + 1);
    clear(at_work(strip, begin - 1), in_.grid);
    clear(at_work(strip, begin), in_.grid);
    uint64_t moved = 0;
    for (int row = begin; row < end; ++row) {
      clear(at_work(strip, row + 1), in_.grid);
      const CellSumRow sums[3] = {at_work(strip, row - 1), at_work(strip, row),
                                  at_work(strip, row + 1)};
      sum_cells(in_, row, sums);
      moved += settle(strip, row - 1);
    }
    moved += settle(strip, end - 1) + settle(strip, end);
    moved_ += moved;
  }

  // Averages a row to which the strip adds nothing more, or leaves it for join_ends().
  uint64_t settle(int strip, int row) const {
    if (row < 0 || row >= in_.grid.rows) return 0;
    const int begin = strips_.begin(strip), end = strips_.begin(strip + 1);
    const CellSumRow sums = at_work(strip, row);
    const bool shared = (row <= begin && begin > 0) || (row >= end - 1 && end < in_.grid.rows);
    if (!shared) return average(row, sums);
    const int which = row < begin                 ? above_first
                      : row == begin && begin > 0 ? first
                      : row < end                 ? last
                                                  : below_last;
    const CellSumRow to = in_.memory.sum_row(strip, which, in_.grid);
    std::copy_n(sums.part[0] - kCellMargin, CellSumRow::kParts * cell_stride(in_.grid.columns),
                to.part[0] - kCellMargin);
    return 0;
  }

  // The last row of `strip`, or the row below it.
  void join_ends(int strip, int below) {
    const SlicGrid& grid = in_.grid;
    const CellSumRow sums = in_.memory.sum_row(strip, below ? below_last : last, grid);
    const CellSumRow more = in_.memory.sum_row(strip + 1, below ? first : above_first, grid);
    for (int p = 0; p < CellSumRow::kParts; ++p) {
      for (int c = 0; c < grid.columns; ++c) {
        uint32_t& sum = sums.part[p][c];
        sum = p == 6 ? std::max(sum, more.part[p][c]) : sum + more.part[p][c];
      }
    }
    moved_ += average(strips_.begin(strip + 1) - 1 + below, sums);
  }

  uint64_t average(int row, const CellSumRow& sums) const {
    if (!kept_) return average_cells(in_, row, sums, nullptr, nullptr);
    const size_t at = in_.grid.index(0, row);
    return average_cells(in_, row, sums, kept_ + at, kept_reach_ + at);
  }

  const CellInput& in_;
  const Strips strips_;
  ClusterSums* const kept_;
  uint32_t* const kept_reach_;
  std::atomic<uint64_t> moved_ = 0;
};

}  // namespace

CellCenterRow CellMemory::center_row(int which, int row, const SlicGrid& grid) const {
  const size_t stride = cell_stride(grid.columns);
  const size_t at = static_cast<size_t>(row + 1) * stride + kCellMargin;
  CellCenterRow result = {};
  for (size_t p = 0; p < CellCenterRow::kParts; ++p) {
    result.part[p] = centers[which] +
                     (static_cast<size_t>(row + 1) * CellCenterRow::kParts + p) * stride +
                     kCellMargin;
  }
  result.base = bases[which] + at;
  return result;
}

size_t CellMemory::color_bytes(Size size) {
  const auto most = [](int side, int slack) {
    return static_cast<size_t>(side) + static_cast<size_t>(slack);
  };
  return 3 * most(size.width, (kCellBatch + 1) * kMaxSmallCell) * most(size.height, kMaxSmallCell);
}

CellSumRow CellMemory::sum_row(int strip, int which, const SlicGrid& grid) const {
  const size_t stride = cell_stride(grid.columns);
  CellSumRow result = {};
  for (size_t p = 0; p < CellSumRow::kParts; ++p) {
    const size_t row = static_cast<size_t>(strip) * kStripRows + static_cast<size_t>(which);
    result.part[p] = sums + (row * CellSumRow::kParts + p) * stride + kCellMargin;
  }
  return result;
}

uint64_t iterate_cells(const CellInput& before, const Workers& workers, ClusterSums* kept,
                       uint32_t* kept_reach) {
  return Iteration(before, workers, kept, kept_reach).run(workers);
}

void surround_centers(const CellMemory& memory, const SlicGrid& grid) {
  const size_t stride = cell_stride(grid.columns);
  for (int row = -1; row <= grid.rows; ++row) {
    const int cells = row >= 0 && row < grid.rows ? grid.columns : 0;
    for (int which = 0; which < 2; ++which) {
      int32_t* const base = memory.center_row(which, row, grid).base;
      std::fill(base - kCellMargin, base, CellCenterRow::kLost);
      std::fill(base + cells, base - kCellMargin + stride, CellCenterRow::kLost);
    }
  }
}

void prepare_cells(const CellMemory& memory, const ColorPlanes& colors, const SlicGrid& grid,
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
