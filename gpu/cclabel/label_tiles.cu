// Pass 1 for images: finds the runs and components of each tile, by union-find over runs in shared
// memory. One thread block labels one tile, independently of the other tiles.
#include "gpu/cclabel/image_runs.hpp"
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

// Loads rows of a tile for criterion=equal and criterion=difference. A warp loads a row of 32 *
// `words` pixels. load() starts the loads of 32-bit words; color() converts a loaded word to the
// colour of the lane's pixel. Pixels outside the image repeat the nearest pixel inside.
template <class Links, PixelPacking packing, int words>
class LinkRows {
 public:
  // (x, y) is the first pixel of the tile.
  __device__ LinkRows(const Links& links, int x, int y) : links_(links), x_(x), y_(y) {}

  // `row` is relative to the tile's first row.
  __device__ void load(int row, uint32_t (&loaded)[words]) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int y = max(min(y_ + row, links_.height() - 1), 0);
#pragma unroll
    for (int w = 0; w < words; ++w) {
      const int x = min(x_ + w * 32 + lane, links_.width() - 1);
      if constexpr (packing == PixelPacking::words) {
        loaded[w] = *reinterpret_cast<const uint32_t*>(links_.at(x, y));
      } else if constexpr (packing == PixelPacking::triples) {
        const auto* const packed = reinterpret_cast<const uint32_t*>(links_.at(x_, y));
        loaded[w] = packed[w * 24 + min(lane, 23)];
      } else {
        loaded[w] = links_.color(x, y);
      }
    }
  }
  __device__ uint32_t color(uint32_t loaded) const {
    if constexpr (packing == PixelPacking::triples) {
      const int first = static_cast<int>(threadIdx.x % 32) * 3;  // offset of the pixel in bytes
      const uint32_t low = __shfl_sync(kAllLanes, loaded, first / 4);
      const uint32_t high = __shfl_sync(kAllLanes, loaded, first / 4 + 1);
      loaded = __funnelshift_r(low, high, first % 4 * 8);
    }
    // Clears the highest byte, which belongs to the next pixel or is alpha.
    return packing == PixelPacking::other ? loaded : loaded & 0xffffffu;
  }

 private:
  const Links& links_;
  int x_, y_;
};

// Finds touching runs for criterion=equal and criterion=difference. One bit per pixel and direction
// says whether the pixel is linked to its neighbour in this direction.
template <class Shape, Connectivity connectivity, class Links>
class LinkAdjacency {
 public:
  using Tile = Shape;
  static constexpr int min_blocks = 4;
  static constexpr int kMaxPairs = 1024;
  struct Shared {
    // Bits: pixels that are linked to the pixel above, above left, above right.
    alignas(8) uint32_t up[Shape::all_words];
    alignas(8) uint32_t up_left[Shape::all_words];
    alignas(8) uint32_t up_right[Shape::all_words];
    int remaining;  // number of pairs of touching runs, without the first pair of each run
    uint32_t pair[kMaxPairs];  // run | run above << 16; complete if remaining <= kMaxPairs
  };

  __device__ LinkAdjacency(TileRuns<Shape>& runs, Shared& bits) : runs_(runs), link_bits_(bits) {}

  // Reads the tile whose first pixel is (x, y): fills the bits of `runs` and of Shared. Ends with a
  // barrier.
  __device__ void read(const Links& links, int x, int y) {
    if (threadIdx.x == 0) link_bits_.remaining = 0;
    switch (links.packing(x + Shape::width <= links.width())) {
      case PixelPacking::words:
        read_rows(LinkRows<Links, PixelPacking::words, Shape::words>(links, x, y), links, x, y);
        break;
      case PixelPacking::triples:
        read_rows(LinkRows<Links, PixelPacking::triples, Shape::words>(links, x, y), links, x, y);
        break;
      default:
        read_rows(LinkRows<Links, PixelPacking::other, Shape::words>(links, x, y), links, x, y);
    }
    __syncthreads();  // all bits are complete
  }

  __device__ uint32_t marked_starts() const { return 0; }

  // Sets the parent of each run to the first run above that touches it. Lists all other pairs of a
  // run and a run above that touches it.
  __device__ void link_to_first_neighbour(uint32_t* parent, const MarkedCounts&) const {
    runs_.for_each([&](int r, bool exists) {
      NeighbourIterator neighbours(*this, r, exists);
      const int first = neighbours.next();
      if (exists) parent[r] = static_cast<uint32_t>(first < 0 ? r : first);
      while (true) {
        const int run = neighbours.next();
        const uint32_t lanes_with_pair = __ballot_sync(kAllLanes, run >= 0);
        if (lanes_with_pair == 0) return;
        append_pairs(lanes_with_pair, static_cast<uint32_t>(r) | static_cast<uint32_t>(run) << 16);
      }
    });
  }

  __device__ void merge_remaining(uint32_t* parent) const {
    const int count = link_bits_.remaining;
    if (count > kMaxPairs) {
      return runs_.for_each([&](int r, bool exists) { merge_all(parent, r, exists); });
    }
    for_each_lane<Shape::threads>(count, [&](int i, bool exists) {
      const uint32_t pair = link_bits_.pair[i];
      unite(parent, pair & 0xffffu, pair >> 16, exists);
    });
  }

 private:
  // Appends the pairs of the lanes whose bit is set in `lanes_with_pair` to the list.
  __device__ void append_pairs(uint32_t lanes_with_pair, uint32_t pair) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    int index = lane == 0 ? atomicAdd(&link_bits_.remaining, __popc(lanes_with_pair)) : 0;
    index = __shfl_sync(kAllLanes, index, 0) + __popc(lanes_with_pair & bits_below(lane));
    if ((lanes_with_pair >> lane & 1) && index < kMaxPairs) link_bits_.pair[index] = pair;
  }
  // Merges run `r` with all runs above that it touches. A lane has one run and merges one pair per
  // step.
  __device__ void merge_all(uint32_t* parent, int r, bool exists) const {
    NeighbourIterator neighbours(*this, r, exists);
    while (__any_sync(kAllLanes, neighbours.unvisited != 0)) {
      const int run = neighbours.next();
      unite(parent, static_cast<uint32_t>(r), static_cast<uint32_t>(run), run >= 0);
    }
  }

  __device__ static uint64_t row_of(const uint32_t* words, int row) {
    static_assert(Shape::words == 2);
    const uint2 both = reinterpret_cast<const uint2*>(words)[row];
    return static_cast<uint64_t>(both.y) << 32 | both.x;
  }
  // Iterates over the runs above that touch a run, from left to right.
  struct NeighbourIterator {
    uint64_t unvisited;  // bits: linked pixels of the row above that have not been visited
    uint64_t starts;     // bits: first pixels of runs in the row above
    int before;          // number of runs of the tile that start before the row above

    __device__ NeighbourIterator(const LinkAdjacency& adjacency, int r, bool exists) {
      const int first = adjacency.runs_.first(r), last = adjacency.runs_.last(r);
      const int row = first / Shape::width;
      const uint64_t run_pixels =
          ~uint64_t{0} << first % Shape::width & ~uint64_t{0} >> (~last & (Shape::width - 1));
      const auto linked = [&](const uint32_t* bits) { return row_of(bits, row) & run_pixels; };
      const Shared& bits = adjacency.link_bits_;
      unvisited = linked(bits.up) | linked(bits.up_left) >> 1 | linked(bits.up_right) << 1;
      if (!exists) unvisited = 0;
      const int above = max(row - 1, 0);  // pixels of the first row have no links upwards
      starts = row_of(adjacency.runs_.run_starts, above);
      before = adjacency.runs_.runs_before[above * Shape::words];
    }
    // Returns the next run, or -1 at the end.
    __device__ int next() {
      if (unvisited == 0) return -1;
      const uint64_t pixel = unvisited & (0 - unvisited), up_to = pixel | (pixel - 1);
      const uint64_t later = starts & ~up_to;  // lowest bit: start of the following run
      unvisited &= ~((later & (0 - later)) - 1);
      return before + __popcll(starts & up_to) - 1;
    }
  };

  // The links of the 32 pixels of a word to their neighbours, one bit per pixel.
  struct Votes {
    uint32_t left = 0, up = 0, up_left = 0;
    uint32_t left_up = 0;  // the left neighbour is linked to the pixel above
  };

  // Finds the links of all pixels of the tile. Each warp loads some consecutive rows and keeps them
  // in registers, so that each pixel is loaded once and all loads are issued before the first
  // result is used. All lanes vote on links, even for pixels outside the image. Then each lane
  // takes one word and removes the links of pixels outside the image.
  template <class Rows>
  __device__ void read_rows(const Rows& rows, const Links& links, int x, int y) {
    constexpr int kRows = Shape::rows / (Shape::threads / 32),
                  kWords = kRows * Shape::words;  // numbers of rows and words that a warp reads
    static_assert(kWords <= 32);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first = static_cast<int>(threadIdx.x / 32) * kRows;
    uint32_t loaded[kRows + 1][Shape::words];  // [0] is the row above
#pragma unroll
    for (int k = 0; k <= kRows; ++k) rows.load(first + k - 1, loaded[k]);
    Row above(rows, loaded[0]);
    Votes lane_votes;
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const Row now(rows, loaded[k + 1]);
#pragma unroll
      for (int w = 0; w < Shape::words; ++w) {
        const auto vote = [&](uint32_t one, uint32_t other) {
          return __ballot_sync(kAllLanes, links(one, other));
        };
        Votes votes{vote(now.here[w], now.left[w]), vote(now.here[w], above.here[w])};
        if constexpr (connectivity == Connectivity::eight) {
          votes.up_left = vote(now.here[w], above.left[w]);
          votes.left_up = vote(now.left[w], above.here[w]);
        }
        if (lane == k * Shape::words + w) lane_votes = votes;
      }
      above = now;
    }
    const uint32_t next_left_up = __shfl_down_sync(kAllLanes, lane_votes.left_up, 1);
    if (lane < kWords)
      store_links(lane_votes, next_left_up, first * Shape::words + lane, links, x, y);
  }

  // Stores the links of one word, except links of pixels outside the image or the tile.
  __device__ void store_links(const Votes& votes, uint32_t next_left_up, int word,
                              const Links& links, int x, int y) {
    const int row = word / Shape::words, w = word % Shape::words;
    const int width = y + row < links.height() ? min(links.width() - x, Shape::width) : 0;
    const auto existing = [&](int at) {
      const int remaining = width - at * 32;
      return remaining <= 0 ? 0 : remaining >= 32 ? 0xffffffffu : bits_below(remaining);
    };
    const uint32_t here = existing(w), up = row > 0 ? here : 0;
    const uint32_t left = w > 0 ? here : here & ~1u;
    const uint32_t right = here >> 1 | existing(w + 1) << 31;
    runs_.foreground[word] = here;
    runs_.run_starts[word] = here & ~(votes.left & left);
    link_bits_.up[word] = votes.up & up;
    link_bits_.up_left[word] = votes.up_left & up & left;
    link_bits_.up_right[word] = (votes.left_up >> 1 | next_left_up << 31) & up & right;
  }

  // One row of the tile in registers: for each word, the colours of the lane's pixel and of its
  // left neighbour.
  struct Row {
    uint32_t left[Shape::words], here[Shape::words];

    template <class Rows>
    __device__ Row(const Rows& rows, const uint32_t (&loaded)[Shape::words]) {
      const int lane = static_cast<int>(threadIdx.x % 32);
      uint32_t before[Shape::words];  // `here` of the previous lane; lane 0 gets lane 31's
#pragma unroll
      for (int w = 0; w < Shape::words; ++w) {
        here[w] = rows.color(loaded[w]);
        before[w] = __shfl_sync(kAllLanes, here[w], (lane + 31) % 32);
        left[w] = lane == 0 && w > 0 ? before[w > 0 ? w - 1 : 0] : before[w];
      }
    }
  };

  TileRuns<Shape>& runs_;
  Shared& link_bits_;
};

// The shared memory of a block that labels a tile: its runs and the union-find forest over the
// runs.
template <RunAdjacency Adjacency>
struct TileForest {
  using Shape = typename Adjacency::Tile;
  TileRuns<Shape> runs;
  typename Adjacency::Shared adjacency;
  // [run] union-find forest; a root is the first run of its component.
  uint32_t parent[Shape::max_runs];
  uint32_t roots[Shape::max_runs / 32];  // bits by run: roots
  // Bits by run: roots of border components.
  uint32_t borders[Shape::max_runs / 32];
  // By word of `roots`: number of earlier roots of border components | number of other earlier
  // roots << 16.
  uint32_t roots_before[Shape::max_runs / 32];
  uint32_t component_starts[Shape::all_words];  // bits: first pixels of components
  uint32_t warp_sums[Shape::threads / 32];
};

// Sets the parent of each run to its root. Fills `roots` and `borders`.
template <RunAdjacency Adjacency>
__device__ void find_roots(TileForest<Adjacency>& shared, const ImageTiles& tiles,
                           const TilePosition& position) {
  using Shape = typename Adjacency::Tile;
  // The rows and columns of the tile that touch another tile; -1: at the edge of the image.
  const int top_row = position.row > 0 ? 0 : -1,
            bottom_row = position.row + 1 < tiles.tile_rows ? Shape::rows - 1 : -1;
  const int left_column = position.column > 0 ? 0 : -1;
  const int right_column = position.column + 1 < tiles.tile_columns ? Shape::width - 1 : -1;
  shared.runs.for_each([&](int r, bool exists) {
    const uint32_t root = flatten(shared.parent, static_cast<uint32_t>(r), exists);
    const int first = shared.runs.first(r), last = shared.runs.last(r), y = first / Shape::width;
    const bool at_border = y == top_row || y == bottom_row || first % Shape::width == left_column ||
                           last % Shape::width == right_column;
    const uint32_t bit = 1u << root % 32;
    if (at_border && !(shared.borders[root / 32] & bit)) atomicOr(&shared.borders[root / 32], bit);
    const bool is_root = exists && root == static_cast<uint32_t>(r);
    const uint32_t roots = __ballot_sync(kAllLanes, is_root);
    if (threadIdx.x % 32 == 0) shared.roots[r / 32] = roots;
  });
  __syncthreads();  // roots and borders are complete
}

// Numbers the components of the tile. Border components, which touch another tile, get the lowest
// numbers. Returns the number of border components | number of other components << 16.
template <RunAdjacency Adjacency>
__device__ uint32_t number_components(TileForest<Adjacency>& shared) {
  using Shape = typename Adjacency::Tile;
  static_assert(Shape::max_runs / 32 <= Shape::threads,
                "each thread has at most one word of roots");
  const int w = static_cast<int>(threadIdx.x), words = (shared.runs.count + 31) / 32;
  const uint32_t roots = w < words ? shared.roots[w] : 0,
                 borders = w < words ? shared.borders[w] : 0;
  const uint32_t counts = static_cast<uint32_t>(__popc(borders)) |
                          static_cast<uint32_t>(__popc(roots & ~borders)) << 16;
  uint32_t total;
  const uint32_t earlier = block_exclusive_sum<Shape::threads>(counts, shared.warp_sums, total);
  if (w < words) shared.roots_before[w] = earlier;
  __syncthreads();  // roots_before is complete
  return total;
}

// Writes the component of each run to `tiles`, and the first pixel and initial parent of each
// component.
template <RunAdjacency Adjacency>
__device__ void write_runs(TileForest<Adjacency>& shared, const ImageTiles& tiles,
                           const TilePosition& position, uint32_t counts) {
  using Shape = typename Adjacency::Tile;
  const size_t tile_begin = static_cast<size_t>(position.tile_index) * Shape::max_runs;
  const uint32_t border_count = counts & 0xffffu;
  shared.runs.for_each([&](int r, bool exists) {
    const uint32_t root = shared.parent[r], w = root / 32;
    const uint32_t lower_bits = bits_below(static_cast<int>(root % 32)),
                   borders = shared.borders[w];
    const bool is_border = borders >> root % 32 & 1;
    const uint32_t component =
        is_border ? (shared.roots_before[w] & 0xffffu) + __popc(borders & lower_bits)
                  : border_count + (shared.roots_before[w] >> 16) +
                        __popc(shared.roots[w] & ~borders & lower_bits);
    if (exists) tiles.component_of_run[tile_begin + r] = static_cast<uint16_t>(component);
    if (!exists || root != static_cast<uint32_t>(r)) return;
    const int first = shared.runs.first(r);
    tiles.first_pixel[tile_begin + component] = static_cast<uint16_t>(first);
    atomicOr(&shared.component_starts[first / 32], 1u << first % 32);
    const uint32_t id = position.id(tiles, first);
    if (is_border) tiles.parent[id] = id;
  });
}

// Writes the component ids of the pixels along the tile's four edges to `tiles`.
template <RunAdjacency Adjacency>
__device__ void write_edges(const TileForest<Adjacency>& shared, const ImageTiles& tiles,
                            const TilePosition& position) {
  using Shape = typename Adjacency::Tile;
  constexpr int kTopAndBottom = 2 * Shape::width;
  for (int i = static_cast<int>(threadIdx.x); i < kTopAndBottom + 2 * Shape::rows;
       i += Shape::threads) {
    int x, y;
    uint32_t* to;
    if (i < kTopAndBottom) {
      const bool is_top = i < Shape::width;
      x = i % Shape::width;
      y = is_top ? 0 : Shape::rows - 1;
      to = (is_top ? tiles.top_edge : tiles.bottom_edge) +
           static_cast<size_t>(position.row) * tiles.stride + position.x + x;
    } else {
      const bool is_left = i < kTopAndBottom + Shape::rows;
      x = is_left ? 0 : Shape::width - 1;
      y = (i - kTopAndBottom) % Shape::rows;
      if (position.y + y >= tiles.size.height) continue;
      to = (is_left ? tiles.left_edge : tiles.right_edge) +
           static_cast<size_t>(position.column) * tiles.size.height + position.y + y;
    }
    uint32_t id = kNone;
    if (shared.runs.is_foreground(x, y)) {
      const auto root = static_cast<int>(shared.parent[shared.runs.run_at(x, y)]);
      id = position.id(tiles, shared.runs.first(root));
    }
    *to = id;
  }
}

// Writes foreground, run_starts, runs_before and region_starts of each word to `tiles`, and the
// counts of the tile.
template <RunAdjacency Adjacency>
__device__ void write_words_of_tile(const TileForest<Adjacency>& shared, const ImageTiles& tiles,
                                    const TilePosition& position, uint32_t counts) {
  using Shape = typename Adjacency::Tile;
  for (int w = static_cast<int>(threadIdx.x); w < Shape::all_words; w += Shape::threads) {
    const size_t index = static_cast<size_t>(position.tile_index) * Shape::all_words + w;
    tiles.foreground[index] = shared.runs.foreground[w];
    tiles.run_starts[index] = shared.runs.run_starts[w];
    tiles.runs_before[index] = shared.runs.runs_before[w];
    const int y = position.y + w / Shape::words;
    if (y >= tiles.size.height) continue;
    const size_t word =
        static_cast<size_t>(y) * (tiles.stride / 32) + position.x / 32 + w % Shape::words;
    tiles.region_starts[word] = shared.component_starts[w];
  }
  if (threadIdx.x != 0) return;
  const uint32_t border = counts & 0xffffu, components = border + (counts >> 16);
  tiles.counts[position.tile_index] = {static_cast<uint16_t>(shared.runs.count),
                                       static_cast<uint16_t>(components),
                                       static_cast<uint16_t>(border), 0};
  tiles.region_count[position.tile_index] = components;
}

template <RunAdjacency Adjacency, class Reader>
__global__ __launch_bounds__(Adjacency::Tile::threads,
                             Adjacency::min_blocks) void label_tiles_kernel(Reader reader,
                                                                            ImageTiles tiles) {
  using Shape = typename Adjacency::Tile;
  __shared__ TileForest<Adjacency> shared;
  const TilePosition position = tile_of_block(tiles);
  Adjacency adjacency(shared.runs, shared.adjacency);
  for (int w = static_cast<int>(threadIdx.x); w < Shape::all_words; w += Shape::threads)
    shared.component_starts[w] = 0;
  for (int w = static_cast<int>(threadIdx.x); w < Shape::max_runs / 32; w += Shape::threads)
    shared.borders[w] = 0;
  pdl_trigger();
  adjacency.read(reader, position.x, position.y);
  merge_runs(shared.runs, shared.warp_sums, shared.parent, adjacency);
  find_roots(shared, tiles, position);
  const uint32_t counts = number_components(shared);
  write_runs(shared, tiles, position, counts);
  __syncthreads();  // component_starts is complete
  write_words_of_tile(shared, tiles, position, counts);
  write_edges(shared, tiles, position);
}

template <RunAdjacency Adjacency, class Reader>
void launch_tiles(const LabelInput& input, const ImageTiles& tiles, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.tile_columns),
                  static_cast<unsigned>(tiles.tile_rows));
  launch(label_tiles_kernel<Adjacency, Reader>, grid, Adjacency::Tile::threads, 0, stream,
         Reader(input), tiles);
}

}  // namespace

void label_tiles(const LabelInput& input, const ImageTiles& tiles, Connectivity connectivity,
                 cudaStream_t stream) {
  with_connectivity(connectivity, [&]<Connectivity c>() {
    using Bytes = ForegroundAdjacency<BinaryTile, c, ByteReader>;
    using Pixels = ForegroundAdjacency<BinaryTile, c, PixelReader>;
    using Colors = LinkAdjacency<LinkedTile, c, ByteLinks>;
    using Numbers = LinkAdjacency<LinkedTile, c, NumberLinks>;
    if (input.criterion != Criterion::binary) {
      if (input.frame.layout.sample_bytes == 1) {
        launch_tiles<Colors, ByteLinks>(input, tiles, stream);
      } else {
        launch_tiles<Numbers, NumberLinks>(input, tiles, stream);
      }
    } else if (ByteReader::can_read(input)) {
      launch_tiles<Bytes, ByteReader>(input, tiles, stream);
    } else {
      launch_tiles<Pixels, PixelReader>(input, tiles, stream);
    }
  });
}

}  // namespace regions::cclabel
