// Union-find over the runs of a block of pixels, in the shared memory of one thread block. The
// block of pixels is a tile, or a strip of a small image. A run is a maximal sequence of linked
// pixels of one row of this block. Runs are numbered in raster order. The number of a pixel's run
// is therefore the number of run starts up to the pixel, minus 1. The steps: a reader thresholds
// pixels to bits; an adjacency class finds the first pixels of runs; number_runs() numbers the
// runs; merge_runs() merges runs that touch.
#pragma once

#include <concepts>

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/image_tiles.hpp"
#include "gpu/cclabel/label_input.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Calls f(i, true) for each i in 0..count - 1, one i per lane. Lanes for which no i remains call
// f(i, false) with the i of their warp's first lane, so that f may use warp functions. The lanes of
// a warp are synchronized after each call.
template <int threads, class F>
__device__ void for_each_lane(int count, F f) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = static_cast<int>(threadIdx.x) - lane; i < count; i += threads) {
    const bool exists = i + lane < count;
    f(exists ? i + lane : i, exists);
    __syncwarp();
  }
}

// The runs of a block of pixels of shape Shape, in shared memory. Arrays without a note have one
// entry per word of 32 pixels.
template <class Shape>
struct TileRuns {
  uint32_t foreground[Shape::all_words];
  alignas(8) uint32_t run_starts[Shape::all_words];
  uint16_t runs_before[Shape::all_words];  // number of runs that start before the word
  // By run: first pixel | last pixel << 16; a pixel is y * width + x.
  uint32_t extent[Shape::max_runs];
  int count;

  __device__ int first(int r) const { return static_cast<int>(extent[r] & 0xffffu); }
  __device__ int last(int r) const { return static_cast<int>(extent[r] >> 16); }

  // Returns the number of runs that start at or before pixel `x` of row `y`.
  __device__ int runs_up_to(int x, int y) const {
    const int w = y * Shape::words + x / 32;
    return runs_before[w] + __popc(run_starts[w] & bits_up_to(x % 32));
  }
  __device__ bool is_foreground(int x, int y) const {
    return foreground[y * Shape::words + x / 32] >> x % 32 & 1;
  }
  // Calls f(run, exists) for all runs. See for_each_lane() for `exists`.
  template <class F>
  __device__ void for_each(F f) const {
    for_each_lane<Shape::threads>(count, f);
  }
  __device__ int run_at(int x, int y) const { return runs_up_to(x, y) - 1; }
};

// A run is marked if it must be merged with the previous run of its row. `before` is the number of
// marked runs that start in the words of threads with a lower index. `all` is the number of all
// marked runs.
struct MarkedCounts {
  uint32_t before, all;
};

// Fills runs_before, extent and count from foreground and run_starts. Also counts marked run
// starts: `marked` has a bit for each marked start of this thread's word. Ends with a barrier.
// Needs no barrier at the beginning, because no thread reads another thread's words before the
// first barrier inside.
template <class Shape>
__device__ inline MarkedCounts number_runs(TileRuns<Shape>& runs,
                                           uint32_t (&warp_sums)[Shape::threads / 32],
                                           uint32_t marked) {
  static_assert(Shape::all_words <= Shape::threads, "each thread has at most one word");
  static_assert(Shape::max_runs < 1 << 16, "two counts are one sum");
  const int w = static_cast<int>(threadIdx.x);
  const bool has_word = w < Shape::all_words;
  const auto starts_here = static_cast<uint32_t>(has_word ? __popc(runs.run_starts[w]) : 0);
  uint32_t total;
  const uint32_t before = block_exclusive_sum<Shape::threads>(
      starts_here | static_cast<uint32_t>(__popc(marked)) << 16, warp_sums, total);
  uint32_t run = before & 0xffffu;
  if (has_word) {
    const uint32_t foreground = runs.foreground[w], starts = runs.run_starts[w];
    // Pixels that continue the run of their left neighbour.
    const uint32_t continued = foreground & ~starts;
    const bool last_word = w % Shape::words == Shape::words - 1;
    const uint32_t next = last_word ? 0 : runs.foreground[w + 1] & ~runs.run_starts[w + 1] & 1;
    runs.runs_before[w] = static_cast<uint16_t>(run);
    uint32_t last_pixels = foreground & ~(continued >> 1 | next << 31);
    const auto pixel = [&](uint32_t bits) {
      return static_cast<uint32_t>(w * 32 + __ffs(bits) - 1);
    };
    auto* halves = reinterpret_cast<uint16_t*>(runs.extent);
    if (continued & 1 && last_pixels) {  // the run continues from the previous word
      halves[2 * run - 1] = static_cast<uint16_t>(pixel(last_pixels));
      last_pixels &= last_pixels - 1;
    }
    for (uint32_t bits = starts; bits; bits &= bits - 1, last_pixels &= last_pixels - 1, ++run) {
      if (last_pixels) {
        runs.extent[run] = pixel(bits) | pixel(last_pixels) << 16;
      } else {  // the run ends in a later word
        halves[2 * run] = static_cast<uint16_t>(pixel(bits));
      }
    }
  }
  if (w == 0) runs.count = static_cast<int>(total & 0xffffu);
  __syncthreads();  // runs_before, extent and count are complete
  return {before >> 16, total >> 16};
}

// Readers threshold pixels. read<Shape>() sets one bit of `foreground` for each foreground pixel of
// `rows` rows of the block of pixels whose first pixel is (x, y). Bits of further rows, and of
// pixels outside the image, are 0. All threads of the block must call read().

// Reads images with one byte per pixel and 16-byte aligned rows. A thread converts 16 pixels to
// half a word.
struct ByteReader {
  Image<const uint8_t> image;
  int level;          // minimum value of a foreground pixel, 0..255
  uint32_t xor_mask;  // XORed to the bits: 0, or all ones to label the background

  explicit ByteReader(const LabelInput& input)
      : image(input.frame.plane_as<const uint8_t>(0, input.frame.width, input.frame.height)),
        level(input.level),
        xor_mask(input.complement ? 0xffffffffu : 0) {}

  static bool can_read(const LabelInput& input) {
    const Layout& layout = input.frame.layout;
    const auto address = reinterpret_cast<uintptr_t>(input.frame.plane[0]);
    const bool is_first =  // whether the first channel is compared
        input.compared == ComparedValue::value || input.compared == ComparedValue::nonzero;
    return is_first && layout.model != ColorModel::rgb && layout.sample_bytes == 1 &&
           layout.component[0].step == 1 && input.level <= 255 &&
           (address | static_cast<uintptr_t>(input.frame.pitch[0])) % 16 == 0;
  }

  template <class Shape>
  __device__ void read(uint32_t* foreground, int x, int y, int rows) const {
    constexpr int kHalves = 2 * Shape::all_words,
                  kSteps = (kHalves + Shape::threads - 1) / Shape::threads;
    auto* halves = reinterpret_cast<uint16_t*>(foreground);
    uint4 pixels[kSteps];
    const auto for_each_half = [&](auto f) {
#pragma unroll
      for (int k = 0; k < kSteps; ++k) {
        const int i = k * Shape::threads + static_cast<int>(threadIdx.x);
        const int column = i % (2 * Shape::words), row = i / (2 * Shape::words);
        if (i < kHalves) f(k, i, x + column * 16, row < rows ? y + row : -1);
      }
    };
    // All loads are issued before the first result is used.
    for_each_half([&](int k, int, int px, int py) { pixels[k] = load(px, py); });
    for_each_half([&](int k, int i, int px, int py) {
      halves[i] = static_cast<uint16_t>(half(pixels[k], px, py));
    });
  }

 private:
  // Returns four bits. Bit k is set if byte k of `bytes` is at least byte k of `levels`.
  __device__ static uint32_t threshold_four_bytes(uint32_t bytes, uint32_t levels) {
    const uint32_t ones = __vcmpgeu4(bytes, levels) & 0x01010101u;
    return ones * 0x01020408u >> 24 & 15u;
  }
  __device__ bool has_row(int y) const {
    return static_cast<unsigned>(y) < static_cast<unsigned>(image.height);
  }
  // Loads 16 pixels from (x, y) on. Returns zeros if not all of them are in the image.
  __device__ uint4 load(int x, int y) const {
    if (!has_row(y) || x + 16 > image.width) return {};
    return *reinterpret_cast<const uint4*>(image.row(y) + x);
  }
  // Returns 16 bits, one per pixel from (x, y) on. `v` contains the result of load(x, y).
  __device__ uint32_t half(const uint4& v, int x, int y) const {
    const int inside = image.width - x;
    if (!has_row(y) || inside <= 0) return 0;
    uint32_t bits = 0;
    if (inside >= 16) {
      const uint32_t levels = static_cast<uint32_t>(level) * 0x01010101u;
      bits = threshold_four_bytes(v.x, levels) | threshold_four_bytes(v.y, levels) << 4 |
             threshold_four_bytes(v.z, levels) << 8 | threshold_four_bytes(v.w, levels) << 12;
      return (bits ^ xor_mask) & 0xffffu;
    }
    const uint8_t* pixels = image.row(y) + x;
    for (int k = 0; k < inside; ++k) bits |= static_cast<uint32_t>(pixels[k] >= level) << k;
    return (bits ^ xor_mask) & bits_below(inside);
  }
};

// Reads any format and ComparedValue. A warp fills one word; each lane reads one pixel.
struct PixelReader {
  LabelInput input;

  explicit PixelReader(const LabelInput& s) : input(s) {}

  template <class Shape>
  __device__ void read(uint32_t* foreground, int x, int y, int rows) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int w = static_cast<int>(threadIdx.x / 32); w < Shape::all_words;
         w += Shape::threads / 32) {
      const int px = x + w % Shape::words * 32 + lane, row = w / Shape::words, py = y + row;
      const bool inside =
          row < rows && px < input.frame.width && py >= 0 && py < input.frame.height;
      const bool set = inside && is_set(px, py) != input.complement;
      const uint32_t bits = __ballot_sync(kAllLanes, set);
      if (lane == 0) foreground[w] = bits;
    }
  }

 private:
  __device__ bool is_set(int x, int y) const {
    if (input.compared == ComparedValue::bits) {
      return input.bits[static_cast<size_t>(y) * input.bits_stride + x / 32] >> x % 32 & 1;
    }
    return compared_value(input, x, y) >= input.level;
  }
};

// A class C that finds which runs of a block of pixels touch. C::Tile is the shape of the block of
// pixels, and C::Shared is the shared memory that C needs. All threads of the thread block call the
// functions in this order. marked_starts() returns the run starts of the thread's word that
// number_runs() must count. link_to_first_neighbour() sets the parent of each run to the first run
// above that it touches, or to the run itself. merge_remaining() merges all other pairs of touching
// runs.
template <class C>
concept RunAdjacency = requires(const C& adjacency, uint32_t* parent, const MarkedCounts& marked) {
  typename C::Tile;
  typename C::Shared;
  { adjacency.marked_starts() } -> std::convertible_to<uint32_t>;
  adjacency.link_to_first_neighbour(parent, marked);
  adjacency.merge_remaining(parent);
};

// List of runs that must be merged with the previous run of their row, because both touch the same
// run of the row below.
template <class Shape>
struct RunsToMerge {
  int count;
  uint16_t run[Shape::max_runs_to_merge];  // valid if count <= max_runs_to_merge
};

// Finds touching runs for criterion=binary. With 8-connectivity, runs of adjacent rows also touch
// diagonally.
template <class Shape, Connectivity connectivity, class Reader>
class ForegroundAdjacency {
 public:
  using Tile = Shape;
  using Shared = RunsToMerge<Shape>;
  static constexpr int min_blocks =
      Shape::min_blocks;  // number of resident blocks per multiprocessor

  __device__ ForegroundAdjacency(TileRuns<Shape>& runs, Shared& to_merge)
      : runs_(runs), to_merge_(to_merge) {}

  // Reads `rows` rows: fills foreground and run_starts, and marks the starts of runs that must be
  // merged with the previous run of their row. Ends with a barrier.
  __device__ void read(const Reader& reader, int x, int y, int rows = Shape::rows) {
    reader.template read<Shape>(runs_.foreground, x, y, rows);
    __syncthreads();  // foreground is complete
    const int w = static_cast<int>(threadIdx.x);
    if (w < Shape::all_words) {
      const uint32_t bits = runs_.foreground[w];
      const uint32_t carry = w % Shape::words ? runs_.foreground[w - 1] >> 31 : 0;
      runs_.run_starts[w] = bits & ~(bits << 1 | carry);
      marked_ = runs_.run_starts[w] & covered_gaps(w);
    }
    __syncthreads();  // run_starts is complete
  }

  __device__ uint32_t marked_starts() const { return marked_; }

  // Sets the parent of each run, and lists the runs that must be merged with the previous run of
  // their row.
  __device__ void link_to_first_neighbour(uint32_t* parent, const MarkedCounts& marked) const {
    if (threadIdx.x == 0) to_merge_.count = static_cast<int>(marked.all);
    const int w = static_cast<int>(threadIdx.x);
    int index = static_cast<int>(marked.before);
    for (uint32_t bits = marked_; bits && index < Shape::max_runs_to_merge;
         bits &= bits - 1, ++index) {
      const uint32_t before = runs_.run_starts[w] & (bits - 1) & ~bits;
      to_merge_.run[index] = static_cast<uint16_t>(runs_.runs_before[w] + __popc(before));
    }
    runs_.for_each([&](int r, bool exists) {
      if (exists) parent[r] = static_cast<uint32_t>(run_above(r));
    });
  }

  // Merges the pairs of touching runs that link_to_first_neighbour() leaves out. In each such pair,
  // two consecutive runs of a row touch the same run of the row below. The run below covers the gap
  // between the two runs and, with 4-connectivity, also the pixels next to the gap.
  __device__ void merge_remaining(uint32_t* parent) const {
    const auto merge = [&](int r, bool is_marked) {
      unite(parent, static_cast<uint32_t>(r - 1), static_cast<uint32_t>(r), is_marked);
    };
    if (to_merge_.count <= Shape::max_runs_to_merge) {
      return for_each_lane<Shape::threads>(
          to_merge_.count, [&](int i, bool exists) { merge(to_merge_.run[i], exists); });
    }
    runs_.for_each([&](int r, bool exists) {
      const int first = runs_.first(r);
      merge(r, exists && (covered_gaps(first / 32) >> first % 32 & 1));
    });
  }

 private:
  // Returns the first run of the row above that touches run `r`; `r` itself if no run touches it.
  __device__ int run_above(int r) const {
    const int first = runs_.first(r), row = first / Shape::width;
    if (row == 0) return r;
    const int left = max(first % Shape::width - kDiagonal, 0);
    const int right = min(runs_.last(r) % Shape::width + kDiagonal, Shape::width - 1);
    const int from = runs_.runs_up_to(left, row - 1) - runs_.is_foreground(left, row - 1);
    return from < runs_.runs_up_to(right, row - 1) ? from : r;
  }

  // Finds the gaps (background pixels between runs) of a word that the row below covers completely.
  // `pixels` has a bit for each background pixel. The addition in `sum` generates a carry at each
  // uncovered pixel. The carry propagates through the rest of the gap. At the first pixel after a
  // gap, the bit of `sum` is set if any pixel of the gap is not covered.
  struct Gaps {
    uint32_t pixels, sum;

    __device__ Gaps(const TileRuns<Shape>& runs, int w, uint32_t carry)
        : pixels(~runs.foreground[w]) {
      const int below = w + Shape::words;
      uint32_t covered = runs.foreground[below];
      if (kDiagonal == 0) {
        covered &= covered << 1 | (w % Shape::words ? runs.foreground[below - 1] >> 31 : 0);
      }
      sum = pixels + (pixels & ~covered) + carry;
    }
  };
  // Returns a bit for each run start in the word: set if the gap to its left is covered by the row
  // below. All other bits are arbitrary.
  __device__ uint32_t covered_gaps(int w) const {
    if (w >= Shape::all_words - Shape::words) return 0;  // the last row has no row below
    const uint32_t covered = ~Gaps(runs_, w, carry_into(w)).sum;
    return kDiagonal > 0 ? covered : covered & runs_.foreground[w + Shape::words];
  }
  // Returns the carry that the previous words of the row pass to word `w`. The first run of a row
  // has no previous run. A carry of 1 at the start of the row marks the first gap as uncovered.
  __device__ uint32_t carry_into(int w) const {
    while (w % Shape::words) {
      const Gaps gaps(runs_, --w, 0);
      if (gaps.sum < gaps.pixels) return 1;
      if (gaps.sum != 0xffffffffu) return 0;  // otherwise the gap extends further to the left
    }
    return 1;
  }

  static constexpr int kDiagonal = connectivity == Connectivity::eight ? 1 : 0;
  TileRuns<Shape>& runs_;
  Shared& to_merge_;
  // Bits: starts of marked runs in the thread's word (see MarkedCounts).
  uint32_t marked_ = 0;
};

// Numbers the runs and merges touching runs. adjacency.read() must have been called. `parent` is
// indexed by run; the root of a tree is the first run of its component. First, each run gets as
// parent the first run above that it touches, without atomics. Then the remaining pairs are merged:
// the larger root gets the smaller root as parent (Wu, Otoo, Suzuki 2009). Ends with a barrier.
template <RunAdjacency Adjacency, class Shape = typename Adjacency::Tile>
__device__ void merge_runs(TileRuns<Shape>& runs, uint32_t (&warp_sums)[Shape::threads / 32],
                           uint32_t* parent, const Adjacency& adjacency) {
  const MarkedCounts marked = number_runs(runs, warp_sums, adjacency.marked_starts());
  adjacency.link_to_first_neighbour(parent, marked);
  __syncthreads();  // each run has a parent
  // Three steps of pointer jumping shorten a path of up to eight links to one link. This is short
  // enough for merge_remaining().
  runs.for_each([&](int r, bool exists) { flatten<3>(parent, static_cast<uint32_t>(r), exists); });
  __syncthreads();  // all paths are shortened before trees are merged
  adjacency.merge_remaining(parent);
  __syncthreads();  // all trees are merged
}

}  // namespace regions::cclabel

#endif
