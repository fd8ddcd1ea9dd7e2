// Functions of a warp or thread block: bit masks, reductions, prefix sums, reservation of entries
// in a shared list, and grouping of lanes by key. All threads of the warp (or block) must call them
// together.
#pragma once

#include <cstdint>

#ifdef __CUDACC__

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace regions {

// Mask of all 32 lanes of a warp.
inline constexpr uint32_t kAllLanes = 0xffffffffu;

__device__ inline bool is_first_lane() { return threadIdx.x % 32 == 0; }

// ---- bit masks

// bits_up_to() returns a mask in which bits 0 to b are set; bits_below(), bits 0 to b - 1.
__device__ inline uint32_t bits_up_to(int b) { return 0xffffffffu >> (31 - b); }
__device__ inline uint32_t bits_below(int b) { return (1u << b) - 1; }

// ---- reductions and prefix sums (every thread gets its result)

// The threads of the calling thread's warp.
__device__ inline auto this_warp() {
  namespace cg = cooperative_groups;
  return cg::tiled_partition<32>(cg::this_thread_block());
}
// Combines the values of all lanes.
template <class T, class Combine>
__device__ inline T warp_reduce(T value, Combine combine) {
  return cooperative_groups::reduce(this_warp(), value, combine);
}
__device__ inline uint32_t warp_sum(uint32_t value) {
  return warp_reduce(value, cooperative_groups::plus<uint32_t>());
}
__device__ inline long long warp_sum64(long long value) {
  return warp_reduce(value, cooperative_groups::plus<long long>());
}
__device__ inline uint32_t warp_min(uint32_t value) {
  return warp_reduce(value, cooperative_groups::less<uint32_t>());
}
__device__ inline uint32_t warp_max(uint32_t value) {
  return warp_reduce(value, cooperative_groups::greater<uint32_t>());
}

// Returns the sum of `value` over all lanes from lane 0 to the calling lane.
__device__ inline uint32_t warp_inclusive_sum(uint32_t value) {
  return cooperative_groups::inclusive_scan(this_warp(), value);
}

// Returns the sum of `value` over all threads of the block with a lower index. Sets `total` to the
// sum over all threads. `warp_sums` is scratch memory in shared memory; no thread may still use it
// for another purpose.
template <int threads>
__device__ inline uint32_t block_exclusive_sum(uint32_t value, uint32_t (&warp_sums)[threads / 32],
                                               uint32_t& total) {
  constexpr int kWarps = threads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const uint32_t inclusive = warp_inclusive_sum(value);
  if (lane == 31) warp_sums[warp] = inclusive;
  __syncthreads();  // every warp has written its entry of warp_sums
  const uint32_t sum = lane < kWarps ? warp_sums[lane] : 0;
  total = warp_sum(sum);
  return warp_sum(lane < warp ? sum : 0) + inclusive - value;
}

// ---- lists and keys

// Reserves `entries` consecutive entries for the calling lane in a list that has `count` entries so
// far. Returns the index of the lane's first entry. The order of warps in the list is arbitrary.
__device__ inline uint32_t reserve_entries(uint32_t& count, uint32_t entries) {
  const uint32_t end = warp_inclusive_sum(entries);
  const uint32_t begin = threadIdx.x % 32 == 31 ? atomicAdd(&count, end) : 0;
  return __shfl_sync(kAllLanes, begin, 31) + end - entries;
}

// Calls add(key, has_key) once for each distinct nonzero key of the warp's lanes. All lanes call
// add() together; has_key is true in the lanes that have this key.
template <class Add>
__device__ void for_each_key(uint32_t key, Add add) {
  uint32_t pending = __ballot_sync(kAllLanes, key != 0);
  while (pending) {
    const uint32_t common = __shfl_sync(kAllLanes, key, __ffs(static_cast<int>(pending)) - 1);
    const bool has_key = key == common;
    pending &= ~__ballot_sync(kAllLanes, has_key);
    add(common, has_key);
  }
}

}  // namespace regions

#endif
