// Launch shapes of kernels in which each thread processes one or several pixels, and the frame's
// plans, which these kernels keep in shared memory.
#pragma once

#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {

// Shape of the thread blocks of these kernels, in threads. A block processes as many pixels at a
// time.
struct PixelBlock {
  static constexpr unsigned width = 32, height = 8;
  static constexpr unsigned threads = width * height;
};

inline dim3 pixel_grid(int width, int height) {
  return {blocks_for(static_cast<size_t>(width), PixelBlock::width),
          blocks_for(static_cast<size_t>(height), PixelBlock::height)};
}
inline dim3 pixel_block() { return {PixelBlock::width, PixelBlock::height}; }

// A grid with fewer blocks than pixel_grid(): each thread processes several pixels of its column,
// every stride() rows.
struct StridedPixelGrid {
  // Number of resident blocks per multiprocessor. A 1080p frame of moving boxes, including the cut,
  // takes 1.01 ms with 4 blocks, 0.98 ms with 5 or 6 blocks, and 1.08 ms with pixel_grid() (H100,
  // 2026-11-25).
  static constexpr unsigned blocks = 5;

  static dim3 grid(int width, int height) {
    const unsigned max_blocks = 2 * multiprocessors() * blocks;
    const dim3 all = pixel_grid(width, height);
    return {all.x, std::min(all.y, std::max(max_blocks / all.x, 1u))};
  }
  __device__ static int stride() { return static_cast<int>(gridDim.y * PixelBlock::height); }
};

struct PixelPosition {
  int x, y;
};
__device__ inline PixelPosition thread_position() {
  return {static_cast<int>(blockIdx.x * PixelBlock::width + threadIdx.x),
          static_cast<int>(blockIdx.y * PixelBlock::height + threadIdx.y)};
}

// A thread block's copy of the frame's plans in shared memory. The lanes of a warp read different
// entries of lambda_table at the same time; constant memory would serialise these reads.
class SharedPlans {
 public:
  // The two plans in shared memory.
  struct Plans {
    FramePlan frame;
    EnergyPlan energy;
  };
  // Copies the plans to shared memory. All threads of the block must call this function.
  __device__ const Plans& load(const FramePlan& frame, const EnergyPlan& energy) {
    auto& plans = reinterpret_cast<Plans&>(words_);
    copy(frame, plans.frame);
    copy(energy, plans.energy);
    __syncthreads();  // all threads have copied their part of the plans
    return plans;
  }

 private:
  template <class T>
  __device__ static void copy(const T& from, T& to) {
    static_assert(sizeof(T) % sizeof(uint32_t) == 0 && std::is_trivially_copyable_v<T>);
    const unsigned threads = blockDim.x * blockDim.y;
    for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < sizeof(T) / sizeof(uint32_t);
         i += threads) {
      reinterpret_cast<uint32_t*>(&to)[i] = reinterpret_cast<const uint32_t*>(&from)[i];
    }
  }

  alignas(Plans) uint32_t words_[sizeof(Plans) / sizeof(uint32_t)];
};

}  // namespace regions::graphcutbg
