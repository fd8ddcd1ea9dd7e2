// Pixel rows as plain arrays, and thresholding them to bits.
#pragma once

#include "core/frame.hpp"
#include "cpu/bits.hpp"

namespace regions {

// Row y of component c at full width, uint8_t or (2-byte samples) uint16_t or (labels32) uint32_t:
// in the picture itself where the values lie there side by side, else copied to `scratch`.
const std::byte* channel_row(const ConstFrame& frame, int c, int y, std::byte* scratch);

// What `binary` compares of row y: luma of RGB, else component c; 1- or 2-byte values as above.
const std::byte* value_row(const ConstFrame& frame, int c, int y, std::byte* scratch);

// Bit x is set where the value is >= level. `bytes` of a value: 1, 2 or 4.
void pack_at_least(const std::byte* values, int bytes, int width, int level, Word* bits);

}  // namespace regions
