// Records of regions in the making: how one begins, and how a warp adds to some.
#pragma once

#include "core/region.hpp"
#include "core/stack.hpp"
#include "gpu/primitives/atomic_add.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp_keys.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

__device__ inline Region begun_record(uint32_t label, int first_x, const Stack::Place& place) {
  Region region{};
  region.id = region.track = label;
  region.first_x = first_x;
  region.first_y = place.y;
  region.first_z = place.z;
  region.layer = static_cast<uint32_t>(place.layer);
  region.left = region.top = region.front = INT32_MAX;  // the others only grow
  return region;
}

// What a lane adds: some voxels of one row.
struct Piece {
  uint32_t area = 0;
  int left = 0, right = 0, y = 0, z = 0;
  uint32_t value[3] = {};  // 32 voxels of 16 bits
};

// Integer sums, minima and maxima: the order of the additions does not matter.
__device__ inline void add_group(const Piece& piece, bool joins, int channels, Region& record) {
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  const uint32_t area = joins ? piece.area : 0;
  const uint32_t all = warp_sum(area);
  // Sides are below 2^16 and areas at most 32, so that sums over a warp fit; those of x twofold.
  const uint32_t x = warp_sum(u(piece.left + piece.right) * area);
  const uint32_t y = warp_sum(u(piece.y) * area), z = warp_sum(u(piece.z) * area);
  const int left = static_cast<int>(warp_min(joins ? u(piece.left) : kNone));
  const int right = static_cast<int>(warp_max(joins ? u(piece.right) : 0));
  const int top = static_cast<int>(warp_min(joins ? u(piece.y) : kNone));
  const int bottom = static_cast<int>(warp_max(joins ? u(piece.y) : 0));
  const int front = static_cast<int>(warp_min(joins ? u(piece.z) : kNone));
  const int back = static_cast<int>(warp_max(joins ? u(piece.z) : 0));
  uint32_t value[3];
  for (int c = 0; c < 3; ++c) value[c] = c < channels ? warp_sum(joins ? piece.value[c] : 0) : 0;
  if (!is_first_lane()) return;
  if (left < record.left) atomicMin(&record.left, left);
  if (top < record.top) atomicMin(&record.top, top);
  if (front < record.front) atomicMin(&record.front, front);
  if (right > record.right) atomicMax(&record.right, right);
  if (bottom > record.bottom) atomicMax(&record.bottom, bottom);
  if (back > record.back) atomicMax(&record.back, back);
  add64(record.area, all);
  add64(record.sum_x, x / 2);  // every lane adds an even number
  add64(record.sum_y, y);
  add64(record.sum_z, z);
  for (int c = 0; c < channels; ++c) add64(record.sum_value[c], value[c]);
}

}  // namespace regions::cclabel

#endif
