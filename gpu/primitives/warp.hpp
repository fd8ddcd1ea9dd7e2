// Reductions and prefix sums over the 32 lanes of a warp, and over a block; all threads of them
// call these and get the result.
#pragma once

#include <cstdint>

#ifdef __CUDACC__

namespace regions {

inline constexpr uint32_t kAllLanes = 0xffffffffu;

template <class Join>
__device__ inline uint32_t warp_join(uint32_t value, Join join) {
  for (int step = 16; step > 0; step /= 2) {
    value = join(value, __shfl_xor_sync(kAllLanes, value, step));
  }
  return value;
}

__device__ inline uint32_t warp_sum(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
  return warp_join(value, [](uint32_t a, uint32_t b) { return a + b; });
#endif
}

__device__ inline uint32_t warp_min(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(kAllLanes, value);
#else
  return warp_join(value, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
#endif
}

__device__ inline uint32_t warp_max(uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_max_sync(kAllLanes, value);
#else
  return warp_join(value, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
#endif
}

// Sum over this lane and those before it.
__device__ inline uint32_t warp_prefix_sum(uint32_t value) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t other = __shfl_up_sync(kAllLanes, value, step);
    if (lane >= step) value += other;
  }
  return value;
}

// Sum of `value` over the threads before this one; `total` over all. Every thread of the block
// calls it; `warp_sums` has a place for each warp and may not be in use.
template <int threads>
__device__ inline uint32_t sum_before(uint32_t value, uint32_t (&warp_sums)[threads / 32],
                                      uint32_t& total) {
  constexpr int kWarps = threads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const uint32_t inclusive = warp_prefix_sum(value);
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();  // warp_sums is complete
  const uint32_t sum = lane < kWarps ? warp_sums[lane] : 0;
  total = warp_sum(sum);
  return warp_sum(lane < warp ? sum : 0) + inclusive - value;
}

}  // namespace regions

#endif
