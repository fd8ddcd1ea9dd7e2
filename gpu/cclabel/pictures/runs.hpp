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
  uint32_t starts[T::all_words];
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
  static_assert(T::all_words <= T::threads, "a thread ranks one word");
  const int w = static_cast<int>(threadIdx.x);
  const bool has_word = w < T::all_words;
  const uint32_t starts = has_word ? runs.starts[w] : 0;
  uint32_t total;
  const uint32_t rank =
      sum_before<T::threads>(static_cast<uint32_t>(__popc(starts)), warp_sums, total);
  if (has_word) {
    const uint32_t foreground = runs.foreground[w];
    const uint32_t continued = foreground & ~starts;  // linked to the pixel at their left
    const bool last_word = w % T::words == T::words - 1;
    const uint32_t next = last_word ? 0 : runs.foreground[w + 1] & ~runs.starts[w + 1] & 1;
    runs.rank[w] = static_cast<uint16_t>(rank);
    uint32_t run = rank;
    for (uint32_t bits = starts; bits; bits &= bits - 1) {
      runs.first[run++] = static_cast<uint16_t>(w * 32 + __ffs(bits) - 1);
    }
    run = rank - (continued & 1);  // the first end may belong to a run of the word before
    for (uint32_t bits = foreground & ~(continued >> 1 | next << 31); bits; bits &= bits - 1) {
      runs.last[run++] = static_cast<uint16_t>(w * 32 + __ffs(bits) - 1);
    }
  }
  if (threadIdx.x == 0) runs.count = static_cast<int>(total);
  __syncthreads();  // the runs are known
}

}  // namespace regions::cclabel

#endif
