// How regions are drawn on a picture: the parameters every drawing element shares, and the
// arithmetic of one pixel, used by both backends.
#pragma once

#include <span>
#include <vector>

#include "core/field.hpp"
#include "core/region.hpp"

namespace regions {

enum class Style : uint8_t { boxes = 1, outlines = 2, fill = 4, ids = 8 };

struct DrawingParams {
  uint32_t style = 1 | 2 | 8;  // Style bits
  double opacity = 0.4;
  int thickness = 2;
};

inline constexpr Choice kStyles[] = {
    {1, "boxes", "A rectangle around each region"},
    {2, "outlines", "The region's inner border, where a label map is known"},
    {4, "fill", "The region tinted, where a label map is known"},
    {8, "ids", "The track id beside the box"}};

// The drawing lines of an element's table; P derives from DrawingParams.
template <class P>
std::vector<Field> drawing_fields() {
  return {field<P, &P::style>("style", "What is drawn of a region", {1, 15}, kStyles),
          field<P, &P::opacity>("opacity", "Strength of `fill` (0 invisible, 1 opaque)", {0, 1}),
          field<P, &P::thickness>("thickness", "Width of boxes and outlines (pixels)", {1, 64})};
}

}  // namespace regions
