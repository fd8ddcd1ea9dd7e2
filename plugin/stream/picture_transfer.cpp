// One picture's way into the backend's memory and back.
#include <algorithm>
#include <optional>

#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/cuda_memory.hpp"
#include "plugin/memory/fence.hpp"
#include "plugin/stream/frame_transfer.hpp"

namespace regions {
namespace {

class PictureTransfer final : public FrameTransfer {
 public:
  PictureTransfer(const SlotSetup& setup, Queue& queue);

  void add(GstBuffer* input, GstBuffer* output) override { frame_.emplace(input, output); }
  int frames() const override { return frame_ ? 1 : 0; }
  void bring_in(Job& job) override;
  void take_back(const Job& job) override;
  void complete() override;
  ReturnedFrame hand_over() override;
  ReturnedFrame take() override {
    if (!frame_) return {};
    return {std::move(frame_->output), std::move(frame_->map)};
  }
  void release() override { frame_.reset(); }

 private:
  Frame bring_picture();
  void bring_attached(Job& job);
  ConstFrame bring_mask();
  void take_map(Job& job);

  bool draws_in_place() const { return setup_.picture == Output::drawn_on; }
  Frame packed_in(Memory memory, const Block& block) const {
    return packed_frame(setup_.in.layout, setup_.in.size, setup_.in.color, memory, block.data());
  }
  Frame packed_out(Memory memory, const Block& block) const {
    return packed_frame(setup_.out.layout, setup_.out.size, setup_.out.color, memory, block.data());
  }
  // The mapped picture that results go to.
  const Frame& target() const { return (draws_in_place() ? frame_->in : frame_->out).frame(); }
  // Whether results come by way of pinned memory, from where complete() copies them.
  bool stages_result() const { return setup_.downloads() && !is_pinned(frame_->output.get()); }

  const SlotSetup& setup_;
  Queue& queue_;
  Block pinned_in_, device_in_, pinned_out_, device_out_;
  Block pinned_mask_, device_mask_;
  Attached attached_;
  std::optional<HeldFrame> frame_;
};

PictureTransfer::PictureTransfer(const SlotSetup& setup, Queue& queue)
    : setup_(setup), queue_(queue) {
  Backend& backend = *setup.backend;
  if (setup.uploads()) {
    const size_t in_bytes = packed_bytes(setup.in.layout, setup.in.size);
    pinned_in_ = backend.allocate_pinned(in_bytes);
    device_in_ = backend.allocate(in_bytes);
  }
  if (setup.downloads()) {
    const size_t out_bytes = packed_bytes(setup.out.layout, setup.out.size);
    pinned_out_ = backend.allocate_pinned(out_bytes);
    if (setup.replaces()) device_out_ = backend.allocate(out_bytes);
  }
}

void PictureTransfer::bring_in(Job& job) {
  const Frame in = bring_picture();
  job.in = in;
  if (draws_in_place()) job.out = in;
  if (setup_.replaces()) {
    frame_->out.map(frame_->output.get(), setup_.out, GST_MAP_WRITE);
    job.out = setup_.downloads() ? packed_out(Memory::device, device_out_) : frame_->out.frame();
  }
  bring_attached(job);
  if (setup_.map_pool) take_map(job);
}

Frame PictureTransfer::bring_picture() {
  GstBuffer* source = frame_->source();
  follow_fence(source, queue_);
  MappedPicture& mapped = frame_->in;
  mapped.map(source, setup_.in, draws_in_place() ? GST_MAP_READWRITE : GST_MAP_READ);
  if (setup_.in.cuda) setup_.cuda->await_producer(source, queue_);
  if (!setup_.uploads()) return mapped.frame();
  const Frame in = packed_in(Memory::device, device_in_);
  if (is_pinned(source)) {
    queue_.copy(mapped.frame(), in);
  } else {
    const Frame staged = packed_in(Memory::host, pinned_in_);
    copy_rows(mapped.frame(), staged, setup_.workers);
    queue_.copy(staged, in);
  }
  return in;
}

void PictureTransfer::bring_attached(Job& job) {
  Engine& engine = *setup_.engine;
  if (!engine.reads_mask()) return;
  const bool found = read(frame_->source(), setup_.in.size, attached_);
  if (engine.needs_mask()) expect_mask(attached_);
  if (!found) return;
  if (!setup_.work_area.is_whole()) reduce(setup_.work_area, attached_.regions);
  job.attached = attached_.regions.data();
  job.attached_count =
      static_cast<uint32_t>(std::min<size_t>(attached_.regions.size(), engine.max_regions()));
  if (!attached_.labels) return;
  job.mask = bring_mask();
  job.mask_is_small = setup_.work_area.is_whole() && frame_->mask.is_small();
}

ConstFrame PictureTransfer::bring_mask() {
  Backend& backend = *setup_.backend;
  const bool takes_small = !setup_.work_area.is_whole() || setup_.engine->reads_small_masks();
  ConstFrame mask;
  if (takes_small) mask = frame_->mask.hold_small(attached_, setup_.work_area);
  if (mask.empty()) mask = frame_->mask.hold(attached_, backend);
  if (mask.memory == backend.memory()) return mask;
  const size_t bytes = static_cast<size_t>(mask.pitch[0]) * static_cast<size_t>(mask.height);
  if (device_mask_.bytes() < bytes) {  // at the first such frame only
    pinned_mask_ = backend.allocate_pinned(bytes);
    device_mask_ = backend.allocate(bytes);
  }
  std::copy_n(mask.plane[0], bytes, pinned_mask_.as<std::byte>());
  queue_.copy_bytes(pinned_mask_.data(), device_mask_.data(), bytes);
  mask.plane[0] = device_mask_.as<std::byte>();
  mask.memory = backend.memory();
  return mask;
}

void PictureTransfer::take_map(Job& job) {
  frame_->map.reset(acquire(setup_.map_pool, "a label map or mask"));
  void* data = device_data(frame_->map.get()).data;
  Size size = {setup_.in.size.width, setup_.in.size.height * setup_.layers};
  if (setup_.keeps_small_maps()) {
    size = setup_.work_area.work;
    data = begin_small_map(frame_->map.get(), setup_.work_area);
  }
  if (setup_.map_format() == PixelFormat::gray8) {
    job.foreground = {static_cast<uint8_t*>(data), size.width, size.height, size.width};
  } else {
    job.labels = {static_cast<uint32_t*>(data), size.width, size.height,
                  static_cast<ptrdiff_t>(sizeof(uint32_t)) * size.width};
  }
}

void PictureTransfer::take_back(const Job& job) {
  if (!setup_.downloads()) return;
  queue_.copy(job.out, stages_result() ? packed_out(Memory::host, pinned_out_) : target());
}

ReturnedFrame PictureTransfer::hand_over() {
  frame_->in.unmap();
  mark_complete(frame_->source());  // with a fence
  return take();
}

void PictureTransfer::complete() {
  if (!frame_->output) return;  // it was handed over
  if (stages_result()) copy_rows(packed_out(Memory::host, pinned_out_), target(), setup_.workers);
  frame_->in.unmap();
  frame_->out.unmap();
  if (setup_.in.cuda) mark_complete(frame_->source());
}

}  // namespace

std::unique_ptr<FrameTransfer> make_picture_transfer(const SlotSetup& setup, Queue& queue) {
  return std::make_unique<PictureTransfer>(setup, queue);
}

}  // namespace regions
