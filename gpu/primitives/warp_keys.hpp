// Sums over the lanes of a warp that have the same key.
#pragma once

#include "gpu/primitives/warp.hpp"

#ifdef __CUDACC__

namespace regions {

// Calls add(key, joins) by the whole warp, once for each key but 0 that a lane has; `joins` says
// which lanes have it.
template <class Add>
__device__ void for_each_key(uint32_t key, Add add) {
  uint32_t pending = __ballot_sync(kAllLanes, key != 0);
  while (pending) {
    const uint32_t common = __shfl_sync(kAllLanes, key, __ffs(static_cast<int>(pending)) - 1);
    const bool joins = key == common;
    pending &= ~__ballot_sync(kAllLanes, joins);
    add(common, joins);
  }
}
__device__ inline bool is_first_lane() { return threadIdx.x % 32 == 0; }

}  // namespace regions

#endif
