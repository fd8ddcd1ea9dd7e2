// How kernels add where threads meet.
#pragma once

#include "core/image.hpp"

namespace regions::graphcut {

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

}  // namespace regions::graphcut
