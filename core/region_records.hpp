// What an algorithm finds out about a frame's regions, in pinned memory of its own.
#pragma once

#include <algorithm>
#include <span>

#include "core/backend.hpp"
#include "core/work_area.hpp"

namespace regions {

class RegionRecords {
 public:
  RegionRecords() = default;
  // Of at most so many regions and runs; with moments or borders if the algorithm has them.
  RegionRecords(Backend& backend, uint32_t most, bool moments, bool borders, uint32_t most_runs);

  bool empty() const { return !records_.data(); }
  // Where a frame's work leaves them; clears the counts.
  RegionTable table() const;

  // The first `kept` as of the whole picture, where a working picture was looked at.
  void enlarge(const WorkArea& place, uint32_t kept) {
    regions::enlarge(place, {records(), kept},
                     {moments_.as<Moments>(), moments_.data() ? kept : 0});
  }
  uint32_t total() const { return empty() ? 0 : counts()[0]; }
  // Records of parts of shared regions, behind those of all regions.
  uint32_t parts() const { return empty() ? 0 : counts()[3]; }
  std::span<const Region> regions(uint32_t kept) const { return {records(), kept}; }
  std::span<const Moments> moments(uint32_t kept) const {
    return {moments_.as<Moments>(), moments_.data() ? kept : 0};
  }
  std::span<const Border> borders() const {
    return {borders_.as<Border>(), borders_.data() ? counts()[1] : 0};
  }
  uint32_t total_runs() const { return runs_.data() ? counts()[2] : 0; }
  std::span<const PixelRun> runs() const {
    return {runs_.as<PixelRun>(), std::min(total_runs(), most_runs_)};
  }

 private:
  Region* records() const { return records_.as<Region>(); }
  // The total, of borders, of runs, of parts; where there is memory.
  uint32_t* counts() const { return reinterpret_cast<uint32_t*>(records() + most_); }
  uint32_t most_ = 0, most_runs_ = 0;
  Block records_;  // Region[most], then the counts
  Block moments_;  // Moments[most], if the algorithm has them
  Block borders_;  // Border[most_borders(most)], if asked for
  Block runs_;     // PixelRun[most_runs], likewise
};

}  // namespace regions
