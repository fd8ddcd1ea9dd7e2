// From a frame of any format to planes of colour components.
#pragma once

#include "cpu/slicsuperpixel/assign.hpp"

namespace regions {

// Scratch that read_colors needs for a picture this wide.
inline size_t color_scratch_bytes(int width) { return static_cast<size_t>(width) * 6; }

// Fills rows begin..end-1.
void read_colors(const ConstFrame& frame, const ColorReader& reader, const ColorPlanes& planes,
                 int begin, int end, std::byte* scratch);

}  // namespace regions
