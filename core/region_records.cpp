// Memory for what is found out about regions.
#include "core/region_records.hpp"

namespace regions {

RegionRecords::RegionRecords(Backend& backend, uint32_t most, bool moments, bool borders)
    : most_(most),
      records_(backend.allocate_pinned(most * sizeof(Region))),
      counts_(backend.allocate_pinned(2 * sizeof(uint32_t))) {
  if (moments) moments_ = backend.allocate_pinned(most * sizeof(Moments));
  if (borders) borders_ = backend.allocate_pinned(most_borders(most) * sizeof(Border));
}

RegionTable RegionRecords::table() const {
  counts()[0] = counts()[1] = 0;
  return {records_.as<Region>(),
          most_,
          counts(),
          moments_.as<Moments>(),
          borders_.as<Border>(),
          borders_.data() ? counts() + 1 : nullptr};
}

}  // namespace regions
