// The table of regions, word by word.
#pragma once

#include "gpu/cclabel/base/records.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Straight into pinned host memory: as many records as there are, which only the device knows.
// Thread `i` of `threads` that all call it; `numbered` regions of `total` have a label.
__device__ inline void publish_words(uint32_t total, uint32_t numbered, const Region* records,
                                     const RegionTable& table, size_t i, size_t threads) {
  static_assert(sizeof(Region) % sizeof(uint64_t) == 0);
  constexpr size_t kWords = sizeof(Region) / sizeof(uint64_t);
  if (i == 0) *table.total = total;
  const auto* from = reinterpret_cast<const unsigned long long*>(records);
  auto* to = reinterpret_cast<unsigned long long*>(table.regions);
  for (const size_t end = min(numbered, table.capacity) * kWords; i < end; i += threads) {
    to[i] = __ldcg(from + i);
  }
}

}  // namespace regions::cclabel

#endif
