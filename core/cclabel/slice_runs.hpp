// SliceRuns: the runs of a volume's regions, each slice's together.
#pragma once

#include <span>
#include <vector>

#include "core/region.hpp"
#include "core/stack.hpp"

namespace regions {

class SliceRuns {
 public:
  // Runs of the stack in any order. Memory serves from volume to volume.
  void sort(std::span<const PixelRun> runs, const Stack& stack);

  // Those of slice z of all layers, in the order they had; rows count the slice's picture.
  std::span<const PixelRun> of(int z) const;

 private:
  std::vector<PixelRun> sorted_;
  std::vector<size_t> begin_;  // of each slice's in sorted_, and the end of all
};

}  // namespace regions
