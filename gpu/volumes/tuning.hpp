// Tile shapes and block sizes, as types because kernels take them as template arguments.
#pragma once

namespace regions::volumes {

// A tile is a word (32 voxels) wide, `rows` high and `slices` deep; a block of `threads` labels it.
#ifndef VF_THREADS
#define VF_THREADS 256
#endif
#ifndef VF_TMIN
#define VF_TMIN 5
#endif
#ifndef VF_JMIN
#define VF_JMIN 6
#endif
#ifndef VF_JT
#define VF_JT 256
#endif
#ifndef VF_WT
#define VF_WT 256
#endif
#ifndef VF_PAIRS
#define VF_PAIRS 512
#endif
template <int rows_, int slices_>
struct TileShape {
  static constexpr int rows = rows_;
  static constexpr int slices = slices_;
  static constexpr int words = rows * slices;
  static constexpr int threads = VF_THREADS;
  static constexpr int blocks = VF_TMIN;  // of a multiprocessor
};
using CubeTile = TileShape<16, 16>;
using FlatTile = TileShape<256, 1>;  // of a picture at several thresholds

struct SeamBlock {
  static constexpr int threads = VF_JT;
  static constexpr int blocks = VF_JMIN;  // of a multiprocessor
  static constexpr int pairs = VF_PAIRS;  // of components that a tile joins at once
};
struct NumberBlock {
  static constexpr int threads = 1024;  // a word each
};
struct WriteBlock {
  static constexpr int threads = VF_WT;
};
struct RowBlock {
  static constexpr int threads = 256;
};

}  // namespace regions::volumes
