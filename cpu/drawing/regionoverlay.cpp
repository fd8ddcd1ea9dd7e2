// Implements the element regionoverlay on the CPU: draws the attached regions on each frame.
#include "core/drawing/regionoverlay.hpp"

#include <cstring>
#include <vector>

#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"

namespace regions {
namespace {

class RegionOverlayCpu final : public Algorithm<RegionOverlayParams> {
 public:
  explicit RegionOverlayCpu(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  void configure(const Setup& setup) override {
    expects_drawable(setup);
    size_ = setup.size;
    ink_.clear();
    for (int slot = 0; slot < setup.slots; ++slot) {
      ink_.push_back(backend_->allocate(ink_bytes(setup.size)));
      std::memset(ink_.back().data(), 0, ink_.back().bytes());
    }
    max_regions_ = setup.max_regions;
  }

  void enqueue(const FrameTask& task, const RegionOverlayParams& params, Queue& queue) override {
    const std::span<const Region> regions(task.attached,
                                          std::min(task.attached_count, max_regions_));
    const Ink ink = ink_in(ink_.at(static_cast<size_t>(task.slot)).data(), size_);
    const LabelView labels = task.mask.empty() ? LabelView() : LabelView(task.mask);
    const DrawingParams& drawing = params;
    const Workers* workers = &workers_of(*backend_);
    queue_of(queue).submit([in = task.in, out = task.out, labels, regions, drawing, ink, workers] {
      draw(in, out, labels, regions, drawing, ink, *workers);
    });
  }

 private:
  std::shared_ptr<Backend> backend_;
  std::vector<Block> ink_;  // [slots], memory of Ink (core/drawing/drawing.hpp)
  Size size_;
  uint32_t max_regions_ = 0;
};

}  // namespace

template <>
std::unique_ptr<Algorithm<RegionOverlayParams>>
make_algorithm<RegionOverlayParams, BackendKind::cpu>(std::shared_ptr<Backend> backend) {
  return std::make_unique<RegionOverlayCpu>(std::move(backend));
}

}  // namespace regions
