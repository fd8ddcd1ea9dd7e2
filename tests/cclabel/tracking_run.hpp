// Running cclabel with track=true over many frames, on any backend and with several in flight.
#pragma once

#include <memory>
#include <vector>

#include "core/cclabel/cclabel.hpp"

namespace regions {

struct TrackedFrame {
  std::vector<Region> regions;
  std::vector<Region> parts;  // of regions that several tracks share
  TrackEvents report;
  bool operator==(const TrackedFrame& other) const;
};

// Frames of one size and format, one algorithm; reset() or begin_scene() between two calls
// only if asked.
class TrackedRun {
 public:
  // The algorithm is of the backend.
  TrackedRun(std::shared_ptr<Backend> backend, std::unique_ptr<Algorithm<CcLabelParams>> algorithm,
             const Layout& layout, Size size, int slots = 1, uint32_t capacity = 4096);
  ~TrackedRun();
  TrackedRun(const TrackedRun&) = delete;
  TrackedRun& operator=(const TrackedRun&) = delete;

  std::vector<TrackedFrame> run(const std::vector<ConstFrame>& frames, const CcLabelParams& params);
  // With a mask to each frame: gray8, of the frames' size or a smaller one.
  std::vector<TrackedFrame> run(const std::vector<ConstFrame>& frames,
                                const std::vector<ConstFrame>& masks, const CcLabelParams& params);
  void reset() { algorithm_->reset(); }
  void begin_scene() { algorithm_->begin_scene(); }

 private:
  struct Slot;
  void begin(Slot& slot, const ConstFrame& frame, const ConstFrame& mask,
             const CcLabelParams& params);
  TrackedFrame finish(Slot& slot) const;

  std::shared_ptr<Backend> backend_;
  Backend::Entry entry_;
  Layout layout_;
  Size size_;
  uint32_t capacity_;
  std::unique_ptr<Algorithm<CcLabelParams>> algorithm_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace regions
