// Draws one picture. This file contains the last pass, paint(): one thread block per tile of the
// ink, one thread per 2x2 pixels. If a tile has nothing to draw, its thread block ends after it has
// read the tile's mark (Ink::tiles, which says whether the tile has ink) and the label edges near
// the tile.
#include "gpu/drawing/drawing.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace drawing {
namespace {

constexpr int kTileWords = Ink::kTileWidth / 32;
// Number of words to the left and to the right of a tile whose outlines can extend into the tile.
constexpr int kMarginWords = 2;
constexpr dim3 kBlock(Ink::kTileWidth / 2, Ink::kTileHeight / 2);
constexpr int kGatheredWords = kTileWords + 2 * kMarginWords;
static_assert(kGatheredWords * Ink::kTileHeight <= Ink::kTileWidth * Ink::kTileHeight / 4,
              "one thread per word");

// The outlines of a tile, one bit per pixel. First the label edges of nearby rows are combined by
// OR, then the result is dilated along the row.
struct TileOutlines {
  uint32_t line_edges[Ink::kTileHeight][kGatheredWords];    // edges at most thickness - 1 rows away
  uint32_t shadow_edges[Ink::kTileHeight][kGatheredWords];  // edges at most thickness rows away
  uint32_t line[Ink::kTileHeight][kTileWords];              // bright line
  uint32_t shadow[Ink::kTileHeight][kTileWords];  // dark line, one pixel wider on each side
};

// Computes one word of `line_edges` and one of `shadow_edges`. Returns whether any bit is set.
__device__ bool gather_rows(TileOutlines& tile, const Image<uint32_t>& edges, int thickness,
                            int thread) {
  const int row = thread / kGatheredWords;
  const int column = thread % kGatheredWords;
  if (row >= Ink::kTileHeight) return false;
  const int word = static_cast<int>(blockIdx.x) * kTileWords + column - kMarginWords;
  const int y = static_cast<int>(blockIdx.y) * Ink::kTileHeight + row;
  uint32_t line = 0;
  uint32_t shadow = 0;
  if (word >= 0 && word < edges.width) {
    const int last = min(edges.height - 1, y + thickness);
    for (int r = max(0, y - thickness); r <= last; ++r) {
      const uint32_t bits = edges(word, r);
      shadow |= bits;
      if (r != y - thickness && r != y + thickness) line |= bits;
    }
  }
  tile.line_edges[row][column] = line;
  tile.shadow_edges[row][column] = shadow;
  return shadow != 0;
}

__device__ uint32_t dilate_word(const uint32_t (&row)[kGatheredWords], int word, int radius) {
  return dilated_word({row[word], row[word + 1], row[word + 2], row[word + 3], row[word + 4]},
                      radius);
}

// Computes one word of `line` and one of `shadow`.
__device__ void dilate_rows(TileOutlines& tile, int thickness, int thread) {
  const int row = thread / kTileWords;
  const int word = thread % kTileWords;
  if (row >= Ink::kTileHeight) return;
  tile.line[row][word] = dilate_word(tile.line_edges[row], word, thickness - 1);
  tile.shadow[row][word] = dilate_word(tile.shadow_edges[row], word, thickness);
}

// Returns the bits of the 2x2 pixels at columns x and x + 1, rows y and y + 1 of the tile.
__device__ unsigned bits_of_block(const uint32_t (&bits)[Ink::kTileHeight][kTileWords], int x,
                                  int y) {
  return (bits[y][x / 32] >> x % 32 & 3) | (bits[y + 1][x / 32] >> x % 32 & 3) << 2;
}

// Reads two codes and clears them. Rows are padded to whole cache lines, so that the second code
// always exists.
__device__ void read_and_clear_codes(const Image<uint32_t>& codes, int x, int y, uint32_t& left,
                                     uint32_t& right) {
  auto* pair = reinterpret_cast<uint2*>(&codes(x, y));
  const uint2 read = *pair;
  if (read.x | read.y) *pair = make_uint2(0, 0);
  left = read.x;
  right = read.y;
}

template <class Stored>
__global__ void __launch_bounds__(kBlock.x* kBlock.y)
    paint_kernel(const __grid_constant__ Painter painter, const Outlines outlines, const Ink ink,
                 const DeviceRegions regions) {
  __shared__ TileOutlines tile;
  const int thread = static_cast<int>(threadIdx.y * kBlock.x + threadIdx.x);
  pdl_trigger_and_wait();
  uint32_t& tile_mark = ink.tiles(static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
  const bool has_ink = tile_mark != 0;
  if (thread == 0 && blockIdx.x == 0 && blockIdx.y == 0) ink.crowded(0, 0) = 0;
  const bool near_edge = outlines.drawn && gather_rows(tile, ink.edges, outlines.thickness, thread);
  // The barrier completes `line_edges` and `shadow_edges`, and all threads have read the tile's
  // mark.
  const bool has_outline = __syncthreads_or(near_edge);
  if (!has_ink && !has_outline && painter.fill_opacity == 0) return;  // equal for the whole block
  if (has_ink && thread == 0) tile_mark = 0;
  if (has_outline) {
    dilate_rows(tile, outlines.thickness, thread);
    __syncthreads();  // `line` and `shadow` are complete
  }

  const int x = static_cast<int>(threadIdx.x) * 2;
  const int y = static_cast<int>(threadIdx.y) * 2;
  const int x0 = static_cast<int>(blockIdx.x) * Ink::kTileWidth + x;
  const int y0 = static_cast<int>(blockIdx.y) * Ink::kTileHeight + y;
  if (x0 >= painter.picture.width || y0 >= painter.picture.height) return;
  const bool has_second_row = y0 + 1 < painter.picture.height;
  BlockInk block;
  if (has_ink) {
    read_and_clear_codes(ink.codes, x0, y0, block.codes[0], block.codes[1]);
    if (has_second_row) {
      read_and_clear_codes(ink.codes, x0, y0 + 1, block.codes[2], block.codes[3]);
    }
  }
  if (has_outline) {
    block.outline = bits_of_block(tile.line, x, y);
    block.shadow = bits_of_block(tile.shadow, x, y);
  }
  if ((block.outline | block.shadow) != 0 || painter.fill_opacity != 0) {
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
    launch_pdl(paint_kernel<decltype(stored)>, grid, kBlock, 0, stream, painter, outlines, ink,
               regions);
  });
}

}  // namespace drawing

void draw(const ConstFrame& in, const Frame& out, const LabelView& labels,
          const DeviceRegions& regions, const DrawingParams& params, const Ink& ink,
          cudaStream_t stream) {
  const Painter painter = painter_of(out, labels, params);
  const bool outlines = params.style & static_cast<uint32_t>(Style::outlines) && !labels.empty();
  const StampPlan stamps = stamp_plan(out.size(), params);
  drawing::prepare({in, out, painter.labels, outlines, stamps, ink}, regions, stream);
  drawing::paint(painter, {outlines, params.thickness}, ink, regions, stream);
}

Block allocate_cleared_ink(Backend& backend, Size picture) {
  Block block = backend.allocate(ink_bytes(picture));
  fill_with_zeros(backend, block.data(), block.bytes());
  return block;
}

}  // namespace regions
