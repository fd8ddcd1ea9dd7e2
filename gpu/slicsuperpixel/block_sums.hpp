// Sums of a block's pixels in an iteration, in shared memory until all are there.
#pragma once

#include "gpu/slicsuperpixel/candidates.hpp"

namespace regions::slic {

inline constexpr int kSumWords = sizeof(ClusterSums) / sizeof(uint32_t);
inline constexpr int kNoCandidate = kCandidates;  // counter of pixels that take no part

// Sums that an iteration reads, adds to and clears.
struct Turn {
  int iteration;
  const ClusterSums* from;
  ClusterSums *to, *clear;

  Turn(const Clusters& clusters, int i)
      : iteration(i),
        from(clusters.sums[i % 3]),
        to(clusters.sums[(i + 1) % 3]),
        clear(clusters.sums[(i + 2) % 3]) {}
};

#ifdef __CUDACC__

// Of the clusters that a block's pixels may choose.
template <class T>
struct BlockSums {
  uint32_t word[T::halo][kSumWords];

  // These are called by all threads of the block.
  __device__ void clear() {
    share_out<T, T::halo * kSumWords>([&](int i) { word[i / kSumWords][i % kSumWords] = 0; });
  }
  // Those of a cell of the block; of the clusters round it they are rows and columns of halo apart.
  __device__ uint32_t* of(int cell) {
    return word[cell / T::cells_x * T::halo_x + cell % T::cells_x];
  }
  // To the picture's, after a barrier. The order of additions does not matter.
  __device__ void give(const SlicGrid& grid, int x0, int y0, ClusterSums* sums) const {
    auto* const to = reinterpret_cast<uint32_t*>(sums);
    share_out<T, T::halo * kSumWords>([&](int i) {
      const int cluster = i / kSumWords, at = i % kSumWords;
      const uint32_t sum = word[cluster][at];
      if (sum == 0) return;  // also outside the grid
      const int x = x0 - 1 + cluster % T::halo_x, y = y0 - 1 + cluster / T::halo_x;
      atomicAdd(to + static_cast<size_t>(y * grid.columns + x) * kSumWords + at, sum);
    });
  }
};

// Clears the picture's sums of the block's cells, by the threads that have least to do.
template <class T>
__device__ void clear_sums(const SlicGrid& grid, int x0, int y0, ClusterSums* sums) {
  static_assert(T::cells <= T::threads);
  const int cell = T::threads - 1 - static_cast<int>(threadIdx.x);
  const int x = x0 + cell % T::cells_x, y = y0 + cell / T::cells_x;
  if (cell < T::cells && x < grid.columns && y < grid.rows) sums[y * grid.columns + x] = {};
}

#endif

}  // namespace regions::slic
