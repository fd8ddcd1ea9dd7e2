// Records of regions in device memory: how they are initialized, summed up, shown and published.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "core/frame.hpp"
#include "core/region.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

// The records of labels 1..capacity. An empty object means that no records are needed.
struct Records {
  Region* region = nullptr;  // [capacity] the record of label n is at index n - 1
  uint32_t capacity = 0;
};

// The value that an output shows for a region: its label or, if records are given, its track.
struct ShownValues {
  const Region* regions = nullptr;  // [capacity], or null: show labels
  const uint32_t* total = nullptr;  // number of regions that have a label
  uint32_t capacity = 0;            // of the records
  uint32_t limit = UINT32_MAX;      // greatest value of the output format
  Overflow overflow = Overflow::saturate;

  REGIONS_HD uint32_t value_of(uint32_t label) const {
    if (!regions) return label;
    return track_value(regions, capacity < *total ? capacity : *total, label, limit, overflow);
  }
};

// Copies the records and both totals to `table`, which is in pinned host memory. total[0] is the
// number of regions, total[1] the number of regions that have a label. At most
// min(total[1], table.capacity) records are copied.
void publish_table(const uint32_t* total, const Records& records, const RegionTable& table,
                   cudaStream_t stream);

#ifdef __CUDACC__

// A volume region's record before anything is added. `position` is the first voxel's.
__device__ inline Region initial_record(uint32_t label, int first_x,
                                        const VolumeLayout::Position& position) {
  Region region{};
  region.id = region.track = label;
  region.first_x = first_x;
  region.first_y = position.y;
  region.first_z = position.z;
  region.layer = static_cast<uint32_t>(position.layer);
  // Minima start at the greatest value. Sums and maxima start at 0.
  region.left = region.top = region.front = INT32_MAX;
  return region;
}

// Sums over some voxels of one row, held by one lane.
struct VoxelSums {
  uint32_t area = 0;
  int left = 0, right = 0, y = 0, z = 0;
  uint32_t value[3] = {};  // per channel; at most 32 voxels of 16 bits
};

// Adds the sums of all lanes with `joins` to one record. The whole warp must call it.
// The order of additions does not matter: these are sums, minima and maxima of integers.
__device__ inline void add_warp_sums(const VoxelSums& sums, bool joins, int channels,
                                     Region& record) {
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  const uint32_t area = joins ? sums.area : 0;
  const uint32_t all = warp_sum(area);
  // No overflow: sides are below 2^16 and a lane's area is at most 32, so 32 lanes stay below
  // 2^16 * 32 * 32 = 2^26, and below 2^27 for left + right.
  const uint32_t x = warp_sum(u(sums.left + sums.right) * area);
  const uint32_t y = warp_sum(u(sums.y) * area), z = warp_sum(u(sums.z) * area);
  const int left = static_cast<int>(warp_min(joins ? u(sums.left) : kNone));
  const int right = static_cast<int>(warp_max(joins ? u(sums.right) : 0));
  const int top = static_cast<int>(warp_min(joins ? u(sums.y) : kNone));
  const int bottom = static_cast<int>(warp_max(joins ? u(sums.y) : 0));
  const int front = static_cast<int>(warp_min(joins ? u(sums.z) : kNone));
  const int back = static_cast<int>(warp_max(joins ? u(sums.z) : 0));
  uint32_t value[3];
  for (int c = 0; c < 3; ++c) value[c] = c < channels ? warp_sum(joins ? sums.value[c] : 0) : 0;
  if (!is_first_lane()) return;
  if (left < record.left) atomicMin(&record.left, left);
  if (top < record.top) atomicMin(&record.top, top);
  if (front < record.front) atomicMin(&record.front, front);
  if (right > record.right) atomicMax(&record.right, right);
  if (bottom > record.bottom) atomicMax(&record.bottom, bottom);
  if (back > record.back) atomicMax(&record.back, back);
  atomic_add64(record.area, all);
  atomic_add64(record.sum_x, x / 2);  // (left + right) * area is even for every lane
  atomic_add64(record.sum_y, y);
  atomic_add64(record.sum_z, z);
  for (int c = 0; c < channels; ++c) atomic_add64(record.sum_value[c], value[c]);
}

// Minimum number of lanes with the same region for which a sum over the warp is faster than one
// atomic per lane.
inline constexpr int kMinLanesPerSum = 4;

// Sums over some pixels of an image's region.
struct PixelSums {
  uint64_t area, x, y;
  int left, right, bottom;
  uint32_t value[3];  // per channel
};

// Adds the sums to a record that other threads may add to. The order of additions does not matter:
// these are sums, minima and maxima of integers. The record's `top` is set with its first pixel.
__device__ inline void add_to_record(const PixelSums& sums, Region& record) {
  atomicMin(&record.left, sums.left);
  atomicMax(&record.right, sums.right);
  atomicMax(&record.bottom, sums.bottom);
  atomic_add64(record.area, sums.area);
  atomic_add64(record.sum_x, sums.x);
  atomic_add64(record.sum_y, sums.y);
  for (int k = 0; k < 3; ++k) atomic_add64(record.sum_value[k], sums.value[k]);
}

// Copies the records of labels 1..min(labelled, table.capacity), and `total`, to the table in
// pinned host memory, 8 bytes at a time. All of `threads` threads call it, each with its index `i`.
// The copy is made by a kernel because the number of records is only available on the device.
__device__ inline void publish_words(uint32_t total, uint32_t labelled, const Region* records,
                                     const RegionTable& table, size_t i, size_t threads) {
  static_assert(sizeof(Region) % sizeof(uint64_t) == 0);
  constexpr size_t kWords = sizeof(Region) / sizeof(uint64_t);
  if (i == 0) *table.total = total;
  const auto* from = reinterpret_cast<const unsigned long long*>(records);
  auto* to = reinterpret_cast<unsigned long long*>(table.regions);
  for (const size_t end = min(labelled, table.capacity) * kWords; i < end; i += threads) {
    to[i] = __ldcg(from + i);
  }
}

#endif

}  // namespace regions::cclabel
