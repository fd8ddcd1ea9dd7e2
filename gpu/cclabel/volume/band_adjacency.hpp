// A tile in shared memory, and which of its nodes are adjacent to nodes of earlier bands. Used
// within a tile and across the borders of tiles.
//
// "Earlier" means before in raster order: in the row above, or in the previous slice. Pairs of
// adjacent nodes are found by operations on whole words of 32 columns.
#pragma once

#include <concepts>

#include "gpu/cclabel/volume/volume.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::volume {

// Capacity of a list of node pairs, per thread of the block.
inline constexpr int kPairsPerThread = 4;

// Returns the last columns of those segments of a word that contain any bit of `bits`. Segments
// begin at the bits of `begins` and at column 0. Adding ~ends produces a carry that runs from any
// set bit up to the end of its segment, and not further.
__device__ inline uint32_t ends_of_segments(uint32_t bits, uint32_t begins) {
  const uint32_t ends = begins >> 1 | 0x80000000u;
  return (((bits & ~ends) + ~ends) | bits) & ends;
}

// Returns the lowest bit of `bits` in each segment. Segments begin at the bits of `begins`. A carry
// runs from the begin of a segment up to its first bit, or to its end.
__device__ inline uint32_t first_of_segments(uint32_t bits, uint32_t begins) {
  return ((~bits & ~(begins >> 1)) + begins) & bits;
}

// How voxels of rows of two bands are connected.
enum class Reach : uint8_t {
  same_column,  // voxels of equal columns, one row of each band
  diagonal,     // also voxels of adjacent columns; the rows of a band are OR-ed
  crossed,      // two rows face two rows: diagonal to the row opposite, same_column to the other
};

// Which rows of a band are adjacent to which rows of one earlier band. Positions are relative to
// the first row and slice of the band.
struct BandNeighbour {
  int8_t y, z;              // first row and slice of the band that are compared
  int8_t other_y, other_z;  // first row and slice of the earlier band that are compared
  int8_t rows, slices;      // numbers of compared rows and slices, equal for both bands
  Reach reach;
  __device__ constexpr bool is_diagonal() const { return reach != Reach::same_column; }
};

// The earlier bands that a band can be adjacent to with 18- and 26-connectivity: above, in the
// previous slice, and across the two edges between them. (6-connectivity: FaceAdjacency in
// label_volume_tiles.cu.)
template <Connectivity connectivity>
struct BandNeighbours;
template <>
struct BandNeighbours<Connectivity::eighteen> {
  static constexpr int count = 4;
  __device__ static constexpr BandNeighbour of(int k) {
    constexpr BandNeighbour all[] = {{0, 0, -1, 0, 1, 2, Reach::crossed},
                                     {0, 0, 0, -1, 2, 1, Reach::crossed},
                                     {0, 0, -1, -1, 1, 1, Reach::same_column},
                                     {1, 0, 2, -1, 1, 1, Reach::same_column}};
    return all[k];
  }
};
template <>
struct BandNeighbours<Connectivity::twenty_six> {
  static constexpr int count = 4;
  __device__ static constexpr BandNeighbour of(int k) {
    constexpr BandNeighbour all[] = {{0, 0, -1, 0, 1, 2, Reach::diagonal},
                                     {0, 0, 0, -1, 2, 1, Reach::diagonal},
                                     {0, 0, -1, -1, 1, 1, Reach::diagonal},
                                     {1, 0, 2, -1, 1, 1, Reach::diagonal}};
    return all[k];
  }
};

// Calls use(neighbour) with neighbour number `index`, which must be equal for all lanes of a warp.
// The call is compiled once per neighbour, with constants.
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

// Rows and bands in shared memory, of a tile alone (SharedTile) or with its surroundings
// (HaloTile). Positions are relative to the first word, row and slice of the tile.
//   row(w, y, z)         word w of a row; 0 outside the volume
//   word(w, y, z)        number of the band's word that contains it
//   starts(word)         first columns of the nodes of a band's word
//   first_of(word)       number of its first node
template <class S>
concept BandAccess = requires(const S& shared, int i, uint32_t word) {
  { shared.row(i, i, i) } -> std::convertible_to<uint32_t>;
  { shared.word(i, i, i) } -> std::convertible_to<uint32_t>;
  { shared.starts(word) } -> std::convertible_to<uint32_t>;
  { shared.first_of(word) } -> std::convertible_to<uint32_t>;
};

// The number of a band's word in a BandAccess, its word in the row, and its first row and slice.
struct BandPosition {
  uint32_t word;
  int w, y, z;
};

// The one or two rows of a BandNeighbour; the second word is 0 if there is one row only.
struct RowPair {
  uint32_t row[2];

  template <BandAccess Tile>
  __device__ RowPair(const Tile& shared, const BandNeighbour& neighbour, int w, int y, int z)
      : row{shared.row(w, y, z), neighbour.rows == 2     ? shared.row(w, y + 1, z)
                                 : neighbour.slices == 2 ? shared.row(w, y, z + 1)
                                                         : 0} {}
  __device__ uint32_t columns() const { return row[0] | row[1]; }
};

// The corners of a row's voxels. Corner c is to the left of column c.
__device__ inline uint32_t corners_of(uint32_t row) { return row | row << 1; }

// The nodes of one word that are adjacent to nodes of one earlier band: one bit per pair of nodes,
// for each run of columns in which the pair does not change. The bit is at the last column of the
// run, including columns without voxels. With a diagonal reach a bit stands for the corner to the
// left of its column; then the node of the column to the right of the corner counts if a row has
// that column, else the node of the column to its left. Corner 32 is not needed: voxels that meet
// there also meet at corner 31.
struct NodeAdjacency {
  uint32_t adjacent = 0;
  // The band: set columns of the compared rows, first columns of nodes, number of the first node.
  uint32_t columns = 0, starts = 0, first = 0;
  // The same numbers for the earlier band.
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
    switch (neighbour.reach) {
      case Reach::diagonal:
        bits = corners_of(columns) & corners_of(other_columns);
        break;
      case Reach::crossed:
        bits = (corners_of(rows.row[0]) & corners_of(other_rows.row[0])) |
               (corners_of(rows.row[1]) & corners_of(other_rows.row[1])) |
               // both nodes have the column to the right of the corner
               (rows.row[0] & other_rows.row[1]) | (rows.row[1] & other_rows.row[0]);
        break;
      default:
        bits = columns & other_columns;
    }
    if (neighbour.y != neighbour.other_y && neighbour.z != neighbour.other_z) {
      // Across an edge: a voxel that is adjacent to both voxels already connects them.
      const uint32_t middle = shared.row(0, other_y, z) | shared.row(0, y, other_z);
      implied = corners_of(middle) | (neighbour.is_diagonal() ? 0 : middle >> 1);
    } else if (neighbour.z != neighbour.other_z) {
      // Four voxels around an edge need three links. Nodes of the previous slice are already
      // connected through the rows above, if those are adjacent.
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
      // Nodes are found by their columns alone. Bits are so few that only repeated pairs of
      // adjacent columns are removed; other repetitions may remain.
      columns = other_columns = ~0u;
      adjacent = bits & ~(bits << 1 & ~(starts | other_starts));
      return;
    }
    const uint32_t begins = begins_of(starts, columns) | begins_of(other_starts, other_columns);
    adjacent = ends_of_segments(bits, begins) & ~ends_of_segments(bits & implied, begins);
  }

  // Removes the first pair of each node of the band, and calls visit(node, other) for it.
  template <class Visit>
  __device__ void pop_first_pairs(const Visit& visit) {
    if (adjacent == 0) return;
    NodeAdjacency firsts = *this;
    firsts.adjacent = first_of_segments(adjacent, begins_of(starts, columns) | 1);
    adjacent &= ~firsts.adjacent;
#pragma unroll 1  // there are few
    while (firsts.adjacent) {
      const uint2 nodes = firsts.pop();
      visit(nodes.x, nodes.y);
    }
  }

  __device__ int count() const { return __popc(adjacent); }

  // Removes a pair and returns its nodes.
  __device__ uint2 pop() {
    const uint32_t rest = adjacent & (adjacent - 1), bit = adjacent ^ rest;
    adjacent = rest;
    // The number of a node is the number of nodes that start up to its column.
    const uint32_t before = bit - 1;
    const auto node = [&](uint32_t first_node, uint32_t node_starts, uint32_t row_columns) {
      return first_node +
             static_cast<uint32_t>(__popc(node_starts & (before | (row_columns & bit)))) - 1;
    };
    return {node(first, starts, columns), node(other_first, other_starts, other_columns)};
  }

 private:
  // The columns or corners at which nodes begin to count: their first columns, or one column later
  // if no compared row has a voxel there.
  __device__ static uint32_t begins_of(uint32_t node_starts, uint32_t row_columns) {
    return (node_starts & row_columns) | (node_starts & ~row_columns) << 1;
  }
};

// One class of a tile in shared memory: its voxels, its nodes, and the forest of its nodes. A
// BandAccess of one word.
template <class T, Connectivity connectivity>
struct SharedTile {
  static constexpr int kBandSlices = slices_of_band(connectivity);
  static constexpr int kBandsY = T::rows / kBandRows;
  static constexpr int kBandsZ = (T::slices + kBandSlices - 1) / kBandSlices;
  static constexpr int kBands = kBandsY * kBandsZ;
  static constexpr int kNodes = kBands * max_nodes_of_word(connectivity);
  static constexpr int kThreads = T::threads;
  static constexpr int kRows = T::rows;
  static constexpr int kSlices = T::slices;
  static constexpr bool kIsFaceConnected = connectivity == Connectivity::six;
  static constexpr int kThreadsPerWord = T::threads / kBands;  // share the nodes of a word

  static constexpr int kPitch = T::rows + 2;

  uint32_t bits[(T::slices + 2) * kPitch];  // with a halo of zeros, so that row() needs no test
  uint32_t node_starts[kBands];             // [band] first columns of nodes
  uint16_t nodes_before[kBands];            // [band] nodes of the tile before the band's word
  uint32_t component_firsts[T::words];      // bits: first voxels of components
  uint32_t parent[kNodes];       // [node] when all trees are merged, roots store numbered_root()
  uint16_t first_voxel[kNodes];  // [node] its first voxel in the tile; of roots, the component's
  uint32_t warp_sums[T::threads / 32];
  uint32_t pair_count, component_count;

  ushort2 pairs[T::threads / 32][32 * kPairsPerThread];  // list of adjacent nodes of the block

  __device__ static BandPosition band_position(int word) {
    return {static_cast<uint32_t>(word), 0, word % kBandsY * kBandRows,
            word / kBandsY * kBandSlices};
  }
  __device__ static int row_index(int y, int z) { return (z + 1) * kPitch + y + 1; }
  // Row i of the tile, counted through its slices.
  __device__ uint32_t& tile_row(int i) { return bits[row_index(i % T::rows, i / T::rows)]; }
  __device__ void clear_halo() {
    for (int y = static_cast<int>(threadIdx.x) - 1; y <= T::rows; y += kThreads) {
      bits[row_index(y, -1)] = bits[row_index(y, T::slices)] = 0;
    }
    for (int z = static_cast<int>(threadIdx.x); z < T::slices; z += kThreads) {
      bits[row_index(-1, z)] = bits[row_index(T::rows, z)] = 0;
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

  // The first voxel, in raster order of the tile, of the node with these columns of a band.
  __device__ static uint32_t first_voxel_of(const BandPosition& band, const BandWords& rows,
                                            uint32_t columns) {
    uint32_t first = 0;
    int row_in_band = 0;
#pragma unroll
    for (int r = kBandRows * kBandSlices - 1; r >= 0; --r) {
      const uint32_t here = rows.row[r] & columns;
      if (!here) continue;
      first = here;
      row_in_band = r % kBandRows + r / kBandRows * T::rows;
    }
    const int row = band.z * T::rows + band.y + row_in_band;
    return static_cast<uint32_t>(row * 32 + __ffs(static_cast<int>(first)) - 1);
  }
};

}  // namespace regions::volume

#endif
