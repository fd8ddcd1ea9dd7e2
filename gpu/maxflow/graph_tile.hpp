// A tile of the residual graph, and the exchange of data between neighbouring tiles.
//
// One warp holds a tile in shared memory, with 16 bits per number. load_tile() fills the tile from
// a frame's weights, and write_tile_results() writes the tile's flows back.
//
// Neighbouring tiles exchange the heights along their edges and the flow pushed over these edges.
// Each tile publishes its data in halo buffers; its neighbours read the data after the next
// barrier. There are two sets of halo buffers, for even and odd epochs. No tile therefore reads a
// buffer that is being written, and results do not depend on the speed of blocks.
#pragma once

#include "core/workspace.hpp"
#include "gpu/maxflow/problem.hpp"

namespace regions::maxflow {

constexpr int kTileWidth = 32;   // pixels; one lane per column
constexpr int kTileHeight = 16;  // pixels; two lanes per row, one for each half of the row
// Cells per row. The number is odd, so that the lanes of a warp access different banks of shared
// memory, both if they access a row and if they access the left and right halves of 16 rows.
constexpr int kTilePitch = kTileWidth + 3;
// Cells of a tile including its halo.
constexpr int kTileCells = kTilePitch * (kTileHeight + 2);

// Height of pixels that cannot reach the sink. kHighest is the largest height of other pixels.
constexpr int kUnreachable = 0xffff;
constexpr int kHighest = kUnreachable - 1;

// A tile consists of planes of 32-bit words. Each plane has one word per cell, and each word
// contains two 16-bit numbers. The first plane contains the height (lower half) and the excess
// (upper half). One plane per link follows, with the residual capacity along the link (lower half)
// and against the link (upper half). Every plane has a halo of one cell on each side, except that
// the plane of link 0 has no rows above and below, because no flow arrives there. In the first
// plane, the halo contains the heights of neighbouring pixels. In a link's plane, the halo's
// residual capacity in direction opposite(d) is the flow that was pushed out of the tile in
// direction d and that the neighbouring tile has not received yet.
template <int kNeighbours>
struct alignas(16) Tile {
  static constexpr int words = (1 + kNeighbours / 2) * kTileCells - 2 * kTilePitch;
  uint32_t word[words];

  __device__ uint32_t& pixel(int cell_index) { return word[cell_index]; }
  __device__ const uint32_t& pixel(int cell_index) const { return word[cell_index]; }
  __device__ uint32_t& link(int k, int cell_index) { return word[plane(k) + cell_index]; }
  __device__ const uint32_t& link(int k, int cell_index) const {
    return word[plane(k) + cell_index];
  }

  __device__ uint16_t& height(int cell_index) { return half(cell_index, 0); }
  __device__ int height(int cell_index) const {
    return static_cast<int>(pixel(cell_index) & 0xffff);
  }
  __device__ uint16_t& residual(int d, int cell_index) {
    return half(plane(d / 2) + cell_index, d % 2);
  }
  __device__ int residual(int d, int cell_index) const {
    return static_cast<int>(link(d / 2, cell_index) >> 16 * (d % 2) & 0xffff);
  }
  // Inflow minus outflow. A negative excess is the capacity to the sink that is still unused.
  __device__ int excess(int cell_index) const { return static_cast<int>(pixel(cell_index)) >> 16; }

 private:
  __device__ static constexpr int plane(int k) {
    return (1 + k) * kTileCells - (k == 0 ? 1 : 2) * kTilePitch;
  }
  __device__ uint16_t& half(int cell_index, int is_upper) {
    return reinterpret_cast<uint16_t*>(word)[2 * cell_index + is_upper];
  }
};

__device__ inline int height_of(uint32_t pixel) { return static_cast<int>(pixel & 0xffff); }
__device__ inline int excess_of(uint32_t pixel) { return static_cast<int>(pixel) >> 16; }
// Returns the word of a pixel after `excess` was added to its excess.
__device__ inline uint32_t add_excess(uint32_t pixel, int excess) {
  return pixel + (static_cast<uint32_t>(excess) << 16);
}

// Returns a word that consists of the lower halves of two words.
__device__ inline uint32_t pack_low_halves(uint32_t lower, uint32_t upper) {
  return __byte_perm(lower, upper, 0x5410);
}

// Returns the index of the cell of pixel (x, y) of the tile. The coordinate -1 and a coordinate
// equal to the tile's width or height are in the halo.
__device__ constexpr int cell(int x, int y) { return (y + 1) * kTilePitch + x + 1; }
// Difference between the indices of neighbouring cells in direction d.
__device__ constexpr int cell_step(int d) { return step_y(d) * kTilePitch + step_x(d); }

// The pixels that a lane of the warp processes.
struct Lane {
  int index;  // 0..31, index of the lane, and of the tile's column that it processes
  int row;    // 0..15, row of the tile; the lane processes one half of it
  int half;   // which half of the row the lane processes: 0 left half, 1 right half
};
__device__ inline Lane this_lane() {
  const int index = static_cast<int>(threadIdx.x % 32);
  return {index, index % 16, index / 16};
}

// Whether the pixel has excess that can still reach the sink.
__device__ inline bool is_active(uint32_t pixel) {
  return excess_of(pixel) > 0 && height_of(pixel) != kUnreachable;
}

// The links that are stored at one pixel: their capacities, and the flows along them. A link is
// stored at the pixel from which it leads to the right, down, down-right or down-left, see
// Direction in core/maxflow/maxflow.hpp.
template <int kNeighbours>
struct OwnedLinks {
  static constexpr int count = kNeighbours / 2;
  int32_t capacity[count] = {}, flow[count] = {};
};

// Reads the links that are stored at the pixels of a column of the picture, row by row. Each lane
// has one column. Callers get links that are stored at neighbouring pixels from the neighbouring
// lane or the previous row, so that no link is read twice. Coordinates outside of the picture are
// clamped, and the values read there are replaced by 0. A branch that skips such a read would delay
// the next read.
template <int kNeighbours, bool kWarm>
class LinkColumnReader {
 public:
  using Links = OwnedLinks<kNeighbours>;

  // Selects the column x. Only the links whose bits are set in `links` are read; others are 0.
  __device__ LinkColumnReader(const Problem& problem, int x, unsigned links = ~0u)
      : problem_(problem), x_(max(0, min(x, problem.size().width - 1))) {
    const int width = problem.size().width;
#pragma unroll
    for (int k = 0; k < Links::count; ++k) {
      const int end = x + step_x(2 * k);
      exists_[k] = links >> k & 1 && x == x_ && end >= 0 && end < width;
    }
  }

  // Returns the links of the pixel in row y. Links that leave the picture get the capacity 0.
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
      const int32_t link_capacity = exists ? max(own.capacity[k], 0) : 0;
      own.capacity[k] = link_capacity;
      // Kohli and Torr 2007: if the flow exceeds the new capacity, the flow is reduced to the
      // capacity. The difference becomes excess at one end of the link and demand at the other end.
      own.flow[k] = max(-link_capacity, min(link_capacity, own.flow[k]));
    }
    return own;
  }
  // Returns the terminal capacity of the pixel in row y. The result is meaningful only for pixels
  // of the picture.
  __device__ int32_t terminal(int y) const {
    return problem_.graph.terminal(x_, max(0, min(y, problem_.size().height - 1)));
  }

 private:
  const Problem& problem_;
  const int x_;  // x clamped to the columns of the picture
  // Whether link k is selected and does not leave the picture at its left or right side.
  bool exists_[Links::count];
};

// Calls use(row, read(row)) for each row of a tile. Calls read() for several rows before the calls
// of use(), so that memory latencies overlap.
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

// Writes a pixel and its links to the tile. `own` are the links that are stored at the pixel,
// `incoming` are the links that lead into the pixel. Returns the sum of the absolute capacities of
// the pixel, and sets the bits of these capacities in `all_bits`.
template <int kNeighbours, class Links>
__device__ unsigned store_pixel(Tile<kNeighbours>& tile, int cell_index, int32_t terminal,
                                const Links& own, const Links& incoming, unsigned& all_bits) {
  auto excess = static_cast<unsigned>(terminal);
  unsigned sum = terminal < 0 ? 0 - excess : excess;
  all_bits |= sum;
#pragma unroll
  for (int k = 0; k < Links::count; ++k) {
    const auto along = static_cast<unsigned>(own.capacity[k]);
    const auto against = static_cast<unsigned>(incoming.capacity[k]);
    const int32_t out = own.flow[k], in = incoming.flow[k];
    tile.link(k, cell_index) = (along - out) | (against + in) << 16;
    excess += in - out;
    sum += along + against;
    all_bits |= along | against;
  }
  tile.pixel(cell_index) = add_excess(kUnreachable, static_cast<int>(excess));
  return sum;
}

// Loads the pixels of tile (tile_x, tile_y) without the halo. Returns whether 16 bits suffice for
// the lane's pixels, whatever the flows are. This is true if the sum of all absolute capacities at
// each pixel is below 2^15: |excess| is at most this sum, and a residual capacity is at most twice
// the link's capacity.
template <int kNeighbours, bool kWarm>
__device__ bool load_pixels(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                            Lane lane) {
  using Column = LinkColumnReader<kNeighbours, kWarm>;
  using Links = typename Column::Links;
  const int x = tile_x * kTileWidth + lane.index, first_y = tile_y * kTileHeight;
  const int rows = x < problem.size().width ? problem.size().height - first_y : 0;
  const bool is_first_lane = lane.index == 0, is_last_lane = lane.index == 31;
  const Column column(problem, x);
  // A column next to the tile. The first lane reads the links that lead to the right from the
  // column on its left. The last lane reads the links that lead to the left from the column on its
  // right. Other lanes read no links.
  const Column edge(problem, is_first_lane ? x - 1 : x + 1,
                    is_first_lane  ? 0b0101
                    : is_last_lane ? 0b1000
                                   : 0);
  Links above = column.read(first_y - 1), above_edge;
  if constexpr (kNeighbours == 8) above_edge = edge.read(first_y - 1);
  unsigned all_bits = 0;  // OR of all capacities; detects capacities whose sum overflows
  unsigned max_sum = 0;   // largest sum of capacities at a pixel
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
    // Links that lead into the pixel from the left, from above, from above left and from above
    // right.
    Links incoming;
    const auto add_link = [&](int k, const Links& from, const Links& outside, bool is_edge,
                              auto shift) {
      const int capacity = shift(from.capacity[k]), flow = kWarm ? shift(from.flow[k]) : 0;
      incoming.capacity[k] = is_edge ? outside.capacity[k] : capacity;
      incoming.flow[k] = is_edge ? outside.flow[k] : flow;
    };
    const auto from_left = [](int value) { return __shfl_up_sync(~0u, value, 1); };
    const auto from_right = [](int value) { return __shfl_down_sync(~0u, value, 1); };
    add_link(0, row_values.own, row_values.edge, is_first_lane, from_left);
    incoming.capacity[1] = above.capacity[1];
    incoming.flow[1] = above.flow[1];
    if constexpr (kNeighbours == 8) {
      add_link(2, above, above_edge, is_first_lane, from_left);
      add_link(3, above, above_edge, is_last_lane, from_right);
    }
    const unsigned sum =
        store_pixel(tile, cell(lane.index, row), terminal, row_values.own, incoming, all_bits);
    max_sum = max(max_sum, sum);
    above = row_values.own;
    if constexpr (kNeighbours == 8) above_edge = row_values.edge;
  });
  return max(all_bits, max_sum) < 1u << 15;
}

// Loads tile (tile_x, tile_y) and clears its halo. Returns in all lanes whether 16 bits suffice for
// the tile.
template <int kNeighbours>
__device__ bool load_tile(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                          Lane lane) {
  for (int cell_index = lane.index; cell_index < Tile<kNeighbours>::words; cell_index += 32) {
    tile.word[cell_index] = cell_index < kTileCells ? kUnreachable : 0;
  }
  __syncwarp();  // all words are cleared before any lane loads pixels
  const bool fits = problem.warm_start
                        ? load_pixels<kNeighbours, true>(tile, problem, tile_x, tile_y, lane)
                        : load_pixels<kNeighbours, false>(tile, problem, tile_x, tile_y, lane);
  __syncwarp();  // the pixels of all lanes are loaded
  return __all_sync(~0u, fits);
}

// The contribution of a lane's pixels to the results of the frame.
struct TileSums {
  long long sink_flow = 0;         // flow into the sink
  long long gap = 0;               // excess that could still reach the sink
  long long remaining_demand = 0;  // negated unused capacity to the sink
  bool has_flow = false;           // whether any link stored at these pixels has flow
};

// Writes the mask, which follows from the heights, and the flows along the links that are stored at
// the tile's pixels. Returns the lane's contribution to the results.
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
    const int y = first_y + row, cell_index = cell(lane.index, row);
    const uint32_t pixel = tile.pixel(cell_index);
    const bool foreground = height_of(pixel) == kUnreachable;
    problem.foreground(x, y) = foreground ? GridCut::kForeground : GridCut::kBackground;
    const int excess = excess_of(pixel);
    sums.sink_flow += max(-static_cast<long long>(row_values.terminal), 0LL) + min(excess, 0);
    sums.remaining_demand += min(excess, 0);
    if (!foreground) sums.gap += max(excess, 0);
#pragma unroll
    for (int k = 0; k < kNeighbours / 2; ++k) {
      const int flow = row_values.own.capacity[k] - tile.residual(2 * k, cell_index);
      problem.link_flow[problem.flow_index(k, x, y)] = flow;
      sums.has_flow |= flow != 0;
    }
  });
  return sums;
}

// ---- halo buffers

// Numbers of entries of a tile's halo buffers: for its heights, and for its flows in one direction.
constexpr int kHeightHaloSize = 2 * kTileWidth + 2 * kTileHeight;
constexpr int kFlowHaloSize = kTileWidth + kTileHeight;

// Buffers in device memory through which neighbouring tiles exchange heights and flows.
struct HaloBuffers {
  // [epoch % 2][tiles][96], heights of the top row, bottom row, left column and right column.
  uint16_t* heights;
  // [epoch % 2][tiles][directions][48], flow over the upper or lower edge (32 entries), and over
  // the left or right edge (16 entries).
  uint16_t* flows;
  int columns;  // number of columns of tiles
  int rows;     // number of rows of tiles

  REGIONS_HD int tiles() const { return columns * rows; }
  template <int kNeighbours>
  void reserve(Workspace& memory) {
    const size_t buffer_count = 2 * static_cast<size_t>(tiles());
    memory.reserve(heights, buffer_count * kHeightHaloSize);
    memory.reserve(flows, buffer_count * kNeighbours * kFlowHaloSize);
  }
};

// Returns the direction of the tile at offset (dx, dy). The offset must not be (0, 0).
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
  // Returns the index of the tile at offset (dx, dy), or -1 outside of the grid.
  __device__ int neighbour(const HaloBuffers& halos, int dx, int dy) const {
    const bool exists = x + dx >= 0 && x + dx < halos.columns && y + dy >= 0 && y + dy < halos.rows;
    return exists ? index + dy * halos.columns + dx : -1;
  }
};

// Returns the halo buffer to which `tile` publishes its heights in `epoch`.
__device__ inline uint16_t* height_halo(const HaloBuffers& halos, unsigned epoch, int tile) {
  return halos.heights + (static_cast<size_t>(epoch % 2) * halos.tiles() + tile) * kHeightHaloSize;
}

// Returns the halo buffer to which `tile` publishes its flow in `direction` for `epoch`.
template <int kNeighbours>
__device__ uint16_t* flow_halo(const HaloBuffers& halos, unsigned epoch, int tile, int direction) {
  return halos.flows +
         ((static_cast<size_t>(epoch % 2) * halos.tiles() + tile) * kNeighbours + direction) *
             kFlowHaloSize;
}

// Copies the heights of the tile's edge pixels to its halo buffer. `index`: index of the tile.
template <int kNeighbours>
__device__ void publish_heights(const Tile<kNeighbours>& tile, const HaloBuffers& halos,
                                unsigned epoch, int index, Lane lane) {
  uint16_t* halo = height_halo(halos, epoch, index);
  __stcg(halo + lane.index, tile.height(cell(lane.index, 0)));
  __stcg(halo + kTileWidth + lane.index, tile.height(cell(lane.index, kTileHeight - 1)));
  __stcg(halo + 2 * kTileWidth + lane.index,
         tile.height(cell(lane.half ? kTileWidth - 1 : 0, lane.row)));
}

// Heights of the lane's pixels at the edges of the tile.
struct EdgeHeights {
  int top = kUnreachable, bottom = kUnreachable, side = kUnreachable;

  EdgeHeights() = default;
  template <int kNeighbours>
  __device__ EdgeHeights(const Tile<kNeighbours>& tile, Lane lane)
      : top(tile.height(cell(lane.index, 0))),
        bottom(tile.height(cell(lane.index, kTileHeight - 1))),
        side(tile.height(cell(lane.half ? kTileWidth - 1 : 0, lane.row))) {}

  // Returns the directions of the neighbouring tiles that border on a pixel whose height differs
  // from `before`, one bit per direction. All lanes must call this function.
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

// New heights for the lane's cells of the halo, and the indices of these cells.
template <int kNeighbours>
struct HaloHeights {
  static constexpr int count = kNeighbours == 4 ? 3 : 4;
  int cell_index[count], height[count];

  // Returns the direction of the neighbouring tile that height[i] comes from.
  __device__ static int direction(int i, Lane lane) {
    if (i == 3) return kDownRight + lane.index % 4;
    return i == 0 ? kUp : i == 1 ? kDown : lane.half ? kRight : kLeft;
  }
};

// Reads the heights that neighbouring tiles have published. Reads only the tiles in the directions
// whose bit is set in `from`; heights of other tiles are -1.
template <int kNeighbours>
__device__ HaloHeights<kNeighbours> read_halo_heights(const Tile<kNeighbours>& tile,
                                                      const HaloBuffers& halos, unsigned epoch,
                                                      const TilePosition& position, unsigned from,
                                                      Lane lane) {
  HaloHeights<kNeighbours> halo;
  const auto read = [&](int i, int direction, int word, int cell_index) {
    halo.cell_index[i] = cell_index;
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
    // Each lane reads one of the four corners; several lanes read the same corner.
    const int direction = kDownRight + lane.index % 4, dx = step_x(direction),
              dy = step_y(direction);
    read(3, direction, (dy < 0 ? kTileWidth : 0) + (dx < 0 ? kTileWidth - 1 : 0),
         cell(dx < 0 ? -1 : kTileWidth, dy < 0 ? -1 : kTileHeight));
  }
  return halo;
}

// Axes of the sweeps that are required after changes in the halo: sweeps along columns after
// changes in the rows above and below, sweeps along rows after changes in the columns at both
// sides.
enum SweepAxes : unsigned { kColumnAxis = 1, kRowAxis = 2, kBothAxes = 3 };

// Writes new heights into the halo. Returns the axes of the sweeps that the changes require.
template <int kNeighbours>
__device__ unsigned apply_halo_heights(Tile<kNeighbours>& tile,
                                       const HaloHeights<kNeighbours>& halo) {
  bool changed[2] = {};
#pragma unroll
  for (int i = 0; i < halo.count; ++i) {
    changed[i == 2] |= halo.height[i] >= 0 && tile.height(halo.cell_index[i]) != halo.height[i];
  }
  __syncwarp();  // all lanes have compared heights before any lane writes a corner that they share
#pragma unroll
  for (int i = 0; i < halo.count; ++i) {
    if (halo.height[i] >= 0)
      tile.height(halo.cell_index[i]) = static_cast<uint16_t>(halo.height[i]);
  }
  __syncwarp();  // the heights in the halo are visible to all lanes
  return (__any_sync(~0u, changed[0]) ? kColumnAxis : 0) |
         (__any_sync(~0u, changed[1]) ? kRowAxis : 0);
}

// Moves the flow from the tile's halo to the halo buffers. Returns the directions of the
// neighbouring tiles that receive flow from the lane's cells, one bit per direction.
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
  __syncwarp();  // all lanes have finished their pushes into the halo
#pragma unroll
  for (int d = 2; d < kNeighbours; ++d) {
    move(d, lane.index, lane.index, step_y(d) > 0 ? kTileHeight - 1 : 0);
  }
  __syncwarp();  // the corners are moved and cleared before the sides are moved
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
  __syncwarp();  // the flow in the halo is zero before the next pushes
  return receivers;
}

// Flow that neighbouring tiles have pushed to the lane's edge pixels, separately for each arc. One
// straight arc and, with 8 neighbours, two diagonal arcs lead over an edge to each edge pixel.
template <int kNeighbours>
struct Inflow {
  static constexpr int arcs = kNeighbours == 4 ? 1 : 3;
  // Each of these functions returns the direction of arc `a` over an edge: for arcs that lead down,
  // up, to the right, or to the left.
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

// Reads the flows that neighbouring tiles have published. Reads only the tiles in the directions
// whose bit is set in `from`; other flows are 0.
template <int kNeighbours>
__device__ Inflow<kNeighbours> read_inflow(const HaloBuffers& halos, unsigned epoch,
                                           const TilePosition& position, unsigned from, Lane lane) {
  using Flows = Inflow<kNeighbours>;
  // Reads the flow in `direction` to the edge pixel (x, y) of this tile. `over_row_edge`: whether
  // the flow left the neighbouring tile over its upper or lower edge or over a corner.
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

// Adds the inflow to the tile. Returns whether there was any inflow.
template <int kNeighbours>
__device__ bool apply_inflow(Tile<kNeighbours>& tile, const Inflow<kNeighbours>& flow, Lane lane) {
  using Flows = Inflow<kNeighbours>;
  int any = 0;
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    any |= flow.from_above[a] | flow.from_below[a] | flow.from_side[a];
  }
  if (!__any_sync(~0u, any != 0)) return false;
  const auto add = [&](int direction, int cell_index, int amount) {
    tile.residual(opposite(direction), cell_index) += amount;
    tile.pixel(cell_index) = add_excess(tile.pixel(cell_index), amount);
  };
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    add(Flows::down(a), cell(lane.index, 0), flow.from_above[a]);
    add(Flows::up(a), cell(lane.index, kTileHeight - 1), flow.from_below[a]);
  }
  __syncwarp();  // the corners contain the inflow from above and below before the sides are added
  const int side = lane.half ? kTileWidth - 1 : 0;
#pragma unroll
  for (int a = 0; a < Flows::arcs; ++a) {
    add(lane.half ? Flows::leftwards(a) : Flows::rightwards(a), cell(side, lane.row),
        flow.from_side[a]);
  }
  __syncwarp();  // the inflow of all lanes is in the tile
  return true;
}

}  // namespace regions::maxflow
