// Finds fragments on the GPU. Each block finds the connected components of equal cluster codes in
// one tile, sums their areas and colours, and merges them with components of neighbouring tiles.
//
// A thread handles a segment of 16 neighbouring pixels of a row. Two words with one bit per pixel
// say where runs of equal codes start, and which pixels have the same code as the pixel above. Runs
// are numbered in raster order, so that threads can share them evenly. A run is linked to the first
// run that it touches in the row above. Trees have to be united only if the run touches further
// runs there, like the bottom of a U. A contact is a place where two runs, or two components of
// neighbouring tiles, touch.
#include <cuda/atomic>

#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/assign.hpp"
#include "gpu/slicsuperpixel/fragments.hpp"

namespace regions::slicsuperpixel {
namespace {

using Tile = FragmentTile;
constexpr int kGatherThreads = 128;

constexpr int kSegmentPixels = 16;  // pixels per thread
// Number of segments per row of the tile.
constexpr int kSegmentsPerRow = Tile::width / kSegmentPixels;
static_assert(Tile::threads * kSegmentPixels == Tile::pixels);

// The runs of a tile and their union-find forest, in shared memory.
struct TileForest {
  alignas(16) uint8_t codes[Tile::rows][Tile::width];
  // [run], number of the parent run; number_roots() adds the component number << 16
  uint32_t parent[Tile::pixels];
  uint16_t start_pixel[Tile::pixels];  // [run], first pixel of the run, as raster index in the tile
  uint16_t starts[Tile::threads];      // [segment], one bit per pixel, set at first pixels of runs
  uint16_t runs_before[Tile::threads];  // [segment], number of runs that start in earlier segments
  // [..][component]. Row 0 contains area << 20 | sum of colour component 1. Rows 1 and 2 contain
  // the sums of colour components 0 and 2.
  uint32_t component_sums[3][Tile::max_shared_sums];
  uint32_t warp_runs[Tile::threads / 32];  // [warp], number of runs that start in its segments
  uint32_t run_count;                      // number of runs in the tile
  uint32_t component_count;                // number of components in the tile

  __device__ bool is_root(int run) const {
    return (parent[run] & 0xffff) == static_cast<uint32_t>(run);
  }
  __device__ int component(int run) const { return static_cast<int>(parent[run] >> 16); }
  // Returns the number of the run that contains pixel `bit` of the segment of thread `thread`. The
  // run may start to the left of the segment.
  __device__ int run_at(int thread, int bit) const {
    return runs_before[thread] + __popc(starts[thread] & bits_up_to(bit)) - 1;
  }
};

// The position of segment `number` of the tile. Segments are numbered in raster order.
struct SegmentPosition {
  int x, y;   // first pixel of the segment, in the picture
  int count;  // number of pixels inside the picture

  __device__ SegmentPosition(const Size& size, int left_of_tile, int top_of_tile, int number)
      : x(left_of_tile + number % kSegmentsPerRow * kSegmentPixels),
        y(top_of_tile + number / kSegmentsPerRow) {
    count = y < size.height ? min(max(size.width - x, 0), kSegmentPixels) : 0;
  }
};

// The segment of a thread.
struct Segment : SegmentPosition {
  uint32_t starts;  // one bit per pixel, set if a run starts there
  // One bit per pixel, set if the pixel above is in this tile and has the same code.
  uint32_t same_as_above;
  // True if the first pixel, its left neighbour, and the pixels above these two have the same code.
  bool continues_left;

  using Codes = uint4;  // the cluster codes of the 16 pixels of a segment
  static_assert(sizeof(Codes) == kSegmentPixels);

  // Returns a word in which bit k is set if byte k of a differs from byte k of b. Codes have four
  // bits, so no carry reaches the next byte.
  __device__ static uint32_t difference_bits(uint32_t a, uint32_t b) {
    return (((a ^ b) + 0x0f0f0f0fu) & 0x10101010u) * 0x01020408u >> 28;
  }
  __device__ static uint32_t difference_bits(const Codes& a, const Codes& b) {
    return difference_bits(a.x, b.x) | difference_bits(a.y, b.y) << 4 |
           difference_bits(a.z, b.z) << 8 | difference_bits(a.w, b.w) << 12;
  }

  // Reads the tile's codes. Codes outside the picture are arbitrary.
  __device__ Segment(const TileForest& forest, const SegmentPosition& position)
      : SegmentPosition(position) {
    const int thread = static_cast<int>(threadIdx.x);
    const auto* const segments = reinterpret_cast<const Codes*>(forest.codes);
    const uint32_t inside = bits_below(count);
    const bool has_row_above = thread >= kSegmentsPerRow;
    const Codes here = segments[thread],
                above = has_row_above ? segments[thread - kSegmentsPerRow] : Codes{};
    uint32_t last = __shfl_up_sync(kAllLanes, here.w >> 24, 1);
    // For the first segment of a row, the shuffled code belongs to the previous row. It is
    // replaced, because it may be arbitrary and could produce a carry.
    if (thread % kSegmentsPerRow == 0) last = 0;
    const Codes left = {here.x << 8 | last, here.y << 8 | here.x >> 24, here.z << 8 | here.y >> 24,
                        here.w << 8 | here.z >> 24};
    const uint32_t same_as_left =
        ~difference_bits(here, left) & (thread % kSegmentsPerRow > 0 ? inside : inside & ~1u);
    same_as_above = has_row_above ? ~difference_bits(here, above) & inside : 0;
    const uint32_t left_same_as_above = __shfl_up_sync(kAllLanes, same_as_above, 1);
    continues_left = (same_as_left & 1) && (left_same_as_above >> (kSegmentPixels - 1) & 1);
    starts = inside & ~same_as_left;
  }
};

// Numbers the runs. All threads of the block must call this function, which ends with a barrier.
__device__ inline void find_runs(TileForest& forest, const Segment& segment) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto run_count = static_cast<uint32_t>(__popc(segment.starts));
  const uint32_t inclusive_sum = warp_inclusive_sum(run_count);
  if (thread % 32 == 31) forest.warp_runs[thread / 32] = inclusive_sum;
  __syncthreads();  // warp_runs is complete
  uint32_t run = inclusive_sum - run_count;
  uint32_t all = 0;
#pragma unroll
  for (int w = 0; w < Tile::threads / 32; ++w) {
    if (w < thread / 32) run += forest.warp_runs[w];
    all += forest.warp_runs[w];
  }
  forest.starts[thread] = static_cast<uint16_t>(segment.starts);
  forest.runs_before[thread] = static_cast<uint16_t>(run);
  for (uint32_t bits = segment.starts; bits != 0; bits &= bits - 1) {
    forest.start_pixel[run++] =
        static_cast<uint16_t>(kSegmentPixels * thread + __ffs(static_cast<int>(bits)) - 1);
  }
  if (thread == 0) forest.run_count = all;
  __syncthreads();  // starts, runs_before, start_pixel and run_count are written
}

// Distributes the runs over the threads of the block and calls visit(run, exists) for each run. All
// lanes of a warp make the same number of calls; `exists` is false for numbers after the last run.
template <class Visit>
__device__ void for_each_run(const TileForest& forest, Visit visit) {
  const auto lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < forest.run_count; start += Tile::threads) {
    visit(static_cast<int>(start + lane), start + lane < forest.run_count);
  }
}

// Links each run that starts in the segment to the first run that it touches in the row above. If
// it touches none, it becomes a root. Returns the remaining contacts with the row above, as one bit
// per pixel of the segment.
__device__ inline uint32_t link_runs(TileForest& forest, const Segment& segment) {
  const int thread = static_cast<int>(threadIdx.x), above = thread - kSegmentsPerRow;
  // Has one bit per pair of touching runs, at the first pixel where they touch.
  uint32_t contacts = 0;
  if (segment.same_as_above) {
    contacts = segment.same_as_above &
               (segment.starts | forest.starts[above] | ~(segment.same_as_above << 1));
    if (segment.continues_left) contacts &= ~1u;
  }
  int run = forest.runs_before[thread];
  for (uint32_t starts = segment.starts; starts != 0; ++run) {
    // The bit of this run's first pixel and all higher bits.
    const uint32_t from_here = ~(starts & ~(starts - 1)) + 1;
    starts &= starts - 1;
    const uint32_t run_bits =
        from_here & (starts ? (starts & ~(starts - 1)) - 1 : bits_below(kSegmentPixels));
    int parent = run;
    if (const uint32_t touched = contacts & run_bits; touched != 0) {
      parent = forest.run_at(above, __ffs(static_cast<int>(touched)) - 1);
      contacts &= ~(touched & (~touched + 1));
    }
    forest.parent[run] = static_cast<uint32_t>(parent);
  }
  return contacts;
}

// Links each run directly to its root by pointer jumping. Also copies the upper bits of the root's
// entry in TileForest::parent, which contain the component number. A thread writes only the entries
// of the runs that it handles. Writes of other threads can only shorten its path to the root. A
// thread handles kBatch runs at a time, because it mostly waits for memory. Entries are written by
// atomics, because other threads read them at the same time.
__device__ inline void flatten_runs(TileForest& forest) {
  constexpr uint32_t kBatch = 4, kThreads = Tile::threads, kRunMask = 0xffff;
  const volatile uint32_t* const parent = forest.parent;
  for (uint32_t start = threadIdx.x; start < forest.run_count; start += kBatch * kThreads) {
    uint32_t entry[kBatch], above[kBatch];
#pragma unroll
    for (uint32_t k = 0; k < kBatch; ++k) {
      // Run 0 replaces missing runs. It is a root and does not change.
      entry[k] = parent[start + k * kThreads < forest.run_count ? start + k * kThreads : 0];
    }
    bool jumped = true;
    while (jumped) {
#pragma unroll
      for (uint32_t k = 0; k < kBatch; ++k) above[k] = parent[entry[k] & kRunMask];
      jumped = false;
#pragma unroll
      for (uint32_t k = 0; k < kBatch; ++k) {
        if (above[k] == entry[k]) continue;
        atomicExch(forest.parent + start + k * kThreads, above[k]);
        entry[k] = above[k];
        jumped = true;
      }
    }
  }
}

// Unites the trees of the runs that touch at `contacts`, the result of link_runs(). All lanes of a
// warp must call this function.
__device__ inline void unite_runs(TileForest& forest, uint32_t contacts) {
  const int thread = static_cast<int>(threadIdx.x);
  while (__any_sync(kAllLanes, contacts != 0)) {
    const bool has_contact = contacts != 0;
    const int bit = has_contact ? __ffs(static_cast<int>(contacts)) - 1 : 0;
    contacts &= contacts - 1;
    const int run = has_contact ? forest.run_at(thread, bit) : 0;
    const int above = has_contact ? forest.run_at(thread - kSegmentsPerRow, bit) : 0;
    unite(forest.parent, static_cast<uint32_t>(run), static_cast<uint32_t>(above), has_contact);
  }
}

// A pixel at the edge of the tile, its neighbour in the next tile, and the components and codes of
// both pixels.
struct TileEdgeContact {
  bool exists;                      // true if both pixels are in the picture
  uint32_t component;               // id of the pixel's component
  const uint32_t* other_component;  // id of the neighbour's component, in global memory
  uint8_t code;                     // cluster code of the pixel
  const uint8_t* other_code;        // cluster code of the neighbour, in global memory

  // Finds the contact of the current thread. Writes the id of the pixel's component to global
  // memory for the neighbouring tile. All threads of the block must call this constructor, one
  // thread per edge pixel.
  __device__ TileEdgeContact(const TileForest& forest, Image<const uint8_t> codes,
                             const Fragments& fragments, const TileOfBlock& tile) {
    const int thread = static_cast<int>(threadIdx.x), side = thread / Tile::width;
    static_assert(Tile::threads == TileEdge::kSides * Tile::width && Tile::width == Tile::rows);
    const TileEdge edge(fragments, tile.column, tile.row, side, thread % Tile::width);
    exists = edge.exists;
    if (!exists) return;
    const int run =
        forest.run_at(edge.y * kSegmentsPerRow + edge.x / kSegmentPixels, edge.x % kSegmentPixels);
    component = tile.id(fragments, static_cast<uint32_t>(forest.component(run)));
    *edge.component = component;
    other_component = edge.other_component;
    code = forest.codes[edge.y][edge.x];
    const int step = side % 2 == 1 ? 1 : -1;
    other_code = &codes(tile.left + edge.x + (side < 2 ? step : 0),
                        tile.top + edge.y + (side < 2 ? 0 : step));
  }
};

// Announces to the tiles on the four sides that this tile's components and edges can be read.
// Threads 0..3 handle one side each. They return true if the tile on that side was announced
// earlier. No block waits for another block: the tile that is announced second merges the
// components at the common edge and resets the counter. The memory order acq_rel makes the writes
// of the first tile visible to the second tile.
__device__ inline bool announce_tile(const Fragments& fragments, const TileOfBlock& tile) {
  const int side = static_cast<int>(threadIdx.x);
  if (side >= TileEdge::kSides) return false;
  const bool is_left_or_right = side < 2, is_right_or_below = side % 2 == 1;
  const int line = is_left_or_right ? tile.column : tile.row,
            lines = is_left_or_right ? fragments.columns : fragments.rows;
  if (is_right_or_below ? line + 1 == lines : line == 0) return false;
  const int edge_tile =
      tile.tile + (is_right_or_below ? (is_left_or_right ? 1 : fragments.columns) : 0);
  uint32_t* const count = fragments.arrivals + 2 * edge_tile + (is_left_or_right ? 0 : 1);
  const cuda::atomic_ref<uint32_t, cuda::thread_scope_device> arrivals(*count);
  if (arrivals.fetch_add(1, cuda::memory_order_acq_rel) == 0) return false;
  *count = 0;
  return true;
}

// Merges touching components of this tile and of the tile on one side if `is_second` is true.
// `is_second` is the result of announce_tile() for this side. All lanes of a warp must call this
// function for the same side.
__device__ inline void merge_across_edge(const Fragments& fragments, const TileEdgeContact& contact,
                                         bool is_second) {
  bool is_merged = is_second && contact.exists;
  uint32_t other = 0;
  if (is_merged) {  // loads bypass the L1 cache, because another block wrote the values
    other = __ldcg(contact.other_component);
    is_merged = __ldcg(contact.other_code) == contact.code;
  }
  // Skips pairs that the previous lane also has. No component touches itself, so 0 can mark lanes
  // without a pair.
  const uint64_t pair = is_merged ? static_cast<uint64_t>(contact.component) << 32 | other : 0;
  const uint64_t previous_pair = __shfl_up_sync(kAllLanes, pair, 1);
  if (threadIdx.x % 32 > 0 && previous_pair == pair) is_merged = false;
  unite(fragments.parent, contact.component, other, is_merged);
}

// A source of cluster codes for find_fragments_kernel(). It loads codes that an earlier kernel
// wrote.
struct WrittenCodes {
  Image<const uint8_t> codes;

  struct Shared {};
  __device__ void load(Shared&, TileForest& forest, const TileOfBlock& tile) const {
    const int thread = static_cast<int>(threadIdx.x);
    const SegmentPosition position({codes.width, codes.height}, tile.left, tile.top, thread);
    // Rows of codes are 16-byte aligned, so a segment is loaded by one instruction.
    if (position.count > 0) {
      reinterpret_cast<Segment::Codes*>(forest.codes)[thread] =
          *reinterpret_cast<const Segment::Codes*>(codes.row(position.y) + position.x);
    }
    __syncthreads();  // forest.codes is loaded
  }
};

// A source of cluster codes for find_fragments_kernel(). It computes the codes by the final
// assignment and writes them. A tile must have the size of a block of cells.
template <class Shape>
struct AssignedCodes {
  static_assert(Shape::side * Shape::cells_x == Tile::width &&
                Shape::side * Shape::cells_y == Tile::rows);
  static_assert(Shape::threads == Tile::threads);
  Clusters clusters;
  int iterations;
  Image<uint8_t> codes;
  MergeCounts* counts;

  struct Shared {
    Candidates<Shape> candidates;
    uint64_t codes[Shape::cells];  // [cell], the codes of its nine candidates, four bits each
  };
  __device__ void load(Shared& shared, TileForest& forest, const TileOfBlock& tile) const {
    pdl_trigger_and_wait();
    if (tile.tile == 0 && threadIdx.x == 0) *counts = {};
    const int first_cell_column = tile.column * Shape::cells_x,
              first_cell_row = tile.row * Shape::cells_y;
    for_each_in_block<Shape, Shape::cells>([&](int cell) {
      uint64_t all = 0;
#pragma unroll
      for (int candidate = 0; candidate < kCandidates; ++candidate) {
        all |= static_cast<uint64_t>(
                   cluster_code(first_cell_column + cell % Shape::cells_x + candidate % 3 - 1,
                                first_cell_row + cell / Shape::cells_x + candidate / 3 - 1))
               << 4 * candidate;
      }
      shared.codes[cell] = all;
    });
    const ClusterSums* const sums = clusters.sums[clusters.executed_iterations(iterations) % 3];
    make_candidates(clusters, sums, first_cell_column, first_cell_row, shared.candidates);
    for_each_strip<Shape>(
        clusters.grid, first_cell_column, first_cell_row, [&](const Strip<Shape>& strip) {
          constexpr int kPixels = Shape::rows / Shape::rows_at_once;
          const int first = static_cast<int>(threadIdx.x % 32) / Shape::lanes;
          uint32_t color[kPixels];
          int best[kPixels];
          read_strip<Shape::rows_at_once>(clusters.colors, strip, first, color);
          choose(shared.candidates, strip, color, best);
          const uint64_t all = shared.codes[strip.cell];
          uint8_t* const to = &forest.codes[strip.y - tile.top + first][strip.x - tile.left];
#pragma unroll
          for (int i = 0; i < kPixels; ++i) {
            to[i * Shape::rows_at_once * Tile::width] =
                static_cast<uint8_t>(all >> 4 * (best[i] & 15) & 15);
          }
        });
    __syncthreads();  // forest.codes is computed
    const int thread = static_cast<int>(threadIdx.x);
    const SegmentPosition position({codes.width, codes.height}, tile.left, tile.top, thread);
    if (position.count == 0) return;
    *reinterpret_cast<Segment::Codes*>(codes.row(position.y) + position.x) =
        reinterpret_cast<const Segment::Codes*>(forest.codes)[thread];
  }
};

// Numbers the roots in arbitrary order and initialises the data of their components.
__device__ void number_roots(TileForest& forest, const Fragments& fragments,
                             const TileOfBlock& tile) {
  for_each_run(forest, [&](int run, bool exists) {
    const bool is_root = exists && forest.is_root(run);
    const unsigned roots = __ballot_sync(kAllLanes, is_root);
    if (roots == 0) return;
    const unsigned lane = threadIdx.x % 32;
    uint32_t first = 0;
    if (lane == 0) first = atomicAdd(&forest.component_count, static_cast<uint32_t>(__popc(roots)));
    first = __shfl_sync(kAllLanes, first, 0);
    if (!is_root) return;
    const uint32_t number =
        first + static_cast<uint32_t>(__popc(roots & bits_below(static_cast<int>(lane))));
    forest.parent[run] |= number << 16;
    const uint32_t id = tile.id(fragments, number);
    fragments.parent[id] = id;
    fragments.first_pixel[id] =
        fragments.pixel_at(tile.left + forest.start_pixel[run] % Tile::width,
                           tile.top + forest.start_pixel[run] / Tile::width);
    fragments.choice[0][id] = fragments.choice[1][id] = kNoChoice;
    // Components beyond the capacity of shared memory are summed in global memory.
    if (number >= Tile::max_shared_sums) fragments.sums[id] = {};
  });
}

// The sums of the pixels of a thread's segment that belong to one run.
struct RunSums {
  uint32_t area = 0;
  uint32_t even = 0;  // sums of colour components 0 and 2, 16 bits each
  uint32_t odd = 0;   // sum of colour component 1

  __device__ void add(uint32_t color) {
    ++area;
    even += color & 0x00ff00ffu;
    odd += color >> 8 & 0xffu;
  }
};
static_assert(kSegmentPixels * 255 < 1 << 16 && Tile::pixels * 255 < 1 << 20 &&
              Tile::pixels == 1 << 12);

// Adds `run_sums` to the sums of component `number`. kAllInShared is true if the sums of all
// components of the tile are in shared memory.
template <bool kAllInShared>
__device__ void add_run_sums(TileForest& forest, const Fragments& fragments,
                             const TileOfBlock& tile, int number, const RunSums& run_sums) {
  const uint32_t first = run_sums.even & 0xffff, third = run_sums.even >> 16;
  if (!kAllInShared && number >= Tile::max_shared_sums) {
    return fragments.add(tile.id(fragments, static_cast<uint32_t>(number)),
                         {run_sums.area, {first, run_sums.odd, third}});
  }
  atomicAdd(&forest.component_sums[0][number], run_sums.area << 20 | run_sums.odd);
  atomicAdd(&forest.component_sums[1][number], first);
  atomicAdd(&forest.component_sums[2][number], third);
}

// Writes the component number of each pixel and adds areas and colours to the sums of components.
// The segments of a warp are several rows apart and mostly in different components, so that lanes
// rarely add to the same sums at the same time.
template <bool kAllInShared>
__device__ void measure_components(TileForest& forest, Image<const uint32_t> colors,
                                   const Fragments& fragments, const TileOfBlock& tile) {
  constexpr int kWarps = Tile::threads / 32;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int segment_index =
      (lane / kSegmentsPerRow * kWarps + warp) * kSegmentsPerRow + lane % kSegmentsPerRow;
  const SegmentPosition position(fragments.size, tile.left, tile.top, segment_index);
  if (position.count == 0) return;
  // Rows of colours are padded, so the whole segment can be read.
  uint32_t color[kSegmentPixels];
  const auto* const from = reinterpret_cast<const uint4*>(colors.row(position.y) + position.x);
#pragma unroll
  for (int j = 0; j < kSegmentPixels / 4; ++j) {
    const uint4 four = from[j];
    color[4 * j] = four.x, color[4 * j + 1] = four.y, color[4 * j + 2] = four.z;
    color[4 * j + 3] = four.w;
  }
  const uint32_t starts = forest.starts[segment_index];
  int run = forest.run_at(segment_index, 0);
  int number = forest.component(run);
  RunSums run_sums;
  uint32_t numbers[kSegmentPixels / 2] = {};
#pragma unroll
  for (int k = 0; k < kSegmentPixels; ++k) {
    if (k > 0 && (starts >> k & 1)) {
      add_run_sums<kAllInShared>(forest, fragments, tile, number, run_sums);
      run_sums = {};
      number = forest.component(++run);
    }
    if (k < position.count) run_sums.add(color[k]);
    numbers[k / 2] |= static_cast<uint32_t>(number) << 16 * (k % 2);
  }
  add_run_sums<kAllInShared>(forest, fragments, tile, number, run_sums);
  auto* const to =
      reinterpret_cast<uint4*>(fragments.component + fragments.pixel_at(position.x, position.y));
#pragma unroll
  for (int j = 0; j < kSegmentPixels / 8; ++j) {
    to[j] = {numbers[4 * j], numbers[4 * j + 1], numbers[4 * j + 2], numbers[4 * j + 3]};
  }
}

// Copies the sums of components from shared memory to global memory.
__device__ void store_components(const TileForest& forest, const Fragments& fragments,
                                 const TileOfBlock& tile) {
  for_each_run(forest, [&](int run, bool exists) {
    if (!exists || !forest.is_root(run)) return;
    const int number = forest.component(run);
    if (number >= Tile::max_shared_sums) return;
    const uint32_t id = tile.id(fragments, static_cast<uint32_t>(number));
    const uint32_t second = forest.component_sums[0][number] & ((1u << 20) - 1),
                   area = forest.component_sums[0][number] >> 20;
    // The area has 12 bits. It overflows to 0 only if one component fills the tile.
    fragments.sums[id] = {
        area ? area : Tile::pixels,
        {forest.component_sums[1][number], second, forest.component_sums[2][number]}};
  });
}

// Clears the bits that number_labels() sets and the counters that it increases.
__device__ void clear_counts(const Fragments& fragments, const TileOfBlock& tile) {
  const int thread = static_cast<int>(threadIdx.x);
  const int words = fragments.stride / 32;
  for (int w = thread; w < Tile::pixels / 32; w += Tile::threads) {
    const int y = tile.top + w / (Tile::width / 32);
    if (y >= fragments.size.height) continue;
    fragments.first_pixel_bits[static_cast<size_t>(y) * words + tile.left / 32 +
                               w % (Tile::width / 32)] = 0;
  }
  const int y = tile.top + thread;
  if (thread >= Tile::rows || y >= fragments.size.height) return;
  auto* const counts = reinterpret_cast<uint8_t*>(fragments.tile_row_counts);
  counts[static_cast<size_t>(y) * fragments.tile_row_pitch() + tile.column] = 0;
  if (tile.column == 0) fragments.row_counts[y] = 0;
}

// Finds the components of one tile, sums their areas and colours, and merges them with the
// components of neighbouring tiles.
template <class Source>
__global__ __launch_bounds__(Tile::threads,
                             4) void find_fragments_kernel(Source source,
                                                           Image<const uint32_t> colors,
                                                           Fragments fragments) {
  __shared__ TileForest forest;
  __shared__ typename Source::Shared shared;
  __shared__ bool is_second[TileEdge::kSides];  // [side], results of announce_tile()
  for (int i = static_cast<int>(threadIdx.x); i < 3 * Tile::max_shared_sums; i += Tile::threads) {
    forest.component_sums[i / Tile::max_shared_sums][i % Tile::max_shared_sums] = 0;
  }
  if (threadIdx.x == 0) forest.component_count = 0;
  const TileOfBlock tile(fragments);
  source.load(shared, forest, tile);
  const Segment segment(
      forest, SegmentPosition(fragments.size, tile.left, tile.top, static_cast<int>(threadIdx.x)));
  clear_counts(fragments, tile);
  find_runs(forest, segment);
  const uint32_t contacts = link_runs(forest, segment);
  __syncthreads();  // the parents of all runs are written
  flatten_runs(forest);
  __syncthreads();  // every run's parent is its root
  unite_runs(forest, contacts);
  __syncthreads();  // the trees of touching runs are united
  number_roots(forest, fragments, tile);
  __syncthreads();  // the entries of all roots contain component numbers
  if (threadIdx.x == 0) fragments.count[tile.tile] = forest.component_count;
  flatten_runs(forest);
  __syncthreads();  // every run's parent is its root, and its entry contains the component number
  const TileEdgeContact contact(forest, source.codes, fragments, tile);
  __syncthreads();  // ids at the edges and the data of components are in global memory
  const bool second = announce_tile(fragments, tile);
  if (threadIdx.x < TileEdge::kSides) is_second[threadIdx.x] = second;
  if (forest.component_count <= Tile::max_shared_sums) {
    measure_components<true>(forest, colors, fragments, tile);
  } else {
    measure_components<false>(forest, colors, fragments, tile);
  }
  __syncthreads();  // component_sums and is_second are complete
  store_components(forest, fragments, tile);
  merge_across_edge(fragments, contact, is_second[threadIdx.x / Tile::width]);
}

// Adds the sums of each component to the sums of its fragment's root, and links the component to
// the root.
__global__ __launch_bounds__(kGatherThreads) void gather_fragments_kernel(Fragments fragments) {
  pdl_trigger_and_wait();
  const TileOfBlock tile(fragments);
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kGatherThreads) {
    // Paths to the root have different lengths. This barrier brings the lanes together again, so
    // that they load at the same time.
    __syncwarp();
    if (start + lane >= tile.count) continue;
    const uint32_t id = tile.id(fragments, start + lane);
    const Fragment sums = fragments.load_sums(id);  // loaded early, before the search for the root
    const uint32_t first = fragments.first_pixel[id];
    const uint32_t root = fragments.find_root(id);
    if (root == id) continue;
    fragments.parent[id] = root;  // this only shortens the path of other threads
    fragments.add(root, sums);
    atomicMin(fragments.first_pixel + root, first);
  }
}

}  // namespace

void find_fragments(Image<const uint8_t> codes, const Clusters& clusters,
                    const Fragments& fragments, cudaStream_t stream) {
  launch(find_fragments_kernel<WrittenCodes>, tile_grid(fragments), Tile::threads, 0, stream,
         WrittenCodes{codes}, clusters.colors, fragments);
}

void assign_and_find_fragments(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                               const Fragments& fragments, cudaStream_t stream) {
  if (!clusters.max_distance[0] && clusters.grid.width == clusters.grid.height) {
    const auto launch_with = [&]<class Shape>(Shape) {
      launch_pdl(find_fragments_kernel<AssignedCodes<Shape>>, tile_grid(fragments), Tile::threads,
                 0, stream, AssignedCodes<Shape>{clusters, iterations, codes, fragments.counts},
                 clusters.colors, fragments);
    };
    if (clusters.grid.width == Cells16::side) return launch_with(Cells16());
    if (clusters.grid.width == Cells32::side) return launch_with(Cells32());
  }
  write_cluster_codes(clusters, iterations, codes, fragments.counts, stream);
  find_fragments(codes, clusters, fragments, stream);
}

void gather_fragments(const Fragments& fragments, cudaStream_t stream) {
  launch_pdl(gather_fragments_kernel, tile_grid(fragments), kGatherThreads, 0, stream, fragments);
}

}  // namespace regions::slicsuperpixel
