// The solvers of a minimum cut as maxflow.cu puts them on a stream: tiles in 16 bits first, then,
// if those were not enough for the frame, the plain one.
#pragma once

#include "gpu/maxflow/solver.hpp"
#include "gpu/workspace.hpp"

namespace regions::maxflow {

// Launch shape of the tile solver on the current device.
struct TilePlan {
  int blocks = 0;
  int threads = 0;  // of a block
  size_t shared_bytes = 0;
  bool resident = false;
};

template <int kNeighbours>
class TileSolver {
 public:
  // Plans for the current device; streams if the frame does not fit or `may_reside` is false.
  void reserve(Workspace& memory, Size size, bool may_reside);
  void enqueue(const Problem& problem, cudaStream_t stream) const;
  bool resident() const { return plan_.resident; }

 private:
  TilePlan plan_;
  Boxes boxes_{};
  Store<kNeighbours> store_{};
};

// Numbers as wide as any frame needs; works on flows in Problem::kept.
class PlainSolver {
 public:
  void reserve(Workspace& memory, Size size);
  // Does nothing if the frame is solved by then.
  void enqueue(const Problem& problem, cudaStream_t stream) const;

 private:
  int blocks_ = 0;
  long long* excess_ = nullptr;  // [height][width]
  unsigned* height_ = nullptr;   // [height][width]
  uint8_t* busy_ = nullptr;      // [height / 32][width / 32], a tile has active pixels
};

}  // namespace regions::maxflow
