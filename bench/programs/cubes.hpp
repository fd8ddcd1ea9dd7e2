// Volumes of gray values, slice below slice.
#pragma once

#include <string>

#include "tests/pictures/pictures.hpp"

namespace regions {

// A cube. rand_g<granularity>_d<density>: 0 or 255; uniform: any value; smooth: four octaves of
// noise.
Picture make_cube(const std::string& content, int side);
// Tissues of a head, a value each, with some voxels of noise: air, skin, skull, brain, ventricles.
Picture make_head(Size slice, int slices);

}  // namespace regions
