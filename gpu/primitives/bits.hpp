// Bits of a word below some place.
#pragma once

#include <cstdint>

#ifdef __CUDACC__

namespace regions {

// Bits 0..b and bits 0..b-1 of a word.
__device__ inline uint32_t up_to(int b) { return 0xffffffffu >> (31 - b); }
__device__ inline uint32_t below(int b) { return (1u << b) - 1; }

}  // namespace regions

#endif
