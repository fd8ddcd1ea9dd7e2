// The runs of one tile in shared memory. A run is a maximal row of linked pixels inside the tile;
// runs are ranked in raster order, so a pixel's run is a count of start bits.
#pragma once

#include "gpu/cclabel/pictures/tiles.hpp"
#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

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
  // Calls f(r) for all runs, a lane each, by whole warps: f(r, false) fills the last one up. The
  // lanes meet again after each call.
  template <class F>
  __device__ void for_each(F f) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    for (int r = static_cast<int>(threadIdx.x) - lane; r < count; r += T::threads) {
      const bool exists = r + lane < count;
      f(exists ? r + lane : r, exists);
      __syncwarp();
    }
  }
  __device__ int run_at(int x, int y) const { return started(x, y) - 1; }
};

// Fills rank, ends and count from foreground and starts. Ends with a barrier, begins
// without one: a thread reads no other thread's words before the first barrier inside.
template <class T>
__device__ inline void rank_runs(TileRuns<T>& runs, uint32_t (&warp_sums)[T::threads / 32]) {
  constexpr int kWords = (T::all_words + T::threads - 1) / T::threads;  // of a thread
  const int begin = static_cast<int>(threadIdx.x) * kWords;
  const int end = min(begin + kWords, T::all_words);
  uint32_t own = 0;
  for (int w = begin; w < end; ++w) own += static_cast<uint32_t>(__popc(runs.starts[w]));
  uint32_t total;
  uint32_t run = sum_before<T::threads>(own, warp_sums, total);
  for (int w = begin; w < end; ++w) {
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
  if (threadIdx.x == 0) runs.count = static_cast<int>(total);
  __syncthreads();  // the runs are known
}

}  // namespace regions::cclabel

#endif
