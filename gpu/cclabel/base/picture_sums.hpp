// Sums of a picture's region, and how they come to its record.
#pragma once

#include "core/region.hpp"
#include "gpu/primitives/atomic_add.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// Of some of a region's pixels.
struct PictureSums {
  uint64_t area, x, y;
  int left, right, bottom;
  uint32_t value[3];
};

// Integer sums, minima and maxima: the order of the additions does not matter.
__device__ inline void add(const PictureSums& sums, Region& record) {
  atomicMin(&record.left, sums.left);
  atomicMax(&record.right, sums.right);
  atomicMax(&record.bottom, sums.bottom);
  add64(record.area, sums.area);
  add64(record.sum_x, sums.x);
  add64(record.sum_y, sums.y);
  for (int k = 0; k < 3; ++k) add64(record.sum_value[k], sums.value[k]);
}

}  // namespace regions::cclabel

#endif
