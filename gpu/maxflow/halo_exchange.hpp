// Exchange between neighbouring tiles: heights along a tile's edge and flow pushed over it.
// Tiles publish them in halo buffers; their neighbours read them after the next barrier. There
// are two sets of halo buffers for even and odd epochs, so no tile reads a buffer that is being
// written, and results do not depend on the speed of blocks.
#pragma once

#include "gpu/maxflow/tile.hpp"
#include "gpu/runtime/workspace.hpp"

namespace regions::maxflow {

constexpr int kHeightHalo = 2 * kTileWidth + 2 * kTileHeight;
constexpr int kFlowHalo = kTileWidth + kTileHeight;  // per direction

struct HaloBuffers {
  uint16_t* heights;  // [2][tiles][96]: top row, bottom row, left column, right column
  uint16_t* flows;    // [2][tiles][neighbours][48]: over the row's edge, over the column's edge
  int columns;        // tiles per row
  int rows;

  REGIONS_HD int tiles() const { return columns * rows; }
  template <int kNeighbours>
  void reserve(Workspace& memory) {
    const size_t both = 2 * static_cast<size_t>(tiles());
    memory.reserve(heights, both * kHeightHalo);
    memory.reserve(flows, both * kNeighbours * kFlowHalo);
  }
};

// The direction of the tile at offset (dx, dy), which is not (0, 0).
__device__ constexpr int direction_towards(int dx, int dy) {
  if (dx == 0) return dy < 0 ? kUp : kDown;
  if (dy == 0) return dx < 0 ? kLeft : kRight;
  if (dx > 0) return dy > 0 ? kDownRight : kUpRight;
  return dy > 0 ? kDownLeft : kUpLeft;
}

// Position of a tile in the grid of tiles.
struct TilePosition {
  int x, y, index;

  __device__ TilePosition(const HaloBuffers& halos, int tile)
      : x(tile % halos.columns), y(tile / halos.columns), index(tile) {}
  // Index of the tile at offset (dx, dy), or -1 if there is none.
  __device__ int neighbour(const HaloBuffers& halos, int dx, int dy) const {
    const bool exists = x + dx >= 0 && x + dx < halos.columns && y + dy >= 0 && y + dy < halos.rows;
    return exists ? index + dy * halos.columns + dx : -1;
  }
};

__device__ inline uint16_t* height_halo(const HaloBuffers& halos, unsigned epoch, int tile) {
  return halos.heights + (static_cast<size_t>(epoch % 2) * halos.tiles() + tile) * kHeightHalo;
}

template <int kNeighbours>
__device__ uint16_t* flow_halo(const HaloBuffers& halos, unsigned epoch, int tile, int direction) {
  return halos.flows +
         ((static_cast<size_t>(epoch % 2) * halos.tiles() + tile) * kNeighbours + direction) *
             kFlowHalo;
}

template <int kNeighbours>
__device__ void publish_heights(const Tile<kNeighbours>& tile, const HaloBuffers& halos,
                                unsigned epoch, int index, Lane lane) {
  uint16_t* halo = height_halo(halos, epoch, index);
  __stcg(halo + lane.index, tile.height(cell(lane.index, 0)));
  __stcg(halo + kTileWidth + lane.index, tile.height(cell(lane.index, kTileHeight - 1)));
  __stcg(halo + 2 * kTileWidth + lane.index,
         tile.height(cell(lane.half ? kTileWidth - 1 : 0, lane.row)));
}

// Heights of the tile's edge pixels that belong to the lane.
struct EdgeHeights {
  int top = kUnreachable, bottom = kUnreachable, side = kUnreachable;

  EdgeHeights() = default;
  template <int kNeighbours>
  __device__ EdgeHeights(const Tile<kNeighbours>& tile, Lane lane)
      : top(tile.height(cell(lane.index, 0))),
        bottom(tile.height(cell(lane.index, kTileHeight - 1))),
        side(tile.height(cell(lane.half ? kTileWidth - 1 : 0, lane.row))) {}

  // Directions of the neighbours whose view of the edge differs from `before`, one bit per
  // direction. All lanes must call it.
  template <int kNeighbours>
  __device__ unsigned changed_directions(const EdgeHeights& before) const {
    const unsigned above = __ballot_sync(~0u, top != before.top);
    const unsigned below = __ballot_sync(~0u, bottom != before.bottom);
    const unsigned sides = __ballot_sync(~0u, side != before.side);
    unsigned changed = 0;
    if (above) changed |= 1u << kUp;
    if (below) changed |= 1u << kDown;
    if (sides & 0xffff) changed |= 1u << kLeft;
    if (sides >> 16) changed |= 1u << kRight;
    if constexpr (kNeighbours == 8) {
      if (above & 1) changed |= 1u << kUpLeft;
      if (above >> 31) changed |= 1u << kUpRight;
      if (below & 1) changed |= 1u << kDownLeft;
      if (below >> 31) changed |= 1u << kDownRight;
    }
    return changed;
  }
};

// Heights for a lane's cells of the halo, and the indices of these cells.
template <int kNeighbours>
struct HaloHeights {
  static constexpr int count = kNeighbours == 4 ? 3 : 4;
  int at[count], height[count];

  // The direction of the neighbour that height[i] comes from.
  __device__ static int direction(int i, Lane lane) {
    if (i == 3) return kDownRight + lane.index % 4;
    return i == 0 ? kUp : i == 1 ? kDown : lane.half ? kRight : kLeft;
  }
};

// Reads the halo buffers of the neighbours whose bit is set in `from` (bit = direction). Other
// heights are -1.
template <int kNeighbours>
__device__ HaloHeights<kNeighbours> read_halo_heights(const Tile<kNeighbours>& tile,
                                                      const HaloBuffers& halos, unsigned epoch,
                                                      const TilePosition& position, unsigned from,
                                                      Lane lane) {
  HaloHeights<kNeighbours> halo;
  const auto read = [&](int i, int direction, int word, int at) {
    halo.at[i] = at;
    halo.height[i] = -1;
    if (from >> direction & 1) {
      const int other = position.neighbour(halos, step_x(direction), step_y(direction));
      if (other >= 0) halo.height[i] = __ldcg(height_halo(halos, epoch, other) + word);
    }
  };
  read(0, kUp, kTileWidth + lane.index, cell(lane.index, -1));
  read(1, kDown, lane.index, cell(lane.index, kTileHeight));
  read(2, lane.half ? kRight : kLeft, 2 * kTileWidth + (lane.half ? 0 : kTileHeight) + lane.row,
       cell(lane.half ? kTileWidth : -1, lane.row));
  if constexpr (kNeighbours == 8) {
    // The four corners; lanes beyond the fourth read a corner again.
    const int direction = kDownRight + lane.index % 4, dx = step_x(direction),
              dy = step_y(direction);
    read(3, direction, (dy < 0 ? kTileWidth : 0) + (dx < 0 ? kTileWidth - 1 : 0),
         cell(dx < 0 ? -1 : kTileWidth, dy < 0 ? -1 : kTileHeight));
  }
  return halo;
}

// Directions of sweeps that changes in the halo require: along columns, because of the rows
// above and below, or along rows, because of the columns on both sides.
enum SweepAxes : unsigned { kColumnAxis = 1, kRowAxis = 2, kBothAxes = 3 };

// Writes the heights into the halo. Returns the sweeps that the changes require.
template <int kNeighbours>
__device__ unsigned apply_halo_heights(Tile<kNeighbours>& tile,
                                       const HaloHeights<kNeighbours>& halo) {
  bool changed[2] = {};
#pragma unroll
  for (int i = 0; i < halo.count; ++i) {
    changed[i == 2] |= halo.height[i] >= 0 && tile.height(halo.at[i]) != halo.height[i];
  }
  __syncwarp();  // all lanes have compared before any lane writes: several lanes hold each corner
#pragma unroll
  for (int i = 0; i < halo.count; ++i) {
    if (halo.height[i] >= 0) tile.height(halo.at[i]) = static_cast<uint16_t>(halo.height[i]);
  }
  __syncwarp();  // the halo is visible to all lanes
  return (__any_sync(~0u, changed[0]) ? kColumnAxis : 0) |
         (__any_sync(~0u, changed[1]) ? kRowAxis : 0);
}

// Moves the flow in the tile's halo to the halo buffers. Returns the directions of neighbours
// that receive flow from the lane's cells, one bit per direction.
template <int kNeighbours>
__device__ unsigned publish_flows(Tile<kNeighbours>& tile, const HaloBuffers& halos, unsigned epoch,
                                  int index, Lane lane) {
  unsigned receivers = 0;
  const auto move = [&](int direction, int word, int x, int y) {
    const int to_x = x + step_x(direction), to_y = y + step_y(direction);
    uint16_t& flow = tile.residual(opposite(direction), cell(to_x, to_y));
    __stcg(flow_halo<kNeighbours>(halos, epoch, index, direction) + word, flow);
    const int dx = to_x < 0 ? -1 : to_x >= kTileWidth ? 1 : 0;
    const int dy = to_y < 0 ? -1 : to_y >= kTileHeight ? 1 : 0;
    if (flow != 0) receivers |= 1u << direction_towards(dx, dy);
    flow = 0;
  };
  __syncwarp();  // all pushes are done
#pragma unroll
  for (int d = 2; d < kNeighbours; ++d) {
    move(d, lane.index, lane.index, step_y(d) > 0 ? kTileHeight - 1 : 0);
  }
  __syncwarp();  // corners are moved before the cells at the sides
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
  __syncwarp();  // the halo is empty
  return receivers;
}

// Flow that neighbours pushed to the lane's edge pixels, by the arc it came along.
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
  int from_above[arcs], from_below[arcs], from_side[arcs];
};

// Reads the halo buffers of the neighbours whose bit is set in `from`.
template <int kNeighbours>
__device__ Inflow<kNeighbours> read_inflow(const HaloBuffers& halos, unsigned epoch,
                                           const TilePosition& position, unsigned from, Lane lane) {
  using Flows = Inflow<kNeighbours>;
  // Reads the flow along `direction` to the edge pixel (x, y) of this tile. `over_row_edge`:
  // whether it left its tile over the upper or lower edge, or over a corner.
  const auto read = [&](int direction, int x, int y, bool over_row_edge) -> int {
    const int from_x = x - step_x(direction), from_y = y - step_y(direction);
    const int dx = from_x < 0 ? -1 : from_x >= kTileWidth ? 1 : 0;
    const int dy = from_y < 0 ? -1 : from_y >= kTileHeight ? 1 : 0;
    if (over_row_edge != (dy != 0)) return 0;
    if (!(from >> direction_towards(dx, dy) & 1)) return 0;
    const int other = position.neighbour(halos, dx, dy);
    if (other < 0) return 0;
    const int word = over_row_edge ? (from_x & (kTileWidth - 1)) : kTileWidth + from_y;
    return __ldcg(flow_halo<kNeighbours>(halos, epoch, other, direction) + word);
  };
  const int side = lane.half ? kTileWidth - 1 : 0;
  Inflow<kNeighbours> flow;
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    const int across = lane.half ? Flows::leftwards(a) : Flows::rightwards(a);
    flow.from_above[a] = read(Flows::down(a), lane.index, 0, true);
    flow.from_below[a] = read(Flows::up(a), lane.index, kTileHeight - 1, true);
    flow.from_side[a] = read(across, side, lane.row, false);
  }
  return flow;
}

// Adds the inflow to the tile. Returns whether there was any.
template <int kNeighbours>
__device__ bool apply_inflow(Tile<kNeighbours>& tile, const Inflow<kNeighbours>& flow, Lane lane) {
  using Flows = Inflow<kNeighbours>;
  int any = 0;
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    any |= flow.from_above[a] | flow.from_below[a] | flow.from_side[a];
  }
  if (!__any_sync(~0u, any != 0)) return false;
  const auto add = [&](int direction, int at, int amount) {
    tile.residual(opposite(direction), at) += amount;
    tile.pixel(at) = add_excess(tile.pixel(at), amount);
  };
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    add(Flows::down(a), cell(lane.index, 0), flow.from_above[a]);
    add(Flows::up(a), cell(lane.index, kTileHeight - 1), flow.from_below[a]);
  }
  __syncwarp();  // inflow from above and below is in the corners before the sides add theirs
  const int side = lane.half ? kTileWidth - 1 : 0;
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    add(lane.half ? Flows::leftwards(a) : Flows::rightwards(a), cell(side, lane.row),
        flow.from_side[a]);
  }
  __syncwarp();  // the tile is complete for the next wave of pushes
  return true;
}

}  // namespace regions::maxflow
