// Computes the clusters of one frame on the CPU: places the seeds, then runs iterations of
// assignment and update.
#include "cpu/slicsuperpixel/superpixel_clusters.hpp"

#include <algorithm>
#include <atomic>

#include "core/slicsuperpixel/clusters.hpp"
#include "cpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

// Returns one of the three rows of sums to which the pixels of cell row `row` are added. `target`
// selects the clusters of the row above (0), of the same row (1) or of the row below (2). `phase`
// is RowSubset::phase. The row of sums has one additional entry at each end.
PackedSums* Clustering::sums_row(int row, int target, int phase) const {
  const auto stride = static_cast<size_t>(grid.columns) + 2;
  const int row_of_phase = phase * grid.rows + row;
  return buffers.sums +
         (static_cast<size_t>(row_of_phase) * 3 + static_cast<size_t>(target)) * stride + 1;
}

// Returns the largest colour distances of the clusters whose sums sums_row() returns.
uint32_t* Clustering::max_distance_row(int row, int target, int phase) const {
  return buffers.max_distance + (sums_row(row, target, phase) - buffers.sums);
}

// Initialises the centres and `saved`. If `can_continue` is true, `saved` contains the clusters of
// the previous frame, and each cluster that can_warm_start() starts from its previous centre.
void Clustering::seed(bool can_continue, const SavedClusters& saved) const {
  const auto color_at = [&](int x, int y) { return buffers.colors.at(x, y); };
  workers.parallel_for(grid.rows, [&](int row) {
    ClusterSums sums[kCellBatch];
    uint32_t max_distance[kCellBatch];
    for (int begin = 0; begin < grid.columns; begin += kCellBatch) {
      const int count = std::min(kCellBatch, grid.columns - begin);
      const size_t first_cell = grid.index(begin, row);
      for (int i = 0; i < count; ++i) {
        const size_t index = first_cell + static_cast<size_t>(i);
        if (can_continue && can_warm_start(center_of(saved.sums[index], grid, scale), grid)) {
          sums[i] = saved.sums[index];
          max_distance[i] = saved.max_distance[index];
        } else {
          sums[i] = seed_of(begin + i, row, grid, scale, color_at);
          max_distance[i] = scale.initial_max_distance;
        }
      }
      store_centers(cells_of(0), begin, row, {sums, static_cast<size_t>(count)}, max_distance);
      if (!saved.sums) continue;
      std::copy_n(sums, count, saved.sums + first_cell);
      std::copy_n(max_distance, count, saved.max_distance + first_cell);
    }
  });
}

// Returns true if this frame can start from `saved`, the clusters of the previous frame: there must
// be no scene cut between the two frames.
bool Clustering::can_continue(const ClusterSums* saved) const {
  std::atomic<uint32_t> rejected = 0;
  workers.parallel_for(grid.rows, [&](int row) {
    uint32_t row_count = 0;
    for (int column = 0; column < grid.columns; ++column) {
      const ClusterSums& sums = saved[grid.index(column, row)];
      row_count += !can_warm_start(center_of(sums, grid, scale), grid) ||
                   has_changed(sums, column, row, grid,
                               [&](int x, int y) { return buffers.colors.at(x, y); });
    }
    rejected += row_count;
  });
  return !is_scene_cut(rejected, grid);
}

// Adds up the sums that three rows of cells contribute to a row of clusters: the row above, the
// same row and the row below. `phase` is RowSubset::phase.
void Clustering::gather_sums(int row, int phase, const CellSumRow& to) const {
  for (int column = 0; column < grid.columns; ++column) {
    ClusterSums sums;
    uint32_t max_distance = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      if (row + dy < 0 || row + dy >= grid.rows) continue;
      sums.add(sums_row(row + dy, 1 - dy, phase)[column].unpacked());
      if (is_slico()) {
        max_distance = std::max(max_distance, max_distance_row(row + dy, 1 - dy, phase)[column]);
      }
    }
    const uint32_t part[] = {sums.color[0], sums.color[1], sums.color[2], sums.x,
                             sums.y,        sums.count,    max_distance};
    for (int p = 0; p < CellSumRow::kParts; ++p) to.part[p][column] = part[p];
  }
}

// Computes all centres from the sums and writes them to set 1 - center_set. Returns the sum of the
// centres' movements in sixteenths of a pixel.
uint64_t Clustering::update_all_centers(int center_set, int phase,
                                        const SavedClusters& saved) const {
  std::atomic<uint64_t> total_movement = 0;
  const int bands = std::min(grid.rows, FragmentBand::kMaxBands);
  workers.parallel_for(bands, [&](int band) {
    const CellSumRow sums = buffers.cells.sum_row(band, 0, grid);
    uint64_t band_movement = 0;
    for (int row = grid.rows * band / bands; row < grid.rows * (band + 1) / bands; ++row) {
      gather_sums(row, phase, sums);
      const size_t first_cell = grid.index(0, row);
      band_movement += update_centers(cells_of(center_set), row, sums,
                                      saved.sums ? saved.sums + first_cell : nullptr,
                                      saved.sums ? saved.max_distance + first_cell : nullptr);
    }
    total_movement += band_movement;
  });
  return total_movement;
}

// Assigns the pixels of the rows in `row_subset`. `is_first` is true if these pixels have not been
// assigned in this frame. In later passes most pixels choose the same candidate again, so only the
// changes are added to the sums.
void Clustering::assign(const AssignInput& input, RowSubset row_subset, bool is_first) const {
  workers.parallel_for(grid.rows, [&](int row) {
    RowSums to = {};
    for (int k = 0; k < 3; ++k) {
      to.sums[k] = sums_row(row, k, row_subset.phase);
      if (!is_first) continue;
      std::fill_n(to.sums[k] - 1, grid.columns + 2, PackedSums{});
      if (!is_slico()) continue;
      to.max_distance[k] = max_distance_row(row, k, row_subset.phase);
      std::fill_n(to.max_distance[k] - 1, grid.columns + 2, 0u);
    }
    if (is_first) return assign_and_sum(input, row, row_subset, buffers.codes, to);
    reassign_pixels(input, row, row_subset, buffers.codes, to);
  });
}

// Runs one iteration. Reads the centres of set `center_set` and writes the new centres to set 1 -
// center_set. Returns the sum of the centres' movements in sixteenths of a pixel.
uint64_t Clustering::iterate(int center_set, int iteration, RowSubset row_subset,
                             const SavedClusters& saved) const {
  if (uses_small_cells()) {
    return iterate_cells(cells_of(center_set), workers, saved.sums, saved.max_distance);
  }
  assign({buffers.colors, cells_of(center_set)}, row_subset,
         is_slico() || iteration < row_subset.row_step);
  return update_all_centers(center_set, row_subset.phase, saved);
}

int Clustering::find_centers(const SlicParams& params, const SavedClusters& saved,
                             bool is_compatible) const {
  mark_border_empty(buffers.cells, grid);
  if (uses_small_cells()) gather_cell_colors(buffers.cells, buffers.colors, grid, workers);
  seed(is_compatible && can_continue(saved.sums), saved);
  const uint64_t limit = movement_tolerance(grid, params);
  int center_set = 0;
  for (int i = 0; i < params.iterations; ++i) {
    const bool may_be_last = params.tolerance > 0 || i + 1 == params.iterations;
    const uint64_t total_movement = iterate(center_set, i, rows_in_iteration(grid, params, i),
                                            may_be_last ? saved : SavedClusters{});
    center_set = 1 - center_set;
    if (params.tolerance > 0 && total_movement <= limit) break;
  }
  return center_set;
}

void Clustering::write_cluster_codes(int center_set) const {
  workers.parallel_for(grid.rows, [&](int row) {
    if (uses_small_cells()) return write_cell_codes(cells_of(center_set), row, buffers.codes);
    regions::write_cluster_codes({buffers.colors, cells_of(center_set)}, row, buffers.codes);
  });
}

}  // namespace regions
