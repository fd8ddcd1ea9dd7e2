// Tracking on the GPU: the memory of one stream of frames, which they reach one after the other by
// an event; the rest of neighbouring frames overlaps.
#pragma once

#include <memory>
#include <vector>

#include "core/algorithm.hpp"
#include "core/tracking.hpp"
#include "gpu/launch.hpp"

namespace regions {

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

  // What is put on the stream next comes behind the last frame's step().
  const TrackMemory& begin(cudaStream_t stream);
  // Gives the records of labels 1..min(*count, capacity) their tracks, from the pixels that were
  // counted in begin()'s memory. All pointers are the device's.
  void step(const TrackRules& rules, Region* regions, const uint32_t* count, uint32_t capacity,
            int slot, cudaStream_t stream);

  // Once the frame is done.
  const TrackReport& report(int slot) const { return reports_.as<TrackReport>()[slot]; }

 private:
  std::shared_ptr<Backend> backend_;
  Block block_;
  Block reports_;  // pinned, of slots
  size_t reset_bytes_ = 0;
  TrackMemory memory_;
  cudaEvent_t stepped_ = nullptr;
  cudaStream_t last_ = nullptr;  // where the last step went
  bool has_past_ = false;
  bool forgets_ = true;
};

}  // namespace regions
