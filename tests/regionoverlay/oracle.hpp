// Drawing, pixel by pixel from the words of the documentation. Shares no code with the backends.
#pragma once

#include <vector>

#include "core/drawing/drawing.hpp"
#include "core/drawing/stamp.hpp"

namespace regions {

// What a pixel gets: this colour (0..255), this much of it (0..1).
struct Touch {
  double red = 0, green = 0, blue = 0, alpha = 0;
  bool text = false;  // in an id's tag
};

// `labels` has one label a pixel, or none at all.
std::vector<Touch> draw_slowly(Size size, const std::vector<uint32_t>& labels,
                               const std::vector<Region>& regions, const DrawingParams& params);

// The stored value (not rounded) of component c of a pixel that was `old` and got `touch`.
double mixed_slowly(const Touch& touch, double old, int c, const Layout& layout,
                    const Colorimetry& color);

}  // namespace regions
