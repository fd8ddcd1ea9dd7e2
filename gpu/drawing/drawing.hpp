// Draws regions on a picture on the GPU: boxes, outlines, fill and track ids.
//
// The passes, in the order in which draw() enqueues them:
//   1. prepare()  copies the picture to the output unless it is drawn in place, marks the border
//                 pixels of regions (edges), and stamps boxes and ids (glyphs) as codes into the
//                 ink.
//   2. paint()    paints the ink, the outlines and the fill, and clears the ink.
// The ink is a workspace with one code per pixel (core/drawing/drawing.hpp,
// core/drawing/stamp.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include "core/backend.hpp"
#include "core/drawing/drawing.hpp"
#include "core/drawing/paint.hpp"

namespace regions {

// Region records in device memory. The number of records is also in device memory, because the host
// may not have it yet.
struct DeviceRegions {
  const Region* regions = nullptr;  // [capacity]
  const uint32_t* count = nullptr;  // [1]; a count above `capacity` means `capacity`
  uint32_t capacity = 0;
  bool has_marks = false;  // whether marks follow the regions, see is_mark()
};

// Draws on `in` and writes the result to `out`, which has the same format and size and may be `in`
// itself. Gives the same bits as draw() of cpu/drawing/drawing.hpp. A label l has the colour of the
// track of record l - 1; a label without a record has the colour of track l. Enqueues two
// launches, or three if the regions may have very many pixels to stamp; all can be captured into a
// CUDA graph. `ink` must be all zero before, and is all zero afterwards.
void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          const DeviceRegions& regions, const DrawingParams& params, const Ink& ink,
          cudaStream_t stream);

// Allocates a cleared workspace for pictures of this size; ink_in() divides it. Called by
// configure(), because it waits for the device.
Block allocate_cleared_ink(Backend& backend, Size picture);

namespace drawing {

// The input of prepare(), which does three kinds of independent work: it copies, marks edges and
// stamps.
struct Preparation {
  ConstFrame in;
  Frame out;
  LabelSampler labels;
  bool outlines = false;  // whether to mark the border pixels of regions in ink.edges
  StampPlan stamps;
  Ink ink;
};
void prepare(const Preparation& preparation, const DeviceRegions& regions, cudaStream_t stream);

// Whether and how outlines are drawn.
struct Outlines {
  bool drawn = false;
  int thickness = 1;  // pixels
};
// Paints ink, outlines and fill on `painter.picture`, in place. Clears the ink.
void paint(const Painter& painter, const Outlines& outlines, const Ink& ink,
           const DeviceRegions& regions, cudaStream_t stream);

// Writes 255 to the pixels of regions that regionoverlay hides, and 0 to the others. Regions with a
// label map are hidden pixel by pixel, other regions as boxes, see is_hidden_box().
void mark_hidden(const LabelSampler& labels, bool has_labels, const DeviceRegions& regions,
                 const Image<uint8_t>& hidden, cudaStream_t stream);

}  // namespace drawing
}  // namespace regions
