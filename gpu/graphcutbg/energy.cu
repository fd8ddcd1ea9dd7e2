// Kernels of the energy that the cut minimises. One computes its weights: the terminal and link
// capacities of each pixel. The other computes the value of the cut that a given mask describes.
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/graphcutbg/pixel_kernels.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {
namespace {

__global__ void __launch_bounds__(PixelBlock::threads, StridedPixelGrid::blocks)
    weights_kernel(const __grid_constant__ ModelArrays arrays,
                   const __grid_constant__ ConstFrame mask,
                   const __grid_constant__ EnergyPlan energy, const SceneState* state) {
  __shared__ SharedPlans shared;
  pdl_trigger_and_wait();
  const auto& plans = shared.load(state->frame, energy);
  for (auto [x, y] = thread_position(); y < arrays.height; y += StridedPixelGrid::stride()) {
    if (x < arrays.width)
      compute_weights(arrays, mask, plans.frame, plans.energy, x, y, AtomicAdd());
  }
}

__global__ void cut_value_kernel(ModelArrays arrays, Image<const uint8_t> mask,
                                 FrameStatistics* statistics) {
  const auto [x, y] = thread_position();
  const bool inside = x < arrays.width && y < arrays.height;
  const long long value = warp_sum64(inside ? cut_value_at(arrays, mask, x, y) : 0);
  // The numbers are integers, so the order of the additions does not matter.
  if (threadIdx.x == 0 && value != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&statistics->cut_value),
              static_cast<unsigned long long>(value));
  }
}

}  // namespace

void enqueue_weights(const ModelArrays& arrays, const ConstFrame& mask, const EnergyPlan& energy,
                     const SceneState* state, cudaStream_t stream) {
  launch_pdl(weights_kernel, StridedPixelGrid::grid(arrays.width, arrays.height), pixel_block(), 0,
             stream, arrays, mask, energy, state);
}

void enqueue_cut_value(const ModelArrays& arrays, const Image<const uint8_t>& mask,
                       FrameStatistics* statistics, cudaStream_t stream) {
  static_assert(PixelBlock::width == 32, "a warp is a row of the block");
  launch(cut_value_kernel, pixel_grid(arrays.width, arrays.height), pixel_block(), 0, stream,
         arrays, mask, statistics);
}

}  // namespace regions::graphcutbg
