// Tile shapes and block sizes, as types because kernels take them as template arguments.
#pragma once

namespace regions::volumes {

// A tile is a word (32 voxels) wide, `rows` high and `slices` deep; a block labels it, and each of
// its threads reads a row.
template <int rows_, int slices_>
struct TileShape {
  static constexpr int rows = rows_;
  static constexpr int slices = slices_;
  static constexpr int threads = rows * slices;
};
using CubeTile = TileShape<16, 16>;
using FlatTile = TileShape<256, 1>;  // of a picture at several thresholds

struct SeamBlock {
  static constexpr int threads = 256;
  static constexpr int pairs = 1024;  // of components that a tile joins at once
};
struct NumberBlock {
  static constexpr int threads = 1024;  // a word each
};
struct RowBlock {
  static constexpr int threads = 256;
};

}  // namespace regions::volumes
