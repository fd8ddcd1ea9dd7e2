// Volumes of gray values; the slices are below each other.
#pragma once

#include <string>

#include "tests/pictures/pictures.hpp"

namespace regions {

// Makes a cube. rand_g<granularity>_d<density>: 0 or 255. uniform: any value. smooth: four octaves
// of noise.
Picture make_cube(const std::string& content, int side);
// Makes a head with one value per tissue (air, skin, skull, brain, ventricles) and some noise.
Picture make_head(Size slice, int slices);

}  // namespace regions
