// What neighbouring tiles tell each other between two grid barriers: heights along the tile's edge
// and flow pushed over it. Boxes come in two sets, used by turns, so nobody reads what is being
// written and results do not depend on which block is faster.
#pragma once

#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

struct Boxes {
  uint16_t* heights;  // [2][tiles][96]: top and bottom row, left and right column
  uint16_t* flows;    // [2][tiles][neighbours][48]: over the row's edge, over the column's edge
  int columns;        // tiles in a row
  int rows;

  __device__ int tiles() const { return columns * rows; }
};

constexpr int kHeightBox = 2 * kTileWidth + 2 * kTileHeight;
constexpr int kFlowBox = kTileWidth + kTileHeight;  // of one direction

// A tile's place among the others.
struct Place {
  int x, y, index;

  __device__ Place(const Boxes& boxes, int tile)
      : x(tile % boxes.columns), y(tile / boxes.columns), index(tile) {}
  // The tile (dx, dy) away, -1 if there is none.
  __device__ int beside(const Boxes& boxes, int dx, int dy) const {
    const bool there = x + dx >= 0 && x + dx < boxes.columns && y + dy >= 0 && y + dy < boxes.rows;
    return there ? index + dy * boxes.columns + dx : -1;
  }
};

__device__ inline uint16_t* height_box(const Boxes& boxes, unsigned turn, int tile) {
  return boxes.heights + (static_cast<size_t>(turn % 2) * boxes.tiles() + tile) * kHeightBox;
}

template <int kNeighbours>
__device__ uint16_t* flow_box(const Boxes& boxes, unsigned turn, int tile, int direction) {
  return boxes.flows +
         ((static_cast<size_t>(turn % 2) * boxes.tiles() + tile) * kNeighbours + direction) *
             kFlowBox;
}

template <int kNeighbours>
__device__ void tell_heights(const Tile<kNeighbours>& tile, const Boxes& boxes, unsigned turn,
                             int index, Lane lane) {
  uint16_t* box = height_box(boxes, turn, index);
  __stcg(box + lane.index, tile.height[cell(lane.index, 0)]);
  __stcg(box + kTileWidth + lane.index, tile.height[cell(lane.index, kTileHeight - 1)]);
  __stcg(box + 2 * kTileWidth + lane.index,
         tile.height[cell(lane.half ? kTileWidth - 1 : 0, lane.row)]);
}

// Takes the heights of those neighbours whose bit is set in `from` (bit = direction) into the
// ring. Returns whether any differs from what was there.
template <int kNeighbours>
__device__ bool hear_heights(Tile<kNeighbours>& tile, const Boxes& boxes, unsigned turn,
                             const Place& place, unsigned from, Lane lane) {
  // One entry: `at` in the ring, as `word` of the neighbour towards `direction` has it.
  bool changed = false;
  struct Entry {
    int at, height;
  } entries[kNeighbours == 4 ? 3 : 4];
  const auto ask = [&](int direction, int word, int at) {
    Entry entry{at, tile.height[at]};
    if (from >> direction & 1) {
      const int other = place.beside(boxes, step_x(direction), step_y(direction));
      if (other >= 0) entry.height = __ldcg(height_box(boxes, turn, other) + word);
    }
    return entry;
  };
  entries[0] = ask(3, kTileWidth + lane.index, cell(lane.index, -1));
  entries[1] = ask(2, lane.index, cell(lane.index, kTileHeight));
  entries[2] = ask(lane.half ? 0 : 1, 2 * kTileWidth + (lane.half ? 0 : kTileHeight) + lane.row,
                   cell(lane.half ? kTileWidth : -1, lane.row));
  if constexpr (kNeighbours == 8) {
    // The four corners; further lanes ask for a corner again.
    const int direction = 4 + lane.index % 4, dx = step_x(direction), dy = step_y(direction);
    entries[3] = ask(direction, (dy < 0 ? kTileWidth : 0) + (dx < 0 ? kTileWidth - 1 : 0),
                     cell(dx < 0 ? -1 : kTileWidth, dy < 0 ? -1 : kTileHeight));
  }
  for (const Entry& entry : entries) changed |= tile.height[entry.at] != entry.height;
  __syncwarp();  // compared by all before any writes: corners are held by several lanes
  for (const Entry& entry : entries) tile.height[entry.at] = static_cast<uint16_t>(entry.height);
  __syncwarp();  // the ring is there for all lanes
  return __any_sync(~0u, changed);
}

// Moves the flow that lies in the rings out. Returns whether there was any.
template <int kNeighbours>
__device__ bool tell_flows(Tile<kNeighbours>& tile, const Boxes& boxes, unsigned turn, int index,
                           Lane lane) {
  unsigned all = 0;
  const auto move = [&](int direction, int word, int x, int y) {
    uint16_t& flow =
        tile.room[opposite(direction)][cell(x + step_x(direction), y + step_y(direction))];
    __stcg(flow_box<kNeighbours>(boxes, turn, index, direction) + word, flow);
    all |= flow;
    flow = 0;
  };
  __syncwarp();  // all pushes are done
#pragma unroll
  for (int d = 2; d < kNeighbours; ++d) {
    move(d, lane.index, lane.index, step_y(d) > 0 ? kTileHeight - 1 : 0);
  }
  __syncwarp();  // corners are moved before the sides come to them
  const int side = lane.half ? kTileWidth - 1 : 0, word = kTileWidth + lane.row;
  if constexpr (kNeighbours == 4) {
    move(lane.half ? 0 : 1, word, side, lane.row);
  } else {
    constexpr int kLeft[] = {1, 5, 6}, kRight[] = {0, 7, 4};
#pragma unroll
    for (int a = 0; a < 3; ++a) move(lane.half ? kRight[a] : kLeft[a], word, side, lane.row);
  }
  __syncwarp();  // the ring is empty
  return __any_sync(~0u, all != 0);
}

// Takes in what the neighbours with a bit in `from` pushed over. Returns whether there was any.
template <int kNeighbours>
__device__ bool hear_flows(Tile<kNeighbours>& tile, const Boxes& boxes, unsigned turn,
                           const Place& place, unsigned from, Lane lane) {
  constexpr int kArcs = kNeighbours == 4 ? 1 : 3;
  // Flow along `direction` that ends at (x, y) of this tile, which lies on the edge it came over;
  // `by_row` if it left its tile over the upper or lower edge, or a corner.
  const auto ask = [&](int direction, int x, int y, bool by_row) -> int {
    const int from_x = x - step_x(direction), from_y = y - step_y(direction);
    const int dx = from_x < 0 ? -1 : from_x >= kTileWidth ? 1 : 0;
    const int dy = from_y < 0 ? -1 : from_y >= kTileHeight ? 1 : 0;
    if (by_row != (dy != 0)) return 0;
    // The direction in which that neighbour lies, as hear_heights() counts them.
    const int towards = dx == 0   ? (dy < 0 ? 3 : 2)
                        : dy == 0 ? (dx < 0 ? 1 : 0)
                        : dx > 0  ? (dy > 0 ? 4 : 7)
                                  : (dy > 0 ? 6 : 5);
    if (!(from >> towards & 1)) return 0;
    const int other = place.beside(boxes, dx, dy);
    if (other < 0) return 0;
    const int word = by_row ? (from_x & (kTileWidth - 1)) : kTileWidth + from_y;
    return __ldcg(flow_box<kNeighbours>(boxes, turn, other, direction) + word);
  };
  constexpr int kDown[] = {2, 4, 6}, kUp[] = {3, 5, 7};
  constexpr int kRightwards[] = {0, 4, 7}, kLeftwards[] = {1, 5, 6};
  const int side = lane.half ? kTileWidth - 1 : 0;
  int down[kArcs], up[kArcs], across[kArcs], all = 0;
#pragma unroll
  for (int a = 0; a < kArcs; ++a) {
    down[a] = ask(kDown[a], lane.index, 0, true);
    up[a] = ask(kUp[a], lane.index, kTileHeight - 1, true);
    across[a] = lane.half ? ask(kLeftwards[a], side, lane.row, false)
                          : ask(kRightwards[a], side, lane.row, false);
    all |= down[a] | up[a] | across[a];
  }
  if (!__any_sync(~0u, all != 0)) return false;
  const auto take = [&](int direction, int at, int flow) {
    tile.room[opposite(direction)][at] += flow;
    tile.excess[at] += flow;
  };
#pragma unroll
  for (int a = 0; a < kArcs; ++a) {
    take(kDown[a], cell(lane.index, 0), down[a]);
    take(kUp[a], cell(lane.index, kTileHeight - 1), up[a]);
  }
  __syncwarp();  // corners have it from above and below before it comes from the side
#pragma unroll
  for (int a = 0; a < kArcs; ++a) {
    take(lane.half ? kLeftwards[a] : kRightwards[a], cell(side, lane.row), across[a]);
  }
  __syncwarp();  // all is in place for the next wave
  return true;
}

}  // namespace regions::maxflow
