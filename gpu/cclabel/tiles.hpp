// What the phases leave for each other in one slot's workspace: runs and components of each tile,
// the seams between tiles, the forest that joins components, and the first pixels of regions.
//
// A pixel's id is y * stride + x: unique, in raster order, and its first-pixel bit is bit (id & 31)
// of word id >> 5. A component is known by the id of its first pixel in its tile, a region by the
// smallest of its components, which is the id of its own first pixel.
#pragma once

#include "core/image.hpp"

namespace regions::cclabel {

inline constexpr uint32_t kNone = 0xffffffffu;  // no pixel has this id: 65535 * 65536 is less

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

  REGIONS_HD size_t tiles() const { return static_cast<size_t>(columns) * rows; }
  REGIONS_HD size_t words() const { return static_cast<size_t>(stride / 32) * size.height; }
};

#ifdef __CUDACC__

// Bits 0..b and bits 0..b-1 of a word.
__device__ inline uint32_t up_to(int b) { return 0xffffffffu >> (31 - b); }
__device__ inline uint32_t below(int b) { return (1u << b) - 1; }

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

// While several threads work on a forest, entries are changed by atomics alone (which racecheck,
// too, takes for intended) and read by volatile loads; a stale read only means a longer way. The
// lanes of a warp go step by step together: left to themselves they would drift apart and stay so.

// Hangs the node of each lane of a warp directly below its root, and returns that. A lane writes no
// entry but its own, so that what it leaves there is the root, whatever other warps do; the entries
// of others shorten its way, which makes this pointer jumping (logarithmic in the depth). With
// `exists` false nothing is written. Must not run beside unite().
__device__ inline uint32_t flatten(uint32_t* parent, uint32_t node, bool exists) {
  const volatile uint32_t* forest = parent;
  uint32_t above = forest[node];
  while (true) {
    const uint32_t beyond = forest[above];
    const bool moves = beyond != above;
    if (!__any_sync(0xffffffffu, moves)) return above;
    if (moves && exists) atomicExch(parent + node, beyond);
    above = beyond;
  }
}

// Joins the trees of `a` and `b` under the smaller root for all lanes of a warp that want it.
// Returns the root that stopped being one, or kNone. The order of calls decides the shape of the
// trees, never which nodes share one nor its root. Paths are halved on the way: a node that is no
// root is given its grandparent; a root is changed by the link alone (Rem's and Komura's rules:
// link roots by compare-and-swap, try again from what was seen).
__device__ inline uint32_t unite(uint32_t* parent, uint32_t a, uint32_t b, bool wanted) {
  volatile uint32_t* forest = parent;
  uint32_t lost = kNone;
  bool is_apart = wanted;
  while (__any_sync(0xffffffffu, is_apart)) {
    if (!is_apart) continue;
    const uint32_t above_a = forest[a], above_b = forest[b];
    if (above_a == above_b) {
      is_apart = false;
    } else if (above_a == a && above_b == b) {
      const uint32_t larger = a > b ? a : b, smaller = a > b ? b : a;
      const uint32_t seen = atomicCAS(parent + larger, larger, smaller);
      if (seen == larger) {
        lost = larger;
        is_apart = false;
      }
      a = seen;
      b = smaller;
    } else {
      const uint32_t beyond_a = forest[above_a], beyond_b = forest[above_b];
      if (beyond_a != above_a) atomicExch(parent + a, beyond_a);
      if (beyond_b != above_b) atomicExch(parent + b, beyond_b);
      a = beyond_a;
      b = beyond_b;
    }
  }
  return lost;
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
__device__ inline uint32_t root_of_component(const Tiles& tiles, const TilePlace& place, int c,
                                             int border) {
  const size_t at = static_cast<size_t>(place.tile) * tiles.capacity + c;
  const uint32_t id = place.id(tiles, tiles.first[at]);
  return c < border ? tiles.parent[id] : id;
}

#endif

}  // namespace regions::cclabel
