// A row of clusters gets pixels from three rows of cells. So a strip of rows is averaged while it
// is assigned, one row behind; the clusters at its ends when both strips there are done.
#include "cpu/slicsuperpixel/cells.hpp"

#include <algorithm>
#include <atomic>

#include "cpu/slicsuperpixel/lanes.hpp"
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
    return workers.threads() == 1 ? 1
                                  : std::min(4 * workers.threads(), SuperpixelSlot::kMostStrips);
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

// Centres of clusters side by side as they are stored, made by the parts of center_of(): as a whole
// it has branches, of which g++ makes no vectors.
template <int kLanes>
struct Centers {
  using Numbers = typename Vectors<kLanes>::Numbers;
  int part[CellCenterRow::kParts][kLanes];
  int base[kLanes];

  // `sum` is [parts of CellSumRow][kLanes].
  REGIONS_INLINE Centers(const uint32_t (*sum)[kLanes], const SlicGrid& grid,
                         const SlicScale& scale) {
    uint32_t count[kLanes];
    // Choices by vectors: of loops with them g++ makes branches.
    const Numbers counted = load(sum[5]), divisor = counted == 0 ? Numbers{} + 1 : counted;
    std::memcpy(count, &divisor, sizeof count);
    for (int i = 0; i < kLanes; ++i) {
      part[3][i] = offset_of(mean_of(sum[3][i], count[i]), grid.width);
      part[4][i] = offset_of(mean_of(sum[4][i], count[i]), grid.height);
    }
    if (scale.adaptive > 0) {
      for (int i = 0; i < kLanes; ++i) {
        const ClusterSums sums = {{sum[0][i], sum[1][i], sum[2][i]}, 0, 0, count[i]};
        const ClusterColor color = color_of(sums, sum[6][i]);
        for (int c = 0; c < 3; ++c) part[c][i] = color.mean[c];
        base[i] = static_cast<int>(color.reach);
      }
    } else {
      for (int c = 0; c < 3; ++c) {
        for (int i = 0; i < kLanes; ++i) {
          part[c][i] = coefficient_of(mean_of(sum[c][i], count[i]), scale.gain[c]);
        }
      }
      for (int i = 0; i < kLanes; ++i) {
        base[i] = 0;
        for (int c = 0; c < 3; ++c) base[i] += color_share(part[c][i], scale.square[c]);
      }
    }
    const Numbers chosen = counted == 0 ? Numbers{} + CellCenterRow::kLost : load(base);
    std::memcpy(base, &chosen, sizeof base);
  }
  REGIONS_INLINE void put(const CellCenterRow& to, int column) const {
    for (int p = 0; p < CellCenterRow::kParts; ++p) {
      int16_t narrow[kLanes];
      for (int i = 0; i < kLanes; ++i) narrow[i] = static_cast<int16_t>(part[p][i]);
      std::memcpy(to.part[p] + column, narrow, sizeof narrow);
    }
    std::memcpy(to.base + column, base, sizeof base);
  }
  REGIONS_INLINE static Numbers load(const void* from) {
    Numbers numbers;
    std::memcpy(&numbers, from, sizeof numbers);
    return numbers;
  }
};

template <int kLanes>
REGIONS_INLINE uint64_t average_by(const CellInput& before, int row, const CellSumRow& sums) {
  const SlicGrid grid = before.grid;
  const SlicScale scale = before.scale;
  const CellCenterRow from = before.memory.center_row(before.which, row, grid);
  const CellCenterRow to = before.memory.center_row(1 - before.which, row, grid);
  std::fill_n(sums.part[5] + grid.columns, kLanes, 0u);  // no clusters there
  uint64_t moved = 0;
  for (int column = 0; column < grid.columns; column += kLanes) {
    uint32_t sum[CellSumRow::kParts][kLanes];
    for (int p = 0; p < CellSumRow::kParts; ++p) {
      std::memcpy(sum[p], sums.part[p] + column, sizeof sum[p]);
    }
    const Centers<kLanes> centers(sum, grid, scale);
    int old[2][kLanes], way[kLanes];
    for (int p = 0; p < 2; ++p) {
      for (int i = 0; i < kLanes; ++i) old[p][i] = from.part[3 + p][column + i];
    }
    for (int i = 0; i < kLanes; ++i) {
      const Center a = {{}, 0, old[0][i], old[1][i], true};
      const Center b = {{}, 0, centers.part[3][i], centers.part[4][i], true};
      way[i] = movement(a, b);
    }
    const auto load = Centers<kLanes>::load;
    const auto alive = (load(from.base + column) != CellCenterRow::kLost) &
                       (load(centers.base) != CellCenterRow::kLost);
    moved += Vectors<kLanes>::sum_of(load(way) & alive);
    centers.put(to, column);
  }
  return moved;
}
REGIONS_BY_16 uint64_t average_by_16(const CellInput& in, int row, const CellSumRow& sums) {
  return average_by<16>(in, row, sums);
}
REGIONS_BY_8 uint64_t average_by_8(const CellInput& in, int row, const CellSumRow& sums) {
  return average_by<8>(in, row, sums);
}
uint64_t average_by_4(const CellInput& in, int row, const CellSumRow& sums) {
  return average_by<4>(in, row, sums);
}

using BatchSums = uint32_t[CellSumRow::kParts][kCellBatch];
template <int kLanes>
REGIONS_INLINE void put_by(const CellCenterRow& to, int column, const BatchSums& sums,
                           const SlicGrid& grid, const SlicScale& scale) {
  for (int begin = 0; begin < kCellBatch; begin += kLanes) {
    uint32_t sum[CellSumRow::kParts][kLanes];
    for (int p = 0; p < CellSumRow::kParts; ++p) {
      std::memcpy(sum[p], sums[p] + begin, sizeof sum[p]);
    }
    Centers<kLanes>(sum, grid, scale).put(to, column + begin);
  }
}
REGIONS_BY_16 void put_by_16(const CellCenterRow& to, int column, const BatchSums& sums,
                             const SlicGrid& grid, const SlicScale& scale) {
  put_by<16>(to, column, sums, grid, scale);
}
REGIONS_BY_8 void put_by_8(const CellCenterRow& to, int column, const BatchSums& sums,
                           const SlicGrid& grid, const SlicScale& scale) {
  put_by<8>(to, column, sums, grid, scale);
}
void put_by_4(const CellCenterRow& to, int column, const BatchSums& sums, const SlicGrid& grid,
              const SlicScale& scale) {
  put_by<4>(to, column, sums, grid, scale);
}

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
  const auto most = [](int side, int slack) { return static_cast<size_t>(side + slack); };
  return 3 * most(size.width, (kCellBatch + 1) * kMostSmallCell) *
         most(size.height, kMostSmallCell);
}

CellSumRow CellMemory::sum_row(int strip, int which, const SlicGrid& grid) const {
  const size_t stride = cell_stride(grid.columns);
  CellSumRow result = {};
  for (size_t p = 0; p < CellSumRow::kParts; ++p) {
    const auto row = static_cast<size_t>(strip * kStripRows + which);
    result.part[p] = sums + (row * CellSumRow::kParts + p) * stride + kCellMargin;
  }
  return result;
}

uint64_t average_cells(const CellInput& before, int row, const CellSumRow& sums, ClusterSums* kept,
                       uint32_t* kept_reach) {
  static const auto run = for_machine(average_by_16, average_by_8, average_by_4);
  for (int c = 0; kept && c < before.grid.columns; ++c) {
    const auto part = [&](int p) { return sums.part[p][c]; };
    kept[c] = {{part(0), part(1), part(2)}, part(3), part(4), part(5)};
    kept_reach[c] = part(6);
  }
  return run(before, row, sums);
}

uint64_t iterate_cells(const CellInput& before, const Workers& workers, ClusterSums* kept,
                       uint32_t* kept_reach) {
  return Iteration(before, workers, kept, kept_reach).run(workers);
}

void prepare_cells(const CellMemory& memory, const ColorPlanes& colors, const SlicGrid& grid,
                   const Workers& workers) {
  const size_t stride = cell_stride(grid.columns);
  workers.parallel_for(grid.rows + 2, [&](int i) {
    const int row = i - 1;
    const bool inside = row >= 0 && row < grid.rows;
    for (int which = 0; which < 2; ++which) {
      int32_t* const base = memory.center_row(which, row, grid).base;
      const int cells = inside ? grid.columns : 0;
      std::fill(base - kCellMargin, base, CellCenterRow::kLost);
      std::fill(base + cells, base - kCellMargin + stride, CellCenterRow::kLost);
    }
    if (!inside) return;
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

void put_centers(const CellInput& input, int column, int row, std::span<const ClusterSums> sums,
                 const uint32_t* reach) {
  static const auto run = for_machine(put_by_16, put_by_8, put_by_4);
  uint32_t sum[CellSumRow::kParts][kCellBatch] = {};
  for (size_t i = 0; i < sums.size(); ++i) {
    for (int c = 0; c < 3; ++c) sum[c][i] = sums[i].color[c];
    sum[3][i] = sums[i].x;
    sum[4][i] = sums[i].y;
    sum[5][i] = sums[i].count;
    sum[6][i] = reach[i];
  }
  run(input.memory.center_row(input.which, row, input.grid), column, sum, input.grid, input.scale);
}

}  // namespace regions
