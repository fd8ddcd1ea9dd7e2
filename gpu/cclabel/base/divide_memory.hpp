// How a multiprocessor's memory is divided where phases follow each other quickly.
#pragma once

#include "gpu/runtime/chain.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

inline constexpr uint32_t kFewTiles = 1024;

// A multiprocessor divides its memory into shared memory and cache, and empties before it does so
// anew. Where there are few tiles, all phases want the same, so that the blocks of one come up
// beside those of the one before: 28 us for 32 at 128^3, and 116 for 110 at 256^3 (H200,
// 26-connected noise, 2026-11-21).
template <class... Declared>
void divide_memory(void (*kernel)(Declared...), uint32_t tiles) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             tiles <= kFewTiles ? static_cast<int>(cudaSharedmemCarveoutMaxShared)
                                                : static_cast<int>(cudaSharedmemCarveoutDefault)),
        "asking for shared memory");
}

}  // namespace regions::cclabel

#endif
