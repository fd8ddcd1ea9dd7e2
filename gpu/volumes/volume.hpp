// What the phases of labelling volumes leave for each other in one slot's workspace.
//
// Rows are words of 32 bits. Rows whose voxels are neighbours wherever their columns are make a
// band: two by two (y, z) of them with 26-connectivity, two (y) with 18 or, in a picture, 8, else
// one. Nodes are the runs of a word of a band, all its rows put together with OR. A node's number
// is 16 times its word's plus half its first bit: of two runs in a word the first bits are apart.
//
// Tiles are labelled by themselves, and then joined. A voxel's id is its place in raster order of
// the stack, rows filled up to whole words. A component of a tile is known by the id of its first
// voxel there, a region by the smallest of its components, which is the id of its own first voxel.
// In the tile, components are numbered in raster order of their first voxels, and nodes are counted
// through, class by class. What lies inside a tile needs no more than these numbers, which fit into
// 16 bits; the nodes at its sides have their components' ids, too.
#pragma once

#include "core/cclabel.hpp"
#include "gpu/cclabel/tiles.hpp"
#include "gpu/volumes/firsts.hpp"

namespace regions::volumes {

using cclabel::kNone;

// Most thresholds at once.
inline constexpr int kMostLayers = decltype(CcLabelParams::thresholds)::kMost;

struct Levels {
  int level[kMostLayers];  // foreground_level()
};

// Rows and slices of a band.
REGIONS_HD constexpr int rows_of_band(Connectivity c) {
  return within_slice(c) == Connectivity::eight ? 2 : 1;
}
REGIONS_HD constexpr int slices_of_band(Connectivity c) {
  return c == Connectivity::twenty_six ? 2 : 1;
}

struct Volume {
  Stack stack;  // as labels come out
  int words;    // of a row
  int classes;  // 2: background has regions too
  Connectivity connectivity;
  int band_rows, band_slices;
  int bands_y, bands_z;        // of a volume
  int tile_rows, tile_slices;  // of a tile
  int tiles_y, tiles_z;        // of a volume; `words` of them lie beside each other

  bool all_nodes;  // have entries in `node`, and all components in `parent`: not those at sides
                   // alone

  uint32_t* bits;       // [layer][z][y][words] foreground
  uint32_t* band;       // [class][layer][bands_z][bands_y][words]
  uint32_t* node;       // [class][layer][bands_z][bands_y][words][16] id of each node's component
  uint16_t* component;  // [layer][tile][class][tile_nodes()] its number, nodes counted through
  uint32_t* parent;     // by id, of components alone
  uint32_t* area;       // by id, of regions, where filters want it
  uint32_t* parts;      // [layer][z][y][words] first voxels of components
  uint32_t* firsts;     // the same of regions
  uint32_t* before;     // regions that start before the word
  uint32_t* sums;       // [words of firsts / Firsts::kSumWords] regions that start there
  uint32_t* total;      // [2] regions, and those of them that have a label

  REGIONS_HD uint32_t slab_words() const { return static_cast<uint32_t>(bands_y * words); }
  REGIONS_HD uint32_t sum_count() const {
    return (row_words() + Firsts::kSumWords - 1) / Firsts::kSumWords;
  }
  REGIONS_HD uint32_t row_words() const { return static_cast<uint32_t>(stack.rows() * words); }
  Firsts regions() const {
    const auto in_row = static_cast<uint32_t>(words);
    return {stack, in_row * 32, row_words(), firsts, before, sums, area, total};
  }
  REGIONS_HD uint32_t tiles() const { return static_cast<uint32_t>(words * tiles_y * tiles_z); }
  // The id of a voxel of word w of a row.
  REGIONS_HD uint32_t id_of(int layer, int w, int y, int z, int bit) const {
    const int row = (layer * stack.slices + z) * stack.slice.height + y;
    return (static_cast<uint32_t>(row) * static_cast<uint32_t>(words) + static_cast<uint32_t>(w)) *
               32 +
           static_cast<uint32_t>(bit);
  }
  // Room for the bands, and the nodes, of a tile and class.
  REGIONS_HD int tile_bands() const {
    return tile_rows / band_rows * ((tile_slices + band_slices - 1) / band_slices);
  }
  REGIONS_HD int tile_nodes() const { return tile_bands() * 16; }
};

#ifdef __CUDACC__

// Which bits of a word of a row are inside.
__device__ inline uint32_t inside(const Volume& v, int w) {
  const int rest = v.stack.slice.width - w * 32;
  return rest >= 32 ? 0xffffffffu : cclabel::below(rest);
}

__device__ inline uint32_t starts_of(uint32_t bits) { return bits & ~(bits << 1); }

// The node that has bit `b` of a band's word, which is `bits`.
__device__ inline uint32_t node_of(uint32_t word, uint32_t bits, int b) {
  const int first = 31 - __clz(static_cast<int>(starts_of(bits) & cclabel::up_to(b)));
  return word * 16 + static_cast<uint32_t>(first / 2);
}

// The bits of the run that begins at bit b.
__device__ inline uint32_t run_from(uint32_t bits, int b) {
  const uint32_t gaps = ~bits & ~cclabel::up_to(b);
  return bits & ~cclabel::below(b) & (gaps ? (gaps & (0u - gaps)) - 1 : 0xffffffffu);
}

// The word of the band (of one or two rows and slices) that a row belongs to.
__device__ inline uint32_t band_word(const Volume& v, int cls, int layer, int w, int y, int z) {
  const int slab = (cls * v.stack.layers + layer) * v.bands_z + (z >> (v.band_slices - 1));
  return static_cast<uint32_t>((slab * v.bands_y + (y >> (v.band_rows - 1))) * v.words + w);
}

// The label of a region, by its id; 0 if that is of no region, or of one that was filtered out.
__device__ inline uint32_t label_of_id(const Volume& v, uint32_t id) {
  const uint32_t firsts = v.firsts[id / 32], before = v.before[id / 32];
  const auto bit = static_cast<int>(id % 32);
  if (!(firsts >> bit & 1)) return 0;
  return before + static_cast<uint32_t>(__popc(firsts & cclabel::below(bit))) + 1;
}

// The label of a node's region, 0 if that was filtered out; wants `all_nodes`. Most components are
// regions, so that the one's bit is looked at before its parent.
__device__ inline uint32_t label_of_node(const Volume& v, uint32_t node) {
  const uint32_t id = v.node[node], label = label_of_id(v, id);
  return label ? label : label_of_id(v, v.parent[id]);
}

// Where a tile of a layer lies. A block works on tile blockIdx.x of layer blockIdx.y.
struct TilePlace {
  int w, y, z, layer;
  size_t index;  // counted through all layers
  __device__ explicit TilePlace(const Volume& v) {
    const int tile = static_cast<int>(blockIdx.x), row = tile / v.words;
    w = tile - row * v.words;
    z = row / v.tiles_y * v.tile_slices;
    y = row % v.tiles_y * v.tile_rows;
    layer = static_cast<int>(blockIdx.y);
    index = static_cast<size_t>(blockIdx.y) * v.tiles() + blockIdx.x;
  }
};

#endif

}  // namespace regions::volumes
