// Memory for what is found out about regions.
#include "core/region_records.hpp"

#include <algorithm>

namespace regions {

RegionRecords::RegionRecords(Backend& backend, uint32_t most, bool moments, bool borders,
                             uint32_t most_runs)
    : most_(most),
      most_runs_(most_runs),
      records_(backend.allocate_pinned(most * sizeof(Region) + 4 * sizeof(uint32_t))) {
  if (moments) moments_ = backend.allocate_pinned(most * sizeof(Moments));
  if (borders) borders_ = backend.allocate_pinned(most_borders(most) * sizeof(Border));
  if (most_runs > 0) runs_ = backend.allocate_pinned(most_runs * sizeof(PixelRun));
}

RegionTable RegionRecords::table() const {
  std::fill_n(counts(), 4, 0u);
  return {records(),
          most_,
          counts(),
          moments_.as<Moments>(),
          borders_.as<Border>(),
          borders_.data() ? counts() + 1 : nullptr,
          runs_.as<PixelRun>(),
          most_runs_,
          runs_.data() ? counts() + 2 : nullptr,
          counts() + 3};
}

}  // namespace regions
