// Clusters of one frame, from its colours.
#pragma once

#include "cpu/slicsuperpixel/slot.hpp"
#include "cpu/workers.hpp"

namespace regions {

struct ClusterWork {
  const SuperpixelSlot& slot;
  const SlicGrid& grid;
  const SlicScale& scale;
  const Workers& workers;

  // Seeds and iterates; returns the last centres. `kept`, if not null, gets their sums; if `same`,
  // it holds those of a frame with the same cells and colours, to begin with.
  const Center* find(const SlicParams& params, ClusterSums* kept, bool same) const;

 private:
  ClusterSums* sums_row(int row, int which) const;
  bool stays(const ClusterSums* kept) const;
  void seed(bool stays, ClusterSums* kept) const;
  uint64_t average(const Center* before, Center* after, ClusterSums* kept) const;
};

}  // namespace regions
