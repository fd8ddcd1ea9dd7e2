// The oracle of superpixels: pixel by pixel and fragment by fragment, from the definitions in
// core/slicsuperpixel/slicsuperpixel.hpp and core/slicsuperpixel/fragments.hpp.
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

Superpixels oracle_superpixels(const ConstFrame& in, const SlicParams& params);

// The superpixels of method=ece1782.
Superpixels oracle_ece1782(const ConstFrame& in, const SlicParams& params);

}  // namespace regions
