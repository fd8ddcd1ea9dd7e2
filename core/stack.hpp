// Stack: frames one below another, as one tall picture. The slices of a volume (x, y, z) lie in
// order of z; where several thresholds are labelled at once, outputs have one such volume below
// another for each. Raster order of the stack is raster order of (threshold, z, y, x).
#pragma once

#include "core/frame.hpp"

namespace regions {

struct Stack {
  Size slice;      // of one frame
  int slices = 1;  // of a volume
  int layers = 1;  // volumes

  REGIONS_HD constexpr int depth() const { return slices * layers; }  // slices in all
  REGIONS_HD constexpr int volume_rows() const { return slice.height * slices; }
  REGIONS_HD constexpr int rows() const { return slice.height * depth(); }
  REGIONS_HD constexpr Size size() const { return {slice.width, rows()}; }

  // Where a row of the stack lies.
  struct Place {
    int y, z, layer;
  };
  REGIONS_HD constexpr Place place(int row) const {
    const int k = row / slice.height;
    return {row - k * slice.height, k % slices, k / slices};
  }
  // The row of the stack that lies there.
  REGIONS_HD constexpr int row(const Place& place) const {
    return (place.layer * slices + place.z) * slice.height + place.y;
  }
  // Whether the slice (counted through all layers) is the first of its volume.
  REGIONS_HD constexpr bool begins_volume(int k) const { return k % slices == 0; }
};

// Rows begin..begin + count - 1 of a frame. Where chroma has half the rows, both are even.
template <class Byte>
REGIONS_HD BasicFrame<Byte> rows_of(BasicFrame<Byte> frame, int begin, int count) {
  bool moved[3] = {};
  for (int c = 0; c < 4; ++c) {
    const Component& k = frame.layout.component[c];
    if (k.step == 0 || moved[k.plane]) continue;
    moved[k.plane] = true;
    frame.plane[k.plane] += (begin >> k.y_shift) * frame.pitch[k.plane];
  }
  frame.height = count;
  return frame;
}
template <class T>
REGIONS_HD Image<T> rows_of(const Image<T>& image, int begin, int count) {
  return {image.row(begin), image.width, count, image.pitch};
}

}  // namespace regions
