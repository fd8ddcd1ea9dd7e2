// What the standard metas tell of.
#include "plugin/metadata/standard_metas.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "plugin/metadata/analytics_meta.hpp"
#include "plugin/metadata/roi_metas.hpp"

namespace regions {
Summary summary_of(Size size, std::span<const Region> regions,
                   std::span<const GstClockTime> first_seen) {
  const size_t count = std::min(regions.size(), kMaxRois);
  std::vector<uint32_t> order(regions.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto comes_first = [&](uint32_t a, uint32_t b) {
    return regions[a].area != regions[b].area ? regions[a].area > regions[b].area : a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    comes_first);
  order.resize(count);
  Summary summary;
  summary.size = size;
  summary.regions.reserve(count);
  for (const uint32_t index : order) {
    summary.regions.push_back(regions[index]);
    if (!first_seen.empty()) summary.first_seen.push_back(first_seen[index]);
  }
  return summary;
}

void attach_standard_metas(GstBuffer* buffer, const Summary& summary,
                           std::vector<ParametersPtr>& spare) {
  attach_rois(buffer, summary, spare);
  attach_analytics(buffer, summary);
}

void remove_standard_metas(GstBuffer* buffer) {
  remove_rois(buffer);
  remove_analytics(buffer);
}

}  // namespace regions
