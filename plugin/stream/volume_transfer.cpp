// The frames of one volume on their way into the backend's memory and back: their pictures are
// stacked as they come, and each leaves with its own slice of the results.
#include <deque>
#include <utility>

#include "core/stack.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/cuda_memory.hpp"
#include "plugin/stream/frame_transfer.hpp"

namespace regions {
namespace {

size_t slice_map_bytes(const SlotSetup& setup) { return setup.in.size.area() * sizeof(uint32_t); }

class VolumeTransfer final : public FrameTransfer {
 public:
  VolumeTransfer(const SlotSetup& setup, Queue& queue);

  void add(GstBuffer* input, GstBuffer* output) override;
  int frames() const override { return static_cast<int>(frames_.size()); }
  void bring_in(Job& job) override;
  void take_back(const Job& job) override;
  void complete() override;
  ReturnedFrame take() override;
  void release() override;

 private:
  // The newest frame's rows of a stack.
  Frame newest(const Frame& stacked) const {
    const int height = setup_.in.size.height;
    return rows_of(stacked, (frames() - 1) * height, height);
  }
  void add_mask(GstBuffer* source);
  Stack stack() const { return {setup_.in.size, frames(), setup_.layers}; }
  Frame pictures(Memory memory, const Block& block) const {
    return packed_frame(setup_.in.layout, in_size_, setup_.in.color, memory, block.data());
  }
  Frame masks(Memory memory, const Block& block) const {
    return packed_frame(mask_layout_, in_size_, {}, memory, block.data());
  }
  Frame results(Memory memory, const Block& block) const {
    return rows_of(
        packed_frame(setup_.out.layout, out_size_, setup_.out.color, memory, block.data()), 0,
        stack().rows());
  }

  const SlotSetup& setup_;
  Queue& queue_;
  Size in_size_, out_size_;  // of full stacks
  Block in_, staged_in_, out_, staged_out_, labels_;
  Block masks_, staged_masks_;
  Layout mask_layout_;  // one for all of the volume's masks
  int masked_ = 0;      // frames whose mask is in the stack of masks
  std::deque<HeldFrame> frames_;
  size_t taken_ = 0;
};

VolumeTransfer::VolumeTransfer(const SlotSetup& setup, Queue& queue)
    : setup_(setup), queue_(queue) {
  Backend& backend = *setup.backend;
  const Stack most{setup.in.size, setup.slices, setup.layers};
  in_size_ = {most.slice.width, most.volume_rows()};
  out_size_ = most.size();
  const size_t in_bytes = packed_bytes(setup.in.layout, in_size_);
  in_ = backend.allocate(in_bytes);
  if (setup.uploads()) staged_in_ = backend.allocate_pinned(in_bytes);
  if (setup.replaces()) {
    const size_t out_bytes = packed_bytes(setup.out.layout, out_size_);
    out_ = backend.allocate(out_bytes);
    if (setup.downloads()) staged_out_ = backend.allocate_pinned(out_bytes);
  }
  if (setup.engine->reads_mask()) {
    const size_t mask_bytes = packed_bytes(layout_of(PixelFormat::labels32), in_size_);
    masks_ = backend.allocate(mask_bytes);
    if (backend.memory() == Memory::device) staged_masks_ = backend.allocate_pinned(mask_bytes);
  }
  if (setup.map_pool) {
    labels_ = backend.allocate(slice_map_bytes(setup) * static_cast<size_t>(most.depth()));
  }
}

void VolumeTransfer::add(GstBuffer* input, GstBuffer* output) {
  HeldFrame& held = frames_.emplace_back(input, output);
  if (setup_.map_pool) held.map.reset(acquire(setup_.map_pool, "a label map"));
  if (setup_.engine->reads_mask()) add_mask(input);  // the property may change from frame to frame
  held.in.map(input, setup_.in, GST_MAP_READ);
  if (setup_.in.cuda) setup_.cuda->await_producer(input, queue_);
  const Frame stacked = newest(pictures(setup_.backend->memory(), in_));
  if (setup_.in.cuda) {
    queue_.copy(held.in.frame(), stacked);  // stays mapped until then
    return;
  }
  const Frame staged = setup_.uploads() ? newest(pictures(Memory::host, staged_in_)) : stacked;
  copy_rows(held.in.frame(), staged, setup_.workers);
  held.in.unmap();
  if (setup_.uploads()) queue_.copy(staged, stacked);
  held.input.reset();
}

// Puts the mask that came with the newest frame below those of earlier frames.
void VolumeTransfer::add_mask(GstBuffer* source) {
  expects(masks_.data() && frames() == masked_ + 1,
          "with depth above 1, source can change to mask only in READY or NULL");
  Attached attached;
  read(source, setup_.in.size, attached);
  expect_mask(attached);
  AttachedMask& held = frames_.back().mask;
  const Memory memory = setup_.backend->memory();
  const ConstFrame mask = held.hold(attached, *setup_.backend);
  expects(mask.size() == setup_.in.size, "the attached mask must have the size of the frame");
  if (frames() == 1) mask_layout_ = mask.layout;
  expects(mask.layout.format == mask_layout_.format,
          "all masks of a volume must have the same format");
  ++masked_;
  const Frame stacked = newest(masks(memory, masks_));
  if (mask.memory == Memory::device) {
    queue_.copy(mask, stacked);  // held until then
    return;
  }
  const bool uploads = memory == Memory::device;
  const Frame staged = uploads ? newest(masks(Memory::host, staged_masks_)) : stacked;
  copy_rows(mask, staged, setup_.workers);
  held.drop();
  if (uploads) queue_.copy(staged, stacked);
}

void VolumeTransfer::bring_in(Job& job) {
  const Memory memory = setup_.backend->memory();
  const int rows = stack().volume_rows();
  job.slices = frames();
  job.in = rows_of(pictures(memory, in_), 0, rows);
  if (masked_ == frames()) job.mask = rows_of(masks(memory, masks_), 0, rows);
  if (setup_.replaces()) job.out = results(memory, out_);
  if (setup_.map_pool) {
    const int width = setup_.in.size.width;
    job.labels = {labels_.as<uint32_t>(), width, stack().rows(),
                  static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
  }
}

void VolumeTransfer::take_back(const Job& job) {
  if (setup_.downloads()) queue_.copy(job.out, results(Memory::host, staged_out_));
  if (!setup_.map_pool) return;
  const size_t bytes = slice_map_bytes(setup_);
  for (int k = 0; k < stack().depth(); ++k) {
    const HeldFrame& held = frames_[static_cast<size_t>(k % frames())];
    queue_.copy_bytes(labels_.as<std::byte>() + static_cast<size_t>(k) * bytes,
                      static_cast<std::byte*>(device_data(held.map.get()).data) +
                          static_cast<size_t>(k / frames()) * bytes,
                      bytes);
  }
}

void VolumeTransfer::complete() {
  if (!setup_.replaces()) return;
  const int height = setup_.in.size.height;
  const Frame all = results(Memory::host, setup_.downloads() ? staged_out_ : out_);
  for (int z = 0; z < frames(); ++z) {
    const MappedPicture picture(frames_[static_cast<size_t>(z)].output.get(), setup_.out,
                                GST_MAP_WRITE);
    for (int layer = 0; layer < setup_.layers; ++layer) {
      copy_rows(rows_of(all, (layer * frames() + z) * height, height),
                rows_of(picture.frame(), layer * height, height), setup_.workers);
    }
  }
}

ReturnedFrame VolumeTransfer::take() {
  if (taken_ == frames_.size()) return {};
  HeldFrame& held = frames_[taken_];
  held.in.unmap();
  held.mask.drop();
  held.input.reset();
  return {std::move(held.output), std::move(held.map), static_cast<int>(taken_++)};
}

void VolumeTransfer::release() {
  frames_.clear();
  masked_ = 0;
  taken_ = 0;
}

}  // namespace

std::unique_ptr<FrameTransfer> make_volume_transfer(const SlotSetup& setup, Queue& queue) {
  return std::make_unique<VolumeTransfer>(setup, queue);
}

}  // namespace regions
