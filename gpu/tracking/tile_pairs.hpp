// Pairs of regions that share pixels, added up by a block before they go to the picture's table.
#pragma once

#include "core/tracking/tracking.hpp"
#include "gpu/tracking/atomics.hpp"

#ifdef __CUDACC__

namespace regions {

// In shared memory. What finds no place goes to the picture's table at once.
struct TilePairs {
  static constexpr uint32_t kSlots = 512;
  static constexpr int kProbes = 16;
  uint32_t key[kSlots];
  uint32_t count[kSlots];

  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < kSlots; i += blockDim.x) key[i] = count[i] = 0;
  }
  // Sums: no order matters.
  __device__ void add(uint32_t pair, uint32_t pixels, const PairTable& picture) {
    uint32_t slot = (pair * 2654435769u) >> 7 & (kSlots - 1);
    for (int i = 0; i < kProbes; ++i, slot = (slot + 1) & (kSlots - 1)) {
      const uint32_t found = atomicCAS(key + slot, 0u, pair);
      if (found != 0 && found != pair) continue;
      atomicAdd(count + slot, pixels);
      return;
    }
    picture.add<CudaAtomics>(pair >> 16, pair & 0xffff, pixels);
  }
  __device__ void flush(const PairTable& picture) const {
    for (uint32_t i = threadIdx.x; i < kSlots; i += blockDim.x) {
      if (count[i]) picture.add<CudaAtomics>(key[i] >> 16, key[i] & 0xffff, count[i]);
    }
  }
};

}  // namespace regions

#endif
