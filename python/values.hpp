// Elements of any type as pictures that cclabel takes: only which are equal, or which reach a
// threshold, matters.
#pragma once

#include <span>
#include <vector>

#include "python/arrays.hpp"

namespace regions::python {

// A picture in memory of its own.
struct Made {
  std::vector<std::byte> bytes;
  PixelFormat format = PixelFormat::gray8;
};

// Elements of 4 or 8 bytes as numbers of their distinct values, of 16 or 24 bits, in order of
// appearance. Throws InputError for NaN and for more values than 24 bits count.
Made numbered(const Voxels& voxels);

// Whether elements of one byte are 0 or all of one other value.
bool is_mask(const Voxels& voxels);

// Whether all bytes of elements are 0.
bool is_blank(const Voxels& voxels);

// How many of the thresholds, at most 255, each element reaches; NaN reaches none.
Made ranked(const Voxels& voxels, std::span<const double> thresholds);

// Takes the regions whose elements equal `*background` out of labels 1..n in raster order, and
// numbers the rest anew. Returns how many are left.
uint32_t drop_background(const Voxels& voxels, const void* background, int32_t* labels,
                         uint32_t count);

}  // namespace regions::python
