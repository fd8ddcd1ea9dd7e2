// ImageTiles: the tiles of an image, and the buffers through which the passes for images exchange
// data. The buffers contain the runs and components of each tile, component ids along tile edges,
// the union-find forest that merges components across tiles, and the first pixels of regions.
//
// The id of a pixel is y * stride + x, its index in raster order. In `region_starts`, the bit of
// this pixel is bit (id & 31) of word id >> 5. A component is identified by the id of its first
// pixel in its tile. A region is identified by the smallest id of its components, which is the id
// of the region's first pixel.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "core/image.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

// A tile is 32 * `words` pixels wide and `rows` pixels high. One thread block labels it. Tile
// shapes are types because they are template arguments of kernels.
template <int words_, int rows_, int threads_, int max_runs_>
struct TileShape {
  static constexpr int words = words_;  // 32-pixel words per row
  static constexpr int rows = rows_;
  static constexpr int threads = threads_;
  static constexpr int width = 32 * words;  // pixels
  static constexpr int all_words = words * rows;
  static constexpr int max_runs = max_runs_;  // per tile; also the maximum number of components
  // Capacity of RunsToMerge; images of noise need up to 1,100.
  static constexpr int max_runs_to_merge = 1536;
  // Number of resident blocks per multiprocessor, for __launch_bounds__. It is limited by the
  // number of threads or the shared memory.
  static constexpr int min_blocks = threads == 512 ? 4 : 6;
  static_assert(max_runs <= width * rows && max_runs % 32 == 0 && width * rows <= 1 << 15);
};

// Measured on an H200 with images of 1920x1080 and 4096x4096 pixels: tiles of 128x64 pixels with
// 512 threads, tiles of 128x32 pixels with 256 threads, and tiles with a width of 64 pixels differ
// by less than 1%. With 1024 threads, 4096x4096 pixels take 30% longer, because one block fills a
// multiprocessor.

// The tile for criterion=binary. A run takes at least two pixels of a row: a pixel of the run and
// the gap after the run.
using BinaryTile = TileShape<4, 64, 512, 4096>;
// The tile for criterion=equal and criterion=difference. Each pixel may be a separate run.
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

// The numbers of runs and components of one tile.
struct TileCounts {
  uint16_t runs;
  uint16_t components;
  uint16_t border;  // number of border components, which have the lowest indices
  uint16_t unused;
};

// The sizes of an image's tiles, and the device buffers for one in-flight image. Copied to kernels
// by value.
struct ImageTiles {
  Size size;            // size of the image, in pixels
  int tile_columns;     // number of tiles side by side
  int tile_rows;        // number of tiles one below another
  int tile_width;       // pixels, equals 1 << tile_width_bits
  int tile_width_bits;  // log2 of tile_width
  int tile_height;      // pixels
  int max_tile_runs;    // maximum number of runs, and of components, per tile
  int stride;           // difference of ids from one row to the next: tile_columns * tile_width

  // The runs of each tile, written by label_tiles(). `runs_before` is the number of runs of the
  // tile that start before each word.
  uint32_t* foreground;   // [tile][tile_height][tile_width / 32] bits: pixels in any region
  uint32_t* run_starts;   // [tile][tile_height][tile_width / 32] bits: first pixels of runs
  uint16_t* runs_before;  // [tile][tile_height][tile_width / 32] runs before the word

  // The components of each tile, written by label_tiles(). Runs are in raster order. The first
  // pixel of a component is an index in the tile.
  uint16_t* component_of_run;  // [tile][max_tile_runs] component of each run
  uint16_t* first_pixel;       // [tile][max_tile_runs] y * tile_width + x of each component
  TileCounts* counts;          // [tile]

  // The regions. label_tiles() writes `region_count`, `parent` and `region_starts`, merge_tiles()
  // and the filters change them, and number_regions() writes `regions_before` and `total`.
  // `regions_before` is the number of labelled regions that start before each word.
  uint32_t* region_count;    // [tile] number of regions whose first pixel is in the tile
  uint32_t* parent;          // [size.height][stride] parent by id; valid for border components
  uint32_t* region_starts;   // [size.height][stride / 32] bits: first pixels of regions
  uint32_t* regions_before;  // [size.height][stride / 32] labelled regions before the word

  // Component ids of the first and last pixel rows and pixel columns of all tiles; kNone for
  // background. Written by label_tiles(), read by merge_tiles().
  uint32_t* top_edge;     // [tile_rows][stride]
  uint32_t* bottom_edge;  // [tile_rows][stride]
  uint32_t* left_edge;    // [tile_columns][size.height]
  uint32_t* right_edge;   // [tile_columns][size.height]

  uint32_t* total;  // [2] number of regions, number of regions that have a label

  // True if number_regions() has finished before the next kernel starts, because another kernel in
  // between has waited for it. The next kernel may then read its results without calling pdl_wait()
  // first.
  bool are_numbered = false;

  // Number of tiles.
  REGIONS_HD size_t tiles() const { return static_cast<size_t>(tile_columns) * tile_rows; }
  // Whether the device can process all tiles at once (one block per tile, 4 blocks per
  // multiprocessor). On an H200 true for 1920x1080, false for 3840x2160.
  bool are_few() const { return tiles() <= size_t{multiprocessors()} * 4; }
  // Number of words of a bitmap of the image, such as `region_starts`.
  REGIONS_HD size_t words() const { return static_cast<size_t>(stride / 32) * size.height; }
};

#ifdef __CUDACC__

// The position of a tile in the image.
struct TilePosition {
  int column, row;  // position of the tile, counted in tiles
  int tile_index;   // index of the tile, counted row by row
  int x, y;         // position of the tile's first pixel in the image

  // Returns the id of a pixel of the tile, from its index in the tile (y * tile_width + x).
  __device__ uint32_t id(const ImageTiles& tiles, int index_in_tile) const {
    const auto px = static_cast<uint32_t>(x + (index_in_tile & (tiles.tile_width - 1)));
    const auto py = static_cast<uint32_t>(y + (index_in_tile >> tiles.tile_width_bits));
    return py * static_cast<uint32_t>(tiles.stride) + px;
  }
};

// Returns the position of the block's tile, in a grid with one block per tile.
__device__ inline TilePosition tile_of_block(const ImageTiles& tiles) {
  const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  return {column, row, row * tiles.tile_columns + column, column * tiles.tile_width,
          row * tiles.tile_height};
}

// Returns the label of the region whose first pixel has the id `root`; 0 if a filter removed the
// region.
__device__ inline uint32_t label_of_root(const ImageTiles& tiles, uint32_t root) {
  const uint32_t word = root >> 5;
  const int bit = static_cast<int>(root & 31);
  const uint32_t region_starts = tiles.region_starts[word];
  if (!(region_starts >> bit & 1)) return 0;
  return tiles.regions_before[word] +
         static_cast<uint32_t>(__popc(region_starts & bits_below(bit))) + 1;
}

// Returns the id of the region that contains component `c` of a tile, which is the root of the
// component. number_regions() must have made the forest flat. `border`: TileCounts::border of the
// tile. `first_pixel`: index in the tile of the component's first pixel.
__device__ inline uint32_t root_of_component(const ImageTiles& tiles, const TilePosition& position,
                                             int c, int border, uint16_t first_pixel) {
  const uint32_t id = position.id(tiles, first_pixel);
  return c < border ? tiles.parent[id] : id;
}
__device__ inline uint32_t root_of_component(const ImageTiles& tiles, const TilePosition& position,
                                             int c, int border) {
  const size_t index = static_cast<size_t>(position.tile_index) * tiles.max_tile_runs + c;
  return root_of_component(tiles, position, c, border, tiles.first_pixel[index]);
}

// The runs of 32 adjacent pixels of a row of a tile, as label_tiles() stored them.
struct RunWord {
  uint32_t foreground;  // one bit per pixel
  uint32_t run_starts;  // bits: first pixels of runs
  int runs_before;      // number of runs of the tile that start before the word

  __device__ bool is_foreground(int bit) const { return foreground >> bit & 1; }
  // Returns the index of the run that contains this foreground pixel.
  __device__ int run_at(int bit) const {
    return runs_before + __popc(run_starts & bits_up_to(bit)) - 1;
  }
  // Whether this foreground pixel is the last pixel of its run in the word.
  __device__ bool is_last_of_run(int bit) const {
    return bit == 31 || !is_foreground(bit + 1) || (run_starts >> (bit + 1) & 1);
  }
  // Returns the first pixel in this word of the run that contains pixel `bit`.
  __device__ int run_begin(int bit) const {
    const uint32_t begun = run_starts & bits_up_to(bit);
    return begun ? 31 - __clz(static_cast<int>(begun)) : 0;
  }
  // Returns a mask of the pixels from `b` up to the end of the run that contains `b`, within this
  // word.
  __device__ uint32_t rest_of_run(int b) const {
    const uint32_t from = ~bits_below(b), beyond = from & ~bits_up_to(b);
    // Lowest bit: first pixel after the run.
    const uint32_t end = (~foreground | run_starts) & beyond;
    return end ? ((end & (0u - end)) - 1) & from : from;
  }
};

__device__ inline RunWord load_run_word(const ImageTiles& tiles, int tile, int word) {
  const size_t index =
      static_cast<size_t>(tile) * (tiles.tile_width / 32 * tiles.tile_height) + word;
  return {tiles.foreground[index], tiles.run_starts[index], tiles.runs_before[index]};
}

// Calls visit(word, word column, row) for the warp's share of the words of a tile. A warp gets
// adjacent rows of one word column, so that its pixels mostly belong to one region. Skips words
// without foreground and rows below the image. Each lane loads one word, so that the warp waits for
// memory only once.
template <int threads, class Visit>
__device__ void for_each_run_word(const ImageTiles& tiles, const TilePosition& position,
                                  Visit visit) {
  constexpr int kWarps = threads / 32;
  const int words = tiles.tile_width / 32, warp = static_cast<int>(threadIdx.x / 32);
  // Rows per warp: at most 32, and always a whole number.
  const int rows = tiles.tile_height * words / kWarps;
  const int column = warp % words, first = warp / words * rows;
  const int lane_row = first + static_cast<int>(threadIdx.x % 32);
  RunWord loaded = {};
  if (lane_row < min(first + rows, tiles.size.height - position.y)) {
    loaded = load_run_word(tiles, position.tile_index, lane_row * words + column);
  }
  for (uint32_t remaining = __ballot_sync(kAllLanes, loaded.foreground != 0); remaining;
       remaining &= remaining - 1) {
    const int k = __ffs(static_cast<int>(remaining)) - 1;
    visit(RunWord{__shfl_sync(kAllLanes, loaded.foreground, k),
                  __shfl_sync(kAllLanes, loaded.run_starts, k),
                  __shfl_sync(kAllLanes, loaded.runs_before, k)},
          column, first + k);
  }
}

#endif

}  // namespace regions::cclabel
