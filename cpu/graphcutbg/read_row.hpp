// A row of a frame as the model's colours.
#pragma once

#include "core/graphcutbg/color.hpp"

namespace regions::graphcut {

// As color_at() for each pixel of row y.
void read_row(const ConstFrame& frame, int y, uint32_t* colors);

}  // namespace regions::graphcut
