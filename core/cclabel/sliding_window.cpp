// Stores the frames of a sliding window and labels them as one volume.
#include "core/cclabel/sliding_window.hpp"

#include <algorithm>
#include <string>

#include "core/frame.hpp"

namespace regions {

WindowPositions::Step WindowPositions::next() {
  Step step;
  slices_ = std::min(slices_ + 1, depth_);
  if (newest_ == 0) {
    // The window has reached the start of the buffer. Move it to the end of the buffer, without its
    // oldest frame. The old and the new positions do not overlap.
    step.moved = depth_ - 1;
    step.moved_to = newest_ = depth_ + 1;
  }
  step.position = --newest_;
  step.slices = slices_;
  return step;
}

void SlidingWindow::configure(const Setup& setup) {
  setup_ = setup;
  if (!setup.slides) return volumes_->configure(setup);
  expects_labellable(setup);
  expects_trackable(setup);
  expects(setup.size.height <= INT32_MAX / 2 / setup.depth,
          "a window of " + std::to_string(setup.depth) + " frames has too many pixels");
  Setup volume = setup;
  volume.slides = volume.tracks = volume.has_output = false;
  volume.slots = 1;
  volume.max_regions = 1;
  volume.max_runs = 0;
  volumes_->configure(volume);
  window_ = WindowPositions(setup.depth);
  current_ = 0;
  labelled_ = setup.in;
  is_mask_ = false;
  const Size all = {setup.size.width, 2 * setup.depth * setup.size.height};
  const size_t masks = setup.has_mask ? packed_bytes(layout_of(PixelFormat::labels32), all) : 0;
  frames_ = backend_->allocate(std::max(packed_bytes(setup.in, all), masks));
  for (Block& map : labels_) {
    map =
        backend_->allocate(setup.size.area() * static_cast<size_t>(setup.depth) * sizeof(uint32_t));
  }
  allocate(setup);
}

void SlidingWindow::enqueue(const FrameTask& task, const CcLabelParams& params, Queue& queue) {
  if (!setup_.slides) return volumes_->enqueue(task, params, queue);
  expects_labellable(setup_, task, params);
  expects_trackable(setup_, task, params);
  expects(task.table.capacity <= setup_.max_regions,
          "the table has a larger capacity than configured");
  expects(params.source != Source::mask ||
              (setup_.has_mask && !task.mask.empty() && task.mask.size() == setup_.size),
          "source=mask, but no mask of the frame's size is attached to the frame");
  slide(task, params, queue);
}

void SlidingWindow::reset() {
  volumes_->reset();
  window_ = WindowPositions(setup_.depth);
  forget(IdNumbering::restarted);
}

void SlidingWindow::begin_scene() {
  volumes_->begin_scene();
  window_ = WindowPositions(setup_.depth);
  forget(IdNumbering::continued);
}

Frame SlidingWindow::frames_at(int first, int count) const {
  const Size size = setup_.size;
  const Frame all = packed_frame(labelled_, {size.width, 2 * setup_.depth * size.height},
                                 setup_.color, backend_->memory(), frames_.data());
  return rows_of(all, first * size.height, count * size.height);
}

WindowLabels SlidingWindow::label_window(const FrameTask& task, const CcLabelParams& params,
                                         Queue& queue) {
  const bool is_mask = params.source == Source::mask;
  const ConstFrame& labelled = is_mask ? task.mask : task.in;
  if (is_mask != is_mask_ || labelled.layout.format != labelled_.format) {
    is_mask_ = is_mask;  // the source or the mask format changed: start a new window
    labelled_ = labelled.layout;
    window_ = WindowPositions(setup_.depth);
  }
  const WindowPositions::Step step = window_.next();
  if (step.moved > 0) queue.copy(frames_at(0, step.moved), frames_at(step.moved_to, step.moved));
  queue.copy(labelled, frames_at(step.position, 1));
  const auto map_of = [&](int index, int slices) {
    const VolumeLayout layout{setup_.size, slices, 1};
    return LabelMap{labels_[index].as<uint32_t>(), setup_.size.width, layout.rows(),
                    static_cast<ptrdiff_t>(sizeof(uint32_t)) * setup_.size.width};
  };
  FrameTask volume;
  volume.slices = step.slices;
  const Frame window = frames_at(step.position, step.slices);
  volume.in = window;
  if (is_mask) {
    // The labeller reads only the mask. `in` only provides the layout.
    volume.mask = window;
    volume.in.layout = setup_.in;
  }
  volume.labels = map_of(current_, step.slices);
  CcLabelParams plain = params;
  plain.sliding = plain.track = false;
  plain.output = CcOutput::none;
  volumes_->enqueue(volume, plain, queue);
  current_ = 1 - current_;
  return {volume.labels, map_of(current_, step.slices), step.slices - 1, setup_.size};
}

}  // namespace regions
