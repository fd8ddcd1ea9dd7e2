// Records of regions in device memory: functions that initialize them, add sums to them, and copy
// them to the host.
#pragma once

#include "core/cclabel/cclabel.hpp"
#include "core/frame.hpp"
#include "core/region.hpp"
#include "gpu/primitives/integer_math.hpp"
#include "gpu/primitives/union_find.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {

// The records of the regions with labels 1..capacity. An empty object means that no records are
// needed.
struct Records {
  Region* region = nullptr;  // [capacity] the record of label n is at index n - 1
  uint32_t capacity = 0;
};

// The value that an output shows for a region: its label or, if records are given, its track.
struct ShownValues {
  const Region* regions = nullptr;     // [capacity] records with tracks; null: show labels
  const TrackState* states = nullptr;  // [capacity] states of the tracks
  const uint32_t* total = nullptr;     // [1] number of regions that have a label
  uint32_t capacity = 0;               // number of records
  uint32_t limit = UINT32_MAX;         // maximum value of the output format
  Overflow overflow = Overflow::saturate;

  REGIONS_HD uint32_t value_of(uint32_t label) const {
    if (!regions) return label;
    return track_value(regions, states, capacity < *total ? capacity : *total, label, limit,
                       overflow);
  }
};

// Copies total[0] and the records to `table`, which is in pinned host memory. total[0] is the
// number of regions. total[1] is the number of regions that have a label. Copies min(total[1],
// table.capacity) records.
void publish_table(const uint32_t* total, const Records& records, const RegionTable& table,
                   cudaStream_t stream);

#ifdef __CUDACC__

// Returns the record of a region before any voxel is added. `position` is the position of the
// region's first voxel.
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

// Sums over consecutive voxels of one row. Each lane of a warp has its own sums.
struct VoxelSums {
  uint32_t area = 0;
  int left = 0, right = 0, y = 0, z = 0;
  uint32_t value[3] = {};  // sum per channel; cannot overflow: at most 32 voxels of 16 bits
};

// Adds the sums of all lanes with `takes_part` to one record. The whole warp must call this
// function. The order of the atomics does not matter: they are sums, minima and maxima of integers.
__device__ inline void add_warp_sums(const VoxelSums& sums, bool takes_part, int channels,
                                     Region& record) {
  const auto as_unsigned = [](int value) { return static_cast<uint32_t>(value); };
  const uint32_t area = takes_part ? sums.area : 0;
  const uint32_t all = warp_sum(area);
  // No overflow: coordinates are below 2^16 and a lane's area is at most 32. Sums over 32 lanes are
  // therefore below 2^16 * 32 * 32 = 2^26, or 2^27 for left + right.
  const uint32_t x = warp_sum(as_unsigned(sums.left + sums.right) * area);
  const uint32_t y = warp_sum(as_unsigned(sums.y) * area), z = warp_sum(as_unsigned(sums.z) * area);
  const int left = static_cast<int>(warp_min(takes_part ? as_unsigned(sums.left) : kNone));
  const int right = static_cast<int>(warp_max(takes_part ? as_unsigned(sums.right) : 0));
  const int top = static_cast<int>(warp_min(takes_part ? as_unsigned(sums.y) : kNone));
  const int bottom = static_cast<int>(warp_max(takes_part ? as_unsigned(sums.y) : 0));
  const int front = static_cast<int>(warp_min(takes_part ? as_unsigned(sums.z) : kNone));
  const int back = static_cast<int>(warp_max(takes_part ? as_unsigned(sums.z) : 0));
  uint32_t value[3];
  for (int c = 0; c < 3; ++c)
    value[c] = c < channels ? warp_sum(takes_part ? sums.value[c] : 0) : 0;
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

// If at least this many lanes of a warp have the same region, a sum over the warp is faster than
// one atomic per lane.
inline constexpr int kMinLanesPerSum = 4;

// Sums over some pixels of a region of an image.
struct PixelSums {
  uint64_t area, x, y;
  int left, right, bottom;
  uint32_t value[3];  // sum of the samples of each channel
};

// Adds the sums to a record, to which other threads may add at the same time. The order of the
// atomics does not matter: they are sums, minima and maxima of integers. Does not change `top`,
// which is the row of the region's first pixel.
__device__ inline void add_to_record(const PixelSums& sums, Region& record) {
  atomicMin(&record.left, sums.left);
  atomicMax(&record.right, sums.right);
  atomicMax(&record.bottom, sums.bottom);
  atomic_add64(record.area, sums.area);
  atomic_add64(record.sum_x, sums.x);
  atomic_add64(record.sum_y, sums.y);
  for (int k = 0; k < 3; ++k) atomic_add64(record.sum_value[k], sums.value[k]);
}

// Copies `total` and the records of labels 1..min(labelled, table.capacity) to the table in pinned
// host memory, 8 bytes at a time. Each of `threads` threads must call this function with its index
// `i`. A kernel makes the copy because only the device has the number of records.
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
