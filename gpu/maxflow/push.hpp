// One round of push-relabel inside a tile: active pixels are lifted over their lowest neighbour,
// then excess runs down in waves along columns and rows, as in the tutorial's kernels, but in
// registers: a wave is a chain of clamped additions.
#pragma once

#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

// Lifts and fans take this many pixels at a time: their numbers are fetched together, and stretches
// without an active pixel are passed over.
template <int kNeighbours>
constexpr int kStretch = kNeighbours == 4 ? 8 : 4;

// What the pixel gives along an arc: no more than it has, no more than the arc's residual capacity,
// never less than zero.
__device__ inline int given(int had, int came, int residual) {
  return __viaddmin_s32_relu(had, came, residual);
}

// Goldberg & Tarjan's relabel of every active pixel. Down the column a pixel sees the new height of
// the one above, which lifts whole plateaus at once; the others' may be old: too low, never wrong.
// Returns in every lane whether any pixel was active.
template <int kNeighbours>
__device__ bool lift(Tile<kNeighbours>& tile, Lane lane) {
  constexpr int kLength = kStretch<kNeighbours>;
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
        const int ahead = !is_vertical      ? tile.height(at + cell_step(2 * k))
                          : i + 1 < kLength ? height_of(pixel[i + 1])
                                            : below;
        if (link & 0xffff) lowest[i] = min(lowest[i], ahead);
        if (is_vertical) {
          up[i] = link >> 16 ? 0 : kUnreachable;
        } else {
          const int back = tile.height(at + cell_step(2 * k + 1));
          if (link >> 16) lowest[i] = min(lowest[i], back);
        }
      }
    }
    __syncwarp();  // neighbours' heights are read before any is lifted
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      int height = height_of(pixel[i]);
      if (is_active(pixel[i])) {
        height = min(min(lowest[i], max(above, up[i])) + 1, kUnreachable);
        tile.height(start + i * kTilePitch) = static_cast<uint16_t>(height);
      }
      above = height;
    }
    __syncwarp();  // lifted before the next stretch reads
  }
  return any_in_tile;
}

// Waves forth and back along 16 pixels: the lane's column, or its half of a row. What a half row
// gives to the other half goes on there with the next wave. Flow over the tile's edge lies in the
// ring.
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
  const int before = tile.height(start - kStep), after = tile.height(start + kLength * kStep);
  __syncwarp();  // read before the other half writes
  // What may flow out of each pixel, forth and back; one of the two along a link, as heights stand.
  int excess[kLength], forth[kLength], back[kLength];
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    link[i] = tile.link(kLink, start + i * kStep);
    excess[i] = excess_of(pixel[i]);
    const int next = i + 1 < kLength ? height_of(pixel[i + 1]) : after;
    const int last = i > 0 ? height_of(pixel[i - 1]) : before;
    forth[i] = height_of(pixel[i]) == next + 1 ? static_cast<int>(link[i] & 0xffff) : 0;
    back[i] = height_of(pixel[i]) == last + 1 ? static_cast<int>(link[i] >> 16) : 0;
  }

  int flow = 0;
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    const int came = flow;
    forth[i] = flow = given(excess[i], came, forth[i]);
    excess[i] += came - flow;
  }
  int entered = 0, left = flow;
  if (kInRows) {
    const int came = __shfl_up_sync(~0u, flow, kLength);
    if (lane.half == 1) excess[0] += entered = came;
  }
  flow = 0;
#pragma unroll
  for (int i = kLength - 1; i >= 0; --i) {
    const int came = flow;
    back[i] = flow = given(excess[i], came, back[i]);
    excess[i] += came - flow;
  }
  const int returned = flow;
  entered -= returned;
  if (kInRows) {
    const int came = __shfl_down_sync(~0u, returned, kLength);
    if (lane.half == 0) {
      excess[kLength - 1] += came;
      left -= came;
    }
  }
#pragma unroll
  for (int i = 0; i < kLength; ++i) {
    const int in = i > 0 ? forth[i - 1] - back[i] : entered;
    const int out = i + 1 < kLength ? forth[i] - back[i + 1] : left;
    tile.pixel(start + i * kStep) = paired(pixel[i], static_cast<uint32_t>(excess[i]));
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

// Waves that run straight and fan out to both diagonals: a row at a time, all lanes together.
template <bool kDownwards>
__device__ void push_fan(Tile<8>& tile, Lane lane) {
  constexpr int kStep = kDownwards ? kTilePitch : -kTilePitch;
  // Straight, to the right, to the left.
  constexpr int kAhead[] = {kDownwards ? kDown : kUp, kDownwards ? kDownRight : kUpRight,
                            kDownwards ? kDownLeft : kUpLeft};
  constexpr int kShift[] = {0, 1, -1};
  constexpr int kLength = kStretch<8>;
  // Places of the residual capacities ahead and back in their word.
  constexpr auto ahead = [](int a, int flow) {
    return static_cast<uint32_t>(flow) << 16 * (kAhead[a] % 2);
  };
  constexpr auto back = [](int a, int flow) {
    return static_cast<uint32_t>(flow) << 16 * (1 - kAhead[a] % 2);
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
    int residual[3][kLength];  // where the way is downhill, else 0
#pragma unroll
    for (int a = 0; a < 3; ++a) {
#pragma unroll
      for (int i = 0; i < kLength; ++i) {
        const int at = start + i * kStep, height = height_of(pixel[i]);
        const int next = tile.height(at + kStep + kShift[a]);
        const bool is_downhill = height != kUnreachable && height == next + 1;
        residual[a][i] = is_downhill ? tile.residual(kAhead[a], at) : 0;
      }
    }
    __syncwarp();  // read before the lanes beside write
    int came[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const int at = start + i * kStep, all = came[0] + came[1] + came[2];
      int left = excess_of(pixel[i]) + all, flow[3];
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        flow[a] = given(left, 0, residual[a][i]);
        left -= flow[a];
        tile.link(kAhead[a] / 2, at) += back(a, came[a]) - ahead(a, flow[a]);
      }
      tile.pixel(at) = with_more(pixel[i], left - excess_of(pixel[i]));
      came[0] = flow[0];
      came[1] = __shfl_up_sync(~0u, flow[1], 1);
      came[2] = __shfl_down_sync(~0u, flow[2], 1);
      // Over the tile's sides: into the ring.
      if (lane.index == 31) tile.link(kAhead[1] / 2, at + kStep + 1) += back(1, flow[1]);
      if (lane.index == 0) tile.link(kAhead[2] / 2, at + kStep - 1) += back(2, flow[2]);
      if (lane.index == 0) came[1] = 0;
      if (lane.index == 31) came[2] = 0;
    }
    const int next = start + kLength * kStep;
#pragma unroll
    for (int a = 0; a < 3; ++a) tile.link(kAhead[a] / 2, next) += back(a, came[a]);
    if (done + kLength < kTileHeight) {
      tile.pixel(next) = with_more(tile.pixel(next), came[0] + came[1] + came[2]);
    }
  }
  __syncwarp();  // all is in place for the next wave
}

// Returns in every lane whether there was anything to do.
template <int kNeighbours>
__device__ bool push_relabel(Tile<kNeighbours>& tile, Lane lane) {
  if (!lift(tile, lane)) return false;
  if constexpr (kNeighbours == 4) {
    push_lines<4, false>(tile, lane);
    __syncwarp();  // columns are written before rows are read
  } else {
    push_fan<true>(tile, lane);
    push_fan<false>(tile, lane);
  }
  push_lines<kNeighbours, true>(tile, lane);
  __syncwarp();  // all is in place for the next lift
  return true;
}

template <int kNeighbours>
__device__ bool any_active(const Tile<kNeighbours>& tile, Lane lane) {
  bool active = false;
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) active |= is_active(tile.pixel(cell(lane.index, y)));
  return __any_sync(~0u, active);
}

}  // namespace regions::maxflow
