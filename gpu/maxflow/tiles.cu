// The tile solver's kernel and how it is launched: a block a multiprocessor, a warp a tile.
#include "gpu/launch.hpp"
#include "gpu/maxflow/phases.hpp"

namespace regions::maxflow {
namespace {

template <int kNeighbours, bool kResident>
__global__ void __launch_bounds__(TileBlock<kNeighbours>::threads, 1)
    tiles_kernel(const __grid_constant__ Problem problem, const Boxes boxes,
                 const Store<kNeighbours> store) {
  using TileSolver = Solver<kNeighbours, kResident>;
  extern __shared__ int4 shared_tiles[];
  __shared__ typename TileSolver::Shared shared;
  auto& tile = reinterpret_cast<Tile<kNeighbours>*>(shared_tiles)[threadIdx.x / 32];
  TileSolver(problem, boxes, store, tile, &shared).run();
}

int device_attribute(cudaDeviceAttr attribute) {
  int device, value;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&value, attribute, device), "asking for the GPU's properties");
  return value;
}

template <int kNeighbours>
TilePlan plan_tiles(int tiles, bool may_reside) {
  const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
  const int shared = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) -
                     static_cast<int>(sizeof(typename Solver<kNeighbours, true>::Shared));
  const int bytes = static_cast<int>(sizeof(Tile<kNeighbours>));
  const int warps = std::min(TileBlock<kNeighbours>::warps, shared / bytes);
  TilePlan plan;
  plan.threads = warps * 32;
  plan.shared_bytes = static_cast<size_t>(warps) * bytes;
  plan.blocks = std::min(multiprocessors, tiles);
  plan.resident = may_reside && tiles <= warps * multiprocessors;
  return plan;
}

}  // namespace

template <int kNeighbours>
void TileSolver<kNeighbours>::reserve(Workspace& memory, Size size, bool may_reside) {
  boxes_.columns = (size.width + kTileWidth - 1) / kTileWidth;
  boxes_.rows = (size.height + kTileHeight - 1) / kTileHeight;
  const size_t tiles = static_cast<size_t>(boxes_.columns) * boxes_.rows;
  plan_ = plan_tiles<kNeighbours>(static_cast<int>(tiles), may_reside);
  memory.reserve(boxes_.heights, 2 * tiles * kHeightBox);
  memory.reserve(boxes_.flows, 2 * tiles * kNeighbours * kFlowBox);
  if (!plan_.resident) {
    memory.reserve(store_.tiles, tiles);
    memory.reserve(store_.state, tiles);
    memory.reserve(store_.news, 2 * tiles);
  }
  const auto kernel =
      plan_.resident ? tiles_kernel<kNeighbours, true> : tiles_kernel<kNeighbours, false>;
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(plan_.shared_bytes)),
        "asking for shared memory");
}

template <int kNeighbours>
void TileSolver<kNeighbours>::enqueue(const Problem& problem, cudaStream_t stream) const {
  const auto kernel =
      plan_.resident ? tiles_kernel<kNeighbours, true> : tiles_kernel<kNeighbours, false>;
  launch_cooperative(kernel, static_cast<unsigned>(plan_.blocks),
                     static_cast<unsigned>(plan_.threads), plan_.shared_bytes, stream, problem,
                     boxes_, store_);
}

template class TileSolver<4>;
template class TileSolver<8>;

}  // namespace regions::maxflow
