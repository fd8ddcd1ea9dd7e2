// The weights of the cut: evidence and links of each pixel in one pass over model and frame.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/graphcutbg/pixels.hpp"

namespace regions::graphcut {
namespace {

__global__ void weigh_kernel(Canvas canvas, ConstFrame mask, EnergyPlan plan,
                             const DeviceScene* scene) {
  const auto [x, y] = place_of_thread();
  if (x >= canvas.width || y >= canvas.height) return;
  weigh(canvas, mask, scene->frame, plan, x, y);
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
  launch(weigh_kernel, pixel_grid(canvas.width, canvas.height), pixel_block(), 0, stream, canvas,
         mask, plan, scene);
}

void value_cut(const Canvas& canvas, const Image<const uint8_t>& mask, DeviceReport* report,
               cudaStream_t stream) {
  static_assert(PixelBlock::width == 32, "a warp is a row of the block");
  launch(value_kernel, pixel_grid(canvas.width, canvas.height), pixel_block(), 0, stream, canvas,
         mask, report);
}

}  // namespace regions::graphcut
