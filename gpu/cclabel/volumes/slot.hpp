// What one volume in flight needs on the GPU, and the list of its phases.
#pragma once

#include "gpu/cclabel/volumes/phases.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::volumes {

class Slot {
 public:
  // Whether a stream is one of volumes, of several thresholds, or of regions of background.
  static bool serves(const Setup& setup) {
    return setup.depth > 1 || setup.layers > 1 || setup.has_background;
  }

  // Allocates for every connectivity.
  void allocate(const std::shared_ptr<Backend>& backend, const Setup& setup);

  // `subject` is what is labelled; its level does not matter.
  void enqueue(const Job& job, const Subject& subject, const CcLabelParams& params,
               cudaStream_t stream) const;

 private:
  Subject without_holes(const Subject& subject, const Ranks& ranks, const Volume& volume,
                        uint32_t most, cudaStream_t stream) const;

  Setup setup_;
  Workspace memory_;
  Volume pieces_ = {};
  Region* records_ = nullptr;  // [max_regions]
  uint8_t* ranks_ = nullptr;   // of voxels, while holes are filled
  cclabel::Selection* selection_ = nullptr;
};

}  // namespace regions::volumes
