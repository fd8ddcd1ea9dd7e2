// Tracking on the GPU: the memory of one stream of frames, which they reach one after the other by
// an event; the rest of neighbouring frames overlaps.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/algorithm.hpp"
#include "core/tracking/tracking.hpp"
#include "gpu/tracking/phases.hpp"

namespace regions::tracking {

class Tracker {
 public:
  explicit Tracker(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // No frame may be under way. Ids go on.
  void allocate(const Setup& setup);
  // The next frame has no past.
  void forget(Ids ids) { forgets_ = std::max(forgets_, past_bytes(ids)); }

  // What is put on the stream next comes behind the last frame's finish().
  const TrackMemory& begin(cudaStream_t stream);
  // For kernels that leave labels in the memory at the first pixels of pieces alone.
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
  size_t past_bytes(Ids ids) const {
    return tracking_past_bytes(memory_.labels.size(), memory_.capacity, ids);
  }
  uint32_t last_id() const;  // of frames that have finished; waits
  void begin_behind(uint32_t last_id) const;

  std::shared_ptr<Backend> backend_;
  Block block_;
  Block past_block_;
  Block reports_;  // pinned, of slots
  size_t label_bytes_ = 0;
  Image<PastWord> past_;
  TrackMemory memory_;
  cudaEvent_t finished_ = nullptr;
  cudaStream_t last_ = nullptr;  // where the last frame went
  bool has_past_ = false;
  size_t forgets_ = 0;  // so many bytes, before the next frame
};

}  // namespace regions::tracking
