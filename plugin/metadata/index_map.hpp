// A label map or mask as a GRAY8 picture of indices, made when a reader first maps it.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "core/format.hpp"
#include "core/image.hpp"

namespace regions {

// A buffer with a GstVideoMeta, rows without padding. Of a map of labels (U32_LE) a pixel is
// `index_of_label[label]`, 0 beyond its end; of a mask (GRAY8) 1 where it is not 0. Holds `labels`.
GstBuffer* make_index_map(GstBuffer* labels, PixelFormat format, Size size,
                          std::vector<uint8_t> index_of_label);

bool is_index_map(GstBuffer* buffer);

}  // namespace regions
