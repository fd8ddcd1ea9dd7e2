// The kernels that mark the pixels of regions that regionoverlay hides.
#include "core/drawing/regionoverlay.hpp"
#include "gpu/drawing/drawing.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::drawing {
namespace {

constexpr dim3 kBlock(32, 8);

__global__ void label_marking_kernel(LabelSampler labels, bool has_labels, Image<uint8_t> hidden) {
  const auto x = static_cast<int>(blockIdx.x * kBlock.x + threadIdx.x);
  const auto y = static_cast<int>(blockIdx.y * kBlock.y + threadIdx.y);
  if (!hidden.contains(x, y)) return;
  hidden(x, y) = has_labels && labels.at(x, y) != 0 ? 255 : 0;
}

// Each block marks the boxes of every gridDim.x-th record. Boxes may overlap: all threads write the
// same value.
__global__ void box_marking_kernel(DeviceRegions regions, bool has_labels, Image<uint8_t> hidden) {
  const uint32_t count = min(*regions.count, regions.capacity);
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
    const Region& region = regions.regions[i];
    if (!is_hidden_box(region, has_labels)) continue;
    const Rect box = box_in(region, hidden.size());
    for (int y = box.top + static_cast<int>(threadIdx.y); y <= box.bottom;
         y += static_cast<int>(kBlock.y)) {
      for (int x = box.left + static_cast<int>(threadIdx.x); x <= box.right;
           x += static_cast<int>(kBlock.x)) {
        hidden(x, y) = 255;
      }
    }
  }
}

}  // namespace

void mark_hidden(const LabelSampler& labels, bool has_labels, const DeviceRegions& regions,
                 const Image<uint8_t>& hidden, cudaStream_t stream) {
  const dim3 grid(blocks_for(static_cast<size_t>(hidden.width), kBlock.x),
                  blocks_for(static_cast<size_t>(hidden.height), kBlock.y));
  launch(label_marking_kernel, grid, kBlock, 0, stream, labels, has_labels, hidden);
  if (regions.capacity == 0) return;
  const unsigned blocks = std::min(regions.capacity, 16 * multiprocessors());
  launch(box_marking_kernel, blocks, kBlock, 0, stream, regions, has_labels, hidden);
}

}  // namespace regions::drawing
