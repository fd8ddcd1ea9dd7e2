// The pixels of regions as runs, read from the final label map: what one frame in flight needs on
// the GPU.
#pragma once

#include "core/algorithm.hpp"
#include "core/stack.hpp"
#include "gpu/cclabel/run_list/phases.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::runs {

class RunList {
 public:
  // For as many runs as the setup wants.
  void allocate(Backend& backend, const Setup& setup);

  // Where labels go that the job does not ask for.
  LabelMap labels(const Stack& stack) const;
  // Fills the table's runs: of labels 1..table.capacity. The table is pinned host memory.
  void fill(ConstLabelMap labels, const RegionTable& table, cudaStream_t stream) const;

 private:
  Workspace memory_;
  Runs runs_ = {};
  uint32_t* labels_ = nullptr;
};

}  // namespace regions::runs
