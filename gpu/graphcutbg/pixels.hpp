// One thread a pixel: blocks over a picture.
#pragma once

#include "gpu/launch.hpp"

namespace regions::graphcut {

struct PixelBlock {
  static constexpr unsigned width = 32, height = 8;
  static constexpr unsigned threads = width * height;
};

inline dim3 pixel_grid(int width, int height) {
  return {blocks_for(static_cast<size_t>(width), PixelBlock::width),
          blocks_for(static_cast<size_t>(height), PixelBlock::height)};
}
inline dim3 pixel_block() { return {PixelBlock::width, PixelBlock::height}; }

struct Place {
  int x, y;
};
__device__ inline Place place_of_thread() {
  return {static_cast<int>(blockIdx.x * PixelBlock::width + threadIdx.x),
          static_cast<int>(blockIdx.y * PixelBlock::height + threadIdx.y)};
}

}  // namespace regions::graphcut
