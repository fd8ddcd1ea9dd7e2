// Regions as GstStructures for the metadata.
#pragma once

#include <vector>

#include "tests/plugin/harness.hpp"

namespace regions::test {

struct Box {
  int x, y, width, height;
};

inline GstStructure* box_structure(const Box& box, guint id) {
  return gst_structure_new("region", "id", G_TYPE_UINT, id, "x", G_TYPE_INT, box.x, "y", G_TYPE_INT,
                           box.y, "width", G_TYPE_INT, box.width, "height", G_TYPE_INT, box.height,
                           nullptr);
}

// Replaces the regions of the metadata by these, and takes their ownership.
inline void set_regions(GstStructure* metadata, const std::vector<GstStructure*>& regions) {
  GValue array = G_VALUE_INIT;
  g_value_init(&array, GST_TYPE_ARRAY);
  for (GstStructure* region : regions) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&item, region);
    gst_value_array_append_and_take_value(&array, &item);
  }
  gst_structure_take_value(metadata, "regions", &array);
}

}  // namespace regions::test
