// What the standard metas tell of.
#include "plugin/standard_metas.hpp"

#include <algorithm>

#include "plugin/analytics_meta.hpp"
#include "plugin/roi_metas.hpp"

namespace regions {
Summary summary_of(Size size, std::span<const Region> regions,
                   std::span<const GstClockTime> first_seen) {
  const size_t count = std::min(regions.size(), kMostRois);
  std::vector<std::pair<uint64_t, uint32_t>> order(count);  // ~area, index
  std::fill(order.begin(), order.end(), std::pair{UINT64_MAX, UINT32_MAX});
  for (uint32_t i = 0; i < regions.size(); ++i) {  // a heap of the largest so far
    const std::pair entry{~regions[i].area, i};
    if (entry > order.front()) continue;
    std::pop_heap(order.begin(), order.end());
    order.back() = entry;
    std::push_heap(order.begin(), order.end());
  }
  std::sort_heap(order.begin(), order.end());
  Summary summary;
  summary.size = size;
  summary.regions.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = order[i].second;
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
