// Owning pointers to GStreamer's objects, and the plugin's debug category.
//
// It defines GST_CAT_DEFAULT, so GST_DEBUG and similar macros log to the category `regions`. They
// evaluate their arguments only if the level is enabled.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace regions {

// Owns one reference to a GstObject.
struct UnrefObject {
  template <class T>
  void operator()(T* object) const {
    gst_object_unref(object);
  }
};

template <class T>
using ObjectPtr = std::unique_ptr<T, UnrefObject>;

// Owns one reference to a buffer.
struct UnrefBuffer {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using BufferPtr = std::unique_ptr<GstBuffer, UnrefBuffer>;

// Owns a structure.
struct FreeStructure {
  void operator()(GstStructure* structure) const { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, FreeStructure>;

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
