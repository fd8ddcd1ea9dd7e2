// Clusters of one frame, from its colours.
#pragma once

#include "cpu/slicsuperpixel/slot.hpp"
#include "cpu/workers.hpp"

namespace regions {

// How the last frame ended.
struct KeptClusters {
  ClusterSums* sums = nullptr;  // [rows][columns]; null if they are not kept
  uint32_t* reach = nullptr;    // of slico
};
// The last centres; colours if the variant needs them.
struct FoundClusters {
  const Center* centers = nullptr;
  const ClusterColor* colors = nullptr;
};

struct ClusterWork {
  const SuperpixelSlot& slot;
  const SlicGrid& grid;
  const SlicScale& scale;
  const Workers& workers;

  // Seeds and iterates. `kept` gets the sums; if `same`, it holds those of a frame with the same
  // cells and colours, to begin with.
  FoundClusters find(const SlicParams& params, const KeptClusters& kept, bool same) const;

 private:
  ClusterSums* sums_row(int row, int which) const;
  bool stays(const ClusterSums* kept) const;
  uint32_t* reach_row(int row, int which) const;
  void seed(bool stays, const KeptClusters& kept) const;
  void iterate(const AssignInput& input, RowChoice choice) const;
  uint64_t average(const Center* before, int after, const KeptClusters& kept) const;
  bool adapts() const { return scale.adaptive > 0; }
};

}  // namespace regions
