// Superpixels the slow way: pixel by pixel, piece by piece, as the definition in
// core/slicsuperpixel/slicsuperpixel.hpp and core/slicsuperpixel/fragments.hpp reads.
#pragma once

#include <array>
#include <vector>

#include "core/slicsuperpixel/clusters.hpp"

namespace regions {

struct Superpixels {
  std::vector<uint32_t> labels;  // [height][width]
  std::vector<Region> regions;
  std::vector<Moments> moments;
  std::vector<Border> borders;
};

Superpixels superpixels_slowly(const ConstFrame& in, const SlicParams& params);

// The same by the report's method.
Superpixels report_slowly(const ConstFrame& in, const SlicParams& params);

// What is made of clusters: pieces that join, records. `chosen` is each pixel's cluster.
Superpixels connect_slowly(const ConstFrame& in, const SlicParams& params,
                           const std::vector<uint32_t>& chosen);

// Components of each pixel's colour.
std::vector<std::array<int, 3>> colors_slowly(const ConstFrame& in, ColorSpace space);

// Rounded sixteenths, from the quotient of floats.
int64_t sixteenths_slowly(int64_t sum, int64_t count);

// 4-connected pieces of equal value, numbered from 0 in raster order of first pixels.
std::vector<uint32_t> pieces_of(const std::vector<uint32_t>& values, Size size, uint32_t* count);

}  // namespace regions
