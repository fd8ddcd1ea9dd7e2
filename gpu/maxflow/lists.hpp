// Lists of tiles that many warps fill, in any order.
#pragma once

#include "gpu/maxflow/problem.hpp"
#include "gpu/maxflow/sparse_store.hpp"

namespace regions::maxflow {

struct TileList {
  unsigned* count;
  int* tiles;

  // Behind the barrier that ended the pass in which it was filled.
  __device__ int size() const { return static_cast<int>(__ldcg(count)); }
};

// A tile that a lane puts on a list, unless the tile is known to be there: each list has a stamp in
// every tile.
struct Entry {
  TileList list;
  bool wanted;
  unsigned* of_tile;
  unsigned stamp;
};

// A frame's lists: of the tiles of a pass, three by turns; of a relabel's, likewise; of active
// ones, two; of those that were ever on one.
template <int kNeighbours>
class TileLists {
 public:
  __device__ TileLists(const Problem& problem, const Sparse<kNeighbours>& sparse)
      : counts_(problem.progress->listed), sparse_(sparse) {}

  __device__ TileList pass(unsigned pass) const {
    return list(kPassLists + static_cast<int>(pass % 3));
  }
  __device__ TileList live(unsigned relabel) const {
    return list(kLiveLists + static_cast<int>(relabel % 3));
  }
  __device__ TileList active(unsigned relabel) const {
    return list(kActiveLists + static_cast<int>(relabel % 2));
  }
  __device__ TileList ever() const { return list(kEverList); }

  // What puts the lane's tile on a list: of the next pass, of the next relabel, of tiles in which
  // this relabel found active excess, of those that were ever on one.
  __device__ Entry next_entry(const Turns& turns, int tile, bool wanted) const {
    const unsigned next = turns.pass + 1;
    return {pass(next), wanted, &sparse_.state[tile].in_list[next % 2], next + 1};
  }
  __device__ Entry live_entry(const Turns& turns, int tile, bool wanted) const {
    const unsigned next = turns.relabel + 1;
    return {live(next), wanted, &sparse_.state[tile].live[next % 2], next + 1};
  }
  __device__ Entry active_entry(const Turns& turns, int tile, bool wanted) const {
    return {active(turns.relabel), wanted, &sparse_.state[tile].active, turns.relabel + 1};
  }
  __device__ Entry ever_entry(int tile, bool wanted) const {
    return {ever(), wanted, &sparse_.state[tile].ever, 1};
  }

 private:
  __device__ TileList list(int name) const {
    return {counts_ + name, sparse_.lists + static_cast<size_t>(name) * sparse_.boxes.tiles()};
  }

  unsigned* const counts_;  // [kLists]
  const Sparse<kNeighbours>& sparse_;
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
