// What the phases of the historic methods leave for each other in one slot's workspace. A cell is a
// voxel of the stack; its number is its place in raster order. Links of a cell are bits by
// neighbour: k stands for (k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1) in x, y, z.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "gpu/cclabel/base/firsts.hpp"
#include "gpu/primitives/union_find.hpp"

namespace regions::cells {

inline constexpr int kNeighbours = 27;  // itself among them, never linked
inline constexpr int kAxes = 6;         // ways along x, y, z: forth and back each

struct Progress {
  uint32_t changed[3];  // whether pass p changed a label, in place p % 3
  uint32_t passes;
};

struct Cells {
  Stack stack;
  Connectivity connectivity;
  int stride;  // of the labels of sweeps, a multiple of 128

  uint32_t* label;   // [cells] cell number of the region's representative + 1, 0 outside regions
  uint32_t* links;   // [cells] bits by neighbour
  uint16_t* far[2];  // [kAxes][cells] steps to the farthest linked cell; the second is for making
  uint32_t* swept;   // [rows][stride] labels of sweeps
  uint32_t* first;   // [cells] of a representative: the region's first cell
  uint32_t* firsts;  // [words] bits: first cells
  uint32_t* before;  // [words] first cells before the word
  uint32_t* sums;    // [words / Firsts::kSumWords] first cells there
  uint32_t* area;    // [cells] of regions, where filters want it
  uint32_t* total;   // [2] regions, and those of them that have a label
  Progress* progress;

  cclabel::Firsts regions() const {
    const auto pitch = static_cast<uint32_t>(stack.slice.width);
    return {.stack = stack,
            .in_row = 1,
            .pitch = pitch,
            .words = words(),
            .bits = firsts,
            .before = before,
            .sums = sums,
            .area = area,
            .total = total};
  }
  REGIONS_HD uint32_t count() const { return static_cast<uint32_t>(stack.size().area()); }
  REGIONS_HD uint32_t words() const { return (count() + 31) / 32; }
  // Cells from one to its neighbour k.
  REGIONS_HD int step(int k) const {
    return k % 3 - 1 + (k / 3 % 3 - 1 + (k / 9 - 1) * stack.slice.height) * stack.slice.width;
  }
};

// The neighbour that lies a step along way `axis`: +x, -x, +y, -y, +z, -z.
REGIONS_HD constexpr int neighbour_along(int axis) {
  constexpr int steps[] = {1, 3, 9};
  return 13 + (axis % 2 ? -steps[axis / 2] : steps[axis / 2]);
}

// Which neighbours the connectivity has.
REGIONS_HD constexpr uint32_t neighbours_of(Connectivity connectivity) {
  uint32_t bits = 0;
  for (int k = 0; k < kNeighbours; ++k) {
    const int x = k % 3 != 1, y = k / 3 % 3 != 1, z = k / 9 != 1, steps = x + y + z;
    const bool is_flat = !is_spatial(connectivity);
    const int most = connectivity == Connectivity::four || connectivity == Connectivity::six ? 1
                     : connectivity == Connectivity::twenty_six                              ? 3
                                                                                             : 2;
    if (steps >= 1 && steps <= most && !(is_flat && z)) bits |= 1u << k;
  }
  return bits;
}

}  // namespace regions::cells
