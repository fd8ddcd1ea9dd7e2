// A window as a volume.
#include "core/cclabel/window.hpp"

#include <algorithm>
#include <string>

#include "core/packed.hpp"

namespace regions {

WindowPlaces::Step WindowPlaces::next() {
  Step step;
  slices_ = std::min(slices_ + 1, depth_);
  if (newest_ == 0) {
    // The oldest of a full window is not taken along. Places behind the window do not overlap it.
    step.moved = depth_ - 1;
    step.moved_to = newest_ = depth_ + 1;
  }
  step.place = --newest_;
  step.slices = slices_;
  return step;
}

void Sliding::configure(const Setup& setup) {
  setup_ = setup;
  if (!setup.slides) return volumes_->configure(setup);
  expects_stackable(setup);
  expects_trackable(setup);
  expects(setup.size.height <= INT32_MAX / 2 / setup.depth,
          "a window of " + std::to_string(setup.depth) + " frames has too many pixels");
  Setup volume = setup;
  volume.slides = volume.tracks = volume.has_output = false;
  volume.slots = 1;
  volume.max_regions = 1;
  volume.max_runs = 0;
  volumes_->configure(volume);
  window_ = WindowPlaces(setup.depth);
  turn_ = 0;
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

void Sliding::enqueue(const Job& job, const CcLabelParams& params, Queue& queue) {
  if (!setup_.slides) return volumes_->enqueue(job, params, queue);
  expects_stackable(setup_, job, params);
  expects_trackable(setup_, job, params);
  expects(job.table.capacity <= setup_.max_regions,
          "the table has a larger capacity than configured");
  expects(params.source != Source::mask ||
              (setup_.has_mask && !job.mask.empty() && job.mask.size() == setup_.size),
          "source=mask, but no mask of the frame's size is attached to the frame");
  slide(job, params, queue);
}

void Sliding::reset() {
  volumes_->reset();
  window_ = WindowPlaces(setup_.depth);
  forget(Ids::begin_again);
}

void Sliding::begin_scene() {
  volumes_->begin_scene();
  window_ = WindowPlaces(setup_.depth);
  forget(Ids::go_on);
}

Frame Sliding::places(int first, int count) const {
  const Size size = setup_.size;
  const Frame all = packed_frame(labelled_, {size.width, 2 * setup_.depth * size.height},
                                 setup_.color, backend_->memory(), frames_.data());
  return rows_of(all, first * size.height, count * size.height);
}

WindowLabels Sliding::label_window(const Job& job, const CcLabelParams& params, Queue& queue) {
  const bool is_mask = params.source == Source::mask;
  const ConstFrame& labelled = is_mask ? job.mask : job.in;
  if (is_mask != is_mask_ || labelled.layout.format != labelled_.format) {
    is_mask_ = is_mask;  // another source, or masks of another format
    labelled_ = labelled.layout;
    window_ = WindowPlaces(setup_.depth);
  }
  const WindowPlaces::Step step = window_.next();
  if (step.moved > 0) queue.copy(places(0, step.moved), places(step.moved_to, step.moved));
  queue.copy(labelled, places(step.place, 1));
  const auto map_of = [&](int turn, int slices) {
    const Stack stack{setup_.size, slices, 1};
    return LabelMap{labels_[turn].as<uint32_t>(), setup_.size.width, stack.rows(),
                    static_cast<ptrdiff_t>(sizeof(uint32_t)) * setup_.size.width};
  };
  Job volume;
  volume.slices = step.slices;
  const Frame window = places(step.place, step.slices);
  volume.in = window;
  if (is_mask) {
    // Pixels are not looked at.
    volume.mask = window;
    volume.in.layout = setup_.in;
  }
  volume.labels = map_of(turn_, step.slices);
  CcLabelParams plain = params;
  plain.sliding = plain.track = false;
  plain.output = CcOutput::none;
  volumes_->enqueue(volume, plain, queue);
  turn_ = 1 - turn_;
  return {volume.labels, map_of(turn_, step.slices), step.slices - 1, setup_.size};
}

}  // namespace regions
