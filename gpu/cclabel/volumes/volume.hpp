// What the phases of labelling volumes leave for each other in one slot's workspace.
//
// Rows are words of 32 bits. Two rows (y) make a band; with 18- and 26-connectivity two by two (y,
// z). The voxels of a band that have a column in common are connected, whatever the connectivity.
// Nodes are columns of a word of a band whose voxels are linked one to the next (bands.hpp). They
// are counted through in each tile, class by class; tiles have room for as many as there can be.
//
//         a word of 32 voxels, x
//        |<--------------------->|
//     y  |. # # # . . # # . . # .|  row 2b       A band, here of 6-connected voxels, and its
//   y+1  |. . # . . . . # # . . .|  row 2b + 1   3 nodes: columns 1 to 3, 6 to 8, and 10.
//         ^---1---^   ^-2-^   ^3
//
//   A tile is a word wide, 16 rows high and 16 slices deep; that of a picture 256 rows high.
//   Tiles follow each other along x, then y, then z.
//
// Tiles are labelled by themselves, and then joined. A voxel's id is its place in raster order of
// the stack, rows filled up to whole words. A component of a tile is known by the id of its first
// voxel there, a region by the smallest of its components, which is the id of its own first voxel.
// In the tile, components are numbered, in any order. These numbers fit into 16 bits, which is all
// that is read of most nodes, and tell where the component's entry in the forest is (forest.hpp):
// tiles have room there for as many components as nodes.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/base/firsts.hpp"
#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/volumes/bands.hpp"
#include "gpu/cclabel/volumes/forest.hpp"
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/divisor.hpp"
#include "gpu/primitives/union_find.hpp"

namespace regions::volumes {

using cclabel::BandRows, cclabel::Firsts, cclabel::Levels, cclabel::Records, cclabel::Subject;
using cclabel::VoxelRows, cclabel::kMaxLayers;

// The nodes of a band's word: their first columns, and the number of the first.
struct alignas(8) WordNodes {
  uint32_t starts, first;
};

// Of a class of a tile.
struct alignas(4) TileCounts {
  uint16_t nodes, components;
};

struct Volume {
  Stack stack;  // as labels come out
  int words;    // of a row
  Divisor by_words;
  int classes;  // 2: background has regions too
  Connectivity connectivity;
  int band_slices;
  int bands_y, bands_z;        // of a volume
  int tile_rows, tile_slices;  // of a tile
  int tiles_y, tiles_z;        // of a volume; `words` of them lie beside each other

  // Components that are no region need not hang directly below their roots: enough to write labels.
  bool unsettled = false;

  // Words of rows, and of bands, are where index_of() and band_word() say.
  uint32_t* bits;       // [layer][z][y][words] foreground
  WordNodes* nodes;     // [class][layer][bands_z][bands_y][words] of bands
  uint16_t* component;  // [layer][tile][class][tile_nodes()] number of each node's component
  Entry* forest;        // the same, by that number
  TileCounts* counts;   // [layer][tile][class]
  uint32_t* area;       // by id, of regions, where filters want it
  uint32_t* parts;      // [layer][z][y][words] first voxels of components
  uint32_t* firsts;     // the same of regions
  uint32_t* before;     // regions that start before the word
  uint32_t* sums;       // [words of firsts / Firsts::kSumWords] regions that start there
  uint32_t* total;      // [2] regions, and those of them that have a label

  REGIONS_HD uint32_t sum_count() const {
    return (row_words() + Firsts::kSumWords - 1) / Firsts::kSumWords;
  }
  REGIONS_HD uint32_t row_words() const { return static_cast<uint32_t>(stack.rows() * words); }
  Firsts regions() const {
    const auto in_row = static_cast<uint32_t>(words);
    return {.stack = stack,
            .in_row = in_row,
            .pitch = in_row * 32,
            .words = row_words(),
            .bits = firsts,
            .before = before,
            .sums = sums,
            .area = area,
            .total = total};
  }
  REGIONS_HD uint32_t tiles() const { return static_cast<uint32_t>(words * tiles_y * tiles_z); }
  uint32_t all_tiles() const { return tiles() * static_cast<uint32_t>(stack.layers); }
  // The id of a voxel of word w of a row.
  REGIONS_HD uint32_t id_of(int layer, int w, int y, int z, int bit) const {
    const int row = stack.row({y, z, layer});
    return (static_cast<uint32_t>(row) * static_cast<uint32_t>(words) + static_cast<uint32_t>(w)) *
               32 +
           static_cast<uint32_t>(bit);
  }
  // Where word w of a row of the stack is.
  REGIONS_HD uint32_t index_of(int row, int w) const {
    return VoxelRows::at(static_cast<uint32_t>(row), static_cast<uint32_t>(w),
                         static_cast<uint32_t>(words));
  }
  // The same of a word counted row by row.
  REGIONS_HD uint32_t index_of_word(uint32_t word) const {
    const uint32_t row = by_words.divide(word), in_row = static_cast<uint32_t>(words);
    return VoxelRows::at(row, word - row * in_row, in_row);
  }
  // Room for the bands, and the nodes, of a tile and class.
  REGIONS_HD int tile_bands() const {
    return tile_rows / kBandRows * ((tile_slices + band_slices - 1) / band_slices);
  }
  REGIONS_HD int tile_nodes() const { return tile_bands() * nodes_of_word(connectivity); }
};

#ifdef __CUDACC__

// Which bits of a word of a row are inside.
__device__ inline uint32_t inside(const Volume& v, int w) {
  const int rest = v.stack.slice.width - w * 32;
  return rest >= 32 ? 0xffffffffu : below(rest);
}

// The node that has column `b` of a band's word.
__device__ inline uint32_t node_of(const WordNodes& word, int b) {
  return word.first + static_cast<uint32_t>(__popc(word.starts & up_to(b))) - 1;
}

// The bits of the run that begins at bit b.
__device__ inline uint32_t run_from(uint32_t bits, int b) {
  const uint32_t gaps = ~bits & ~up_to(b);
  return bits & ~below(b) & (gaps ? (gaps & (0u - gaps)) - 1 : 0xffffffffu);
}

// The word of the band that a row belongs to.
__device__ inline uint32_t band_word(const Volume& v, int cls, int layer, int w, int y, int z) {
  const int slab = (cls * v.stack.layers + layer) * v.bands_z + (z >> (v.band_slices - 1));
  return BandRows::at(static_cast<uint32_t>(slab * v.bands_y + y / kBandRows),
                      static_cast<uint32_t>(w), static_cast<uint32_t>(v.words));
}

// The place in the forest of a node's component. Nodes of a tile and class, a power of two, have as
// many places.
__device__ inline uint32_t entry_of_node(const Volume& v, uint32_t node) {
  return (node & ~(static_cast<uint32_t>(v.tile_nodes()) - 1)) + v.component[node];
}

// The label of the region with this id, see label_of_first().
__device__ inline uint32_t label_of_region(const Volume& v, uint32_t id) {
  return cclabel::label_of_first(v.firsts, v.before, v.index_of_word(id / 32), id);
}

// The id of a node's region; not where unsettled.
__device__ inline uint32_t region_of_node(const Volume& v, uint32_t node) {
  return id_of_entry(v.forest[entry_of_node(v, node)]);
}

// Where the counts of a class of a tile are, and its nodes by the room that they have.
__device__ inline uint32_t tile_of_class(const Volume& v, uint32_t tile, int cls) {
  return tile * static_cast<uint32_t>(v.classes) + static_cast<uint32_t>(cls);
}

// A block for each tile of all layers, and of the first so many classes.
inline dim3 tile_grid(const Volume& v, int classes = 1) {
  return dim3(static_cast<unsigned>(v.words), static_cast<unsigned>(v.tiles_y),
              static_cast<unsigned>(v.tiles_z * v.stack.layers * classes));
}

// Where the tile of a block lies.
struct TilePlace {
  int w, y, z, layer, cls;
  uint32_t index;  // counted through all layers
  __device__ explicit TilePlace(const Volume& v) {
    // Mostly there is one volume: divisions are saved.
    const auto row = static_cast<int>(blockIdx.z);
    const int volume = row < v.tiles_z ? 0 : row / v.tiles_z;
    const int tile_z = row - volume * v.tiles_z;
    cls = volume < v.stack.layers ? 0 : volume / v.stack.layers;
    layer = volume - cls * v.stack.layers;
    w = static_cast<int>(blockIdx.x);
    y = static_cast<int>(blockIdx.y) * v.tile_rows;
    z = tile_z * v.tile_slices;
    index =
        ((static_cast<uint32_t>(layer * v.tiles_z + tile_z)) * gridDim.y + blockIdx.y) * gridDim.x +
        blockIdx.x;
  }
};

#endif

}  // namespace regions::volumes
