// The kernel of pictures that stay in shared memory: a block a multiprocessor, a warp a tile.
#include "gpu/maxflow/phases.hpp"
#include "gpu/maxflow/resident.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {
namespace {

template <int kNeighbours>
__global__ void __launch_bounds__(TileBlock<kNeighbours>::threads, 1)
    resident_kernel(const __grid_constant__ Problem problem, const Boxes boxes) {
  using Cut = ResidentCut<kNeighbours>;
  extern __shared__ int4 shared_tiles[];
  __shared__ typename Cut::Shared shared;
  auto& tile = reinterpret_cast<Tile<kNeighbours>*>(shared_tiles)[threadIdx.x / 32];
  Cut(problem, boxes, tile, &shared).run();
}

}  // namespace

template <int kNeighbours>
bool ResidentSolver<kNeighbours>::reserve(Workspace& memory, const Boxes& boxes) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                     static_cast<int>(sizeof(typename ResidentCut<kNeighbours>::Shared));
  const int bytes = static_cast<int>(sizeof(Tile<kNeighbours>));
  const int warps = std::min(TileBlock<kNeighbours>::warps, shared / bytes);
  if (boxes.tiles() > warps * multiprocessors) return false;
  boxes_ = boxes;
  boxes_.reserve<kNeighbours>(memory);
  threads_ = warps * 32;
  shared_bytes_ = static_cast<size_t>(warps) * bytes;
  blocks_ = std::min(multiprocessors, boxes.tiles());
  allow_shared(resident_kernel<kNeighbours>, shared_bytes_);
  return true;
}

template <int kNeighbours>
void ResidentSolver<kNeighbours>::enqueue(const Problem& problem, cudaStream_t stream) const {
  launch_cooperative(resident_kernel<kNeighbours>, static_cast<unsigned>(blocks_),
                     static_cast<unsigned>(threads_), shared_bytes_, stream, problem, boxes_);
}

template class ResidentSolver<4>;
template class ResidentSolver<8>;

}  // namespace regions::maxflow
