// Allocates memory for a frame's results, and sorts runs by slice with a counting sort.
#include "core/region_records.hpp"

#include <algorithm>

namespace regions {

RegionRecords::RegionRecords(Backend& backend, uint32_t capacity, bool moments, bool borders,
                             uint32_t run_capacity, bool track_states)
    : capacity_(capacity),
      run_capacity_(run_capacity),
      records_(backend.allocate_pinned(capacity * sizeof(Region) + 4 * sizeof(uint32_t))) {
  if (moments) moments_ = backend.allocate_pinned(capacity * sizeof(Moments));
  if (borders) borders_ = backend.allocate_pinned(max_borders(capacity) * sizeof(Border));
  if (run_capacity > 0) runs_ = backend.allocate_pinned(run_capacity * sizeof(PixelRun));
  if (track_states) track_states_ = backend.allocate_pinned(capacity * sizeof(TrackState));
}

RegionTable RegionRecords::table() const {
  std::fill_n(counts(), 4, 0u);
  return {records(),
          capacity_,
          counts(),
          moments_.as<Moments>(),
          borders_.as<Border>(),
          borders_.data() ? counts() + 1 : nullptr,
          runs_.as<PixelRun>(),
          run_capacity_,
          runs_.data() ? counts() + 2 : nullptr,
          counts() + 3,
          track_states_.as<TrackState>()};
}

void SliceRuns::sort(std::span<const PixelRun> runs, const VolumeLayout& layout) {
  const auto position_of = [&](const PixelRun& run) {
    return layout.position(static_cast<int>(run.row));
  };
  // The number of runs of slice z is counted in begin_[z + 2]. After the prefix sum, begin_[z + 1]
  // is the start of slice z. While the runs are placed, begin_[z + 1] advances to the end of slice
  // z, which is the start of slice z + 1.
  begin_.assign(static_cast<size_t>(layout.slices) + 2, 0);
  for (const PixelRun& run : runs) ++begin_[static_cast<size_t>(position_of(run).z) + 2];
  for (size_t k = 2; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  sorted_.resize(runs.size());
  for (PixelRun run : runs) {
    const VolumeLayout::Position position = position_of(run);
    run.row = static_cast<uint32_t>(position.y);
    sorted_[begin_[static_cast<size_t>(position.z) + 1]++] = run;
  }
}

std::span<const PixelRun> SliceRuns::of(int z) const {
  const size_t first = begin_[static_cast<size_t>(z)], end = begin_[static_cast<size_t>(z) + 1];
  return {sorted_.data() + first, end - first};
}

}  // namespace regions
