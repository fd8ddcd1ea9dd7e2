// The `regions` metadata where a frame is copied, scaled, cropped, turned or encoded.
#pragma once

#include <gst/gst.h>

namespace regions {

// As GstCustomMetaTransformFunction: gives `to` what of `from`'s metadata holds there, and the
// standard metas that agree with it; neither where it is unknown what holds.
gboolean transform_region_meta(GstBuffer* to, GstCustomMeta* meta, GstBuffer* from, GQuark type,
                               gpointer data, gpointer unused);

}  // namespace regions
