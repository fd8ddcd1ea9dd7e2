// Counting the pixels that regions of this frame share with those of the last one.
#pragma once

#include "core/tracking/tracking.hpp"
#include "cpu/bits.hpp"

namespace regions {

// One row: compares labels 1..count with `before`, the last frame's row, and leaves them there.
void share_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
               uint32_t count, const PairTable& pairs, uint16_t* before);

}  // namespace regions
