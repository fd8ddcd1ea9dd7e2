// The part of a picture that an element looks at, and the smaller picture that it works on instead:
// declared once for all elements, with the coordinates of both.
#pragma once

#include <span>
#include <vector>

#include "core/field.hpp"
#include "core/region.hpp"

namespace regions {

struct WorkAreaParams {
  int left = 0, top = 0, width = 0, height = 0;
  double process_scale = 1;

  bool operator==(const WorkAreaParams&) const = default;
};

// Those lines of an element's table; P derives from WorkAreaParams.
template <class P>
std::vector<Field> work_area_fields() {
  constexpr Limits kPixels = {0, 65535};
  return {
      field<P, &P::left>("left", "Left edge of the rectangle that is processed (pixels).", kPixels),
      field<P, &P::top>("top", "Top edge of the rectangle that is processed (pixels).", kPixels),
      field<P, &P::width>("width",
                          "Width of the rectangle that is processed (pixels). 0: up to the right "
                          "edge of the picture.",
                          kPixels),
      field<P, &P::height>("height",
                           "Height of the rectangle that is processed (pixels). 0: up to the "
                           "bottom edge of the picture.",
                           kPixels),
      field<P, &P::process_scale>(
          "process-scale",
          "Scale at which the picture is processed (fraction). Results are scaled back; lengths "
          "and areas in other properties refer to the scaled picture.",
          {1.0 / 16, 1})};
}

// The rectangle lies in the picture; outside of it there are no regions, masks are 0, and pictures
// that are drawn on stay as they are. Sides move outwards to whole samples of chroma. Pixel i of
// the working picture stands for pixels first_of(i) .. first_of(i + 1) - 1 of the rectangle.
struct WorkArea {
  Size picture;
  int left = 0, top = 0;
  Size area;  // the rectangle's
  Size work;  // of the picture worked on

  bool is_all() const { return area == picture; }
  bool is_whole() const { return area == picture && work == picture; }
  bool is_scaled() const { return !(work == area); }
};

// Throws InputError for a rectangle outside the picture.
WorkArea work_area_of(const WorkAreaParams& params, const Layout& layout, Size picture);

// The rectangle's pixels of a frame of the whole picture.
template <class Byte>
BasicFrame<Byte> part_of(BasicFrame<Byte> frame, const WorkArea& place) {
  bool moved[3] = {};
  for (const Component& k : frame.layout.component) {
    if (k.step == 0 || moved[k.plane]) continue;
    moved[k.plane] = true;
    frame.plane[k.plane] += (place.top >> k.y_shift) * frame.pitch[k.plane] +
                            static_cast<ptrdiff_t>(place.left >> k.x_shift) * k.step;
  }
  frame.width = place.area.width;
  frame.height = place.area.height;
  return frame;
}

// Regions of the working picture as regions of the picture. Boxes and first pixels are exact; areas
// and centroids are, too, where the rectangle's sides are multiples of the working picture's.
// `moments` are of the same regions, or none; means and covariances stay right.
void enlarge(const WorkArea& place, std::span<Region> regions, std::span<Moments> moments = {});
// Runs of the working picture, sorted by label, as runs of the picture: a row becomes several.
// They replace what `large` holds, whose memory serves from frame to frame.
void enlarge(const WorkArea& place, std::span<const PixelRun> runs, std::vector<PixelRun>& large);
// Where a pixel of the picture lies in the working picture; false outside the rectangle.
bool reduce(const WorkArea& place, int& x, int& y);
// The other way round; what lies outside is left out, what lies partly outside is cut off.
void reduce(const WorkArea& place, std::vector<Region>& regions);

}  // namespace regions
