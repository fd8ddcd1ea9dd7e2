// Exact distances to the sink inside a tile: the tile's part of the global relabel (Goldberg &
// Tarjan 1988, section 7: breadth-first search from the sink over residual arcs), as sweeps along
// columns and rows until nothing changes.
#pragma once

#include <type_traits>

#include "gpu/maxflow/exchange.hpp"

namespace regions::maxflow {

// Which residual arcs there are, a bit a pixel, so that the sweeps read heights alone. Flow does
// not change while distances are found.
template <int kNeighbours>
struct Arcs {
  // Lower half: arcs of the lane's column to the row above, bit = row; upper half: to the row
  // below, from the last row on. [0] straight, [1] to the left, [2] to the right.
  unsigned columns[kNeighbours == 4 ? 1 : 3];
  // Arcs of the lane's half row, bit = column: lower half to the left; upper half to the right,
  // from the last column on.
  unsigned rows;
};

// Two numbers in a word.
__device__ constexpr unsigned twice(unsigned number) { return number << 16 | number; }
__device__ inline unsigned swapped(unsigned pair) { return __byte_perm(pair, 0, 0x1032); }

template <int kNeighbours>
__device__ Arcs<kNeighbours> residual_arcs(const Tile<kNeighbours>& tile, Lane lane) {
  // By link: along it in the lower half, against it in the upper.
  unsigned there[kNeighbours / 2] = {};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int in_column = cell(lane.index, i), in_row = cell(lane.half * 16 + i, lane.row);
#pragma unroll
    for (int k = 0; k < kNeighbours / 2; ++k) {
      there[k] += __vminu2(tile.link(k, k == kRight / 2 ? in_row : in_column), twice(1)) << i;
    }
  }
  const auto both = [](unsigned against, unsigned along) {
    return against >> 16 | __brev(along & 0xffff);
  };
  Arcs<kNeighbours> arcs;
  arcs.rows = both(there[kRight / 2], there[kRight / 2]);
  arcs.columns[0] = both(there[kDown / 2], there[kDown / 2]);
  if constexpr (kNeighbours == 8) {
    arcs.columns[1] = both(there[kUpLeft / 2], there[kDownLeft / 2]);
    arcs.columns[2] = both(there[kUpRight / 2], there[kDownRight / 2]);
  }
  return arcs;
}

// What an arc adds to the height behind it: one, or more than any height if it is not there.
__device__ inline int arc_length(unsigned arcs, int bit) { return arcs >> bit & 1 ? 1 : 0x10000; }

// Heights along a line from both ends at once, two numbers in a word: forth in the lower half, back
// in the upper. They take heights from kFar on for unreachable.
constexpr unsigned kFar = 0x7f00, kNear = kFar - kTileWidth * kTileHeight - 1;
__device__ inline unsigned arc_lengths(unsigned arcs, int bit) {
  return twice(kFar) - (arcs >> bit & twice(1)) * (kFar - 1);
}

// Returns whether any height fell. `highest`: the most heights seen that count, + 1.
template <int kStep, int kNeighbours>
__device__ bool relax_line(Tile<kNeighbours>& tile, int start, unsigned arcs, unsigned& highest) {
  constexpr int kLast = 15, kHalf = 8;
  unsigned height[kHalf], came[kLast + 1];
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    height[i] = paired(tile.pixel(start + i * kStep), tile.pixel(start + (kLast - i) * kStep));
  }
  unsigned at = paired(tile.pixel(start - kStep), tile.pixel(start + (kLast + 1) * kStep));
  __syncwarp();  // read before the other half of a row writes
  // Unreachable, + 1, is 0.
  highest = __viaddmax_u16x2(at, twice(1), highest);
  at = __vminu2(at, twice(kFar));
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    highest = __viaddmax_u16x2(height[i], twice(1), highest);
    height[i] = __vminu2(height[i], twice(kFar));
  }
#pragma unroll
  for (int i = 0; i <= kLast; ++i) {
    at = __viaddmin_u16x2(at, arc_lengths(arcs, i),
                          i < kHalf ? height[i] : swapped(height[kLast - i]));
    came[i] = at;
  }
  unsigned fell = 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    came[i] = __vminu2(came[i], swapped(came[kLast - i]));
    fell |= came[i] ^ height[i];
  }
  if (fell) {
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const unsigned differ = came[i] ^ height[i];
      if (differ & 0xffff) tile.height(start + i * kStep) = static_cast<uint16_t>(came[i]);
      if (differ >> 16) {
        tile.height(start + (kLast - i) * kStep) = static_cast<uint16_t>(came[i] >> 16);
      }
    }
  }
  return fell != 0;
}

// The same for heights of any size, a way after the other: slow.
template <int kStep, int kNeighbours>
__device__ bool relax_long_line(Tile<kNeighbours>& tile, int start, unsigned arcs) {
  bool changed = false;
#pragma unroll 1
  for (int way = 0; way < 2; ++way, arcs >>= 16) {
    const int step = way == 0 ? kStep : -kStep, first = way == 0 ? start : start + 15 * kStep;
    int before = tile.height(first - step);
    __syncwarp();  // read before the other half of a row writes
#pragma unroll 1
    for (int i = 0; i < 16; ++i) {
      const int at = first + i * step, height = tile.height(at);
      before = min(height, before + arc_length(arcs, i));
      if (before < height) {
        tile.height(at) = static_cast<uint16_t>(before);
        changed = true;
      }
    }
    __syncwarp();  // written before the other half of a row reads
  }
  return changed;
}

// Heights downwards from the row above (or upwards from the row below), where arcs go to three
// pixels of it. Returns whether any fell.
template <bool kDownwards>
__device__ bool relax_fan(Tile<8>& tile, const Arcs<8>& arcs, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  const int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
  const int edge = cell(lane.half ? kTileWidth : -1, kDownwards ? 0 : kTileHeight - 1);
  int height[kTileHeight];
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) height[i] = tile.height(start + i * kStep);
  int before = tile.height(start - kStep);
  int left = tile.height(start - kStep - 1), right = tile.height(start - kStep + 1);
  __syncwarp();  // read before the lanes beside write
  bool changed = false;
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) {
    const int bit = kDownwards ? i : i + 16;
    int best = min(height[i], before + arc_length(arcs.columns[0], bit));
    best = min(best, left + arc_length(arcs.columns[1], bit));
    best = min(best, right + arc_length(arcs.columns[2], bit));
    if (best < height[i]) {
      tile.height(start + i * kStep) = static_cast<uint16_t>(best);
      changed = true;
    }
    before = best;
    const int beside = tile.height(edge + i * kStep);
    left = __shfl_up_sync(~0u, best, 1);
    right = __shfl_down_sync(~0u, best, 1);
    if (lane.index == 0) left = beside;
    if (lane.index == 31) right = beside;
  }
  return changed;
}

// Whether a height of one half of the lane's row is yet to go on into the other half.
template <int kNeighbours>
__device__ bool row_is_open(const Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs,
                            Lane lane) {
  const int own = tile.height(cell(15 + lane.half, lane.row));
  const int other = tile.height(cell(16 - lane.half, lane.row));
  return (arcs.rows >> (lane.half ? 0 : 16) & 1) && own > other + 1;
}

// What sweeps came to.
struct Sweeps {
  bool settled = false;  // nothing is left to do; else they stopped at the bound on their number
  bool fell = false;     // some height did
};

// Sweeps until no height falls. `ways`: along which the ring differs from that of the last time.
template <int kNeighbours, bool kLong>
__device__ void sweep_tile(Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs, Lane lane,
                           unsigned ways, unsigned& highest, Sweeps& sweeps) {
  constexpr int kWays = kNeighbours == 4 ? 2 : 3, kMaxSweeps = 64;
  int quiet = kNeighbours == 4 && ways != kBothWays ? 1 : 0;
  // Counts ways in a row that have nothing left to do.
  const auto settled = [&](bool changed, const auto& is_open) {
    __syncwarp();  // what one way writes the next one reads
    if (!__any_sync(~0u, changed)) return sweeps.settled = ++quiet == kWays;
    sweeps.fell = true;
    quiet = __any_sync(~0u, is_open()) ? 0 : 1;
    return false;
  };
  const auto line = [&](auto step, int start, unsigned along) {
    if constexpr (kLong) {
      return relax_long_line<step()>(tile, start, along);
    } else {
      return relax_line<step()>(tile, start, along, highest);
    }
  };
  const auto closed = [] { return false; };
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    if constexpr (kNeighbours == 4) {
      using Down = std::integral_constant<int, kTilePitch>;
      if (ways != kRowWays && settled(line(Down(), cell(lane.index, 0), arcs.columns[0]), closed)) {
        return;
      }
      ways = kBothWays;
    } else {
      if (settled(relax_fan<true>(tile, arcs, lane), closed)) return;
      if (settled(relax_fan<false>(tile, arcs, lane), closed)) return;
    }
    using Right = std::integral_constant<int, 1>;
    if (settled(line(Right(), cell(lane.half * 16, lane.row), arcs.rows),
                [&] { return row_is_open(tile, arcs, lane); })) {
      return;
    }
  }
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

// Sweeps until no height falls, or for long enough. `ways`: all, or, of a tile that was settled,
// those along which its ring differs since.
template <int kNeighbours>
__device__ Sweeps relax_tile(Tile<kNeighbours>& tile, const Arcs<kNeighbours>& arcs, Lane lane,
                             unsigned ways = kBothWays) {
  unsigned highest = 0;
  Sweeps sweeps;
  sweep_tile<kNeighbours, false>(tile, arcs, lane, ways, highest, sweeps);
  const bool is_long = __vmaxu2(highest, twice(kNear)) != twice(kNear);
  if (sweeps.settled && __any_sync(~0u, is_long)) {
    sweeps.settled = false;
    sweep_tile<kNeighbours, true>(tile, arcs, lane, kBothWays, highest, sweeps);
  }
  return sweeps;
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
