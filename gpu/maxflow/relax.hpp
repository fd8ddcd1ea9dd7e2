// Exact distances to the sink inside a tile: the tile's part of the global relabel (Goldberg &
// Tarjan 1988, section 7: breadth-first search from the sink over residual arcs), as sweeps along
// columns and rows until nothing changes.
#pragma once

#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

// Which residual arcs there are, a bit a pixel, so that the sweeps read heights alone. Flow does
// not change while distances are found.
template <int kNeighbours>
struct Arcs {
  // Lower half: arcs of the lane's column to the row above, bit = row; upper half: to the row
  // below. [0] straight, [1] to the left, [2] to the right.
  unsigned columns[kNeighbours == 4 ? 1 : 3];
  // Arcs of the lane's half row, bit = column: lower half to the left, upper half to the right.
  unsigned rows;
};

template <int kNeighbours>
__device__ Arcs<kNeighbours> residual_arcs(const Tile<kNeighbours>& tile, Lane lane) {
  constexpr int kUpwards[] = {kUp, kUpLeft, kUpRight};
  constexpr int kDownwards[] = {kDown, kDownLeft, kDownRight};
  Arcs<kNeighbours> arcs{};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int in_column = cell(lane.index, i), in_row = cell(lane.half * 16 + i, lane.row);
#pragma unroll
    for (int a = 0; a < (kNeighbours == 4 ? 1 : 3); ++a) {
      if (tile.residual(kUpwards[a], in_column)) arcs.columns[a] |= 1u << i;
      if (tile.residual(kDownwards[a], in_column)) arcs.columns[a] |= 1u << (i + 16);
    }
    const uint32_t in_rows = tile.link(kRight / 2, in_row);
    if (in_rows >> 16) arcs.rows |= 1u << i;
    if (in_rows & 0xffff) arcs.rows |= 1u << (i + 16);
  }
  return arcs;
}

// What an arc adds to the height behind it: one, or more than any height if it is not there.
__device__ inline int arc_length(unsigned arcs, int bit) { return arcs >> bit & 1 ? 1 : 0x10000; }

// Heights downwards from the row above (or upwards from the row below). Returns whether any fell.
template <int kNeighbours, bool kDownwards>
__device__ bool relax_columns(Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  const int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
  const int edge = cell(lane.half ? kTileWidth : -1, kDownwards ? 0 : kTileHeight - 1);
  int height[kTileHeight];
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) height[i] = tile.height(start + i * kStep);
  int before = tile.height(start - kStep);
  int left = 0, right = 0;
  if constexpr (kNeighbours == 8) {
    left = tile.height(start - kStep - 1);
    right = tile.height(start - kStep + 1);
    __syncwarp();  // read before the lanes beside write
  }
  bool changed = false;
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) {
    const int bit = kDownwards ? i : kTileHeight - 1 - i + 16;
    int best = min(height[i], before + arc_length(arcs.columns[0], bit));
    if constexpr (kNeighbours == 8) {
      best = min(best, left + arc_length(arcs.columns[1], bit));
      best = min(best, right + arc_length(arcs.columns[2], bit));
    }
    if (best < height[i]) {
      tile.height(start + i * kStep) = static_cast<uint16_t>(best);
      changed = true;
    }
    before = best;
    if constexpr (kNeighbours == 8) {
      const int beside = tile.height(edge + i * kStep);
      left = __shfl_up_sync(~0u, best, 1);
      right = __shfl_down_sync(~0u, best, 1);
      if (lane.index == 0) left = beside;
      if (lane.index == 31) right = beside;
    }
  }
  return changed;
}

// Heights to the right from the left (or to the left from the right), in both halves at a time.
template <int kNeighbours, bool kRightwards>
__device__ bool relax_rows(Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs, Lane lane) {
  constexpr int kStep = kRightwards ? 1 : -1;
  const int start = cell(lane.half * 16 + (kRightwards ? 0 : 15), lane.row);
  int height[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) height[i] = tile.height(start + i * kStep);
  int before = tile.height(start - kStep);
  __syncwarp();  // read before the other half writes
  bool changed = false;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int bit = kRightwards ? i : 15 - i + 16;
    const int best = min(height[i], before + arc_length(arcs.rows, bit));
    if (best < height[i]) {
      tile.height(start + i * kStep) = static_cast<uint16_t>(best);
      changed = true;
    }
    before = best;
  }
  return changed;
}

// Zero where the sink takes more, unreachable elsewhere, the ring too.
template <int kNeighbours>
__device__ void start_heights(Tile<kNeighbours>& tile, Lane lane) {
  __syncwarp();  // heights were read by other lanes
  for (int at = lane.index; at < kTileCells; at += 32) {
    tile.height(at) = excess_of(tile.pixel(at)) < 0 ? 0 : kUnreachable;
  }
  __syncwarp();  // heights are there for all lanes
}

// Sweeps until no height falls. False if it stopped before, at the bound on sweeps.
template <int kNeighbours>
__device__ bool relax_tile(Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs, Lane lane) {
  constexpr int kWays = 4, kMostSweeps = 256;
  int quiet = 0;  // ways in a row that have nothing left to do
  const auto settled = [&](bool changed, bool finishes) {
    __syncwarp();  // what one way writes the next one reads
    quiet = __any_sync(~0u, changed) ? finishes : quiet + 1;
    return quiet == kWays;
  };
  for (int sweep = 0; sweep < kMostSweeps; sweep += kWays) {
    // A sweep along columns leaves nothing to do for a second one; one along half rows may.
    if (settled(relax_columns<kNeighbours, true>(tile, arcs, lane), true)) return true;
    if (settled(relax_columns<kNeighbours, false>(tile, arcs, lane), true)) return true;
    if (settled(relax_rows<kNeighbours, true>(tile, arcs, lane), false)) return true;
    if (settled(relax_rows<kNeighbours, false>(tile, arcs, lane), false)) return true;
  }
  return false;
}

// The bits that a tile says after its heights are exact.
template <int kNeighbours>
__device__ void look_over(const Tile<kNeighbours>& tile, Lane lane, bool& active, bool& saturated) {
  active = saturated = false;
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) {
    const uint32_t pixel = tile.pixel(cell(lane.index, y));
    active |= is_active(pixel);
    saturated |= height_of(pixel) == kHighest;
  }
  active = __any_sync(~0u, active);
  saturated = __any_sync(~0u, saturated);
}

}  // namespace regions::maxflow
