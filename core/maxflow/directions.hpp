// The directions of a pixel grid's links.
#pragma once

#include "core/image.hpp"

namespace regions::maxflow {

// In opposite pairs. The even one of a pair is the way a link is stored: link d / 2 belongs to the
// pixel from which direction d leaves. Four neighbours take the first four.
enum Direction : int { kRight, kLeft, kDown, kUp, kDownRight, kUpLeft, kDownLeft, kUpRight };

REGIONS_HD constexpr int opposite(int direction) { return direction ^ 1; }
REGIONS_HD constexpr bool is_vertical(int direction) {
  return direction == kDown || direction == kUp;
}
REGIONS_HD constexpr int step_x(int direction) {
  if (is_vertical(direction)) return 0;
  return direction == kRight || direction == kDownRight || direction == kUpRight ? 1 : -1;
}
REGIONS_HD constexpr int step_y(int direction) {
  if (direction == kRight || direction == kLeft) return 0;
  return direction == kDown || direction == kDownRight || direction == kDownLeft ? 1 : -1;
}

}  // namespace regions::maxflow
