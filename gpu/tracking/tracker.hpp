// Tracking on the GPU: the memory of one stream of frames, which they reach one after the other by
// an event; the rest of neighbouring frames overlaps.
#pragma once

#include <memory>
#include <vector>

#include "core/algorithm.hpp"
#include "core/tracking.hpp"
#include "gpu/tracking/phases.hpp"

namespace regions::tracking {

class Tracker {
 public:
  explicit Tracker(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // No frame may be under way.
  void allocate(const Setup& setup);
  // The next frame has no past.
  void forget() { forgets_ = true; }

  // What is put on the stream next comes behind the last frame's finish().
  const TrackMemory& begin(cudaStream_t stream);
  // For whoever leaves labels in the memory at the first pixels of pieces alone.
  const Image<PastWord>& past() const { return past_; }
  // Looks at the records, and at the pixels that were counted in begin()'s memory.
  void see(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream);
  // Decides from what was seen.
  void match(const TrackRules& rules, const TrackedRecords& records, cudaStream_t stream);
  // Gives the records, and the copies of them that are published already, their tracks.
  void finish(const TrackRules& rules, const TrackedRecords& records, const RegionTable& published,
              int slot, cudaStream_t stream);

  // Once the frame is done.
  const TrackReport& report(int slot) const { return reports_.as<TrackReport>()[slot]; }

 private:
  std::shared_ptr<Backend> backend_;
  Block block_;
  Block past_block_;
  Block reports_;  // pinned, of slots
  size_t past_bytes_ = 0;
  Image<PastWord> past_;
  size_t reset_bytes_ = 0;
  TrackMemory memory_;
  cudaEvent_t finished_ = nullptr;
  cudaStream_t last_ = nullptr;  // where the last frame went
  bool has_past_ = false;
  bool forgets_ = true;
};

}  // namespace regions::tracking
