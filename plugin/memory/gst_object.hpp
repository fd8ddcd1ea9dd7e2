// Owning pointers to GStreamer's objects, and the plugin's debug category.
//
// This header defines GST_CAT_DEFAULT, so GST_DEBUG and similar macros log to the category
// `regions`. These macros evaluate their arguments only if the debug level is enabled.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace regions {

// Releases one reference to a GstObject.
struct UnrefObject {
  template <class T>
  void operator()(T* object) const {
    gst_object_unref(object);
  }
};

// Owns one reference to a GstObject.
template <class T>
using ObjectPtr = std::unique_ptr<T, UnrefObject>;

// Releases one reference to a buffer.
struct UnrefBuffer {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
// Owns one reference to a buffer.
using BufferPtr = std::unique_ptr<GstBuffer, UnrefBuffer>;

// Frees a structure.
struct FreeStructure {
  void operator()(GstStructure* structure) const { gst_structure_free(structure); }
};
// Owns a structure.
using StructurePtr = std::unique_ptr<GstStructure, FreeStructure>;

// The debug category `regions`, which all elements of this plugin use.
inline GstDebugCategory* debug_category() {
  static GstDebugCategory* const category = [] {
    GstDebugCategory* created = nullptr;
    GST_DEBUG_CATEGORY_INIT(created, "regions", 0, "gst-regions elements");
    return created;
  }();
  return category;
}

}  // namespace regions

#define GST_CAT_DEFAULT regions::debug_category()
