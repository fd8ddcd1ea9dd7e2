// Joins components across the edges of tiles, and sums what pieces have in several of them.
#include "gpu/cclabel/tiles.hpp"
#include "gpu/cclabel/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {
namespace {

using T = PieceTile;
constexpr int kThreads = SeamBlock::threads;

// blockIdx.y counts the edges between rows of tiles, then those between columns.
__global__ __launch_bounds__(kThreads) void join_seams_kernel(Image<const uint8_t> codes,
                                                              Pieces pieces) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int edge = static_cast<int>(blockIdx.y);
  const bool across_rows = edge < pieces.rows - 1;
  const int x = across_rows ? i : (edge - (pieces.rows - 1) + 1) * T::width;
  const int y = across_rows ? (edge + 1) * T::rows : i;
  const int other_x = across_rows ? x : x - 1, other_y = across_rows ? y - 1 : y;
  bool wanted = x < codes.width && y < codes.height && codes(x, y) == codes(other_x, other_y);
  const uint32_t id = wanted ? pieces.component_at(x, y) : 0;
  const uint32_t other = wanted ? pieces.component_at(other_x, other_y) : 0;
  // The lane before mostly has the same two; nothing touches itself.
  const uint32_t id_before = __shfl_up_sync(cclabel::kAllLanes, id, 1);
  const uint32_t other_before = __shfl_up_sync(cclabel::kAllLanes, other, 1);
  if (threadIdx.x % 32 > 0 && id_before == id && other_before == other) wanted = false;
  cclabel::unite(pieces.parent, id, other, wanted);
}

__global__ __launch_bounds__(kThreads) void gather_kernel(Pieces pieces) {
  const uint32_t count = pieces.counts->components;
  const uint32_t own = blockIdx.x * kThreads + threadIdx.x;
  for (uint32_t id = own; id < count; id += gridDim.x * kThreads) {
    const uint32_t root = pieces.find(id);
    if (root == id) continue;
    pieces.parent[id] = root;  // others only come to the same end sooner
    pieces.give(root, pieces.piece[id]);
    atomicMin(pieces.first + root, pieces.first[id]);
  }
}

}  // namespace

void join_seams(Image<const uint8_t> codes, const Pieces& pieces, cudaStream_t stream) {
  const int longest = codes.width > codes.height ? codes.width : codes.height;
  launch(join_seams_kernel,
         dim3(blocks_for(static_cast<size_t>(longest), kThreads),
              static_cast<unsigned>(pieces.rows - 1 + pieces.columns - 1)),
         kThreads, 0, stream, codes, pieces);
  launch(gather_kernel, SeamBlock::gatherers, kThreads, 0, stream, pieces);
}

}  // namespace regions::slic
