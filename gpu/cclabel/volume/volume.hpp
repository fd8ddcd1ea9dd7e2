// Labels the connected components of volumes on CUDA, and of pictures at several thresholds or with
// regions of background: union-find over runs of columns.
//
// The passes, in the order in which VolumeLabeller::enqueue() calls them:
//   1. label_tiles()       thresholds each tile and finds its components in shared memory.
//   2. merge_tiles()       merges components that touch across tiles into regions, counts regions.
//   3. sum_areas()         sums the regions' areas, if a filter needs them.
//   4. number_first_pixels()     numbers the regions in raster order
//   (gpu/cclabel/first_pixels.hpp).
//   5. measure_regions()   sums the records of the regions, if the frame has a table.
//   6. write_labels(), write_mask(), write_colors() write the outputs.
// With fill-holes, rank_background_voxels() and passes 1 to 3 label the background first, and
// fill_ranks() turns its small regions into foreground.
//
// Data structure. A row is stored as words of 32 bits, one bit per voxel. Two rows (y) form a band;
// with 18- and 26-connectivity, two rows of two slices (y, z). All set voxels of a band that share
// a column are connected, with every connectivity. A node is a maximal set of columns of one word
// of a band in which each column is linked to the next. Nodes are numbered within a tile and class.
//
//         one word, 32 voxels along x
//        |<--------------------->|
//     y  |. # # # . . # # . . # .|  row 2b       A band of 6-connected voxels and its
//   y+1  |. . # . . . . # # . . .|  row 2b + 1   3 nodes: columns 1 to 3, 6 to 8, and 10.
//         ^---1---^   ^-2-^   ^3
//
// A tile is one word wide, 16 rows high and 16 slices deep; a tile of a picture is 256 rows high.
// Tiles are ordered by x, then y, then z. Class 0 is foreground, class 1 is background.
//
// Rows are counted through all slices and layers, as in the output, where slices are stacked on top
// of each other. The id of a voxel is its index in raster order, with rows padded to whole words. A
// component of a tile is identified by the id of its first voxel in the tile. A region is
// identified by the smallest id of its components, which is the id of the region's first voxel.
// Components of a tile also have a number, in any order, which fits into 16 bits. Most nodes need
// only this number. It is the index of the component's entry in the forest (component_forest.hpp),
// counted from the tile's first entry: each tile has as many entries as it can have nodes.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/cclabel/volume/component_forest.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volume {

using cclabel::BandRows, cclabel::FirstPixelBitmap, cclabel::Levels, cclabel::Records,
    cclabel::LabelInput;
using cclabel::VoxelRows, cclabel::kMaxLayers;

inline constexpr int kBandRows = 2;
// Number of slices of a band.
REGIONS_HD constexpr int slices_of_band(Connectivity c) {
  return c == Connectivity::eighteen || c == Connectivity::twenty_six ? 2 : 1;
}
// Maximum number of nodes of a word. With 26-connectivity, adjacent columns are always linked, so
// that at most every second column begins a node.
REGIONS_HD constexpr int max_nodes_of_word(Connectivity c) {
  return c == Connectivity::twenty_six ? 16 : 32;
}

// A tile is one word (32 voxels) wide, `rows` high and `slices` deep. One block of `threads`
// threads labels it.
template <int rows_, int slices_, int threads_ = 256, int min_blocks_ = 1536 / threads_>
struct TileShape {
  static constexpr int rows = rows_;
  static constexpr int slices = slices_;
  static constexpr int words = rows * slices;
  static constexpr int threads = threads_;
  // Resident blocks per multiprocessor, for __launch_bounds__. 5 blocks leave more registers per
  // thread, but cost 1% to 3% on volumes with many nodes.
  static constexpr int min_blocks = min_blocks_;
};
using CubeTile = TileShape<16, 16>;  // tiles of volumes
using FlatTile = TileShape<256, 1>;  // tiles of pictures

// The nodes of one word of a band.
struct alignas(8) WordNodes {
  uint32_t starts;  // bit per column: first columns of nodes
  uint32_t first;   // number of the word's first node, counted through all tiles and classes
};

// Counts of one class of a tile.
struct alignas(4) TileCounts {
  uint16_t nodes, components;
};

// One volume in flight: its geometry and its arrays in device memory. Copied to kernels by value.
struct Volume {
  VolumeLayout layout;  // width, height, slices; one layer per threshold
  int words;            // words per row
  Divisor row_word_divisor;
  int classes;  // 2: background has regions too
  Connectivity connectivity;
  int band_slices;
  int bands_y, bands_z;        // numbers of bands of a volume
  int tile_rows, tile_slices;  // size of a tile
  int tiles_y, tiles_z;        // numbers of tiles of a volume; along x there are `words` tiles

  // False if components may stay several links away from their root. That suffices for writing
  // labels, and saves flatten_kernel().
  bool needs_flat_forest = true;

  // Words of rows are stored at word_index(), words of bands at band_word_index().
  uint32_t* bits;              // [layer][z][y][words] foreground
  WordNodes* nodes;            // [class][layer][bands_z][bands_y][words] of bands
  uint16_t* component;         // [layer][tile][class][max_tile_nodes()] of each node
  ForestEntry* forest;         // [layer][tile][class][max_tile_nodes()] by component number
  TileCounts* counts;          // [layer][tile][class]
  uint32_t* area;              // [id] voxels of regions, if a filter needs them
  uint32_t* component_firsts;  // [layer][z][y][words] bits: first voxels of components
  uint32_t* region_firsts;     // [layer][z][y][words] bits: first voxels of regions
  uint32_t* regions_before;    // [layer][z][y][words] regions whose first voxel precedes the word
  uint32_t* region_counts;     // [block_count()] regions that start in kWordsPerCount words
  uint32_t* total;             // [2] number of regions, and of regions that have a label

  // Number of blocks of kWordsPerCount words, and of all words of rows.
  REGIONS_HD uint32_t block_count() const {
    return (all_words() + FirstPixelBitmap::kWordsPerCount - 1) / FirstPixelBitmap::kWordsPerCount;
  }
  REGIONS_HD uint32_t all_words() const { return static_cast<uint32_t>(layout.rows() * words); }
  FirstPixelBitmap regions() const {
    const auto words_per_row = static_cast<uint32_t>(words);
    return {.volume_layout = layout,
            .words_per_row = words_per_row,
            .pitch = words_per_row * 32,
            .words = all_words(),
            .bits = region_firsts,
            .regions_before = regions_before,
            .region_counts = region_counts,
            .area = area,
            .total = total};
  }
  // Number of tiles of one layer, and of all layers.
  REGIONS_HD uint32_t tiles() const { return static_cast<uint32_t>(words * tiles_y * tiles_z); }
  uint32_t all_tiles() const { return tiles() * static_cast<uint32_t>(layout.layers); }
  // The id of bit `bit` of word w of a row.
  REGIONS_HD uint32_t id_of(int layer, int w, int y, int z, int bit) const {
    const int row = layout.row({y, z, layer});
    return (static_cast<uint32_t>(row) * static_cast<uint32_t>(words) + static_cast<uint32_t>(w)) *
               32 +
           static_cast<uint32_t>(bit);
  }
  // The index in memory of word w of a row.
  REGIONS_HD uint32_t word_index(int row, int w) const {
    return VoxelRows::index(static_cast<uint32_t>(row), static_cast<uint32_t>(w),
                            static_cast<uint32_t>(words));
  }
  // The index in memory of a word that is given by its index in raster order (id / 32).
  REGIONS_HD uint32_t index_of_raster_word(uint32_t word) const {
    const uint32_t row = row_word_divisor.divide(word),
                   words_per_row = static_cast<uint32_t>(words);
    return VoxelRows::index(row, word - row * words_per_row, words_per_row);
  }
  // Maximum numbers of bands and nodes of one tile and class. The number of nodes is a power of 2.
  REGIONS_HD int max_tile_bands() const {
    return tile_rows / kBandRows * ((tile_slices + band_slices - 1) / band_slices);
  }
  REGIONS_HD int max_tile_nodes() const {
    return max_tile_bands() * max_nodes_of_word(connectivity);
  }
};

// Returns `volume` with the geometry (words, bands, tiles) of this layout and connectivity. Keeps
// classes and arrays.
Volume with_geometry(Volume volume, const VolumeLayout& layout, Connectivity connectivity);

// Filling holes of several thresholds at once. Instead of a picture, each voxel's rank is labelled:
// the number of thresholds at which the voxel is foreground, lowest first; for background, the
// number of thresholds at which it is not. Filling keeps this monotonic: a voxel that is filled at
// a threshold is also foreground at all lower thresholds. One rank therefore describes all of them.
struct ThresholdRanks {
  int count = 0;             // number of different levels
  int level[kMaxLayers];     // the different levels, ascending
  int of_layer[kMaxLayers];  // 1..count; foreground voxels of the layer have at least this rank

  ThresholdRanks(const Levels& levels, int layers);
  // The level of each layer for labelling an image of ranks of foreground, or of background.
  Levels foreground(int layers) const;
  Levels background(int layers) const;
};

// Every function below enqueues its kernels on `stream` and returns. Errors of a launch are thrown.

// Writes the background rank of each voxel of `input` to `voxels` ([volume rows][words * 32]).
void rank_background_voxels(const LabelInput& input, const ThresholdRanks& ranks,
                            const Image<uint8_t>& voxels, cudaStream_t stream);
// Turns background ranks into foreground ranks, in place. Regions of the background that have at
// most `max_area` voxels and do not touch a side of the volume become foreground. `background` must
// be labelled, with areas; its areas are overwritten.
void fill_ranks(const Volume& background, const ThresholdRanks& ranks, uint32_t max_area,
                const Image<uint8_t>& voxels, cudaStream_t stream);

// Thresholds `input` once per layer, and finds the components of every tile. Writes all arrays
// except `area`, `regions_before` and `total`.
void label_tiles(const LabelInput& input, const Levels& levels, const Volume& volume,
                 cudaStream_t stream);
// Merges components of adjacent tiles into regions, and counts the regions of each block of words.
// Links every component directly to its root if the volume needs a flat forest.
void merge_tiles(const Volume& volume, cudaStream_t stream);
// Writes the area of each region. Needs a flat forest.
void sum_areas(const Volume& volume, cudaStream_t stream);
// Adds the voxels of `frame` to the records, which must be initialised. Needs a flat forest.
void measure_regions(const Volume& volume, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);
// Write, for each voxel, its label (at most `limit`), a mask, or the colour of its region.
void write_labels(const Volume& volume, LabelMap labels, cudaStream_t stream);
void write_labels(const Volume& volume, const Frame& out, uint32_t limit, cudaStream_t stream);
void write_mask(const Volume& volume, const Frame& out, cudaStream_t stream);
void write_colors(const Volume& volume, const Frame& out, cudaStream_t stream);

#ifdef __CUDACC__

// Mask of the bits of word w of a row that are inside the volume.
__device__ inline uint32_t valid_bits(const Volume& v, int w) {
  const int rest = v.layout.slice.width - w * 32;
  return rest >= 32 ? 0xffffffffu : bits_below(rest);
}

// The number of the node that contains column `b` of a band's word.
__device__ inline uint32_t node_of(const WordNodes& word, int b) {
  return word.first + static_cast<uint32_t>(__popc(word.starts & bits_up_to(b))) - 1;
}

// The run of set bits that begins at bit b.
__device__ inline uint32_t run_from(uint32_t bits, int b) {
  const uint32_t gaps = ~bits & ~bits_up_to(b);
  return bits & ~bits_below(b) & (gaps ? (gaps & (0u - gaps)) - 1 : 0xffffffffu);
}

// The index in `nodes` of word w of the band that contains row (y, z).
__device__ inline uint32_t band_word_index(const Volume& v, int voxel_class, int layer, int w,
                                           int y, int z) {
  const int slab = (voxel_class * v.layout.layers + layer) * v.bands_z + (z >> (v.band_slices - 1));
  return BandRows::index(static_cast<uint32_t>(slab * v.bands_y + y / kBandRows),
                         static_cast<uint32_t>(w), static_cast<uint32_t>(v.words));
}

// The index in the forest of the component of a node. A tile and class has max_tile_nodes() nodes
// and as many entries, so that the upper bits of both indices are equal.
__device__ inline uint32_t entry_index_of_node(const Volume& v, uint32_t node) {
  return (node & ~(static_cast<uint32_t>(v.max_tile_nodes()) - 1)) + v.component[node];
}

// The label of the region with this id; 0 if the region was filtered out or the id is not a
// region's.
__device__ inline uint32_t label_of_region(const Volume& v, uint32_t id) {
  return cclabel::label_at_first_pixel(v.region_firsts, v.regions_before,
                                       v.index_of_raster_word(id / 32), id);
}

// The id of the region of a node. Needs a flat forest.
__device__ inline uint32_t region_of_node(const Volume& v, uint32_t node) {
  return id_of_entry(v.forest[entry_index_of_node(v, node)]);
}

// The index in `counts` of a class of a tile. Times max_tile_nodes(): the number of its first node.
__device__ inline uint32_t tile_class_index(const Volume& v, uint32_t tile, int voxel_class) {
  return tile * static_cast<uint32_t>(v.classes) + static_cast<uint32_t>(voxel_class);
}

// A grid with one block per tile, layer, and class below `classes`.
inline dim3 tile_grid(const Volume& v, int classes = 1) {
  return dim3(static_cast<unsigned>(v.words), static_cast<unsigned>(v.tiles_y),
              static_cast<unsigned>(v.tiles_z * v.layout.layers * classes));
}

// The position of the block's tile: its first word, row and slice, its layer and its class.
struct TilePosition {
  int w, y, z, layer, voxel_class;
  uint32_t index;  // number of the tile, counted through all layers
  __device__ explicit TilePosition(const Volume& v) {
    // There is usually one volume only. Then no division is needed.
    const auto row = static_cast<int>(blockIdx.z);
    const int volume = row < v.tiles_z ? 0 : row / v.tiles_z;
    const int tile_z = row - volume * v.tiles_z;
    voxel_class = volume < v.layout.layers ? 0 : volume / v.layout.layers;
    layer = volume - voxel_class * v.layout.layers;
    w = static_cast<int>(blockIdx.x);
    y = static_cast<int>(blockIdx.y) * v.tile_rows;
    z = tile_z * v.tile_slices;
    index =
        ((static_cast<uint32_t>(layer * v.tiles_z + tile_z)) * gridDim.y + blockIdx.y) * gridDim.x +
        blockIdx.x;
  }
};

// The words of a band's rows: the two rows of its first slice, then of its second; 0 if absent.
struct BandWords {
  uint32_t row[4] = {};

  __device__ uint32_t columns() const { return row[0] | row[1] | row[2] | row[3]; }
  // The columns that are linked to the column to their left, whose voxels are in `left` at the same
  // bit.
  __device__ uint32_t linked_to(const BandWords& left, Connectivity connectivity) const {
    const uint32_t(&l)[4] = left.row;
    switch (connectivity) {
      case Connectivity::four:
      case Connectivity::six:
        return (row[0] & l[0]) | (row[1] & l[1]);
      case Connectivity::eight:
      case Connectivity::eighteen:  // not to the diagonally opposite row
        return (row[0] & (l[0] | l[1] | l[2])) | (row[1] & (l[0] | l[1] | l[3])) |
               (row[2] & (l[0] | l[2] | l[3])) | (row[3] & (l[1] | l[2] | l[3]));
      default:
        return columns() & left.columns();
    }
  }
  // The first columns of the nodes of these words.
  __device__ uint32_t starts(Connectivity connectivity) const {
    return columns() &
           ~linked_to({{row[0] << 1, row[1] << 1, row[2] << 1, row[3] << 1}}, connectivity);
  }
};

// Word w of a row, and the nodes of the band's word that contains it, for each class.
struct RowWord {
  int row, w;
  uint32_t index;  // word_index()
  VolumeLayout::Position position;
  uint32_t bits;       // foreground
  WordNodes nodes[2];  // [class]

  __device__ RowWord(const Volume& v, uint32_t word)
      : RowWord(v, static_cast<int>(word / static_cast<uint32_t>(v.words)),
                static_cast<int>(word % static_cast<uint32_t>(v.words))) {}
  __device__ RowWord(const Volume& v, int row_, int w_)
      : row(row_),
        w(w_),
        index(v.word_index(row, w)),
        position(position_in(v.layout, row)),
        bits(v.bits[index]) {
    for (int c = 0; c < v.classes; ++c) {
      nodes[c] = v.nodes[band_word_index(v, c, position.layer, w, position.y, position.z)];
    }
  }
  // The voxels of a class.
  __device__ uint32_t class_bits(const Volume& v, int c) const {
    return c == 0 ? bits : ~bits & valid_bits(v, w);
  }
  __device__ uint32_t node_at(int c, int b) const { return node_of(nodes[c], b); }

 private:
  __device__ static VolumeLayout::Position position_in(const VolumeLayout& volume_layout, int row) {
    return volume_layout.position(row);
  }
};

#endif

}  // namespace regions::volume
