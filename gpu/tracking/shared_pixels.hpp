// Counts the pixels that regions of this frame share with regions of the previous frame. Each
// thread block sums the pixels of its pairs in shared memory, then adds them to the picture's
// PairTable.
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

// The pairs of one thread block: a hash table in shared memory with linear probing. The key of a
// pair is (label in the previous frame << 16 | label in this frame); 0 marks a free entry. A pair
// for which none of kProbes entries is free is added directly to the picture's table.
struct BlockPairs {
  static constexpr uint32_t kEntries = 512;  // number of entries, a power of two
  static constexpr int kProbes = 16;         // maximum number of entries that are tried
  uint32_t key[kEntries];
  uint32_t count[kEntries];  // number of pixels

  // Clears the table. All threads of the block must call this function. A barrier is required
  // before add().
  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < kEntries; i += blockDim.x) key[i] = count[i] = 0;
  }
  // Adds pixels to a pair. The results are sums, so the order of threads does not matter.
  __device__ void add(uint32_t pair, uint32_t pixels, const PairTable& picture_pairs) {
    uint32_t entry = (pair * 2654435769u) >> 7 & (kEntries - 1);  // Fibonacci hashing
    for (int i = 0; i < kProbes; ++i, entry = (entry + 1) & (kEntries - 1)) {
      const uint32_t stored = atomicCAS(key + entry, 0u, pair);
      if (stored != 0 && stored != pair) continue;
      atomicAdd(count + entry, pixels);
      return;
    }
    picture_pairs.add<CudaAtomics>(pair >> 16, pair & 0xffff, pixels);
  }
  // Adds all pairs to the picture's table. All threads of the block must call this function, after
  // a barrier that completes the sums.
  __device__ void flush(const PairTable& picture_pairs) const {
    for (uint32_t i = threadIdx.x; i < kEntries; i += blockDim.x) {
      if (count[i]) picture_pairs.add<CudaAtomics>(key[i] >> 16, key[i] & 0xffff, count[i]);
    }
  }
};

}  // namespace regions

#endif
