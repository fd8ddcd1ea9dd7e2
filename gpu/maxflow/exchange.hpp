// What neighbouring tiles tell each other between two grid barriers: heights along the tile's edge
// and flow pushed over it. Boxes come in two sets, used by turns, so no tile reads what is being
// written and results do not depend on which block is faster.
#pragma once

#include "gpu/maxflow/tile.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::maxflow {

constexpr int kHeightBox = 2 * kTileWidth + 2 * kTileHeight;
constexpr int kFlowBox = kTileWidth + kTileHeight;  // of one direction

struct Boxes {
  uint16_t* heights;  // [2][tiles][96]: top and bottom row, left and right column
  uint16_t* flows;    // [2][tiles][neighbours][48]: over the row's edge, over the column's edge
  int columns;        // tiles in a row
  int rows;

  REGIONS_HD int tiles() const { return columns * rows; }
  template <int kNeighbours>
  void reserve(Workspace& memory) {
    const size_t both = 2 * static_cast<size_t>(tiles());
    memory.reserve(heights, both * kHeightBox);
    memory.reserve(flows, both * kNeighbours * kFlowBox);
  }
};

// The direction in which the tile (dx, dy) away lies; they are not both 0.
__device__ constexpr int direction_towards(int dx, int dy) {
  if (dx == 0) return dy < 0 ? kUp : kDown;
  if (dy == 0) return dx < 0 ? kLeft : kRight;
  if (dx > 0) return dy > 0 ? kDownRight : kUpRight;
  return dy > 0 ? kDownLeft : kUpLeft;
}

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
  __stcg(box + lane.index, tile.height(cell(lane.index, 0)));
  __stcg(box + kTileWidth + lane.index, tile.height(cell(lane.index, kTileHeight - 1)));
  __stcg(box + 2 * kTileWidth + lane.index,
         tile.height(cell(lane.half ? kTileWidth - 1 : 0, lane.row)));
}

// The heights of the tile's edge: those that the lane looks after.
struct EdgeHeights {
  int top = kUnreachable, bottom = kUnreachable, side = kUnreachable;

  EdgeHeights() = default;
  template <int kNeighbours>
  __device__ EdgeHeights(const Tile<kNeighbours>& tile, Lane lane)
      : top(tile.height(cell(lane.index, 0))),
        bottom(tile.height(cell(lane.index, kTileHeight - 1))),
        side(tile.height(cell(lane.half ? kTileWidth - 1 : 0, lane.row))) {}

  // Towards which neighbours there are others than before, a bit a direction. The whole warp calls
  // it.
  template <int kNeighbours>
  __device__ unsigned differ(const EdgeHeights& before) const {
    const unsigned above = __ballot_sync(~0u, top != before.top);
    const unsigned below = __ballot_sync(~0u, bottom != before.bottom);
    const unsigned beside = __ballot_sync(~0u, side != before.side);
    unsigned to = 0;
    if (above) to |= 1u << kUp;
    if (below) to |= 1u << kDown;
    if (beside & 0xffff) to |= 1u << kLeft;
    if (beside >> 16) to |= 1u << kRight;
    if constexpr (kNeighbours == 8) {
      if (above & 1) to |= 1u << kUpLeft;
      if (above >> 31) to |= 1u << kUpRight;
      if (below & 1) to |= 1u << kDownLeft;
      if (below >> 31) to |= 1u << kDownRight;
    }
    return to;
  }
};

// What the neighbours have for the ring: where it goes, and what it is.
template <int kNeighbours>
struct RingHeights {
  static constexpr int count = kNeighbours == 4 ? 3 : 4;
  int at[count], height[count];

  // The neighbour that one of them is of.
  __device__ static int direction(int i, Lane lane) {
    if (i == 3) return kDownRight + lane.index % 4;
    return i == 0 ? kUp : i == 1 ? kDown : lane.half ? kRight : kLeft;
  }
};

// Reads the boxes of those neighbours whose bit is set in `from` (bit = direction).
template <int kNeighbours>
__device__ RingHeights<kNeighbours> ask_heights(const Tile<kNeighbours>& tile, const Boxes& boxes,
                                                unsigned turn, const Place& place, unsigned from,
                                                Lane lane) {
  RingHeights<kNeighbours> ring;
  const auto ask = [&](int i, int direction, int word, int at) {
    ring.at[i] = at;
    ring.height[i] = -1;
    if (from >> direction & 1) {
      const int other = place.beside(boxes, step_x(direction), step_y(direction));
      if (other >= 0) ring.height[i] = __ldcg(height_box(boxes, turn, other) + word);
    }
  };
  ask(0, kUp, kTileWidth + lane.index, cell(lane.index, -1));
  ask(1, kDown, lane.index, cell(lane.index, kTileHeight));
  ask(2, lane.half ? kRight : kLeft, 2 * kTileWidth + (lane.half ? 0 : kTileHeight) + lane.row,
      cell(lane.half ? kTileWidth : -1, lane.row));
  if constexpr (kNeighbours == 8) {
    // The four corners; further lanes ask for a corner again.
    const int direction = kDownRight + lane.index % 4, dx = step_x(direction),
              dy = step_y(direction);
    ask(3, direction, (dy < 0 ? kTileWidth : 0) + (dx < 0 ? kTileWidth - 1 : 0),
        cell(dx < 0 ? -1 : kTileWidth, dy < 0 ? -1 : kTileHeight));
  }
  return ring;
}

// Along which ways heights of the ring are others: of rows above and below, or of columns beside.
enum Ways : unsigned { kColumnWays = 1, kRowWays = 2, kBothWays = 3 };

// Writes them into the ring. Returns the ways along which any differs from what was there.
template <int kNeighbours>
__device__ unsigned take_heights(Tile<kNeighbours>& tile, const RingHeights<kNeighbours>& ring) {
  bool changed[2] = {};
#pragma unroll
  for (int i = 0; i < ring.count; ++i) {
    changed[i == 2] |= ring.height[i] >= 0 && tile.height(ring.at[i]) != ring.height[i];
  }
  __syncwarp();  // compared by all before any writes: corners are held by several lanes
#pragma unroll
  for (int i = 0; i < ring.count; ++i) {
    if (ring.height[i] >= 0) tile.height(ring.at[i]) = static_cast<uint16_t>(ring.height[i]);
  }
  __syncwarp();  // the ring is there for all lanes
  return (__any_sync(~0u, changed[0]) ? kColumnWays : 0) |
         (__any_sync(~0u, changed[1]) ? kRowWays : 0);
}

// Moves the flow that lies in the rings out. Returns of the lane's share which neighbours get some,
// a bit a direction.
template <int kNeighbours>
__device__ unsigned tell_flows(Tile<kNeighbours>& tile, const Boxes& boxes, unsigned turn,
                               int index, Lane lane) {
  unsigned sent = 0;
  const auto move = [&](int direction, int word, int x, int y) {
    const int to_x = x + step_x(direction), to_y = y + step_y(direction);
    uint16_t& flow = tile.residual(opposite(direction), cell(to_x, to_y));
    __stcg(flow_box<kNeighbours>(boxes, turn, index, direction) + word, flow);
    const int dx = to_x < 0 ? -1 : to_x >= kTileWidth ? 1 : 0;
    const int dy = to_y < 0 ? -1 : to_y >= kTileHeight ? 1 : 0;
    if (flow != 0) sent |= 1u << direction_towards(dx, dy);
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
    move(lane.half ? kRight : kLeft, word, side, lane.row);
  } else {
    constexpr int kLeftwards[] = {kLeft, kUpLeft, kDownLeft};
    constexpr int kRightwards[] = {kRight, kUpRight, kDownRight};
#pragma unroll
    for (int a = 0; a < 3; ++a) {
      move(lane.half ? kRightwards[a] : kLeftwards[a], word, side, lane.row);
    }
  }
  __syncwarp();  // the ring is empty
  return sent;
}

// What neighbours pushed over the lane's edge pixels, by the arc it came along.
template <int kNeighbours>
struct Inflow {
  static constexpr int arcs = kNeighbours == 4 ? 1 : 3;
  __device__ static constexpr int down(int a) {
    return a == 0 ? kDown : a == 1 ? kDownRight : kDownLeft;
  }
  __device__ static constexpr int up(int a) { return opposite(down(a)); }
  __device__ static constexpr int rightwards(int a) {
    return a == 0 ? kRight : a == 1 ? kDownRight : kUpRight;
  }
  __device__ static constexpr int leftwards(int a) { return opposite(rightwards(a)); }
  int from_above[arcs], from_below[arcs], from_beside[arcs];
};

// Reads the boxes of the neighbours with a bit in `from`.
template <int kNeighbours>
__device__ Inflow<kNeighbours> ask_flows(const Boxes& boxes, unsigned turn, const Place& place,
                                         unsigned from, Lane lane) {
  using Arcs = Inflow<kNeighbours>;
  // Flow along `direction` that ends at (x, y) of this tile, which lies on the edge it came over;
  // `by_row` if it left its tile over the upper or lower edge, or a corner.
  const auto ask = [&](int direction, int x, int y, bool by_row) -> int {
    const int from_x = x - step_x(direction), from_y = y - step_y(direction);
    const int dx = from_x < 0 ? -1 : from_x >= kTileWidth ? 1 : 0;
    const int dy = from_y < 0 ? -1 : from_y >= kTileHeight ? 1 : 0;
    if (by_row != (dy != 0)) return 0;
    if (!(from >> direction_towards(dx, dy) & 1)) return 0;
    const int other = place.beside(boxes, dx, dy);
    if (other < 0) return 0;
    const int word = by_row ? (from_x & (kTileWidth - 1)) : kTileWidth + from_y;
    return __ldcg(flow_box<kNeighbours>(boxes, turn, other, direction) + word);
  };
  const int side = lane.half ? kTileWidth - 1 : 0;
  Inflow<kNeighbours> flow;
#pragma unroll
  for (int a = 0; a < Arcs::arcs; ++a) {
    const int across = lane.half ? Arcs::leftwards(a) : Arcs::rightwards(a);
    flow.from_above[a] = ask(Arcs::down(a), lane.index, 0, true);
    flow.from_below[a] = ask(Arcs::up(a), lane.index, kTileHeight - 1, true);
    flow.from_beside[a] = ask(across, side, lane.row, false);
  }
  return flow;
}

// Adds it to the tile. Returns whether there was any.
template <int kNeighbours>
__device__ bool take_flows(Tile<kNeighbours>& tile, const Inflow<kNeighbours>& flow, Lane lane) {
  using Arcs = Inflow<kNeighbours>;
  int all = 0;
#pragma unroll
  for (int a = 0; a < Arcs::arcs; ++a) {
    all |= flow.from_above[a] | flow.from_below[a] | flow.from_beside[a];
  }
  if (!__any_sync(~0u, all != 0)) return false;
  const auto take = [&](int direction, int at, int amount) {
    tile.residual(opposite(direction), at) += amount;
    tile.pixel(at) = with_more(tile.pixel(at), amount);
  };
#pragma unroll
  for (int a = 0; a < Arcs::arcs; ++a) {
    take(Arcs::down(a), cell(lane.index, 0), flow.from_above[a]);
    take(Arcs::up(a), cell(lane.index, kTileHeight - 1), flow.from_below[a]);
  }
  __syncwarp();  // corners have it from above and below before it comes from the side
  const int side = lane.half ? kTileWidth - 1 : 0;
#pragma unroll
  for (int a = 0; a < Arcs::arcs; ++a) {
    take(lane.half ? Arcs::leftwards(a) : Arcs::rightwards(a), cell(side, lane.row),
         flow.from_beside[a]);
  }
  __syncwarp();  // all is in place for the next wave
  return true;
}

}  // namespace regions::maxflow
