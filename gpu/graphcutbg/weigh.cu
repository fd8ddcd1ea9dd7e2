// The weights of the cut: evidence and links of each pixel in one pass over model and frame.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/graphcutbg/pixels.hpp"
#include "gpu/graphcutbg/terms.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::graphcut {
namespace {

__global__ void __launch_bounds__(PixelBlock::threads, PixelRows::blocks)
    weigh_kernel(const __grid_constant__ Canvas canvas, const __grid_constant__ ConstFrame mask,
                 const __grid_constant__ EnergyPlan plan, const DeviceScene* scene) {
  __shared__ SharedTerms shared;
  pdl_trigger_and_wait();
  const Terms& terms = shared.load(scene->frame, plan);
  for (auto [x, y] = place_of_thread(); y < canvas.height; y += PixelRows::step()) {
    if (x < canvas.width) weigh(canvas, mask, terms.frame, terms.energy, x, y);
  }
}

__global__ void value_kernel(Canvas canvas, Image<const uint8_t> mask, DeviceReport* report) {
  const auto [x, y] = place_of_thread();
  const bool inside = x < canvas.width && y < canvas.height;
  long long value = inside ? cut_value_at(canvas, mask, x, y) : 0;
  for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_down_sync(~0u, value, lanes);
  // Of integers: the order of adding does not matter.
  if (threadIdx.x == 0 && value != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&report->cut_value),
              static_cast<unsigned long long>(value));
  }
}

}  // namespace

void weigh_all(const Canvas& canvas, const ConstFrame& mask, const EnergyPlan& plan,
               const DeviceScene* scene, cudaStream_t stream) {
  launch_pdl(weigh_kernel, PixelRows::grid(canvas.width, canvas.height), pixel_block(), 0, stream,
             canvas, mask, plan, scene);
}

void value_cut(const Canvas& canvas, const Image<const uint8_t>& mask, DeviceReport* report,
               cudaStream_t stream) {
  static_assert(PixelBlock::width == 32, "a warp is a row of the block");
  launch(value_kernel, pixel_grid(canvas.width, canvas.height), pixel_block(), 0, stream, canvas,
         mask, report);
}

}  // namespace regions::graphcut
