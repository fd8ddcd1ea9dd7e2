// The passes of a frame over its pixels, a row at a time: what core/graphcutbg says of one pixel,
// for as many side by side as a vector of the machine takes.
#pragma once

#include <span>

#include "core/graphcutbg/pixel.hpp"

namespace regions::graphcut {

struct RowPasses {
  int lanes;  // pixels side by side
  // The terminal weight as weigh() for each pixel of row y.
  void (*weigh)(const Canvas& canvas, const ConstFrame& mask, const FramePlan& frame,
                const EnergyPlan& plan, int y);
  // The links as weigh() of pixels first..last - 1 of row y.
  void (*link)(const Canvas& canvas, const FramePlan& frame, const EnergyPlan& plan, int y,
               int first, int last, const LinkRow& to);
  // As teach() for each pixel of row y, but for the counts of colours. `foreground`: the row of the
  // cut's mask.
  void (*teach)(const Canvas& canvas, const FramePlan& frame, const uint8_t* foreground, int y);
};

// The passes that this machine can run, the fastest last.
std::span<const RowPasses> row_passes();

}  // namespace regions::graphcut
