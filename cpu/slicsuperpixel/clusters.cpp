// Clusters of one frame on the CPU: seeds, then iterations.
#include "cpu/slicsuperpixel/clusters.hpp"

#include <algorithm>
#include <atomic>

#include "core/slicsuperpixel/seeds.hpp"

namespace regions {

// The three rows of sums that the pixels of a phase in cells of row `row` fill, each with one entry
// before and after.
PackedSums* ClusterWork::sums_row(int row, int which, int phase) const {
  const auto stride = static_cast<size_t>(grid.columns) + 2;
  const int of_phase = phase * grid.rows + row;
  return slot.sums + (static_cast<size_t>(of_phase) * 3 + static_cast<size_t>(which)) * stride + 1;
}

// Likewise the three rows of reaches.
uint32_t* ClusterWork::reach_row(int row, int which, int phase) const {
  return slot.reach + (sums_row(row, which, phase) - slot.sums);
}

// Where clusters begin; `kept` holds those of the last frame if they stay, and gets the sums.
void ClusterWork::seed(bool stays, const KeptClusters& kept) const {
  const auto color_at = [&](int x, int y) { return slot.colors.at(x, y); };
  workers.parallel_for(grid.rows, [&](int row) {
    ClusterSums sums[kCellBatch];
    uint32_t reach[kCellBatch];
    for (int begin = 0; begin < grid.columns; begin += kCellBatch) {
      const int count = std::min(kCellBatch, grid.columns - begin);
      const size_t at = grid.index(begin, row);
      for (int i = 0; i < count; ++i) {
        const size_t index = at + static_cast<size_t>(i);
        if (stays && may_stay(center_of(kept.sums[index], grid, scale), grid)) {
          sums[i] = kept.sums[index];
          reach[i] = kept.reach[index];
        } else {
          sums[i] = seed_of(begin + i, row, grid, scale, color_at);
          reach[i] = first_reach(scale);
        }
      }
      put_centers(cells_of(0), begin, row, {sums, static_cast<size_t>(count)}, reach);
      if (!kept.sums) continue;
      std::copy_n(sums, count, kept.sums + at);
      std::copy_n(reach, count, kept.reach + at);
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

// Adds up what the rows of cells above, at and below a row of clusters gave it in a phase.
void ClusterWork::gather(int row, int phase, const CellSumRow& to) const {
  for (int column = 0; column < grid.columns; ++column) {
    ClusterSums sums;
    uint32_t reach = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      if (row + dy < 0 || row + dy >= grid.rows) continue;
      sums.add(sums_row(row + dy, 1 - dy, phase)[column].unpacked());
      if (adapts()) reach = std::max(reach, reach_row(row + dy, 1 - dy, phase)[column]);
    }
    const uint32_t part[] = {sums.color[0], sums.color[1], sums.color[2], sums.x,
                             sums.y,        sums.count,    reach};
    for (int p = 0; p < CellSumRow::kParts; ++p) to.part[p][column] = part[p];
  }
}

// Centres from sums, into the other set; returns how far they moved, in sixteenths of a pixel.
uint64_t ClusterWork::average(int before, int phase, const KeptClusters& kept) const {
  std::atomic<uint64_t> moved = 0;
  const int shares = std::min(grid.rows, PieceStrip::kMax);
  workers.parallel_for(shares, [&](int share) {
    const CellSumRow sums = slot.cells.sum_row(share, 0, grid);
    uint64_t moved_here = 0;
    for (int row = grid.rows * share / shares; row < grid.rows * (share + 1) / shares; ++row) {
      gather(row, phase, sums);
      const size_t at = grid.index(0, row);
      moved_here += average_cells(cells_of(before), row, sums, kept.sums ? kept.sums + at : nullptr,
                                  kept.sums ? kept.reach + at : nullptr);
    }
    moved += moved_here;
  });
  return moved;
}

// `begins`: the pixels of the phase have no places yet, else most are in the same as then.
void ClusterWork::assign(const AssignInput& input, RowChoice choice, bool begins) const {
  workers.parallel_for(grid.rows, [&](int row) {
    RowSums to = {};
    for (int k = 0; k < 3; ++k) {
      to.sums[k] = sums_row(row, k, choice.phase);
      if (!begins) continue;
      std::fill_n(to.sums[k] - 1, grid.columns + 2, PackedSums{});
      if (!adapts()) continue;
      to.reach[k] = reach_row(row, k, choice.phase);
      std::fill_n(to.reach[k] - 1, grid.columns + 2, 0u);
    }
    if (begins) return sum_clusters(input, row, choice, slot.codes, to);
    move_pixels(input, row, choice, slot.codes, to);
  });
}

// From set `before` of centres to the other.
uint64_t ClusterWork::iterate(int before, int iteration, RowChoice choice,
                              const KeptClusters& kept) const {
  if (by_cells()) return iterate_cells(cells_of(before), workers, kept.sums, kept.reach);
  assign({slot.colors, cells_of(before)}, choice, adapts() || iteration < choice.step);
  return average(before, choice.phase, kept);
}

int ClusterWork::find(const SlicParams& params, const KeptClusters& kept, bool same) const {
  surround_centers(slot.cells, grid);
  if (by_cells()) prepare_cells(slot.cells, slot.colors, grid, workers);
  seed(same && stays(kept.sums), kept);
  const uint64_t limit = movement_limit(grid, params);
  int which = 0;
  for (int i = 0; i < params.iterations; ++i) {
    const bool may_be_last = params.tolerance > 0 || i + 1 == params.iterations;
    const uint64_t moved =
        iterate(which, i, rows_of(grid, params, i), may_be_last ? kept : KeptClusters{});
    which = 1 - which;
    if (params.tolerance > 0 && moved <= limit) break;
  }
  return which;
}

void ClusterWork::write_codes(int which) const {
  workers.parallel_for(grid.rows, [&](int row) {
    if (by_cells()) return write_cell_codes(cells_of(which), row, slot.codes);
    regions::write_codes({slot.colors, cells_of(which)}, row, slot.codes);
  });
}

}  // namespace regions
