// The frames that make one volume.
#include "plugin/slice_stack.hpp"

#include "plugin/block_memory.hpp"
#include "plugin/cuda_memory.hpp"

namespace regions {
namespace {

size_t map_bytes(const SlotSetup& setup) { return setup.in.size.area() * sizeof(uint32_t); }

}  // namespace

SliceStack::SliceStack(const SlotSetup& setup, Queue& queue) : setup_(setup), queue_(queue) {
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
    labels_ = backend.allocate(map_bytes(setup) * static_cast<size_t>(most.depth()));
  }
}

void SliceStack::add(GstBuffer* input, GstBuffer* output) {
  Held& held = frames_.emplace_back();
  held.output = output ? output : input;
  held.input = output ? input : nullptr;
  if (setup_.map_pool) held.map = acquire(setup_.map_pool, "a label map");
  if (setup_.engine->reads_mask()) add_mask(input);  // the property may change from frame to frame
  const int height = setup_.in.size.height, row = (slices() - 1) * height;
  const auto slice_of = [&](const Block& block, Memory memory) {
    return rows_of(packed_frame(setup_.in.layout, in_size_, setup_.in.color, memory, block.data()),
                   row, height);
  };
  held.mapped.map(input, setup_.in, GST_MAP_READ);
  if (setup_.in.cuda) setup_.cuda->await_producer(input, queue_);
  const Frame place = slice_of(in_, setup_.backend->memory());
  if (setup_.in.cuda) {
    queue_.copy(held.mapped.frame(), place);  // stays mapped until then
    return;
  }
  const Frame staged = setup_.uploads() ? slice_of(staged_in_, Memory::host) : place;
  copy_rows(held.mapped.frame(), staged, setup_.workers);
  held.mapped.unmap();
  if (setup_.uploads()) queue_.copy(staged, place);
  gst_clear_buffer(&held.input);
}

Frame SliceStack::masks(Memory memory, const Block& block) const {
  return packed_frame(mask_layout_, in_size_, {}, memory, block.data());
}

void SliceStack::add_mask(GstBuffer* source) {
  expects(masks_.data() && slices() == masked_ + 1,
          "with depth, source becomes mask only when stopped");
  Attached attached;
  read(source, setup_.in.size, attached);
  expect_mask(attached);
  AttachedMask& held = frames_.back().mask;
  const Memory memory = setup_.backend->memory();
  const ConstFrame mask = held.hold(attached, *setup_.backend);
  expects(mask.size() == setup_.in.size, "the mask has another size than the frame");
  if (slices() == 1) mask_layout_ = mask.layout;
  expects(mask.layout.format == mask_layout_.format,
          "the masks of a volume's frames have different formats");
  ++masked_;
  const int height = setup_.in.size.height, row = (slices() - 1) * height;
  const Frame place = rows_of(masks(memory, masks_), row, height);
  if (mask.memory == Memory::device) {
    queue_.copy(mask, place);  // stays until then
    return;
  }
  const Frame staged =
      memory == Memory::device ? rows_of(masks(Memory::host, staged_masks_), row, height) : place;
  copy_rows(mask, staged, setup_.workers);
  held.drop();
  if (memory == Memory::device) queue_.copy(staged, place);
}

Frame SliceStack::outcome(Memory memory, const Block& block) const {
  return rows_of(packed_frame(setup_.out.layout, out_size_, setup_.out.color, memory, block.data()),
                 0, stack().rows());
}

void SliceStack::fill(Job& job) {
  const Memory memory = setup_.backend->memory();
  job.slices = slices();
  job.in = rows_of(packed_frame(setup_.in.layout, in_size_, setup_.in.color, memory, in_.data()), 0,
                   stack().volume_rows());
  if (masked_ == slices()) job.mask = rows_of(masks(memory, masks_), 0, stack().volume_rows());
  if (setup_.replaces()) job.out = outcome(memory, out_);
  if (setup_.map_pool) {
    const int width = setup_.in.size.width;
    job.labels = {labels_.as<uint32_t>(), width, stack().rows(),
                  static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
  }
}

void SliceStack::take_back(const Job& job) {
  if (setup_.downloads()) queue_.copy(job.out, outcome(Memory::host, staged_out_));
  if (!setup_.map_pool) return;
  const size_t bytes = map_bytes(setup_);
  for (int k = 0; k < stack().depth(); ++k) {
    const Held& held = frames_[static_cast<size_t>(k % slices())];
    queue_.copy_bytes(labels_.as<std::byte>() + static_cast<size_t>(k) * bytes,
                      static_cast<std::byte*>(device_data(held.map).data) +
                          static_cast<size_t>(k / slices()) * bytes,
                      bytes);
  }
}

void SliceStack::spread() {
  if (!setup_.replaces()) return;
  const int height = setup_.in.size.height;
  const Frame results = outcome(Memory::host, setup_.downloads() ? staged_out_ : out_);
  for (int z = 0; z < slices(); ++z) {
    const MappedPicture picture(frames_[static_cast<size_t>(z)].output, setup_.out, GST_MAP_WRITE);
    for (int layer = 0; layer < setup_.layers; ++layer) {
      copy_rows(rows_of(results, (layer * slices() + z) * height, height),
                rows_of(picture.frame(), layer * height, height), setup_.workers);
    }
  }
}

SliceStack::Slice SliceStack::take() {
  if (taken_ == frames_.size()) return {};
  Held& held = frames_[taken_];
  held.mapped.unmap();
  held.mask.drop();
  gst_clear_buffer(&held.input);
  return {std::exchange(held.output, nullptr), std::exchange(held.map, nullptr),
          static_cast<int>(taken_++)};
}

void SliceStack::release() {
  for (Held& held : frames_) {
    held.mapped.unmap();
    held.mask.drop();
    gst_clear_buffer(&held.input);
    gst_clear_buffer(&held.output);
    gst_clear_buffer(&held.map);
  }
  frames_.clear();
  masked_ = 0;
  taken_ = 0;
}

}  // namespace regions
