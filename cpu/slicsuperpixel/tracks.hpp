// Which superpixel continues which cluster of a warm start.
#pragma once

#include <span>

#include "cpu/slicsuperpixel/slot.hpp"

namespace regions {

// Sets the records' tracks; `labels` are final.
void track_superpixels(const SuperpixelSlot& slot, std::span<const PieceStrip> strips,
                       const SlicGrid& grid, uint32_t least, ConstLabelMap labels,
                       std::span<Region> records);

}  // namespace regions
