// Block shapes and schedules, as types because kernels take them as template arguments.
#pragma once

#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

// One block fills a multiprocessor's shared memory with tiles, a warp each: 31 tiles of 7280 bytes
// or 18 of 12320 in 227 KB. 132 x 31 tiles are just enough for 1920 x 1080 pixels.
template <int kNeighbours>
struct TileBlock {
  static constexpr int warps = kNeighbours == 4 ? 31 : 18;
  static constexpr int threads = 32 * warps;
  static constexpr size_t shared_bytes = warps * sizeof(Tile<kNeighbours>);
};

// Blocks and warps of a cut on lists of tiles, a warp a tile; pictures of few tiles keep 8 warps of
// a block busy. With 8 streams on an H200 (2026-11-26), cuts/s of bgdiff_1080, bgdiff_vga and
// grab_1080 by clusters of 12 blocks of 12 warps: 13,700 / 31,600 / 984; by 16 of 12 they are
// 13,700 / 30,900 / 1,111, but 8 streams of video lose 5%. A cut alone takes .57 and .51 ms. With
// registers for 16 warps a block all lose 6%, and one alone gains nothing.
template <int kNeighbours>
struct SparseBlock {
  static constexpr unsigned together = kNeighbours == 4 ? 12 : 16;  // blocks of a cut
  static constexpr unsigned together_alone = 16;                    // the most that devices have
  static constexpr int most_warps = kNeighbours == 4 ? 12 : 8;
  static constexpr int most_threads = 32 * most_warps;
  static constexpr int blocks = kNeighbours == 4 ? 1 : 2;  // of most warps, of a multiprocessor
  // As many as a picture keeps busy.
  static constexpr int warps(size_t tiles) { return tiles < 1024 ? 8 : most_warps; }
};

// Of the first kernel: a warp, so that a tile that takes long holds no other's place. In blocks of
// 8 warps bgdiff_1080 with 8 streams took 7% longer.
template <int kNeighbours>
struct LoadBlock {
  static constexpr int threads = 32;
  static constexpr int blocks = 16;  // of a multiprocessor
  static constexpr size_t shared_bytes = sizeof(Tile<kNeighbours>);
};

// Of a cut on lists of tiles. With 8 streams on an H200 (2026-11-23): 9,440 / 23,000 / 715 cuts/s
// (bgdiff_1080, bgdiff_vga, grab_1080) by 3 pushes and 5 rounds; 9,550 / 21,300 / 722 by 4 and 4;
// 9,270 / 24,000 / 720 by 4 and 5; 8,480 / 22,700 / 686 by 5 and 4. Teams of 2 or 4 warps a tile,
// their lines in segments that a scan joins, took 10 to 15% longer, waves through whole rows 10%.
struct SparseSchedule {
  // Of pushes between relabels in the first kernel; 2, 3 and 4 give 24,100, 31,500 and 31,200
  // cuts/s of bgdiff_vga.
  static constexpr int load_rounds = 3;
  static constexpr int pushes = 3;  // of a tile, in a round
  static constexpr int rounds = 5;  // of pushes between two relabels
};

// Rounds of pushes between two global relabels. Of 6 to 24 on an H200, 2026-11-21, 12 is the one
// that suits both small and large frames: 0.37 / 1.89 ms at VGA (background difference, GrabCut),
// 0.62 / 5.8 ms at 1080p, 4 neighbours; 8 gave 0.30 / 1.96 / 0.66 / 5.5, 16 gave 0.35 / 2.4 / 0.65
// / 5.2.
struct Schedule {
  static constexpr int rounds = 12;
  // A relabel of more rounds than this is made up for by as many more rounds of pushes: excess has
  // long ways to go, as in a maze.
  static constexpr int long_relabel = 64;
};

}  // namespace regions::maxflow
