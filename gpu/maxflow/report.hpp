// What a cut came to, added up by blocks that wait for each other.
#pragma once

#include "gpu/maxflow/grid_barrier.hpp"
#include "gpu/maxflow/tile.hpp"

namespace regions::maxflow {

__device__ inline long long warp_total(long long value) {
#pragma unroll
  for (int shift = 16; shift > 0; shift /= 2) value += __shfl_xor_sync(~0u, value, shift);
  return value;
}

// What a block's tiles add, in shared memory.
struct BlockSums {
  unsigned long long taken, gap;

  // The whole block calls it.
  __device__ void clear() {
    if (threadIdx.x == 0) taken = gap = 0;
    __syncthreads();  // zero before any thread adds
  }
  // The whole warp calls it.
  __device__ void add(long long lane_taken, long long lane_gap) {
    lane_taken = warp_total(lane_taken);
    lane_gap = warp_total(lane_gap);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(&taken, static_cast<unsigned long long>(lane_taken));
    atomicAdd(&gap, static_cast<unsigned long long>(lane_gap));
  }
};

// Writes the report; or, if heights were too short, leaves the flows that are kept for the solver
// with wider ones. All blocks call it.
template <class Barrier>
__device__ void report_cut(const Problem& problem, const BlockSums& sums, Barrier& barrier,
                           int iterations, unsigned found, bool active) {
  Progress& progress = *problem.progress;
  __syncthreads();  // all of the block have added
  if (threadIdx.x == 0) {
    atomicAdd(&progress.taken, sums.taken);  // sums of integers: order does not matter
    atomicAdd(&progress.gap, sums.gap);
  }
  barrier.meet(0);
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  progress.iterations = iterations;
  if (found & kSaturated) {
    progress.taken = progress.gap = 0;
    progress.go_on = 1;
    return;
  }
  problem.tell(iterations, !active);
}

}  // namespace regions::maxflow
