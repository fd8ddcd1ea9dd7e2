// GStreamer's own metadata of the regions, for elements that do not know ours. Of each of the
// largest 256 regions:
//
// clang-format off: a table
//   GstVideoRegionOfInterestMeta  roi_type "region", id = the region's id, parent_id = 0, its box,
//   and the
//                                 parameters that DL Streamer's elements read:
//     detection, label=(string)region, confidence=(double)1, x_min, y_min, x_max, y_max=(double)
//     box, 0..1 of
//                the picture
//     object_id, id=(int) the track, where regions are tracked
//   GstAnalyticsRelationMeta      where GStreamer has it (1.24), see analytics_meta.hpp
// clang-format on
#pragma once

#include <gst/gst.h>

#include <span>
#include <vector>

#include "core/format.hpp"
#include "core/region.hpp"

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

void attach_standard_metas(GstBuffer* buffer, const Summary& summary);

// Region-of-interest metas as they are on `from`: where a picture is scaled some versions of
// GStreamer lose their parameters.
void copy_rois(GstBuffer* to, GstBuffer* from);

// Takes off what another element of ours left, and nothing else.
void remove_standard_metas(GstBuffer* buffer);

}  // namespace regions
