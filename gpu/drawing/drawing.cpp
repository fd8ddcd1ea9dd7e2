// The story of one drawing on the GPU.
#include "gpu/drawing/drawing.hpp"

#include "gpu/drawing/phases.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/runtime/zeros.hpp"

namespace regions {

void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          const DeviceRegions& regions, const DrawingParams& params, const Ink& ink,
          cudaStream_t stream) {
  const Painter painter = painter_of(out, labels, params);
  const bool outlines = params.style & static_cast<uint32_t>(Style::outlines) && !labels.empty();
  const StampPlan stamps = stamp_plan(out.size(), params);
  drawing::prepare({in, out, painter.labels, outlines, stamps, ink}, regions, stream);
  drawing::paint(painter, {outlines, params.thickness}, ink, regions, stream);
}

Block blank_device_ink(Backend& backend, Size picture) {
  Block block = backend.allocate(ink_bytes(picture));
  fill_with_zeros(backend, block.data(), block.bytes());
  return block;
}

}  // namespace regions
