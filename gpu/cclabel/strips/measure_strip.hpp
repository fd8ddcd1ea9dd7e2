// Measures the regions of a strip: a thread sums what it has of a region in a row, warps join these
// sums where many lanes have the same region's.
#pragma once

#include "gpu/cclabel/base/color_sums.hpp"
#include "gpu/cclabel/base/picture_sums.hpp"
#include "gpu/cclabel/base/records.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/cclabel/pictures/words.hpp"
#include "gpu/cclabel/strips/strip.hpp"
#include "gpu/primitives/union_find.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// A lane's sums over words of one region or component; it has a few, so that 32 bits hold them.
struct LaneSums {
  uint32_t key = 0;  // of what they are the sums; 0: of nothing
  uint32_t area = 0, x = 0, y = 0;
  uint32_t left = kNone, right = 0, bottom = 0;
  uint32_t value[3] = {};

  // Pixels x0..x0 + count - 1 of a row.
  __device__ void add_pixels(uint32_t x0, uint32_t count, uint32_t row) {
    area += count;
    x += (2 * x0 + count - 1) * count / 2;
    y += row * count;
    left = min(left, x0);
    right = max(right, x0 + count - 1);
    bottom = max(bottom, row);
  }
  __device__ PictureSums all() const {
    return {area,
            x,
            y,
            static_cast<int>(left),
            static_cast<int>(right),
            static_cast<int>(bottom),
            {value[0], value[1], value[2]}};
  }
};

// Calls add(key, sums) for all lanes' sums. The first few keys that lanes have, and many of them,
// go as one.
template <class Add>
__device__ void flush_warp(LaneSums& sums, const Add& add) {
  constexpr int kTries = 4;
  uint32_t pending = __ballot_sync(kAllLanes, sums.key != 0);
  for (int i = 0; pending && i < kTries; ++i) {
    const int leader = __ffs(static_cast<int>(pending)) - 1;
    const bool joins = sums.key == __shfl_sync(kAllLanes, sums.key, leader);
    const uint32_t group = __ballot_sync(kAllLanes, joins);
    pending &= ~group;
    if (__popc(group) < kMinJoined) continue;
    LaneSums all;
    all.area = warp_sum(joins ? sums.area : 0);
    all.x = warp_sum(joins ? sums.x : 0);
    all.y = warp_sum(joins ? sums.y : 0);
    all.left = warp_min(joins ? sums.left : kNone);
    all.right = warp_max(joins ? sums.right : 0);
    all.bottom = warp_max(joins ? sums.bottom : 0);
    for (int k = 0; k < 3; ++k) all.value[k] = warp_sum(joins ? sums.value[k] : 0);
    if (static_cast<int>(threadIdx.x % 32) == leader) add(sums.key, all);
    if (joins) sums.key = 0;
  }
  if (sums.key) add(sums.key, sums);
}

// Sums up the strip's own rows by what key_of(run) says, 0 being nothing; calls add(key, sums).
// `y0`: of its first row; `rows`: with that one, which is the strip above's.
template <class T, class Values, class KeyOf, class Add>
__device__ void measure_strip(const Strip<T>& s, int y0, int rows, const Values& values,
                              const KeyOf& key_of, const Add& add) {
  LaneSums sums;
  for (int w = T::words + static_cast<int>(threadIdx.x); w < rows * T::words; w += T::threads) {
    const Word word{s.runs.foreground[w], s.runs.starts[w], s.runs.rank[w]};
    if (!word.foreground) continue;
    const int x = w % T::words * 32, y = y0 + w / T::words;
    const typename Values::Word colors = values.load(x, y);
    for (uint32_t left = word.foreground; left;) {
      const int b = __ffs(static_cast<int>(left)) - 1;
      const uint32_t mask = word.rest_of_run(b);
      left &= ~mask;
      const uint32_t key = key_of(static_cast<uint32_t>(word.run_at(b)));
      if (key == 0) continue;
      if (key != sums.key) {
        if (sums.key) add(sums.key, sums);
        sums = {};
        sums.key = key;
      }
      sums.add_pixels(static_cast<uint32_t>(x + b), static_cast<uint32_t>(__popc(mask)),
                      static_cast<uint32_t>(y));
      uint32_t value[3] = {};
      values.sum(colors, x, y, mask, value);
      for (int k = 0; k < 3; ++k) sums.value[k] += value[k];
    }
  }
  __syncwarp();
  flush_warp(sums, add);
}

// A region's record with what its first pixel says; the rest only grows.
__device__ inline Region first_record(uint32_t label, int x, int y) {
  Region region{};
  region.id = region.track = label;
  region.first_x = x;
  region.first_y = region.top = y;
  region.left = INT32_MAX;
  return region;
}

}  // namespace regions::cclabel

#endif
