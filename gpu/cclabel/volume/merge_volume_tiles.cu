// Pass 2 for volumes: merges the components of adjacent tiles into regions, counts the regions, and
// links each component directly to its root if required.
//
// A block loads one tile with its surroundings (halo), and lists the pairs of adjacent nodes across
// the borders to earlier tiles. It looks up the components of these nodes, removes repeated pairs
// of components, and merges the remaining pairs.
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/volume/band_adjacency.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volume {
namespace {

// Block shape of this pass. Blocks mostly wait for memory. Small blocks are best for many tiles,
// and larger blocks for few tiles. With 26-connected noise (H200, 2026-11-22), 128^3 voxels:
// LargeBlock 26.9 µs, SmallBlock 28.7 µs; 256^3 voxels: LargeBlock 126 µs, SmallBlock 121 µs. With
// less shared memory, small blocks can start earlier, while the last blocks of the previous pass
// still run: with a capacity of 128 pairs and counts, this pass takes 21.6 µs; with 256, it takes
// 27.2 µs (256^3 voxels, 26-connected noise with 30% foreground). A capacity of 64 is not faster.
template <int threads_, int min_blocks_, int pairs_>
struct MergeBlock {
  static constexpr int threads = threads_;
  static constexpr int min_blocks = min_blocks_;  // number of resident blocks per multiprocessor
  static constexpr int pairs = pairs_;  // maximum number of pairs of components in shared memory
  // Capacity of the list of pairs of adjacent nodes. Twice the capacity allows fewer blocks per
  // multiprocessor, and adds 2.3 to 3.9 µs to 14 to 21 µs (256^3 voxels, noise with 20% to 70%
  // foreground, 18- and 26-connected, H200, 2026-11-22).
  static constexpr int adjacent_nodes = 256;
  // Number of entries of region_counts whose changes are summed in shared memory. One global atomic
  // per merged component instead would cost 24 of 235 µs (256^3 voxels, 6-connected noise with 30%
  // foreground, H200, 2026-11-21).
  static constexpr int counts = 128;
};
using LargeBlock = MergeBlock<256, 6, 512>;
using SmallBlock = MergeBlock<128, 14, 128>;

// One class of a tile in shared memory, with a halo: the words and rows around the tile, and the
// previous slice. Is a BandAccess. Everything is loaded at once, so that a thread that searches for
// adjacent nodes waits for memory only once.
template <class Shape, Connectivity connectivity, int threads>
struct HaloTile {
  using Inner = SharedTile<Shape, connectivity>;
  static constexpr bool kIsFaceConnected = connectivity == Connectivity::six;
  static constexpr int kThreads = threads;
  // With 6-connectivity, the halo needs no later words and rows, because no earlier node in them is
  // adjacent.
  static constexpr int kWords = kIsFaceConnected ? 2 : 3;
  static constexpr int kRows = Shape::rows + (kIsFaceConnected ? 1 : 2);
  // Number of slices, including the second slice of bands in tiles with only one slice.
  static constexpr int kSlices = Inner::kBandsZ * Inner::kBandSlices + 1;
  static constexpr int kBandsY = Inner::kBandsY + (kIsFaceConnected ? 1 : 2);
  static constexpr int kBandsZ = Inner::kBandsZ + 1;

  uint32_t bits[kSlices * kRows * kWords];
  uint32_t node_starts[kBandsZ * kBandsY * kWords];
  uint32_t first_node[kBandsZ * kBandsY * kWords];

  // The whole block must call this function.
  __device__ void load(const VolumeArrays& v, const VolumeTilePosition& tile) {
    const Size slice = v.layout.slice;
    const auto exists = [&](int w, int y, int z) {
      return w >= 0 && w < v.words && y >= 0 && y < slice.height && z >= 0 && z < v.layout.slices;
    };
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kSlices * kRows * kWords; i += kThreads) {
      const int row = i % kRows, word_in_row = i / kRows % kWords, slice_index = i / kRows / kWords;
      const int w = tile.w - 1 + word_in_row, y = tile.y - 1 + row, z = tile.z - 1 + slice_index;
      uint32_t word = 0;
      if (exists(w, y, z)) {
        word = v.bits[v.word_index(v.layout.row({y, z, tile.layer}), w)];
        if (tile.voxel_class != 0) word = ~word & valid_bits(v, w);
      }
      bits[(slice_index * kRows + row) * kWords + word_in_row] = word;
    }
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kBandsZ * kBandsY * kWords; i += kThreads) {
      const int band = i % kBandsY, word_in_row = i / kBandsY % kWords, slab = i / kBandsY / kWords;
      const int w = tile.w - 1 + word_in_row;
      const int y = tile.y + (band - 1) * kBandRows;
      const int z = tile.z + (slab - 1) * Inner::kBandSlices;
      WordNodes nodes = {};
      if (exists(w, y, z))
        nodes = v.nodes[band_word_index(v, tile.voxel_class, tile.layer, w, y, z)];
      const int to = (slab * kBandsY + band) * kWords + word_in_row;
      node_starts[to] = nodes.starts;
      first_node[to] = nodes.first;
    }
  }

  __device__ uint32_t row(int w, int y, int z) const {
    return bits[((z + 1) * kRows + y + 1) * kWords + w + 1];
  }
  __device__ static uint32_t word(int w, int y, int z) {
    const int band_z = (z + Inner::kBandSlices) >> (Inner::kBandSlices - 1);
    const int band_y = (y + kBandRows) >> (kBandRows - 1);
    return static_cast<uint32_t>((band_z * kBandsY + band_y) * kWords + w + 1);
  }
  __device__ uint32_t starts(uint32_t word) const { return node_starts[word]; }
  __device__ uint32_t first_of(uint32_t word) const { return first_node[word]; }
};

// The pairs of adjacent nodes across the borders of a 6-connected tile. Omits pairs of nodes that
// other pairs of the same two tiles already connect: four voxels around an edge need only three
// links.
template <class Shape, class Tile>
struct FaceBorder {
  static constexpr int kBandsY = Tile::Inner::kBandsY;
  static constexpr int kBands = Tile::Inner::kBands;
  // Number of words that may touch the tile above or the tile in the previous slices: the first row
  // of each slice, and all bands of the first slice.
  static constexpr int kWords = Shape::slices + (Shape::slices > 1 ? kBandsY : 0);
  // Maximum number of pairs. One row has a pair in at most every second column. The two rows of a
  // band can have a pair in each column. The last term counts the pairs at the first column of each
  // band.
  static constexpr int kMaxPairs = Shape::slices * 16 + (kWords - Shape::slices) * 32 + kBands;

  struct WordAdjacency {
    uint32_t adjacent = 0;  // bits: last column of each run of columns with the same pair
    WordNodes nodes = {}, other = {};
  };

  const Tile& shared;

  __device__ WordNodes nodes(int w, int y, int z) const {
    const uint32_t word = Tile::word(w, y, z);
    return {shared.node_starts[word], shared.first_node[word]};
  }

  // Returns the pairs of word i, 0..kWords - 1.
  __device__ WordAdjacency adjacency_of_word(int i) const {
    const bool is_above = i < Shape::slices;
    const int z = is_above ? i : 0, y = is_above ? 0 : (i - Shape::slices) * kBandRows;
    const int other_y = is_above ? -1 : y, other_z = is_above ? z : -1;
    const uint32_t first_row = shared.row(0, y, z) & shared.row(0, other_y, other_z);
    uint32_t implied = 0, all = first_row;
    if (is_above) {
      if (z > 0) implied = first_row & shared.row(0, 0, z - 1) & shared.row(0, -1, z - 1);
    } else {
      all |= shared.row(0, y + 1, 0) & shared.row(0, y + 1, -1);
      if (y > 0) implied = first_row & shared.row(0, y - 1, 0) & shared.row(0, y - 1, -1);
    }
    if (all == 0) return {};
    const WordNodes here = nodes(0, y, z), other = nodes(0, other_y, other_z);
    const uint32_t begins = here.starts | other.starts;
    return {ends_of_segments(all, begins) & ~ends_of_segments(implied, begins), here, other};
  }

  // Returns whether the first column of band i is adjacent to the previous word, and no earlier
  // band already connects the two nodes.
  __device__ bool continues_from_word_before(int i) const {
    const BandPosition band = Tile::Inner::band_position(i);
    const auto is_adjacent = [&](int y, int z) {
      return shared.row(0, y, z) & shared.row(-1, y, z) >> 31 & 1;
    };
    const uint32_t upper = is_adjacent(band.y, band.z), lower = is_adjacent(band.y + 1, band.z);
    uint32_t implied = 0;
    if (band.y > 0) implied |= upper & is_adjacent(band.y - 1, band.z);
    if (band.z > 0) {
      implied |=
          (upper & is_adjacent(band.y, band.z - 1)) | (lower & is_adjacent(band.y + 1, band.z - 1));
    }
    return (upper | lower) & ~implied & 1;
  }

  // Appends the nodes of all pairs to `pairs`. `count` must be 0 before. The whole block must call
  // this function.
  __device__ void list(uint2 (&pairs)[kMaxPairs], uint32_t& count) const {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    // Consecutive words are assigned to different warps, because they often have many pairs each.
    const int i = lane * warps + static_cast<int>(threadIdx.x) / 32;
    WordAdjacency pairs_of_word;
    if (i < kWords) pairs_of_word = adjacency_of_word(i);
    uint32_t continued = 0;  // bit k: continues_from_word_before(k * threads + thread)
    for (int k = 0, b = static_cast<int>(threadIdx.x); b < kBands; b += blockDim.x, ++k) {
      continued |= static_cast<uint32_t>(continues_from_word_before(b)) << k;
    }
    const auto count_of_thread =
        static_cast<uint32_t>(__popc(pairs_of_word.adjacent) + __popc(continued));
    uint2* to = pairs + reserve_entries(count, count_of_thread);
    for (uint32_t remaining = pairs_of_word.adjacent; remaining; remaining &= remaining - 1) {
      const uint32_t up_to = remaining ^ (remaining - 1);
      *to++ = {pairs_of_word.nodes.first +
                   static_cast<uint32_t>(__popc(pairs_of_word.nodes.starts & up_to)) - 1,
               pairs_of_word.other.first +
                   static_cast<uint32_t>(__popc(pairs_of_word.other.starts & up_to)) - 1};
    }
    for (; continued; continued &= continued - 1) {
      const int k = __ffs(static_cast<int>(continued)) - 1;
      const BandPosition band = Tile::Inner::band_position(k * static_cast<int>(blockDim.x) +
                                                           static_cast<int>(threadIdx.x));
      const WordNodes before = nodes(-1, band.y, band.z);
      *to++ = {nodes(0, band.y, band.z).first,
               before.first + static_cast<uint32_t>(__popc(before.starts)) - 1};
    }
  }
};

// The voxels of a row at both ends of a word. Bit 0: the word's first column. Bit 1: the last
// column of the previous word. Bit 2: the word's last column. Bit 3: the first column of the next
// word.
struct SideColumns {
  // Mask of bits 0 and 2, the columns of the word itself.
  static constexpr uint32_t kInsideMask = 5;
  uint32_t bits;

  __device__ SideColumns(uint32_t bits_) : bits(bits_) {}
  template <BandAccess Tile>
  __device__ SideColumns(const Tile& shared, int y, int z) {
    bits = (shared.row(0, y, z) & 1) | shared.row(-1, y, z) >> 31 << 1 |
           shared.row(0, y, z) >> 31 << 2 | (shared.row(1, y, z) & 1) << 3;
  }
  __device__ SideColumns operator|(SideColumns other) const { return bits | other.bits; }
  // Results at bits 0 and 2, for the two ends of the word. inside(): the column of the word.
  // outside(): the adjacent column of the neighbouring word. any(): either of both.
  __device__ uint32_t inside() const { return bits; }
  __device__ uint32_t outside() const { return bits >> 1; }
  __device__ uint32_t any() const { return bits | bits >> 1; }
  // Returns whether both rows, this and `other`, have both columns at the start of the word.
  __device__ bool has_both(SideColumns other) const { return (bits & other.bits & 3) == 3; }
};

// A thread's pairs of adjacent nodes across the borders of an 18- or 26-connected tile. The pairs
// are in words that face an earlier tile, and at the first and last columns of all words. Omits
// pairs of nodes that other pairs already connect.
template <class Shape, Connectivity connectivity, class Tile>
struct DiagonalBorder {
  static constexpr int kBandsY = Tile::Inner::kBandsY, kBandsZ = Tile::Inner::kBandsZ;
  static constexpr int kBands = Tile::Inner::kBands;
  // In an image, a band has only one neighbour band, in the same slice: number 0 of BandNeighbours.
  static constexpr int kNeighbours = Shape::slices == 1 ? 1 : BandNeighbours<connectivity>::count;

  NodeAdjacency facing_pairs;  // pairs in words that face an earlier tile
  // Bits that describe pairs at the ends of the word of a band. Bit 0: the node at the first column
  // is linked to the previous word. Bit 4 * n + 4: the node at the first column is adjacent to a
  // node of band neighbour n in the previous word. Bit 4 * n + 6: the same for the last column and
  // the next word.
  uint32_t sides = 0;
  BandPosition band;

  // Each warp searches one band neighbour. Each lane has one of the words that face an earlier tile
  // in this direction.
  __device__ explicit DiagonalBorder(const Tile& shared) {
    constexpr int kWarps = Tile::kThreads / 32;
    static_assert(kNeighbours <= kWarps && kBands <= Tile::kThreads,
                  "each thread has at most one band, and each warp one neighbour");
    const int i = static_cast<int>(threadIdx.x), lane = i % 32;
    if (i < kBands) {
      band = Tile::Inner::band_position(i);
      band.word = Tile::word(0, band.y, band.z);
      find_sides(shared);
    }
    const int neighbour = kWarps - 1 - i / 32;
    if (neighbour >= kNeighbours) return;
    with_neighbour<connectivity>(neighbour, [&](const BandNeighbour& n) {
      const int slabs = n.other_y == n.y ? 0 : kBandsZ, bands = n.other_z == 0 ? 0 : kBandsY;
      // A slab contains the bands with the same z. The first lanes have the first or last band of
      // each slab; the next lanes have the remaining bands of the first slab.
      const int edge = n.other_y < 0 ? 0 : kBandsY - 1;
      int y = edge, z = lane;
      if (lane >= slabs) {
        z = 0;
        y = lane - slabs + (slabs && edge == 0);
      }
      if (lane >= slabs + bands - (slabs && bands)) return;
      BandPosition word = {0, 0, y * kBandRows, z * Tile::Inner::kBandSlices};
      word.word = Tile::word(0, word.y, word.z);
      facing_pairs = NodeAdjacency(shared, word, n);
    });
  }

  // Finds the pairs at the first and last column of the word. A pair across a corner counts only if
  // the two other columns around the corner are empty, because a voxel in these columns would
  // already connect both nodes.
  __device__ void find_sides(const Tile& shared) {
    const int y = band.y, z = band.z;
    // The number in a name is the index of the row in its band, as in BandWords.
    const SideColumns row0(shared, y, z), row1(shared, y + 1, z), row2(shared, y, z + 1),
        row3(shared, y + 1, z + 1);
    const SideColumns above1(shared, y - 1, z), above3(shared, y - 1, z + 1);
    const SideColumns back2(shared, y, z - 1), back3(shared, y + 1, z - 1);
    // Returns the pairs between two rows `a` and `b` of the band and the two rows of the other band
    // that they face.
    const auto pair_of_rows = [&](const SideColumns& a, const SideColumns& b,
                                  const SideColumns& other_a, const SideColumns& other_b) {
      const SideColumns here = a | b, other = other_a | other_b;
      const uint32_t is_empty = ~other.inside() & ~here.outside() & SideColumns::kInsideMask;
      if constexpr (connectivity == Connectivity::twenty_six) {
        return here.inside() & other.outside() & is_empty;
      } else {
        return ((a.inside() & other_a.outside()) | (b.inside() & other_b.outside())) & is_empty;
      }
    };
    sides = pair_of_rows(row0, row2, above1, above3) << 4;
    if (kNeighbours > 1) sides |= pair_of_rows(row0, row1, back2, back3) << 8;
    if constexpr (connectivity == Connectivity::twenty_six) {
      // Returns the pairs of one row that faces one row across an edge. `middle` contains the two
      // rows that touch both.
      const auto single_row = [&](const SideColumns& here, const SideColumns& other,
                                  const SideColumns& middle) {
        return here.inside() & other.outside() & ~other.inside() & ~here.outside() & ~middle.any() &
               SideColumns::kInsideMask;
      };
      sides |= single_row(row0, SideColumns(shared, y - 1, z - 1), above1 | back2) << 12;
      sides |=
          single_row(row1, SideColumns(shared, y + 2, z - 1), SideColumns(shared, y + 2, z) | back3)
          << 16;
    }
    const bool is_implied = (row0 | row2).has_both(above1 | above3) ||
                            (kNeighbours > 1 && (row0 | row1).has_both(back2 | back3));
    if (is_implied) return;
    const auto column = [&](uint32_t bit) {
      const auto voxel = [&](const SideColumns& row) { return row.bits >> bit & 1; };
      return BandWords{{voxel(row0), voxel(row1), voxel(row2), voxel(row3)}};
    };
    sides |= column(0).linked_to(column(1), connectivity);
  }

  // Moves the thread's pairs to the list until the list is full. Adds the number of all pairs of
  // the thread to `count`.
  template <uint32_t capacity>
  __device__ void move_to(const Tile& shared, uint2 (&list)[capacity], uint32_t& count) {
    const auto count_of_thread = static_cast<uint32_t>(facing_pairs.count() + __popc(sides));
    uint32_t index = reserve_entries(count, count_of_thread);
    const uint32_t stop = min(index + count_of_thread, capacity);
    for (; index < stop && facing_pairs.count(); ++index) list[index] = facing_pairs.pop();
    for (; index < stop; ++index) list[index] = pop_side(shared);
  }

 private:
  __device__ uint2 pop_side(const Tile& shared) {
    const int bit = __ffs(static_cast<int>(sides)) - 1;
    sides &= sides - 1;
    const auto last_of = [&](uint32_t word) {
      return shared.first_of(word) + static_cast<uint32_t>(__popc(shared.starts(word))) - 1;
    };
    const int neighbour = bit / 4;  // 0: the same band in the previous word; else 1 + n
    const int y = neighbour == 0 || neighbour == 2 ? 0 : neighbour == 4 ? kBandRows : -1;
    const uint32_t other = Tile::word(0, band.y + y, band.z - (neighbour > 1));
    if (bit & 2) return {last_of(band.word), shared.first_of(other + 1)};
    return {shared.first_of(band.word), last_of(other - 1)};
  }
};

// The pairs of components that a block merges, in shared memory. A hash table removes most
// repetitions.
template <class Block>
struct ComponentPairs {
  static constexpr uint32_t kCapacity = Block::pairs;
  static constexpr uint64_t kFreeEntry = ~0ull;
  unsigned long long seen[kCapacity];  // hash table of listed pairs
  unsigned long long list[kCapacity];  // the pairs to merge
  uint32_t count;  // number of pairs, including pairs that the list could not hold

  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < kCapacity; i += Block::threads) seen[i] = kFreeEntry;
    if (threadIdx.x == 0) count = 0;
  }
  // Adds a pair. Returns false if the list is full. The first pair with a hash value takes the
  // table's entry. Other pairs with this value are only listed, and may therefore be listed
  // repeatedly.
  __device__ bool add(uint64_t pair) {
    const auto hash = static_cast<uint32_t>((pair ^ pair >> 29) * 0x9e3779b97f4a7c15ull >> 40);
    if (atomicCAS(&seen[hash % kCapacity], kFreeEntry, pair) == pair) return true;
    const uint32_t index = atomicAdd(&count, 1u);
    if (index < kCapacity) list[index] = pair;
    return index < kCapacity;
  }
  __device__ uint32_t size() const { return min(count, kCapacity); }
};

// The changes that a block makes to region_counts, summed in shared memory. Neighbouring tiles
// change the same counts, so global atomics would wait for each other. The order of the atomics
// does not matter, because they are sums.
template <class Block>
struct CountChanges {
  // Number of counts. The last count includes the tile's last word.
  static constexpr uint32_t kCounts = Block::counts;
  uint32_t change[kCounts];
  uint32_t begin;  // index in region_counts of change[0]

  // The whole block must call this function. A barrier must follow before add().
  __device__ void clear(const VolumeArrays& v, const VolumeTilePosition& tile) {
    const int last = min(tile.z + v.tile_slices, v.layout.slices) - 1;
    const uint32_t end = v.id_of(tile.layer, v.words - 1, v.layout.slice.height - 1, last, 0) / 32 /
                         FirstPixelBitmap::kWordsPerCount;
    if (threadIdx.x == 0) begin = end < kCounts ? 0 : end - kCounts + 1;
    for (uint32_t i = threadIdx.x; i < kCounts; i += Block::threads) change[i] = 0;
  }
  __device__ void add(const VolumeArrays& v, uint32_t word, uint32_t value) {
    const uint32_t index = word / FirstPixelBitmap::kWordsPerCount;
    atomicAdd(index - begin < kCounts ? change + (index - begin) : v.region_counts + index, value);
  }
  // The whole block must call this function.
  __device__ void flush(const VolumeArrays& v) const {
    __syncthreads();  // all changes are added
    for (uint32_t i = threadIdx.x; i < kCounts; i += Block::threads) {
      if (change[i]) atomicAdd(v.region_counts + begin + i, change[i]);
    }
  }
};

// Merges two components in each lane with `is_needed`. `pair` contains the indices of their
// entries. If a root gets a parent, clears its bit in region_starts. The whole warp must call this
// function.
template <class Block>
__device__ void merge(const VolumeArrays& v, uint64_t pair, bool is_needed,
                      CountChanges<Block>& changes) {
  const ForestEntry former_root = unite<LinkRule::larger_root>(
      v.forest, static_cast<uint32_t>(pair >> 32), static_cast<uint32_t>(pair), is_needed);
  if (former_root == kNoEntry) return;
  const uint32_t id = id_of_entry(former_root);
  // Each thread clears a different bit, so the order of the atomics does not matter.
  atomicAnd(v.region_starts + v.index_of_raster_word(id / 32), ~(1u << id % 32));
  changes.add(v, id / 32, ~0u);
}

// The first voxels of components in a thread's rows. Each component counts as a region until it is
// merged into another one.
template <class Shape, class Block>
struct ComponentStarts {
  static constexpr int threads = Block::threads, kSteps = Shape::words / threads;
  static_assert(Shape::words % threads == 0, "all threads have equally many rows");
  uint32_t word[kSteps];    // indices of the rows' words in raster order
  uint32_t firsts[kSteps];  // bits: first voxels of components

  __device__ ComponentStarts(const VolumeArrays& v, const VolumeTilePosition& tile) {
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      const int i = k * threads + static_cast<int>(threadIdx.x);
      const int y = tile.y + i % Shape::rows, z = tile.z + i / Shape::rows;
      const bool exists = tile.voxel_class == 0 && y < v.layout.slice.height && z < v.layout.slices;
      word[k] = v.id_of(tile.layer, tile.w, y, z, 0) / 32;
      firsts[k] =
          exists ? v.component_starts[v.word_index(v.layout.row({y, z, tile.layer}), tile.w)] : 0;
    }
  }
  __device__ void count(const VolumeArrays& v, CountChanges<Block>& changes) const {
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      if (firsts[k]) changes.add(v, word[k], static_cast<uint32_t>(__popc(firsts[k])));
    }
  }
};

// For 18- and 26-connectivity: calls add(nodes, exists) with whole warps for all pairs of adjacent
// nodes across the borders to earlier tiles. The pairs are listed first, in several rounds if
// necessary, so that a warp that looks up the components of 32 pairs waits for memory only once.
template <class Shape, Connectivity connectivity, class Block, class Tile, class Add>
__device__ void for_each_diagonal_pair(const Tile& tile, uint32_t& count, const Add& add) {
  constexpr uint32_t kCapacity = Block::adjacent_nodes;
  __shared__ uint2 list[kCapacity];
  const uint32_t lane = threadIdx.x % 32;
  DiagonalBorder<Shape, connectivity, Tile> border(tile);
  while (true) {
    border.move_to(tile, list, count);
    __syncthreads();  // the list is complete
    const uint32_t all = count, listed = min(all, kCapacity);
    for (uint32_t start = threadIdx.x - lane; start < listed; start += Block::threads) {
      const bool exists = start + lane < listed;
      add(exists ? list[start + lane] : uint2{}, exists);
    }
    if (all <= kCapacity) return;
    __syncthreads();  // all threads have read the list and the count
    if (threadIdx.x == 0) count = 0;
    __syncthreads();  // the count is 0 before any thread adds to it
  }
}

// For 6-connectivity: like for_each_diagonal_pair(), but the list can hold all pairs at once.
template <class Shape, class Tile, class Add>
__device__ void for_each_face_pair(const Tile& tile, uint32_t& count, const Add& add) {
  using Border = FaceBorder<Shape, Tile>;
  __shared__ uint2 list[Border::kMaxPairs];
  Border{tile}.list(list, count);
  __syncthreads();  // the list is complete
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < count; start += blockDim.x) {
    const bool exists = start + lane < count;
    add(exists ? list[start + lane] : uint2{}, exists);
  }
}

// A block merges one class of a tile with the earlier tiles. It finds all pairs of adjacent nodes
// across the borders, and then merges the pairs of their components.
template <class Shape, Connectivity connectivity, class Block>
__global__ __launch_bounds__(Block::threads, Block::min_blocks)  //
    void merge_tiles_kernel(VolumeArrays v) {
  constexpr int kThreads = Block::threads;
  __shared__ ComponentPairs<Block> pairs;
  __shared__ CountChanges<Block> changes;
  __shared__ uint32_t pair_count;
  using Tile = HaloTile<Shape, connectivity, kThreads>;
  __shared__ Tile shared;
  const VolumeTilePosition tile(v);
  pairs.clear();
  changes.clear(v, tile);
  if (threadIdx.x == 0) pair_count = 0;
  pdl_trigger_and_wait();
  // The loads of ComponentStarts overlap with the loads of the tile.
  const ComponentStarts<Shape, Block> starts(v, tile);
  shared.load(v, tile);
  __syncthreads();  // pairs and changes are empty, and the tile is loaded
  starts.count(v, changes);
  const auto lane = threadIdx.x % 32;
  const auto add = [&](const uint2& nodes, bool exists) {
    const uint32_t a = exists ? entry_index_of_node(v, nodes.x) : 0;
    const uint32_t b = exists ? entry_index_of_node(v, nodes.y) : 0;
    const uint64_t pair = static_cast<uint64_t>(max(a, b)) << 32 | min(a, b);
    const uint32_t equal_lanes = __match_any_sync(kAllLanes, pair);
    const bool is_first = static_cast<int>(lane) == __ffs(static_cast<int>(equal_lanes)) - 1;
    const bool overflows = a != b && is_first && !pairs.add(pair);
    if (__any_sync(kAllLanes, overflows)) merge(v, pair, overflows, changes);
  };
  if constexpr (Tile::kIsFaceConnected) {
    for_each_face_pair<Shape>(shared, pair_count, add);
  } else {
    for_each_diagonal_pair<Shape, connectivity, Block>(shared, pair_count, add);
  }
  __syncthreads();  // the list of component pairs is complete
  for (uint32_t start = threadIdx.x - lane; start < pairs.size(); start += kThreads) {
    const bool exists = start + lane < pairs.size();
    merge(v, exists ? pairs.list[start + lane] : 0, exists, changes);
  }
  changes.flush(v);
}

// Links each component that is not a root directly to its root. A thread processes the components
// whose first voxels are in one word.
__global__ __launch_bounds__(cclabel::BitmapBlock::threads) void flatten_kernel(VolumeArrays v) {
  const uint32_t word = blockIdx.x * cclabel::BitmapBlock::threads + threadIdx.x;
  const bool exists = word < v.all_words();
  const RowWord row(v, exists ? word : 0);
  uint32_t merged = exists ? v.component_starts[row.index] & ~v.region_starts[row.index] : 0;
  while (const uint32_t lanes = __ballot_sync(kAllLanes, merged != 0)) {
    const bool has_component = merged != 0;
    uint32_t entry = 0;
    if (has_component) {
      const int b = __ffs(static_cast<int>(merged)) - 1;
      entry = entry_index_of_node(v, row.node_at(row.bits >> b & 1 ? 0 : 1, b));
    }
    // Lanes without a component follow the path of another lane, and write nothing.
    const uint32_t spare_entry = __shfl_sync(kAllLanes, entry, __ffs(static_cast<int>(lanes)) - 1);
    flatten(v.forest, has_component ? entry : spare_entry, has_component);
    merged &= merged - 1;
  }
}

template <class Shape, Connectivity connectivity, class Block>
void launch_blocks(const VolumeArrays& v, cudaStream_t stream) {
  cclabel::set_carveout(merge_tiles_kernel<Shape, connectivity, Block>, v.all_tiles());
  launch_pdl(merge_tiles_kernel<Shape, connectivity, Block>, tile_grid(v, v.classes),
             Block::threads, 0, stream, v);
}

template <class Shape, Connectivity connectivity>
void launch_merges(const VolumeArrays& v, cudaStream_t stream) {
  if (v.all_tiles() <= cclabel::kFewTiles) {
    launch_blocks<Shape, connectivity, LargeBlock>(v, stream);
  } else {
    launch_blocks<Shape, connectivity, SmallBlock>(v, stream);
  }
  if (!v.needs_flat_forest) return;
  launch(flatten_kernel, blocks_for(v.all_words(), cclabel::BitmapBlock::threads),
         cclabel::BitmapBlock::threads, 0, stream, v);
}

}  // namespace

void merge_tiles(const VolumeArrays& volume, cudaStream_t stream) {
  switch (volume.connectivity) {
    // In a single slice, 6-connectivity is 4-connectivity, and 18 is 8.
    case Connectivity::four:
      return launch_merges<FlatTile, Connectivity::six>(volume, stream);
    case Connectivity::eight:
      return launch_merges<FlatTile, Connectivity::eighteen>(volume, stream);
    case Connectivity::six:
      return launch_merges<VolumeTile, Connectivity::six>(volume, stream);
    case Connectivity::eighteen:
      return launch_merges<VolumeTile, Connectivity::eighteen>(volume, stream);
    default:
      return launch_merges<VolumeTile, Connectivity::twenty_six>(volume, stream);
  }
}

}  // namespace regions::volume
