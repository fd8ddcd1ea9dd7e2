// Gray-value volumes for benchmarks. The slices are stored below one another in one tall picture.
#pragma once

#include <string>

#include "tests/pictures/pictures.hpp"

namespace regions {

// Makes a cube. `content` is "rand_g<granularity>_d<density>" (random blocks of 0 or 255; density
// in percent), "uniform" (independent random values) or "smooth" (four octaves of noise).
Picture make_cube(const std::string& content, int side);
// Makes a volume like the scan of a head: one gray value per tissue (air, skin, skull, brain,
// ventricles) and some noise.
Picture make_head(Size slice, int slices);

}  // namespace regions
