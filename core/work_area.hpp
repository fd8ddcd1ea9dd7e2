// The work area: the rectangle of a picture that an element processes, and the reduced working
// picture of this rectangle. Contains the parameters of all elements for it, and conversions
// between the two coordinate systems.
#pragma once

#include <span>
#include <vector>

#include "core/field.hpp"
#include "core/region.hpp"

namespace regions {

// Properties that select the work area; work_area_fields() documents them.
struct WorkAreaParams {
  int left = 0, top = 0, width = 0, height = 0;
  double process_scale = 1;

  bool operator==(const WorkAreaParams&) const = default;
};

// The entries of the parameter table for WorkAreaParams. P derives from WorkAreaParams.
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

// The rectangle is inside the picture, and its sides are widened to whole chroma samples. Outside
// the rectangle, pixels belong to no region, masks are 0, and drawn pictures stay unchanged. Along
// each axis, pixel i of the working picture covers pixels first_of(i) .. first_of(i + 1) - 1 of the
// rectangle.
struct WorkArea {
  Size picture;           // size of the whole picture
  int left = 0, top = 0;  // position of the rectangle, pixels
  Size area;              // size of the rectangle
  Size work;              // size of the working picture

  bool covers_picture() const { return area == picture; }
  bool is_identity() const { return area == picture && work == picture; }
  bool is_scaled() const { return !(work == area); }
};

// Throws SettingsError for a rectangle outside the picture.
WorkArea work_area_of(const WorkAreaParams& params, const Layout& layout, Size picture);

// Returns a view of the rectangle in a frame of the whole picture.
template <class Byte>
BasicFrame<Byte> crop_to(BasicFrame<Byte> frame, const WorkArea& work_area) {
  bool moved[3] = {};
  for (const Component& k : frame.layout.component) {
    if (k.step == 0 || moved[k.plane]) continue;
    moved[k.plane] = true;
    frame.plane[k.plane] += (work_area.top >> k.y_shift) * frame.pitch[k.plane] +
                            static_cast<ptrdiff_t>(work_area.left >> k.x_shift) * k.step;
  }
  frame.width = work_area.area.width;
  frame.height = work_area.area.height;
  return frame;
}

// Converts regions of the working picture to the whole picture. Boxes and first pixels are exact.
// Areas and centroids are exact if the rectangle's sides are multiples of the working picture's
// sides. `moments` belong to the same regions or are empty; means and covariances stay correct.
void enlarge(const WorkArea& work_area, std::span<Region> regions, std::span<Moments> moments = {});
// Converts runs of the working picture, sorted by label, to the whole picture. A run can become
// several runs in consecutive rows. The result replaces the content of `large`, whose memory is
// reused from frame to frame.
void enlarge(const WorkArea& work_area, std::span<const PixelRun> runs,
             std::vector<PixelRun>& large);
// Converts the coordinates of a pixel of the picture to the working picture. Returns false if the
// pixel is outside the rectangle.
bool reduce(const WorkArea& work_area, int& x, int& y);
// Converts regions of the picture to the working picture. Removes regions outside the rectangle and
// clips the other regions.
void reduce(const WorkArea& work_area, std::vector<Region>& regions);

}  // namespace regions
