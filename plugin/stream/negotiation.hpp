// Which caps go in and out of an element, by what becomes of the picture.
#pragma once

#include <gst/gst.h>

#include "plugin/stream/engine.hpp"

namespace regions {

// Caps of the pad templates. Sinks take every picture; sources give every outcome.
GstCaps* sink_template_caps();
GstCaps* source_template_caps();

// What may come out for `caps` going in (direction GST_PAD_SINK), or the other way round. CUDA
// memory is left out where `cuda` is false. What replaces the picture is `layers` times as high,
// and, of more than one, says so in the field `layers`. The caller owns the result.
GstCaps* transform_caps(GstPadDirection direction, const GstCaps* caps, Output picture, bool cuda,
                        int layers);

}  // namespace regions
