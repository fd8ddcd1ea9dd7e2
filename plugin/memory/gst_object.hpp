// Small additions to GStreamer's object model: an owning pointer and the plugin's debug category.
//
// Include this header after GStreamer's headers, because it redefines their default category.
// GST_DEBUG and similar macros evaluate their arguments only if the level is enabled.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace regions {

struct UnrefObject {
  template <class T>
  void operator()(T* object) const {
    gst_object_unref(object);
  }
};

// Owns one reference to a GstObject.
template <class T>
using ObjectPtr = std::unique_ptr<T, UnrefObject>;

// The debug category `regions`, which all elements of this plugin use.
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
