// A tile of the residual graph and its exchange with neighbouring tiles.
//
// One warp holds a tile in shared memory, in 16 bits per number. load_tile() fills it from a
// frame's weights, and write_tile_results() writes its flows back.
//
// Neighbouring tiles exchange the heights along their edges and the flow pushed over them. Tiles
// publish them in halo buffers; their neighbours read them after the next barrier. There are two
// sets of halo buffers, for even and odd epochs, so no tile reads a buffer that is being written,
// and results do not depend on the speed of blocks.
#pragma once

#include "core/workspace.hpp"
#include "gpu/maxflow/problem.hpp"

namespace regions::maxflow {

constexpr int kTileWidth = 32;   // one lane per column
constexpr int kTileHeight = 16;  // half a warp per row
// Odd, so that neither the cells of a row nor the cells of 16 rows and two halves share a bank
// of shared memory.
constexpr int kTilePitch = kTileWidth + 3;
constexpr int kTileCells = kTilePitch * (kTileHeight + 2);

// Height of pixels that cannot reach the sink. kHighest is the largest height of the others.
constexpr int kUnreachable = 0xffff;
constexpr int kHighest = kUnreachable - 1;

// Planes of 32-bit words, one word per cell, with two numbers each. The first plane contains
// the height (lower half) and the excess (upper half). Then there is one plane per link with
// its residual capacity along the link (lower half) and against it (upper half). Every plane
// has a halo of one cell on each side, except that the first link's plane has no rows above and
// below, because no flow arrives there. The halo contains the heights of neighbouring pixels.
// Its residual capacity along opposite(d) is the flow that was pushed out of the tile along d
// and that the neighbouring tile does not have yet.
template <int kNeighbours>
struct alignas(16) Tile {
  static constexpr int words = (1 + kNeighbours / 2) * kTileCells - 2 * kTilePitch;
  uint32_t word[words];

  __device__ uint32_t& pixel(int at) { return word[at]; }
  __device__ const uint32_t& pixel(int at) const { return word[at]; }
  __device__ uint32_t& link(int k, int at) { return word[plane(k) + at]; }
  __device__ const uint32_t& link(int k, int at) const { return word[plane(k) + at]; }

  __device__ uint16_t& height(int at) { return half(at, 0); }
  __device__ int height(int at) const { return static_cast<int>(pixel(at) & 0xffff); }
  __device__ uint16_t& residual(int d, int at) { return half(plane(d / 2) + at, d % 2); }
  __device__ int residual(int d, int at) const {
    return static_cast<int>(link(d / 2, at) >> 16 * (d % 2) & 0xffff);
  }
  // Inflow minus outflow. Negative: the sink can still take this much.
  __device__ int excess(int at) const { return static_cast<int>(pixel(at)) >> 16; }

 private:
  __device__ static constexpr int plane(int k) {
    return (1 + k) * kTileCells - (k == 0 ? 1 : 2) * kTilePitch;
  }
  __device__ uint16_t& half(int at, int which) {
    return reinterpret_cast<uint16_t*>(word)[2 * at + which];
  }
};

__device__ inline int height_of(uint32_t pixel) { return static_cast<int>(pixel & 0xffff); }
__device__ inline int excess_of(uint32_t pixel) { return static_cast<int>(pixel) >> 16; }
// The pixel's word with more excess.
__device__ inline uint32_t add_excess(uint32_t pixel, int excess) {
  return pixel + (static_cast<uint32_t>(excess) << 16);
}

// A word of the lower halves of two words.
__device__ inline uint32_t pack_low_halves(uint32_t lower, uint32_t upper) {
  return __byte_perm(lower, upper, 0x5410);
}

// Index of the cell of pixel (x, y) of the tile. -1 and the width or height are in the halo.
__device__ constexpr int cell(int x, int y) { return (y + 1) * kTilePitch + x + 1; }
__device__ constexpr int cell_step(int d) { return step_y(d) * kTilePitch + step_x(d); }

// The pixels that a lane of the warp processes.
struct Lane {
  int index;  // 0..31, the column it owns
  int row;    // 0..15, the row it shares with another lane
  int half;   // 0 or 1, its half of that row: left or right
};
__device__ inline Lane this_lane() {
  const int index = static_cast<int>(threadIdx.x % 32);
  return {index, index % 16, index / 16};
}

// Whether the pixel has excess that can still reach the sink.
__device__ inline bool is_active(uint32_t pixel) {
  return excess_of(pixel) > 0 && height_of(pixel) != kUnreachable;
}

// Capacities of the links that a pixel owns, and the flow along them.
template <int kNeighbours>
struct OwnedLinks {
  static constexpr int count = kNeighbours / 2;
  int32_t capacity[count] = {}, flow[count] = {};
};

// Reads the links of a column of the picture, row by row; one per lane. Links that a
// neighbouring pixel owns come from the neighbouring lane or the row above, so that no link is
// read twice. Every read is of some pixel of the picture, and values that do not belong to the
// column are replaced by 0 afterwards: skipping a read by a branch would delay the next read.
template <int kNeighbours, bool kWarm>
class LinkColumnReader {
 public:
  using Links = OwnedLinks<kNeighbours>;

  // Reads only the links whose bits are set in `links`.
  __device__ LinkColumnReader(const Problem& problem, int x, unsigned links = ~0u)
      : problem_(problem), x_(max(0, min(x, problem.size().width - 1))) {
    const int width = problem.size().width;
#pragma unroll
    for (int k = 0; k < Links::count; ++k) {
      const int end = x + step_x(2 * k);
      exists_[k] = links >> k & 1 && x == x_ && end >= 0 && end < width;
    }
  }

  // The links of row y; 0 for links that leave the picture.
  __device__ Links read(int y) const {
    Links own;
    const int height = problem_.size().height, row = max(0, min(y, height - 1));
#pragma unroll
    for (int k = 0; k < Links::count; ++k) {
      own.capacity[k] = links_of(problem_.graph, k)(x_, row);
      if (kWarm) own.flow[k] = problem_.link_flow[problem_.flow_index(k, x_, row)];
    }
#pragma unroll
    for (int k = 0; k < Links::count; ++k) {
      const bool exists = exists_[k] && y == row && (k == 0 || y + 1 < height);
      const int32_t c = exists ? max(own.capacity[k], 0) : 0;
      own.capacity[k] = c;
      // Kohli and Torr 2007: if the new capacity does not admit a flow, the flow is
      // reduced to the capacity. The difference becomes excess at one end and demand at
      // the other.
      own.flow[k] = max(-c, min(c, own.flow[k]));
    }
    return own;
  }
  // The pixel's terminal capacity; only for pixels of the picture.
  __device__ int32_t terminal(int y) const {
    return problem_.graph.terminal(x_, max(0, min(y, problem_.size().height - 1)));
  }

 private:
  const Problem& problem_;
  const int x_;                // the nearest column of the picture
  bool exists_[Links::count];  // selected links that stay in the picture, except in its last row
};

// Calls use(row, read(row)) for the rows of a tile. Reads several rows in advance, to
// overlap the memory latencies.
template <class Read, class Use>
__device__ void for_rows_in_batches(const Read& read, const Use& use) {
  constexpr int kRows = 4;
#pragma unroll 1
  for (int row = 0; row < kTileHeight; row += kRows) {
    decltype(read(0)) batch[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) batch[i] = read(row + i);
#pragma unroll
    for (int i = 0; i < kRows; ++i) use(row + i, batch[i]);
  }
}

// Loads the inside of tile (tile_x, tile_y). Returns whether 16 bits are enough for the lane's
// pixels, whatever flows: |excess| never exceeds the sum of all capacities at a pixel, and a
// residual capacity never exceeds twice the link's capacity.
template <int kNeighbours, bool kWarm>
__device__ bool load_pixels(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                            Lane lane) {
  using Column = LinkColumnReader<kNeighbours, kWarm>;
  using Links = typename Column::Links;
  const int x = tile_x * kTileWidth + lane.index, first_y = tile_y * kTileHeight;
  const int rows = x < problem.size().width ? problem.size().height - first_y : 0;
  const bool first_lane = lane.index == 0, last_lane = lane.index == 31;
  const Column column(problem, x);
  // Columns outside of the tile: the first lane needs their links to the right, the last lane
  // their links to the left.
  const Column edge(problem, first_lane ? x - 1 : x + 1,
                    first_lane  ? 0b0101
                    : last_lane ? 0b1000
                                : 0);
  Links above = column.read(first_y - 1), above_edge;
  if constexpr (kNeighbours == 8) above_edge = edge.read(first_y - 1);
  unsigned all_bits = 0, max_sum = 0;  // OR of all numbers; largest sum of capacities at a pixel
  struct Row {
    Links own, edge;
    int32_t terminal;
  };
  const auto read = [&](int row) {
    const int y = first_y + row;
    return Row{column.read(y), edge.read(y), column.terminal(y)};
  };
  for_rows_in_batches(read, [&](int row, const Row& row_values) {
    const int32_t terminal = row < rows ? row_values.terminal : 0;
    // Links into the pixel: from the left, from above, from above left and above right.
    Links incoming;
    const auto add_link = [&](int k, const Links& from, const Links& outside, bool is_edge,
                              auto shift) {
      const int capacity = shift(from.capacity[k]), flow = kWarm ? shift(from.flow[k]) : 0;
      incoming.capacity[k] = is_edge ? outside.capacity[k] : capacity;
      incoming.flow[k] = is_edge ? outside.flow[k] : flow;
    };
    const auto from_left = [](int value) { return __shfl_up_sync(~0u, value, 1); };
    const auto from_right = [](int value) { return __shfl_down_sync(~0u, value, 1); };
    add_link(0, row_values.own, row_values.edge, first_lane, from_left);
    incoming.capacity[1] = above.capacity[1];
    incoming.flow[1] = above.flow[1];
    if constexpr (kNeighbours == 8) {
      add_link(2, above, above_edge, first_lane, from_left);
      add_link(3, above, above_edge, last_lane, from_right);
    }
    auto excess = static_cast<unsigned>(terminal);
    unsigned sum = terminal < 0 ? 0 - excess : excess;
    all_bits |= sum;
    const int at = cell(lane.index, row);
#pragma unroll
    for (int k = 0; k < Links::count; ++k) {
      const auto along = static_cast<unsigned>(row_values.own.capacity[k]);
      const auto against = static_cast<unsigned>(incoming.capacity[k]);
      const int32_t out = row_values.own.flow[k], in = incoming.flow[k];
      tile.link(k, at) = (along - out) | (against + in) << 16;
      excess += in - out;
      sum += along + against;
      all_bits |= along | against;
    }
    tile.pixel(at) = add_excess(kUnreachable, static_cast<int>(excess));
    max_sum = max(max_sum, sum);
    above = row_values.own;
    if constexpr (kNeighbours == 8) above_edge = row_values.edge;
  });
  return max(all_bits, max_sum) < 1u << 15;
}

// Loads tile (tile_x, tile_y) including an empty halo. Returns in all lanes whether 16 bits are
// enough for it.
template <int kNeighbours>
__device__ bool load_tile(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                          Lane lane) {
  for (int at = lane.index; at < Tile<kNeighbours>::words; at += 32) {
    tile.word[at] = at < kTileCells ? kUnreachable : 0;
  }
  __syncwarp();  // the halo is clear; other lanes write the inside again
  const bool fits = problem.warm
                        ? load_pixels<kNeighbours, true>(tile, problem, tile_x, tile_y, lane)
                        : load_pixels<kNeighbours, false>(tile, problem, tile_x, tile_y, lane);
  __syncwarp();  // the tile is complete
  return __all_sync(~0u, fits);
}

// Contribution of a tile to the frame's results.
struct TileSums {
  long long sink_flow = 0;         // flow into the sink
  long long gap = 0;               // excess that could still reach the sink
  long long remaining_demand = 0;  // capacity left to the sink, negative
  bool has_flow = false;
};

// Writes the mask according to the heights, and the flows of the links that the tile's pixels
// own.
template <int kNeighbours>
__device__ TileSums write_tile_results(const Tile<kNeighbours>& tile, const Problem& problem,
                                       int tile_x, int tile_y, Lane lane) {
  TileSums sums;
  const int x = tile_x * kTileWidth + lane.index, first_y = tile_y * kTileHeight;
  const int rows = x < problem.size().width ? min(kTileHeight, problem.size().height - first_y) : 0;
  const LinkColumnReader<kNeighbours, false> column(problem, x);
  struct Row {
    OwnedLinks<kNeighbours> own;
    int32_t terminal;
  };
  const auto read = [&](int row) {
    return Row{column.read(first_y + row), column.terminal(first_y + row)};
  };
  for_rows_in_batches(read, [&](int row, const Row& row_values) {
    if (row >= rows) return;
    const int y = first_y + row, at = cell(lane.index, row);
    const uint32_t pixel = tile.pixel(at);
    const bool foreground = height_of(pixel) == kUnreachable;
    problem.foreground(x, y) = foreground ? GridCut::kForeground : GridCut::kBackground;
    const int excess = excess_of(pixel);
    sums.sink_flow += max(-static_cast<long long>(row_values.terminal), 0LL) + min(excess, 0);
    sums.remaining_demand += min(excess, 0);
    if (!foreground) sums.gap += max(excess, 0);
#pragma unroll
    for (int k = 0; k < kNeighbours / 2; ++k) {
      const int flow = row_values.own.capacity[k] - tile.residual(2 * k, at);
      problem.link_flow[problem.flow_index(k, x, y)] = flow;
      sums.has_flow |= flow != 0;
    }
  });
  return sums;
}

// ---- halo buffers

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
  // Index of the tile at offset (dx, dy), or -1 outside of the grid.
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
