// Running cclabel with track=true over many frames.
#include "tests/cclabel/tracking_run.hpp"

#include <algorithm>
#include <cstring>

namespace regions {
namespace {

Frame packed(const Layout& layout, Size size, void* memory) {
  Frame frame;
  frame.layout = layout;
  frame.width = size.width;
  frame.height = size.height;
  auto* next = static_cast<std::byte*>(memory);
  for (int p = 0; p < layout.planes; ++p) {
    frame.plane[p] = next;
    frame.pitch[p] = static_cast<ptrdiff_t>(row_bytes(layout, p, size));
    next += row_bytes(layout, p, size) * static_cast<size_t>(row_count(layout, p, size));
  }
  return frame;
}

size_t bytes_of(const Layout& layout, Size size) {
  size_t bytes = 0;
  for (int p = 0; p < layout.planes; ++p) {
    bytes += row_bytes(layout, p, size) * static_cast<size_t>(row_count(layout, p, size));
  }
  return bytes;
}

}  // namespace

bool TrackedFrame::operator==(const TrackedFrame& other) const {
  const auto equal = [](const std::vector<Region>& a, const std::vector<Region>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Region)) == 0);
  };
  return std::memcmp(&report, &other.report, sizeof report) == 0 && equal(regions, other.regions) &&
         equal(parts, other.parts);
}

struct TrackedRun::Slot {
  int index = 0;
  std::unique_ptr<Queue> queue;
  Block picture, mask, table;
  bool busy = false;
};

TrackedRun::TrackedRun(std::shared_ptr<Backend> backend,
                       std::unique_ptr<Algorithm<CcLabelParams>> algorithm, const Layout& layout,
                       Size size, int slots, uint32_t capacity)
    : backend_(std::move(backend)),
      entry_(*backend_),
      layout_(layout),
      size_(size),
      capacity_(capacity),
      algorithm_(std::move(algorithm)) {
  Setup setup{.in = layout, .size = size, .slots = slots, .max_regions = capacity, .tracks = true};
  setup.has_mask = true;
  setup.mask = layout_of(PixelFormat::gray8);
  algorithm_->configure(setup);
  for (int i = 0; i < slots; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->index = i;
    slot->queue = backend_->make_queue();
    slot->picture = backend_->allocate(bytes_of(layout, size));
    slot->mask = backend_->allocate(size.area());
    slot->table = backend_->allocate_pinned((capacity + 1) * sizeof(Region));
    slots_.push_back(std::move(slot));
  }
}

TrackedRun::~TrackedRun() {
  slots_.clear();
  algorithm_.reset();
}

void TrackedRun::begin(Slot& slot, const ConstFrame& frame, const ConstFrame& mask,
                       const CcLabelParams& params) {
  Frame in = packed(layout_, size_, slot.picture.data());
  in.memory = backend_->memory();
  slot.queue->copy(frame, in);
  FrameTask task;
  task.slot = slot.index;
  task.in = in;
  if (!mask.empty()) {
    Frame there = packed(mask.layout, mask.size(), slot.mask.data());
    there.memory = backend_->memory();
    slot.queue->copy(mask, there);
    task.mask = there;
    task.mask_is_small = !(mask.size() == size_);
  }
  auto* regions = slot.table.as<Region>();
  task.table = {regions, capacity_, reinterpret_cast<uint32_t*>(regions + capacity_)};
  task.table.occluded_tracks = task.table.total + 1;
  *task.table.occluded_tracks = 0;
  algorithm_->enqueue(task, params, *slot.queue);
  slot.queue->record();
  slot.busy = true;
}

TrackedFrame TrackedRun::finish(Slot& slot) const {
  slot.queue->wait();
  slot.busy = false;
  const auto* regions = slot.table.as<Region>();
  const auto* counts = reinterpret_cast<const uint32_t*>(regions + capacity_);
  const uint32_t total = std::min(counts[0], capacity_), parts = counts[1];
  TrackedFrame frame;
  frame.regions.assign(regions, regions + total);
  frame.parts.assign(regions + total, regions + total + parts);
  frame.report = dynamic_cast<const CcLabel&>(*algorithm_).track_events(slot.index);
  return frame;
}

std::vector<TrackedFrame> TrackedRun::run(const std::vector<ConstFrame>& frames,
                                          const CcLabelParams& params) {
  return run(frames, std::vector<ConstFrame>(frames.size()), params);
}

std::vector<TrackedFrame> TrackedRun::run(const std::vector<ConstFrame>& frames,
                                          const std::vector<ConstFrame>& masks,
                                          const CcLabelParams& params) {
  std::vector<TrackedFrame> results;
  for (size_t i = 0; i < frames.size() + slots_.size(); ++i) {
    Slot& slot = *slots_[i % slots_.size()];
    if (slot.busy) results.push_back(finish(slot));
    if (i < frames.size()) begin(slot, frames[i], masks[i], params);
  }
  return results;
}

}  // namespace regions
