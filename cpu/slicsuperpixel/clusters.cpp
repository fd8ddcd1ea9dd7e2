// Clusters of one frame on the CPU: seeds, then iterations.
#include "cpu/slicsuperpixel/clusters.hpp"

#include <algorithm>
#include <atomic>

#include "core/slic_seeds.hpp"

namespace regions {

// The three rows of sums that the cells of row `row` fill, each with one entry before and after.
ClusterSums* ClusterWork::sums_row(int row, int which) const {
  const auto stride = static_cast<size_t>(grid.columns) + 2;
  return slot.sums + (static_cast<size_t>(row) * 3 + static_cast<size_t>(which)) * stride + 1;
}

// The same of reaches.
uint32_t* ClusterWork::reach_row(int row, int which) const {
  return slot.reach + (sums_row(row, which) - slot.sums);
}

// Where clusters begin; `kept` holds those of the last frame if they stay, and gets the sums.
void ClusterWork::seed(bool stays, const KeptClusters& kept) const {
  const auto color_at = [&](int x, int y) { return slot.colors.at(x, y); };
  workers.parallel_for(grid.rows, [&](int row) {
    for (int column = 0; column < grid.columns; ++column) {
      const size_t at = grid.index(column, row);
      Center& center = slot.centers[0][at];
      if (stays) {
        center = center_of(kept.sums[at], grid, scale);
        if (may_stay(center, grid)) {
          if (adapts()) slot.cluster_colors[0][at] = color_of(kept.sums[at], kept.reach[at]);
          continue;
        }
      }
      const ClusterSums sums = seed_of(column, row, grid, scale, color_at);
      center = center_of(sums, grid, scale);
      if (adapts()) slot.cluster_colors[0][at] = color_of(sums, first_reach(scale));
      if (!kept.sums) continue;
      kept.sums[at] = sums;
      kept.reach[at] = first_reach(scale);
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
uint64_t ClusterWork::average(const Center* before, int after, const KeptClusters& kept) const {
  std::atomic<uint64_t> moved = 0;
  workers.parallel_for(grid.rows, [&](int row) {
    uint64_t moved_here = 0;
    for (int column = 0; column < grid.columns; ++column) {
      ClusterSums sums;
      uint32_t reach = 0;
      for (int dy = -1; dy <= 1; ++dy) {
        if (row + dy < 0 || row + dy >= grid.rows) continue;
        sums.add(sums_row(row + dy, 1 - dy)[column]);
        if (adapts()) reach = std::max(reach, reach_row(row + dy, 1 - dy)[column]);
      }
      const size_t at = grid.index(column, row);
      if (kept.sums) {
        kept.sums[at] = sums;
        kept.reach[at] = reach;
      }
      Center& center = slot.centers[after][at];
      center = center_of(sums, grid, scale);
      if (adapts()) slot.cluster_colors[after][at] = color_of(sums, reach);
      moved_here += static_cast<uint64_t>(movement(before[at], center));
    }
    moved += moved_here;
  });
  return moved;
}

void ClusterWork::iterate(const AssignInput& input, RowChoice choice) const {
  workers.parallel_for(grid.rows, [&](int row) {
    RowSums to = {};
    for (int k = 0; k < 3; ++k) {
      to.sums[k] = sums_row(row, k);
      std::fill_n(to.sums[k] - 1, grid.columns + 2, ClusterSums{});
      if (!adapts()) continue;
      to.reach[k] = reach_row(row, k);
      std::fill_n(to.reach[k] - 1, grid.columns + 2, 0u);
    }
    sum_clusters(input, row, choice, to);
  });
}

FoundClusters ClusterWork::find(const SlicParams& params, const KeptClusters& kept,
                                bool same) const {
  seed(same && stays(kept.sums), kept);
  const auto input_of = [&](int which) {
    const ClusterColor* colors_of = adapts() ? slot.cluster_colors[which] : nullptr;
    return AssignInput{slot.colors, grid, scale, slot.centers[which], colors_of};
  };
  AssignInput input = input_of(0);
  const uint64_t limit = movement_limit(grid, params);
  for (int i = 0; i < params.iterations; ++i) {
    iterate(input, rows_of(grid, params, i));
    const int after = (i + 1) % 2;
    const uint64_t moved = average(input.centers, after, kept);
    input = AssignInput(input_of(after));
    if (params.tolerance > 0 && moved <= limit) break;
  }
  return {input.centers, input.colors_of};
}

}  // namespace regions
