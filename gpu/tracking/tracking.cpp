// Implements the Tracker on the GPU: allocates its memory and keeps the frames in order.
#include "gpu/tracking/tracking.hpp"

#include <algorithm>

namespace regions::tracking {

Tracker::~Tracker() {
  if (!finished_) return;
  Backend::Entry entry(*backend_);
  cudaEventDestroy(finished_);
}

void Tracker::allocate(const Setup& setup) {
  const auto slots = static_cast<size_t>(setup.slots);
  reports_ = backend_->allocate_pinned(slots * sizeof(TrackEvents));
  std::fill_n(reports_.as<TrackEvents>(), slots, TrackEvents{});
  const uint32_t last_id = read_last_id();
  block_ = backend_->allocate(tracking_bytes(setup.size, setup.max_regions));
  memory_ = tracking_in(block_.data(), setup.size, setup.max_regions);
  const size_t words = static_cast<size_t>(memory_.labels.pitch) / (32 * sizeof(uint16_t));
  previous_words_bytes_ =
      words * static_cast<size_t>(setup.size.height) * sizeof(PreviousFrameWord);
  previous_words_block_ = backend_->allocate(previous_words_bytes_);
  previous_words_ = {previous_words_block_.as<PreviousFrameWord>(), static_cast<int>(words),
                     setup.size.height, static_cast<ptrdiff_t>(words * sizeof(PreviousFrameWord))};
  if (!finished_) {
    check(cudaEventCreateWithFlags(&finished_, cudaEventDisableTiming), "creating an event");
  }
  write_last_id(last_id);
  has_previous_frame_ = false;
  bytes_to_clear_ = reset_bytes(IdNumbering::continued);
}

uint32_t Tracker::read_last_id() const {
  uint32_t last_id = 0;
  if (!memory_.counts || bytes_to_clear_ > reset_bytes(IdNumbering::continued)) return last_id;
  const std::unique_ptr<Queue> queue = backend_->make_queue();
  queue->copy_bytes(&memory_.counts->last_id, &last_id, sizeof last_id);
  queue->record();
  queue->wait();
  return last_id;
}

void Tracker::write_last_id(uint32_t last_id) const {
  const std::unique_ptr<Queue> queue = backend_->make_queue();
  queue->copy_bytes(&last_id, &memory_.counts->last_id, sizeof last_id);
  queue->record();
  queue->wait();
}

const TrackMemory& Tracker::begin(cudaStream_t stream) {
  // Frames on the same stream run in order without an event.
  if (has_previous_frame_ && stream != last_stream_) {
    check(cudaStreamWaitEvent(stream, finished_, 0), "waiting for the last frame's tracks");
  }
  if (bytes_to_clear_ > 0) {
    check(cudaMemsetAsync(block_.data(), 0, bytes_to_clear_, stream), "forgetting tracks");
    check(cudaMemsetAsync(previous_words_block_.data(), 0, previous_words_bytes_, stream),
          "forgetting labels");
    bytes_to_clear_ = 0;
  }
  return memory_;
}

void Tracker::collect_pairs(const TrackRules& rules, const TrackedRecords& records,
                            cudaStream_t stream) {
  collect_track_pairs(memory_, rules, records, stream);
}

void Tracker::match(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream) {
  match_tracks(memory_, rules, records, stream);
}

void Tracker::finish(const TrackRules& rules, const TrackedRecords& records,
                     const RegionTable& published, int slot, cudaStream_t stream) {
  finish_tracks(memory_, rules, records, published, reports_.as<TrackEvents>() + slot, stream);
  check(cudaEventRecord(finished_, stream), "recording an event");
  last_stream_ = stream;
  has_previous_frame_ = true;
}

}  // namespace regions::tracking
