// Tracks regions over the frames of one stream on the GPU. The decisions are made by
// core/tracking/tracking_step.hpp, as for every backend.
//
// The passes of one frame, in the order in which they are called:
//   1. begin()          makes the stream wait for the previous frame's tracks.
//   2. (the caller)     counts the pixels that each region shares with each previous region.
//   3. collect_pairs()  computes centre, box and colour of each region, and rates each pair of
//                       region and track that share pixels.
//   4. match()          assigns regions to tracks; decides births, deaths and occlusions.
//   5. finish()         writes the track ids into the records, and predicts the next frame.
#pragma once

#include <algorithm>
#include <memory>

#include "core/algorithm.hpp"
#include "core/tracking/tracking.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {

// The records of the regions of one frame, in device memory.
struct TrackedRecords {
  Region* regions = nullptr;        // [capacity], the records of the labels 1, 2, …
  const uint32_t* total = nullptr;  // [1] number of regions, may exceed `capacity`
  uint32_t capacity = 0;
  TrackState* states = nullptr;  // [capacity], written by Tracker::finish()
};

// 32 adjacent pixels of the previous frame, one bit per pixel.
struct alignas(8) PreviousFrameWord {
  uint32_t foreground;  // pixels that were in a region
  // First pixels of segments. A segment is a run of pixels of one region, or a part of a run.
  // TrackMemory::labels stores the label of a segment at its first pixel.
  uint32_t segment_starts;
};

namespace tracking {

// Tracks the regions of one stream of frames. Owns the tracks in device memory. A frame waits for
// the tracks of the previous frame by a CUDA event; all other work of consecutive frames overlaps.
// Methods must be called in the order of the frames, by one thread at a time.
class Tracker {
 public:
  explicit Tracker(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Allocates the memory for this setup and forgets all tracks; new ids continue the old ones. No
  // frame may be in flight. Waits for the device. Throws MemoryError.
  void allocate(const Setup& setup);
  // The next frame starts without tracks. `ids`: whether new track ids continue or restart at 1.
  void forget(IdNumbering ids) { bytes_to_clear_ = std::max(bytes_to_clear_, reset_bytes(ids)); }

  // Makes `stream` wait for the previous frame's finish(). Returns the memory of the tracks.
  const TrackMemory& begin(cudaStream_t stream);
  // The foreground and the segments of the previous frame. The kernels that count shared pixels
  // read and replace them. These kernels store labels in TrackMemory::labels only at the first
  // pixels of segments.
  const Image<PreviousFrameWord>& previous_words() const { return previous_words_; }
  // Rates the pairs of regions and tracks that share pixels, from the records and from the counts
  // in the memory that begin() returned.
  void collect_pairs(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream);
  // Assigns regions to tracks.
  void match(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream);
  // Writes the tracks into the records, and into the copies of records in `published`, which is
  // pinned memory and already filled. The report of the frame goes to slot `slot`.
  void finish(const TrackRules& rules, const TrackedRecords& records, const RegionTable& published,
              int slot, cudaStream_t stream);

  // The report of the slot's last frame. Valid when that frame is done.
  const TrackEvents& report(int slot) const { return reports_.as<TrackEvents>()[slot]; }

 private:
  // The number of bytes to clear in order to forget all tracks.
  size_t reset_bytes(IdNumbering ids) const {
    return tracking_reset_bytes(memory_.labels.size(), memory_.capacity, ids);
  }
  uint32_t read_last_id() const;  // waits for the device
  void write_last_id(uint32_t last_id) const;

  std::shared_ptr<Backend> backend_;
  Block block_;                 // holds memory_
  Block previous_words_block_;  // holds previous_words_
  Block reports_;               // [slots] TrackEvents, in pinned memory
  size_t previous_words_bytes_ = 0;
  Image<PreviousFrameWord> previous_words_;  // [height][width / 32]
  TrackMemory memory_;
  cudaEvent_t finished_ = nullptr;      // recorded after the last frame's finish()
  cudaStream_t last_stream_ = nullptr;  // stream of the last frame
  bool has_previous_frame_ = false;
  size_t bytes_to_clear_ = 0;  // number of bytes of block_ that the next frame clears first
};

// These functions enqueue the kernels of collect_pairs(), match() and finish(). `report` and
// `published` are pinned.
void collect_track_pairs(const TrackMemory& memory, const TrackRules& rules,
                         const TrackedRecords& records, cudaStream_t stream);
void match_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                  cudaStream_t stream);
void finish_tracks(const TrackMemory& memory, const TrackRules& rules,
                   const TrackedRecords& records, const RegionTable& published, TrackEvents* report,
                   cudaStream_t stream);

}  // namespace tracking
}  // namespace regions
