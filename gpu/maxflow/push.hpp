// One round of push-relabel inside a tile: active pixels are lifted over their lowest neighbour,
// then excess runs down in waves along columns and rows, as in the tutorial's kernels, but in
// registers: a wave is a chain of clamped additions.
#pragma once

#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

// A wave takes this many pixels at a time: their numbers are fetched together, and stretches
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
template <int kNeighbours>
__device__ void lift(Tile<kNeighbours>& tile, Lane lane) {
  constexpr int kLength = kStretch<kNeighbours>;
  int above = tile.height[cell(lane.index, -1)];
#pragma unroll 1
  for (int y = 0; y < kTileHeight; y += kLength) {
    const int start = cell(lane.index, y);
    bool active[kLength], any = false;
    int height[kLength + 1];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      height[i] = tile.height[start + i * kTilePitch];
      active[i] = is_active(tile.excess[start + i * kTilePitch], height[i]);
      any |= active[i];
    }
    if (!__any_sync(~0u, any)) {
      above = height[kLength - 1];
      continue;
    }
    height[kLength] = tile.height[start + kLength * kTilePitch];
    int lowest[kLength], up[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const int at = start + i * kTilePitch;
      lowest[i] = tile.residual[kDown][at] ? height[i + 1] : kUnreachable;
#pragma unroll
      for (int d = 0; d < kNeighbours; ++d) {
        if (is_vertical(d)) continue;
        const int beside = tile.height[at + cell_step(d)];
        if (tile.residual[d][at]) lowest[i] = min(lowest[i], beside);
      }
      up[i] = tile.residual[kUp][at] ? 0 : kUnreachable;
    }
    __syncwarp();  // neighbours' heights are read before any is lifted
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      if (active[i]) {
        height[i] = min(min(lowest[i], max(above, up[i])) + 1, kUnreachable);
        tile.height[start + i * kTilePitch] = static_cast<uint16_t>(height[i]);
      }
      above = height[i];
    }
    __syncwarp();  // lifted before the next stretch reads
  }
}

// Waves along one direction: towards the next row, or the next column in both halves of a row. The
// flow that goes over the end lies in residual[opposite(kDirection)] there, and is returned.
template <int kNeighbours, int kDirection>
__device__ int push_line(Tile<kNeighbours>& tile, int start) {
  constexpr int kLength = kStretch<kNeighbours>, kStep = cell_step(kDirection);
  uint16_t* const ahead = tile.residual[kDirection];
  uint16_t* const back = tile.residual[opposite(kDirection)];
  int over = 0;
#pragma unroll 1
  for (int done = 0; done < 16; done += kLength, start += kLength * kStep) {
    int excess[kLength], height[kLength + 1];
    bool active = false;
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      excess[i] = tile.excess[start + i * kStep];
      height[i] = tile.height[start + i * kStep];
      active |= is_active(excess[i], height[i]);
    }
    if (!__any_sync(~0u, active)) continue;
    height[kLength] = tile.height[start + kLength * kStep];
    int residual[kLength], returns[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      residual[i] = ahead[start + i * kStep];
      returns[i] = back[start + i * kStep];
    }
    int flow = 0;
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const bool downhill = height[i] < kUnreachable && height[i] == height[i + 1] + 1;
      const int came = flow;
      flow = given(excess[i], came, downhill ? residual[i] : 0);
      excess[i] += came - flow;
      returns[i] += came;
      residual[i] -= flow;
    }
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      tile.excess[start + i * kStep] = static_cast<int16_t>(excess[i]);
      ahead[start + i * kStep] = static_cast<uint16_t>(residual[i]);
      back[start + i * kStep] = static_cast<uint16_t>(returns[i]);
    }
    const int next = start + kLength * kStep;
    if (done + kLength < 16) {
      tile.excess[next] += flow;
      back[next] += flow;
    } else {
      over = flow;
    }
  }
  return over;
}

// Straight waves in all columns, downwards or upwards.
template <int kNeighbours, int kDirection>
__device__ void push_columns(Tile<kNeighbours>& tile, Lane lane) {
  constexpr bool kDownwards = step_y(kDirection) > 0;
  const int over =
      push_line<kNeighbours, kDirection>(tile, cell(lane.index, kDownwards ? 0 : kTileHeight - 1));
  tile.residual[opposite(kDirection)][cell(lane.index, kDownwards ? kTileHeight : -1)] += over;
}

// Waves in all half rows. What a half gives to the other one waits there for the next round.
template <int kNeighbours, int kDirection>
__device__ void push_rows(Tile<kNeighbours>& tile, Lane lane) {
  constexpr bool kRightwards = step_x(kDirection) > 0;
  const int over = push_line<kNeighbours, kDirection>(
      tile, cell(lane.half * 16 + (kRightwards ? 0 : 15), lane.row));
  __syncwarp();  // the other half has written its first column
  const int next = cell(lane.half * 16 + (kRightwards ? 16 : -1), lane.row);
  tile.residual[opposite(kDirection)][next] += over;
  if ((lane.half == 0) == kRightwards) tile.excess[next] += over;
  __syncwarp();  // all is in place for the next wave
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
  int start = cell(lane.index, kDownwards ? 0 : kTileHeight - 1);
#pragma unroll 1
  for (int done = 0; done < kTileHeight; done += kLength, start += kLength * kStep) {
    int excess[kLength], height[kLength];
    bool active = false;
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      excess[i] = tile.excess[start + i * kStep];
      height[i] = tile.height[start + i * kStep];
      active |= is_active(excess[i], height[i]);
    }
    if (!__any_sync(~0u, active)) continue;
    int residual[3][kLength];  // where the way is downhill, else 0
#pragma unroll
    for (int a = 0; a < 3; ++a) {
#pragma unroll
      for (int i = 0; i < kLength; ++i) {
        const int at = start + i * kStep, next = tile.height[at + kStep + kShift[a]];
        const bool is_downhill = height[i] < kUnreachable && height[i] == next + 1;
        residual[a][i] = is_downhill ? tile.residual[kAhead[a]][at] : 0;
      }
    }
    int came[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const int at = start + i * kStep;
      int left = excess[i] + came[0] + came[1] + came[2], flow[3];
#pragma unroll
      for (int a = 0; a < 3; ++a) {
        flow[a] = given(left, 0, residual[a][i]);
        left -= flow[a];
        tile.residual[kAhead[a]][at] -= flow[a];
        if (i > 0) tile.residual[opposite(kAhead[a])][at] += came[a];
      }
      tile.excess[at] = static_cast<int16_t>(left);
      came[0] = flow[0];
      came[1] = __shfl_up_sync(~0u, flow[1], 1);
      came[2] = __shfl_down_sync(~0u, flow[2], 1);
      // Over the tile's sides: into the ring.
      if (lane.index == 31) tile.residual[opposite(kAhead[1])][at + kStep + 1] += flow[1];
      if (lane.index == 0) tile.residual[opposite(kAhead[2])][at + kStep - 1] += flow[2];
      if (lane.index == 0) came[1] = 0;
      if (lane.index == 31) came[2] = 0;
    }
    const int next = start + kLength * kStep;
#pragma unroll
    for (int a = 0; a < 3; ++a) tile.residual[opposite(kAhead[a])][next] += came[a];
    if (done + kLength < kTileHeight) tile.excess[next] += came[0] + came[1] + came[2];
  }
  __syncwarp();  // all is in place for the next wave
}

template <int kNeighbours>
__device__ void push_relabel(Tile<kNeighbours>& tile, Lane lane) {
  lift(tile, lane);
  if constexpr (kNeighbours == 4) {
    push_columns<4, 2>(tile, lane);
    push_columns<4, 3>(tile, lane);
    __syncwarp();  // columns are written before rows are read
  } else {
    push_fan<true>(tile, lane);
    push_fan<false>(tile, lane);
  }
  push_rows<kNeighbours, 0>(tile, lane);
  push_rows<kNeighbours, 1>(tile, lane);
}

template <int kNeighbours>
__device__ bool any_active(const Tile<kNeighbours>& tile, Lane lane) {
  bool active = false;
#pragma unroll
  for (int y = 0; y < kTileHeight; ++y) {
    active |= is_active(tile.excess[cell(lane.index, y)], tile.height[cell(lane.index, y)]);
  }
  return __any_sync(~0u, active);
}

}  // namespace regions::maxflow
