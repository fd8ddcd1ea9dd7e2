// Implements FrameTransfer for single pictures and for volumes, and WorkAreaPictures.
#include "plugin/stream/frame_transfer.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "core/frame.hpp"
#include "plugin/memory/block_memory.hpp"
#include "plugin/memory/cuda_memory.hpp"
#include "plugin/memory/fence.hpp"

namespace regions {
namespace {

// ---- one picture

// Transfers one picture per task.
class PictureTransfer final : public FrameTransfer {
 public:
  PictureTransfer(const StreamSetup& setup, Queue& queue);

  void add(GstBuffer* input, GstBuffer* output) override { frame_.emplace(input, output); }
  int frame_count() const override { return frame_ ? 1 : 0; }
  void enqueue_inputs(FrameTask& task) override;
  void enqueue_outputs(const FrameTask& task) override;
  void complete_buffers() override;
  CompletedFrame take_early() override;
  CompletedFrame take_next() override {
    if (!frame_) return {};
    return {std::move(frame_->output), std::move(frame_->label_map)};
  }
  void release() override { frame_.reset(); }

 private:
  // Enqueues the copy of the input picture to the backend, if it is not there already. Returns the
  // picture on the backend.
  Frame enqueue_picture();
  void read_attached_regions(FrameTask& task);
  // Returns the attached mask in the backend's memory. Enqueues a copy if necessary.
  ConstFrame mask_on_backend();
  void prepare_label_map(FrameTask& task);

  bool draws_in_place() const { return setup_.output == Output::drawn_on; }
  // The input or output picture in a block of memory, without padding between rows.
  Frame packed_in(Memory memory, const Block& block) const {
    return packed_frame(setup_.in.layout, setup_.in.size, setup_.in.color, memory, block.data());
  }
  Frame packed_out(Memory memory, const Block& block) const {
    return packed_frame(setup_.out.layout, setup_.out.size, setup_.out.color, memory, block.data());
  }
  // The mapping of the output buffer.
  const Frame& mapped_target() const {
    return (draws_in_place() ? frame_->in : frame_->out).frame();
  }
  // Whether the output picture is copied to pinned memory first. complete_buffers() then copies it
  // to the output buffer.
  bool stages_output() const { return setup_.downloads() && !is_pinned(frame_->output.get()); }

  const StreamSetup& setup_;
  Queue& queue_;
  Block pinned_in_, device_in_, pinned_out_, device_out_;
  Block pinned_mask_, device_mask_;
  AttachedRegions attached_;           // regions and mask from an upstream element
  std::optional<FrameBuffers> frame_;  // empty between release() and add()
};

PictureTransfer::PictureTransfer(const StreamSetup& setup, Queue& queue)
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
    if (setup.replaces_picture()) device_out_ = backend.allocate(out_bytes);
  }
}

void PictureTransfer::enqueue_inputs(FrameTask& task) {
  const Frame in = enqueue_picture();
  task.in = in;
  if (draws_in_place()) task.out = in;
  if (setup_.replaces_picture()) {
    frame_->out.map(frame_->output.get(), setup_.out, GST_MAP_WRITE);
    task.out = setup_.downloads() ? packed_out(Memory::device, device_out_) : frame_->out.frame();
  }
  read_attached_regions(task);
  if (setup_.label_map_pool) prepare_label_map(task);
}

Frame PictureTransfer::enqueue_picture() {
  GstBuffer* source = frame_->source();
  enqueue_fence_wait(source, queue_);
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

void PictureTransfer::read_attached_regions(FrameTask& task) {
  ElementAlgorithm& algorithm = *setup_.algorithm;
  if (!algorithm.reads_mask()) return;
  const bool has_regions = read_regions(frame_->source(), setup_.in.size, attached_);
  if (algorithm.needs_mask()) expect_mask(attached_);
  if (!has_regions) return;
  if (!setup_.work_area.is_identity()) reduce(setup_.work_area, attached_.regions);
  task.attached = attached_.regions.data();
  task.attached_count =
      static_cast<uint32_t>(std::min<size_t>(attached_.regions.size(), algorithm.max_regions()));
  if (!attached_.labels) return;
  task.mask = mask_on_backend();
  task.mask_is_small = setup_.work_area.is_identity() && frame_->mask.is_small();
}

ConstFrame PictureTransfer::mask_on_backend() {
  Backend& backend = *setup_.backend;
  const bool accepts_small =
      !setup_.work_area.is_identity() || setup_.algorithm->reads_small_masks();
  ConstFrame mask;
  if (accepts_small) mask = frame_->mask.map_small(attached_, setup_.work_area);
  if (mask.empty()) mask = frame_->mask.map(attached_, backend);
  if (mask.memory == backend.memory()) return mask;
  const size_t bytes = static_cast<size_t>(mask.pitch[0]) * static_cast<size_t>(mask.height);
  if (device_mask_.bytes() < bytes) {  // true only for the first mask of this size
    pinned_mask_ = backend.allocate_pinned(bytes);
    device_mask_ = backend.allocate(bytes);
  }
  std::copy_n(mask.plane[0], bytes, pinned_mask_.as<std::byte>());
  queue_.copy_bytes(pinned_mask_.data(), device_mask_.data(), bytes);
  mask.plane[0] = device_mask_.as<std::byte>();
  mask.memory = backend.memory();
  return mask;
}

void PictureTransfer::prepare_label_map(FrameTask& task) {
  frame_->label_map.reset(acquire(setup_.label_map_pool, "a label map or mask"));
  void* data = device_data(frame_->label_map.get()).data;
  Size size = {setup_.in.size.width, setup_.in.size.height * setup_.layers};
  if (setup_.keeps_small_label_maps()) {
    size = setup_.work_area.work;
    data = begin_small_map(frame_->label_map.get(), setup_.work_area);
  }
  if (setup_.label_map_format() == PixelFormat::gray8) {
    task.foreground = {static_cast<uint8_t*>(data), size.width, size.height, size.width};
  } else {
    task.labels = {static_cast<uint32_t*>(data), size.width, size.height,
                   static_cast<ptrdiff_t>(sizeof(uint32_t)) * size.width};
  }
}

void PictureTransfer::enqueue_outputs(const FrameTask& task) {
  if (!setup_.downloads()) return;
  queue_.copy(task.out, stages_output() ? packed_out(Memory::host, pinned_out_) : mapped_target());
}

CompletedFrame PictureTransfer::take_early() {
  frame_->in.unmap();
  // The work is not complete, but downstream waits for the fence instead of the CUDA stream.
  mark_complete(frame_->source());
  return take_next();
}

void PictureTransfer::complete_buffers() {
  if (!frame_->output) return;  // the frame was pushed early
  if (stages_output())
    copy_rows(packed_out(Memory::host, pinned_out_), mapped_target(), setup_.workers);
  frame_->in.unmap();
  frame_->out.unmap();
  if (setup_.in.cuda) mark_complete(frame_->source());
}

// ---- volumes

// Size of the label map of one slice in one layer.
size_t slice_label_map_bytes(const StreamSetup& setup) {
  return setup.in.size.area() * sizeof(uint32_t);
}

// Transfers the frames of a volume, which are slices one below another in one tall picture.
class VolumeTransfer final : public FrameTransfer {
 public:
  VolumeTransfer(const StreamSetup& setup, Queue& queue);

  void add(GstBuffer* input, GstBuffer* output) override;
  int frame_count() const override { return static_cast<int>(frames_.size()); }
  void enqueue_inputs(FrameTask& task) override;
  void enqueue_outputs(const FrameTask& task) override;
  void complete_buffers() override;
  CompletedFrame take_next() override;
  void release() override;

 private:
  // The rows that belong to the newest frame in a volume's picture.
  Frame rows_of_newest(const Frame& volume) const {
    const int height = setup_.in.size.height;
    return rows_of(volume, (frame_count() - 1) * height, height);
  }
  void add_mask(GstBuffer* source);
  VolumeLayout volume_layout() const { return {setup_.in.size, frame_count(), setup_.layers}; }
  // The input pictures of a full volume, in a block of memory.
  Frame volume_picture(Memory memory, const Block& block) const {
    return packed_frame(setup_.in.layout, in_size_, setup_.in.color, memory, block.data());
  }
  // The masks of a full volume, in a block of memory.
  Frame volume_mask(Memory memory, const Block& block) const {
    return packed_frame(mask_layout_, in_size_, {}, memory, block.data());
  }
  // The output pictures of the frames that have been added, in a block of memory.
  Frame volume_output(Memory memory, const Block& block) const {
    return rows_of(
        packed_frame(setup_.out.layout, out_size_, setup_.out.color, memory, block.data()), 0,
        volume_layout().rows());
  }

  const StreamSetup& setup_;
  Queue& queue_;
  Size in_size_, out_size_;  // sizes of the pictures of a full volume
  Block in_, staged_in_, out_, staged_out_, labels_;
  Block masks_, staged_masks_;
  Layout mask_layout_;  // all masks of a volume have the same layout
  int mask_count_ = 0;  // number of frames whose mask has been added
  std::deque<FrameBuffers> frames_;
  size_t next_ = 0;  // index of the frame that take_next() returns
};

VolumeTransfer::VolumeTransfer(const StreamSetup& setup, Queue& queue)
    : setup_(setup), queue_(queue) {
  Backend& backend = *setup.backend;
  const VolumeLayout full_volume{setup.in.size, setup.slices, setup.layers};
  in_size_ = {full_volume.slice.width, full_volume.volume_rows()};
  out_size_ = full_volume.size();
  const size_t in_bytes = packed_bytes(setup.in.layout, in_size_);
  in_ = backend.allocate(in_bytes);
  if (setup.uploads()) staged_in_ = backend.allocate_pinned(in_bytes);
  if (setup.replaces_picture()) {
    const size_t out_bytes = packed_bytes(setup.out.layout, out_size_);
    out_ = backend.allocate(out_bytes);
    if (setup.downloads()) staged_out_ = backend.allocate_pinned(out_bytes);
  }
  if (setup.algorithm->reads_mask()) {
    const size_t mask_bytes = packed_bytes(layout_of(PixelFormat::labels32), in_size_);
    masks_ = backend.allocate(mask_bytes);
    if (backend.memory() == Memory::device) staged_masks_ = backend.allocate_pinned(mask_bytes);
  }
  if (setup.label_map_pool) {
    labels_ =
        backend.allocate(slice_label_map_bytes(setup) * static_cast<size_t>(full_volume.depth()));
  }
}

void VolumeTransfer::add(GstBuffer* input, GstBuffer* output) {
  FrameBuffers& frame = frames_.emplace_back(input, output);
  if (setup_.label_map_pool) frame.label_map.reset(acquire(setup_.label_map_pool, "a label map"));
  // reads_mask() is checked for each frame, because the property `source` may change between
  // frames.
  if (setup_.algorithm->reads_mask()) add_mask(input);
  frame.in.map(input, setup_.in, GST_MAP_READ);
  if (setup_.in.cuda) setup_.cuda->await_producer(input, queue_);
  const Frame rows = rows_of_newest(volume_picture(setup_.backend->memory(), in_));
  if (setup_.in.cuda) {
    queue_.copy(frame.in.frame(), rows);  // the buffer stays mapped until take_next()
    return;
  }
  const Frame staged =
      setup_.uploads() ? rows_of_newest(volume_picture(Memory::host, staged_in_)) : rows;
  copy_rows(frame.in.frame(), staged, setup_.workers);
  frame.in.unmap();
  if (setup_.uploads()) queue_.copy(staged, rows);
  frame.input.reset();
}

// Adds the mask of the newest frame below the masks of earlier frames.
void VolumeTransfer::add_mask(GstBuffer* source) {
  expects(masks_.data() && frame_count() == mask_count_ + 1,
          "with depth above 1, source can change to mask only in READY or NULL");
  AttachedRegions attached;
  read_regions(source, setup_.in.size, attached);
  expect_mask(attached);
  AttachedMask& attached_mask = frames_.back().mask;
  const Memory memory = setup_.backend->memory();
  const ConstFrame mask = attached_mask.map(attached, *setup_.backend);
  expects(mask.size() == setup_.in.size, "the attached mask must have the size of the frame");
  if (frame_count() == 1) mask_layout_ = mask.layout;
  expects(mask.layout.format == mask_layout_.format,
          "all masks of a volume must have the same format");
  ++mask_count_;
  const Frame rows = rows_of_newest(volume_mask(memory, masks_));
  if (mask.memory == Memory::device) {
    queue_.copy(mask, rows);  // the mask stays mapped until take_next()
    return;
  }
  const bool uploads = memory == Memory::device;
  const Frame staged = uploads ? rows_of_newest(volume_mask(Memory::host, staged_masks_)) : rows;
  copy_rows(mask, staged, setup_.workers);
  attached_mask.unmap();
  if (uploads) queue_.copy(staged, rows);
}

void VolumeTransfer::enqueue_inputs(FrameTask& task) {
  const Memory memory = setup_.backend->memory();
  const int rows = volume_layout().volume_rows();
  task.slices = frame_count();
  task.in = rows_of(volume_picture(memory, in_), 0, rows);
  if (mask_count_ == frame_count()) task.mask = rows_of(volume_mask(memory, masks_), 0, rows);
  if (setup_.replaces_picture()) task.out = volume_output(memory, out_);
  if (setup_.label_map_pool) {
    const int width = setup_.in.size.width;
    task.labels = {labels_.as<uint32_t>(), width, volume_layout().rows(),
                   static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
  }
}

void VolumeTransfer::enqueue_outputs(const FrameTask& task) {
  if (setup_.downloads()) queue_.copy(task.out, volume_output(Memory::host, staged_out_));
  if (!setup_.label_map_pool) return;
  const size_t bytes = slice_label_map_bytes(setup_);
  // k counts the slices of all layers: index in the volume plus layer * frame_count().
  for (int k = 0; k < volume_layout().depth(); ++k) {
    const FrameBuffers& frame = frames_[static_cast<size_t>(k % frame_count())];
    queue_.copy_bytes(labels_.as<std::byte>() + static_cast<size_t>(k) * bytes,
                      static_cast<std::byte*>(device_data(frame.label_map.get()).data) +
                          static_cast<size_t>(k / frame_count()) * bytes,
                      bytes);
  }
}

void VolumeTransfer::complete_buffers() {
  if (!setup_.replaces_picture()) return;
  const int height = setup_.in.size.height;
  const Frame volume = volume_output(Memory::host, setup_.downloads() ? staged_out_ : out_);
  for (int z = 0; z < frame_count(); ++z) {
    const MappedPicture picture(frames_[static_cast<size_t>(z)].output.get(), setup_.out,
                                GST_MAP_WRITE);
    for (int layer = 0; layer < setup_.layers; ++layer) {
      copy_rows(rows_of(volume, (layer * frame_count() + z) * height, height),
                rows_of(picture.frame(), layer * height, height), setup_.workers);
    }
  }
}

CompletedFrame VolumeTransfer::take_next() {
  if (next_ == frames_.size()) return {};
  FrameBuffers& frame = frames_[next_];
  frame.in.unmap();
  frame.mask.unmap();
  frame.input.reset();
  return {std::move(frame.output), std::move(frame.label_map), static_cast<int>(next_++)};
}

void VolumeTransfer::release() {
  frames_.clear();
  mask_count_ = 0;
  next_ = 0;
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

}  // namespace

std::unique_ptr<FrameTransfer> make_picture_transfer(const StreamSetup& setup, Queue& queue) {
  return std::make_unique<PictureTransfer>(setup, queue);
}

std::unique_ptr<FrameTransfer> make_volume_transfer(const StreamSetup& setup, Queue& queue) {
  return std::make_unique<VolumeTransfer>(setup, queue);
}

WorkAreaPictures::WorkAreaPictures(const StreamSetup& setup, Queue& queue)
    : setup_(setup), work_area_(setup.work_area), queue_(queue) {
  Backend& backend = *setup.backend;
  const size_t in_bytes = packed_bytes(setup.in.layout, work_area_.work);
  in_ = backend.allocate(in_bytes);
  if (setup.output == Output::drawn_on && work_area_.is_scaled())
    in_before_drawing_ = backend.allocate(in_bytes);
  if (setup.replaces_picture())
    out_ = backend.allocate(packed_bytes(setup.out.layout, work_area_.work));
  if (setup.label_map_pool && !setup.keeps_small_label_maps())
    label_map_ = backend.allocate(work_area_.work.area() * sizeof(uint32_t));
}

Frame WorkAreaPictures::small_frame(const Layout& layout, const Block& block) const {
  return packed_frame(layout, work_area_.work, setup_.in.color, setup_.backend->memory(),
                      block.data());
}

ConstFrame WorkAreaPictures::small_mask(const ConstFrame& mask) {
  // The memory is allocated for the first mask, because the property that selects masks may change
  // while playing.
  const size_t bytes = work_area_.work.area() * sizeof(uint32_t);
  if (mask_.bytes() < bytes) mask_ = setup_.backend->allocate(bytes);
  const Frame small = label_plane(mask.layout, mask_.data(), work_area_.work, mask.memory);
  queue_.pick(mask, small,
              {mapping_to_work_area(work_area_.left, work_area_.area.width, work_area_.work.width,
                                    work_area_.picture.width, mask.width),
               mapping_to_work_area(work_area_.top, work_area_.area.height, work_area_.work.height,
                                    work_area_.picture.height, mask.height)});
  return small;
}

FrameTask WorkAreaPictures::enqueue_shrinking(const FrameTask& whole) {
  FrameTask small = whole;
  const Frame in = small_frame(setup_.in.layout, in_);
  const ConstFrame part = crop_to(whole.in, work_area_);
  if (work_area_.is_scaled()) {
    queue_.shrink(part, in);
  } else {
    queue_.copy(part, in);
  }
  small.in = in;
  if (setup_.output == Output::drawn_on) {
    small.out = in;
    if (work_area_.is_scaled()) queue_.copy(in, small_frame(setup_.in.layout, in_before_drawing_));
  } else if (setup_.replaces_picture()) {
    small.out = small_frame(setup_.out.layout, out_);
  }
  if (!whole.mask.empty()) small.mask = small_mask(whole.mask);
  if (setup_.keeps_small_label_maps()) return small;
  if (!whole.labels.empty()) small.labels = image_in<uint32_t>(label_map_, work_area_.work);
  if (!whole.foreground.empty()) small.foreground = image_in<uint8_t>(label_map_, work_area_.work);
  return small;
}

void WorkAreaPictures::enqueue_enlarging(const FrameTask& small, const FrameTask& whole) {
  const Memory memory = setup_.backend->memory();
  if (setup_.output == Output::drawn_on) {
    const Frame part = crop_to(whole.out, work_area_);
    if (work_area_.is_scaled()) {
      queue_.transfer_changes(small_frame(setup_.in.layout, in_before_drawing_), small.out, part,
                              setup_.algorithm->draws_tints());
    } else {
      queue_.copy(small.out, part);
    }
  } else if (setup_.replaces_picture()) {
    enlarge_nearest(queue_, small.out, whole.out, work_area_);
  }
  if (setup_.keeps_small_label_maps()) return;
  if (!whole.labels.empty()) {
    enlarge_nearest(queue_, label_plane(small.labels, memory), label_plane(whole.labels, memory),
                    work_area_);
  }
  if (!whole.foreground.empty()) {
    enlarge_nearest(queue_, label_plane(small.foreground, memory),
                    label_plane(whole.foreground, memory), work_area_);
  }
}

}  // namespace regions
