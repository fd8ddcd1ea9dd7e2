// Tracking on the GPU: memory and order.
#include "gpu/tracking/tracker.hpp"

#include <algorithm>

namespace regions::tracking {

Tracker::~Tracker() {
  if (!finished_) return;
  Backend::Entry entry(*backend_);
  cudaEventDestroy(finished_);
}

void Tracker::allocate(const Setup& setup) {
  const auto slots = static_cast<size_t>(setup.slots);
  reports_ = backend_->allocate_pinned(slots * sizeof(TrackReport));
  std::fill_n(reports_.as<TrackReport>(), slots, TrackReport{});
  const uint32_t last_id = this->last_id();
  block_ = backend_->allocate(tracking_bytes(setup.size, setup.max_regions));
  memory_ = tracking_in(block_.data(), setup.size, setup.max_regions);
  const size_t words = static_cast<size_t>(memory_.labels.pitch) / (32 * sizeof(uint16_t));
  label_bytes_ = words * static_cast<size_t>(setup.size.height) * sizeof(PastWord);
  past_block_ = backend_->allocate(label_bytes_);
  past_ = {past_block_.as<PastWord>(), static_cast<int>(words), setup.size.height,
           static_cast<ptrdiff_t>(words * sizeof(PastWord))};
  if (!finished_) {
    check(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming), "creating an event");
  }
  begin_behind(last_id);
  has_past_ = false;
  forgets_ = past_bytes(Ids::go_on);
}

uint32_t Tracker::last_id() const {
  uint32_t last_id = 0;
  if (!memory_.counts || forgets_ > past_bytes(Ids::go_on)) return last_id;
  const std::unique_ptr<Queue> queue = backend_->make_queue();
  queue->copy_bytes(&memory_.counts->last_id, &last_id, sizeof last_id);
  queue->record();
  queue->wait();
  return last_id;
}

void Tracker::begin_behind(uint32_t last_id) const {
  const std::unique_ptr<Queue> queue = backend_->make_queue();
  queue->copy_bytes(&last_id, &memory_.counts->last_id, sizeof last_id);
  queue->record();
  queue->wait();
}

const TrackMemory& Tracker::begin(cudaStream_t stream) {
  // On one stream the order is there already.
  if (has_past_ && stream != last_) {
    check(cudaStreamWaitEvent(stream, finished_, 0), "waiting for the last frame's tracks");
  }
  if (forgets_ > 0) {
    check(cudaMemsetAsync(block_.data(), 0, forgets_, stream), "forgetting tracks");
    check(cudaMemsetAsync(past_block_.data(), 0, label_bytes_, stream), "forgetting labels");
    forgets_ = 0;
  }
  return memory_;
}

void Tracker::see(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream) {
  see_tracks(memory_, rules, records, stream);
}

void Tracker::match(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream) {
  match_tracks(memory_, rules, records, stream);
}

void Tracker::finish(const TrackRules& rules, const TrackedRecords& records,
                     const RegionTable& published, int slot, cudaStream_t stream) {
  finish_tracks(memory_, rules, records, published, reports_.as<TrackReport>() + slot, stream);
  check(cudaEventRecord(finished_, stream), "recording an event");
  last_ = stream;
  has_past_ = true;
}

}  // namespace regions::tracking
