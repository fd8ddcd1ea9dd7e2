// Scenes of moving discs whose truth is known.
#pragma once

#include <vector>

#include "tests/pictures/pictures.hpp"

namespace regions {

struct Disc {
  double x = 0, y = 0;    // centre, pixels
  double vx = 0, vy = 0;  // a frame
  double radius = 5;      // pixels
  uint8_t red = 255, green = 255, blue = 255;
};

// Discs on black, the later ones in front; rgb.
Picture paint_discs(Size size, const std::vector<Disc>& discs);

// Many discs of several sizes and speeds, some faster than they are wide, that bounce off the
// picture's edges and off each other without ever touching. moved() is one frame later.
std::vector<Disc> crowd(Size size, int count, uint32_t seed);
std::vector<Disc> moved(Size size, const std::vector<Disc>& discs);

}  // namespace regions
