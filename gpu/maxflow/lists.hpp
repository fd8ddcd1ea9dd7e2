// Lists of tiles that many warps fill, in any order.
#pragma once

#include "gpu/maxflow/sparse_store.hpp"

namespace regions::maxflow {

struct TileList {
  unsigned* count;
  int* tiles;

  // Behind the barrier that ended the pass in which it was filled.
  __device__ int size() const { return static_cast<int>(__ldcg(count)); }
};

template <int kNeighbours>
__device__ TileList list_of(const Sparse<kNeighbours>& sparse, const Problem& problem, int list) {
  return {&problem.progress->listed[list],
          sparse.lists + static_cast<size_t>(list) * sparse.boxes.tiles()};
}

// A tile that a lane puts on a list, unless the tile is known to be there: each list has a stamp in
// every tile.
struct Entry {
  TileList list;
  bool wanted;
  unsigned* of_tile;
  unsigned stamp;
};

// Adds entries to several lists; all lists at once, as memory is slow to answer. `tile` is the
// lane's. The whole warp calls it.
template <int kCount>
__device__ void add_to_lists(int tile, Entry (&entries)[kCount]) {
  static_assert(kCount <= 32, "a lane for each list");
  unsigned seen[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (entries[i].wanted) seen[i] = atomicExch(entries[i].of_tile, entries[i].stamp);
  }
  unsigned all[kCount], at = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    entries[i].wanted = entries[i].wanted && seen[i] != entries[i].stamp;
    all[i] = __ballot_sync(~0u, entries[i].wanted);
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (lane == i && all[i]) {
      at = atomicAdd(entries[i].list.count, static_cast<unsigned>(__popc(all[i])));
    }
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const unsigned begin = __shfl_sync(~0u, at, i);
    const auto before = static_cast<unsigned>(__popc(all[i] & ((1u << lane) - 1)));
    if (entries[i].wanted) __stcg(entries[i].list.tiles + begin + before, tile);
  }
}

}  // namespace regions::maxflow
