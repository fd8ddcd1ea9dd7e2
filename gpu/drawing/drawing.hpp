// Drawing regions on a picture, on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "core/backend.hpp"
#include "core/drawing/drawing.hpp"

namespace regions {

// Records in memory the GPU reads. Their number may become known on the device only.
struct DeviceRegions {
  const Region* regions = nullptr;  // [capacity]
  const uint32_t* count = nullptr;  // more than `capacity` counts as `capacity`
  uint32_t capacity = 0;
};

// Draws on `in`, giving `out` (same format and size; may be `in` itself), as
// cpu/drawing/drawing.hpp does, bit for bit. Two launches, three if there may be a crowd; may be
// captured into a graph. `ink` is all zero before and after.
void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          const DeviceRegions& regions, const DrawingParams& params, const Ink& ink,
          cudaStream_t stream);

// The workspace, cleared; for configure(). Cut it with ink_in().
Block blank_device_ink(Backend& backend, Size picture);

}  // namespace regions
