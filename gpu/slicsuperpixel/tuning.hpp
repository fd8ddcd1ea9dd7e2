// Block shapes, as types because kernels take them as template arguments.
#pragma once

namespace regions::slic {

// A block holds cells_x x cells_y cells; a warp takes strips of `lanes` columns and 256 / lanes
// rows of one cell at a time. `side`: the cells' width and height if known when compiling, else 0.
template <int side_, int lanes_, int cells_x_, int cells_y_, int warps_>
struct BlockShape {
  static constexpr int side = side_;
  static constexpr int lanes = lanes_;
  static constexpr int cells_x = cells_x_;
  static constexpr int cells_y = cells_y_;
  static constexpr int warps = warps_;
  static constexpr int threads = 32 * warps;
  static constexpr int rows = 256 / lanes;         // of a strip
  static constexpr int rows_at_once = 32 / lanes;  // of a strip
  static constexpr int halo_x = cells_x + 2;
  static constexpr int halo = halo_x * (cells_y + 2);  // clusters that a block's pixels may choose
  static constexpr int cells = cells_x * cells_y;
};

// About 64 x 64 pixels a block: enough to spread the halo's cost.
using Cells16 = BlockShape<16, 16, 4, 4, 8>;
using Cells32 = BlockShape<32, 32, 2, 2, 8>;
using Cells128 = BlockShape<128, 32, 1, 1, 16>;
using NarrowCells = BlockShape<0, 16, 4, 4, 8>;  // up to 16 pixels wide
using MiddleCells = BlockShape<0, 32, 2, 2, 8>;  // up to 64
using WideCells = BlockShape<0, 32, 1, 1, 16>;

struct PixelBlock {
  static constexpr int threads = 256;
};

// Walks down columns: long enough that most of a superpixel's column is summed in registers.
struct ColumnWalk {
  static constexpr int threads = 128;
  static constexpr int rows = 32;
  static constexpr int batch = 8;      // rows fetched together
  static constexpr int edge_rows = 8;  // fewer where each row may wait for memory several times
};

// Blocks that join wait for each other: more of them wait longer.
struct JoinRounds {
  static constexpr int threads = 1024;
  static constexpr int most_blocks = 33;
};

struct NumberBlock {
  static constexpr int threads = 256;
  static constexpr int chunk = 4 * threads;  // labels a block numbers
};

}  // namespace regions::slic
