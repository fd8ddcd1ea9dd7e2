// Tile shapes and block sizes, as types because kernels take them as template arguments.
#pragma once

namespace regions::volumes {

// A tile is a word (32 voxels) wide, `rows` high and `slices` deep; a block of `threads` labels it.
template <int rows_, int slices_>
struct TileShape {
  static constexpr int rows = rows_;
  static constexpr int slices = slices_;
  static constexpr int words = rows * slices;
  // 512 threads lost 20% at 256^3, 26-connected, and won 3% at 128^3 (H200, bench 2026-11-21).
  static constexpr int threads = 256;
  static constexpr int blocks = 5;  // of a multiprocessor
};
using CubeTile = TileShape<16, 16>;
using FlatTile = TileShape<256, 1>;  // of a picture at several thresholds

struct SeamBlock {
  static constexpr int threads = 256;
  static constexpr int blocks = 6;   // of a multiprocessor
  static constexpr int pairs = 512;  // of components that a tile joins at once
  // Counts of regions that a tile changes at once. One atomic for each lost component cost 24 of
  // 235 us at 256^3, 6-connected (H200, noise of density 30, 2026-11-21).
  static constexpr int sums = 256;
};
struct NumberBlock {
  static constexpr int threads = 1024;  // a word each
};
struct WriteBlock {
  static constexpr int threads = 256;
};
struct RowBlock {
  static constexpr int threads = 256;
};

}  // namespace regions::volumes
