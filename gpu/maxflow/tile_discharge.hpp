// Push-relabel inside a tile, by one warp: a round of pushes, and exact distances to the sink.
//
// push_relabel() relabels active pixels to one more than their lowest neighbour. Then excess runs
// downhill in waves along columns and rows, as in Intel's C for Media tutorial on graph cuts,
// but in registers: a wave is a chain of clamped additions.
//
// relax_tile() computes the tile's part of the global relabel (Goldberg and Tarjan 1988, section 7:
// breadth-first search from the sink over residual arcs), as sweeps along columns and rows until no
// height changes.
#pragma once

#include <type_traits>

#include "gpu/maxflow/graph_tile.hpp"

namespace regions::maxflow {

// If a global relabel takes more rounds than this, the solvers add as many rounds of pushes.
constexpr int kLongRelabel = 64;

// ---- pushes

// Number of pixels that relabel_active() and push_fan() process at a time. Their numbers are
// loaded together, and batches without an active pixel are skipped.
template <int kNeighbours>
constexpr int kBatchLength = kNeighbours == 4 ? 8 : 4;

// Flow that a pixel pushes along an arc: at most its excess plus inflow, at most the arc's
// residual capacity, at least 0.
__device__ inline int pushed_amount(int excess, int inflow, int residual) {
  return __viaddmin_s32_relu(excess, inflow, residual);
}

// Relabels every active pixel (Goldberg and Tarjan). Going down the column, a pixel sees the
// new height of the pixel above, which lifts whole plateaus at once. The other neighbours'
// heights may be old: they are too low, never wrong. Returns in all lanes whether any pixel was
// active.
template <int kNeighbours>
__device__ bool relabel_active(Tile<kNeighbours>& tile, Lane lane) {
  constexpr int kLength = kBatchLength<kNeighbours>;
  int above = tile.height(cell(lane.index, -1));
  bool any_in_tile = false;
#pragma unroll 1
  for (int y = 0; y < kTileHeight; y += kLength) {
    const int start = cell(lane.index, y);
    bool any = false;
    uint32_t pixel[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      pixel[i] = tile.pixel(start + i * kTilePitch);
      any |= is_active(pixel[i]);
    }
    if (!__any_sync(~0u, any)) {
      above = height_of(pixel[kLength - 1]);
      continue;
    }
    any_in_tile = true;
    const int below = tile.height(start + kLength * kTilePitch);
    int lowest[kLength], up[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const int at = start + i * kTilePitch;
      lowest[i] = kUnreachable;
#pragma unroll
      for (int k = 0; k < kNeighbours / 2; ++k) {
        const uint32_t link = tile.link(k, at);
        const bool is_vertical = k == kDown / 2;
        const int forward = !is_vertical      ? tile.height(at + cell_step(2 * k))
                            : i + 1 < kLength ? height_of(pixel[i + 1])
                                              : below;
        if (link & 0xffff) lowest[i] = min(lowest[i], forward);
        if (is_vertical) {
          up[i] = link >> 16 ? 0 : kUnreachable;
        } else {
          const int back = tile.height(at + cell_step(2 * k + 1));
          if (link >> 16) lowest[i] = min(lowest[i], back);
        }
      }
    }
    __syncwarp();  // neighbours' heights are read before any pixel is relabelled
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      int height = height_of(pixel[i]);
      if (is_active(pixel[i])) {
        height = min(min(lowest[i], max(above, up[i])) + 1, kUnreachable);
        tile.height(start + i * kTilePitch) = static_cast<uint16_t>(height);
      }
      above = height;
    }
    __syncwarp();  // relabelled before the next batch reads
  }
  return any_in_tile;
}

// Sets the residual capacities of a line's arcs that lead downhill, forth and back, and 0 for other
// arcs. At most one of the two arcs of a link leads downhill.
template <int kLength>
__device__ void find_downhill_arcs(const uint32_t (&pixel)[kLength],
                                   const uint32_t (&link)[kLength], int height_before,
                                   int height_after, int (&forth)[kLength], int (&back)[kLength]) {
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    const int next = i + 1 < kLength ? height_of(pixel[i + 1]) : height_after;
    const int last = i > 0 ? height_of(pixel[i - 1]) : height_before;
    forth[i] = height_of(pixel[i]) == next + 1 ? static_cast<int>(link[i] & 0xffff) : 0;
    back[i] = height_of(pixel[i]) == last + 1 ? static_cast<int>(link[i] >> 16) : 0;
  }
}

// Pushes waves forth and back along 16 pixels: the lane's column, or its half of a row. Flow
// into the other half of a row continues there with the next wave. Flow over the tile's edge is
// left in the halo.
template <int kNeighbours, bool kInRows>
__device__ void push_lines(Tile<kNeighbours>& tile, Lane lane) {
  constexpr int kLength = 16, kStep = kInRows ? 1 : kTilePitch;
  constexpr int kLink = (kInRows ? kRight : kDown) / 2;
  const int start = kInRows ? cell(lane.half * kLength, lane.row) : cell(lane.index, 0);
  uint32_t pixel[kLength], link[kLength];
  bool active = false;
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    pixel[i] = tile.pixel(start + i * kStep);
    active |= is_active(pixel[i]);
  }
  if (!__any_sync(~0u, active)) return;
  const int height_before = tile.height(start - kStep);
  const int height_after = tile.height(start + kLength * kStep);
  __syncwarp();  // read before the other half writes
  int excess[kLength], forth[kLength], back[kLength];
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    link[i] = tile.link(kLink, start + i * kStep);
    excess[i] = excess_of(pixel[i]);
  }
  find_downhill_arcs(pixel, link, height_before, height_after, forth, back);
  int flow = 0;
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    const int inflow = flow;
    forth[i] = flow = pushed_amount(excess[i], inflow, forth[i]);
    excess[i] += inflow - flow;
  }
  int entered = 0, leaving = flow;
  if (kInRows) {
    const int inflow = __shfl_up_sync(~0u, flow, kLength);
    if (lane.half == 1) excess[0] += entered = inflow;
  }
  flow = 0;
#pragma unroll
  for (int i = kLength - 1; i >= 0; --i) {
    const int inflow = flow;
    back[i] = flow = pushed_amount(excess[i], inflow, back[i]);
    excess[i] += inflow - flow;
  }
  const int returned = flow;
  entered -= returned;
  if (kInRows) {
    const int inflow = __shfl_down_sync(~0u, returned, kLength);
    if (lane.half == 0) {
      excess[kLength - 1] += inflow;
      leaving -= inflow;
    }
  }
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    const int in = i > 0 ? forth[i - 1] - back[i] : entered;
    const int out = i + 1 < kLength ? forth[i] - back[i + 1] : leaving;
    tile.pixel(start + i * kStep) = pack_low_halves(pixel[i], static_cast<uint32_t>(excess[i]));
    tile.link(kLink, start + i * kStep) =
        link[i] + (static_cast<uint32_t>(in) << 16) - static_cast<uint32_t>(out);
  }
  if (!kInRows || lane.half == 1) {
    tile.link(kLink, start + kLength * kStep) += static_cast<uint32_t>(forth[kLength - 1]) << 16;
  }
  if (!kInRows || lane.half == 0) {
    tile.link(kLink, start - kStep) += static_cast<uint32_t>(returned);
  }
}

// Pushes waves downwards (or upwards) that run straight and fan out to both diagonals, one row
// at a time. All lanes work together.
template <bool kDownwards>
__device__ void push_fan(Tile<8>& tile, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  // Straight, to the right, to the left.
  constexpr int kForward[] = {kDownwards ? kDown : kUp, kDownwards ? kDownRight : kUpRight,
                              kDownwards ? kDownLeft : kUpLeft};
  constexpr int kShift[] = {0, 1, -1};
  constexpr int kLength = kBatchLength<8>;
  // Shift flow to the halves of the link's word: along the arc, and against it.
  constexpr auto forward = [](int a, int flow) {
    return static_cast<uint32_t>(flow) << 16 * (kForward[a] % 2);
  };
  constexpr auto back = [](int a, int flow) {
    return static_cast<uint32_t>(flow) << 16 * (1 - kForward[a] % 2);
  };
  int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
#pragma unroll 1
  for (int done = 0; done < kTileHeight; done += kLength, start += kLength * kStep) {
    uint32_t pixel[kLength];
    bool active = false;
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      pixel[i] = tile.pixel(start + i * kStep);
      active |= is_active(pixel[i]);
    }
    if (!__any_sync(~0u, active)) continue;
    int residual[3][kLength];  // if the arc leads downhill, else 0
#pragma unroll
    for (int a = 0; a < 3; ++a) {
#pragma unroll
      for (int i = 0; i < kLength; ++i) {
        const int at = start + i * kStep, height = height_of(pixel[i]);
        const int next = tile.height(at + kStep + kShift[a]);
        const bool is_downhill = height != kUnreachable && height == next + 1;
        residual[a][i] = is_downhill ? tile.residual(kForward[a], at) : 0;
      }
    }
    __syncwarp();  // read before neighbouring lanes write
    int inflow[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const int at = start + i * kStep, total_inflow = inflow[0] + inflow[1] + inflow[2];
      int remaining = excess_of(pixel[i]) + total_inflow, flow[3];
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        flow[a] = pushed_amount(remaining, 0, residual[a][i]);
        remaining -= flow[a];
        tile.link(kForward[a] / 2, at) += back(a, inflow[a]) - forward(a, flow[a]);
      }
      tile.pixel(at) = add_excess(pixel[i], remaining - excess_of(pixel[i]));
      inflow[0] = flow[0];
      inflow[1] = __shfl_up_sync(~0u, flow[1], 1);
      inflow[2] = __shfl_down_sync(~0u, flow[2], 1);
      // Flow over the tile's sides is left in the halo.
      if (lane.index == 31) tile.link(kForward[1] / 2, at + kStep + 1) += back(1, flow[1]);
      if (lane.index == 0) tile.link(kForward[2] / 2, at + kStep - 1) += back(2, flow[2]);
      if (lane.index == 0) inflow[1] = 0;
      if (lane.index == 31) inflow[2] = 0;
    }
    const int next = start + kLength * kStep;
#pragma unroll
    for (int a = 0; a < 3; ++a) tile.link(kForward[a] / 2, next) += back(a, inflow[a]);
    if (done + kLength < kTileHeight) {
      tile.pixel(next) = add_excess(tile.pixel(next), inflow[0] + inflow[1] + inflow[2]);
    }
  }
  __syncwarp();  // the tile is complete for the next wave
}

// One round of push-relabel in the tile. Returns in all lanes whether any pixel was active.
template <int kNeighbours>
__device__ bool push_relabel(Tile<kNeighbours>& tile, Lane lane) {
  if (!relabel_active(tile, lane)) return false;
  if constexpr (kNeighbours == 4) {
    push_lines<4, false>(tile, lane);
    __syncwarp();  // columns are written before rows are read
  } else {
    push_fan<true>(tile, lane);
    push_fan<false>(tile, lane);
  }
  push_lines<kNeighbours, true>(tile, lane);
  __syncwarp();  // the tile is complete for the next relabel
  return true;
}

template <int kNeighbours>
__device__ bool any_active(const Tile<kNeighbours>& tile, Lane lane) {
  bool active = false;
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) active |= is_active(tile.pixel(cell(lane.index, y)));
  return __any_sync(~0u, active);
}

// ---- distances

// The residual arcs of a lane's pixels, one bit per pixel, so that sweeps read only heights.
// Flow does not change while distances are computed.
template <int kNeighbours>
struct ResidualArcs {
  // Arcs of the lane's column. Lower half: to the row above, bit = row. Upper half: to the
  // row below, starting with the last row. [0] straight, [1] to the left, [2] to the right.
  unsigned columns[kNeighbours == 4 ? 1 : 3];
  // Arcs of the lane's half row, bit = column. Lower half: to the left. Upper half: to the
  // right, starting with the last column.
  unsigned rows;
};

// A word that contains the number twice.
__device__ constexpr unsigned duplicate16(unsigned number) { return number << 16 | number; }
__device__ inline unsigned swap_halves(unsigned pair) { return __byte_perm(pair, 0, 0x1032); }

template <int kNeighbours>
__device__ ResidualArcs<kNeighbours> find_residual_arcs(const Tile<kNeighbours>& tile, Lane lane) {
  // Per link: arcs along it in the lower half, against it in the upper half.
  unsigned has_capacity[kNeighbours / 2] = {};
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int in_column = cell(lane.index, i), in_row = cell(lane.half * 16 + i, lane.row);
#pragma unroll
    for (int k = 0; k < kNeighbours / 2; ++k) {
      has_capacity[k] +=
          __vminu2(tile.link(k, k == kRight / 2 ? in_row : in_column), duplicate16(1)) << i;
    }
  }
  const auto both = [](unsigned against, unsigned along) {
    return against >> 16 | __brev(along & 0xffff);
  };
  ResidualArcs<kNeighbours> arcs;
  arcs.rows = both(has_capacity[kRight / 2], has_capacity[kRight / 2]);
  arcs.columns[0] = both(has_capacity[kDown / 2], has_capacity[kDown / 2]);
  if constexpr (kNeighbours == 8) {
    arcs.columns[1] = both(has_capacity[kUpLeft / 2], has_capacity[kDownLeft / 2]);
    arcs.columns[2] = both(has_capacity[kUpRight / 2], has_capacity[kDownRight / 2]);
  }
  return arcs;
}

// Length of an arc: 1, or more than any height without a residual arc.
__device__ inline int arc_length(unsigned arcs, int bit) { return arcs >> bit & 1 ? 1 : 0x10000; }

// Heights along a line from both ends at once, two numbers per word: forth in the lower half,
// back in the upper half. Heights from kPackedUnreachable on count as unreachable.
constexpr unsigned kPackedUnreachable = 0x7f00,
                   kMaxPackedHeight = kPackedUnreachable - kTileWidth * kTileHeight - 1;
__device__ inline unsigned arc_lengths(unsigned arcs, int bit) {
  return duplicate16(kPackedUnreachable) -
         (arcs >> bit & duplicate16(1)) * (kPackedUnreachable - 1);
}

// Relaxes the lane's line of 16 pixels in both directions. Returns whether any height was
// lowered. `highest` becomes the maximum of the heights read, + 1; unreachable ones do not
// count.
template <int kStep, int kNeighbours>
__device__ bool relax_line(Tile<kNeighbours>& tile, int start, unsigned arcs, unsigned& highest) {
  constexpr int kLast = 15, kHalf = 8;
  unsigned height[kHalf], relaxed[kLast + 1];
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    height[i] =
        pack_low_halves(tile.pixel(start + i * kStep), tile.pixel(start + (kLast - i) * kStep));
  }
  unsigned at = pack_low_halves(tile.pixel(start - kStep), tile.pixel(start + (kLast + 1) * kStep));
  __syncwarp();  // read before the other half of a row writes
  // Unreachable + 1 wraps to 0.
  highest = __viaddmax_u16x2(at, duplicate16(1), highest);
  at = __vminu2(at, duplicate16(kPackedUnreachable));
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    highest = __viaddmax_u16x2(height[i], duplicate16(1), highest);
    height[i] = __vminu2(height[i], duplicate16(kPackedUnreachable));
  }
#pragma unroll
  for (int i = 0; i <= kLast; ++i) {
    at = __viaddmin_u16x2(at, arc_lengths(arcs, i),
                          i < kHalf ? height[i] : swap_halves(height[kLast - i]));
    relaxed[i] = at;
  }
  unsigned lowered = 0;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    relaxed[i] = __vminu2(relaxed[i], swap_halves(relaxed[kLast - i]));
    lowered |= relaxed[i] ^ height[i];
  }
  if (lowered) {
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const unsigned changed_halves = relaxed[i] ^ height[i];
      if (changed_halves & 0xffff)
        tile.height(start + i * kStep) = static_cast<uint16_t>(relaxed[i]);
      if (changed_halves >> 16) {
        tile.height(start + (kLast - i) * kStep) = static_cast<uint16_t>(relaxed[i] >> 16);
      }
    }
  }
  return lowered != 0;
}

// relax_line() for heights of any size, one direction after the other: slow.
template <int kStep, int kNeighbours>
__device__ bool relax_long_line(Tile<kNeighbours>& tile, int start, unsigned arcs) {
  bool changed = false;
#pragma unroll 1
  for (int direction = 0; direction < 2; ++direction, arcs >>= 16) {
    const int step = direction == 0 ? kStep : -kStep,
              first = direction == 0 ? start : start + 15 * kStep;
    int previous = tile.height(first - step);
    __syncwarp();  // read before the other half of a row writes
#pragma unroll 1
    for (int i = 0; i < 16; ++i) {
      const int at = first + i * step, height = tile.height(at);
      previous = min(height, previous + arc_length(arcs, i));
      if (previous < height) {
        tile.height(at) = static_cast<uint16_t>(previous);
        changed = true;
      }
    }
    __syncwarp();  // written before the other half of a row reads
  }
  return changed;
}

// Relaxes heights downwards from the row above (or upwards from the row below), along the arcs
// to three pixels of that row. Returns whether any height was lowered.
template <bool kDownwards>
__device__ bool relax_fan(Tile<8>& tile, const ResidualArcs<8>& arcs, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  const int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
  const int edge = cell(lane.half ? kTileWidth : -1, kDownwards ? 0 : kTileHeight - 1);
  int height[kTileHeight];
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) height[i] = tile.height(start + i * kStep);
  int previous = tile.height(start - kStep);
  int left = tile.height(start - kStep - 1), right = tile.height(start - kStep + 1);
  __syncwarp();  // read before neighbouring lanes write
  bool changed = false;
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) {
    const int bit = kDownwards ? i : i + 16;
    int best = min(height[i], previous + arc_length(arcs.columns[0], bit));
    best = min(best, left + arc_length(arcs.columns[1], bit));
    best = min(best, right + arc_length(arcs.columns[2], bit));
    if (best < height[i]) {
      tile.height(start + i * kStep) = static_cast<uint16_t>(best);
      changed = true;
    }
    previous = best;
    const int side_height = tile.height(edge + i * kStep);
    left = __shfl_up_sync(~0u, best, 1);
    right = __shfl_down_sync(~0u, best, 1);
    if (lane.index == 0) left = side_height;
    if (lane.index == 31) right = side_height;
  }
  return changed;
}

// Whether a height at the middle of the lane's row must still continue into the other half.
template <int kNeighbours>
__device__ bool crosses_row_middle(const Tile<kNeighbours>& tile,
                                   const ResidualArcs<kNeighbours>& arcs, Lane lane) {
  const int own = tile.height(cell(15 + lane.half, lane.row));
  const int other = tile.height(cell(16 - lane.half, lane.row));
  return (arcs.rows >> (lane.half ? 0 : 16) & 1) && own > other + 1;
}

// Result of a number of sweeps.
struct Sweeps {
  bool converged = false;  // no height can be lowered; otherwise the limit on sweeps was reached
  bool lowered = false;    // whether any height was lowered
};

// Sweeps until no height is lowered. `axes`: the sweeps that changes in the halo require.
template <int kNeighbours, bool kLong>
__device__ void sweep_tile(Tile<kNeighbours>& tile, const ResidualArcs<kNeighbours>& arcs,
                           Lane lane, unsigned axes, unsigned& highest, Sweeps& sweeps) {
  constexpr int kSweepKinds = kNeighbours == 4 ? 2 : 3, kMaxSweeps = 64;
  int idle_sweeps = kNeighbours == 4 && axes != kBothAxes ? 1 : 0;
  // Counts consecutive sweeps that lowered nothing.
  const auto converged = [&](bool changed, const auto& continues_in_row) {
    __syncwarp();  // writes of a sweep are visible to the next one
    if (!__any_sync(~0u, changed)) return sweeps.converged = ++idle_sweeps == kSweepKinds;
    sweeps.lowered = true;
    idle_sweeps = __any_sync(~0u, continues_in_row()) ? 0 : 1;
    return false;
  };
  const auto line = [&](auto step, int start, unsigned along) {
    if constexpr (kLong) {
      return relax_long_line<step()>(tile, start, along);
    } else {
      return relax_line<step()>(tile, start, along, highest);
    }
  };
  const auto never = [] { return false; };
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    if constexpr (kNeighbours == 4) {
      using Down = std::integral_constant<int, kTilePitch>;
      if (axes != kRowAxis &&
          converged(line(Down(), cell(lane.index, 0), arcs.columns[0]), never)) {
        return;
      }
      axes = kBothAxes;
    } else {
      if (converged(relax_fan<true>(tile, arcs, lane), never)) return;
      if (converged(relax_fan<false>(tile, arcs, lane), never)) return;
    }
    using Right = std::integral_constant<int, 1>;
    if (converged(line(Right(), cell(lane.half * 16, lane.row), arcs.rows),
                  [&] { return crosses_row_middle(tile, arcs, lane); })) {
      return;
    }
  }
}

// Sets heights to 0 where the sink can take more, and to unreachable elsewhere and in the halo.
template <int kNeighbours>
__device__ void reset_heights(Tile<kNeighbours>& tile, Lane lane) {
  __syncwarp();  // other lanes have read the heights
  for (int at = lane.index; at < kTileCells; at += 32) {
    tile.height(at) = excess_of(tile.pixel(at)) < 0 ? 0 : kUnreachable;
  }
  __syncwarp();  // the heights are visible to all lanes
}

// Sweeps until no height is lowered, or up to the limit on sweeps. `axes`: all, or for a tile
// that has converged, the sweeps that changes in the halo require.
template <int kNeighbours>
__device__ Sweeps relax_tile(Tile<kNeighbours>& tile, const ResidualArcs<kNeighbours>& arcs,
                             Lane lane, unsigned axes = kBothAxes) {
  unsigned highest = 0;
  Sweeps sweeps;
  sweep_tile<kNeighbours, false>(tile, arcs, lane, axes, highest, sweeps);
  const bool is_long =
      __vmaxu2(highest, duplicate16(kMaxPackedHeight)) != duplicate16(kMaxPackedHeight);
  if (sweeps.converged && __any_sync(~0u, is_long)) {
    sweeps.converged = false;
    sweep_tile<kNeighbours, true>(tile, arcs, lane, kBothAxes, highest, sweeps);
  }
  return sweeps;
}

// Whether the tile has active and saturated pixels. Requires exact heights.
template <int kNeighbours>
__device__ void gather_status(const Tile<kNeighbours>& tile, Lane lane, bool& active,
                              bool& saturated) {
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
