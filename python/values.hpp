// Converts arrays of any element type to pictures that cclabel supports. The conversion preserves
// which elements are equal, or which elements reach a threshold.
#pragma once

#include <span>
#include <vector>

#include "python/arrays.hpp"

namespace regions::python {

// A picture that owns its memory.
struct Made {
  std::vector<std::byte> bytes;
  PixelFormat format = PixelFormat::gray8;
};

// Replaces elements of 4 or 8 bytes by 16 or 24-bit numbers. Distinct values are numbered in order
// of appearance. Throws InputError for NaN and for more than 2^24 distinct values.
Made numbered(const Voxels& voxels);

// Whether all one-byte elements that are not 0 have the same value.
bool is_mask(const Voxels& voxels);

// Whether all bytes of all elements are 0.
bool is_blank(const Voxels& voxels);

// Replaces each element by the number of thresholds (at most 255) that it reaches; 0 for NaN.
Made ranked(const Voxels& voxels, std::span<const double> thresholds);

// Sets the labels of regions whose elements equal `*background` to 0 and renumbers the other
// regions without gaps. The labels are 1..count in raster order. Returns the new number of regions.
uint32_t drop_background(const Voxels& voxels, const void* background, int32_t* labels,
                         uint32_t count);

}  // namespace regions::python
