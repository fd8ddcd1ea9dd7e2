// The model learns what the cut made of the frame.
#include "gpu/graphcutbg/phases.hpp"
#include "gpu/graphcutbg/pixels.hpp"
#include "gpu/primitives/atomic_add.hpp"

namespace regions::graphcut {
namespace {

__global__ void teach_kernel(Canvas canvas, Image<const uint8_t> mask, EnergyPlan plan,
                             DeviceScene* scene, DeviceReport* report) {
  const auto [x, y] = place_of_thread();
  const bool inside = x < canvas.width && y < canvas.height;
  const bool foreground = inside && mask(x, y) != 0;
  if (inside) teach(canvas, scene->frame, plan, foreground, x, y, AtomicAdd());
  const int count = __syncthreads_count(foreground);
  // Of integers: the order of adding does not matter.
  if (count > 0 && threadIdx.x == 0 && threadIdx.y == 0) {
    atomicAdd(&scene->survey.foreground, static_cast<uint32_t>(count));
    atomicAdd(&report->foreground, static_cast<uint32_t>(count));
  }
}

}  // namespace

void teach_all(const Canvas& canvas, const Image<const uint8_t>& mask, const EnergyPlan& plan,
               DeviceScene* scene, DeviceReport* report, cudaStream_t stream) {
  launch(teach_kernel, pixel_grid(canvas.width, canvas.height), pixel_block(), 0, stream, canvas,
         mask, plan, scene, report);
}

}  // namespace regions::graphcut
