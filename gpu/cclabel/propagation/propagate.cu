// Label propagation (GTC 2010 S12218, GTC 2013 S3193): passes over all cells in which each takes
// the largest label among those it is linked to, until a pass changes none. One cooperative kernel
// makes all passes and decides by itself when it is done.
//
// Labels only grow, every cell is written by one thread at a time, and a cell read too early only
// means a later pass; so no atomics are needed. In blocks this is so because blocks of one colour,
// (column % 2, row % 2), have no cell in common: they begin 62 cells apart and are 32 wide. That
// holds for diagonal links too, as a block reads and writes its own cells alone; and as each block
// shares a row or column with the next, any two linked cells of a slice lie in one block together.
// From other slices cells are read only.
#include <cooperative_groups.h>

#include "gpu/cclabel/propagation/phases.hpp"
#include "gpu/cclabel/propagation/tuning.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::propagation {
namespace {

constexpr int kSide = Tile::side;
constexpr uint32_t kInSlice = 0x1ffu << 9;  // neighbours with the same z

__device__ uint32_t label_at(const Cells& cells, uint32_t cell) {
  return __ldcg(cells.label + cell);
}

// The largest label that a cell sees by its links `mask`.
template <Gather gather>
__device__ uint32_t gathered(const Cells& cells, uint32_t cell, uint32_t label, uint32_t mask) {
  for (uint32_t left = mask; left; left &= left - 1) {
    const int k = __ffs(static_cast<int>(left)) - 1;
    label = max(label, label_at(cells, cell + static_cast<uint32_t>(cells.step(k))));
  }
  if constexpr (gather == Gather::one_and_max) {
    for (int axis = 0; axis < kAxes; ++axis) {
      const int steps = cells.far[0][static_cast<size_t>(axis) * cells.count() + cell];
      if (steps < 2) continue;
      const int step = cells.step(neighbour_along(axis));
      label = max(label, label_at(cells, cell + static_cast<uint32_t>(step * steps)));
    }
  }
  return label;
}

// The label of the cell that the label names.
template <bool looks_up_roots>
__device__ uint32_t rooted(const Cells& cells, uint32_t label) {
  return looks_up_roots ? max(label, label_at(cells, label - 1)) : label;
}

// The largest of a row, up to where its cells (a lane each) are no more linked; bit b of `links`
// says that lanes b and b + 1 are.
__device__ uint32_t scanned(uint32_t label, uint32_t links) {
  const int lane = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int step = 1; step < kSide; step *= 2) {
    const uint32_t all = (1u << step) - 1;
    const uint32_t ahead = __shfl_down_sync(kAllLanes, label, step);
    const uint32_t behind = __shfl_up_sync(kAllLanes, label, step);
    const bool reaches_ahead = lane + step < kSide && (links >> lane & all) == all;
    const bool reaches_behind = lane >= step && (links >> (lane - step) & all) == all;
    if (reaches_ahead) label = max(label, ahead);
    if (reaches_behind) label = max(label, behind);
  }
  return label;
}

// A block's cells: thread (x, y) has one. Padded, so that columns are read without conflicts.
struct Square {
  uint32_t label[kSide][kSide + 1];

  __device__ uint32_t neighbours(uint32_t label_now, uint32_t mask, int x, int y) const {
    for (uint32_t left = mask; left; left &= left - 1) {
      const int k = __ffs(static_cast<int>(left)) - 1;
      label_now = max(label_now, label[y + k / 3 % 3 - 1][x + k % 3 - 1]);
    }
    return label_now;
  }
};

// The same for all threads of a block.
struct TileSpot {
  int x, y, slice;
  __device__ TileSpot(uint32_t tile, int color, int columns, int rows) {
    // Tiles of the color, slice by slice.
    const int own_columns = (columns + 1 - color % 2) / 2, own_rows = (rows + 1 - color / 2) / 2;
    const int in_slice = own_columns * own_rows;
    slice = static_cast<int>(tile) / in_slice;
    const int k = static_cast<int>(tile) % in_slice;
    x = (k % own_columns * 2 + color % 2) * Tile::offset;
    y = (k / own_columns * 2 + color / 2) * Tile::offset;
  }
  __device__ static uint32_t count(const Cells& cells, int color, int columns, int rows) {
    const int own_columns = (columns + 1 - color % 2) / 2, own_rows = (rows + 1 - color / 2) / 2;
    return static_cast<uint32_t>(own_columns * own_rows * cells.stack.depth());
  }
};
__device__ int tiles_along(int side) {
  return side <= kSide ? 1 : (side - 1 + Tile::offset - 1) / Tile::offset;
}

// Goes over a tile until none of its labels changes; whether any did.
template <Exchange exchange, Gather gather, bool looks_up_roots>
__device__ bool settle_tile(const Cells& cells, const TileSpot& spot, Square& square) {
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const Size slice = cells.stack.slice;
  const int x = spot.x + lane, y = spot.y + warp;
  const bool exists = x < slice.width && y < slice.height;
  const uint32_t cell =
      exists ? static_cast<uint32_t>((spot.slice * slice.height + y) * slice.width + x) : 0;
  const uint32_t old = exists ? label_at(cells, cell) : 0;
  const uint32_t links = exists ? cells.links[cell] : 0;
  uint32_t inside = links & kInSlice;  // those that stay in the tile
  for (int k = 9; k < 18; ++k) {
    const int tx = lane + k % 3 - 1, ty = warp + k / 3 % 3 - 1;
    if (tx < 0 || ty < 0 || tx >= kSide || ty >= kSide) inside &= ~(1u << k);
  }
  uint32_t label = old ? gathered<gather>(cells, cell, old, links & ~kInSlice) : 0;
  if (label) label = rooted<looks_up_roots>(cells, label);
  constexpr uint32_t kStraight = 1u << 12 | 1u << 14 | 1u << 10 | 1u << 16;
  const uint32_t slanted = inside & ~kStraight;
  // Linked to the right, and, of the transposed cell, down.
  const uint32_t right = __ballot_sync(kAllLanes, inside >> neighbour_along(0) & 1);
  uint32_t down = 0;
  if constexpr (exchange == Exchange::shuffle) {
    square.label[warp][lane] = inside >> neighbour_along(2) & 1;
    __syncthreads();  // links down are there
    down = __ballot_sync(kAllLanes, square.label[lane][warp] != 0);
    __syncthreads();  // and read
  }
  bool changes = true;
  // No way within a tile is longer than its cells.
  for (int turn = 0; changes && turn < kSide * kSide; ++turn) {
    const uint32_t now = label;
    if constexpr (exchange == Exchange::shuffle) {
      label = scanned(label, right);
      square.label[warp][lane] = label;
      __syncthreads();  // rows are scanned
      const uint32_t column = scanned(square.label[lane][warp], down);
      square.label[lane][warp] = column;
      __syncthreads();  // columns are scanned
      label = square.label[warp][lane];
      label = square.neighbours(label, slanted, lane, warp);
    } else {
      square.label[warp][lane] = label;
      __syncthreads();  // labels are there
      label = square.neighbours(label, inside, lane, warp);
    }
    changes = __syncthreads_or(label != now);
  }
  const bool grew = exists && label != old;
  if (grew) cells.label[cell] = label;
  return grew;
}

template <Exchange exchange, Gather gather, bool looks_up_roots>
__global__ __launch_bounds__(1024) void propagate_kernel(Cells cells) {
  __shared__ Square square;
  const auto grid = cooperative_groups::this_grid();
  const int columns = tiles_along(cells.stack.slice.width);
  const int rows = tiles_along(cells.stack.slice.height);
  // Each pass but the last changes a label, and by the first of its neighbours alone the largest
  // reaches every cell of its region in fewer passes than there are cells.
  for (uint32_t pass = 0; pass <= cells.count(); ++pass) {
    uint32_t* changed = &cells.progress->changed[pass % 3];
    bool grew = false;
    if constexpr (exchange == Exchange::global) {
      const uint32_t thread = threadIdx.y * kSide + threadIdx.x;
      for (uint32_t cell = blockIdx.x * 1024 + thread; cell < cells.count();
           cell += gridDim.x * 1024) {
        const uint32_t old = label_at(cells, cell);
        if (!old) continue;
        uint32_t label = gathered<gather>(cells, cell, old, cells.links[cell]);
        label = rooted<looks_up_roots>(cells, label);
        if (label == old) continue;
        cells.label[cell] = label;
        grew = true;
      }
    } else {
      for (int color = 0; color < Tile::colors; ++color) {
        const uint32_t tiles = TileSpot::count(cells, color, columns, rows);
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
          const TileSpot spot(tile, color, columns, rows);
          grew |= settle_tile<exchange, gather, looks_up_roots>(cells, spot, square);
        }
        if (color + 1 < Tile::colors) grid.sync();
      }
    }
    if (__syncthreads_or(grew) && threadIdx.x == 0 && threadIdx.y == 0) {
      *reinterpret_cast<volatile uint32_t*>(changed) = 1;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && threadIdx.y == 0) {
      cells.progress->changed[(pass + 1) % 3] = 0;
      cells.progress->passes = pass + 1;
    }
    grid.sync();
    if (!__ldcg(changed)) return;
  }
}

template <class Use>
void with_kernel(const Variant& v, const Use& use) {
  const auto pick = [&]<Exchange e, Gather g>() {
    v.looks_up_roots ? use(propagate_kernel<e, g, true>) : use(propagate_kernel<e, g, false>);
  };
  const auto gathers = [&]<Exchange e>() {
    v.gather == Gather::one ? pick.template operator()<e, Gather::one>()
                            : pick.template operator()<e, Gather::one_and_max>();
  };
  switch (v.exchange) {
    case Exchange::global:
      return gathers.template operator()<Exchange::global>();
    case Exchange::shared:
      return gathers.template operator()<Exchange::shared>();
    default:
      return gathers.template operator()<Exchange::shuffle>();
  }
}

}  // namespace

int propagation_blocks(const Variant& variant) {
  int blocks = 0;
  with_kernel(variant, [&](auto* kernel) { blocks = resident_blocks(kernel, kSide * kSide); });
  return blocks;
}

void propagate(const Cells& cells, const Variant& variant, int blocks, cudaStream_t stream) {
  with_kernel(variant, [&](auto* kernel) {
    launch_cooperative(kernel, static_cast<unsigned>(blocks), dim3(kSide, kSide), 0, stream, cells);
  });
}

}  // namespace regions::propagation
