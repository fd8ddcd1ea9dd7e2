// Parameters of regionoverlay, which draws the regions of the `regions` metadata on any picture;
// and the functions that every algorithm declares for the element and the library.
#pragma once

#include "core/algorithm.hpp"
#include "core/drawing/drawing.hpp"
#include "core/drawing/stamp.hpp"

namespace regions {

enum class ObjectDrawing : uint8_t { none, boxes, labels };

struct RegionOverlayParams : DrawingParams {
  ObjectDrawing objects = ObjectDrawing::none;
  int pixelate = 16;
  int blur = 24;
  int grow = 8;

  bool has_style(Style which) const { return (style & static_cast<uint32_t>(which)) != 0; }
  // Whether regions are hidden. Algorithm::prepare() allocates memory for this.
  bool hides() const { return has_style(Style::pixelate) || has_style(Style::blur); }
};

namespace regionoverlay {
using Params = RegionOverlayParams;  // the name that meson.build's list of algorithms requires
}

std::span<const Field> fields_of(const RegionOverlayParams&);
Output output_of(const RegionOverlayParams& params);
// Derives the fields of a setup from the parameters.
void plan(const RegionOverlayParams& params, Setup& setup);

// Whether the pixels of a record are hidden as a box. Regions of a label map are hidden pixel by
// pixel.
REGIONS_HD inline bool is_hidden_box(const Region& record, bool has_labels) {
  return !is_mark(record) && !(has_labels && has_label(record));
}
// The part of a record's box inside the picture.
REGIONS_HD inline Rect box_in(const Region& record, Size picture) {
  return Rect{record.left, record.top, record.right, record.bottom}.within(
      {0, 0, picture.width - 1, picture.height - 1});
}

// Throws InputError if the algorithm has no memory to hide regions.
void expects_hiding(bool has_memory);
// Side of the smallest cells over which colours are averaged to hide them (pixels).
inline constexpr int kMinHidingCell = 2;

// The check that both backends share: throws InputError unless frames of this setup can be drawn
// on.
void expects_drawable(const Setup& setup);

}  // namespace regions
