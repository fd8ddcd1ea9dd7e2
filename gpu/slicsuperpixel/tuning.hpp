// Block shapes, as types because kernels take them as template arguments.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slic {

// A block holds cells_x x cells_y cells; a warp takes strips of `lanes` columns and as many rows as
// a patch of one cell at a time; iterations take `stack` of them below each other before they sum
// up a warp. `side`: the cells' width and height if known when compiling, else 0.
template <int side_, int lanes_, int cells_x_, int cells_y_, int warps_, int stack_ = 1>
struct BlockShape {
  static constexpr int side = side_;
  static constexpr int lanes = lanes_;
  static constexpr int cells_x = cells_x_;
  static constexpr int cells_y = cells_y_;
  static constexpr int warps = warps_;
  static constexpr int stack = stack_;
  static constexpr int threads = 32 * warps;
  static constexpr int blocks = 1024 / threads;    // at least, on an SM: leaves 64 registers
  static constexpr int rows = kPatchRows;          // of a strip
  static constexpr int rows_at_once = 32 / lanes;  // of a strip
  static constexpr int halo_x = cells_x + 2;
  static constexpr int halo = halo_x * (cells_y + 2);  // clusters that a block's pixels may choose
  static constexpr int cells = cells_x * cells_y;
};

// About 64 x 64 pixels a block: enough to spread the halo's cost.
using Cells16 = BlockShape<16, 16, 4, 4, 8>;
using Cells32 = BlockShape<32, 32, 2, 2, 8>;
using Cells128 = BlockShape<128, 32, 1, 1, 16, 2>;
using NarrowCells = BlockShape<0, 16, 4, 4, 8>;  // up to 16 pixels wide, up to 32 high
using MiddleCells = BlockShape<0, 32, 2, 2, 8>;  // up to 64
using WideCells = BlockShape<0, 32, 1, 1, 16, 2>;

struct PixelBlock {
  static constexpr int threads = 256;
};

// Few threads in all, which wait for memory most of the time.
struct SeedBlock {
  static constexpr int threads = 64;
  static constexpr int group = 16;  // threads of a seed, one for each of the nine pixels
};

// Walks down columns: long enough that most of a superpixel's column is summed in registers.
struct ColumnWalk {
  static constexpr int threads = 128;
  static constexpr int rows = 32;
  static constexpr int batch = 8;  // rows fetched together
};

// A tile of pieces: a block.
struct PieceTile {
  static constexpr int width = 64;
  static constexpr int rows = 64;
  static constexpr int pixels = width * rows;
  static constexpr int threads = 256;
  static constexpr int measured = 512;  // components summed in shared memory
};

// A thread has a component of a tile.
struct ComponentBlock {
  static constexpr int threads = 128;
};

// A thread has 16 pixels of a tile.
struct ChoiceTile {
  static constexpr int threads = 256;
  static constexpr int known = 512;   // components kept in shared memory
  static constexpr int pairs = 1024;  // of components, told from new ones
  static constexpr int probes = 4;
};

// The first rounds of joining are wide: a kernel for following, one for choosing again. From where
// there is little left, one block does the rest; of what noise leaves, several do.
struct JoinRounds {
  static constexpr int wide = 2;  // at most
  static constexpr int threads = 256;
  static constexpr int follow_blocks = 528, choose_blocks = 1056;
  static constexpr int few_edges = 4096, few_small = 2048;
  static constexpr int last_threads = 1024;
  static constexpr int last_edges = 1024;  // of each block, if there are several
  static constexpr int most_blocks = 66;   // leaves room for other frames' kernels beside them
};

struct NumberBlock {
  static constexpr int threads = 1024;
  static constexpr int words = 4;  // a thread's
};

}  // namespace regions::slic
