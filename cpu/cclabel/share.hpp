// Counting the pixels that regions of this frame share with those of the last one.
#pragma once

#include "core/tracking/tracking.hpp"
#include "cpu/bits.hpp"

namespace regions {

// For so many `rows` alike: counts pixels of labels 1..count that `before`, the last frame's
// labels, also has, and leaves this frame's labels there. `known` has a bit for every label that is
// not 0, and others.
void share_row(const Word* pixels, const Word* starts, const uint32_t* label, int width,
               uint32_t count, int rows, const PairTable& pairs, uint16_t* before, Word* known);

}  // namespace regions
