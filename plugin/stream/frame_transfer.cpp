// Implements FrameTransfer for single pictures and for volumes, and WorkAreaPictures.
#include "plugin/stream/frame_transfer.hpp"

#include <algorithm>
#include <utility>

#include "core/frame.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/cuda_memory.hpp"

namespace regions {

// ---- the buffers of one picture

void FrameBuffers::hold(BufferPtr from, BufferPtr new_output) {
  if (new_output) {
    input = std::move(from);
    output = std::move(new_output);
  } else {
    output = std::move(from);
  }
}

void FrameBuffers::end_reading() {
  out.unmap();
  in.unmap();
  mask.unmap();
  input.reset();
}

void FrameBuffers::release() {
  end_reading();
  label_map.reset();
  output.reset();
  scene_change.reset();
  notes = {};
  structure = nullptr;
}

namespace {

// ---- one picture

// Transfers one picture per task.
class PictureTransfer final : public FrameTransfer {
 public:
  PictureTransfer(StreamResources& resources, const SharedPlan& plan, Queue& queue);

  void enqueue_inputs(std::span<FrameBuffers> frames, FrameTask& task) override;
  void enqueue_outputs(std::span<FrameBuffers> frames, const FrameTask& task) override;
  void complete_buffers(std::span<FrameBuffers> frames) override;

 private:
  // Enqueues the copy of the input picture to the backend, if it is not there already. Returns the
  // picture on the backend.
  Frame enqueue_picture(FrameBuffers& frame);
  void read_attached_regions(FrameBuffers& frame, FrameTask& task);
  // Returns the attached mask in the backend's memory. Enqueues a copy if necessary.
  ConstFrame mask_on_backend(AttachedMask& attached_mask);
  void prepare_label_map(FrameBuffers& frame, FrameTask& task);

  // The input or output picture in a block of memory, without padding between rows.
  Frame packed_in(Memory memory, const Block& block) const {
    return packed_frame(plan_->in.layout, plan_->in.size, plan_->in.color, memory, block.data());
  }
  Frame packed_out(Memory memory, const Block& block) const {
    return packed_frame(plan_->out.layout, plan_->out.size, plan_->out.color, memory, block.data());
  }
  // The mapping of the output buffer.
  const Frame& mapped_target(const FrameBuffers& frame) const {
    return (plan_->draws_in_place() ? frame.in : frame.out).frame();
  }
  // Whether the output picture is copied to pinned memory first. complete_buffers() then copies it
  // to the output buffer.
  bool stages_output(const FrameBuffers& frame) const {
    return plan_->downloads() && !is_pinned(frame.output.get());
  }

  Block pinned_in_, device_in_, pinned_out_, device_out_;
  Block pinned_mask_, device_mask_;
  AttachedRegions attached_;  // the frame's regions and mask from an upstream element
};

PictureTransfer::PictureTransfer(StreamResources& resources, const SharedPlan& plan, Queue& queue)
    : FrameTransfer(resources, plan, queue) {
  Backend& backend = *plan->backend;
  if (plan->uploads()) {
    const size_t in_bytes = packed_bytes(plan->in.layout, plan->in.size);
    pinned_in_ = backend.allocate_pinned(in_bytes);
    device_in_ = backend.allocate(in_bytes);
  }
  if (plan->downloads()) {
    const size_t out_bytes = packed_bytes(plan->out.layout, plan->out.size);
    pinned_out_ = backend.allocate_pinned(out_bytes);
    if (plan->replaces_picture()) device_out_ = backend.allocate(out_bytes);
  }
}

void PictureTransfer::enqueue_inputs(std::span<FrameBuffers> frames, FrameTask& task) {
  FrameBuffers& frame = frames.front();
  const Frame in = enqueue_picture(frame);
  task.in = in;
  if (plan_->draws_in_place()) task.out = in;
  if (plan_->replaces_picture()) {
    frame.out.map(frame.output.get(), plan_->out, GST_MAP_WRITE);
    task.out = plan_->downloads() ? packed_out(Memory::device, device_out_) : frame.out.frame();
  }
  read_attached_regions(frame, task);
  if (resources_.label_map_pool) prepare_label_map(frame, task);
}

Frame PictureTransfer::enqueue_picture(FrameBuffers& frame) {
  GstBuffer* source = frame.source();
  frame.scene_change = enqueue_fence_wait(source, queue_);
  MappedPicture& mapped = frame.in;
  mapped.map(source, plan_->in, plan_->draws_in_place() ? GST_MAP_READWRITE : GST_MAP_READ);
  if (plan_->in.cuda) resources_.cuda.await_producer(source, queue_);
  if (!plan_->uploads()) return mapped.frame();
  const Frame in = packed_in(Memory::device, device_in_);
  if (is_pinned(source)) {
    queue_.copy(mapped.frame(), in);
  } else {
    const Frame staged = packed_in(Memory::host, pinned_in_);
    copy_rows(mapped.frame(), staged, resources_.workers);
    queue_.copy(staged, in);
  }
  return in;
}

void PictureTransfer::read_attached_regions(FrameBuffers& frame, FrameTask& task) {
  ElementAlgorithm& algorithm = *resources_.algorithm;
  if (!algorithm.reads_mask()) return;
  read_regions(frame.source(), plan_->in.size, attached_);
  frame.notes = algorithm.read_foreign(frame.source(), plan_->in.size, attached_);
  if (algorithm.needs_mask()) expect_mask(attached_);
  const bool is_whole = plan_->work_area.is_identity();
  if (!is_whole) reduce(plan_->work_area, attached_.regions);
  task.attached = attached_.regions.data();
  task.attached_count =
      static_cast<uint32_t>(std::min<size_t>(attached_.regions.size(), plan_->setup.max_regions));
  if (!attached_.labels) return;
  task.mask = mask_on_backend(frame.mask);
  task.mask_is_small = is_whole && frame.mask.is_small();
}

ConstFrame PictureTransfer::mask_on_backend(AttachedMask& attached_mask) {
  Backend& backend = *plan_->backend;
  const bool accepts_small =
      !plan_->work_area.is_identity() || resources_.algorithm->reads_small_masks();
  ConstFrame mask;
  if (accepts_small) mask = attached_mask.map_small(attached_, plan_->work_area);
  if (mask.empty()) mask = attached_mask.map(attached_, backend);
  if (mask.memory == backend.memory()) return mask;
  const size_t bytes = static_cast<size_t>(mask.pitch[0]) * static_cast<size_t>(mask.height);
  if (device_mask_.bytes() < bytes) {  // the first mask, or a larger one than before
    pinned_mask_ = backend.allocate_pinned(bytes);
    device_mask_ = backend.allocate(bytes);
  }
  std::copy_n(mask.plane[0], bytes, pinned_mask_.as<std::byte>());
  queue_.copy_bytes(pinned_mask_.data(), device_mask_.data(), bytes);
  mask.plane[0] = device_mask_.as<std::byte>();
  mask.memory = backend.memory();
  return mask;
}

void PictureTransfer::prepare_label_map(FrameBuffers& frame, FrameTask& task) {
  frame.label_map.reset(acquire(resources_.label_map_pool.get(), "a label map or mask"));
  void* data = device_data(frame.label_map.get()).data;
  Size size = {plan_->in.size.width, plan_->in.size.height * plan_->setup.layers};
  if (plan_->keeps_small_label_maps()) {
    size = plan_->work_area.work;
    data = begin_small_map(frame.label_map.get(), plan_->work_area);
  }
  if (plan_->label_map_format() == PixelFormat::gray8) {
    task.foreground = {static_cast<uint8_t*>(data), size.width, size.height, size.width};
  } else {
    task.labels = {static_cast<uint32_t*>(data), size.width, size.height,
                   static_cast<ptrdiff_t>(sizeof(uint32_t)) * size.width};
  }
}

void PictureTransfer::enqueue_outputs(std::span<FrameBuffers> frames, const FrameTask& task) {
  if (!plan_->downloads()) return;
  const FrameBuffers& frame = frames.front();
  queue_.copy(task.out,
              stages_output(frame) ? packed_out(Memory::host, pinned_out_) : mapped_target(frame));
}

void PictureTransfer::complete_buffers(std::span<FrameBuffers> frames) {
  FrameBuffers& frame = frames.front();
  if (!frame.output) return;  // the frame was pushed early
  if (stages_output(frame))
    copy_rows(packed_out(Memory::host, pinned_out_), mapped_target(frame), resources_.workers);
  frame.in.unmap();
  frame.out.unmap();
  if (plan_->in.cuda) mark_complete(frame.source());
}

// ---- volumes

// Size of the label map of one slice in one layer (bytes).
size_t slice_label_map_bytes(const StreamPlan& plan) {
  return plan.in.size.area() * sizeof(uint32_t);
}

// Transfers the frames of a volume, which are slices one below another in one tall picture.
class VolumeTransfer final : public FrameTransfer {
 public:
  VolumeTransfer(StreamResources& resources, const SharedPlan& plan, Queue& queue);

  void add(std::span<FrameBuffers> frames) override;
  void enqueue_inputs(std::span<FrameBuffers> frames, FrameTask& task) override;
  void enqueue_outputs(std::span<FrameBuffers> frames, const FrameTask& task) override;
  void complete_buffers(std::span<FrameBuffers> frames) override;

 private:
  // Copies the mask of the newest frame to masks_, below the masks of earlier frames.
  void add_mask(std::span<FrameBuffers> frames);
  // Copies the picture or mask of the newest frame to its rows of the volume. `frames` is the
  // number of frames that have been added, including the newest. If the volume is on a GPU,
  // `staging` is pinned memory of the same size. Returns whether the picture may be released now.
  // Otherwise it must stay mapped until the work is done.
  bool append(const ConstFrame& picture, size_t frames, const Layout& layout,
              const Colorimetry& color, const Block& volume, const Block& staging);
  VolumeLayout volume_layout(size_t frames) const {
    return {plan_->in.size, static_cast<int>(frames), plan_->setup.layers};
  }
  // The output pictures of the frames that have been added, in a block of memory.
  Frame volume_output(Memory memory, const Block& block, size_t frames) const {
    return rows_of(
        packed_frame(plan_->out.layout, out_size_, plan_->out.color, memory, block.data()), 0,
        volume_layout(frames).rows());
  }

  // Sizes of the tall input and output pictures of a full volume (pixels).
  Size in_size_, out_size_;
  // The tall pictures on the backend, and copies of them in pinned memory (`staged`).
  Block in_, staged_in_, out_, staged_out_, labels_;
  Block masks_, staged_masks_;
  Layout mask_layout_;     // layout of the masks, the same for all masks of a volume
  size_t mask_count_ = 0;  // number of frames whose mask has been added
};

VolumeTransfer::VolumeTransfer(StreamResources& resources, const SharedPlan& plan, Queue& queue)
    : FrameTransfer(resources, plan, queue) {
  Backend& backend = *plan->backend;
  const VolumeLayout full_volume{plan->in.size, plan->setup.depth, plan->setup.layers};
  in_size_ = {full_volume.slice.width, full_volume.volume_rows()};
  out_size_ = full_volume.size();
  const size_t in_bytes = packed_bytes(plan->in.layout, in_size_);
  in_ = backend.allocate(in_bytes);
  if (plan->uploads()) staged_in_ = backend.allocate_pinned(in_bytes);
  if (plan->replaces_picture()) {
    const size_t out_bytes = packed_bytes(plan->out.layout, out_size_);
    out_ = backend.allocate(out_bytes);
    if (plan->downloads()) staged_out_ = backend.allocate_pinned(out_bytes);
  }
  if (plan->setup.has_mask) {
    const size_t mask_bytes = packed_bytes(layout_of(PixelFormat::labels32), in_size_);
    masks_ = backend.allocate(mask_bytes);
    if (backend.memory() == Memory::device) staged_masks_ = backend.allocate_pinned(mask_bytes);
  }
  if (plan->attaches_label_map()) {
    labels_ = backend.allocate(slice_label_map_bytes(*plan) *
                               static_cast<size_t>(full_volume.total_slices()));
  }
}

void VolumeTransfer::add(std::span<FrameBuffers> frames) {
  FrameBuffers& frame = frames.back();
  if (frames.size() == 1) mask_count_ = 0;
  if (resources_.label_map_pool)
    frame.label_map.reset(acquire(resources_.label_map_pool.get(), "a label map"));
  // reads_mask() is checked for each frame, because the property `source` may change between
  // frames.
  if (resources_.algorithm->reads_mask()) add_mask(frames);
  GstBuffer* source = frame.source();
  frame.in.map(source, plan_->in, GST_MAP_READ);
  if (plan_->in.cuda) resources_.cuda.await_producer(source, queue_);
  if (!append(frame.in.frame(), frames.size(), plan_->in.layout, plan_->in.color, in_, staged_in_))
    return;
  frame.in.unmap();
  frame.input.reset();
}

bool VolumeTransfer::append(const ConstFrame& picture, size_t frames, const Layout& layout,
                            const Colorimetry& color, const Block& volume, const Block& staging) {
  const int height = plan_->in.size.height;
  const auto newest_rows = [&](Memory memory, const Block& block) {
    return rows_of(packed_frame(layout, in_size_, color, memory, block.data()),
                   (static_cast<int>(frames) - 1) * height, height);
  };
  const Memory memory = plan_->backend->memory();
  const Frame rows = newest_rows(memory, volume);
  if (picture.memory == Memory::device) {
    queue_.copy(picture, rows);
    return false;
  }
  const bool uploads = memory == Memory::device;
  const Frame staged = uploads ? newest_rows(Memory::host, staging) : rows;
  copy_rows(picture, staged, resources_.workers);
  if (uploads) queue_.copy(staged, rows);
  return true;
}

void VolumeTransfer::add_mask(std::span<FrameBuffers> frames) {
  FrameBuffers& frame = frames.back();
  expects(masks_.data() && frames.size() == mask_count_ + 1,
          "with depth above 1, source can change to mask only in READY or NULL");
  AttachedRegions attached;
  read_regions(frame.source(), plan_->in.size, attached);
  expect_mask(attached);
  const ConstFrame mask = frame.mask.map(attached, *plan_->backend);
  expects(mask.size() == plan_->in.size, "the attached mask must have the size of the frame");
  if (frames.size() == 1) mask_layout_ = mask.layout;
  expects(mask.layout.format == mask_layout_.format,
          "all masks of a volume must have the same format");
  ++mask_count_;
  if (append(mask, frames.size(), mask_layout_, {}, masks_, staged_masks_)) frame.mask.unmap();
}

void VolumeTransfer::enqueue_inputs(std::span<FrameBuffers> frames, FrameTask& task) {
  const Memory memory = plan_->backend->memory();
  const VolumeLayout layout = volume_layout(frames.size());
  task.slices = static_cast<int>(frames.size());
  const auto added_rows = [&](const Layout& pixels, const Colorimetry& color, const Block& block) {
    return rows_of(packed_frame(pixels, in_size_, color, memory, block.data()), 0,
                   layout.volume_rows());
  };
  task.in = added_rows(plan_->in.layout, plan_->in.color, in_);
  if (mask_count_ == frames.size()) task.mask = added_rows(mask_layout_, {}, masks_);
  if (plan_->replaces_picture()) task.out = volume_output(memory, out_, frames.size());
  if (resources_.label_map_pool) {
    const int width = plan_->in.size.width;
    task.labels = {labels_.as<uint32_t>(), width, layout.rows(),
                   static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
  }
}

void VolumeTransfer::enqueue_outputs(std::span<FrameBuffers> frames, const FrameTask& task) {
  if (plan_->downloads())
    queue_.copy(task.out, volume_output(Memory::host, staged_out_, frames.size()));
  if (!resources_.label_map_pool) return;
  const size_t bytes = slice_label_map_bytes(*plan_);
  // k counts the slices of all layers. Slice z of layer n has k = n * frames.size() + z.
  const auto total_slices = static_cast<size_t>(volume_layout(frames.size()).total_slices());
  for (size_t k = 0; k < total_slices; ++k) {
    void* label_map = device_data(frames[k % frames.size()].label_map.get()).data;
    queue_.copy_bytes(labels_.as<std::byte>() + k * bytes,
                      static_cast<std::byte*>(label_map) + k / frames.size() * bytes, bytes);
  }
}

void VolumeTransfer::complete_buffers(std::span<FrameBuffers> frames) {
  if (!plan_->replaces_picture()) return;
  const int height = plan_->in.size.height, frame_count = static_cast<int>(frames.size());
  const Frame volume =
      volume_output(Memory::host, plan_->downloads() ? staged_out_ : out_, frames.size());
  for (int z = 0; z < frame_count; ++z) {
    const MappedPicture picture(frames[static_cast<size_t>(z)].output.get(), plan_->out,
                                GST_MAP_WRITE);
    for (int layer = 0; layer < plan_->setup.layers; ++layer) {
      copy_rows(rows_of(volume, (layer * frame_count + z) * height, height),
                rows_of(picture.frame(), layer * height, height), resources_.workers);
    }
  }
}

// ---- work area

// Returns a label map (32 bits per pixel) or mask (8 bits) as a frame.
template <class T>
Frame label_plane(const Image<T>& map, Memory memory) {
  const PixelFormat format = sizeof(T) == 1 ? PixelFormat::gray8 : PixelFormat::labels32;
  return label_plane(layout_of(format), map.data, map.size(), memory);
}

// Returns an image in a block of memory, without padding between rows.
template <class T>
Image<T> image_in(const Block& block, Size size) {
  return {block.as<T>(), size.width, size.height, static_cast<ptrdiff_t>(sizeof(T)) * size.width};
}

// Returns a working picture in a block of memory.
Frame small_frame(const StreamPlan& plan, const Layout& layout, const Block& block) {
  return packed_frame(layout, plan.work_area.work, plan.in.color, plan.backend->memory(),
                      block.data());
}

}  // namespace

std::unique_ptr<FrameTransfer> make_transfer(StreamResources& resources, const SharedPlan& plan,
                                             Queue& queue) {
  if (plan->slices() > 1) return std::make_unique<VolumeTransfer>(resources, plan, queue);
  return std::make_unique<PictureTransfer>(resources, plan, queue);
}

WorkAreaPictures::WorkAreaPictures(const StreamPlan& plan, Queue& queue) : queue_(queue) {
  Backend& backend = *plan.backend;
  const WorkArea& area = plan.work_area;
  const size_t in_bytes = packed_bytes(plan.in.layout, area.work);
  in_ = backend.allocate(in_bytes);
  if (plan.draws_in_place() && area.is_scaled()) in_before_drawing_ = backend.allocate(in_bytes);
  if (plan.replaces_picture()) out_ = backend.allocate(packed_bytes(plan.out.layout, area.work));
  if (plan.attaches_label_map() && !plan.keeps_small_label_maps())
    label_map_ = backend.allocate(area.work.area() * sizeof(uint32_t));
}

ConstFrame WorkAreaPictures::small_mask(const StreamPlan& plan, const ConstFrame& mask) {
  // The memory is allocated for the first mask, because the property that selects masks may change
  // while playing.
  const WorkArea& area = plan.work_area;
  const size_t bytes = area.work.area() * sizeof(uint32_t);
  if (mask_.bytes() < bytes) mask_ = plan.backend->allocate(bytes);
  const Frame small = label_plane(mask.layout, mask_.data(), area.work, mask.memory);
  queue_.pick(mask, small,
              {mapping_to_work_area(area.left, area.area.width, area.work.width, area.picture.width,
                                    mask.width),
               mapping_to_work_area(area.top, area.area.height, area.work.height,
                                    area.picture.height, mask.height)});
  return small;
}

FrameTask WorkAreaPictures::enqueue_shrinking(const StreamPlan& plan, const FrameTask& whole) {
  const WorkArea& area = plan.work_area;
  FrameTask small = whole;
  const Frame in = small_frame(plan, plan.in.layout, in_);
  const ConstFrame part = crop_to(whole.in, area);
  if (area.is_scaled()) {
    queue_.shrink(part, in);
  } else {
    queue_.copy(part, in);
  }
  small.in = in;
  if (plan.draws_in_place()) {
    small.out = in;
    if (area.is_scaled()) queue_.copy(in, small_frame(plan, plan.in.layout, in_before_drawing_));
  } else if (plan.replaces_picture()) {
    small.out = small_frame(plan, plan.out.layout, out_);
  }
  if (!whole.mask.empty()) small.mask = small_mask(plan, whole.mask);
  if (plan.keeps_small_label_maps()) return small;
  if (!whole.labels.empty()) small.labels = image_in<uint32_t>(label_map_, area.work);
  if (!whole.foreground.empty()) small.foreground = image_in<uint8_t>(label_map_, area.work);
  return small;
}

void WorkAreaPictures::enqueue_enlarging(const StreamPlan& plan, const FrameTask& small,
                                         const FrameTask& whole, bool is_tint) {
  const WorkArea& area = plan.work_area;
  const Memory memory = plan.backend->memory();
  if (plan.draws_in_place()) {
    const Frame part = crop_to(whole.out, area);
    if (area.is_scaled()) {
      queue_.transfer_changes(small_frame(plan, plan.in.layout, in_before_drawing_), small.out,
                              part, is_tint);
    } else {
      queue_.copy(small.out, part);
    }
  } else if (plan.replaces_picture()) {
    enlarge_nearest(queue_, small.out, whole.out, area);
  }
  if (plan.keeps_small_label_maps()) return;
  const auto enlarge_map = [&](const auto& from, const auto& to) {
    if (to.empty()) return;
    enlarge_nearest(queue_, label_plane(from, memory), label_plane(to, memory), area);
  };
  enlarge_map(small.labels, whole.labels);
  enlarge_map(small.foreground, whole.foreground);
}

}  // namespace regions
