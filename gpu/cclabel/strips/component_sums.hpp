// Sums of a strip's components in its block's shared memory. Those of a region come together in the
// strip where it begins, over the cluster's shared memory, and go to the table from there.
#pragma once

#include <cstring>
#include <type_traits>

#include "gpu/cclabel/base/color_sums.hpp"
#include "gpu/cclabel/strips/join_strips.hpp"
#include "gpu/cclabel/strips/measure_strip.hpp"

#ifdef __CUDACC__

namespace regions::cclabel {

// By component of a strip, in no order.
template <class T, class Values>
struct ComponentSums {
  static constexpr bool is_one_byte = std::is_same_v<Values, ByteValues>;
  static constexpr int channels = is_one_byte ? 1 : 3;
  static constexpr int capacity = is_one_byte ? T::byte_components : T::sample_components;
  static constexpr int staging_warps = 8;
  static constexpr int record_words = sizeof(Region) / sizeof(uint64_t);

  uint32_t area[capacity], x[capacity], y[capacity];
  uint32_t left[capacity], right[capacity], bottom[capacity];
  uint32_t value[channels][capacity];
  uint32_t carried[channels][is_one_byte ? 1 : capacity];  // of `value`, times 2^32
  uint32_t before[T::runs / 32];  // components of words of run bits before; in which order, is open
  uint32_t count;
  bool by_label;             // a strip does without: all regions are summed up by label
  uint16_t first[capacity];  // first run of each region that begins here, in order of labels
  uint64_t staged[staging_warps][32 * record_words];

  // Whether there is room, and sums by label would not be faster: where lines cross the whole
  // strip, each of their runs is an addition here, but a thread has a label of many. 512x512 pixels
  // on an H200, 2026-11-26, by component and by label: mazes 35.7 and 31.8 us, spirals 53.4
  // and 38.7.
  __device__ bool pay(int runs) const {
    constexpr int kFewRuns = 2048, kManyOfOne = 30;
    return count <= capacity && (runs < kFewRuns || runs < kManyOfOne * static_cast<int>(count));
  }
  // Of the component whose first run this is.
  __device__ static uint32_t index(const uint32_t* before, const uint32_t* roots, uint32_t run) {
    return before[run / 32] + __popc(roots[run / 32] & below(static_cast<int>(run % 32)));
  }
  __device__ void clear(uint32_t i) {
    area[i] = x[i] = y[i] = right[i] = bottom[i] = 0;
    left[i] = kNone;
    for (int k = 0; k < channels; ++k) {
      value[k][i] = 0;
      if constexpr (!is_one_byte) carried[k][i] = 0;
    }
  }
  // Sums fit into 32 bits: a strip has less than 2^16 pixels of 16 bits.
  __device__ void add(uint32_t i, const LaneSums& sums) {
    atomicAdd(&area[i], sums.area);
    atomicAdd(&x[i], sums.x);
    atomicAdd(&y[i], sums.y);
    atomicMin(&left[i], sums.left);
    atomicMax(&right[i], sums.right);
    atomicMax(&bottom[i], sums.bottom);
    for (int k = 0; k < channels; ++k) atomicAdd(&value[k][i], sums.value[k]);
  }
  // Adds to component `i` of any strip. All pictures of strips have less than 2^19 pixels: only
  // sums of 16-bit samples grow beyond 32 bits.
  __device__ void add_in(uint32_t strip, uint32_t i, const LaneSums& sums) {
    atomicAdd(in_strip(&area[i], strip), sums.area);
    atomicAdd(in_strip(&x[i], strip), sums.x);
    atomicAdd(in_strip(&y[i], strip), sums.y);
    atomicMin(in_strip(&left[i], strip), sums.left);
    atomicMax(in_strip(&right[i], strip), sums.right);
    atomicMax(in_strip(&bottom[i], strip), sums.bottom);
    for (int k = 0; k < channels; ++k) {
      const uint32_t more = sums.value[k], had = atomicAdd(in_strip(&value[k][i], strip), more);
      if constexpr (!is_one_byte) {
        if (had + more < had) atomicAdd(in_strip(&carried[k][i], strip), 1u);
      }
    }
  }
  __device__ void add_to(LaneSums& sums, uint32_t i) const {
    sums.area += area[i];
    sums.x += x[i];
    sums.y += y[i];
    sums.left = min(sums.left, left[i]);
    sums.right = max(sums.right, right[i]);
    sums.bottom = max(sums.bottom, bottom[i]);
    for (int k = 0; k < channels; ++k) sums.value[k] += value[k][i];
  }
  __device__ Region record(uint32_t i, uint32_t label, int first_x, int first_y) const {
    Region region{};
    region.id = region.track = label;
    region.first_x = first_x;
    region.first_y = region.top = first_y;
    region.left = static_cast<int>(left[i]);
    region.right = static_cast<int>(right[i]);
    region.bottom = static_cast<int>(bottom[i]);
    region.area = area[i];
    region.sum_x = x[i];
    region.sum_y = y[i];
    for (int k = 0; k < channels; ++k) {
      region.sum_value[k] = value[k][i];
      if constexpr (!is_one_byte) region.sum_value[k] |= static_cast<uint64_t>(carried[k][i]) << 32;
    }
    return region;
  }
};

template <class T, class Values>
struct MeasuredStrip : Strip<T> {
  ComponentSums<T, Values> sums;
};

#if __CUDA_ARCH__ >= 900

// Ahead of measure_components(), a barrier between.
template <class T, class Values>
__device__ void begin_sums(MeasuredStrip<T, Values>& s) {
  if (threadIdx.x != 0) return;
  s.sums.count = 0;
  s.sums.by_label = false;
}

// Gives components a place among the sums and measures them, if that pays. Behind
// enter_forest(), beside joints of other strips; no barrier at its end.
template <class T, class Values>
__device__ void measure_components(MeasuredStrip<T, Values>& s, int y0, int rows,
                                   const Values& values) {
  using Sums = ComponentSums<T, Values>;
  Sums& sums = s.sums;
  const int lane = static_cast<int>(threadIdx.x % 32), words = (s.runs.count + 31) / 32;
  if (static_cast<int>(threadIdx.x) - lane < words) {
    const int w = static_cast<int>(threadIdx.x);
    const uint32_t own = w < words ? static_cast<uint32_t>(__popc(s.roots[w])) : 0;
    const uint32_t inclusive = warp_prefix_sum(own);
    uint32_t start = 0;
    if (lane == 31) start = atomicAdd(&sums.count, inclusive);  // any order will do
    start = __shfl_sync(kAllLanes, start, 31);
    if (w < words) sums.before[w] = start + inclusive - own;
  }
  __syncthreads();  // components are counted
  if (!sums.pay(s.runs.count)) return;
  for_each_run_word(s, [&](int w) {
    const auto run = static_cast<uint32_t>(w * 32 + lane);
    if (s.roots[w] >> lane & 1) sums.clear(Sums::index(sums.before, s.roots, run));
  });
  __syncthreads();  // sums are clear
  measure_strip(
      s, y0, rows, values,
      [&](uint32_t run) {
        // A root's own entry may be another's already; those of others stay.
        const bool is_root = s.roots[run / 32] >> run % 32 & 1;
        return 1 + Sums::index(sums.before, s.roots, is_root ? run : RunName(s.parent[run]).run);
      },
      [&](uint32_t key, const LaneSums& lane_sums) { sums.add(key - 1, lane_sums); });
}

// Tells all strips if this one does without sums of components. Between two cluster barriers.
template <class T, class Values>
__device__ void tell_by_label(MeasuredStrip<T, Values>& s) {
  if (threadIdx.x >= kStrips || s.sums.pay(s.runs.count)) return;
  *in_strip(&s.sums.by_label, threadIdx.x) = true;
}

// Adds the components of regions that begin with another one to that one's sums. Those of a warp go
// together, as a long region has very many. Behind the cluster barrier after count_regions().
template <class T, class Values>
__device__ void gather_components(MeasuredStrip<T, Values>& s, uint32_t strip) {
  using Sums = ComponentSums<T, Values>;
  Sums& sums = s.sums;
  const auto add = [&](uint32_t key, const LaneSums& lane_sums) {
    const RunName first(key - 1);
    const uint32_t word = first.run / 32, under = below(static_cast<int>(first.run % 32));
    const uint32_t i = *in_strip(&sums.before[word], first.strip) +
                       __popc(*in_strip(&s.roots[word], first.strip) & under);
    sums.add_in(first.strip, i, lane_sums);
  };
  LaneSums lane_sums;
  for_each_run_word(s, [&](int w) {
    const uint32_t run = static_cast<uint32_t>(w) * 32 + threadIdx.x % 32;
    if (!((s.roots[w] & ~s.firsts[w]) >> threadIdx.x % 32 & 1)) return;
    const uint32_t key = s.parent[run] + 1;
    if (key != lane_sums.key) {
      if (lane_sums.key) add(lane_sums.key, lane_sums);
      lane_sums = {};
      lane_sums.key = key;
    }
    sums.add_to(lane_sums, Sums::index(sums.before, s.roots, run));
  });
  __syncwarp();
  flush_warp(lane_sums, add);
}

// Writes the records of regions that begin in the strip, whose first label is earlier + 1. Behind
// the cluster barrier after gather(); some warps are busy with it.
template <class T, class Values>
__device__ void write_records(MeasuredStrip<T, Values>& s, int y0, uint32_t own, uint32_t earlier,
                              const RegionTable& table) {
  using Sums = ComponentSums<T, Values>;
  constexpr uint32_t kWords = Sums::record_words;
  Sums& sums = s.sums;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp >= Sums::staging_warps || earlier >= table.capacity) return;
  const uint32_t end = min(own, table.capacity - earlier);
  uint64_t* staged = sums.staged[warp];
  for (uint32_t start = warp * 32; start < end; start += Sums::staging_warps * 32) {
    const uint32_t count = min(32u, end - start);
    if (lane < count) {
      const uint32_t run = sums.first[start + lane];
      const int first = s.runs.first(run);
      const Region region =
          sums.record(Sums::index(sums.before, s.roots, run), earlier + start + lane + 1,
                      first % T::width, y0 + first / T::width);
      memcpy(staged + lane * kWords, &region, sizeof(region));
    }
    __syncwarp();  // records are staged
    auto* to = reinterpret_cast<uint64_t*>(table.regions + earlier + start);
    for (uint32_t i = lane; i < count * kWords; i += 32) to[i] = staged[i];
    __syncwarp();  // they are read
  }
}

#endif

}  // namespace regions::cclabel

#endif
