// Drawing regions on a picture, on the CPU.
#pragma once

#include <span>

#include "core/drawing/drawing.hpp"
#include "core/workers.hpp"

namespace regions {

// Draws on `in`, giving `out` (same format and size; may be `in` itself). A label l has the colour
// of regions[l - 1].track, beyond the records its own. `ink` is all zero before and after.
void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          std::span<const Region> regions, const DrawingParams& params, const Ink& ink,
          const Workers& workers);

}  // namespace regions
