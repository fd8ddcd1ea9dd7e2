// label_small_image(): labels a small image in a single launch of one cluster of 16 thread blocks.
// Each block labels a strip of consecutive whole rows in its shared memory. Components that cross
// strips are merged by union-find over the shared memory of all blocks (distributed shared memory,
// compute capability 9.0).
#include <cooperative_groups.h>

#include <cstring>
#include <type_traits>

#include "gpu/cclabel/color_sums.hpp"
#include "gpu/cclabel/image_runs.hpp"
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/cclabel/pixel_writers.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

// Number of strips, which is the number of blocks in the cluster. 16 is the maximum on devices of
// compute capability 9.0.
constexpr int kStrips = 16;

// A strip is 32 * `words` pixels wide and has `strip_rows` rows, plus the last row of the strip
// above. Shapes are types because they are template arguments of kernels.
template <int words_, int rows_>
struct StripShape {
  static constexpr int words = words_;
  static constexpr int strip_rows = rows_;
  static constexpr int rows = rows_ + 1;
  static constexpr int threads = 1024;
  // Maximum number of components whose sums fit in shared memory. An image of noise has up to 2,700
  // components per strip with 4-connectivity, and up to 1,400 with 8-connectivity.
  static constexpr int byte_components = 3392;    // maximum with one 8-bit channel
  static constexpr int sample_components = 2048;  // maximum with three 16-bit channels
  static constexpr int width = 32 * words;
  static constexpr int height = kStrips * strip_rows;  // maximum height of an image
  // Capacity of RunsToMerge; noise needs up to 2,750.
  static constexpr int max_runs_to_merge = 2816;
  static constexpr int all_words = words * rows;
  static constexpr int max_runs = (width / 2 * rows + 31) / 32 * 32;  // a run needs a gap after it
  static_assert(width * rows <= 1 << 16, "pixels of a strip are identified by 16 bits");
  static_assert(max_runs / 32 <= threads, "each thread has at most one word of roots");
};

// Strips compared with tiles (H100, 8-connectivity, geometric mean of 21 images, graph replay,
// 2026-11-25):
//   512x512, labels only        17.7 µs with strips, 22.0 µs with tiles
//   640x480, labels only        18.9 µs with strips, 22.1 µs with tiles
//   512x512, labels and table   24.7 µs with strips, 34.5 µs with tiles
//   640x480, labels and table   26.6 µs with strips, 34.6 µs with tiles
// Strips for 1024x768 (32 words, 48 rows) would fit in shared memory, but they take 29.4 µs (tiles:
// 25.3 µs), because 16 multiprocessors are too few. With 512 threads, an image of noise takes 25%
// longer.
using NarrowStrip = StripShape<16, 32>;  // images up to 512x512 pixels
using WideStrip = StripShape<20, 32>;    // images up to 640x512 pixels

// A strip in the shared memory of its block. Row 0 of the strip is also the last row of the strip
// above. Each run of this row therefore exists in both strips, with two different ids.
template <class Shape>
struct Strip {
  TileRuns<Shape> runs;
  RunsToMerge<Shape> to_merge;
  // [run] The meaning changes. After merge_runs(): the parent in the forest of this strip. After
  // build_forest(): the parent (RunId::node()) in the forest of all strips. After label_runs(): the
  // label.
  uint32_t parent[Shape::max_runs];
  uint32_t roots[Shape::max_runs / 32];  // bits by run: first runs of components of the strip
  // Bits by run: first runs of regions; a subset of `roots`.
  uint32_t region_runs[Shape::max_runs / 32];
  // By word of `region_runs`: number of regions of the strip that begin in earlier words.
  uint32_t regions_before[Shape::max_runs / 32];
  uint32_t regions[kStrips];  // number of regions that begin in each strip
  uint32_t warp_sums[Shape::threads / 32];
};

#if __CUDA_ARCH__ >= 900

// Identifies a run of any strip. node() is its number in the forest of all strips; numbers increase
// in raster order of the runs' first pixels.
struct RunId {
  uint32_t strip, run;

  __device__ explicit RunId(uint32_t node) : strip(node >> 16), run(node & 0xffffu) {}
  __device__ RunId(uint32_t strip, uint32_t run) : strip(strip), run(run) {}
  __device__ uint32_t node() const { return strip << 16 | run; }
};

// Returns the address of a shared variable in the memory of another strip's block. For the block's
// own strip, the plain address is faster.
template <class Value>
__device__ Value* address_in(Value* local, uint32_t strip) {
  const auto cluster = cooperative_groups::this_cluster();
  return strip == cluster.block_rank() ? local : cluster.map_shared_rank(local, strip);
}

// The forest over the runs of all strips, in the form that unite() and flatten() require.
struct StripForest {
  uint32_t* parent;  // Strip::parent of this strip

  __device__ uint32_t* operator+(uint32_t node) const {
    const RunId id(node);
    return address_in(parent + id.run, id.strip);
  }
};

// Calls f(w) for the warp's share of the words of `roots` and `region_runs`, which contain one bit
// per run.
template <class Shape, class F>
__device__ void for_each_bit_word(const Strip<Shape>& shared, F f) {
  const int words = (shared.runs.count + 31) / 32;
  for (int w = static_cast<int>(threadIdx.x / 32); w < words; w += Shape::threads / 32) f(w);
}

// Sets the parent of each run to its root, expressed as a node of the forest of all strips, and
// fills `roots`. A barrier must follow before other threads read `parent`.
template <class Shape>
__device__ void build_forest(Strip<Shape>& shared, uint32_t strip) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for_each_bit_word(shared, [&](int w) {
    const int r = w * 32 + lane;
    const bool exists = r < shared.runs.count;
    const auto run = static_cast<uint32_t>(exists ? r : w * 32);
    const bool is_root = flatten(shared.parent, run, exists) == run;
    const uint32_t roots = __ballot_sync(kAllLanes, exists && is_root);
    if (lane == 0) shared.roots[w] = roots;
  });
  __syncthreads();  // all parents are roots
  shared.runs.for_each([&](int r, bool exists) {
    if (exists) shared.parent[r] = RunId(strip, shared.parent[r]).node();
  });
}

// Merges the components of this strip with the components of the strip above. The runs of row 0
// also exist in the strip above, as its last runs. For each of these runs, this function merges the
// trees of its two nodes. build_forest() must have run. A cluster barrier is required before and
// after this function.
template <class Shape>
__device__ void merge_strips(const Strip<Shape>& shared, const StripForest& forest,
                             uint32_t strip) {
  if (strip == 0) return;
  const int shared_runs = shared.runs.runs_up_to(Shape::width - 1, 0);
  if (shared_runs == 0) return;
  // Number of runs of the strip above that are before its last row.
  const int above = *address_in(&shared.runs.count, strip - 1) - shared_runs;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int start = static_cast<int>(threadIdx.x) - lane; start < shared_runs;
       start += Shape::threads) {
    const bool exists = start + lane < shared_runs;
    const int r = exists ? start + lane : start;
    const RunId same_run(strip - 1, static_cast<uint32_t>(above + r));
    // Runs with the same two parents would merge the same trees, so only one lane per pair of
    // parents does it. If another warp changes a parent meanwhile, the same trees are merged twice,
    // which is harmless.
    const uint32_t a = load_parent(shared.parent, static_cast<uint32_t>(r));
    const uint32_t b = load_parent(forest, same_run.node());
    const uint64_t pair = exists ? static_cast<uint64_t>(a) << 32 | b : ~0ull;
    const uint32_t lanes_with_pair = __match_any_sync(kAllLanes, pair);
    unite(forest, a, b, exists && lane == __ffs(static_cast<int>(lanes_with_pair)) - 1);
  }
}

// Sets the parent of the first run of each component to the first run of its region. Fills
// region_runs and regions_before, and writes the number of regions of this strip to all strips. A
// cluster barrier is required before and after this function.
template <class Shape>
__device__ void count_regions(Strip<Shape>& shared, const StripForest& forest, uint32_t strip) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for_each_bit_word(shared, [&](int w) {
    const uint32_t roots = shared.roots[w];
    uint32_t region_runs = 0;
    if (roots) {
      const bool is_root = roots >> lane & 1;
      const int root_lane = is_root ? lane : __ffs(static_cast<int>(roots)) - 1;
      const uint32_t node = RunId(strip, static_cast<uint32_t>(w * 32 + root_lane)).node();
      const uint32_t first = flatten(forest, node, is_root);
      region_runs = __ballot_sync(kAllLanes, is_root && first == node);
    }
    if (lane == 0) shared.region_runs[w] = region_runs;
  });
  __syncthreads();  // region_runs is complete
  const int w = static_cast<int>(threadIdx.x);
  const bool has_word = w < (shared.runs.count + 31) / 32;
  const uint32_t count = has_word ? static_cast<uint32_t>(__popc(shared.region_runs[w])) : 0;
  uint32_t total;
  const uint32_t earlier = block_exclusive_sum<Shape::threads>(count, shared.warp_sums, total);
  if (has_word) shared.regions_before[w] = earlier;
  if (w < kStrips) *address_in(&shared.regions[strip], static_cast<uint32_t>(w)) = total;
}

// The number of regions in all strips, and in the strips above this strip. The cluster barrier
// after count_regions() must have been passed.
struct RegionCounts {
  uint32_t all, above;
};
template <class Shape>
__device__ RegionCounts region_counts(const Strip<Shape>& shared, uint32_t strip) {
  const uint32_t lane = threadIdx.x % 32, count = lane < kStrips ? shared.regions[lane] : 0;
  return {warp_sum(count), warp_sum(lane < strip ? count : 0)};
}

// Writes the label of the first run of each component to `parent`, and calls visit(run, label) for
// each of these runs. The steps after this function do not read the memory of other strips.
template <class Shape, class Visit>
__device__ void label_components(Strip<Shape>& shared, const Visit& visit) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t count = lane < kStrips ? shared.regions[lane] : 0;
  // Number of regions that begin in strips 0..lane - 1.
  const uint32_t before = warp_inclusive_sum(count) - count;
  for_each_bit_word(shared, [&](int w) {
    const uint32_t roots = shared.roots[w];
    if (!roots) return;
    const bool is_root = roots >> lane & 1;
    const int root_lane = is_root ? lane : __ffs(static_cast<int>(roots)) - 1;
    const RunId first(shared.parent[w * 32 + root_lane]);
    const uint32_t word = first.run / 32, lower_bits = bits_below(static_cast<int>(first.run % 32));
    const uint32_t label =
        __shfl_sync(kAllLanes, before, static_cast<int>(first.strip)) +
        *address_in(&shared.regions_before[word], first.strip) +
        __popc(*address_in(&shared.region_runs[word], first.strip) & lower_bits) + 1;
    __syncwarp();  // all lanes have read the parents that the next lines overwrite
    if (!is_root) return;
    shared.parent[w * 32 + lane] = label;
    visit(static_cast<uint32_t>(w * 32 + lane), label);
  });
}

// Writes the label of all other runs to `parent`. Begins and ends with a barrier.
template <class Shape>
__device__ void label_runs(Strip<Shape>& shared) {
  __syncthreads();  // the first runs of all components have labels
  const int lane = static_cast<int>(threadIdx.x % 32);
  for_each_bit_word(shared, [&](int w) {
    const int r = w * 32 + lane;
    if (r >= shared.runs.count || (shared.roots[w] >> lane & 1)) return;
    shared.parent[r] = shared.parent[RunId(shared.parent[r]).run];
  });
  __syncthreads();  // all runs have labels
}

#endif

// The sums of one lane over its pixels of one region or component. The sums fit in 32 bits because
// a lane has only a few words.
struct LaneSums {
  uint32_t key = 0;  // identifies the region or component; 0: no sums
  uint32_t area = 0, x = 0, y = 0;
  uint32_t left = kNone, right = 0, bottom = 0;
  uint32_t value[3] = {};

  // Adds the pixels x0..x0 + count - 1 of a row.
  __device__ void add_pixels(uint32_t x0, uint32_t count, uint32_t row) {
    area += count;
    x += (2 * x0 + count - 1) * count / 2;
    y += row * count;
    left = min(left, x0);
    right = max(right, x0 + count - 1);
    bottom = max(bottom, row);
  }
  __device__ PixelSums to_pixel_sums() const {
    return {area,
            x,
            y,
            static_cast<int>(left),
            static_cast<int>(right),
            static_cast<int>(bottom),
            {value[0], value[1], value[2]}};
  }
};

// Calls add(key, sums) for the sums of all lanes. If at least kMinLanesPerSum lanes have the same
// key, the warp adds up their sums first and calls add() once. This is tried for at most kMaxGroups
// keys.
template <class Add>
__device__ void flush_warp(LaneSums& sums, const Add& add) {
  constexpr int kMaxGroups = 4;
  uint32_t pending = __ballot_sync(kAllLanes, sums.key != 0);
  for (int i = 0; pending && i < kMaxGroups; ++i) {
    const int leader = __ffs(static_cast<int>(pending)) - 1;
    const bool takes_part = sums.key == __shfl_sync(kAllLanes, sums.key, leader);
    const uint32_t group = __ballot_sync(kAllLanes, takes_part);
    pending &= ~group;
    if (__popc(group) < kMinLanesPerSum) continue;
    LaneSums group_sums;
    group_sums.area = warp_sum(takes_part ? sums.area : 0);
    group_sums.x = warp_sum(takes_part ? sums.x : 0);
    group_sums.y = warp_sum(takes_part ? sums.y : 0);
    group_sums.left = warp_min(takes_part ? sums.left : kNone);
    group_sums.right = warp_max(takes_part ? sums.right : 0);
    group_sums.bottom = warp_max(takes_part ? sums.bottom : 0);
    for (int k = 0; k < 3; ++k) group_sums.value[k] = warp_sum(takes_part ? sums.value[k] : 0);
    if (static_cast<int>(threadIdx.x % 32) == leader) add(sums.key, group_sums);
    if (takes_part) sums.key = 0;
  }
  if (sums.key) add(sums.key, sums);
}

// Sums the pixels of the strip, except row 0, which belongs to the strip above. key_of(run) returns
// the region or component of a run; 0: the run is not summed. Calls add(key, sums) for sums that
// belong to one key. `y0` is the image row of the strip's row 0; `rows` includes row 0.
template <class Shape, class Values, class KeyOf, class Add>
__device__ void sum_strip(const Strip<Shape>& shared, int y0, int rows, const Values& values,
                          const KeyOf& key_of, const Add& add) {
  LaneSums sums;
  for (int w = Shape::words + static_cast<int>(threadIdx.x); w < rows * Shape::words;
       w += Shape::threads) {
    const RunWord word{shared.runs.foreground[w], shared.runs.run_starts[w],
                       shared.runs.runs_before[w]};
    if (!word.foreground) continue;
    const int x = w % Shape::words * 32, y = y0 + w / Shape::words;
    const typename Values::Word colors = values.load(x, y);
    for (uint32_t remaining = word.foreground; remaining;) {
      const int b = __ffs(static_cast<int>(remaining)) - 1;
      const uint32_t mask = word.rest_of_run(b);
      remaining &= ~mask;
      const uint32_t key = key_of(static_cast<uint32_t>(word.run_at(b)));
      if (key == 0) continue;
      if (key != sums.key) {
        if (sums.key) add(sums.key, sums);
        sums = {};
        sums.key = key;
      }
      sums.add_pixels(static_cast<uint32_t>(x + b), static_cast<uint32_t>(__popc(mask)),
                      static_cast<uint32_t>(y));
      uint32_t value[3] = {};
      values.sum(colors, x, y, mask, value);
      for (int k = 0; k < 3; ++k) sums.value[k] += value[k];
    }
  }
  __syncwarp();
  flush_warp(sums, add);
}

// Returns a record to which no pixel was added yet. Contains the members that depend on the
// region's first pixel (x, y).
__device__ Region initial_image_record(uint32_t label, int x, int y) {
  Region region{};
  region.id = region.track = label;
  region.first_x = x;
  region.first_y = region.top = y;
  region.left = INT32_MAX;
  return region;
}

// The sums of a strip's components, in shared memory. The sums of a region are collected in the
// strip in which the region begins. The block of this strip writes them to the table as a record.
// Components have indices in arbitrary order.
template <class Shape, class Values>
struct StripSums {
  static constexpr bool is_one_byte = std::is_same_v<Values, ByteValues>;
  static constexpr int channels = is_one_byte ? 1 : 3;
  static constexpr int capacity = is_one_byte ? Shape::byte_components : Shape::sample_components;
  static constexpr int staging_warps = 8;
  static constexpr int record_words = sizeof(Region) / sizeof(uint64_t);

  uint32_t area[capacity], x[capacity], y[capacity];
  uint32_t left[capacity], right[capacity], bottom[capacity];
  uint32_t value[channels][capacity];
  uint32_t value_high[channels][is_one_byte ? 1 : capacity];  // high 32 bits of `value`
  // By word of `roots`: index of the first component whose root is in the word.
  uint32_t first_component[Shape::max_runs / 32];
  uint32_t count;     // number of components
  bool are_by_label;  // some strip cannot sum by component, so all strips sum by label
  // First runs of the regions that begin in this strip, in label order.
  uint16_t first_runs[capacity];
  uint64_t staged[staging_warps][32 * record_words];

  // Returns whether to sum by component: the components must fit in shared memory, and summing by
  // label must not be faster. For components with very many runs, summing by component needs one
  // addition per run, but a lane that sums by label adds many runs of the same label at once.
  // Measured for 512x512 (H200, 2026-11-26): mazes take 35.7 µs by component and 31.8 µs by label;
  // spirals take 53.4 µs and 38.7 µs.
  __device__ bool prefer_components(int runs) const {
    constexpr int kFewRuns = 2048, kManyRunsPerComponent = 30;
    return count <= capacity &&
           (runs < kFewRuns || runs < kManyRunsPerComponent * static_cast<int>(count));
  }
  // Returns the index of the component whose first run is `run`.
  __device__ static uint32_t index(const uint32_t* first_component, const uint32_t* roots,
                                   uint32_t run) {
    return first_component[run / 32] +
           __popc(roots[run / 32] & bits_below(static_cast<int>(run % 32)));
  }
  __device__ void clear(uint32_t i) {
    area[i] = x[i] = y[i] = right[i] = bottom[i] = 0;
    left[i] = kNone;
    for (int k = 0; k < channels; ++k) {
      value[k][i] = 0;
      if constexpr (!is_one_byte) value_high[k][i] = 0;
    }
  }
  // Adds sums to component `i` of this strip. Sums fit in 32 bits: a strip has fewer than 2^16
  // pixels of 16 bits. The order of the atomics does not matter, because they are sums, minima and
  // maxima.
  __device__ void add(uint32_t i, const LaneSums& sums) {
    atomicAdd(&area[i], sums.area);
    atomicAdd(&x[i], sums.x);
    atomicAdd(&y[i], sums.y);
    atomicMin(&left[i], sums.left);
    atomicMax(&right[i], sums.right);
    atomicMax(&bottom[i], sums.bottom);
    for (int k = 0; k < channels; ++k) atomicAdd(&value[k][i], sums.value[k]);
  }
  // Adds sums to component `i` of any strip. The order of the atomics does not matter. Small images
  // have fewer than 2^19 pixels, so only sums of 16-bit samples can exceed 32 bits.
  __device__ void add_in_strip(uint32_t strip, uint32_t i, const LaneSums& sums) {
    atomicAdd(address_in(&area[i], strip), sums.area);
    atomicAdd(address_in(&x[i], strip), sums.x);
    atomicAdd(address_in(&y[i], strip), sums.y);
    atomicMin(address_in(&left[i], strip), sums.left);
    atomicMax(address_in(&right[i], strip), sums.right);
    atomicMax(address_in(&bottom[i], strip), sums.bottom);
    for (int k = 0; k < channels; ++k) {
      const uint32_t added = sums.value[k];
      const uint32_t previous = atomicAdd(address_in(&value[k][i], strip), added);
      if constexpr (!is_one_byte) {
        if (previous + added < previous) atomicAdd(address_in(&value_high[k][i], strip), 1u);
      }
    }
  }
  __device__ void add_to(LaneSums& sums, uint32_t i) const {
    sums.area += area[i];
    sums.x += x[i];
    sums.y += y[i];
    sums.left = min(sums.left, left[i]);
    sums.right = max(sums.right, right[i]);
    sums.bottom = max(sums.bottom, bottom[i]);
    for (int k = 0; k < channels; ++k) sums.value[k] += value[k][i];
  }
  __device__ Region make_record(uint32_t i, uint32_t label, int first_x, int first_y) const {
    Region region{};
    region.id = region.track = label;
    region.first_x = first_x;
    region.first_y = region.top = first_y;
    region.left = static_cast<int>(left[i]);
    region.right = static_cast<int>(right[i]);
    region.bottom = static_cast<int>(bottom[i]);
    region.area = area[i];
    region.sum_x = x[i];
    region.sum_y = y[i];
    for (int k = 0; k < channels; ++k) {
      region.sum_value[k] = value[k][i];
      if constexpr (!is_one_byte)
        region.sum_value[k] |= static_cast<uint64_t>(value_high[k][i]) << 32;
    }
    return region;
  }
};

template <class Shape, class Values>
struct MeasuredStrip : Strip<Shape> {
  StripSums<Shape, Values> sums;
};

#if __CUDA_ARCH__ >= 900

// Resets the number of components. A barrier must follow before measure_components().
template <class Shape, class Values>
__device__ void reset_sums(MeasuredStrip<Shape, Values>& shared) {
  if (threadIdx.x != 0) return;
  shared.sums.count = 0;
  shared.sums.are_by_label = false;
}

// Assigns an index to each component. Then sums the pixels of each component, unless summing by
// label is better. build_forest() must have run. Blocks of other strips may already execute
// merge_strips(). Does not end with a barrier.
template <class Shape, class Values>
__device__ void measure_components(MeasuredStrip<Shape, Values>& shared, int y0, int rows,
                                   const Values& values) {
  using Sums = StripSums<Shape, Values>;
  Sums& sums = shared.sums;
  const int lane = static_cast<int>(threadIdx.x % 32), words = (shared.runs.count + 31) / 32;
  if (static_cast<int>(threadIdx.x) - lane < words) {
    const int w = static_cast<int>(threadIdx.x);
    const uint32_t root_count = w < words ? static_cast<uint32_t>(__popc(shared.roots[w])) : 0;
    const uint32_t inclusive = warp_inclusive_sum(root_count);
    uint32_t start = 0;
    // The order of the warps decides only the order of the components, which is arbitrary.
    if (lane == 31) start = atomicAdd(&sums.count, inclusive);
    start = __shfl_sync(kAllLanes, start, 31);
    if (w < words) sums.first_component[w] = start + inclusive - root_count;
  }
  __syncthreads();  // sums.count and sums.first_component are complete
  if (!sums.prefer_components(shared.runs.count)) return;
  for_each_bit_word(shared, [&](int w) {
    const auto run = static_cast<uint32_t>(w * 32 + lane);
    if (shared.roots[w] >> lane & 1)
      sums.clear(Sums::index(sums.first_component, shared.roots, run));
  });
  __syncthreads();  // the sums are 0
  sum_strip(
      shared, y0, rows, values,
      [&](uint32_t run) {
        // Does not read the parent of a root, because another strip may already have changed it.
        // Parents of other runs do not change.
        const bool is_root = shared.roots[run / 32] >> run % 32 & 1;
        return 1 + Sums::index(sums.first_component, shared.roots,
                               is_root ? run : RunId(shared.parent[run]).run);
      },
      [&](uint32_t key, const LaneSums& lane_sums) { sums.add(key - 1, lane_sums); });
}

// If this strip cannot sum by component, sets are_by_label in all strips. A cluster barrier is
// required before and after this function.
template <class Shape, class Values>
__device__ void request_sums_by_label(MeasuredStrip<Shape, Values>& shared) {
  if (threadIdx.x >= kStrips || shared.sums.prefer_components(shared.runs.count)) return;
  *address_in(&shared.sums.are_by_label, threadIdx.x) = true;
}

// Adds the sums of each component that is not the first component of its region to the sums of the
// first component, which may be in another strip. The warp first sums components of the same
// region, because a long region has very many components. The cluster barrier after count_regions()
// must have been passed.
template <class Shape, class Values>
__device__ void add_to_region_sums(MeasuredStrip<Shape, Values>& shared, uint32_t strip) {
  using Sums = StripSums<Shape, Values>;
  Sums& sums = shared.sums;
  const auto add = [&](uint32_t key, const LaneSums& lane_sums) {
    const RunId first(key - 1);
    const uint32_t word = first.run / 32, lower_bits = bits_below(static_cast<int>(first.run % 32));
    const uint32_t i = *address_in(&sums.first_component[word], first.strip) +
                       __popc(*address_in(&shared.roots[word], first.strip) & lower_bits);
    sums.add_in_strip(first.strip, i, lane_sums);
  };
  LaneSums lane_sums;
  for_each_bit_word(shared, [&](int w) {
    const uint32_t run = static_cast<uint32_t>(w) * 32 + threadIdx.x % 32;
    if (!((shared.roots[w] & ~shared.region_runs[w]) >> threadIdx.x % 32 & 1)) return;
    const uint32_t key = shared.parent[run] + 1;
    if (key != lane_sums.key) {
      if (lane_sums.key) add(lane_sums.key, lane_sums);
      lane_sums = {};
      lane_sums.key = key;
    }
    sums.add_to(lane_sums, Sums::index(sums.first_component, shared.roots, run));
  });
  __syncwarp();
  flush_warp(lane_sums, add);
}

// Writes the records of the regions that begin in this strip to the table. `earlier` regions begin
// in the strips above, so the first label of this strip is earlier + 1. A cluster barrier must
// separate add_to_region_sums() from this function. Only the first `staging_warps` warps work.
template <class Shape, class Values>
__device__ void write_records(MeasuredStrip<Shape, Values>& shared, int y0, uint32_t region_count,
                              uint32_t earlier, const RegionTable& table) {
  using Sums = StripSums<Shape, Values>;
  constexpr uint32_t kWords = Sums::record_words;
  Sums& sums = shared.sums;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp >= Sums::staging_warps || earlier >= table.capacity) return;
  const uint32_t end = min(region_count, table.capacity - earlier);
  uint64_t* staged = sums.staged[warp];
  for (uint32_t start = warp * 32; start < end; start += Sums::staging_warps * 32) {
    const uint32_t count = min(32u, end - start);
    if (lane < count) {
      const uint32_t run = sums.first_runs[start + lane];
      const int first = shared.runs.first(run);
      const Region region = sums.make_record(Sums::index(sums.first_component, shared.roots, run),
                                             earlier + start + lane + 1, first % Shape::width,
                                             y0 + first / Shape::width);
      memcpy(staged + lane * kWords, &region, sizeof(region));
    }
    __syncwarp();  // the warp's records are in shared memory
    auto* to = reinterpret_cast<uint64_t*>(table.regions + earlier + start);
    for (uint32_t i = lane; i < count * kWords; i += 32) to[i] = staged[i];
    __syncwarp();  // the warp has read the staged records; the next round overwrites them
  }
}

#endif

// Template argument `Values` of the kernel if no records are needed.
struct NoValues {};
template <class Values>
constexpr bool has_values = !std::is_same_v<Values, NoValues>;

// Shared memory of a block.
template <class Shape, class Values>
struct SharedMemory : MeasuredStrip<Shape, Values> {};
template <class Shape>
struct SharedMemory<Shape, NoValues> : Strip<Shape> {};

#if __CUDA_ARCH__ >= 900
// Labels the runs, and sums the pixels of each label in its record in device memory. Then copies
// the records to the table. Used if some strip cannot sum by component.
template <class Shape, class Values>
__device__ void measure_by_label(Strip<Shape>& shared, uint32_t strip, int y0, int rows,
                                 const Values& values, const Records& records,
                                 const RegionTable& table) {
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t total = region_counts(shared, strip).all;
  label_components(shared, [&](uint32_t run, uint32_t label) {
    const bool begins = shared.region_runs[run / 32] >> run % 32 & 1;
    if (!begins || label > records.capacity) return;
    const int pixel = shared.runs.first(run);
    records.region[label - 1] =
        initial_image_record(label, pixel % Shape::width, y0 + pixel / Shape::width);
  });
  cluster.sync();  // records are initialized
  label_runs(shared);
  sum_strip(
      shared, y0, rows, values,
      [&](uint32_t run) { return shared.parent[run] <= records.capacity ? shared.parent[run] : 0; },
      [&](uint32_t label, const LaneSums& sums) {
        add_to_record(sums.to_pixel_sums(), records.region[label - 1]);
      });
  cluster.sync();  // the records are complete in device memory
  publish_words(total, total, records.region, table, strip * Shape::threads + threadIdx.x,
                kStrips * Shape::threads);
}
#endif

template <class Shape, Connectivity connectivity, class Reader, class Values>
__global__ __launch_bounds__(Shape::threads) void label_small_image_kernel(
    Reader reader, Values values, LabelWriter<uint32_t> writer, int strip_rows, Records records,
    RegionTable table) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint4 block_memory[];
  auto& shared = *reinterpret_cast<SharedMemory<Shape, Values>*>(block_memory);
  pdl_trigger_and_wait();
  const auto cluster = cooperative_groups::this_cluster();
  const uint32_t strip = cluster.block_rank();
  const int y0 = static_cast<int>(strip) * strip_rows - 1, rows = strip_rows + 1;
  const StripForest forest{shared.parent};
  using Adjacency = ForegroundAdjacency<Shape, connectivity, Reader>;
  Adjacency adjacency(shared.runs, shared.to_merge);
  if constexpr (has_values<Values>) reset_sums(shared);
  adjacency.read(reader, 0, y0, rows);
  merge_runs(shared.runs, shared.warp_sums, shared.parent, adjacency);
  build_forest(shared, strip);
  cluster.barrier_arrive();
  if constexpr (has_values<Values>) measure_components(shared, y0, rows, values);
  cluster.barrier_wait();  // the trees of all strips are complete
  if constexpr (has_values<Values>) request_sums_by_label(shared);
  merge_strips(shared, forest, strip);
  cluster.sync();  // all trees are merged
  count_regions(shared, forest, strip);
  cluster.sync();  // all strips have received the region counts of all strips

  const Size written{writer.image.width, min(writer.image.height, y0 + rows)};
  if constexpr (!has_values<Values>) {
    if (strip == 0 && threadIdx.x < 32 && table.total) {
      const uint32_t total = region_counts(shared, strip).all;
      if (threadIdx.x == 0) *table.total = total;
    }
    label_components(shared, [](uint32_t, uint32_t) {});
    cluster.barrier_arrive();
    label_runs(shared);
    write_words<Shape>(shared.runs, shared.parent, 0, y0, written, writer, 1);
    cluster.barrier_wait();  // no other block reads this block's shared memory after this barrier
  } else if (shared.sums.are_by_label) {
    measure_by_label(shared, strip, y0, rows, values, records, table);
    write_words<Shape>(shared.runs, shared.parent, 0, y0, written, writer, 1);
  } else {
    const RegionCounts counts = region_counts(shared, strip);
    add_to_region_sums(shared, strip);
    label_components(shared, [&](uint32_t run, uint32_t label) {
      const bool begins = shared.region_runs[run / 32] >> run % 32 & 1;
      if (begins) shared.sums.first_runs[label - 1 - counts.above] = static_cast<uint16_t>(run);
    });
    cluster.barrier_arrive();
    label_runs(shared);
    cluster.barrier_wait();  // the sums of regions are complete
    if (strip == 0 && threadIdx.x == 0) *table.total = counts.all;
    write_records(shared, y0, shared.regions[strip], counts.above, table);
    write_words<Shape>(shared.runs, shared.parent, 0, y0, written, writer, 1);
  }
#endif
}

// Calls use.operator()<Shape>() with the smallest strip shape Shape that fits the image. Returns
// false if no shape fits.
template <class Use>
bool with_shape(Size size, const Use& use) {
  const auto fits = [&]<class Shape>() {
    if (size.width > Shape::width || size.height > Shape::height) return false;
    use.template operator()<Shape>();
    return true;
  };
  return fits.template operator()<NarrowStrip>() || fits.template operator()<WideStrip>();
}

// Calls use(kernel, bytes of shared memory) for each kernel of strip shape Shape.
template <class Shape, class Use>
void with_kernels(const Use& use) {
  const auto with_values = [&]<Connectivity c, class Reader>() {
    const auto with = [&]<class Values>() {
      use(label_small_image_kernel<Shape, c, Reader, Values>, sizeof(SharedMemory<Shape, Values>));
    };
    with.template operator()<NoValues>();
    with.template operator()<ByteValues>();
    with.template operator()<SampleValues>();
  };
  with_values.template operator()<Connectivity::four, ByteReader>();
  with_values.template operator()<Connectivity::eight, ByteReader>();
  with_values.template operator()<Connectivity::four, PixelReader>();
  with_values.template operator()<Connectivity::eight, PixelReader>();
}

template <class Shape>
bool is_supported() {
  static DeviceCache supported;
  return supported.get([] {
    bool all = true;
    with_kernels<Shape>([&](auto* kernel, size_t shared_bytes) {
      all = all && compiled_capability(reinterpret_cast<const void*>(kernel)) >= 90 &&
            enable_cluster(kernel, kStrips, Shape::threads, shared_bytes);
    });
    return all;
  });
}

}  // namespace

bool fits_small_image(Size size) {
  bool supported = false;
  with_shape(size, [&]<class Shape>() { supported = is_supported<Shape>(); });
  return supported;
}

void label_small_image(const LabelInput& input, Connectivity connectivity, const ConstFrame& frame,
                       const SmallImageOutputs& out, cudaStream_t stream) {
  const int strip_rows = (out.labels.height + kStrips - 1) / kStrips;
  const auto with_values = [&]<class Shape, Connectivity c, class Reader>() {
    const auto launch_kernel = [&]<class Values>(const Values& values) {
      with_label_writer(out.labels, 1, UINT32_MAX, [&](const LabelWriter<uint32_t>& writer) {
        launch_pdl_as(GridKind::cluster, label_small_image_kernel<Shape, c, Reader, Values>,
                      kStrips, Shape::threads, sizeof(SharedMemory<Shape, Values>), stream,
                      Reader(input), values, writer, strip_rows, out.records, out.table);
      });
    };
    if (out.records.capacity == 0) return launch_kernel(NoValues{});
    if (ByteValues::can_read(frame)) return launch_kernel(ByteValues(frame));
    launch_kernel(SampleValues(frame));
  };
  with_shape(out.labels.size(), [&]<class Shape>() {
    with_connectivity(connectivity, [&]<Connectivity c>() {
      if (ByteReader::can_read(input)) {
        with_values.template operator()<Shape, c, ByteReader>();
      } else {
        with_values.template operator()<Shape, c, PixelReader>();
      }
    });
  });
}

}  // namespace regions::cclabel
