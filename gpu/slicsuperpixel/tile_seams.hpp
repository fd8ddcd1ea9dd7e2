// How the tiles around are told what a tile has found, and which joins the two: of two tiles that
// touch the one that comes second, so that no block waits for another and no kernel follows.
#pragma once

#include <cuda/atomic>

#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/pieces.hpp"
#include "gpu/slicsuperpixel/tile_runs.hpp"

#ifdef __CUDACC__

namespace regions::slic {

// A pixel at the edge of the tile, and its neighbour in the next tile.
struct Contact {
  bool exists;
  uint32_t own;  // component
  const uint32_t* other;
  uint8_t code;
  const uint8_t* other_code;

  // Makes the own component known to the next tile. For all threads of the block, a pixel each.
  __device__ Contact(const Forest& s, Image<const uint8_t> codes, const Pieces& pieces,
                     const TileOfBlock& tile) {
    const int t = static_cast<int>(threadIdx.x), side = t / PieceTile::width;
    static_assert(PieceTile::threads == TileEdge::kSides * PieceTile::width &&
                  PieceTile::width == PieceTile::rows);
    const TileEdge edge(pieces, tile.column, tile.row, side, t % PieceTile::width);
    exists = edge.exists;
    if (!exists) return;
    const int run = s.run_at(edge.y * kSegments + edge.x / kSegment, edge.x % kSegment);
    own = tile.id(pieces, static_cast<uint32_t>(s.number(run)));
    *edge.own = own;
    other = edge.other;
    code = s.codes[edge.y][edge.x];
    const int step = side % 2 == 1 ? 1 : -1;
    other_code = &codes(tile.left + edge.x + (side < 2 ? step : 0),
                        tile.top + edge.y + (side < 2 ? 0 : step));
  }
};

// Announces at each side that the tile's components and edges can be read. Returns for threads
// 0..3, a side each, whether the tile on the other side has come before. No block waits: the second
// one joins them, and leaves the count as it was.
__device__ inline bool arrive(const Pieces& pieces, const TileOfBlock& tile) {
  const int side = static_cast<int>(threadIdx.x);
  if (side >= TileEdge::kSides) return false;
  const bool across = side < 2, ahead = side % 2 == 1;
  const int line = across ? tile.column : tile.row, lines = across ? pieces.columns : pieces.rows;
  if (ahead ? line + 1 == lines : line == 0) return false;
  const int owner = tile.tile + (ahead ? (across ? 1 : pieces.columns) : 0);
  uint32_t* const count = pieces.arrivals + 2 * owner + (across ? 0 : 1);
  const cuda::atomic_ref<uint32_t, cuda::thread_scope_device> arrivals(*count);
  if (arrivals.fetch_add(1, cuda::memory_order_acq_rel) == 0) return false;
  *count = 0;
  return true;
}

// All lanes of a warp, of the same side.
__device__ inline void join_seam(const Pieces& pieces, const Contact& contact, bool wanted) {
  wanted = wanted && contact.exists;
  uint32_t other = 0;
  if (wanted) {  // past the L1 cache, as another block wrote them
    other = __ldcg(contact.other);
    wanted = __ldcg(contact.other_code) == contact.code;
  }
  // The lane before mostly has the same two; nothing touches itself.
  const uint64_t pair = wanted ? static_cast<uint64_t>(contact.own) << 32 | other : 0;
  const uint64_t before = __shfl_up_sync(kAllLanes, pair, 1);
  if (threadIdx.x % 32 > 0 && before == pair) wanted = false;
  unite(pieces.parent, contact.own, other, wanted);
}

}  // namespace regions::slic

#endif
