// GStreamer's analytics metadata of the regions, where GStreamer has it (1.24), in the frame's
// relation meta:
//
// clang-format off
//
// | entry            | of                  | holds
// |------------------|---------------------|-------------------------------------------------------
// | object detection | each of the largest | type "region", the box, confidence 1
// |                  |   256 regions       |
// | tracking         | each of those, if   | the track, first seen at its first frame, last at this
// |                  |   tracked           |   one; the object detection RELATE_TO it
// | segmentation     | an attached map of  | GRAY8, 0 background, i of the i-th largest region up to
// |   (1.26)         |   labels            |   255 (instances); it CONTAINs the object detections
// |                  | an attached mask    | GRAY8, 0 background, 1 foreground (semantic)
//
// clang-format on
#pragma once

#include "plugin/metadata/standard_metas.hpp"

namespace regions {

void attach_analytics(GstBuffer* buffer, const Summary& summary);

// Take off what another element of ours left, all or the segmentation, and nothing else.
void remove_analytics(GstBuffer* buffer);
void remove_segmentation(GstBuffer* buffer);

}  // namespace regions
