// The solvers of a minimum cut: their host interface and device memory. maxflow.cu selects one per
// frame; maxflow.hpp gives an overview. enqueue() of each solver neither allocates nor
// synchronises.
#pragma once

#include "gpu/maxflow/graph_tile.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {

template <class Kernel>
void allow_shared_memory(Kernel* kernel, size_t bytes) {
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "asking for shared memory");
}

struct LaunchShape {
  unsigned blocks, threads;
  size_t shared_bytes;  // per block
};

// Launches a kernel of a few blocks with a barrier between them. Uses a cluster if the device
// supports it, so that the kernels of several streams run concurrently. Otherwise it uses a
// cooperative grid; cooperative grids run one after another.
class ClusterLauncher {
 public:
  // Plans a launch of at most max_shape.blocks blocks on the current device.
  template <class Kernel>
  void plan(Kernel* kernel, const LaunchShape& max_shape) {
    shape_ = max_shape;
    const int resident =
        resident_blocks(kernel, static_cast<int>(shape_.threads), shape_.shared_bytes);
    shape_.blocks = std::min(shape_.blocks, static_cast<unsigned>(resident));
    const auto fits = [&] {
      return enable_cluster(kernel, shape_.blocks, shape_.threads, shape_.shared_bytes);
    };
    is_cluster_ = device_attribute(cudaDevAttrClusterLaunch) != 0;
    if (is_cluster_ && !fits()) {
      shape_.blocks = std::min(shape_.blocks, kMaxPortableBlocks);
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
  static constexpr unsigned kMaxPortableBlocks = 8;  // cluster size that all devices support

  LaunchShape shape_{};
  bool is_cluster_ = false;
};

// Keeps all tiles in shared memory and occupies the whole device. The fastest solver of a single
// hard cut.
template <int kNeighbours>
class ResidentSolver {
 public:
  // Plans for the current device. Returns false if the picture is too large for it.
  bool reserve(Workspace& memory, const HaloBuffers& halos);
  void enqueue(const Problem& problem, cudaStream_t stream) const;

 private:
  HaloBuffers halos_{};
  int blocks_ = 0;
  int threads_ = 0;  // per block
  size_t shared_bytes_ = 0;
};

// Arrays of the plain solver.
struct PlainArrays {
  long long* excess;  // [height][width]
  unsigned* height;   // [height][width]
  uint8_t* busy;      // [height / 32][width / 32], whether a tile has active pixels
};

// State of a tile in global memory during a frame. Zero at the start of the frame. A field of the
// form "number + 1" is 0 if there was no such pass or relabel.
struct alignas(16) TileState {
  // Neighbouring tiles read these words, four at a time.
  unsigned heights_epoch[2];  // [set of halo buffers], epoch in which heights were published
  unsigned flow_epoch[2];  // [epoch % 2], flow epoch for which flow is in the tile's halo buffers
  unsigned relabel_stamp[2];  // [relabel % 2], relabel in which the tile takes part, + 1
  unsigned unsettled_stamp;   // last relabel whose start left pixels without a height, + 1
  unsigned is_stored;         // whether the tile is in memory; otherwise the weights define it
  unsigned pass_stamp[2];     // [pass % 2], pass whose worklist contains the tile, + 1
  unsigned active_stamp;      // last relabel that found active excess in the tile, + 1
  unsigned touched_stamp;     // whether the tile is on the worklist of touched tiles
  int remaining_demand;       // capacity left to the sink after the load kernel, negative
};

// Device memory of the sparse solver.
template <int kNeighbours>
struct SparseStore {
  HaloBuffers halos;
  Tile<kNeighbours>* tiles;    // [tiles]
  TileState* state;            // [tiles]
  int* lists;                  // [kWorklists][tiles]
  uint8_t* has_no_flow;        // [tiles], whether link_flow is 0 on all links the tile owns
  const uint8_t* had_no_flow;  // [tiles], has_no_flow of the previous frame; null if not known
};

// Keeps tiles in global memory; a few multiprocessors process the tiles that have work. For
// pictures of any size and for many concurrent cuts.
template <int kNeighbours>
class SparseSolver {
 public:
  void reserve(Workspace& memory, const HaloBuffers& halos);
  // Solves the frame; if 16 bits are not enough, by the plain algorithm. Clears the progress of the
  // next frame. `follows_sparse`: this solver also had the previous frame. `is_exclusive`: no other
  // cut of the process uses the device.
  void enqueue(Problem& problem, const PlainArrays& arrays, Progress* next_progress,
               bool follows_sparse, bool is_exclusive, cudaStream_t stream);

 private:
  SparseStore<kNeighbours> store_{};
  uint8_t* has_no_flow_[2] = {};  // [tiles] each, for even and odd frames
  unsigned frames_ = 0;
  ClusterLauncher exclusive_, concurrent_;
};

// Solves any frame, with wider numbers. Occupies the whole device.
class PlainSolver {
 public:
  void reserve(Workspace& memory, Size size);
  // The kernel does nothing if the frame is already solved.
  void enqueue(const Problem& problem, cudaStream_t stream) const;
  const PlainArrays& arrays() const { return arrays_; }

 private:
  unsigned blocks_ = 0;
  PlainArrays arrays_{};
};

}  // namespace regions::maxflow
