// The solvers of a minimum cut as maxflow.cu puts them on a stream: tiles in 16 bits first, then,
// if those were not enough for the frame, the plain one.
#pragma once

#include "gpu/maxflow/sparse_store.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {

template <class Kernel>
void allow_shared(Kernel* kernel, size_t bytes) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
}

// Blocks of a launch whose blocks wait for each other.
struct BlocksShape {
  unsigned blocks, threads;
  size_t shared_bytes;
};

// Launches of a few blocks that wait for each other: as a cluster, where the device has them, so
// that those of several streams run side by side; else as cooperative grids, which follow each
// other.
class BlocksTogether {
 public:
  // Plans at most so many blocks.
  template <class Kernel>
  void plan(Kernel* kernel, const BlocksShape& most) {
    shape_ = most;
    const int resident =
        resident_blocks(kernel, static_cast<int>(shape_.threads), shape_.shared_bytes);
    shape_.blocks = std::min(shape_.blocks, static_cast<unsigned>(resident));
    const auto fits = [&] {
      return enable_cluster(kernel, shape_.blocks, shape_.threads, shape_.shared_bytes);
    };
    is_cluster_ = device_attribute(cudaDevAttrClusterLaunch) != 0;
    if (is_cluster_ && !fits()) {
      shape_.blocks = std::min(shape_.blocks, kPortable);
      is_cluster_ = fits();
    }
  }
  template <class Kernel, class... Given>
  void launch(Kernel* kernel, cudaStream_t stream, Given&&... given) const {
    const auto& [blocks, threads, shared_bytes] = shape_;
    launch_pdl_as(is_cluster_ ? GridKind::cluster : GridKind::cooperative, kernel, blocks, threads,
                  shared_bytes, stream, std::forward<Given>(given)...);
  }

 private:
  static constexpr unsigned kPortable = 8;  // blocks of a cluster that all devices have

  BlocksShape shape_{};
  bool is_cluster_ = false;
};

// Tiles that stay in shared memory: the fastest way to a single hard cut, which fills the device.
template <int kNeighbours>
class ResidentSolver {
 public:
  // Plans for the current device. False if the picture is too large for it.
  bool reserve(Workspace& memory, const Boxes& boxes);
  void enqueue(const Problem& problem, cudaStream_t stream) const;

 private:
  Boxes boxes_{};
  int blocks_ = 0;
  int threads_ = 0;  // of a block
  size_t shared_bytes_ = 0;
};

// What the plain solver works on.
struct PlainArrays {
  long long* excess;  // [height][width]
  unsigned* height;   // [height][width]
  uint8_t* busy;      // [height / 32][width / 32], a tile has active pixels
};

// Tiles in memory, of which a few multiprocessors work on those that have work: pictures of any
// size, and many cuts side by side.
template <int kNeighbours>
class SparseSolver {
 public:
  void reserve(Workspace& memory, const Boxes& boxes);
  // Solves every frame: where numbers are too short, by the plain solver. Clears the progress of
  // the next frame. `after_sparse`: the last frame was given to this solver. `alone`: no other cut
  // wants the device.
  void enqueue(Problem& problem, const PlainArrays& arrays, Progress* next_frames,
               bool after_sparse, bool alone, cudaStream_t stream);

 private:
  Sparse<kNeighbours> store_{};
  uint8_t* flowless_[2] = {};  // [tiles], by turns
  unsigned frames_ = 0;
  BlocksTogether alone_, beside_;
};

// Numbers as wide as any frame needs; works on flows in Problem::kept.
class PlainSolver {
 public:
  void reserve(Workspace& memory, Size size);
  // Does nothing if the frame is solved by then. Takes the whole device.
  void enqueue(const Problem& problem, cudaStream_t stream) const;
  const PlainArrays& arrays() const { return arrays_; }

 private:
  unsigned blocks_ = 0;
  PlainArrays arrays_{};
};

}  // namespace regions::maxflow
