// Pieces of a word: columns from where one begins to where the next one does.
#pragma once

#include <cstdint>

#ifdef __CUDACC__

namespace regions::volumes {

// The last columns of those pieces of a word, which begin at `begins` and at column 0, that have
// any of `bits`. A carry runs up to where a piece ends from any bit before, and not on.
__device__ inline uint32_t ends_of_pieces(uint32_t bits, uint32_t begins) {
  const uint32_t ends = begins >> 1 | 0x80000000u;
  return (((bits & ~ends) + ~ends) | bits) & ends;
}

}  // namespace regions::volumes

#endif
