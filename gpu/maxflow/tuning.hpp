// Block shapes and schedules, as types because kernels take them as template arguments.
#pragma once

#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

// One block fills a multiprocessor's shared memory with tiles, a warp each: 31 tiles of 7344 bytes
// or 18 of 12240 in 227 KB. 132 x 31 tiles are just enough for 1920 x 1080 pixels.
template <int kNeighbours>
struct TileBlock {
  static constexpr int warps = kNeighbours == 4 ? 31 : 18;
  static constexpr int threads = 32 * warps;
  static constexpr size_t shared_bytes = warps * sizeof(Tile<kNeighbours>);
};

// Rounds of pushes between two global relabels.
struct Schedule {
  static constexpr int rounds = 12;
  // At least so many for each round that the last relabel took: long ways need long runs.
  static constexpr float per_relabel_round = 1;
};

}  // namespace regions::maxflow
