// Centres of small cells from sums, a cell a lane.
#include <algorithm>

#include "cpu/slicsuperpixel/cells.hpp"
#include "cpu/slicsuperpixel/lanes.hpp"

namespace regions {
namespace {

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
  for (uint32_t* part : sums.part) {
    std::fill_n(part + grid.columns, kLanes, 0u);  // no clusters there
  }
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
