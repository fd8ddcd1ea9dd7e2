// Frames with a mask or label map in their metadata for elements that read masks.
#pragma once

#include "tests/plugin/harness.hpp"

namespace regions::test {

// Attaches the mask to the frame, and takes its reference.
inline GstBuffer* with_mask(GstBuffer* frame, GstBuffer* mask, const char* format, int width,
                            int height) {
  GstStructure* s = add_regions(frame);
  GValue none = G_VALUE_INIT;
  g_value_init(&none, GST_TYPE_ARRAY);
  gst_structure_take_value(s, "regions", &none);
  gst_structure_set(s, "width", G_TYPE_INT, width, "height", G_TYPE_INT, height, "labels",
                    GST_TYPE_BUFFER, mask, "labels-format", G_TYPE_STRING, format, nullptr);
  gst_buffer_unref(mask);
  return frame;
}

}  // namespace regions::test
