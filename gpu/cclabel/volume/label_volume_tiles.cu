// Pass 1 for volumes: a thread block thresholds one tile, finds its nodes, and merges adjacent
// nodes into components in shared memory.
//
// Rem's algorithm builds the union-find forest over the nodes: the parent of a node always has a
// smaller index, and to merge two trees, the larger of two parents gets the smaller one as its
// parent. The lanes of a warp advance together, which is faster here than the functions of
// primitives/union_find.hpp (see merge_trees()).
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/volume/band_adjacency.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volume {
namespace {

// For 6-connected volumes with few tiles: 512 threads are 3% to 4% faster for 128^3 voxels (noise
// with 20% to 50% foreground). With many tiles, 512 threads are not faster (H200, 2026-11-22).
using ManyThreadsTile = VolumeTileShape<16, 16, 512>;
// For 18- and 26-connected volumes with many tiles: with at most 32 registers per thread, 256^3
// voxels take 0.7 to 1.7 µs less (of 23 to 36 µs; noise with 20% to 70% foreground), but 128^3
// voxels take 0.4 to 0.6 µs more (of 7 to 11 µs; H200, 2026-11-22).
using FewRegistersTile = VolumeTileShape<16, 16, 256, 8>;

// Readers threshold the block's tile. They call put(i, word) for each row i of the tile; `word` has
// one bit per voxel, and is 0 for rows outside the volume.

// Reads formats with one byte per voxel and 16-byte aligned rows. Two adjacent threads read the 32
// voxels of a row.
struct VoxelByteReader {
  Image<const uint8_t> image;

  explicit VoxelByteReader(const LabelInput& input)
      : image(input.frame.plane_as<const uint8_t>(0, input.frame.width, input.frame.height)) {}
  static bool can_read(const LabelInput& input) {
    const Layout& pixels = input.frame.layout;
    const auto address = reinterpret_cast<uintptr_t>(input.frame.plane[0]);
    return input.compared == cclabel::ComparedValue::value && pixels.model != ColorModel::rgb &&
           pixels.sample_bytes == 1 && pixels.component[0].step == 1 &&
           (address | static_cast<uintptr_t>(input.frame.pitch[0])) % 16 == 0;
  }
  template <class Shape, class Put>
  __device__ void read(Put put, const VolumeArrays& v, const VolumeTilePosition& tile,
                       int level) const {
    constexpr int kRows = Shape::threads / 2, kSteps = Shape::words / kRows;
    static_assert(Shape::words % kRows == 0 && (kSteps == 1 || kSteps % 2 == 0),
                  "two threads per row, and all threads have equally many rows");
    const int half = static_cast<int>(threadIdx.x % 2), x = tile.w * 32 + half * 16;
    uint32_t bits[kSteps];
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
      const int i = k * kRows + static_cast<int>(threadIdx.x / 2);
      const int y = tile.y + i % Shape::rows, z = tile.z + i / Shape::rows;
      const bool exists = y < v.layout.slice.height && z < v.layout.slices && level <= 255;
      bits[k] = exists ? half_word(x, z * v.layout.slice.height + y, level) : 0;
    }
    if constexpr (kSteps == 1) {
      const uint32_t other = __shfl_down_sync(kAllLanes, bits[0], 1);
      if (half == 0) put(static_cast<int>(threadIdx.x / 2), bits[0] | other << 16);
    } else {
      // The two threads of a pair write alternating rows.
#pragma unroll
      for (int k = 0; k < kSteps; k += 2) {
        const uint32_t sent = half ? bits[k] : bits[k + 1];
        const uint32_t received = __shfl_xor_sync(kAllLanes, sent, 1);
        const uint32_t word = half ? received | bits[k + 1] << 16 : bits[k] | received << 16;
        put((k + half) * kRows + static_cast<int>(threadIdx.x / 2), word);
      }
    }
  }

 private:
  // Returns 16 bits, one per voxel from `x` on. Bits outside the row are 0.
  __device__ uint32_t half_word(int x, int row, int level) const {
    const uint8_t* pixels = image.row(row) + x;
    const int inside = image.width - x;
    uint32_t bits = 0;
    if (inside < 16) {
      for (int k = 0; k < inside; ++k) bits |= static_cast<uint32_t>(pixels[k] >= level) << k;
      return bits;
    }
    const uint4 quads = *reinterpret_cast<const uint4*>(pixels);
    const uint32_t values[4] = {quads.x, quads.y, quads.z, quads.w};
    const uint32_t levels = static_cast<uint32_t>(level) * 0x01010101u;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const uint32_t ones = __vcmpgeu4(values[k], levels) & 0x01010101u;
      bits |= (ones * 0x01020408u >> 24 & 15u) << 4 * k;
    }
    return bits;
  }
};

// Reads all formats. A warp reads one word; each lane reads one voxel.
struct VoxelReader {
  LabelInput input;

  explicit VoxelReader(const LabelInput& labelled) : input(labelled) {}

  template <class Shape, class Put>
  __device__ void read(Put put, const VolumeArrays& v, const VolumeTilePosition& tile,
                       int level) const {
    const int lane = static_cast<int>(threadIdx.x % 32), x = tile.w * 32 + lane;
    for (int i = static_cast<int>(threadIdx.x / 32); i < Shape::words; i += Shape::threads / 32) {
      const int y = tile.y + i % Shape::rows, z = tile.z + i / Shape::rows;
      const bool exists =
          x < v.layout.slice.width && y < v.layout.slice.height && z < v.layout.slices;
      const bool is_set =
          exists && compared_value(input, x, z * v.layout.slice.height + y) >= level;
      const uint32_t word = __ballot_sync(kAllLanes, is_set);
      if (lane == 0) put(i, word);
    }
  }
};

// A SharedTile whose nodes are merged into components.
template <class S>
concept TileNodes = BandAccess<S> && requires(S& shared) {
  S::kThreads, S::kThreadsPerWord, S::kIsFaceConnected;
  shared.node_starts[0], shared.nodes_before[0];  // indexed by band
  shared.parent[0], shared.first_voxel[0];        // indexed by node
  shared.pair_count, shared.component_count;
};

// Calls visit(node, columns) for the thread's share of the nodes of a word, which is every
// kThreadsPerWord-th node. `columns` has a bit for each column from the start of the node up to the
// start of the next node.
template <TileNodes Tile, class Visit>
__device__ void for_each_node(const Tile& shared, uint32_t word, const Visit& visit) {
  constexpr int kThreadsPerWord = Tile::kThreadsPerWord;
  const int share = static_cast<int>(threadIdx.x) % kThreadsPerWord;
  const uint32_t starts = shared.node_starts[word];
  uint32_t remaining = starts, node = shared.nodes_before[word] + static_cast<uint32_t>(share);
#pragma unroll
  for (int k = 1; k < kThreadsPerWord; ++k) {
    if (share >= k) remaining &= remaining - 1;
  }
  for (; remaining; node += kThreadsPerWord) {
    const uint32_t bit = remaining & (0u - remaining), later = starts & ~(bit | (bit - 1));
    visit(node, ((later & (0u - later)) - 1) & ~(bit - 1));
#pragma unroll
    for (int k = 0; k < kThreadsPerWord; ++k) remaining &= remaining - 1;
  }
}

// The nodes of one earlier band that share a voxel face with nodes of the thread's band.
struct FacingNodes {
  uint32_t adjacent = 0;      // bits: one column per pair of adjacent nodes
  uint32_t starts = 0;        // bits: first columns of the earlier band's nodes
  uint32_t nodes_before = 0;  // number of nodes of the tile before this word of the earlier band

  // Returns the node that contains a column. `up_to` is a mask of the bits up to this column.
  __device__ uint32_t node(uint32_t up_to) const {
    return nodes_before + static_cast<uint32_t>(__popc(starts & up_to)) - 1;
  }
};

// The pairs of nodes of a 6-connected tile that share a voxel face, for the thread's share of the
// nodes of one word. A pair is represented by the last column that belongs to both nodes, including
// columns without voxels. Omits pairs of nodes that other pairs already connect.
template <TileNodes Tile>
struct FaceAdjacency {
  // [0] the band above in the same slice, [1] the band in the previous slice.
  FacingNodes facing[2];
  uint32_t row[2];      // the two rows of the thread's band, one bit per voxel
  uint32_t word;        // index of this word of the band in the tile's arrays of nodes
  uint32_t band_voxel;  // index in the tile of the first voxel of this word

  __device__ FaceAdjacency(const Tile& shared, const BandPosition& band) {
    word = band.word;
    row[0] = shared.row(0, band.y, band.z);
    row[1] = shared.row(0, band.y + 1, band.z);
    band_voxel = static_cast<uint32_t>(band.z * Tile::kRows + band.y) * 32;
    const uint32_t starts = shared.node_starts[band.word];
    const uint32_t above = shared.row(0, band.y - 1, band.z);
    const uint32_t adjacent_above = row[0] & above;
    if (adjacent_above) {
      FacingNodes& f = facing[0];
      f.starts = shared.node_starts[band.word - 1];
      f.nodes_before = shared.nodes_before[band.word - 1];
      f.adjacent = ends_of_segments(adjacent_above, starts | f.starts);
    }
    if (Tile::kSlices == 1 || band.z == 0) return;
    const uint32_t adjacent_row = row[0] & shared.row(0, band.y, band.z - 1);
    const uint32_t adjacent_back = adjacent_row | (row[1] & shared.row(0, band.y + 1, band.z - 1));
    // Four voxels around an edge need only three links. If the rows above are adjacent too, the
    // nodes are already connected through these rows.
    const uint32_t implied = adjacent_above & adjacent_row & shared.row(0, band.y - 1, band.z - 1);
    FacingNodes& f = facing[1];
    f.starts = shared.node_starts[band.word - Tile::kBandsY];
    f.nodes_before = shared.nodes_before[band.word - Tile::kBandsY];
    const uint32_t begins = starts | f.starts;
    f.adjacent = ends_of_segments(adjacent_back, begins) & ~ends_of_segments(implied, begins);
  }

  // Calls visit(node, first voxel, parent) for each node of the thread. The parent is an adjacent
  // node, or the node itself if it has no adjacent node. Removes the pair of node and parent, and
  // all pairs that belong to nodes of other threads.
  template <class Visit>
  __device__ void pop_first_pairs(const Tile& shared, const Visit& visit) {
    uint32_t remaining_above = 0, remaining_back = 0;
    for_each_node(shared, word, [&](uint32_t node, uint32_t columns) {
      const uint32_t upper = row[0] & columns, lower = row[1] & columns;
      const uint32_t voxel = static_cast<uint32_t>(upper ? __ffs(static_cast<int>(upper)) - 1
                                                         : __ffs(static_cast<int>(lower)) + 31);
      // The lanes differ in which of the two bands is adjacent. The code selects values instead of
      // branching, so that the lanes do not diverge.
      const uint32_t above = facing[0].adjacent & columns, back = facing[1].adjacent & columns;
      const FacingNodes first = {above ? above : back, above ? facing[0].starts : facing[1].starts,
                                 above ? facing[0].nodes_before : facing[1].nodes_before};
      remaining_above |= above & (above - 1);
      remaining_back |= above ? back : back & (back - 1);
      const uint32_t parent = first.node(first.adjacent ^ (first.adjacent - 1));
      visit(node, band_voxel + voxel, first.adjacent ? parent : node);
    });
    facing[0].adjacent = remaining_above;
    facing[1].adjacent = remaining_back;
  }

  __device__ int count() const { return __popc(facing[0].adjacent) + __popc(facing[1].adjacent); }

  // Removes a pair and returns it in an encoded form. Bits 0 to 4: the column. Bit 5: 1 if the
  // earlier band is in the previous slice, 0 if it is above. Bits 6 to 15: the word.
  __device__ ushort2 pop() {
    const bool is_back = facing[0].adjacent == 0;
    const uint32_t adjacent = is_back ? facing[1].adjacent : facing[0].adjacent;
    const auto column = static_cast<uint32_t>(__ffs(static_cast<int>(adjacent)) - 1);
    const uint32_t remaining = adjacent & (adjacent - 1);
    facing[0].adjacent = is_back ? 0 : remaining;
    if (is_back) facing[1].adjacent = remaining;
    return make_ushort2(static_cast<uint16_t>(word << 6 | (is_back ? 32u : 0u) | column), 0);
  }
  // Returns the nodes of an encoded pair. The thread that merges the pair calls this, not the
  // thread that found it: the number of pairs found per thread varies, but the list is divided
  // evenly among threads.
  __device__ static ushort2 nodes(const Tile& shared, ushort2 pair) {
    const uint32_t up_to = regions::bits_up_to(static_cast<int>(pair.x & 31u));
    const uint32_t word = pair.x >> 6, other = word - (pair.x & 32u ? Tile::kBandsY : 1);
    const auto node = [&](uint32_t w) {
      return static_cast<uint16_t>(shared.nodes_before[w] + __popc(shared.node_starts[w] & up_to) -
                                   1);
    };
    return make_ushort2(node(word), node(other));
  }
};

// Merges the trees of nodes `a` and `b` in each lane with `is_needed`. The whole warp must call
// this function. Rem's algorithm with splicing: the larger of the two parents becomes a child of
// the smaller one, and the search for the roots continues from both. Measured with 6-connected
// noise with 50% foreground, 256^3 voxels (H200, 2026-11-22): lanes that advance together take 112
// µs (was 117 µs); one code path for linking and splicing takes 103.5 µs (was 109 µs). Voting only
// after every second step is 0.5% to 1% faster with 18 and 26 neighbours.
__device__ inline void merge_trees(uint32_t* parent, uint32_t a, uint32_t b, bool is_needed) {
  const volatile uint32_t* forest = parent;
  bool is_separate = is_needed;
  while (__any_sync(kAllLanes, is_separate)) {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const uint32_t parent_a = forest[a], parent_b = forest[b];
      const uint32_t larger = max(parent_a, parent_b), smaller = min(parent_a, parent_b);
      const uint32_t child = larger == parent_a ? a : b;
      const bool is_root = child == larger;
      is_separate = is_separate && larger != smaller;
      a = larger;
      b = smaller;
      if (is_separate) {
        // Any node with a smaller index may become the parent. The exchange fails if another warp
        // has changed the parent.
        const uint32_t seen = atomicCAS(parent + child, larger, smaller);
        if (is_root) a = seen;
        is_separate = !is_root || seen != larger;
      }
    }
  }
}

// When all trees are merged, the entry of a root stores the number of its component in its upper
// 16 bits.
__device__ inline uint32_t numbered_root(uint32_t root, uint32_t component) {
  return component << 16 | root;
}
__device__ inline uint32_t parent_node(uint32_t entry) { return entry & 0xffff; }
__device__ inline uint32_t component_of_root(uint32_t entry) { return entry >> 16; }

// Returns the root of each lane's node. The whole warp must call this function, after all trees are
// merged.
__device__ inline uint32_t root_of(const volatile uint32_t* parent, uint32_t node) {
  uint32_t root = parent_node(parent[node]), above = parent_node(parent[root]);
  while (__any_sync(kAllLanes, above != root)) {
    root = parent_node(parent[above]);
    above = parent_node(parent[root]);
  }
  return root;
}

// Empties the list of pairs. The whole block must call this function.
template <TileNodes Tile>
__device__ void clear_pairs(Tile& shared) {
  __syncthreads();  // all threads have read the list and its count
  if (threadIdx.x == 0) shared.pair_count = 0;
  __syncthreads();  // the count is 0 before any thread adds to it
}

// pop_entry() removes a pair and returns its list entry. nodes_of_entry() returns the nodes of a
// list entry.
__device__ inline ushort2 pop_entry(NodeAdjacency& pairs) {
  const uint2 nodes = pairs.pop();
  return make_ushort2(static_cast<uint16_t>(nodes.x), static_cast<uint16_t>(nodes.y));
}
template <TileNodes Tile>
__device__ ushort2 pop_entry(FaceAdjacency<Tile>& pairs) {
  return pairs.pop();
}
template <TileNodes Tile>
__device__ ushort2 nodes_of_entry(const Tile& shared, ushort2 entry) {
  return Tile::kIsFaceConnected ? FaceAdjacency<Tile>::nodes(shared, entry) : entry;
}

// Shortens the path of each node to its root by up to three links. The threads of the block share
// the nodes. A thread may read an entry that another thread changes, but the old parent is still an
// ancestor.
template <TileNodes Tile>
__device__ void shorten_paths(Tile& shared, uint32_t nodes) {
  const volatile uint32_t* forest = shared.parent;
  for (uint32_t node = threadIdx.x; node < nodes; node += Tile::kThreads) {
    const uint32_t parent = forest[node];
    uint32_t ancestor = parent;
#pragma unroll
    for (int step = 0; step < 3; ++step) ancestor = forest[ancestor];
    if (ancestor != parent) atomicExch(&shared.parent[node], ancestor);  // never true for a root
  }
}

// The pairs of a thread that are not yet in the list of pairs (SharedTile::pairs).
template <class C>
concept PairSource = requires(C& pairs) {
  { pairs.count() } -> std::convertible_to<int>;
  { pop_entry(pairs) } -> std::convertible_to<ushort2>;
};

// Merges the trees of the pairs of all threads. All threads put their pairs into the list
// SharedTile::pairs, which must be empty before. The entries are then divided evenly among the
// threads. This is repeated if the list cannot hold all pairs. Trees of 6-connected nodes are high,
// so their paths are shortened first if there are many pairs. Measured for 256^3 voxels (H200,
// 2026-11-22): 35.2 µs (was 36.3 µs) with 20% foreground; 46 µs (was 49 µs) with 50% foreground.
template <TileNodes Tile, PairSource Pairs>
__device__ void merge_pairs(Tile& shared, uint32_t nodes, Pairs& pairs) {
  constexpr uint32_t kFewPairs = 256;
  constexpr uint32_t kCapacity = Tile::kThreads * kPairsPerThread;
  const uint32_t lane = threadIdx.x % 32;
  ushort2* list = shared.pairs[0];
  while (true) {
    const auto count_of_thread = static_cast<uint32_t>(pairs.count());
    uint32_t index = reserve_entries(shared.pair_count, count_of_thread);
    const uint32_t stop = min(index + count_of_thread, kCapacity);
#pragma unroll 1  // lists are short
    for (; index < stop; ++index) {
      list[index] = pop_entry(pairs);
    }
    __syncthreads();  // the list is complete, and each node has a parent
    const uint32_t all = shared.pair_count, count = min(all, kCapacity);
    if (Tile::kIsFaceConnected && all > kFewPairs) {
      shorten_paths(shared, nodes);
      __syncthreads();  // all paths are shortened before trees are merged
    }
    for (uint32_t start = threadIdx.x - lane; start < count; start += Tile::kThreads) {
      const bool exists = start + lane < count;
      const ushort2 pair = nodes_of_entry(shared, list[exists ? start + lane : start]);
      merge_trees(shared.parent, pair.x, pair.y, exists);
    }
    if (all <= kCapacity) return;
    clear_pairs(shared);
  }
}

// Builds the trees of 18- and 26-connected nodes. The first pair of each node becomes a link
// without union-find, which saves 1.3 to 2.5 µs of 27 to 38 µs (256^3 voxels, noise with 20% to 50%
// foreground, 18-connected, H200, 2026-11-22). If there are few nodes, paths are shortened, which
// saves 0.3 µs of 22 µs (70% and 90% foreground).
template <Connectivity connectivity, TileNodes Tile>
__device__ void build_trees(Tile& shared, uint32_t nodes) {
  const BandPosition band =
      Tile::band_position(static_cast<int>(threadIdx.x) / Tile::kThreadsPerWord);
  const BandWords rows = shared.band_words(band);
  for_each_node(shared, band.word, [&](uint32_t node, uint32_t columns) {
    shared.parent[node] = node;
    shared.first_voxel[node] = static_cast<uint16_t>(shared.first_voxel_of(band, rows, columns));
  });
  __syncthreads();  // each node is a tree of one node
  // A task consists of one word and one neighbour band. Each thread processes several tasks, one
  // after another.
  constexpr int kTasks = Tile::kBands * BandNeighbours<connectivity>::count;
  static_assert(Tile::kBands % 32 == 0, "all lanes of a warp have the same neighbour band");
  static_assert(kTasks % Tile::kThreads == 0, "all threads take part");
  for (int i = static_cast<int>(threadIdx.x); i < kTasks; i += Tile::kThreads) {
    NodeAdjacency pairs;
    with_neighbour<connectivity>(i / Tile::kBands, [&](const BandNeighbour& neighbour) {
      pairs = NodeAdjacency(shared, Tile::band_position(i % Tile::kBands), neighbour);
    });
    if (i < Tile::kBands) {
      // Needs no atomics: at this point, only the thread of a node's word writes the node's parent.
      pairs.pop_first_pairs([&](uint32_t node, uint32_t other) { shared.parent[node] = other; });
    }
    if (i < Tile::kThreads && nodes <= 2 * Tile::kBands) {
      __syncthreads();  // all first links exist; trees are high, because words have one or two
                        // nodes
      shorten_paths(shared, nodes);
    }
    if (i >= Tile::kThreads) clear_pairs(shared);
    merge_pairs(shared, nodes, pairs);
  }
}

// Builds the trees of 6-connected nodes. Most nodes have an earlier adjacent node, which becomes
// their parent at once. Few pairs remain, and most of the remaining pairs are within one tree.
template <TileNodes Tile>
__device__ void build_face_connected_trees(Tile& shared, uint32_t nodes) {
  FaceAdjacency<Tile> pairs(
      shared, Tile::band_position(static_cast<int>(threadIdx.x) / Tile::kThreadsPerWord));
  pairs.pop_first_pairs(shared, [&](uint32_t node, uint32_t voxel, uint32_t parent) {
    shared.parent[node] = parent;
    shared.first_voxel[node] = static_cast<uint16_t>(voxel);
  });
  merge_pairs(shared, nodes, pairs);
}

// Sets `*minimum` to the smaller of itself and `value`. The result does not depend on the order of
// threads. Usually the first read shows that `value` is not smaller.
__device__ inline void atomic_min(uint16_t* minimum, uint16_t value) {
  uint16_t seen = *static_cast<const volatile uint16_t*>(minimum);
  while (value < seen) seen = atomicCAS(minimum, seen, value);
}

// Merges the nodes of the tile into components and numbers the components. pair_count and
// component_count must be 0 before.
template <TileNodes Tile, Connectivity connectivity>
__device__ void find_components(Tile& shared, uint32_t nodes) {
  if constexpr (Tile::kIsFaceConnected) {
    build_face_connected_trees(shared, nodes);
  } else {
    build_trees<connectivity>(shared, nodes);
  }
  __syncthreads();  // all trees are merged
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < nodes; start += Tile::kThreads) {
    const bool exists = start + lane < nodes;
    const uint32_t node = exists ? start + lane : start;
    const uint32_t root = root_of(shared.parent, node);
    const bool is_root = exists && root == node;
    const uint32_t roots = __ballot_sync(kAllLanes, is_root);
    const auto counted = static_cast<uint32_t>(__popc(roots & bits_up_to(static_cast<int>(lane))));
    uint32_t number = 0;  // the number depends on the order of warps; the labels do not
    if (lane == 31) number = atomicAdd(&shared.component_count, counted);
    number = __shfl_sync(kAllLanes, number, 31) + counted - 1;
    // The write is atomic because other warps may read the entry at the same time.
    if (exists) atomicExch(shared.parent + node, is_root ? numbered_root(root, number) : root);
    const bool is_earlier = shared.first_voxel[node] < shared.first_voxel[root];  // rarely true
    if (__any_sync(kAllLanes, is_earlier) && is_earlier) {
      atomic_min(&shared.first_voxel[root], shared.first_voxel[node]);
    }
  }
  __syncthreads();  // roots, their numbers and their first voxels are complete
}

// Finds the nodes of the tile. Returns their number.
template <Connectivity connectivity, TileNodes Tile>
__device__ uint32_t find_nodes(Tile& shared) {
  const auto i = static_cast<int>(threadIdx.x);
  uint32_t starts = 0, all;
  if (i < Tile::kBands) {
    const BandWords words = shared.band_words(Tile::band_position(i));
    shared.node_starts[i] = starts = words.starts(connectivity);
  }
  const uint32_t before = block_exclusive_sum<Tile::kThreads>(static_cast<uint32_t>(__popc(starts)),
                                                              shared.warp_sums, all);
  if (i < Tile::kBands) shared.nodes_before[i] = static_cast<uint16_t>(before);
  if (i == 0) shared.pair_count = shared.component_count = 0;
  __syncthreads();  // the nodes of all bands are known
  return all;
}

// Returns the id of a voxel, from its index in raster order of the tile.
template <class Shape>
__device__ uint32_t id_of_tile_voxel(const VolumeArrays& v, const VolumeTilePosition& tile,
                                     uint32_t voxel) {
  const auto row = static_cast<int>(voxel / 32);
  return v.id_of(tile.layer, tile.w, tile.y + row % Shape::rows, tile.z + row / Shape::rows,
                 static_cast<int>(voxel % 32));
}

// Writes the nodes of a class and their components to the buffers of VolumeArrays, and a root entry
// for each component.
template <class Shape, TileNodes Tile>
__device__ void write_nodes(Tile& shared, const VolumeArrays& v, const VolumeTilePosition& position,
                            int voxel_class, uint32_t nodes) {
  const uint32_t tile = tile_class_index(v, position.index, voxel_class),
                 begin = tile * Tile::kNodes;
  for (uint32_t node = threadIdx.x; node < nodes; node += Shape::threads) {
    const uint32_t root = parent_node(shared.parent[node]);
    const uint32_t number = component_of_root(shared.parent[root]);
    v.component_of_node[begin + node] = static_cast<uint16_t>(number);
    if (root != node) continue;
    const uint32_t voxel = shared.first_voxel[root], index = begin + number;
    v.forest[index] = make_entry(id_of_tile_voxel<Shape>(v, position, voxel), index);
    // Each thread sets a different bit, so the order of the atomics does not matter.
    atomicOr(&shared.component_starts[voxel / 32], 1u << voxel % 32);
  }
  const auto i = static_cast<int>(threadIdx.x);
  if (i == 0) {
    v.counts[tile] = {static_cast<uint16_t>(nodes), static_cast<uint16_t>(shared.component_count)};
  }
  const BandPosition band = Tile::band_position(i);
  const int y = position.y + band.y, z = position.z + band.z;
  if (i >= Tile::kBands || y >= v.layout.slice.height || z >= v.layout.slices) return;
  v.nodes[band_word_index(v, voxel_class, position.layer, position.w, y, z)] = {
      shared.node_starts[i], begin + shared.nodes_before[i]};
}

// Clears region_counts for merge_tiles(). All blocks of the grid share the work.
template <class Shape>
__device__ void clear_region_counts(const VolumeArrays& v, const VolumeTilePosition& tile) {
  const uint32_t step = gridDim.x * gridDim.y * gridDim.z * Shape::threads;
  for (uint32_t k = tile.index * Shape::threads + threadIdx.x; k < v.word_groups(); k += step) {
    v.region_counts[k] = 0;
  }
}

template <class Shape, Connectivity connectivity, class Reader>
__global__ __launch_bounds__(Shape::threads,
                             Shape::min_blocks) void label_tiles_kernel(Reader reader,
                                                                        ThresholdLevels thresholds,
                                                                        VolumeArrays v) {
  using Tile = SharedTile<Shape, connectivity>;
  __shared__ Tile shared;
  const VolumeTilePosition tile(v);
  const int i = static_cast<int>(threadIdx.x);
  pdl_trigger();
  clear_region_counts<Shape>(v, tile);
  shared.clear_halo();
  reader.template read<Shape>([&](int row, uint32_t word) { shared.tile_row(row) = word; }, v, tile,
                              thresholds.level[tile.layer]);
  if (i < Shape::words) shared.component_starts[i] = 0;
  __syncthreads();  // the tile's bits are complete
  const int y = tile.y + i % Shape::rows, z = tile.z + i / Shape::rows;
  const bool exists = i < Shape::words && y < v.layout.slice.height && z < v.layout.slices;
  const uint32_t index = v.word_index(v.layout.row({y, z, tile.layer}), tile.w);
  if (exists) v.bits[index] = shared.tile_row(i);
  for (int c = 0; c < v.classes; ++c) {
    if (c > 0) {
      __syncthreads();  // all threads have read the nodes and bits of the previous class
      if (i < Shape::words)
        shared.tile_row(i) = exists ? ~shared.tile_row(i) & valid_bits(v, tile.w) : 0;
      __syncthreads();  // the bits of the tile are now the background
    }
    const uint32_t nodes = find_nodes<connectivity>(shared);
    find_components<Tile, connectivity>(shared, nodes);
    write_nodes<Shape>(shared, v, tile, c, nodes);
  }
  __syncthreads();  // component_starts is complete
  if (!exists) return;
  v.component_starts[index] = shared.component_starts[i];
  v.region_starts[index] = shared.component_starts[i];
}

template <class Shape, Connectivity connectivity>
void launch_tiles(const LabelInput& input, const ThresholdLevels& thresholds,
                  const VolumeArrays& volume, cudaStream_t stream) {
  const dim3 grid = tile_grid(volume);
  if (VoxelByteReader::can_read(input)) {
    cclabel::set_carveout(label_tiles_kernel<Shape, connectivity, VoxelByteReader>,
                          volume.all_tiles());
    launch(label_tiles_kernel<Shape, connectivity, VoxelByteReader>, grid, Shape::threads, 0,
           stream, VoxelByteReader(input), thresholds, volume);
  } else {
    cclabel::set_carveout(label_tiles_kernel<Shape, connectivity, VoxelReader>, volume.all_tiles());
    launch(label_tiles_kernel<Shape, connectivity, VoxelReader>, grid, Shape::threads, 0, stream,
           VoxelReader(input), thresholds, volume);
  }
}

// Launches the kernel for 18- and 26-connectivity, with bands of two by two rows.
template <Connectivity connectivity>
void launch_diagonal_tiles(const LabelInput& input, const ThresholdLevels& thresholds,
                           const VolumeArrays& volume, cudaStream_t stream) {
  if (volume.all_tiles() <= cclabel::kFewTiles) {
    launch_tiles<VolumeTile, connectivity>(input, thresholds, volume, stream);
  } else {
    launch_tiles<FewRegistersTile, connectivity>(input, thresholds, volume, stream);
  }
}

}  // namespace

VolumeArrays with_geometry(VolumeArrays volume, const VolumeLayout& layout,
                           Connectivity connectivity) {
  const bool is_flat = !is_spatial(connectivity);
  const auto divide_up = [](int whole, int part) { return (whole + part - 1) / part; };
  volume.layout = layout;
  volume.connectivity = connectivity;
  volume.words = divide_up(layout.slice.width, 32);
  volume.row_word_divisor = Divisor(static_cast<uint32_t>(volume.words));
  volume.band_slices = slices_of_band(connectivity);
  volume.bands_y = divide_up(layout.slice.height, kBandRows);
  volume.bands_z = divide_up(layout.slices, volume.band_slices);
  volume.tile_rows = is_flat ? FlatTile::rows : VolumeTile::rows;
  volume.tile_slices = is_flat ? FlatTile::slices : VolumeTile::slices;
  volume.tiles_y = divide_up(layout.slice.height, volume.tile_rows);
  volume.tiles_z = divide_up(layout.slices, volume.tile_slices);
  return volume;
}

void label_tiles(const LabelInput& input, const ThresholdLevels& thresholds,
                 const VolumeArrays& volume, cudaStream_t stream) {
  switch (volume.connectivity) {
    // In a single slice, 6-connectivity is 4-connectivity, and 18 is 8.
    case Connectivity::four:
      return launch_tiles<FlatTile, Connectivity::six>(input, thresholds, volume, stream);
    case Connectivity::eight:
      return launch_tiles<FlatTile, Connectivity::eighteen>(input, thresholds, volume, stream);
    case Connectivity::six:
      if (volume.all_tiles() <= cclabel::kFewTiles) {
        return launch_tiles<ManyThreadsTile, Connectivity::six>(input, thresholds, volume, stream);
      }
      return launch_tiles<VolumeTile, Connectivity::six>(input, thresholds, volume, stream);
    case Connectivity::eighteen:
      return launch_diagonal_tiles<Connectivity::eighteen>(input, thresholds, volume, stream);
    default:
      return launch_diagonal_tiles<Connectivity::twenty_six>(input, thresholds, volume, stream);
  }
}

}  // namespace regions::volume
