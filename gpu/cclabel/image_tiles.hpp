// Tiles of an image, and the buffers that the passes for images hand on to each other: runs and
// components of each tile, component ids along tile edges, the union-find forest that merges
// components across tiles, and the first pixels of regions.
//
// The id of a pixel is y * stride + x, its index in raster order. In `region_bits`, the bit of this
// pixel is bit (id & 31) of word id >> 5. A component is identified by the id of its first pixel in
// its tile. A region is identified by the smallest id of its components, which is the id of the
// region's first pixel.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "core/image.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {

// A tile is `words` x 32 pixels wide and `rows` high. One block labels it. Tile shapes are types
// because kernels take them as template arguments.
template <int words_, int rows_, int threads_, int max_runs_>
struct TileShape {
  static constexpr int words = words_;  // 32-pixel words per row
  static constexpr int rows = rows_;
  static constexpr int threads = threads_;
  static constexpr int width = 32 * words;  // pixels
  static constexpr int all_words = words * rows;
  static constexpr int max_runs = max_runs_;      // also the maximum of components
  static constexpr int max_runs_to_merge = 1536;  // see RunsToMerge; noise has up to 1,100
  // Blocks per multiprocessor: limited by its threads or by its shared memory.
  static constexpr int min_blocks = threads == 512 ? 4 : 6;
  static_assert(max_runs <= width * rows && max_runs % 32 == 0 && width * rows <= 1 << 15);
};

// Measured on an H200: 128x64 pixels with 512 threads, 128x32 with 256 threads, and tiles of 64
// pixels per row were within 1% of each other at 1920x1080 and 4096x4096. 1024 threads were 30%
// slower at 4096x4096, because one block fills a multiprocessor.

// For criterion `binary`. A run takes at least two pixels of a row: its own and the gap after it.
using BinaryTile = TileShape<4, 64, 512, 4096>;
// For criteria `equal` and `difference`. Each pixel may be a run.
using LinkedTile = TileShape<2, 64, 256, 4096>;

// Calls launch.operator()<connectivity>() with the connectivity as a compile-time constant.
template <class Launch>
void with_connectivity(Connectivity connectivity, const Launch& launch) {
  if (connectivity == Connectivity::eight) {
    launch.template operator()<Connectivity::eight>();
  } else {
    launch.template operator()<Connectivity::four>();
  }
}

struct TileCounts {
  uint16_t runs;
  uint16_t components;
  uint16_t border;  // components that touch another tile; their indices come first
  uint16_t unused;
};

// The geometry of an image's tiles and the device buffers of one in-flight frame.
struct ImageTiles {
  Size size;    // of the image
  int columns;  // tiles per row of tiles
  int rows;     // rows of tiles
  int width;    // pixels per row of a tile, 1 << width_bits
  int width_bits;
  int height;    // pixel rows of a tile
  int capacity;  // maximum of runs, and of components, per tile
  int stride;    // ids from one row to the next: columns * width

  uint32_t* foreground;    // [tile][height][width / 32] bits: pixels that belong to a region
  uint32_t* starts;        // [tile][height][width / 32] bits: first pixels of runs
  uint16_t* rank;          // [tile][height][width / 32] runs of the tile that start before the word
  uint16_t* component;     // [tile][capacity] component of each run; runs are in raster order
  uint16_t* first_pixel;   // [tile][capacity] by component: y * width + x within the tile
  TileCounts* counts;      // [tile]
  uint32_t* region_count;  // [tile] number of regions whose first pixel is in the tile

  uint32_t* parent;       // [size.height][stride] valid only at first pixels of border components
  uint32_t* region_bits;  // [size.height][stride / 32] bits: first pixels of regions
  uint32_t* before;       // [size.height][stride / 32] labelled regions that start before the word

  // Component ids of the pixels along the edges of tiles, kNone for background.
  uint32_t* top;     // [rows][stride]
  uint32_t* bottom;  // [rows][stride]
  uint32_t* left;    // [columns][size.height]
  uint32_t* right;   // [columns][size.height]

  uint32_t* total;  // [2] number of regions, number of regions that have a label

  // Whether number_regions() is already complete when the next kernel's blocks start, because a
  // kernel in between has waited for it. The next kernel may then work before it calls pdl_wait.
  bool are_numbered = false;

  REGIONS_HD size_t tiles() const { return static_cast<size_t>(columns) * rows; }
  // Whether an H200 (132 multiprocessors, 4 blocks each) runs one block per tile all at once. True
  // for 1920x1080, false for 3840x2160.
  bool are_few() const { return tiles() <= size_t{132} * 4; }
  REGIONS_HD size_t words() const { return static_cast<size_t>(stride / 32) * size.height; }
};

#ifdef __CUDACC__

// The position of a tile in the image.
struct TilePosition {
  int column, row;  // in tiles
  int tile;         // index
  int x, y;         // of the tile's first pixel

  // The id of the pixel with index `local` = y * width + x within the tile.
  __device__ uint32_t id(const ImageTiles& tiles, int local) const {
    const auto px = static_cast<uint32_t>(x + (local & (tiles.width - 1)));
    const auto py = static_cast<uint32_t>(y + (local >> tiles.width_bits));
    return py * static_cast<uint32_t>(tiles.stride) + px;
  }
};

// The tile of this block, in a grid of one block per tile.
__device__ inline TilePosition tile_of_block(const ImageTiles& tiles) {
  const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  return {column, row, row * tiles.columns + column, column * tiles.width, row * tiles.height};
}

// The label of the region whose first pixel has the id `root`; 0 if the region was filtered out.
__device__ inline uint32_t label_of_root(const ImageTiles& tiles, uint32_t root) {
  const uint32_t word = root >> 5;
  const int bit = static_cast<int>(root & 31);
  const uint32_t region_bits = tiles.region_bits[word];
  if (!(region_bits >> bit & 1)) return 0;
  return tiles.before[word] + static_cast<uint32_t>(__popc(region_bits & bits_below(bit))) + 1;
}

// The id of the region that contains component `c` of a tile. Requires merged tiles and a flat
// forest (merge_tiles() and number_regions()). `first_pixel` is the component's, within the tile.
__device__ inline uint32_t root_of_component(const ImageTiles& tiles, const TilePosition& position,
                                             int c, int border, uint16_t first_pixel) {
  const uint32_t id = position.id(tiles, first_pixel);
  return c < border ? tiles.parent[id] : id;
}
__device__ inline uint32_t root_of_component(const ImageTiles& tiles, const TilePosition& position,
                                             int c, int border) {
  const size_t index = static_cast<size_t>(position.tile) * tiles.capacity + c;
  return root_of_component(tiles, position, c, border, tiles.first_pixel[index]);
}

// 32 pixels of a tile's row, as label_tiles() wrote them.
struct RunWord {
  uint32_t foreground;  // bits
  uint32_t starts;      // bits: first pixels of runs
  int rank;             // runs of the tile that start before the word

  __device__ bool is_foreground(int bit) const { return foreground >> bit & 1; }
  // The run of a foreground pixel.
  __device__ int run_at(int bit) const { return rank + __popc(starts & bits_up_to(bit)) - 1; }
  // Whether the pixel is the last one of its run in this word.
  __device__ bool is_last_of_run(int bit) const {
    return bit == 31 || !is_foreground(bit + 1) || (starts >> (bit + 1) & 1);
  }
  // The first pixel in this word of the run that contains the pixel.
  __device__ int run_begin(int bit) const {
    const uint32_t begun = starts & bits_up_to(bit);
    return begun ? 31 - __clz(static_cast<int>(begun)) : 0;
  }
  // The pixels of the run that contains pixel `b`, from `b` to the end of the word. Returns a mask.
  __device__ uint32_t rest_of_run(int b) const {
    const uint32_t from = ~bits_below(b), beyond = from & ~bits_up_to(b);
    const uint32_t end = (~foreground | starts) & beyond;  // lowest bit: first pixel after the run
    return end ? ((end & (0u - end)) - 1) & from : from;
  }
};

__device__ inline RunWord load_run_word(const ImageTiles& tiles, int tile, int word) {
  const size_t index = static_cast<size_t>(tile) * (tiles.width / 32 * tiles.height) + word;
  return {tiles.foreground[index], tiles.starts[index], tiles.rank[index]};
}

// Calls visit(word, column, row) for the warp's share of a tile's words: adjacent rows of one word
// column, so that a warp mostly stays in one region. Words without foreground and rows below the
// image are skipped. Each lane loads one word, so that the warp waits for memory only once.
template <int threads, class Visit>
__device__ void for_each_run_word(const ImageTiles& tiles, const TilePosition& position,
                                  Visit visit) {
  constexpr int kWarps = threads / 32;
  const int words = tiles.width / 32, warp = static_cast<int>(threadIdx.x / 32);
  const int rows = tiles.height * words / kWarps;  // at most 32; tile shapes divide evenly
  const int column = warp % words, first = warp / words * rows;
  const int lane_row = first + static_cast<int>(threadIdx.x % 32);
  RunWord loaded = {};
  if (lane_row < min(first + rows, tiles.size.height - position.y)) {
    loaded = load_run_word(tiles, position.tile, lane_row * words + column);
  }
  for (uint32_t left = __ballot_sync(kAllLanes, loaded.foreground != 0); left; left &= left - 1) {
    const int k = __ffs(static_cast<int>(left)) - 1;
    visit(RunWord{__shfl_sync(kAllLanes, loaded.foreground, k),
                  __shfl_sync(kAllLanes, loaded.starts, k), __shfl_sync(kAllLanes, loaded.rank, k)},
          column, first + k);
  }
}

#endif

}  // namespace regions::cclabel
