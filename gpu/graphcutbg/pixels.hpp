// One thread a pixel: blocks over a picture.
#pragma once

#include "gpu/runtime/launch.hpp"

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

// The same with fewer blocks, each of which goes on further down the picture.
struct PixelRows {
  // Of a multiprocessor. A 1080p frame of moving boxes on an H100 (2026-11-25), cut included:
  // 1.01 ms with 4, 0.98 with 5 and with 6; with a block for each 8 rows it was 1.08.
  static constexpr unsigned blocks = 5;
  static constexpr unsigned most = 2 * 132 * blocks;

  static dim3 grid(int width, int height) {
    const dim3 all = pixel_grid(width, height);
    return {all.x, std::min(all.y, std::max(most / all.x, 1u))};
  }
  __device__ static int step() { return static_cast<int>(gridDim.y * PixelBlock::height); }
};

struct Place {
  int x, y;
};
__device__ inline Place place_of_thread() {
  return {static_cast<int>(blockIdx.x * PixelBlock::width + threadIdx.x),
          static_cast<int>(blockIdx.y * PixelBlock::height + threadIdx.y)};
}

}  // namespace regions::graphcut
