// Which superpixel continues which cluster of a warm start.
#pragma once

#include <span>

#include "cpu/slicsuperpixel/slot.hpp"

namespace regions {

// Runs of pieces before joining, in raster order: counts[strip] of them at runs[strip].
struct PieceRuns {
  const Run* const* runs;
  const size_t* counts;
  int strips;
};

// Sets the records' tracks; `labels` are final.
void track_superpixels(const SuperpixelSlot& slot, const PieceRuns& pieces, const SlicGrid& grid,
                       uint32_t least, ConstLabelMap labels, std::span<Region> records);

}  // namespace regions
