// How kernels add where threads meet.
#pragma once

#include "core/image.hpp"

namespace regions {

// Sums are of integers: the order of adding does not matter.
struct AtomicAdd {
  REGIONS_HD void operator()(uint32_t* sum, uint32_t amount) const {
#ifdef __CUDA_ARCH__
    atomicAdd(sum, amount);
#else
    *sum += amount;
#endif
  }
  REGIONS_HD void operator()(uint64_t* sum, uint64_t amount) const {
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(amount));
#else
    *sum += amount;
#endif
  }
};

#ifdef __CUDACC__

// Adds to a sum that other threads add to; nothing where there is nothing to add.
__device__ inline void add64(uint64_t& sum, uint64_t value) {
  if (value) AtomicAdd()(&sum, value);
}

#endif

}  // namespace regions
