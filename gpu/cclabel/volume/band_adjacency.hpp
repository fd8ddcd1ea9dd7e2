// SharedTile, a tile in shared memory, and NodeAdjacency, which finds the nodes of a band that are
// adjacent to nodes of an earlier band. Used to find components within a tile, and to merge tiles.
//
// "Earlier" means earlier in raster order: above in the same slice, or in the previous slice.
// Operations on whole words of 32 columns find all pairs of adjacent nodes of two words at once.
// Bands and nodes are explained in volume.hpp.
#pragma once

#include <concepts>

#include "gpu/cclabel/volume/volume.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::volume {

// Capacity of SharedTile::pairs per thread of the block.
inline constexpr int kPairsPerThread = 4;

// Divides a word into segments, which begin at the bits of `begins` and at column 0. Returns the
// last column of each segment that contains a bit of `bits`. Adding ~ends produces a carry from any
// set bit up to the end of its segment, and not further.
__device__ inline uint32_t ends_of_segments(uint32_t bits, uint32_t begins) {
  const uint32_t ends = begins >> 1 | 0x80000000u;
  return (((bits & ~ends) + ~ends) | bits) & ends;
}

// Returns the lowest bit of `bits` in each segment. Segments begin at the bits of `begins`. The
// addition produces a carry from the start of a segment up to its first bit of `bits`, or to the
// end of the segment.
__device__ inline uint32_t first_of_segments(uint32_t bits, uint32_t begins) {
  return ((~bits & ~(begins >> 1)) + begins) & bits;
}

// Which voxels of the compared rows of two bands are connected.
enum class Adjacency : uint8_t {
  same_column,  // voxels of the same column; one row of each band is compared
  diagonal,     // also voxels of adjacent columns; the rows of a band are combined by OR
  crossed,  // two rows of each band: `diagonal` for rows that face each other, else `same_column`
};

// Which rows of a band touch which rows of one earlier band. Positions are relative to the first
// row and slice of the band.
struct BandNeighbour {
  int8_t y, z;              // first row and slice of the band that are compared
  int8_t other_y, other_z;  // first row and slice of the earlier band that are compared
  int8_t rows, slices;      // numbers of compared rows and slices, equal for both bands
  Adjacency adjacency;
  __device__ constexpr bool is_diagonal() const { return adjacency != Adjacency::same_column; }
};

// The four earlier bands to which a band can be adjacent with 18- and 26-connectivity: the band
// above in the same slices, and in the previous slice the band with the same rows, the band above
// it and the band below it. For 6-connectivity, see FaceAdjacency in label_volume_tiles.cu.
template <Connectivity connectivity>
struct BandNeighbours;
template <>
struct BandNeighbours<Connectivity::eighteen> {
  static constexpr int count = 4;
  __device__ static constexpr BandNeighbour of(int k) {
    constexpr BandNeighbour all[] = {{0, 0, -1, 0, 1, 2, Adjacency::crossed},
                                     {0, 0, 0, -1, 2, 1, Adjacency::crossed},
                                     {0, 0, -1, -1, 1, 1, Adjacency::same_column},
                                     {1, 0, 2, -1, 1, 1, Adjacency::same_column}};
    return all[k];
  }
};
template <>
struct BandNeighbours<Connectivity::twenty_six> {
  static constexpr int count = 4;
  __device__ static constexpr BandNeighbour of(int k) {
    constexpr BandNeighbour all[] = {{0, 0, -1, 0, 1, 2, Adjacency::diagonal},
                                     {0, 0, 0, -1, 2, 1, Adjacency::diagonal},
                                     {0, 0, -1, -1, 1, 1, Adjacency::diagonal},
                                     {1, 0, 2, -1, 1, 1, Adjacency::diagonal}};
    return all[k];
  }
};

// Calls use(neighbour) with neighbour number `index`, which must be equal in all lanes of a warp.
// The compiler makes one copy of the call per neighbour, in which `neighbour` is a constant.
template <Connectivity connectivity, int k = 0, class Use>
__device__ void with_neighbour(int index, const Use& use) {
  if constexpr (k < BandNeighbours<connectivity>::count) {
    if (index == k) {
      constexpr BandNeighbour neighbour = BandNeighbours<connectivity>::of(k);
      use(neighbour);
    } else {
      with_neighbour<connectivity, k + 1>(index, use);
    }
  }
}

// Access to rows and bands in shared memory, of a tile (SharedTile) or of a tile with its
// surroundings (HaloTile). Positions are relative to the first word, row and slice of the tile.
//   row(w, y, z)     word w of a row, one bit per voxel; 0 outside the volume
//   word(w, y, z)    index of the word of a band that contains this word of a row
//   starts(word)     bits: first columns of the nodes of this word of a band
//   first_of(word)   index of the first node of this word of a band
template <class S>
concept BandAccess = requires(const S& shared, int i, uint32_t word) {
  { shared.row(i, i, i) } -> std::convertible_to<uint32_t>;
  { shared.word(i, i, i) } -> std::convertible_to<uint32_t>;
  { shared.starts(word) } -> std::convertible_to<uint32_t>;
  { shared.first_of(word) } -> std::convertible_to<uint32_t>;
};

// A word of a band: its index in a BandAccess, its word in the row, and the band's first row and
// slice.
struct BandPosition {
  uint32_t word;
  int w, y, z;
};

// Word w of the one or two rows that a BandNeighbour compares; the second word is 0 if there is
// only one row.
struct RowPair {
  uint32_t row[2];

  template <BandAccess Tile>
  __device__ RowPair(const Tile& shared, const BandNeighbour& neighbour, int w, int y, int z)
      : row{shared.row(w, y, z), neighbour.rows == 2     ? shared.row(w, y + 1, z)
                                 : neighbour.slices == 2 ? shared.row(w, y, z + 1)
                                                         : 0} {}
  __device__ uint32_t columns() const { return row[0] | row[1]; }
};

// Returns the corners of a row's voxels: bit c is set if the corner to the left of column c belongs
// to a set voxel.
__device__ inline uint32_t corners_of(uint32_t row) { return row | row << 1; }

// The pairs of adjacent nodes of one word of a band and of the same word of one earlier band. The
// starts of the nodes of both bands divide the word into segments of columns; within a segment, the
// pair of nodes is the same. If these two nodes are adjacent, `adjacent` has a bit at the last
// column of the segment, even if this column has no voxel. With diagonal adjacency, a bit
// represents the corner to the left of its column instead of the column. The node at a corner is
// then the node of the column to the right of the corner if this column has a voxel, otherwise the
// node of the column to the left. Corner 32 is not needed: voxels that meet there also meet at
// corner 31.
struct NodeAdjacency {
  uint32_t adjacent = 0;
  // Values of the band: columns with voxels in the compared rows, first columns of the nodes, index
  // of the first node.
  uint32_t columns = 0, starts = 0, first = 0;
  // The same three values of the earlier band.
  uint32_t other_columns = 0, other_starts = 0, other_first = 0;

  NodeAdjacency() = default;
  template <BandAccess Tile>
  __device__ NodeAdjacency(const Tile& shared, const BandPosition& band,
                           const BandNeighbour& neighbour) {
    const int y = band.y + neighbour.y, z = band.z + neighbour.z;
    const int other_y = band.y + neighbour.other_y, other_z = band.z + neighbour.other_z;
    const RowPair rows(shared, neighbour, 0, y, z),
        other_rows(shared, neighbour, 0, other_y, other_z);
    columns = rows.columns();
    other_columns = other_rows.columns();
    uint32_t bits, implied = 0;
    switch (neighbour.adjacency) {
      case Adjacency::diagonal:
        bits = corners_of(columns) & corners_of(other_columns);
        break;
      case Adjacency::crossed:
        bits = (corners_of(rows.row[0]) & corners_of(other_rows.row[0])) |
               (corners_of(rows.row[1]) & corners_of(other_rows.row[1])) |
               // Voxels of the same column touch across an edge.
               (rows.row[0] & other_rows.row[1]) | (rows.row[1] & other_rows.row[0]);
        break;
      default:
        bits = columns & other_columns;
    }
    if (neighbour.y != neighbour.other_y && neighbour.z != neighbour.other_z) {
      // The two bands touch only along an edge. If a voxel of a third band is adjacent to a voxel
      // of each band, it already connects these two voxels.
      const uint32_t middle = shared.row(0, other_y, z) | shared.row(0, y, other_z);
      implied = corners_of(middle) | (neighbour.is_diagonal() ? 0 : middle >> 1);
    } else if (neighbour.z != neighbour.other_z) {
      // Four voxels around an edge need only three links. If the rows above are adjacent too, the
      // nodes are already connected through these rows.
      implied = corners_of(rows.row[0]) & corners_of(other_rows.row[0]) &
                corners_of(shared.row(0, y - 1, z)) & corners_of(shared.row(0, y - 1, other_z));
    }
    if (!neighbour.is_diagonal()) bits &= ~implied;
    if (bits == 0) return;
    const uint32_t other = shared.word(0, other_y, other_z);
    starts = shared.starts(band.word);
    first = shared.first_of(band.word);
    other_starts = shared.starts(other);
    other_first = shared.first_of(other);
    if (!neighbour.is_diagonal()) {
      // Here the column of a bit determines both nodes. There are few bits, so only repetitions of
      // a pair in adjacent columns are removed; other repetitions may remain.
      columns = other_columns = ~0u;
      adjacent = bits & ~(bits << 1 & ~(starts | other_starts));
      return;
    }
    const uint32_t begins = begins_of(starts, columns) | begins_of(other_starts, other_columns);
    adjacent = ends_of_segments(bits, begins) & ~ends_of_segments(bits & implied, begins);
  }

  // Removes the first pair of each node of the band, and calls visit(node, node of the earlier
  // band) for it.
  template <class Visit>
  __device__ void pop_first_pairs(const Visit& visit) {
    if (adjacent == 0) return;
    NodeAdjacency firsts = *this;
    firsts.adjacent = first_of_segments(adjacent, begins_of(starts, columns) | 1);
    adjacent &= ~firsts.adjacent;
#pragma unroll 1  // there are few pairs
    while (firsts.adjacent) {
      const uint2 nodes = firsts.pop();
      visit(nodes.x, nodes.y);
    }
  }

  __device__ int count() const { return __popc(adjacent); }

  // Removes a pair and returns its nodes.
  __device__ uint2 pop() {
    const uint32_t remaining = adjacent & (adjacent - 1), bit = adjacent ^ remaining;
    adjacent = remaining;
    // The index of a node follows from the number of nodes that start up to its column.
    const uint32_t before = bit - 1;
    const auto node = [&](uint32_t first_node, uint32_t node_starts, uint32_t row_columns) {
      return first_node +
             static_cast<uint32_t>(__popc(node_starts & (before | (row_columns & bit)))) - 1;
    };
    return {node(first, starts, columns), node(other_first, other_starts, other_columns)};
  }

 private:
  // Returns the first column or corner of each node: the node's first column, or the next column if
  // no compared row has a voxel in the first one.
  __device__ static uint32_t begins_of(uint32_t node_starts, uint32_t row_columns) {
    return (node_starts & row_columns) | (node_starts & ~row_columns) << 1;
  }
};

// The voxels of one class of a tile in shared memory, their nodes, and the union-find forest over
// these nodes. Is a BandAccess with one word per row.
template <class Shape, Connectivity connectivity>
struct SharedTile {
  static constexpr int kBandSlices = slices_of_band(connectivity);
  static constexpr int kBandsY = Shape::rows / kBandRows;
  static constexpr int kBandsZ = (Shape::slices + kBandSlices - 1) / kBandSlices;
  static constexpr int kBands = kBandsY * kBandsZ;
  static constexpr int kNodes = kBands * max_nodes_of_word(connectivity);
  static constexpr int kThreads = Shape::threads;
  static constexpr int kRows = Shape::rows;
  static constexpr int kSlices = Shape::slices;
  static constexpr bool kIsFaceConnected = connectivity == Connectivity::six;
  // Number of threads that share the nodes of a word.
  static constexpr int kThreadsPerWord = Shape::threads / kBands;

  static constexpr int kPitch = Shape::rows + 2;

  // Rows of the tile, with a halo of zeros so that row() needs no bounds check.
  uint32_t bits[(Shape::slices + 2) * kPitch];
  uint32_t node_starts[kBands];             // [band] first columns of nodes
  uint16_t nodes_before[kBands];            // [band] number of nodes in earlier bands of the tile
  uint32_t component_starts[Shape::words];  // bits: first voxels of components
  uint32_t parent[kNodes];                  // [node] parent; in the end, numbered_root() for roots
  // [node] index in the tile of the node's first voxel; in the end, for roots, of the component's
  // first voxel.
  uint16_t first_voxel[kNodes];
  uint32_t warp_sums[Shape::threads / 32];
  uint32_t pair_count, component_count;

  ushort2 pairs[Shape::threads / 32][32 * kPairsPerThread];  // list of pairs of adjacent nodes

  __device__ static BandPosition band_position(int word) {
    return {static_cast<uint32_t>(word), 0, word % kBandsY * kBandRows,
            word / kBandsY * kBandSlices};
  }
  __device__ static int row_index(int y, int z) { return (z + 1) * kPitch + y + 1; }
  // Returns row i of the tile, counted through its slices.
  __device__ uint32_t& tile_row(int i) { return bits[row_index(i % Shape::rows, i / Shape::rows)]; }
  __device__ void clear_halo() {
    for (int y = static_cast<int>(threadIdx.x) - 1; y <= Shape::rows; y += kThreads) {
      bits[row_index(y, -1)] = bits[row_index(y, Shape::slices)] = 0;
    }
    for (int z = static_cast<int>(threadIdx.x); z < Shape::slices; z += kThreads) {
      bits[row_index(-1, z)] = bits[row_index(Shape::rows, z)] = 0;
    }
  }
  __device__ uint32_t row(int, int y, int z) const { return bits[row_index(y, z)]; }
  __device__ static uint32_t word(int, int y, int z) {
    return static_cast<uint32_t>((z >> (kBandSlices - 1)) * kBandsY + (y >> (kBandRows - 1)));
  }
  __device__ uint32_t starts(uint32_t word) const { return node_starts[word]; }
  __device__ uint32_t first_of(uint32_t word) const { return nodes_before[word]; }
  __device__ BandWords band_words(const BandPosition& band) const {
    BandWords words;
    for (int r = 0; r < kBandRows * kBandSlices; ++r) {
      words.row[r] = row(0, band.y + r % kBandRows, band.z + r / kBandRows);
    }
    return words;
  }

  // Returns the first voxel, in raster order of the tile, of the node that has these columns of a
  // band.
  __device__ static uint32_t first_voxel_of(const BandPosition& band, const BandWords& rows,
                                            uint32_t columns) {
    uint32_t first = 0;
    int row_in_band = 0;
#pragma unroll
    for (int r = kBandRows * kBandSlices - 1; r >= 0; --r) {
      const uint32_t here = rows.row[r] & columns;
      if (!here) continue;
      first = here;
      row_in_band = r % kBandRows + r / kBandRows * Shape::rows;
    }
    const int row = band.z * Shape::rows + band.y + row_in_band;
    return static_cast<uint32_t>(row * 32 + __ffs(static_cast<int>(first)) - 1);
  }
};

}  // namespace regions::volume

#endif
