// The model learns what the cut made of the frame.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/graphcutbg/pixels.hpp"
#include "gpu/graphcutbg/terms.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcut {
namespace {

__global__ void __launch_bounds__(PixelBlock::threads, PixelRows::blocks)
    teach_kernel(const __grid_constant__ Canvas canvas,
                 const __grid_constant__ Image<const uint8_t> mask,
                 const __grid_constant__ EnergyPlan plan, DeviceScene* scene, DeviceReport* report,
                 DeviceReport* told) {
  __shared__ SharedTerms shared;
  __shared__ uint32_t sum;
  if (threadIdx.x == 0 && threadIdx.y == 0) sum = 0;
  pdl_trigger_and_wait();
  const Terms& terms = shared.load(scene->frame, plan);  // and the sum is zero
  uint32_t count = 0;                                    // of foreground
  for (auto [x, y] = place_of_thread(); y < canvas.height; y += PixelRows::step()) {
    if (x >= canvas.width) continue;
    const bool foreground = mask(x, y) != 0;
    teach(canvas, terms.frame, terms.energy, foreground, x, y, AtomicAdd());
    count += foreground ? 1 : 0;
  }
  static_assert(PixelBlock::width == 32, "a warp is a row of the block");
  count = warp_sum(count);
  // Of integers: the order of adding does not matter.
  if (threadIdx.x == 0 && count > 0) atomicAdd(&sum, count);
  __syncthreads();  // all warps have added
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  if (sum > 0) {
    atomicAdd(&scene->survey.foreground, sum);
    atomicAdd(&report->foreground, sum);
  }
  __threadfence();  // the block has added
  if (atomicAdd(&scene->taught, 1u) != gridDim.x * gridDim.y - 1) return;
  __threadfence();  // all blocks have
  scene->taught = 0;
  *told = {report->cut_value, __ldcg(&report->foreground), report->restarted};
}

}  // namespace

void teach_all(const Canvas& canvas, const Image<const uint8_t>& mask, const EnergyPlan& plan,
               DeviceScene* scene, DeviceReport* report, DeviceReport* told, cudaStream_t stream) {
  launch_pdl(teach_kernel, PixelRows::grid(canvas.width, canvas.height), pixel_block(), 0, stream,
             canvas, mask, plan, scene, report, told);
}

}  // namespace regions::graphcut
