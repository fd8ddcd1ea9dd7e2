// Clusters of one frame, from its colours.
#pragma once

#include "core/workers.hpp"
#include "cpu/slicsuperpixel/slot.hpp"

namespace regions {

// How the last frame ended.
struct KeptClusters {
  ClusterSums* sums = nullptr;  // [rows][columns]; null if they are not kept
  uint32_t* reach = nullptr;    // of slico
};

struct ClusterWork {
  const SuperpixelSlot& slot;
  const SlicGrid& grid;
  const SlicScale& scale;
  const Workers& workers;

  // Seeds and iterates. `kept` gets the sums; if `same`, it holds those of a frame with the same
  // cells and colours, to begin with. Returns which of the two sets of centres is the last.
  int find(const SlicParams& params, const KeptClusters& kept, bool same) const;
  void write_codes(int which) const;

 private:
  CellInput cells_of(int which) const { return {slot.cells, grid, scale, which}; }
  bool by_cells() const { return has_small_cells(grid); }
  PackedSums* sums_row(int row, int which, int phase) const;
  bool stays(const ClusterSums* kept) const;
  uint32_t* reach_row(int row, int which, int phase) const;
  void seed(bool stays, const KeptClusters& kept) const;
  uint64_t iterate(int before, int iteration, RowChoice choice, const KeptClusters& kept) const;
  void assign(const AssignInput& input, RowChoice choice, bool begins) const;
  void gather(int row, int phase, const CellSumRow& to) const;
  uint64_t average(int before, int phase, const KeptClusters& kept) const;
  bool adapts() const { return scale.adaptive > 0; }
};

}  // namespace regions
