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
  uint16_t first[T::runs];      // first pixel of a run, y * width + x
  uint16_t last[T::runs];       // its last pixel
  int count;

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

// Fills rank, first, last and count from foreground and starts. Ends with a barrier, begins
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
    uint32_t ending = run - (continued & 1);  // the first end may be of a run of the word before
    for (uint32_t bits = starts; bits; bits &= bits - 1) {
      runs.first[run++] = static_cast<uint16_t>(w * 32 + __ffs(bits) - 1);
    }
    for (uint32_t bits = foreground & ~(continued >> 1 | next << 31); bits; bits &= bits - 1) {
      runs.last[ending++] = static_cast<uint16_t>(w * 32 + __ffs(bits) - 1);
    }
  }
  if (threadIdx.x == 0) runs.count = static_cast<int>(total);
  __syncthreads();  // the runs are known
}

}  // namespace regions::cclabel

#endif
