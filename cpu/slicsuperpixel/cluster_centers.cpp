// The update step of SLIC on the CPU: computes the cluster centres from the clusters' sums. Each
// lane of a vector handles one cluster.
#include <algorithm>
#include <cstring>

#include "cpu/slicsuperpixel/pixel_vectors.hpp"
#include "cpu/slicsuperpixel/superpixel_clusters.hpp"

namespace regions {
namespace {

// The centres of kLanes clusters, arranged as in CellCenterRow. The constructor calls the functions
// that center_of() consists of, because g++ does not vectorise center_of() with its branches.
template <int kLanes>
struct Centers {
  using Ints = typename Vectors<kLanes>::Ints;
  int part[CellCenterRow::kParts][kLanes];
  int base[kLanes];

  // `sum` has the shape [CellSumRow::kParts][kLanes].
  REGIONS_INLINE Centers(const uint32_t (*sum)[kLanes], const SlicGrid& grid,
                         const SlicScale& scale) {
    uint32_t count[kLanes];
    // Replaces counts of 0 by 1, so that no division by 0 occurs. Uses a vector operation, because
    // g++ would compile a loop with a condition to branches.
    const Ints pixel_counts = load(sum[5]), divisor = pixel_counts == 0 ? Ints{} + 1 : pixel_counts;
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
        base[i] = static_cast<int>(color.max_distance);
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
    const Ints chosen = pixel_counts == 0 ? Ints{} + CellCenterRow::kEmpty : load(base);
    std::memcpy(base, &chosen, sizeof base);
  }
  REGIONS_INLINE void store(const CellCenterRow& to, int column) const {
    for (int p = 0; p < CellCenterRow::kParts; ++p) {
      int16_t narrow[kLanes];
      for (int i = 0; i < kLanes; ++i) narrow[i] = static_cast<int16_t>(part[p][i]);
      std::memcpy(to.part[p] + column, narrow, sizeof narrow);
    }
    std::memcpy(to.base + column, base, sizeof base);
  }
  REGIONS_INLINE static Ints load(const void* from) {
    Ints numbers;
    std::memcpy(&numbers, from, sizeof numbers);
    return numbers;
  }
};

// Computes the centres of a row of clusters and returns the sum of their movements in sixteenths of
// a pixel.
template <int kLanes>
REGIONS_INLINE uint64_t update_centers_in(const CellInput& input, int row, const CellSumRow& sums) {
  const SlicGrid grid = input.grid;
  const SlicScale scale = input.scale;
  const CellCenterRow from = input.memory.center_row(input.center_set, row, grid);
  const CellCenterRow to = input.memory.center_row(1 - input.center_set, row, grid);
  for (uint32_t* part : sums.part) {
    std::fill_n(part + grid.columns, kLanes, 0u);  // vectors also read cells after the last column
  }
  uint64_t total_movement = 0;
  for (int column = 0; column < grid.columns; column += kLanes) {
    uint32_t sum[CellSumRow::kParts][kLanes];
    for (int p = 0; p < CellSumRow::kParts; ++p) {
      std::memcpy(sum[p], sums.part[p] + column, sizeof sum[p]);
    }
    const Centers<kLanes> centers(sum, grid, scale);
    int old[2][kLanes], distance[kLanes];
    for (int p = 0; p < 2; ++p) {
      for (int i = 0; i < kLanes; ++i) old[p][i] = from.part[3 + p][column + i];
    }
    for (int i = 0; i < kLanes; ++i) {
      const Center a = {{}, 0, old[0][i], old[1][i], true};
      const Center b = {{}, 0, centers.part[3][i], centers.part[4][i], true};
      distance[i] = movement(a, b);
    }
    const auto load = Centers<kLanes>::load;
    const auto alive = (load(from.base + column) != CellCenterRow::kEmpty) &
                       (load(centers.base) != CellCenterRow::kEmpty);
    total_movement += Vectors<kLanes>::sum_lanes(load(distance) & alive);
    centers.store(to, column);
  }
  return total_movement;
}
REGIONS_16_LANES uint64_t update_centers_16(const CellInput& input, int row,
                                            const CellSumRow& sums) {
  return update_centers_in<16>(input, row, sums);
}
REGIONS_8_LANES uint64_t update_centers_8(const CellInput& input, int row, const CellSumRow& sums) {
  return update_centers_in<8>(input, row, sums);
}
uint64_t update_centers_4(const CellInput& input, int row, const CellSumRow& sums) {
  return update_centers_in<4>(input, row, sums);
}

// The sums of a batch of kCellBatch consecutive cells.
using BatchSums = uint32_t[CellSumRow::kParts][kCellBatch];
template <int kLanes>
REGIONS_INLINE void store_centers_in(const CellCenterRow& to, int column, const BatchSums& sums,
                                     const SlicGrid& grid, const SlicScale& scale) {
  for (int begin = 0; begin < kCellBatch; begin += kLanes) {
    uint32_t sum[CellSumRow::kParts][kLanes];
    for (int p = 0; p < CellSumRow::kParts; ++p) {
      std::memcpy(sum[p], sums[p] + begin, sizeof sum[p]);
    }
    Centers<kLanes>(sum, grid, scale).store(to, column + begin);
  }
}
REGIONS_16_LANES void store_centers_16(const CellCenterRow& to, int column, const BatchSums& sums,
                                       const SlicGrid& grid, const SlicScale& scale) {
  store_centers_in<16>(to, column, sums, grid, scale);
}
REGIONS_8_LANES void store_centers_8(const CellCenterRow& to, int column, const BatchSums& sums,
                                     const SlicGrid& grid, const SlicScale& scale) {
  store_centers_in<8>(to, column, sums, grid, scale);
}
void store_centers_4(const CellCenterRow& to, int column, const BatchSums& sums,
                     const SlicGrid& grid, const SlicScale& scale) {
  store_centers_in<4>(to, column, sums, grid, scale);
}

}  // namespace

uint64_t update_centers(const CellInput& input, int row, const CellSumRow& sums,
                        ClusterSums* saved_sums, uint32_t* saved_max_distance) {
  static const auto selected_version =
      select_for_cpu(update_centers_16, update_centers_8, update_centers_4);
  for (int c = 0; saved_sums && c < input.grid.columns; ++c) {
    const auto part = [&](int p) { return sums.part[p][c]; };
    saved_sums[c] = {{part(0), part(1), part(2)}, part(3), part(4), part(5)};
    saved_max_distance[c] = part(6);
  }
  return selected_version(input, row, sums);
}

void store_centers(const CellInput& input, int column, int row, std::span<const ClusterSums> sums,
                   const uint32_t* max_distance) {
  static const auto selected_version =
      select_for_cpu(store_centers_16, store_centers_8, store_centers_4);
  uint32_t sum[CellSumRow::kParts][kCellBatch] = {};
  for (size_t i = 0; i < sums.size(); ++i) {
    for (int c = 0; c < 3; ++c) sum[c][i] = sums[i].color[c];
    sum[3][i] = sums[i].x;
    sum[4][i] = sums[i].y;
    sum[5][i] = sums[i].count;
    sum[6][i] = max_distance[i];
  }
  selected_version(input.memory.center_row(input.center_set, row, input.grid), column, sum,
                   input.grid, input.scale);
}

}  // namespace regions
