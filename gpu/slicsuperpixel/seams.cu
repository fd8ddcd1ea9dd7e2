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
  await_last();
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  const int edge = static_cast<int>(blockIdx.y);
  const bool across_rows = edge < pieces.rows - 1;
  const int line = across_rows ? edge + 1 : edge - (pieces.rows - 1) + 1;
  const int x = across_rows ? i : line * T::width, y = across_rows ? line * T::rows : i;
  const int other_x = across_rows ? x : x - 1, other_y = across_rows ? y - 1 : y;
  bool wanted = x < codes.width && y < codes.height;
  uint32_t id = 0, other = 0;
  if (wanted) {
    const size_t own = static_cast<size_t>(line),
                 length = static_cast<size_t>(across_rows ? pieces.stride : codes.height),
                 place = static_cast<size_t>(i);
    id = (across_rows ? pieces.top : pieces.left)[own * length + place];
    other = (across_rows ? pieces.bottom : pieces.right)[(own - 1) * length + place];
    wanted = codes(x, y) == codes(other_x, other_y);
  }
  // The lane before mostly has the same two; nothing touches itself.
  const uint64_t pair = wanted ? static_cast<uint64_t>(id) << 32 | other : 0;
  const uint64_t before = __shfl_up_sync(cclabel::kAllLanes, pair, 1);
  if (threadIdx.x % 32 > 0 && before == pair) wanted = false;
  cclabel::unite(pieces.parent, id, other, wanted);
}

__global__ __launch_bounds__(kThreads) void gather_kernel(Pieces pieces) {
  await_last();
  const TileOfBlock tile(pieces);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(pieces, i), root = pieces.find(id);
    if (root == id) continue;
    pieces.parent[id] = root;  // others only come to the same end sooner
    pieces.give(root, pieces.piece[id]);
    atomicMin(pieces.first + root, pieces.first[id]);
  }
}

}  // namespace

void join_seams(Image<const uint8_t> codes, const Pieces& pieces, cudaStream_t stream) {
  const int longest = codes.width > codes.height ? codes.width : codes.height;
  launch_chained(join_seams_kernel,
                 dim3(blocks_for(static_cast<size_t>(longest), kThreads),
                      static_cast<unsigned>(pieces.rows - 1 + pieces.columns - 1)),
                 kThreads, 0, stream, codes, pieces);
  launch_chained(gather_kernel, tile_grid(pieces), kThreads, 0, stream, pieces);
}

}  // namespace regions::slic
