// Tile shapes and block sizes, as types because kernels take them as template arguments.
#pragma once

#include "core/cclabel/cclabel.hpp"

namespace regions::cclabel {

// A tile is `words` x 32 pixels wide and `rows` high and is labelled by one block.
template <int words_, int rows_, int threads_, int runs_>
struct TileShape {
  static constexpr int words = words_;  // 32-pixel words in a row
  static constexpr int rows = rows_;
  static constexpr int threads = threads_;
  static constexpr int width = 32 * words;
  static constexpr int all_words = words * rows;
  static constexpr int runs = runs_;   // most runs a tile can have, and so most components
  static constexpr int joined = 1536;  // see JoinedRuns; noise has up to 1,100
  // Blocks on a multiprocessor: as many as its threads, or what they share of its memory, allow.
  static constexpr int together = threads == 512 ? 4 : 6;
  static_assert(runs <= width * rows && runs % 32 == 0 && width * rows <= 1 << 15);
};

// On an H200 128x64 with 512 threads, 128x32 with 256 and 64-pixel rows were within 1% of each
// other at 1080p and 4096^2; 1024 threads lost 30% at 4096^2, since one block fills an SM.

// `binary`: a run takes at least two pixels of a row, its own and the gap behind it.
using BinaryTile = TileShape<4, 64, 512, 4096>;
// `equal`, `difference`: every pixel may be a run.
using LinkedTile = TileShape<2, 64, 256, 4096>;

struct SeamBlock {
  static constexpr int threads = 128;
  // A warp that makes so many links at once shortens their ways by so many halvings: a spiral of
  // 1080p takes 10 steps for 17, with ways of 19 links left for 273.
  static constexpr int many = 12, halvings = 4;
  // Blocks that clear records: so many records each, or more where that would be too many blocks.
  static constexpr unsigned cleared_records = 64, most_clear = 512;
};

struct NumberBlock {
  static constexpr int threads = 512;
  static constexpr int tile_warps = 4;  // flatten the border components of a tile
};

// A block sums up to `components` of a tile's components at once, so many that sparse noise, with
// 650 in a tile, takes one turn. Of many tiles less, so that more blocks fit on a multiprocessor. A
// thread has 32 pixels, or 16 where they are read a sample at a time. Their colours are read while
// regions are still numbered; those of many tiles, three bytes a pixel, only where a region of the
// tile has a record.
template <int threads_, int components_, bool loads_early_, int together_ = 1>
struct MeasureBlockShape {
  static constexpr int threads = threads_, components = components_;
  static constexpr int together = together_;  // blocks on a multiprocessor at least
  static constexpr bool loads_early = loads_early_;
};
using MeasureBlock = MeasureBlockShape<256, 1024, true>;
using SampleBlock = MeasureBlockShape<512, 1024, true>;
using MeasureBlockOfMany = MeasureBlockShape<256, 512, true>;
using ColorBlockOfMany = MeasureBlockShape<256, 512, false, 4>;
inline constexpr int kMinJoined = 4;  // lanes whose sum over the warp is worth it

// Calls launch.operator()<connectivity>(), which is compiled for both.
template <class Launch>
void with_connectivity(Connectivity connectivity, const Launch& launch) {
  if (connectivity == Connectivity::eight) {
    launch.template operator()<Connectivity::eight>();
  } else {
    launch.template operator()<Connectivity::four>();
  }
}

}  // namespace regions::cclabel
