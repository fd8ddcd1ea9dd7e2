// Tile shapes and block sizes, as types because kernels take them as template arguments.
#pragma once

#include <cstdint>

namespace regions::volumes {

// A tile is a word (32 voxels) wide, `rows` high and `slices` deep; a block of `threads` labels it.
template <int rows_, int slices_, int threads_ = 256, int blocks_ = 1536 / threads_>
struct TileShape {
  static constexpr int rows = rows_;
  static constexpr int slices = slices_;
  static constexpr int words = rows * slices;
  static constexpr int threads = threads_;
  // Of a multiprocessor. 5 leave more registers, and lost 1% to 3% where nodes are many.
  static constexpr int blocks = blocks_;
};
using CubeTile = TileShape<16, 16>;
// For 6 neighbours where there are few tiles: 512 threads won 3% to 4% at 128^3 (noise of densities
// 20 to 50); where there are many, 512 gained nothing (H200, 2026-11-22).
using ManyThreadsTile = TileShape<16, 16, 512>;
// For 18 and 26 neighbours where there are many tiles: 32 registers won 0.7 to 1.7 of 23 to 36 us
// at 256^3 (noise of densities 20 to 70), and lost 0.4 to 0.6 of 7 to 11 at 128^3 (H200,
// 2026-11-22).
using FewRegistersTile = TileShape<16, 16, 256, 8>;
using FlatTile = TileShape<256, 1>;  // of a picture at several thresholds

// A block joins a tile to others, and mostly waits for memory: many small ones at a time, or, where
// there are few tiles, larger ones (at 128^3, 26-connected noise, 26.9 us for 28.7; at 256^3 126
// for 121, H200, 2026-11-22). The less memory small ones share, the earlier they come up beside the
// last of the phase before: with room for 128 pairs and sums in place of 256 joining took 21.6 us
// for 27.2 (256^3, 26-connected noise of density 30), with 64 no less.
template <int threads_, int blocks_, int pairs_>
struct SeamShape {
  static constexpr int threads = threads_;
  static constexpr int blocks = blocks_;  // of a multiprocessor
  static constexpr int pairs = pairs_;    // of components that a tile joins at once
  // That a tile looks up at once. Twice as many took the room of blocks, and 2.3 to 3.9 us more of
  // 14 to 21 at 256^3 (noise of densities 20 to 70, 18- and 26-connected, H200, 2026-11-22).
  static constexpr int contacts = 256;
  // Counts of regions that a tile changes at once. One atomic for each lost component cost 24 of
  // 235 us at 256^3, 6-connected (H200, noise of density 30, 2026-11-21).
  static constexpr int sums = 128;
};
using LargeSeam = SeamShape<256, 6, 512>;
using SmallSeam = SeamShape<128, 14, 128>;

template <int threads_>
struct WriteShape {
  static constexpr int threads = threads_;
  static constexpr uint32_t nodes = 2048;  // of a tile and class, that there is room for
};
using WriteBlock = WriteShape<256>;
// Where there are few tiles: 28.9 us for 30.3 at 128^3, 6-connected noise of density 30, 26.8 for
// 27.1 26-connected; at 256^3 103 for 98 (H200, 2026-11-22).
using BusyWriteBlock = WriteShape<512>;
}  // namespace regions::volumes
