// Sums what pieces have in several tiles.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = ComponentBlock::threads;

__global__ __launch_bounds__(kThreads) void gather_kernel(Pieces pieces) {
  await_last();
  const TileOfBlock tile(pieces);
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kThreads) {
    __syncwarp();  // ways up differ: lanes left to themselves would read one by one from then on
    if (start + lane >= tile.count) continue;
    const uint32_t id = tile.id(pieces, start + lane);
    const Piece own = pieces.piece_of(id);  // this and the next while the root is looked for
    const uint32_t first = pieces.first[id];
    const uint32_t root = pieces.find(id);
    if (root == id) continue;
    pieces.parent[id] = root;  // others only come to the same end sooner
    pieces.give(root, own);
    atomicMin(pieces.first + root, first);
  }
}

}  // namespace

void gather(const Pieces& pieces, cudaStream_t stream) {
  launch_chained(gather_kernel, tile_grid(pieces), kThreads, 0, stream, pieces);
}

}  // namespace regions::slic
