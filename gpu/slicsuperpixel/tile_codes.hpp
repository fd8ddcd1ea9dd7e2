// Where the codes of a tile come from.
#pragma once

#include "gpu/slicsuperpixel/candidates.hpp"
#include "gpu/slicsuperpixel/tile_runs.hpp"

#ifdef __CUDACC__

namespace regions::slic {

// The tile's codes, as an earlier kernel has written them.
struct WrittenCodes {
  Image<const uint8_t> codes;

  struct Shared {};
  __device__ void fetch(Shared&, Forest& s, const TileOfBlock& tile) const {
    const int t = static_cast<int>(threadIdx.x);
    const SegmentPlace place({codes.width, codes.height}, tile.left, tile.top, t);
    // Rows of codes begin at multiples of 16 bytes.
    if (place.count > 0) {
      reinterpret_cast<Segment::Codes*>(s.codes)[t] =
          *reinterpret_cast<const Segment::Codes*>(codes.row(place.y) + place.x);
    }
    __syncthreads();  // the tile's codes are there
  }
};

// Or by the last assignment. A tile is as large as a block of cells.
template <class Shape>
struct AssignedCodes {
  static_assert(Shape::side * Shape::cells_x == PieceTile::width &&
                Shape::side * Shape::cells_y == PieceTile::rows);
  static_assert(Shape::threads == PieceTile::threads);
  Clusters clusters;
  int iterations;
  Image<uint8_t> codes;
  JoinCounts* counts;

  struct Shared {
    Candidates<Shape> candidates;
    uint64_t codes[Shape::cells];  // of the candidates by place, four bits each
  };
  __device__ void fetch(Shared& shared, Forest& s, const TileOfBlock& tile) const {
    await_last();
    if (tile.tile == 0 && threadIdx.x == 0) *counts = {};
    const int x0 = tile.column * Shape::cells_x, y0 = tile.row * Shape::cells_y;
    share_out<Shape, Shape::cells>([&](int cell) {
      uint64_t all = 0;
#pragma unroll
      for (int place = 0; place < kCandidates; ++place) {
        all |= static_cast<uint64_t>(cluster_code(x0 + cell % Shape::cells_x + place % 3 - 1,
                                                  y0 + cell / Shape::cells_x + place / 3 - 1))
               << 4 * place;
      }
      shared.codes[cell] = all;
    });
    const ClusterSums* const sums = clusters.sums[clusters.executed(iterations) % 3];
    make_candidates(clusters, sums, x0, y0, shared.candidates);
    for_each_strip<Shape>(clusters.grid, x0, y0, [&](const Strip<Shape>& strip) {
      constexpr int kPixels = Shape::rows / Shape::rows_at_once;
      const int first = static_cast<int>(threadIdx.x % 32) / Shape::lanes;
      uint32_t color[kPixels];
      int best[kPixels];
      read_strip<Shape::rows_at_once>(clusters.colors, strip, first, color);
      choose(shared.candidates, strip, color, best);
      const uint64_t all = shared.codes[strip.cell];
      uint8_t* const to = &s.codes[strip.y - tile.top + first][strip.x - tile.left];
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        to[i * Shape::rows_at_once * PieceTile::width] =
            static_cast<uint8_t>(all >> 4 * (best[i] & 15) & 15);
      }
    });
    __syncthreads();  // the tile's codes are there
    const int t = static_cast<int>(threadIdx.x);
    const SegmentPlace place({codes.width, codes.height}, tile.left, tile.top, t);
    if (place.count == 0) return;
    *reinterpret_cast<Segment::Codes*>(codes.row(place.y) + place.x) =
        reinterpret_cast<const Segment::Codes*>(s.codes)[t];
  }
};

}  // namespace regions::slic

#endif
