// Push-relabel inside a tile by one warp: rounds of pushes, and exact distances to the sink.
//
// push_relabel() sets the height of each active pixel to the height of its lowest neighbour plus 1.
// Then it pushes excess downhill in waves along columns and rows, as in Intel's C for Media
// tutorial on graph cuts. Here a wave is a chain of clamped additions in registers.
//
// relax_tile() computes the tile's part of the global relabel (Goldberg and Tarjan 1988, section
// 7). Instead of a breadth-first search from the sink, it sweeps along columns and rows until no
// height changes.
#pragma once

#include <type_traits>

#include "gpu/maxflow/graph_tile.hpp"

namespace regions::maxflow {

// If a global relabel takes more rounds than this, the solvers run more rounds of pushes after it.
constexpr int kLongRelabel = 64;

// ---- pushes

// Number of consecutive pixels that relabel_active() and push_between_rows() process as one batch.
// The pixels of a batch are loaded together. Batches without an active pixel are skipped.
template <int kNeighbours>
constexpr int kBatchLength = kNeighbours == 4 ? 8 : 4;

// Returns the flow that a pixel pushes along an arc: min(excess + inflow, residual), but at
// least 0.
__device__ inline int pushed_amount(int excess, int inflow, int residual) {
  return __viaddmin_s32_relu(excess, inflow, residual);
}

// Relabels every active pixel (Goldberg and Tarjan). Each lane goes down its column and uses the
// new height of the pixel above. One pass therefore raises a whole region of equal heights. Heights
// of other neighbours may be out of date. This is harmless: such heights are too low, but still
// lower bounds of the distances. Returns in all lanes whether any pixel was active.
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
      const int cell_index = start + i * kTilePitch;
      lowest[i] = kUnreachable;
#pragma unroll
      for (int k = 0; k < kNeighbours / 2; ++k) {
        const uint32_t link = tile.link(k, cell_index);
        const bool is_vertical = k == kDown / 2;
        const int forward = !is_vertical      ? tile.height(cell_index + cell_step(2 * k))
                            : i + 1 < kLength ? height_of(pixel[i + 1])
                                              : below;
        if (link & 0xffff) lowest[i] = min(lowest[i], forward);
        if (is_vertical) {
          up[i] = link >> 16 ? 0 : kUnreachable;
        } else {
          const int back = tile.height(cell_index + cell_step(2 * k + 1));
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
    __syncwarp();  // the batch's heights are written before the next batch reads them
  }
  return any_in_tile;
}

// Reads kLength pixels of the tile. Their cells are `start`, start + kStep, start + 2 * kStep and
// so on. Returns in all lanes whether any lane has read an active pixel.
template <int kStep, int kNeighbours, int kLength>
__device__ bool read_pixels(const Tile<kNeighbours>& tile, int start, uint32_t (&pixel)[kLength]) {
  bool active = false;
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    pixel[i] = tile.pixel(start + i * kStep);
    active |= is_active(pixel[i]);
  }
  return __any_sync(~0u, active);
}

// Computes the residual capacities of a line's arcs that lead downhill, and 0 for other arcs.
// `forth` receives the arcs to the next pixel, `back` the arcs to the previous pixel. At most one
// of the two arcs of a link leads downhill.
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

// Pushes one wave along a line, forth or back. Replaces the residual capacities in `arcs` by the
// flows that were pushed. Returns the flow that leaves the line at its end.
template <bool kForth, int kLength>
__device__ int push_wave(int (&excess)[kLength], int (&arcs)[kLength]) {
  int flow = 0;
#pragma unroll
  for (int k = 0; k < kLength; ++k) {
    const int i = kForth ? k : kLength - 1 - k, inflow = flow;
    arcs[i] = flow = pushed_amount(excess[i], inflow, arcs[i]);
    excess[i] += inflow - flow;
  }
  return flow;
}

// Pushes one wave forth and one wave back along 16 pixels, which are the lane's column or its half
// of a row. Flow from one half of a row into the other half moves on only with the next wave. Flow
// over the tile's edge is stored in the halo.
template <int kNeighbours, bool kAlongRow>
__device__ void push_lines(Tile<kNeighbours>& tile, Lane lane) {
  constexpr int kLength = 16, kStep = kAlongRow ? 1 : kTilePitch;
  constexpr int kLink = (kAlongRow ? kRight : kDown) / 2;
  const int start = kAlongRow ? cell(lane.half * kLength, lane.row) : cell(lane.index, 0);
  uint32_t pixel[kLength], link[kLength];
  if (!read_pixels<kStep>(tile, start, pixel)) return;
  const int height_before = tile.height(start - kStep);
  const int height_after = tile.height(start + kLength * kStep);
  __syncwarp();  // the lane of the other half has read the row before any lane writes it
  int excess[kLength], forth[kLength], back[kLength];
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    link[i] = tile.link(kLink, start + i * kStep);
    excess[i] = excess_of(pixel[i]);
  }
  find_downhill_arcs(pixel, link, height_before, height_after, forth, back);
  int entered = 0, leaving = push_wave<true>(excess, forth);
  if (kAlongRow) {
    const int inflow = __shfl_up_sync(~0u, leaving, kLength);
    if (lane.half == 1) excess[0] += entered = inflow;
  }
  const int returned = push_wave<false>(excess, back);
  entered -= returned;
  if (kAlongRow) {
    const int inflow = __shfl_down_sync(~0u, returned, kLength);
    if (lane.half == 0) {
      excess[kLength - 1] += inflow;
      leaving -= inflow;
    }
  }
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    const int inflow = i > 0 ? forth[i - 1] - back[i] : entered;
    const int outflow = i + 1 < kLength ? forth[i] - back[i + 1] : leaving;
    tile.pixel(start + i * kStep) = pack_low_halves(pixel[i], static_cast<uint32_t>(excess[i]));
    tile.link(kLink, start + i * kStep) =
        link[i] + (static_cast<uint32_t>(inflow) << 16) - static_cast<uint32_t>(outflow);
  }
  if (!kAlongRow || lane.half == 1) {
    tile.link(kLink, start + kLength * kStep) += static_cast<uint32_t>(forth[kLength - 1]) << 16;
  }
  if (!kAlongRow || lane.half == 0) {
    tile.link(kLink, start - kStep) += static_cast<uint32_t>(returned);
  }
}

// Pushes a wave downwards (or upwards) through the tile, one row at a time. Each pixel pushes flow
// straight on and along both diagonals. All lanes work together.
template <bool kDownwards>
__device__ void push_between_rows(Tile<8>& tile, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  // Directions of the three arcs: straight on, diagonally to the right, diagonally to the left.
  constexpr int kForward[] = {kDownwards ? kDown : kUp, kDownwards ? kDownRight : kUpRight,
                              kDownwards ? kDownLeft : kUpLeft};
  constexpr int kShift[] = {0, 1, -1};
  constexpr int kLength = kBatchLength<8>;
  // These functions shift a flow to the half of the link's word that contains a residual capacity:
  // forward() to the capacity along the arc, back() to the capacity against the arc.
  constexpr auto forward = [](int a, int flow) {
    return static_cast<uint32_t>(flow) << 16 * (kForward[a] % 2);
  };
  constexpr auto back = [](int a, int flow) {
    return static_cast<uint32_t>(flow) << 16 * (1 - kForward[a] % 2);
  };
  int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
#pragma unroll 1
  for (int rows_done = 0; rows_done < kTileHeight; rows_done += kLength, start += kLength * kStep) {
    uint32_t pixel[kLength];
    if (!read_pixels<kStep>(tile, start, pixel)) continue;
    int residual[3][kLength];  // residual capacities; 0 for arcs that do not lead downhill
#pragma unroll
    for (int a = 0; a < 3; ++a) {
#pragma unroll
      for (int i = 0; i < kLength; ++i) {
        const int cell_index = start + i * kStep, height = height_of(pixel[i]);
        const int next = tile.height(cell_index + kStep + kShift[a]);
        const bool is_downhill = height != kUnreachable && height == next + 1;
        residual[a][i] = is_downhill ? tile.residual(kForward[a], cell_index) : 0;
      }
    }
    __syncwarp();  // all lanes have read heights and links before neighbouring lanes write them
    int inflow[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const int cell_index = start + i * kStep, total_inflow = inflow[0] + inflow[1] + inflow[2];
      int remaining = excess_of(pixel[i]) + total_inflow, flow[3];
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        flow[a] = pushed_amount(remaining, 0, residual[a][i]);
        remaining -= flow[a];
        tile.link(kForward[a] / 2, cell_index) += back(a, inflow[a]) - forward(a, flow[a]);
      }
      tile.pixel(cell_index) = add_excess(pixel[i], remaining - excess_of(pixel[i]));
      inflow[0] = flow[0];
      inflow[1] = __shfl_up_sync(~0u, flow[1], 1);
      inflow[2] = __shfl_down_sync(~0u, flow[2], 1);
      // Flow over the left or right edge of the tile is stored in the halo.
      if (lane.index == 31) tile.link(kForward[1] / 2, cell_index + kStep + 1) += back(1, flow[1]);
      if (lane.index == 0) tile.link(kForward[2] / 2, cell_index + kStep - 1) += back(2, flow[2]);
      if (lane.index == 0) inflow[1] = 0;
      if (lane.index == 31) inflow[2] = 0;
    }
    const int next = start + kLength * kStep;
#pragma unroll
    for (int a = 0; a < 3; ++a) tile.link(kForward[a] / 2, next) += back(a, inflow[a]);
    if (rows_done + kLength < kTileHeight) {
      tile.pixel(next) = add_excess(tile.pixel(next), inflow[0] + inflow[1] + inflow[2]);
    }
  }
  __syncwarp();  // all lanes have written the tile before the next wave
}

// Runs one round of push-relabel in the tile. Returns in all lanes whether any pixel was active.
template <int kNeighbours>
__device__ bool push_relabel(Tile<kNeighbours>& tile, Lane lane) {
  if (!relabel_active(tile, lane)) return false;
  if constexpr (kNeighbours == 4) {
    push_lines<4, false>(tile, lane);
    __syncwarp();  // all columns are written before rows are read
  } else {
    push_between_rows<true>(tile, lane);
    push_between_rows<false>(tile, lane);
  }
  push_lines<kNeighbours, true>(tile, lane);
  __syncwarp();  // all lanes have written the tile before the next relabel
  return true;
}

// Whether any pixel of the tile is active. All lanes must call this function.
template <int kNeighbours>
__device__ bool any_active(const Tile<kNeighbours>& tile, Lane lane) {
  bool active = false;
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) active |= is_active(tile.pixel(cell(lane.index, y)));
  return __any_sync(~0u, active);
}

// ---- exact distances to the sink

// For each of a lane's pixels and each direction, one bit: whether the arc has residual
// capacity. Flow does not change while distances are computed, so sweeps read only heights and
// these bits.
template <int kNeighbours>
struct ResidualArcs {
  // Arcs of the pixels of the lane's column. The lower half has the arcs to the row above; bit i is
  // row i. The upper half has the arcs to the row below; bit 16 + i is row 15 - i. Entry [0] has
  // the vertical arcs, [1] the diagonal arcs to the left, [2] the diagonal arcs to the right.
  unsigned columns[kNeighbours == 4 ? 1 : 3];
  // Arcs of the pixels of the lane's half of a row. The lower half has the arcs to the left; bit i
  // is column i of the half row. The upper half has the arcs to the right; bit 16 + i is
  // column 15 - i.
  unsigned rows;
};

// Returns a word that contains the 16-bit number twice.
__device__ constexpr unsigned duplicate16(unsigned number) { return number << 16 | number; }
__device__ inline unsigned swap_halves(unsigned pair) { return __byte_perm(pair, 0, 0x1032); }

template <int kNeighbours>
__device__ ResidualArcs<kNeighbours> find_residual_arcs(const Tile<kNeighbours>& tile, Lane lane) {
  // For each link k: bit i is set if pixel i has residual capacity along the link, bit 16 + i is
  // set if it has residual capacity against the link.
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
  const auto pack_directions = [](unsigned against, unsigned along) {
    return against >> 16 | __brev(along & 0xffff);
  };
  ResidualArcs<kNeighbours> arcs;
  arcs.rows = pack_directions(has_capacity[kRight / 2], has_capacity[kRight / 2]);
  arcs.columns[0] = pack_directions(has_capacity[kDown / 2], has_capacity[kDown / 2]);
  if constexpr (kNeighbours == 8) {
    arcs.columns[1] = pack_directions(has_capacity[kUpLeft / 2], has_capacity[kDownLeft / 2]);
    arcs.columns[2] = pack_directions(has_capacity[kUpRight / 2], has_capacity[kDownRight / 2]);
  }
  return arcs;
}

// Returns the length of the arc of bit `bit`: 1 if the arc has residual capacity, otherwise more
// than any height.
__device__ inline int arc_length(unsigned arcs, int bit) { return arcs >> bit & 1 ? 1 : 0x10000; }

// relax_line() sweeps along a line from both ends at the same time. A word has two heights: the
// lower half belongs to the sweep forth, the upper half to the sweep back. Heights of
// kPackedUnreachable or more count as unreachable. From a height of at most kMaxPackedHeight, no
// path through the tile leads to kPackedUnreachable.
constexpr unsigned kPackedUnreachable = 0x7f00,
                   kMaxPackedHeight = kPackedUnreachable - kTileWidth * kTileHeight - 1;
// Returns the lengths of the two arcs of bits `bit` and `bit` + 16: 1 for arcs with residual
// capacity, otherwise kPackedUnreachable.
__device__ inline unsigned arc_lengths(unsigned arcs, int bit) {
  return duplicate16(kPackedUnreachable) -
         (arcs >> bit & duplicate16(1)) * (kPackedUnreachable - 1);
}

// Lowers the heights of the lane's line of 16 pixels by sweeps in both directions. Returns whether
// any height was lowered. Raises each half of `highest` to the largest height that was read for
// this half and is not kUnreachable, plus 1.
template <int kStep, int kNeighbours>
__device__ bool relax_line(Tile<kNeighbours>& tile, int start, unsigned arcs, unsigned& highest) {
  constexpr int kLast = 15, kHalf = 8;
  unsigned height[kHalf], relaxed[kLast + 1];
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    height[i] =
        pack_low_halves(tile.pixel(start + i * kStep), tile.pixel(start + (kLast - i) * kStep));
  }
  unsigned current =
      pack_low_halves(tile.pixel(start - kStep), tile.pixel(start + (kLast + 1) * kStep));
  __syncwarp();  // the lane of the row's other half has read the heights before any lane writes
  // kUnreachable + 1 is 0 in 16 bits, so unreachable pixels do not affect the maximum.
  highest = __viaddmax_u16x2(current, duplicate16(1), highest);
  current = __vminu2(current, duplicate16(kPackedUnreachable));
#pragma unroll
  for (int i = 0; i < kHalf; ++i) {
    highest = __viaddmax_u16x2(height[i], duplicate16(1), highest);
    height[i] = __vminu2(height[i], duplicate16(kPackedUnreachable));
  }
#pragma unroll
  for (int i = 0; i <= kLast; ++i) {
    current = __viaddmin_u16x2(current, arc_lengths(arcs, i),
                               i < kHalf ? height[i] : swap_halves(height[kLast - i]));
    relaxed[i] = current;
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

// Slow variant of relax_line() for heights of any size. It sweeps in one direction after the other.
template <int kStep, int kNeighbours>
__device__ bool relax_long_line(Tile<kNeighbours>& tile, int start, unsigned arcs) {
  bool changed = false;
#pragma unroll 1
  for (int direction = 0; direction < 2; ++direction, arcs >>= 16) {
    const int step = direction == 0 ? kStep : -kStep,
              first = direction == 0 ? start : start + 15 * kStep;
    int previous = tile.height(first - step);
    __syncwarp();  // the lane of the row's other half has read the height before any lane writes
#pragma unroll 1
    for (int i = 0; i < 16; ++i) {
      const int cell_index = first + i * step, height = tile.height(cell_index);
      previous = min(height, previous + arc_length(arcs, i));
      if (previous < height) {
        tile.height(cell_index) = static_cast<uint16_t>(previous);
        changed = true;
      }
    }
    __syncwarp();  // the heights are written before the lane of the row's other half reads them
  }
  return changed;
}

// Lowers heights by a sweep downwards (or upwards) through the tile. Each pixel takes into account
// its arcs to three pixels of the previous row. Returns whether any height was lowered.
template <bool kDownwards>
__device__ bool relax_between_rows(Tile<8>& tile, const ResidualArcs<8>& arcs, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  const int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
  const int edge = cell(lane.half ? kTileWidth : -1, kDownwards ? 0 : kTileHeight - 1);
  int height[kTileHeight];
#pragma unroll
  for (int i = 0; i < kTileHeight; ++i) height[i] = tile.height(start + i * kStep);
  int previous = tile.height(start - kStep);
  int left = tile.height(start - kStep - 1), right = tile.height(start - kStep + 1);
  __syncwarp();  // all lanes have read the heights before neighbouring lanes write them
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

// Whether the neighbouring pixel in the other half of the row can still lower the height of the
// lane's pixel at the middle of the row.
template <int kNeighbours>
__device__ bool crosses_row_middle(const Tile<kNeighbours>& tile,
                                   const ResidualArcs<kNeighbours>& arcs, Lane lane) {
  const int own = tile.height(cell(15 + lane.half, lane.row));
  const int other = tile.height(cell(16 - lane.half, lane.row));
  return (arcs.rows >> (lane.half ? 0 : 16) & 1) && own > other + 1;
}

// Result of sweeps in a tile.
struct Sweeps {
  // Whether no height can be lowered any more. If false, the limit of sweeps was reached.
  bool converged = false;
  bool lowered = false;  // whether any height was lowered
};

// Sweeps in all directions until no height is lowered or the limit of sweeps is reached. `axes`:
// the axes of the sweeps that changes in the halo require. kLong: whether to use relax_long_line().
template <int kNeighbours, bool kLong>
__device__ void sweep_tile(Tile<kNeighbours>& tile, const ResidualArcs<kNeighbours>& arcs,
                           Lane lane, unsigned axes, unsigned& highest, Sweeps& sweeps) {
  constexpr int kSweepKinds = kNeighbours == 4 ? 2 : 3, kMaxSweeps = 64;
  int idle_sweeps = kNeighbours == 4 && axes != kBothAxes ? 1 : 0;
  // Ends a sweep and counts consecutive sweeps that have lowered no height. Returns whether no kind
  // of sweep has lowered a height, so that the heights have converged. continues_in_row() returns
  // whether another sweep of the same kind could lower more heights.
  const auto finish_sweep = [&](bool changed, const auto& continues_in_row) {
    __syncwarp();  // the heights written by this sweep are visible to the next sweep
    if (!__any_sync(~0u, changed)) return sweeps.converged = ++idle_sweeps == kSweepKinds;
    sweeps.lowered = true;
    idle_sweeps = __any_sync(~0u, continues_in_row()) ? 0 : 1;
    return false;
  };
  const auto sweep_line = [&](auto step, int start, unsigned along) {
    if constexpr (kLong) {
      return relax_long_line<step()>(tile, start, along);
    } else {
      return relax_line<step()>(tile, start, along, highest);
    }
  };
  const auto never_continues = [] { return false; };
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    if constexpr (kNeighbours == 4) {
      using Down = std::integral_constant<int, kTilePitch>;
      if (axes != kRowAxis &&
          finish_sweep(sweep_line(Down(), cell(lane.index, 0), arcs.columns[0]), never_continues)) {
        return;
      }
      axes = kBothAxes;
    } else {
      if (finish_sweep(relax_between_rows<true>(tile, arcs, lane), never_continues)) return;
      if (finish_sweep(relax_between_rows<false>(tile, arcs, lane), never_continues)) return;
    }
    using Right = std::integral_constant<int, 1>;
    if (finish_sweep(sweep_line(Right(), cell(lane.half * 16, lane.row), arcs.rows),
                     [&] { return crosses_row_middle(tile, arcs, lane); })) {
      return;
    }
  }
}

// Sets the height of pixels with unused capacity to the sink to 0, and all other heights, including
// the halo's, to kUnreachable.
template <int kNeighbours>
__device__ void reset_heights(Tile<kNeighbours>& tile, Lane lane) {
  __syncwarp();  // all lanes have read the old heights before any lane overwrites them
  for (int cell_index = lane.index; cell_index < kTileCells; cell_index += 32) {
    tile.height(cell_index) = excess_of(tile.pixel(cell_index)) < 0 ? 0 : kUnreachable;
  }
  __syncwarp();  // the new heights are visible to all lanes
}

// Sweeps until no height is lowered or the limit of sweeps is reached. If the tile had converged
// before its halo changed, `axes` may contain only the axes of the sweeps that these changes
// require.
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

// Sets `active` to whether the tile has active pixels. Sets `saturated` to whether it has pixels
// whose distance to the sink needs more than 16 bits. The heights must be exact.
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
