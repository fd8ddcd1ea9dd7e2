// GStreamer's analytics metadata of the regions, where GStreamer has it: in the frame's relation
// meta
//
// clang-format off: a table
//   of each of the largest 256 regions
//     object detection  type "region", its box, confidence 1
//     tracking          where regions are tracked: the track, first seen at its first frame, last
//     at this one;
//                       the object detection RELATE_TO it
//   of a label map or mask that is attached (1.26)
//     segmentation      GRAY8, 0 background; of labels (instances): i of the i-th largest region,
//     up to 255,
//                       and it CONTAINs the object detections; of masks (semantic): 1 foreground
// clang-format on
#pragma once

#include "plugin/standard_metas.hpp"

namespace regions {

void attach_analytics(GstBuffer* buffer, const Summary& summary);

// Take off what another element of ours left, all or the segmentation, and nothing else.
void remove_analytics(GstBuffer* buffer);
void remove_segmentation(GstBuffer* buffer);

}  // namespace regions
