// The host interface and device memory of the solvers of minimum cuts. maxflow.cu selects a solver
// for each frame. maxflow.hpp gives an overview. The enqueue() function of each solver neither
// allocates nor synchronises.
#pragma once

#include "gpu/maxflow/graph_tile.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {

// Returns the number of warps per block, at most `max_warps`, for a kernel that keeps one tile per
// warp in dynamic shared memory. Allows launches with the memory of these tiles. A block has 64 KiB
// on GPUs of compute capability 7.5 and 99 KiB on GPUs of 8.6 and 8.9.
template <int kNeighbours, class Kernel>
unsigned warps_with_tiles(Kernel* kernel, int max_warps) {
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)),
        "asking about a kernel");
  const auto bytes = static_cast<int>(sizeof(Tile<kNeighbours>));
  const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                     static_cast<int>(attributes.sharedSizeBytes);
  const int warps = std::min(max_warps, shared / bytes);
  allow_shared_memory(kernel, static_cast<size_t>(warps) * bytes);
  return static_cast<unsigned>(warps);
}

// The size of a launch.
struct LaunchShape {
  unsigned blocks, threads;
  size_t shared_bytes;  // bytes of dynamic shared memory per block
};

// Launches a kernel that has few blocks, which wait for each other at barriers. If the device
// supports it, the kernel is launched as one cluster, and kernels of several streams run
// concurrently. Otherwise it is launched as a cooperative grid, and such kernels run one after
// another.
class ClusterLauncher {
 public:
  // Plans a launch of at most max_shape.blocks blocks on the current device.
  template <class Kernel>
  void plan(Kernel* kernel, const LaunchShape& max_shape) {
    shape_ = max_shape;
    const int resident =
        resident_blocks(kernel, static_cast<int>(shape_.threads), shape_.shared_bytes);
    shape_.blocks = std::min(shape_.blocks, static_cast<unsigned>(resident));
    const auto try_cluster = [&] {
      return enable_cluster(kernel, shape_.blocks, shape_.threads, shape_.shared_bytes);
    };
    is_cluster_ = device_attribute(cudaDevAttrClusterLaunch) != 0;
    if (is_cluster_ && !try_cluster()) {
      shape_.blocks = std::min(shape_.blocks, kMaxPortableBlocks);
      is_cluster_ = try_cluster();
    }
  }
  template <class Kernel, class... Given>
  void launch(Kernel* kernel, cudaStream_t stream, Given&&... given) const {
    const auto& [blocks, threads, shared_bytes] = shape_;
    launch_pdl_as(is_cluster_ ? GridKind::cluster : GridKind::cooperative, kernel, blocks, threads,
                  shared_bytes, stream, std::forward<Given>(given)...);
  }

 private:
  // Maximum number of blocks per cluster that all devices with clusters support.
  static constexpr unsigned kMaxPortableBlocks = 8;

  LaunchShape shape_{};
  bool is_cluster_ = false;
};

// The solver that keeps all tiles in shared memory and occupies the whole device. It is the fastest
// solver for a single difficult cut.
template <int kNeighbours>
class ResidentSolver {
 public:
  // Plans the memory and the launch for the current device. Returns false if the picture is too
  // large for the shared memory of the device.
  bool reserve(Workspace& memory, const HaloBuffers& halos);
  void enqueue(const Problem& problem, cudaStream_t stream) const;

 private:
  HaloBuffers halos_{};
  int blocks_ = 0;
  int threads_ = 0;          // threads per block
  size_t shared_bytes_ = 0;  // bytes of shared memory per block
};

// Device arrays of the plain solver.
struct PlainArrays {
  long long* excess;  // [height][width], excess of each pixel
  unsigned* height;   // [height][width], height of each pixel
  uint8_t* busy;      // [tile row][tile column], whether a tile of 32x32 pixels has active pixels
};

// State of a tile in global memory during a frame. All fields are zero at the start of the frame. A
// stamp is the number of a pass or relabel, plus 1. A stamp of 0 means that there was no such pass
// or relabel.
struct alignas(16) TileState {
  // The warps of neighbouring tiles read the fields heights_epoch to is_stored as two vectors of
  // four words.
  unsigned heights_epoch[2];  // [set of halo buffers], epoch in which heights were published
  unsigned flow_epoch[2];     // [epoch % 2], epoch in which neighbours receive the published flow
  unsigned relabel_stamp[2];  // [relabel % 2], relabel in which the tile takes part
  // Last relabel at whose start some pixels could not reach the sink inside the tile.
  unsigned unsettled_stamp;
  // Whether SparseStore::tiles contains the tile. If not, the tile is loaded from the weights.
  unsigned is_stored;
  unsigned pass_stamp[2];  // [pass % 2], pass whose worklist contains the tile
  unsigned active_stamp;   // last relabel that found active pixels in the tile
  unsigned touched_stamp;  // 1 if the tile is on the worklist of touched tiles
  int remaining_demand;    // negated unused capacity to the sink after the load kernel
};

// Device memory of the sparse solver of a cut.
template <int kNeighbours>
struct SparseStore {
  HaloBuffers halos;
  Tile<kNeighbours>* tiles;    // [tiles], the tiles in global memory
  TileState* state;            // [tiles], state of each tile
  int* lists;                  // [kWorklists][tiles], indices of the tiles on each worklist
  uint8_t* has_no_flow;        // [tiles], whether all links stored at the tile's pixels have flow 0
  const uint8_t* had_no_flow;  // [tiles], has_no_flow of the previous frame; null if unknown
};

// The solver that keeps tiles in global memory. A few multiprocessors process the tiles that still
// have work. It is suitable for pictures of any size and for many concurrent cuts.
template <int kNeighbours>
class SparseSolver {
 public:
  void reserve(Workspace& memory, const HaloBuffers& halos);
  // Enqueues the kernels that solve the frame. If 16-bit numbers do not suffice, they use the plain
  // algorithm. The kernels also clear the progress of the next frame. `follows_sparse`: whether
  // this solver processed the previous frame too. `is_exclusive`: whether no
  // other cut of the process runs at the same time.
  void enqueue(Problem& problem, const PlainArrays& arrays, Progress* next_progress,
               bool follows_sparse, bool is_exclusive, cudaStream_t stream);

 private:
  SparseStore<kNeighbours> store_{};
  uint8_t* has_no_flow_[2] = {};  // SparseStore::has_no_flow of even and of odd frames
  unsigned frame_count_ = 0;      // number of frames so far
  // For exclusive cuts, and for the others.
  ClusterLauncher exclusive_launcher_, concurrent_launcher_;
};

// The solver that uses numbers of 32 and 64 bits, which suffice for any frame. It occupies the
// whole device.
class PlainSolver {
 public:
  void reserve(Workspace& memory, Size size);
  // Enqueues a kernel that solves the frame. It does nothing if the frame is already solved.
  void enqueue(const Problem& problem, cudaStream_t stream) const;
  const PlainArrays& arrays() const { return arrays_; }

 private:
  unsigned blocks_ = 0;
  PlainArrays arrays_{};
};

}  // namespace regions::maxflow
