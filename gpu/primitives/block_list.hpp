// Places in a list that a block's warps fill together.
#pragma once

#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions {

// Where the entries of a lane begin, of which there are `mine`, in a list of `count`; warps come in
// any order. The whole warp calls it.
__device__ inline uint32_t reserve_entries(uint32_t& count, uint32_t mine) {
  const uint32_t end = warp_prefix_sum(mine);
  const uint32_t begin = threadIdx.x % 32 == 31 ? atomicAdd(&count, end) : 0;
  return __shfl_sync(kAllLanes, begin, 31) + end - mine;
}

}  // namespace regions

#endif
