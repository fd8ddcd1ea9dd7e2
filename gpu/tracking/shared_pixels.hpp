// Counts the pixels that regions of this frame share with regions of the previous frame. A block
// sums its pairs of regions in shared memory, and then adds them to the picture's PairTable.
#pragma once

#include <cstdint>

#include "core/tracking/tracking.hpp"

#ifdef __CUDACC__

namespace regions {

// The atomics that PairTable requires, on the device.
struct CudaAtomics {
  __device__ static uint32_t read(const uint32_t* address) {
    return *static_cast<const volatile uint32_t*>(address);
  }
  __device__ static uint32_t add(uint32_t* address, uint32_t value) {
    return atomicAdd(address, value);
  }
  __device__ static uint32_t exchange_if(uint32_t* address, uint32_t expected, uint32_t desired) {
    return atomicCAS(address, expected, desired);
  }
};

// The pairs of one block: a hash table in shared memory with linear probing. A pair is
// label in the previous frame << 16 | label in this frame; 0 marks a free entry. A pair that finds
// no entry after kProbes steps is added to the picture's table at once.
struct BlockPairs {
  static constexpr uint32_t kEntries = 512;  // a power of two
  static constexpr int kProbes = 16;
  uint32_t key[kEntries];
  uint32_t count[kEntries];  // pixels

  // All threads of the block call it. A barrier must follow before add().
  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < kEntries; i += blockDim.x) key[i] = count[i] = 0;
  }
  // Sums: the order of threads does not matter.
  __device__ void add(uint32_t pair, uint32_t pixels, const PairTable& picture) {
    uint32_t entry = (pair * 2654435769u) >> 7 & (kEntries - 1);  // Fibonacci hashing
    for (int i = 0; i < kProbes; ++i, entry = (entry + 1) & (kEntries - 1)) {
      const uint32_t found = atomicCAS(key + entry, 0u, pair);
      if (found != 0 && found != pair) continue;
      atomicAdd(count + entry, pixels);
      return;
    }
    picture.add<CudaAtomics>(pair >> 16, pair & 0xffff, pixels);
  }
  // Adds all pairs to the picture's table. All threads of the block call it, after a barrier.
  __device__ void flush(const PairTable& picture) const {
    for (uint32_t i = threadIdx.x; i < kEntries; i += blockDim.x) {
      if (count[i]) picture.add<CudaAtomics>(key[i] >> 16, key[i] & 0xffff, count[i]);
    }
  }
};

}  // namespace regions

#endif
