// What the phases leave for each other in one slot's workspace: runs and components of each tile,
// the seams between tiles, the forest that joins components, and the first pixels of regions.
//
// A pixel's id is y * stride + x: unique, in raster order, and its first-pixel bit is bit (id & 31)
// of word id >> 5. A component is known by the id of its first pixel in its tile, a region by the
// smallest of its components, which is the id of its own first pixel.
#pragma once

#include "core/image.hpp"
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/union_find.hpp"

namespace regions::cclabel {

struct TileCount {
  uint16_t runs;
  uint16_t components;
  uint16_t border;  // of them touch a neighbouring tile; they come first
  uint16_t unused;
};

struct Tiles {
  Size size;    // of the picture
  int columns;  // tiles in a row
  int rows;     // rows of tiles
  int width;    // pixels of a tile, 1 << width_bits
  int width_bits;
  int height;    // rows of a tile
  int capacity;  // most runs and components of a tile
  int stride;    // ids from a row to the next: columns * width

  uint32_t* foreground;  // [tile][height][width / 32] pixels that have a label
  uint32_t* starts;      // [tile][height][width / 32] first pixels of runs
  uint16_t* rank;        // [tile][height][width / 32] runs of the tile that start before the word
  uint16_t* component;   // [tile][capacity] of each run, in raster order of runs
  uint16_t* first;    // [tile][capacity] first pixel of each component, y * width + x in the tile
  TileCount* count;   // [tile]
  uint32_t* regions;  // [tile] regions whose first pixel lies there

  uint32_t* parent;  // [size.height][stride] for first pixels of border components alone
  uint32_t* firsts;  // [size.height][stride / 32] bits: first pixels of regions
  uint32_t* before;  // [size.height][stride / 32] regions that start before the word

  // Component ids of the pixels along the tiles' edges, kNone for background.
  uint32_t* top;     // [rows][stride]
  uint32_t* bottom;  // [rows][stride]
  uint32_t* left;    // [columns][size.height]
  uint32_t* right;   // [columns][size.height]

  uint32_t* total;  // [2] regions, and those of them that have a label

  // For kernels to come: regions are numbered when their blocks come up, as those of a kernel
  // between have waited for that. They need not wait for that kernel before their work is done.
  bool are_numbered = false;

  REGIONS_HD size_t tiles() const { return static_cast<size_t>(columns) * rows; }
  // Whether all blocks of a kernel with one for each are on an H200 at once: 1920x1080, not
  // 3840x2160.
  bool are_few() const { return tiles() <= size_t{132} * 4; }
  REGIONS_HD size_t words() const { return static_cast<size_t>(stride / 32) * size.height; }
};

#ifdef __CUDACC__

// Where a tile lies in the picture.
struct TilePlace {
  int column, row;
  int tile;
  int x, y;  // of its first pixel
  __device__ uint32_t id(const Tiles& tiles, int local) const {
    const auto px = static_cast<uint32_t>(x + (local & (tiles.width - 1)));
    const auto py = static_cast<uint32_t>(y + (local >> tiles.width_bits));
    return py * static_cast<uint32_t>(tiles.stride) + px;
  }
};

// A block works on tile (blockIdx.x, blockIdx.y).
__device__ inline TilePlace place_of_block(const Tiles& tiles) {
  const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  return {column, row, row * tiles.columns + column, column * tiles.width, row * tiles.height};
}

// The label of a region whose first pixel is `root`, 0 if it was filtered out.
__device__ inline uint32_t label_of_root(const Tiles& tiles, uint32_t root) {
  const uint32_t word = root >> 5;
  const int bit = static_cast<int>(root & 31);
  const uint32_t firsts = tiles.firsts[word];
  if (!(firsts >> bit & 1)) return 0;
  return tiles.before[word] + static_cast<uint32_t>(__popc(firsts & below(bit))) + 1;
}

// The region that component `c` of a tile belongs to, once join_seams is done and flattened.
// `first`: its first pixel in the tile.
__device__ inline uint32_t root_of_component(const Tiles& tiles, const TilePlace& place, int c,
                                             int border, uint16_t first) {
  const uint32_t id = place.id(tiles, first);
  return c < border ? tiles.parent[id] : id;
}
__device__ inline uint32_t root_of_component(const Tiles& tiles, const TilePlace& place, int c,
                                             int border) {
  const size_t at = static_cast<size_t>(place.tile) * tiles.capacity + c;
  return root_of_component(tiles, place, c, border, tiles.first[at]);
}

#endif

}  // namespace regions::cclabel
