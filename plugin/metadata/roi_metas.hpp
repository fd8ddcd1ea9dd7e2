// GStreamer's region-of-interest metas of the regions. Of each of the largest 256 regions:
//
// clang-format off: a table
//   GstVideoRegionOfInterestMeta  roi_type "region", id = the region's id, parent_id = 0, its box,
//                                 and the parameters that DL Streamer's elements read:
//     detection, label=(string)region, confidence=(double)1,
//                x_min, y_min, x_max, y_max=(double) box, 0..1 of the picture
//     object_id, id=(int) the track, where regions are tracked
// clang-format on
#pragma once

#include "plugin/metadata/standard_metas.hpp"
#include "plugin/metadata/structure_pool.hpp"

namespace regions {

constexpr size_t kMaxRois = 256;  // as many as other elements can be expected to bear

// Parameters are made of `spare` ones, as far as there are any.
void attach_rois(GstBuffer* buffer, const Summary& summary, std::vector<ParametersPtr>& spare);

// As they are on `from`: where a picture is scaled some versions of GStreamer lose their
// parameters.
void copy_rois(GstBuffer* to, GstBuffer* from);

// Takes off what another element of ours left, and nothing else.
void remove_rois(GstBuffer* buffer);

// Takes the parameters of our regions of interest away, as many as there is room for without
// another allocation.
void take_parameters(GstBuffer* buffer, std::vector<ParametersPtr>& parameters);

}  // namespace regions
