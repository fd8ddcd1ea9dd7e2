// Frames in one piece of memory, their planes packed one after another.
#pragma once

#include "core/frame.hpp"

namespace regions {

// A view of tightly packed planes at `data`, in the order of the layout.
Frame packed_frame(const Layout& layout, Size size, const Colorimetry& color, Memory memory,
                   void* data);
// Bytes that packed_frame spans. Rows start at multiples of 16 bytes, planes of 256.
size_t packed_bytes(const Layout& layout, Size size);

}  // namespace regions
