// The launches of drawing.
#pragma once

#include "core/drawing/paint.hpp"
#include "gpu/drawing/drawing.hpp"

namespace regions::drawing {

// Everything that does not depend on one another: copies the picture if it is to be kept, finds
// where labels end (if `outlines`), stamps boxes and ids.
struct Preparation {
  ConstFrame in;
  Frame out;
  LabelSampler labels;
  bool outlines = false;
  StampPlan stamps;
  Ink ink;
};
void prepare(const Preparation& preparation, const DeviceRegions& regions, cudaStream_t stream);

// Paints `painter.picture` where there is ink, outline or fill, and clears the ink.
struct Outlines {
  bool drawn = false;
  int thickness = 1;
};
void paint(const Painter& painter, const Outlines& outlines, const Ink& ink,
           const DeviceRegions& regions, cudaStream_t stream);

}  // namespace regions::drawing
