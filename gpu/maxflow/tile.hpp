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

// Whether the pixel's numbers stay within 16 bits whatever flows: |excess| never exceeds the sum
// of all capacities at the pixel, a residual capacity never twice a link's.
template <int kNeighbours>
__device__ bool load_pixel(Tile<kNeighbours>& tile, const Problem& problem, int x, int y, int at) {
  const GridGraph& graph = problem.graph;
  const bool inside = graph.terminal.contains(x, y);
  const Size size = problem.size();
  long long excess = inside ? graph.terminal(x, y) : 0;
  long long sum = excess < 0 ? -excess : excess;
  unsigned residual[kNeighbours];
#pragma unroll
  for (int d = 0; d < kNeighbours; ++d) {
    const int k = d / 2;
    const bool own = d % 2 == 0;
    const int owner_x = own ? x : x + step_x(d), owner_y = own ? y : y + step_y(d);
    const int32_t c = inside ? capacity(graph, k, owner_x, owner_y) : 0;
    int flow = 0;  // away from this pixel
    if (problem.warm && c > 0) {
      // Kohli & Torr: a flow that the new capacity does not admit is cut to it; the difference
      // turns into excess at one end and lack at the other.
      const int32_t kept =
          problem.kept[(k * static_cast<size_t>(size.height) + owner_y) * size.width + owner_x];
      flow = max(-c, min(c, kept));
      if (!own) flow = -flow;
    }
    excess -= flow;
    sum += c;
    residual[d] = static_cast<unsigned>(c) - static_cast<unsigned>(flow);
  }
#pragma unroll
  for (int k = 0; k < kNeighbours / 2; ++k) {
    tile.link(k, at) = residual[2 * k] | residual[2 * k + 1] << 16;
  }
  tile.pixel(at) = with_more(kUnreachable, static_cast<int>(excess));
  return sum < 1 << 15;
}

// Fills tile (tile_x, tile_y). Returns in every lane whether 16 bits are enough for it.
template <int kNeighbours>
__device__ bool load_tile(Tile<kNeighbours>& tile, const Problem& problem, int tile_x, int tile_y,
                          Lane lane) {
  for (int at = lane.index; at < Tile<kNeighbours>::words; at += 32) {
    tile.word[at] = at < kTileCells ? kUnreachable : 0;
  }
  __syncwarp();  // the ring is clear; the inside is written again, by other lanes
  bool fits = true;
#pragma unroll 4
  for (int y = 0; y < kTileHeight; ++y) {
    fits &= load_pixel(tile, problem, tile_x * kTileWidth + lane.index, tile_y * kTileHeight + y,
                       cell(lane.index, y));
  }
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
  const Size size = problem.size();
  const int x = tile_x * kTileWidth + lane.index;
#pragma unroll 4
  for (int row = 0; row < kTileHeight; ++row) {
    const int y = tile_y * kTileHeight + row;
    if (x >= size.width || y >= size.height) continue;
    const int at = cell(lane.index, row);
    const bool foreground = tile.height(at) == kUnreachable;
    problem.foreground(x, y) = foreground ? GridCut::kForeground : GridCut::kBackground;
    const int excess = tile.excess(at);
    const long long terminal = problem.graph.terminal(x, y);
    sums.taken += (terminal < 0 ? -terminal : 0) + min(excess, 0);
    sums.lack += min(excess, 0);
    if (!foreground) sums.gap += max(excess, 0);
#pragma unroll
    for (int k = 0; k < kNeighbours / 2; ++k) {
      const int flow = capacity(problem.graph, k, x, y) - tile.residual(2 * k, at);
      problem.kept[(k * static_cast<size_t>(size.height) + y) * size.width + x] = flow;
      sums.has_flow |= flow != 0;
    }
  }
  return sums;
}

}  // namespace regions::maxflow
