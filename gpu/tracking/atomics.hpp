// PairTable's atomics on the device.
#pragma once

#include <cstdint>

#ifdef __CUDACC__

namespace regions {

struct CudaAtomics {
  __device__ static uint32_t read(const uint32_t* at) {
    return *static_cast<const volatile uint32_t*>(at);
  }
  __device__ static uint32_t add(uint32_t* at, uint32_t more) { return atomicAdd(at, more); }
  __device__ static uint32_t exchange_if(uint32_t* at, uint32_t expected, uint32_t wanted) {
    return atomicCAS(at, expected, wanted);
  }
};

}  // namespace regions

#endif
