// Tracking on the GPU: memory and order.
#include "gpu/tracking/tracker.hpp"

#include <algorithm>

#include "gpu/tracking/phases.hpp"

namespace regions {

Tracker::~Tracker() {
  if (!stepped_) return;
  Backend::Entry entry(*backend_);
  cudaEventDestroy(stepped_);
}

void Tracker::allocate(const Setup& setup) {
  const auto slots = static_cast<size_t>(setup.slots);
  reports_ = backend_->allocate_pinned(slots * sizeof(TrackReport));
  std::fill_n(reports_.as<TrackReport>(), slots, TrackReport{});
  reset_bytes_ = tracking_reset_bytes(setup.size, setup.max_regions);
  block_ = backend_->allocate(tracking_bytes(setup.size, setup.max_regions));
  memory_ = tracking_in(block_.data(), setup.size, setup.max_regions);
  if (!stepped_) {
    check(cudaEventCreateWithFlags(&stepped_, cudaEventDisableTiming), "creating an event");
  }
  has_past_ = false;
  forgets_ = true;
}

const TrackMemory& Tracker::begin(cudaStream_t stream) {
  // On one stream the order is there already.
  if (has_past_ && stream != last_) {
    check(cudaStreamWaitEvent(stream, stepped_, 0), "waiting for the last frame's tracks");
  }
  if (std::exchange(forgets_, false)) {
    check(cudaMemsetAsync(block_.data(), 0, reset_bytes_, stream), "forgetting tracks");
  }
  return memory_;
}

void Tracker::step(const TrackRules& rules, Region* regions, const uint32_t* count,
                   uint32_t capacity, int slot, cudaStream_t stream) {
  step_tracks(memory_, rules, regions, count, capacity, reports_.as<TrackReport>() + slot, stream);
  check(cudaEventRecord(stepped_, stream), "recording an event");
  last_ = stream;
  has_past_ = true;
}

}  // namespace regions
