// GStreamer's own metadata of the largest 256 regions, for elements that do not know ours:
// regions of interest (roi_metas.hpp) and, where GStreamer has them (1.24), analytics
// (analytics_meta.hpp).
#pragma once

#include <gst/gst.h>

#include <span>
#include <vector>

#include "core/format.hpp"
#include "core/region.hpp"
#include "plugin/metadata/structure_pool.hpp"

namespace regions {

struct Summary {
  Size size;  // that the regions' coordinates count
  std::vector<Region> regions;
  std::vector<GstClockTime> first_seen;  // of each region's track; empty where nothing is tracked
  GstBuffer* labels = nullptr;           // borrowed; null if none is attached or it has layers
  PixelFormat labels_format = PixelFormat::labels32;
  Size labels_size;
};

// Of the regions and the first frames of their tracks (as many, or none) those of the largest, the
// largest first.
Summary summary_of(Size size, std::span<const Region> regions,
                   std::span<const GstClockTime> first_seen);

// Parameters of regions of interest are made of `spare` ones, as far as there are any.
void attach_standard_metas(GstBuffer* buffer, const Summary& summary,
                           std::vector<ParametersPtr>& spare);

// Takes off what another element of ours left, and nothing else.
void remove_standard_metas(GstBuffer* buffer);

}  // namespace regions
