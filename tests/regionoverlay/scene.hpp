// Pictures with regions to draw, and the oracle: draws pixel by pixel, from the words of the
// documentation, and shares no code with the backends.
#pragma once

#include <string>
#include <vector>

#include "core/drawing/drawing.hpp"
#include "core/drawing/stamp.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {

struct Scene {
  Size size;
  std::vector<Region> regions;
  std::vector<uint32_t> labels;  // one per pixel; some labels have no record

  ConstLabelMap label_map() const;
};

// `count` regions of all sizes with ids of 1 to 10 digits. Some are partly or completely outside.
Scene make_scene(Size size, int count, uint32_t seed = 0);

// A noisy picture in the format.
GuardedFrame noisy_picture(PixelFormat format, Size size, int padding = 0, Colorimetry color = {});

// All formats that can be drawn on.
std::vector<PixelFormat> drawable_formats();

// Sizes around the smallest, around tiles and words, and the parameters worth crossing with them.
std::vector<Size> scene_sizes();
std::vector<DrawingParams> scene_params();
std::string describe(PixelFormat format, Size size, const DrawingParams& params);

// The change of a pixel: a colour, 0..255, and its opacity, 0..1.
struct Touch {
  double red = 0, green = 0, blue = 0, alpha = 0;
  bool text = false;  // inside the tag of an id
};

// `labels` has one label per pixel, or is empty.
std::vector<Touch> draw_slowly(Size size, const std::vector<uint32_t>& labels,
                               const std::vector<Region>& regions, const DrawingParams& params);

// The stored value (not rounded) of component c of a pixel that was `old` and got `touch`.
double mixed_slowly(const Touch& touch, double old, int c, const Layout& layout,
                    const Colorimetry& color);

}  // namespace regions
