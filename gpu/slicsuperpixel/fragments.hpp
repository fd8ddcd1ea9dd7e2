// The fragments of superpixels on the GPU, and the data of the rounds that merge small fragments. A
// fragment is a connected set of a cluster's pixels. In a merge round, each small fragment chooses
// a neighbouring fragment and merges into it. An edge is a pair of fragments that touch; the rounds
// process lists of edges and lists of small fragments. The edges of a tile are its outermost rows
// and columns of pixels.
//
// The picture is divided into tiles. A fragment consists of one or more components in each tile
// that it touches. The components of a tile are numbered from 0, in arbitrary order. The id of a
// component is computed from its tile and its number. Results do not depend on ids, because first
// pixels decide every tie.
//
// Arrays that are indexed by id keep the data of a tile's components together. If they were indexed
// by first pixel, the data would be spread over the whole array and would not stay in the cache.
#pragma once

#include <cuda_runtime_api.h>

#include "core/slicsuperpixel/fragments.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::slicsuperpixel {

// A tile of the picture, processed by one block.
struct FragmentTile {
  static constexpr int width = 64;
  static constexpr int rows = 64;
  static constexpr int pixels = width * rows;
  static constexpr int threads = 256;
  // Maximum number of components whose sums are in shared memory.
  static constexpr int max_shared_sums = 512;
};

// Launch parameters of the merge rounds. The first rounds are wide: each of them runs two kernels
// with many blocks. The first kernel merges fragments into the fragments that they have chosen, the
// second kernel chooses again. A single kernel runs the remaining rounds. It uses one block if few
// fragments remain, else several blocks, for example in noise.
struct MergeRounds {
  static constexpr int wide = 2;       // maximum number of wide rounds
  static constexpr int threads = 256;  // threads per block of wide rounds
  // Numbers of blocks of the first and of the second kernel of a wide round.
  static unsigned follow_blocks() { return 4 * multiprocessors(); }
  static unsigned choose_blocks() { return 8 * multiprocessors(); }
  // No further wide round is run if at most `few_edges` edges and `few_small` small fragments
  // remain.
  static constexpr int few_edges = 4096, few_small = 2048;
  static constexpr int last_threads = 1024;  // threads per block for the remaining rounds
  static constexpr int last_edges = 1024;    // edges per block for the remaining rounds
  // Maximum number of blocks for the remaining rounds. The other multiprocessors are left for the
  // kernels of other frames.
  static int max_blocks() { return static_cast<int>(multiprocessors() / 2); }
};

// Number of lists of small fragments, and number of lists of edges. make_first_choices() writes the
// first list, and each wide round writes the list for the next round.
inline constexpr int kMergeLists = MergeRounds::wide + 1;
// The lengths of the lists, and counters of the remaining rounds. The kernel that writes the
// cluster codes sets them to zero.
struct MergeCounts {
  // Number of edges on each list. It may exceed edge_capacity(), because edges that do not fit are
  // counted but not stored.
  uint32_t edges[kMergeLists] = {};
  uint32_t small[kMergeLists] = {};  // number of small fragments on each list
  uint32_t last_choice = 0;  // number of the last grid barrier before which a fragment chose
  uint32_t arrivals = 0;     // number of arrivals of blocks at grid barriers

  REGIONS_HD bool has_few(int round) const {
    return edges[round] <= MergeRounds::few_edges && small[round] <= MergeRounds::few_small;
  }
  // Returns the number of wide rounds, which end when few edges and small fragments remain.
  REGIONS_HD int wide_rounds() const {
    int round = 0;
    while (round < MergeRounds::wide && !has_few(round)) ++round;
    return round;
  }
};

// The fragments of one frame, in device memory.
struct Fragments {
  Size size;    // size of the picture
  int stride;   // pixels per row: columns * FragmentTile::width
  int columns;  // number of columns of tiles
  int rows;     // number of rows of tiles

  uint16_t* component;  // [height][stride] component number of each pixel
  uint32_t* count;      // [tiles] number of components in each tile

  // The component ids of the pixels at the four edges of each tile.
  uint32_t* top;     // [rows][stride]
  uint32_t* bottom;  // [rows][stride]
  uint32_t* left;    // [columns][height]
  uint32_t* right;   // [columns][height]

  // [tiles][2], for the left and the upper edge of each tile: how many of the two tiles at this
  // edge have called announce_tile(). It is 0 before and after a frame.
  uint32_t* arrivals;

  // Arrays indexed by id. `parent` is a union-find forest. At first each tree contains the
  // components of one fragment; when fragments are merged, their trees are joined. The sums of a
  // fragment are stored at its root.
  uint32_t* parent;
  uint32_t* first_pixel;  // first pixel of the fragment, y * stride + x
  Fragment* sums;         // area and colour sums of the fragment
  // [RetentionRule::kRanks] number of fragments of each rank; 0 between frames
  uint32_t* rank_histogram;
  uint32_t* min_rank;  // lowest retained rank, see RetentionRule::bound()
  // Key of the best choice of a fragment so far, see choice_of(). Even and odd rounds use different
  // arrays.
  unsigned long long* choice[2];

  MergeCounts* counts;
  uint2* edges[kMergeLists];     // [edge_capacity()] roots of two fragments; equal if not needed
  uint32_t* small[kMergeLists];  // [small_capacity()] roots of small fragments
  int merge_blocks;              // maximum number of blocks of the remaining merge rounds

  // [height][stride / 32] one bit per pixel, set at the first pixels of superpixels
  uint32_t* first_pixel_bits;
  // [height][tile_row_pitch()] bytes, number of first pixels in each row of each tile
  uint32_t* tile_row_counts;
  uint32_t* row_counts;  // [height] number of first pixels in each row
  uint32_t* total;       // [1] number of superpixels

  REGIONS_HD size_t tiles() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(rows);
  }
  REGIONS_HD uint32_t tile_row_pitch() const {
    return (static_cast<uint32_t>(columns) + 15) / 16 * 16;
  }
  size_t ids() const { return tiles() * FragmentTile::pixels; }
  // Returns the id of component `number` of a tile. Numbers below FragmentTile::max_shared_sums get
  // the lowest ids in all tiles; few tiles have higher numbers.
  REGIONS_HD uint32_t id(int tile, uint32_t number) const {
    constexpr uint32_t kSharedSums = FragmentTile::max_shared_sums,
                       kOthers = FragmentTile::pixels - kSharedSums;
    const auto tile_index = static_cast<uint32_t>(tile);
    if (number < kSharedSums) return tile_index * kSharedSums + number;
    return static_cast<uint32_t>(tiles()) * kSharedSums + tile_index * kOthers + number -
           kSharedSums;
  }
  // Returns the capacity of a list of edges. The first list can hold every pair of touching pixels,
  // and pairs across the edges of tiles twice. Later lists are large enough for all pictures except
  // noise. If a list overflows, the previous list is used instead.
  REGIONS_HD size_t edge_capacity(int list) const {
    if (list > 0) return size.area() / 8 + 64;
    return 2 * size.area() + static_cast<size_t>(rows) * static_cast<size_t>(stride) +
           static_cast<size_t>(columns) * static_cast<size_t>(size.height);
  }
  // Returns the capacity of a list of small fragments. At most half of the small fragments remain
  // after each round.
  REGIONS_HD size_t small_capacity(int list) const { return (size.area() >> list) + 1; }

#ifdef __CUDACC__
  // Returns the index of a pixel in `component`.
  __device__ uint32_t pixel_at(int x, int y) const {
    return static_cast<uint32_t>(y) * static_cast<uint32_t>(stride) + static_cast<uint32_t>(x);
  }
  // Returns the id of the component of the pixel with index `pixel`.
  __device__ uint32_t id_at(uint32_t pixel) const {
    const auto width = static_cast<uint32_t>(stride);
    const int x = static_cast<int>(pixel % width), y = static_cast<int>(pixel / width);
    return id(y / FragmentTile::rows * columns + x / FragmentTile::width, component[pixel]);
  }
  // Returns the root of component `id`. Other threads may link roots at the same time.
  __device__ uint32_t find_root(uint32_t id) const {
    const volatile uint32_t* up = parent;
    uint32_t above = up[id];
    while (above != id) {
      id = above;
      above = up[id];
    }
    return id;
  }
  // Loads sums that other blocks may have written. The load therefore bypasses the L1 cache.
  __device__ Fragment load_sums(uint32_t id) const {
    static_assert(sizeof(Fragment) == sizeof(uint4));
    const uint4 words = __ldcg(reinterpret_cast<const uint4*>(sums + id));
    return {words.x, {words.y, words.z, words.w}};
  }
  // Adds `other` to the sums of root `id`. Integers are added, so the order of atomics does not
  // matter.
  __device__ void add(uint32_t id, const Fragment& other) const {
    atomicAdd(&sums[id].area, other.area);
    for (int c = 0; c < 3; ++c) atomicAdd(&sums[id].color[c], other.color[c]);
  }
#endif
};

#ifdef __CUDACC__

// The tile of the current block and the number of its components.
struct TileOfBlock {
  int column, row;
  int left, top;   // position of the tile in the picture
  int tile;        // index of the tile
  uint32_t count;  // number of components of the tile

  __device__ explicit TileOfBlock(const Fragments& fragments)
      : column(static_cast<int>(blockIdx.x)), row(static_cast<int>(blockIdx.y)) {
    left = column * FragmentTile::width;
    top = row * FragmentTile::rows;
    tile = row * fragments.columns + column;
    count = fragments.count[tile];
  }
  __device__ uint32_t id(const Fragments& fragments, uint32_t number) const {
    return fragments.id(tile, number);
  }
};

#endif

// Returns the dimensions of a CUDA grid with one block per tile.
inline dim3 tile_grid(const Fragments& fragments) {
  return {static_cast<unsigned>(fragments.columns), static_cast<unsigned>(fragments.rows)};
}

// A pixel at the edge of a tile and its neighbour in the next tile. The sides 0..3 of a tile are
// left, right, above and below. `i` is the position of the pixel along the side.
struct TileEdge {
  static constexpr int kSides = 4;
  int x, y;             // position of the pixel in the tile
  bool exists;          // true if the pixel and its neighbour are in the picture
  uint32_t* component;  // the entry for this pixel in Fragments::left, right, top, bottom
  const uint32_t* other_component;  // the entry for the neighbour

#ifdef __CUDACC__
  __device__ TileEdge(const Fragments& fragments, int column, int row, int side, int i) {
    using Tile = FragmentTile;
    const bool is_left_or_right = side < 2, is_right_or_below = side % 2 == 1;
    x = is_left_or_right ? (is_right_or_below ? Tile::width - 1 : 0) : i;
    y = is_left_or_right ? i : (is_right_or_below ? Tile::rows - 1 : 0);
    const int picture_x = column * Tile::width + x, picture_y = row * Tile::rows + y;
    const int step = is_right_or_below ? 1 : -1;
    const int next_x = picture_x + (is_left_or_right ? step : 0),
              next_y = picture_y + (is_left_or_right ? 0 : step);
    exists = picture_x < fragments.size.width && picture_y < fragments.size.height && next_x >= 0 &&
             next_y >= 0 && next_x < fragments.size.width && next_y < fragments.size.height;
    const size_t line = static_cast<size_t>(is_left_or_right ? column : row);
    const size_t length =
        static_cast<size_t>(is_left_or_right ? fragments.size.height : fragments.stride);
    const size_t offset = static_cast<size_t>(is_left_or_right ? picture_y : picture_x);
    uint32_t* const low_side = is_left_or_right ? fragments.left : fragments.top;
    uint32_t* const high_side = is_left_or_right ? fragments.right : fragments.bottom;
    component = (is_right_or_below ? high_side : low_side) + line * length + offset;
    other_component =
        (is_right_or_below ? low_side + (line + 1) * length : high_side + (line - 1) * length) +
        offset;
  }
#endif
};

// A series of merge rounds that merges all fragments with an area below `min_size`, by the rule of
// core/slicsuperpixel/fragments.hpp.
//
// The choices of a round form chains: a small fragment chooses a second fragment, which chooses a
// third one, and so on. A chain ends in a fragment that is not small, or in two fragments that
// chose each other. (Longer cycles are impossible, because the distance is the same in both
// directions, and the first pixel decides a tie.) The thread of a small fragment follows the chain
// to its end without writing. It then adds the fragment's sums to the last fragment and makes the
// last fragment the parent. Other threads may do this at the same time; their links can only
// shorten the path to the end. The order of threads therefore does not change which fragments are
// merged.
struct MergePass {
  Fragments fragments;
  SlicScale scale;
  uint32_t min_size;  // fragments with a smaller area are small

#ifdef __CUDACC__
  // The fragments with the roots a and b touch. Offers b to a as a choice if a is small, and a to b
  // if b is small. Returns true if at least one of the fragments is small. The order of atomicMin
  // does not matter, because a minimum does not depend on the order.
  __device__ bool offer_choices(uint32_t a, uint32_t b, int parity) const {
    const Fragment one = fragments.load_sums(a), other = fragments.load_sums(b);
    const bool small = one.area < min_size, small_other = other.area < min_size;
    if (!small && !small_other) return false;
    // Usually neither fragment is small, so first pixels are loaded only here.
    const uint32_t first = __ldcg(fragments.first_pixel + a),
                   first_other = __ldcg(fragments.first_pixel + b);
    const uint32_t distance = fragment_distance(one, other, scale);
    unsigned long long* const choice = fragments.choice[parity];
    if (small) atomicMin(choice + a, choice_of(distance, first_other));
    if (small_other) atomicMin(choice + b, choice_of(distance, first));
    return true;
  }

  // The root of a fragment in a chain, and the choice of the fragment.
  struct ChainLink {
    uint32_t id;
    unsigned long long choice;
  };
  __device__ ChainLink link_at(uint32_t id, int parity) const {
    return {id, __ldcg(fragments.choice[parity] + id)};
  }
  // Returns the next link of the chain. Returns `link` itself if its fragment has no choice, or if
  // the fragment that it chose has already been merged into it.
  __device__ ChainLink next_link(const ChainLink& link, int parity) const {
    if (link.choice == kNoChoice) return link;
    const volatile uint32_t* const parent = fragments.parent;
    // The id is usually a root, so its choice is loaded at the same time as its parent.
    for (uint32_t id = fragments.id_at(static_cast<uint32_t>(link.choice));;) {
      const ChainLink next = link_at(id, parity);
      const uint32_t above = parent[id];
      if (above == id) return next;
      id = above;
    }
  }
  // Returns the root into which the fragments of the chain are merged. If the chain ends in two
  // fragments that chose each other, it is the root with the smaller id.
  __device__ uint32_t end_of_chain(uint32_t a, int parity) const {
    ChainLink at = link_at(a, parity), next = next_link(at, parity);
    while (next.id != at.id) {
      const ChainLink beyond = next_link(next, parity);
      if (beyond.id == next.id) return next.id;
      if (beyond.id == at.id) return at.id < next.id ? at.id : next.id;
      at = next;
      next = beyond;
    }
    return at.id;
  }
  // Links root `a` to the end of its chain and adds its sums there.
  __device__ void follow_chain(uint32_t a, int parity) const {
    // Other threads can add to the sums of `a` at the same time only if `a` is the end of a chain.
    // In this case the loaded sums are not used.
    const Fragment sums = fragments.load_sums(a);
    const uint32_t first = __ldcg(fragments.first_pixel + a);
    const uint32_t end = end_of_chain(a, parity);
    if (end == a) return;
    *static_cast<volatile uint32_t*>(fragments.parent + a) = end;
    fragments.add(end, sums);
    atomicMin(fragments.first_pixel + end, first);
  }
#endif
};

// The lists of edges and of small fragments that a round reads.
struct MergeLists {
  uint2* edges;
  uint32_t* small;
  uint32_t edge_count, small_count;

#ifdef __CUDACC__
  // Selects the lists of round `round`. If its list of edges has overflowed, uses the latest
  // earlier list that has not.
  __device__ MergeLists(const Fragments& fragments, const MergeCounts& counts, int round) {
    small = fragments.small[round];
    small_count = counts.small[round];
    int list = round;
    while (counts.edges[list] > fragments.edge_capacity(list)) --list;
    edges = fragments.edges[list];
    edge_count = counts.edges[list];
  }
#endif
};

// Links every component directly to its root and empties the lists of edges and small fragments,
// because make_first_choices() requires this. Called between two series of merge rounds.
void flatten_fragments(const Fragments& fragments, cudaStream_t stream);
// Marks the fragments that `rule` retains and deletes their choices. Before the call, all fragments
// smaller than rule.certain must have chosen a neighbour.
void mark_retained(const Fragments& fragments, const RetentionRule& rule, cudaStream_t stream);
// Lists the small fragments and their contacts, and finds their first choices.
void make_first_choices(const MergePass& pass, cudaStream_t stream);

}  // namespace regions::slicsuperpixel
