// How a warp reads a tile's rows of what `equal` and `difference` compare: first what each lane
// loads, then, when it is there, the colour of the lane's place in each 32 pixels.
#pragma once

#include "gpu/cclabel/base/subject.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Rows of `words` x 32 pixels. Outside the picture they are what is in it next to there.
template <class Links, Stored stored, int words>
class LinkRows {
 public:
  // Of the tile at (x, y).
  __device__ LinkRows(const Links& links, int x, int y) : links_(links), x_(x), y_(y) {}

  // Of the row so far below the tile's first.
  __device__ void load(int row, uint32_t (&loaded)[words]) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int y = max(min(y_ + row, links_.height() - 1), 0);
#pragma unroll
    for (int w = 0; w < words; ++w) {
      const int x = min(x_ + w * 32 + lane, links_.width() - 1);
      if constexpr (stored == Stored::in_words) {
        loaded[w] = *reinterpret_cast<const uint32_t*>(links_.at(x, y));
      } else if constexpr (stored == Stored::packed) {
        const auto* const packed = reinterpret_cast<const uint32_t*>(links_.at(x_, y));
        loaded[w] = packed[w * 24 + min(lane, 23)];
      } else {
        loaded[w] = links_.color(x, y);
      }
    }
  }
  __device__ uint32_t color(uint32_t loaded) const {
    if constexpr (stored == Stored::packed) {
      const int first = static_cast<int>(threadIdx.x % 32) * 3;  // byte
      const uint32_t low = __shfl_sync(kAllLanes, loaded, first / 4);
      const uint32_t high = __shfl_sync(kAllLanes, loaded, first / 4 + 1);
      loaded = __funnelshift_r(low, high, first % 4 * 8);
    }
    return stored == Stored::apart ? loaded : loaded & 0xffffffu;  // without what is no channel
  }

 private:
  const Links& links_;
  int x_, y_;
};

}  // namespace regions::cclabel

#endif
