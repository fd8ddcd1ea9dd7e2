// The phases behind the labelling of a window, in the order in which they are called. Each puts its
// kernels on the stream and returns.
#pragma once

#include "core/cclabel/window.hpp"
#include "gpu/cclabel/base/records.hpp"

namespace regions::sliding {

// What is known of the window's newest frame.
struct WindowFrame {
  uint32_t* total;  // [2] its regions, twice: all of them have labels
  Region* records;  // [capacity]
  uint32_t* first;  // [capacity] each region's first pixel, counted in raster order
  uint32_t capacity;
};

// Counts and measures the frame's regions.
void describe(ConstLabelMap labels, const ConstFrame& in, const WindowFrame& frame,
              cudaStream_t stream);
// Counts the pixels that they share with the regions of the last window.
void share_windows(const WindowLabels& window, const WindowFrame& frame, const TrackMemory& memory,
                   cudaStream_t stream);
// Writes each pixel's label; what the parameters say of it; both with or without tracks.
void write_labels(ConstLabelMap labels, LabelMap to, cudaStream_t stream);
void write_picture(ConstLabelMap labels, const Frame& out, const CcLabelParams& params,
                   const WindowFrame& frame, cudaStream_t stream);

}  // namespace regions::sliding
