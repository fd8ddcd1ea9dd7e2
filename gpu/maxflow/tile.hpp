// A tile of the residual graph in 16 bits a number, as one warp holds it, and how it comes from a
// frame's weights and goes back into kept flows.
#pragma once

#include "gpu/maxflow/problem.hpp"

namespace regions::maxflow {

constexpr int kTileWidth = 32;   // a lane a column
constexpr int kTileHeight = 16;  // half a warp a half row
// Odd, so that neither the cells of a row nor those of 16 rows and two halves share a bank.
constexpr int kTilePitch = kTileWidth + 3;
constexpr int kTileCells = kTilePitch * (kTileHeight + 2);

// Height of pixels that cannot reach the sink; kHighest is the last that counts.
constexpr int kUnreachable = 0xffff;
constexpr int kHighest = kUnreachable - 1;

// Planes of words, a cell each, that hold two numbers each: height below and excess above, then for
// each link the residual capacity along it below and against it above. Every plane has a ring of
// one cell, but that the first link's has none in rows above and below, where no flow comes. The
// ring holds the neighbours' heights; as residual capacity along opposite(d), the flow pushed out
// along d, until the neighbours have it.
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
  // What came minus what went; below zero: the sink takes more.
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
// As much more excess.
__device__ inline uint32_t with_more(uint32_t pixel, int excess) {
  return pixel + (static_cast<uint32_t>(excess) << 16);
}

// The lower halves of two words.
__device__ inline uint32_t paired(uint32_t lower, uint32_t upper) {
  return __byte_perm(lower, upper, 0x5410);
}

// Cell of pixel (x, y) of the tile; -1 and the width or height are the ring.
__device__ constexpr int cell(int x, int y) { return (y + 1) * kTilePitch + x + 1; }
__device__ constexpr int cell_step(int d) { return step_y(d) * kTilePitch + step_x(d); }

// The warp's view of where it is.
struct Lane {
  int index;  // 0..31, the column it owns
  int row;    // 0..15, the row it owns
  int half;   // 0 or 1, the left or right half of that row
};
__device__ inline Lane this_lane() {
  const int index = static_cast<int>(threadIdx.x % 32);
  return {index, index % 16, index / 16};
}

// Whether there is excess that could still reach the sink.
__device__ inline bool is_active(uint32_t pixel) {
  return excess_of(pixel) > 0 && height_of(pixel) != kUnreachable;
}

// Capacity of the links that a pixel owns, and the flow along them.
template <int kNeighbours>
struct OwnLinks {
  static constexpr int count = kNeighbours / 2;
  int32_t capacity[count] = {}, flow[count] = {};
};

// A lane's way down a column of the picture. What a neighbour owns comes from its lane or the row
// above: no link is read twice. Every read is of some pixel of the picture, and what is none of the
// column's is put out afterwards: were a read left out by a branch, the next would wait for it.
template <int kNeighbours, bool kWarm>
class WeightColumn {
 public:
  using Own = OwnLinks<kNeighbours>;

  // Of the links whose bits are set.
  __device__ WeightColumn(const Problem& problem, int x, unsigned links = ~0u)
      : problem_(problem), x_(max(0, min(x, problem.size().width - 1))) {
    const int width = problem.size().width;
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
      const int end = x + step_x(2 * k);
      there_[k] = links >> k & 1 && x == x_ && end >= 0 && end < width;
    }
  }

  // No links outside of the picture.
  __device__ Own read(int y) const {
    Own own;
    const int height = problem_.size().height, row = max(0, min(y, height - 1));
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
      own.capacity[k] = links_of(problem_.graph, k)(x_, row);
      if (kWarm) own.flow[k] = problem_.kept[problem_.kept_at(k, x_, row)];
    }
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
      const bool there = there_[k] && y == row && (k == 0 || y + 1 < height);
      const int32_t c = there ? max(own.capacity[k], 0) : 0;
      own.capacity[k] = c;
      // Kohli & Torr: a flow that the new capacity does not admit is cut to it; the difference
      // turns into excess at one end and lack at the other.
      own.flow[k] = max(-c, min(c, own.flow[k]));
    }
    return own;
  }
  // What the pixel has of the terminals; only in the picture.
  __device__ int32_t terminal(int y) const {
    return problem_.graph.terminal(x_, max(0, min(y, problem_.size().height - 1)));
  }

 private:
  const Problem& problem_;
  const int x_;             // a column of the picture, the nearest
  bool there_[Own::count];  // links that are wanted and stay in the picture, but for its last row
};

// Calls use(row, read(row)) for the rows of a tile, of which several are read before the first is
// used: memory is slow to answer.
template <class Read, class Use>
__device__ void in_batches(const Read& read, const Use& use) {
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

// Fills the inside of tile (tile_x, tile_y). Returns whether 16 bits are enough for the lane's
// pixels, whatever flows: |excess| never exceeds the sum of all capacities at a pixel, a residual
// capacity never twice a link's.
template <int kNeighbours, bool kWarm>
__device__ bool load_pixels(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                            Lane lane) {
  using Column = WeightColumn<kNeighbours, kWarm>;
  using Own = typename Column::Own;
  const int x = tile_x * kTileWidth + lane.index, first_y = tile_y * kTileHeight;
  const int rows = x < problem.size().width ? problem.size().height - first_y : 0;
  const bool first_lane = lane.index == 0, last_lane = lane.index == 31;
  const Column column(problem, x);
  // Beside the tile: of links to the right for the first lane, to the left for the last.
  const Column edge(problem, first_lane ? x - 1 : x + 1,
                    first_lane  ? 0b0101
                    : last_lane ? 0b1000
                                : 0);
  Own above = column.read(first_y - 1), above_edge;
  if constexpr (kNeighbours == 8) above_edge = edge.read(first_y - 1);
  unsigned all = 0, most = 0;  // bits of numbers, and the largest sum
  struct Row {
    Own own, edge;
    int32_t terminal;
  };
  const auto read = [&](int row) {
    const int y = first_y + row;
    return Row{column.read(y), edge.read(y), column.terminal(y)};
  };
  in_batches(read, [&](int row, const Row& is) {
    const int32_t terminal = row < rows ? is.terminal : 0;
    // Links to the pixel from the left, from above, from above to the left and to the right.
    Own to;
    const auto bring = [&](int k, const Own& from, const Own& beside, bool is_beside, auto shift) {
      const int capacity = shift(from.capacity[k]), flow = kWarm ? shift(from.flow[k]) : 0;
      to.capacity[k] = is_beside ? beside.capacity[k] : capacity;
      to.flow[k] = is_beside ? beside.flow[k] : flow;
    };
    const auto from_left = [](int value) { return __shfl_up_sync(~0u, value, 1); };
    const auto from_right = [](int value) { return __shfl_down_sync(~0u, value, 1); };
    bring(0, is.own, is.edge, first_lane, from_left);
    to.capacity[1] = above.capacity[1];
    to.flow[1] = above.flow[1];
    if constexpr (kNeighbours == 8) {
      bring(2, above, above_edge, first_lane, from_left);
      bring(3, above, above_edge, last_lane, from_right);
    }
    auto excess = static_cast<unsigned>(terminal);
    unsigned sum = terminal < 0 ? 0 - excess : excess;
    all |= sum;
    const int at = cell(lane.index, row);
#pragma unroll
    for (int k = 0; k < Own::count; ++k) {
      const auto along = static_cast<unsigned>(is.own.capacity[k]);
      const auto against = static_cast<unsigned>(to.capacity[k]);
      const int32_t out = is.own.flow[k], in = to.flow[k];
      tile.link(k, at) = (along - out) | (against + in) << 16;
      excess += in - out;
      sum += along + against;
      all |= along | against;
    }
    tile.pixel(at) = with_more(kUnreachable, static_cast<int>(excess));
    most = max(most, sum);
    above = is.own;
    if constexpr (kNeighbours == 8) above_edge = is.edge;
  });
  return max(all, most) < 1u << 15;
}

// Fills tile (tile_x, tile_y). Returns in every lane whether 16 bits are enough for it.
template <int kNeighbours>
__device__ bool load_tile(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                          Lane lane) {
  for (int at = lane.index; at < Tile<kNeighbours>::words; at += 32) {
    tile.word[at] = at < kTileCells ? kUnreachable : 0;
  }
  __syncwarp();  // the ring is clear; the inside is written again, by other lanes
  const bool fits = problem.warm
                        ? load_pixels<kNeighbours, true>(tile, problem, tile_x, tile_y, lane)
                        : load_pixels<kNeighbours, false>(tile, problem, tile_x, tile_y, lane);
  __syncwarp();  // the tile is whole
  return __all_sync(~0u, fits);
}

// What a tile adds to the frame's report.
struct Sums {
  long long taken = 0;  // by the sink
  long long gap = 0;    // excess that could still reach it
  long long lack = 0;   // what the sinks could still take, below zero
  bool has_flow = false;
};

// Writes the mask, by the heights, and the flows of the links that the tile's pixels own.
template <int kNeighbours>
__device__ Sums store_tile(const Tile<kNeighbours>& tile, const Problem& problem, int tile_x,
                           int tile_y, Lane lane) {
  Sums sums;
  const int x = tile_x * kTileWidth + lane.index, first_y = tile_y * kTileHeight;
  const int rows = x < problem.size().width ? min(kTileHeight, problem.size().height - first_y) : 0;
  const WeightColumn<kNeighbours, false> column(problem, x);
  struct Row {
    OwnLinks<kNeighbours> own;
    int32_t terminal;
  };
  const auto read = [&](int row) {
    return Row{column.read(first_y + row), column.terminal(first_y + row)};
  };
  in_batches(read, [&](int row, const Row& is) {
    if (row >= rows) return;
    const int y = first_y + row, at = cell(lane.index, row);
    const uint32_t pixel = tile.pixel(at);
    const bool foreground = height_of(pixel) == kUnreachable;
    problem.foreground(x, y) = foreground ? GridCut::kForeground : GridCut::kBackground;
    const int excess = excess_of(pixel);
    sums.taken += max(-static_cast<long long>(is.terminal), 0LL) + min(excess, 0);
    sums.lack += min(excess, 0);
    if (!foreground) sums.gap += max(excess, 0);
#pragma unroll
    for (int k = 0; k < kNeighbours / 2; ++k) {
      const int flow = is.own.capacity[k] - tile.residual(2 * k, at);
      problem.kept[problem.kept_at(k, x, y)] = flow;
      sums.has_flow |= flow != 0;
    }
  });
  return sums;
}

}  // namespace regions::maxflow
