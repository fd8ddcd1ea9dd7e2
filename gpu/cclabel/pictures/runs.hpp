// The runs of one tile in shared memory. A run is a maximal row of linked pixels inside the tile;
// runs are ranked in raster order, so a pixel's run is a count of start bits.
#pragma once

#include "gpu/cclabel/pictures/tiles.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Calls f(i, true) for i in 0..count - 1, a lane each, by whole warps: f(i, false), with an i that
// another lane has, too, fills the last one up. The lanes meet again after each call.
template <int threads, class F>
__device__ void for_each_lane(int count, F f) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = static_cast<int>(threadIdx.x) - lane; i < count; i += threads) {
    const bool exists = i + lane < count;
    f(exists ? i + lane : i, exists);
    __syncwarp();
  }
}

template <class T>
struct TileRuns {
  uint32_t foreground[T::all_words];
  alignas(8) uint32_t starts[T::all_words];
  uint16_t rank[T::all_words];  // runs that start before the word
  uint32_t ends[T::runs];       // first pixel of a run, y * width + x, | its last << 16
  int count;

  __device__ int first(int r) const { return static_cast<int>(ends[r] & 0xffffu); }
  __device__ int last(int r) const { return static_cast<int>(ends[r] >> 16); }

  // Runs of the tile that start at or before pixel `x` of row `y`.
  __device__ int started(int x, int y) const {
    const int w = y * T::words + x / 32;
    return rank[w] + __popc(starts[w] & up_to(x % 32));
  }
  __device__ bool is_foreground(int x, int y) const {
    return foreground[y * T::words + x / 32] >> x % 32 & 1;
  }
  // See for_each_lane(), of all runs.
  template <class F>
  __device__ void for_each(F f) const {
    for_each_lane<T::threads>(count, f);
  }
  __device__ int run_at(int x, int y) const { return started(x, y) - 1; }
};

// Of starts that are marked: how many are in the words of the threads before, and in all.
struct MarkedStarts {
  uint32_t before, all;
};

// Fills rank, ends and count from foreground and starts, and counts those of them that are marked;
// `marked` has those of the thread's word. Ends with a barrier, begins without one: a thread reads
// no other thread's words before the first barrier inside.
template <class T>
__device__ inline MarkedStarts rank_runs(TileRuns<T>& runs, uint32_t (&warp_sums)[T::threads / 32],
                                         uint32_t marked) {
  static_assert(T::all_words <= T::threads, "a thread has one word");
  static_assert(T::runs < 1 << 16, "two counts are one sum");
  const int w = static_cast<int>(threadIdx.x);
  const bool has_word = w < T::all_words;
  const auto own = static_cast<uint32_t>(has_word ? __popc(runs.starts[w]) : 0);
  uint32_t total;
  const uint32_t before =
      sum_before<T::threads>(own | static_cast<uint32_t>(__popc(marked)) << 16, warp_sums, total);
  uint32_t run = before & 0xffffu;
  if (has_word) {
    const uint32_t foreground = runs.foreground[w], starts = runs.starts[w];
    const uint32_t continued = foreground & ~starts;  // linked to the pixel at their left
    const bool last_word = w % T::words == T::words - 1;
    const uint32_t next = last_word ? 0 : runs.foreground[w + 1] & ~runs.starts[w + 1] & 1;
    runs.rank[w] = static_cast<uint16_t>(run);
    uint32_t lasts = foreground & ~(continued >> 1 | next << 31);
    const auto pixel = [&](uint32_t bits) {
      return static_cast<uint32_t>(w * 32 + __ffs(bits) - 1);
    };
    auto* halves = reinterpret_cast<uint16_t*>(runs.ends);
    if (continued & 1 && lasts) {  // of a run of the word before
      halves[2 * run - 1] = static_cast<uint16_t>(pixel(lasts));
      lasts &= lasts - 1;
    }
    for (uint32_t bits = starts; bits; bits &= bits - 1, lasts &= lasts - 1, ++run) {
      if (lasts) {
        runs.ends[run] = pixel(bits) | pixel(lasts) << 16;
      } else {  // ends in a word behind
        halves[2 * run] = static_cast<uint16_t>(pixel(bits));
      }
    }
  }
  if (w == 0) runs.count = static_cast<int>(total & 0xffffu);
  __syncthreads();  // the runs are known
  return {before >> 16, total >> 16};
}

}  // namespace regions::cclabel

#endif
