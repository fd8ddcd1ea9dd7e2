// A tile of the residual graph as one warp holds it, in 16 bits per number: how it is loaded
// from a frame's weights, and how its flows are written back.
#pragma once

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
  using Own = OwnedLinks<kNeighbours>;

  // Reads only the links whose bits are set in `links`.
  __device__ LinkColumnReader(const Problem& problem, int x, unsigned links = ~0u)
      : problem_(problem), x_(max(0, min(x, problem.size().width - 1))) {
    const int width = problem.size().width;
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
      const int end = x + step_x(2 * k);
      exists_[k] = links >> k & 1 && x == x_ && end >= 0 && end < width;
    }
  }

  // The links of row y; 0 for links that leave the picture.
  __device__ Own read(int y) const {
    Own own;
    const int height = problem_.size().height, row = max(0, min(y, height - 1));
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
      own.capacity[k] = links_of(problem_.graph, k)(x_, row);
      if (kWarm) own.flow[k] = problem_.link_flow[problem_.flow_index(k, x_, row)];
    }
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
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
  const int x_;              // the nearest column of the picture
  bool exists_[Own::count];  // selected links that stay in the picture, except in its last row
};

// Calls use(row, read(row)) for the rows of a tile. Reads several rows before it uses the
// first, to overlap the memory latencies.
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
  using Own = typename Column::Own;
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
  Own above = column.read(first_y - 1), above_edge;
  if constexpr (kNeighbours == 8) above_edge = edge.read(first_y - 1);
  unsigned all_bits = 0, max_sum = 0;  // OR of all numbers; largest sum of capacities at a pixel
  struct Row {
    Own own, edge;
    int32_t terminal;
  };
  const auto read = [&](int row) {
    const int y = first_y + row;
    return Row{column.read(y), edge.read(y), column.terminal(y)};
  };
  for_rows_in_batches(read, [&](int row, const Row& row_values) {
    const int32_t terminal = row < rows ? row_values.terminal : 0;
    // Links into the pixel: from the left, from above, from above left and above right.
    Own incoming;
    const auto add_link = [&](int k, const Own& from, const Own& outside, bool is_edge,
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
    for (int k = 0; k < Own::count; ++k) {
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

}  // namespace regions::maxflow
