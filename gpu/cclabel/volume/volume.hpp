// Overview of labelling volumes on CUDA: the passes, and the buffers through which they exchange
// data (VolumeArrays). The method is union-find over nodes, which are groups of adjacent columns.
// Images with several thresholds or with background regions are labelled as volumes of one slice.
// Each threshold is a layer. The tiles of all layers are blocks of the same launches.
//
// CudaVolumeLabeller::enqueue() (volume_labeller.cpp) calls the passes in this order. All buffers
// are members of VolumeArrays.
//
//   1. label_tiles() (label_volume_tiles.cu) thresholds each tile, and finds its nodes and
//      components in shared memory.
//        reads:  the image
//        writes: bits, nodes, component_of_node, forest, counts, component_starts, region_starts;
//                clears region_counts
//   2. merge_tiles() (merge_volume_tiles.cu) merges components that touch across tiles into
//      regions, and counts the regions. A second kernel then links each component to its root, if
//      records or filters need it (needs_flat_forest).
//        reads:  bits, nodes, component_of_node, forest, component_starts, region_starts
//        writes: forest, region_starts, region_counts
//   3. filter_and_number_regions() (first_pixels.hpp) calls sum_areas() (measure_volume.cu) and the
//      filters, if a filter is set, and number_first_pixels().
//        reads:  bits, nodes, component_of_node, forest, region_starts, region_counts
//        writes: area, region_starts, region_counts, regions_before, total; initializes Records
//   4. measure_regions() (measure_volume.cu) sums the records, if the frame has a table.
//        reads:  the image, bits, nodes, component_of_node, forest, region_starts, regions_before
//        writes: Records
//   5. publish_table() (cclabel/write.cu) copies the table to the host.
//        reads:  total, Records
//        writes: RegionTable, in pinned host memory
//   6. write_labels(), write_mask(), write_colors() (write_volume_labels.cu) write the outputs.
//        reads:  bits, nodes, component_of_node, forest, counts, region_starts, regions_before
//        writes: the label map, the output picture
//
// With fill-holes (fill_volume_holes.cu), rank_background_voxels() first writes an image of ranks.
// Passes 1 and 2 and sum_areas() label its background. fill_ranks() turns small background regions
// into foreground. Pass 1 then reads this image instead of the input.
//
// Data structure. A row is stored as words of 32 bits, one bit per voxel. A band consists of two
// rows (y); with 18- and 26-connectivity, of two rows in each of two slices (y, z). All set voxels
// of a band that are in the same column are connected, with every connectivity. A node is a maximal
// set of columns of one word of a band in which each column is linked to the next. The nodes of a
// tile are numbered, separately for foreground and background.
//
//         one word, 32 voxels along x
//        |<--------------------->|
//     y  |. # # # . . # # . . # .|  row 2b       A band of 6-connected voxels and its
//   y+1  |. . # . . . . # # . . .|  row 2b + 1   3 nodes: columns 1 to 3, 6 to 8, and 10.
//         ^---1---^   ^-2-^   ^3
//
// A tile is one word wide, 16 rows high and 16 slices deep; a tile of an image is 256 rows high.
// Tiles are ordered by x, then y, then z. Each voxel has a class: 0 is foreground, 1 is background.
//
// Rows are counted through all slices and layers, as in the output, where slices are stacked below
// each other. The id of a voxel is its index in raster order, with rows padded to whole words. A
// component of a tile is identified by the id of its first voxel in the tile. A region is
// identified by the smallest id of its components, which is the id of the region's first voxel.
//
// The components of a tile are also numbered, in arbitrary order. These numbers fit into 16 bits.
// Each node stores the number of its component. The number plus the index of the tile's first entry
// is the index of the component's entry in the forest (ForestEntry). Each tile has as many
// entries as it can have nodes.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volume {

using cclabel::BandRows, cclabel::FirstPixelBitmap, cclabel::ThresholdLevels, cclabel::Records,
    cclabel::LabelInput;
using cclabel::VoxelRows, cclabel::kMaxLayers;

inline constexpr int kBandRows = 2;  // number of rows of a band in each slice
// Returns the number of slices of a band.
REGIONS_HD constexpr int slices_of_band(Connectivity c) {
  return c == Connectivity::eighteen || c == Connectivity::twenty_six ? 2 : 1;
}
// Returns the maximum number of nodes of a word. With 26-connectivity, adjacent columns are always
// linked, so at most every second column begins a node.
REGIONS_HD constexpr int max_nodes_of_word(Connectivity c) {
  return c == Connectivity::twenty_six ? 16 : 32;
}

// The size of a tile: one word (32 voxels) wide, `rows` rows high and `slices` slices deep. A
// thread block of `threads` threads labels it.
template <int rows_, int slices_, int threads_ = 256, int min_blocks_ = 1536 / threads_>
struct VolumeTileShape {
  static constexpr int rows = rows_;
  static constexpr int slices = slices_;
  static constexpr int words = rows * slices;
  static constexpr int threads = threads_;
  // Resident blocks per multiprocessor, for __launch_bounds__. 5 blocks would leave more registers
  // per thread, but are 1% to 3% slower for volumes with many nodes.
  static constexpr int min_blocks = min_blocks_;
};
using VolumeTile = VolumeTileShape<16, 16>;  // tiles of volumes
using FlatTile = VolumeTileShape<256, 1>;    // tiles of images

// An entry of the forest of union-find that merges components of tiles into regions: the id of the
// parent's first voxel in the upper 32 bits, and the index of the parent's entry in the lower 32
// bits. Comparing two entries compares their ids, so that the smaller id becomes the parent.
// Entries of neighbours are close in memory. Each step towards the root costs one read, and a
// thread that has found a root also has the id of the region's first voxel. The entry of a root is
// its own.
using ForestEntry = unsigned long long;

// The nodes of one word of a band.
struct alignas(8) WordNodes {
  uint32_t starts;  // one bit per column: first columns of nodes
  uint32_t first;   // index of the word's first node among the nodes of all tiles and classes
};

// Numbers of nodes and components of one class in a tile.
struct alignas(4) TileClassCounts {
  uint16_t nodes, components;
};

// The sizes of one in-flight volume and its buffers in device memory. Copied to kernels by value.
struct VolumeArrays {
  VolumeLayout layout;       // width, height, slices; one layer per threshold
  int words;                 // number of words per row
  Divisor row_word_divisor;  // divides by `words`
  int classes;               // 1: only foreground is labelled; 2: background is labelled too
  Connectivity connectivity;
  int band_slices;             // number of slices of a band
  int bands_y, bands_z;        // number of bands of the volume along y and z
  int tile_rows, tile_slices;  // size of a tile in rows and slices
  int tiles_y, tiles_z;        // number of tiles along y and z; along x there are `words` tiles

  // True if merge_tiles() must link each component directly to its root. False saves
  // flatten_kernel(), and suffices if only labels are written.
  bool needs_flat_forest = true;

  // word_index() returns the index of a word of a row, band_word_index() the index of a word of a
  // band.
  uint32_t* bits;               // [layer][z][y][words] bits: foreground
  WordNodes* nodes;             // [class][layer][bands_z][bands_y][words] nodes of each word
  uint16_t* component_of_node;  // [layer][tile][class][max_tile_nodes()] by node: component number
  ForestEntry* forest;          // [layer][tile][class][max_tile_nodes()] by component number
  TileClassCounts* counts;      // [layer][tile][class] numbers of nodes and components
  uint32_t* area;               // [id] number of voxels of each region, for filters
  uint32_t* component_starts;   // [layer][z][y][words] bits: first voxels of components
  uint32_t* region_starts;      // [layer][z][y][words] bits: first voxels of regions
  uint32_t* regions_before;     // [layer][z][y][words] labelled regions that start in earlier words
  uint32_t* region_counts;      // [word_groups()] number of regions per group of words
  uint32_t* total;              // [2] number of regions, and of regions that have a label

  // Number of groups of kWordsPerCount words.
  REGIONS_HD uint32_t word_groups() const {
    return (all_words() + FirstPixelBitmap::kWordsPerCount - 1) / FirstPixelBitmap::kWordsPerCount;
  }
  // Number of words of all rows.
  REGIONS_HD uint32_t all_words() const { return static_cast<uint32_t>(layout.rows() * words); }
  FirstPixelBitmap regions() const {
    const auto words_per_row = static_cast<uint32_t>(words);
    return {.volume_layout = layout,
            .words_per_row = words_per_row,
            .pitch = words_per_row * 32,
            .words = all_words(),
            .region_starts = region_starts,
            .regions_before = regions_before,
            .region_counts = region_counts,
            .area = area,
            .total = total};
  }
  // tiles() returns the number of tiles of one layer, all_tiles() of all layers.
  REGIONS_HD uint32_t tiles() const { return static_cast<uint32_t>(words * tiles_y * tiles_z); }
  uint32_t all_tiles() const { return tiles() * static_cast<uint32_t>(layout.layers); }
  // Returns the id of the voxel at bit `bit` of word w of a row.
  REGIONS_HD uint32_t id_of(int layer, int w, int y, int z, int bit) const {
    const int row = layout.row({y, z, layer});
    return (static_cast<uint32_t>(row) * static_cast<uint32_t>(words) + static_cast<uint32_t>(w)) *
               32 +
           static_cast<uint32_t>(bit);
  }
  // Returns the memory index of word w of a row.
  REGIONS_HD uint32_t word_index(int row, int w) const {
    return VoxelRows::index(static_cast<uint32_t>(row), static_cast<uint32_t>(w),
                            static_cast<uint32_t>(words));
  }
  // Returns the memory index of a word, from its index in raster order (id / 32).
  REGIONS_HD uint32_t index_of_raster_word(uint32_t word) const {
    const uint32_t row = row_word_divisor.divide(word),
                   words_per_row = static_cast<uint32_t>(words);
    return VoxelRows::index(row, word - row * words_per_row, words_per_row);
  }
  // Maximum numbers of bands and nodes of a tile, per class. The maximum number of nodes is a power
  // of 2.
  REGIONS_HD int max_tile_bands() const {
    return tile_rows / kBandRows * ((tile_slices + band_slices - 1) / band_slices);
  }
  REGIONS_HD int max_tile_nodes() const {
    return max_tile_bands() * max_nodes_of_word(connectivity);
  }
};

// Implemented in label_volume_tiles.cu. Returns a copy of `volume` with the sizes (words, bands,
// tiles) for this layout and connectivity. Does not change `classes` and the buffers.
VolumeArrays with_geometry(VolumeArrays volume, const VolumeLayout& layout,
                           Connectivity connectivity);

// The ranks by which holes are filled at several thresholds at once. The foreground rank of a voxel
// is the number of thresholds at which the voxel is foreground. Its background rank is the number
// of thresholds at which it is background. An image of ranks is labelled instead of the input. A
// voxel that is filled at one threshold is also foreground at all lower thresholds, so one rank
// describes the voxel at all thresholds.
struct ThresholdRanks {
  int count = 0;             // number of distinct levels
  int level[kMaxLayers];     // [count] distinct levels, ascending
  int of_layer[kMaxLayers];  // [layers] minimum rank of the layer's foreground, 1..count

  ThresholdRanks(const ThresholdLevels& thresholds, int layers);
  // The level of each layer for labelling an image of foreground ranks, or of background ranks.
  ThresholdLevels foreground(int layers) const;
  ThresholdLevels background(int layers) const;
};

// Every function below enqueues its kernels on `stream` and returns. Errors of a launch are thrown.

// Writes the background rank of each voxel of `input` to `voxels` ([volume rows][words * 32]).
void rank_background_voxels(const LabelInput& input, const ThresholdRanks& ranks,
                            const Image<uint8_t>& voxels, cudaStream_t stream);
// Turns background ranks into foreground ranks, in place. Background regions that have at most
// `max_hole_area` voxels and touch no side of the volume become foreground. label_tiles(),
// merge_tiles() and sum_areas() must have run on `background`. Overwrites its areas.
void fill_ranks(const VolumeArrays& background, const ThresholdRanks& ranks, uint32_t max_hole_area,
                const Image<uint8_t>& voxels, cudaStream_t stream);

// Thresholds `input` once per layer, and finds the components of each tile. Writes all buffers
// except `area`, `regions_before` and `total`.
void label_tiles(const LabelInput& input, const ThresholdLevels& thresholds,
                 const VolumeArrays& volume, cudaStream_t stream);
// Merges components of adjacent tiles into regions, and counts the regions of each group of words.
// Links every component directly to its root if the volume needs a flat forest.
void merge_tiles(const VolumeArrays& volume, cudaStream_t stream);
// Writes the area of each region. Requires needs_flat_forest.
void sum_areas(const VolumeArrays& volume, cudaStream_t stream);
// Adds the voxels of `frame` to the records. number_first_pixels() must have initialized the
// records. Requires needs_flat_forest.
void measure_regions(const VolumeArrays& volume, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream);
// Write the outputs: for each voxel its label (at most `limit`), a mask, or the colour of its
// region.
void write_labels(const VolumeArrays& volume, LabelMap labels, cudaStream_t stream);
void write_labels(const VolumeArrays& volume, const Frame& out, uint32_t limit,
                  cudaStream_t stream);
void write_mask(const VolumeArrays& volume, const Frame& out, cudaStream_t stream);
void write_colors(const VolumeArrays& volume, const Frame& out, cudaStream_t stream);

#ifdef __CUDACC__

__device__ inline ForestEntry make_entry(uint32_t id, uint32_t index) {
  return static_cast<ForestEntry>(id) << 32 | index;
}
__device__ inline uint32_t id_of_entry(ForestEntry entry) {
  return static_cast<uint32_t>(entry >> 32);
}
__device__ inline uint32_t index_of_entry(ForestEntry entry) {
  return static_cast<uint32_t>(entry);
}
inline constexpr ForestEntry kNoEntry = ~0ull;

// Returns a mask of the bits of word w of a row that are inside the volume.
__device__ inline uint32_t valid_bits(const VolumeArrays& v, int w) {
  const int columns = v.layout.slice.width - w * 32;
  return columns >= 32 ? 0xffffffffu : bits_below(columns);
}

// Returns the index of the node that contains column `b` of a word of a band.
__device__ inline uint32_t node_of(const WordNodes& word, int b) {
  return word.first + static_cast<uint32_t>(__popc(word.starts & bits_up_to(b))) - 1;
}

// Returns a mask of the run of set bits that begins at bit b.
__device__ inline uint32_t run_from(uint32_t bits, int b) {
  const uint32_t gaps = ~bits & ~bits_up_to(b);
  return bits & ~bits_below(b) & (gaps ? (gaps & (0u - gaps)) - 1 : 0xffffffffu);
}

// Returns the index in `nodes` of word w of the band that contains row (y, z).
__device__ inline uint32_t band_word_index(const VolumeArrays& v, int voxel_class, int layer, int w,
                                           int y, int z) {
  // A slab contains the bands with the same z, of one layer and class.
  const int slab = (voxel_class * v.layout.layers + layer) * v.bands_z + (z >> (v.band_slices - 1));
  return BandRows::index(static_cast<uint32_t>(slab * v.bands_y + y / kBandRows),
                         static_cast<uint32_t>(w), static_cast<uint32_t>(v.words));
}

// Returns the index in `forest` of the component of a node. A tile has room for max_tile_nodes()
// nodes and as many entries for each class of voxels. This number is a power of 2, so the indices
// of a node and of its component's entry differ only in the lower bits.
__device__ inline uint32_t entry_index_of_node(const VolumeArrays& v, uint32_t node) {
  return (node & ~(static_cast<uint32_t>(v.max_tile_nodes()) - 1)) + v.component_of_node[node];
}

// Returns the label of the region with this id; 0 if a filter removed the region or the id belongs
// to no region.
__device__ inline uint32_t label_of_region(const VolumeArrays& v, uint32_t id) {
  return cclabel::label_at_first_pixel(v.region_starts, v.regions_before,
                                       v.index_of_raster_word(id / 32), id);
}

// Returns the id of the region of a node. Requires a flat forest.
__device__ inline uint32_t region_of_node(const VolumeArrays& v, uint32_t node) {
  return id_of_entry(v.forest[entry_index_of_node(v, node)]);
}

// Returns the index in `counts` of a class of a tile. This index * max_tile_nodes() is the index of
// the class's first node.
__device__ inline uint32_t tile_class_index(const VolumeArrays& v, uint32_t tile, int voxel_class) {
  return tile * static_cast<uint32_t>(v.classes) + static_cast<uint32_t>(voxel_class);
}

// Returns a grid with one block per tile, layer and class; the classes are 0..classes - 1.
inline dim3 tile_grid(const VolumeArrays& v, int classes = 1) {
  return dim3(static_cast<unsigned>(v.words), static_cast<unsigned>(v.tiles_y),
              static_cast<unsigned>(v.tiles_z * v.layout.layers * classes));
}

// The position of the block's tile: its first word, row and slice, its layer and its class.
struct VolumeTilePosition {
  int w, y, z, layer, voxel_class;
  uint32_t index;  // index of the tile, counted through all layers
  __device__ explicit VolumeTilePosition(const VolumeArrays& v) {
    // Usually there is only one layer and class. Then no division is needed.
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

// One word of each row of a band: the two rows of its first slice, then the two rows of its second
// slice (0 if absent).
struct BandWords {
  uint32_t row[4] = {};

  __device__ uint32_t columns() const { return row[0] | row[1] | row[2] | row[3]; }
  // Returns the columns that are linked to the column to their left. Bit b of `left` is the voxel
  // to the left of the voxel at bit b of this object.
  __device__ uint32_t linked_to(const BandWords& left, Connectivity connectivity) const {
    const uint32_t(&l)[4] = left.row;
    switch (connectivity) {
      case Connectivity::four:
      case Connectivity::six:
        return (row[0] & l[0]) | (row[1] & l[1]);
      case Connectivity::eight:
      // In adjacent columns, rows 0 and 3, and rows 1 and 2, share only a corner.
      case Connectivity::eighteen:
        return (row[0] & (l[0] | l[1] | l[2])) | (row[1] & (l[0] | l[1] | l[3])) |
               (row[2] & (l[0] | l[2] | l[3])) | (row[3] & (l[1] | l[2] | l[3]));
      default:
        return columns() & left.columns();
    }
  }
  // Returns the first columns of the nodes of these words.
  __device__ uint32_t starts(Connectivity connectivity) const {
    return columns() &
           ~linked_to({{row[0] << 1, row[1] << 1, row[2] << 1, row[3] << 1}}, connectivity);
  }
};

// Word w of a row. For each class, also the nodes of the same word of the band that contains the
// row.
struct RowWord {
  int row, w;
  uint32_t index;  // memory index, from word_index()
  VolumeLayout::Position position;
  uint32_t bits;       // foreground, one bit per voxel
  WordNodes nodes[2];  // [class] nodes of the word of the band

  __device__ RowWord(const VolumeArrays& v, uint32_t word)
      : RowWord(v, static_cast<int>(word / static_cast<uint32_t>(v.words)),
                static_cast<int>(word % static_cast<uint32_t>(v.words))) {}
  __device__ RowWord(const VolumeArrays& v, int row_, int w_)
      : row(row_),
        w(w_),
        index(v.word_index(row, w)),
        position(position_in(v.layout, row)),
        bits(v.bits[index]) {
    for (int c = 0; c < v.classes; ++c) {
      nodes[c] = v.nodes[band_word_index(v, c, position.layer, w, position.y, position.z)];
    }
  }
  // Returns the voxels of a class, one bit per voxel.
  __device__ uint32_t class_bits(const VolumeArrays& v, int c) const {
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
