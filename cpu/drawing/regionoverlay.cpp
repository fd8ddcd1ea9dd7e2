// Implements the element regionoverlay on the CPU: draws the attached regions on each frame.
#include "core/drawing/regionoverlay.hpp"

#include <cstring>
#include <vector>

#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "cpu/graphcutbg/graphcutbg.hpp"

namespace regions {
namespace {

// Writes 255 to the pixels of regions that are hidden, and 0 to the others.
void mark_hidden(const LabelView& labels, std::span<const Region> regions,
                 const Image<uint8_t>& hidden, const Workers& workers) {
  const Size size = hidden.size();
  const LabelSampler sampler = sampler_of(labels, size);
  workers.parallel_for(size.height, [&](int y) {
    uint8_t* row = hidden.row(y);
    for (int x = 0; x < size.width; ++x) {
      row[x] = !labels.empty() && sampler.at(x, y) != 0 ? 255 : 0;
    }
  });
  for (const Region& region : regions) {
    if (!is_hidden_box(region, !labels.empty())) continue;
    const Rect box = box_in(region, size);
    for (int y = box.top; !box.empty() && y <= box.bottom; ++y) {
      std::memset(hidden.row(y) + box.left, 255, static_cast<size_t>(box.right - box.left) + 1);
    }
  }
}

class RegionOverlayCpu final : public Algorithm<RegionOverlayParams> {
 public:
  explicit RegionOverlayCpu(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

  void prepare(const RegionOverlayParams& params) override { can_hide_ = params.hides(); }

  void configure(const Setup& setup) override {
    expects_drawable(setup);
    size_ = setup.size;
    workspaces_.assign(can_hide_ ? static_cast<size_t>(setup.slots) : 0, {});
    for (auto& workspace : workspaces_) workspace.allocate(setup.size, kMinHidingCell);
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
    if (params.hides()) {
      expects_hiding(can_hide_);
      graphcutbg::FrameWorkspace* workspace = &workspaces_.at(static_cast<size_t>(task.slot));
      queue_of(queue).submit(
          [task, labels, regions, plan = graphcutbg::hiding_plan_of(params), workspace, workers] {
            const Size size = task.in.size();
            mark_hidden(labels, regions,
                        {workspace->hidden.data(), size.width, size.height, size.width}, *workers);
            FrameTask picture = task;
            picture.foreground = {};
            graphcutbg::composite_output(picture, plan, {}, *workspace, *workers);
          });
    }
    const ConstFrame in = params.hides() ? task.out : task.in;
    queue_of(queue).submit([in, out = task.out, labels, regions, drawing, ink, workers] {
      draw(in, out, labels, regions, drawing, ink, *workers);
    });
  }

 private:
  std::shared_ptr<Backend> backend_;
  std::vector<Block> ink_;  // [slots], memory of Ink (core/drawing/drawing.hpp)
  Size size_;
  uint32_t max_regions_ = 0;
  bool can_hide_ = false;                               // whether workspaces_ has memory
  std::vector<graphcutbg::FrameWorkspace> workspaces_;  // [slots]
};

}  // namespace

template <>
std::unique_ptr<Algorithm<RegionOverlayParams>>
make_algorithm<RegionOverlayParams, BackendKind::cpu>(std::shared_ptr<Backend> backend) {
  return std::make_unique<RegionOverlayCpu>(std::move(backend));
}

}  // namespace regions
