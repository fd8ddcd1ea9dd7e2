// Superpixels the slow way: pixel by pixel, piece by piece, as the definition in
// core/slicsuperpixel.hpp and core/pieces.hpp reads.
#pragma once

#include <vector>

#include "core/slicsuperpixel.hpp"

namespace regions {

struct Superpixels {
  std::vector<uint32_t> labels;  // [height][width]
  std::vector<Region> regions;
  std::vector<Moments> moments;
  std::vector<Border> borders;
};

Superpixels superpixels_slowly(const ConstFrame& in, const SlicParams& params);

// 4-connected pieces of equal value, numbered from 0 in raster order of first pixels.
std::vector<uint32_t> pieces_of(const std::vector<uint32_t>& values, Size size, uint32_t* count);

}  // namespace regions
