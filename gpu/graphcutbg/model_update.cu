// The kernel that updates the background model with the cut's mask and counts foreground pixels. If
// the scene has changed, it clears the mask.
#include "gpu/graphcutbg/graphcutbg.hpp"
#include "gpu/graphcutbg/pixel_kernels.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcutbg {
namespace {

// Completes the frame after all blocks have added their sums. Returns true if the scene has
// changed.
__device__ bool finish_frame_once(SceneState& state, const ModelArrays& arrays,
                                  const FrameStatistics& statistics, FrameStatistics& result) {
  const auto pixels = static_cast<uint32_t>(arrays.plane());
  uint32_t foreground = __ldcg(&statistics.foreground);
  const bool hides = finish_frame(state.scene, state.watch, state.frame, foreground, pixels);
  if (hides) foreground = 0;
  result = {statistics.cut_value, foreground, statistics.restarted, state.watch.change};
  return hides;
}

__global__ void __launch_bounds__(PixelBlock::threads, StridedPixelGrid::blocks)
    model_update_kernel(const __grid_constant__ ModelArrays arrays,
                        const __grid_constant__ Image<uint8_t> mask,
                        const __grid_constant__ EnergyPlan energy, SceneState* state,
                        FrameStatistics* statistics, FrameStatistics* host_statistics) {
  __shared__ SharedPlans shared;
  __shared__ uint32_t block_count;
  __shared__ bool hides;
  const bool is_first_thread = threadIdx.x == 0 && threadIdx.y == 0;
  if (is_first_thread) block_count = 0;
  pdl_trigger_and_wait();
  // The barrier in load() also makes the initial zero of block_count visible to all threads.
  const auto& plans = shared.load(state->frame, energy);
  uint32_t count = 0;  // number of foreground pixels of this thread
  for (auto [x, y] = thread_position(); y < arrays.height; y += StridedPixelGrid::stride()) {
    if (x >= arrays.width) continue;
    const bool foreground = mask(x, y) != 0;
    update_model(arrays, plans.frame, plans.energy, foreground, x, y, AtomicAdd());
    count += foreground ? 1 : 0;
  }
  static_assert(PixelBlock::width == 32, "a warp is a row of the block");
  count = warp_sum(count);
  // The counts are integers, so the order of the additions does not matter.
  if (threadIdx.x == 0 && count > 0) atomicAdd(&block_count, count);
  __syncthreads();  // all warps have added their counts to block_count and have read the mask
  if (is_first_thread) {
    if (block_count > 0) atomicAdd(&statistics->foreground, block_count);
    __threadfence();  // makes the block's sums visible before the block is counted as finished
    hides = false;
    if (atomicAdd(&state->updated_blocks, 1u) == gridDim.x * gridDim.y - 1) {
      __threadfence();  // makes the sums of all blocks visible to the last block
      state->updated_blocks = 0;
      hides = finish_frame_once(*state, arrays, *statistics, *host_statistics);
    }
  }
  __syncthreads();  // `hides` is visible to all threads
  if (!hides) return;
  for (int y = static_cast<int>(threadIdx.y); y < mask.height; y += static_cast<int>(blockDim.y)) {
    for (int x = static_cast<int>(threadIdx.x); x < mask.width; x += static_cast<int>(blockDim.x)) {
      mask(x, y) = 0;
    }
  }
}

}  // namespace

void enqueue_model_update(const ModelArrays& arrays, const Image<uint8_t>& mask,
                          const EnergyPlan& energy, SceneState* state, FrameStatistics* statistics,
                          FrameStatistics* host_statistics, cudaStream_t stream) {
  launch_pdl(model_update_kernel, StridedPixelGrid::grid(arrays.width, arrays.height),
             pixel_block(), 0, stream, arrays, mask, energy, state, statistics, host_statistics);
}

}  // namespace regions::graphcutbg
