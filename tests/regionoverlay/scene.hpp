// Pictures with regions to draw, for the tests of both backends.
#pragma once

#include <string>
#include <vector>

#include "core/drawing/drawing.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

struct Scene {
  Size size;
  std::vector<Region> regions;
  std::vector<uint32_t> labels;  // one a pixel; some labels have no record

  ConstLabelMap label_map() const;
};

// `count` regions of all sizes, some partly or wholly outside, ids of 1 to 10 digits.
Scene make_scene(Size size, int count, uint32_t seed = 0);

// A noisy picture in the format.
GuardedFrame noisy_picture(PixelFormat format, Size size, int padding = 0, Colorimetry color = {});

// All formats that can be drawn on.
std::vector<PixelFormat> drawable_formats();

// Sizes around the smallest, around tiles and words, and the parameters worth crossing with them.
std::vector<Size> scene_sizes();
std::vector<DrawingParams> scene_params();
std::string describe(PixelFormat format, Size size, const DrawingParams& params);

}  // namespace regions
