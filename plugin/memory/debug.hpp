// The debug category of all our elements, `regions`; include it behind GStreamer's headers.
// Arguments of GST_DEBUG and its like are evaluated only where the level is on.
#pragma once

#include <gst/gst.h>

namespace regions {

inline GstDebugCategory* debug_category() {
  static GstDebugCategory* const category = [] {
    GstDebugCategory* made = nullptr;
    GST_DEBUG_CATEGORY_INIT(made, "regions", 0, "gst-regions elements");
    return made;
  }();
  return category;
}

}  // namespace regions

#define GST_CAT_DEFAULT regions::debug_category()
