// Storage for a frame's results in pinned memory (RegionRecords), and pixel runs grouped by slice
// (SliceRuns).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/backend.hpp"
#include "core/work_area.hpp"

namespace regions {

// A frame's region records, moments, borders and runs, in pinned memory.
class RegionRecords {
 public:
  RegionRecords() = default;
  // Allocates memory for up to `capacity` regions and `run_capacity` runs, with moments, borders or
  // the states of tracks if requested.
  RegionRecords(Backend& backend, uint32_t capacity, bool moments, bool borders,
                uint32_t run_capacity, bool track_states = false);

  bool empty() const { return !records_.data(); }
  // Returns the table that a frame's task writes to. Sets all counts to zero.
  RegionTable table() const;

  // Scales the first `count` records from the reduced working picture to the whole picture.
  void enlarge(const WorkArea& work_area, uint32_t count) {
    regions::enlarge(work_area, {records(), count},
                     {moments_.as<Moments>(), moments_.data() ? count : 0});
  }
  uint32_t total() const { return empty() ? 0 : counts()[0]; }
  // Number of records of occluded tracks. They follow the records of all regions.
  uint32_t occluded_tracks() const { return empty() ? 0 : counts()[3]; }
  std::span<const Region> regions(uint32_t count) const { return {records(), count}; }
  std::span<const Moments> moments(uint32_t count) const {
    return {moments_.as<Moments>(), moments_.data() ? count : 0};
  }
  std::span<const TrackState> track_states(uint32_t count) const {
    return {track_states_.as<TrackState>(), track_states_.data() ? count : 0};
  }
  std::span<const Border> borders() const {
    return {borders_.as<Border>(), borders_.data() ? counts()[1] : 0};
  }
  uint32_t total_runs() const { return runs_.data() ? counts()[2] : 0; }
  std::span<const PixelRun> runs() const {
    return {runs_.as<PixelRun>(), std::min(total_runs(), run_capacity_)};
  }

 private:
  Region* records() const { return records_.as<Region>(); }
  // [4]: the numbers of regions, borders, runs and occluded tracks.
  uint32_t* counts() const { return reinterpret_cast<uint32_t*>(records() + capacity_); }
  uint32_t capacity_ = 0, run_capacity_ = 0;
  Block records_;       // Region[capacity], then uint32_t[4] counts
  Block moments_;       // Moments[capacity], if requested
  Block borders_;       // Border[max_borders(capacity)], if requested
  Block runs_;          // PixelRun[run_capacity], if requested
  Block track_states_;  // TrackState[capacity], if requested
};

// The runs of a volume's regions, grouped by slice.
class SliceRuns {
 public:
  // Sorts the runs of a volume by slice. The runs may be in any order. Memory is reused from volume
  // to volume.
  void sort(std::span<const PixelRun> runs, const VolumeLayout& layout);

  // Returns the runs in slice z of all layers, in their original order. PixelRun::row is the row
  // within the slice.
  std::span<const PixelRun> of(int z) const;

 private:
  std::vector<PixelRun> sorted_;
  // [slices + 2], start of the runs of each slice in sorted_, and the end of the last slice. The
  // last entry is used only while sorting.
  std::vector<size_t> begin_;
};

}  // namespace regions
