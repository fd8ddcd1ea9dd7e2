// Labels without the regions of one value: background among regions of equal values. On CUDA alone.
#pragma once

#include "core/backend.hpp"

namespace regions::cclabel {

// Bytes of device memory that drop_value() needs for so many pixels.
size_t drop_value_bytes(size_t pixels);

// Takes the regions whose pixels have the value out of labels 1..n in raster order, and numbers the
// rest anew. The frame has one component of 1 or 2 bytes; rows of labels lie without a gap. `total`
// (pinned host memory) is written.
void drop_value(const ConstFrame& frame, uint32_t value, const LabelMap& labels, void* memory,
                uint32_t* total, Queue& queue);

}  // namespace regions::cclabel
