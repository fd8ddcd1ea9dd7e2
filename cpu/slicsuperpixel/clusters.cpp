// Clusters of one frame on the CPU: seeds, then iterations.
#include "cpu/slicsuperpixel/clusters.hpp"

#include <algorithm>
#include <atomic>

namespace regions {

// The three rows of sums that the cells of row `row` fill, each with one entry before and after.
ClusterSums* ClusterWork::sums_row(int row, int which) const {
  const auto stride = static_cast<size_t>(grid.columns) + 2;
  return slot.sums + (static_cast<size_t>(row) * 3 + static_cast<size_t>(which)) * stride + 1;
}

// Where clusters begin; `kept` holds those of the last frame if they stay, and gets the sums.
void ClusterWork::seed(bool stays, ClusterSums* kept) const {
  const auto color_at = [&](int x, int y) { return slot.colors.at(x, y); };
  workers.parallel_for(grid.rows, [&](int row) {
    for (int column = 0; column < grid.columns; ++column) {
      const size_t at = grid.index(column, row);
      Center& center = slot.centers[0][at];
      if (stays) {
        center = center_of(kept[at], grid, scale);
        if (may_stay(center, grid)) continue;
      }
      const ClusterSums sums = seed_of(column, row, grid, scale, color_at);
      center = center_of(sums, grid, scale);
      if (kept) kept[at] = sums;
    }
  });
}

// Whether this frame can begin where the last one ended.
bool ClusterWork::stays(const ClusterSums* kept) const {
  std::atomic<uint32_t> unfit = 0;
  workers.parallel_for(grid.rows, [&](int row) {
    uint32_t here = 0;
    for (int column = 0; column < grid.columns; ++column) {
      const ClusterSums& sums = kept[grid.index(column, row)];
      here +=
          !may_stay(center_of(sums, grid, scale), grid) ||
          has_changed(sums, column, row, grid, [&](int x, int y) { return slot.colors.at(x, y); });
    }
    unfit += here;
  });
  return !is_cut(unfit, grid);
}

// Centres from sums; returns how far they moved, in sixteenths of a pixel.
uint64_t ClusterWork::average(const Center* before, Center* after, ClusterSums* kept) const {
  std::atomic<uint64_t> moved = 0;
  workers.parallel_for(grid.rows, [&](int row) {
    uint64_t moved_here = 0;
    for (int column = 0; column < grid.columns; ++column) {
      ClusterSums sums;
      for (int dy = -1; dy <= 1; ++dy) {
        if (row + dy < 0 || row + dy >= grid.rows) continue;
        sums.add(sums_row(row + dy, 1 - dy)[column]);
      }
      const size_t at = grid.index(column, row);
      if (kept) kept[at] = sums;
      after[at] = center_of(sums, grid, scale);
      moved_here += static_cast<uint64_t>(movement(before[at], after[at]));
    }
    moved += moved_here;
  });
  return moved;
}

const Center* ClusterWork::find(const SlicParams& params, ClusterSums* kept, bool same) const {
  seed(same && stays(kept), kept);
  AssignInput input{slot.colors, grid, scale, slot.centers[0]};
  const uint64_t limit = movement_limit(grid, params);
  for (int i = 0; i < params.iterations; ++i) {
    const RowChoice choice = rows_of(grid, params, i);
    workers.parallel_for(grid.rows, [&](int row) {
      ClusterSums* sums[3];
      for (int k = 0; k < 3; ++k) {
        sums[k] = sums_row(row, k);
        std::fill_n(sums[k] - 1, grid.columns + 2, ClusterSums{});
      }
      sum_clusters(input, row, choice, sums);
    });
    Center* after = slot.centers[(i + 1) % 2];
    const uint64_t moved = average(input.centers, after, kept);
    input.centers = after;
    if (params.tolerance > 0 && moved <= limit) break;
  }
  return input.centers;
}

}  // namespace regions
