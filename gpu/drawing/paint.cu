// The second launch of drawing: a block a tile of ink, a thread a 2x2 block of pixels. Tiles with
// nothing to draw end after two looks.
#include "gpu/drawing/phases.hpp"
#include "gpu/runtime/chain.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::drawing {
namespace {

constexpr int kWords = Ink::kTileWidth / 32;
constexpr int kReach = 2;  // words at either side from which an outline may come
constexpr dim3 kBlock(Ink::kTileWidth / 2, Ink::kTileHeight / 2);
constexpr int kColumns = kWords + 2 * kReach;
static_assert(kColumns * Ink::kTileHeight <= Ink::kTileWidth * Ink::kTileHeight / 4);

// Bits of the tile's outlines; rows within `thickness` gathered, then dilated along the row.
struct TileOutlines {
  uint32_t near[Ink::kTileHeight][kColumns];
  uint32_t far[Ink::kTileHeight][kColumns];
  uint32_t bright[Ink::kTileHeight][kWords];
  uint32_t dark[Ink::kTileHeight][kWords];
};

// One word of `near` and `far`. Returns whether it holds a bit.
__device__ bool gather(TileOutlines& tile, const Image<uint32_t>& edges, int thickness,
                       int thread) {
  const int row = thread / kColumns;
  const int column = thread % kColumns;
  if (row >= Ink::kTileHeight) return false;
  const int word = static_cast<int>(blockIdx.x) * kWords + column - kReach;
  const int y = static_cast<int>(blockIdx.y) * Ink::kTileHeight + row;
  uint32_t near = 0;
  uint32_t far = 0;
  if (word >= 0 && word < edges.width) {
    const int last = min(edges.height - 1, y + thickness);
    for (int r = max(0, y - thickness); r <= last; ++r) {
      const uint32_t bits = edges(word, r);
      far |= bits;
      if (r != y - thickness && r != y + thickness) near |= bits;
    }
  }
  tile.near[row][column] = near;
  tile.far[row][column] = far;
  return far != 0;
}

__device__ uint32_t dilated(const uint32_t (&row)[kColumns], int word, int radius) {
  return dilated_word({row[word], row[word + 1], row[word + 2], row[word + 3], row[word + 4]},
                      radius);
}

// One word of `bright` and `dark`.
__device__ void dilate(TileOutlines& tile, int thickness, int thread) {
  const int row = thread / kWords;
  const int word = thread % kWords;
  if (row >= Ink::kTileHeight) return;
  tile.bright[row][word] = dilated(tile.near[row], word, thickness - 1);
  tile.dark[row][word] = dilated(tile.far[row], word, thickness);
}

// Bits of the block of pixels at column x of the tile, rows y and y + 1.
__device__ unsigned bits_of_block(const uint32_t (&bits)[Ink::kTileHeight][kWords], int x, int y) {
  return (bits[y][x / 32] >> x % 32 & 3) | (bits[y + 1][x / 32] >> x % 32 & 3) << 2;
}

// Reads two codes and leaves zeros. Rows are padded to whole lines, so the second is always there.
__device__ void take_codes(const Image<uint32_t>& codes, int x, int y, uint32_t& left,
                           uint32_t& right) {
  auto* pair = reinterpret_cast<uint2*>(&codes(x, y));
  const uint2 taken = *pair;
  if (taken.x | taken.y) *pair = make_uint2(0, 0);
  left = taken.x;
  right = taken.y;
}

template <class Stored>
__global__ void __launch_bounds__(kBlock.x* kBlock.y)
    paint_kernel(const __grid_constant__ Painter painter, const Outlines outlines, const Ink ink,
                 const DeviceRegions regions) {
  __shared__ TileOutlines tile;
  const int thread = static_cast<int>(threadIdx.y * kBlock.x + threadIdx.x);
  await_last();
  uint32_t& mark = ink.tiles(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
  const bool inked = mark != 0;
  if (thread == 0 && blockIdx.x == 0 && blockIdx.y == 0) ink.crowded(0, 0) = 0;
  const bool near_edge = outlines.drawn && gather(tile, ink.edges, outlines.thickness, thread);
  // Completes `near` and `far`, and all have read the mark.
  const bool outlined = __syncthreads_or(near_edge);
  if (!inked && !outlined && painter.fill_alpha == 0) return;  // the whole block
  if (inked && thread == 0) mark = 0;
  if (outlined) {
    dilate(tile, outlines.thickness, thread);
    __syncthreads();  // completes `bright` and `dark`
  }

  const int x = static_cast<int>(threadIdx.x) * 2;
  const int y = static_cast<int>(threadIdx.y) * 2;
  const int x0 = static_cast<int>(blockIdx.x) * Ink::kTileWidth + x;
  const int y0 = static_cast<int>(blockIdx.y) * Ink::kTileHeight + y;
  if (x0 >= painter.picture.width || y0 >= painter.picture.height) return;
  const bool below = y0 + 1 < painter.picture.height;
  BlockInk block;
  if (inked) {
    take_codes(ink.codes, x0, y0, block.codes[0], block.codes[1]);
    if (below) take_codes(ink.codes, x0, y0 + 1, block.codes[2], block.codes[3]);
  }
  if (outlined) {
    block.outline = bits_of_block(tile.bright, x, y);
    block.shadow = bits_of_block(tile.dark, x, y);
  }
  if ((block.outline | block.shadow) != 0 || painter.fill_alpha != 0) {
    for (int i = 0; i < 4; ++i) {
      const int column = x0 + (i & 1);
      const int row = y0 + (i >> 1);
      if (painter.picture.width > column && painter.picture.height > row) {
        block.labels[i] = painter.labels.at(column, row);
      }
    }
  }
  const Tracks tracks{regions.regions, min(*regions.count, regions.capacity)};
  TrackColor color;
  paint_block<Stored>(painter, tracks, x0, y0, block, color);
}

}  // namespace

void paint(const Painter& painter, const Outlines& outlines, const Ink& ink,
           const DeviceRegions& regions, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(ink.tiles.width), static_cast<unsigned>(ink.tiles.height));
  with_storage(painter.picture.layout, [&](auto stored) {
    launch_chained(paint_kernel<decltype(stored)>, grid, kBlock, 0, stream, painter, outlines, ink,
                   regions);
  });
}

}  // namespace regions::drawing
