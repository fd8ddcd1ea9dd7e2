// Records of superpixels: exact sums, so the order of atomics does not matter.
#include "gpu/slicsuperpixel/columns.hpp"
#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = PixelBlock::threads;
using Wide = unsigned long long;

__global__ __launch_bounds__(kThreads) void clear_kernel(Records records) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= records.capacity) return;
  Region region{};
  region.id = region.track = i + 1;
  region.first_x = region.first_y = region.left = region.top = INT32_MAX;
  records.region[i] = region;
  if (records.moments) records.moments[i] = Moments{};
}

// The first pixel as one number in raster order.
__device__ Wide* first_of(Region& region) {
  static_assert(offsetof(Region, first_x) % 8 == 0 &&
                offsetof(Region, first_y) == offsetof(Region, first_x) + 4);
  return reinterpret_cast<Wide*>(&region.first_x);
}

// Sum of the squares 0..n.
__device__ inline Wide squares_to(int n) {
  const auto m = static_cast<Wide>(n);
  return m * (m + 1) * (2 * m + 1) / 6;
}

// What rows top..bottom of a column bring to the moments; `lab` sums the colours there.
__device__ inline void add_moments(Moments& moments, int column, int top, int bottom,
                                   const uint32_t (&lab)[3]) {
  const auto x = static_cast<Wide>(column), rows = static_cast<Wide>(bottom - top + 1);
  const Wide sum_y = rows * static_cast<Wide>(top + bottom) / 2;
  for (int c = 0; c < 3; ++c) {
    atomicAdd(reinterpret_cast<Wide*>(&moments.sum_lab[c]), static_cast<Wide>(lab[c]));
  }
  atomicAdd(reinterpret_cast<Wide*>(&moments.sum_xx), rows * x * x);
  atomicAdd(reinterpret_cast<Wide*>(&moments.sum_xy), x * sum_y);
  atomicAdd(reinterpret_cast<Wide*>(&moments.sum_yy),
            squares_to(bottom) - (top > 0 ? squares_to(top - 1) : 0));
}

struct Sample {
  ushort4 value;
  uint32_t color;
};

template <bool kMoments>
__global__ __launch_bounds__(ColumnWalk::threads) void measure_kernel(ConstLabelMap labels,
                                                                      ConstFrame frame,
                                                                      Image<uint32_t> colors,
                                                                      Records records) {
  int top = 0, bottom = 0, column = 0;
  uint32_t sum[3] = {}, lab[3] = {};
  const int channels = frame.layout.channels;
  walk(
      labels,
      [&](int x, int y) {
        Sample sample = {};
        sample.value.x = static_cast<uint16_t>(frame.sample(0, x, y));
        if (channels > 1) sample.value.y = static_cast<uint16_t>(frame.sample(1, x, y));
        if (channels > 2) sample.value.z = static_cast<uint16_t>(frame.sample(2, x, y));
        if constexpr (kMoments) sample.color = colors(x, y);
        return sample;
      },
      [&](uint32_t) {
        top = -1;
        for (int c = 0; c < 3; ++c) sum[c] = lab[c] = 0;
      },
      [&](const Sample& sample, int x, int y) {
        if (top < 0) top = y;
        bottom = y;
        column = x;
        sum[0] += sample.value.x;
        sum[1] += sample.value.y;
        sum[2] += sample.value.z;
        for (int c = 0; c < 3; ++c) lab[c] += sample.color >> 8 * c & 255;
      },
      [&](uint32_t label) {
        if (label > records.capacity) return;
        Region& region = records.region[label - 1];
        const auto rows = static_cast<Wide>(bottom - top + 1);
        atomicMin(first_of(region), static_cast<Wide>(top) << 32 | static_cast<Wide>(column));
        atomicMin(&region.left, column);
        atomicMin(&region.top, top);
        atomicMax(&region.right, column);
        atomicMax(&region.bottom, bottom);
        atomicAdd(reinterpret_cast<Wide*>(&region.area), rows);
        atomicAdd(reinterpret_cast<Wide*>(&region.sum_x), rows * static_cast<Wide>(column));
        atomicAdd(reinterpret_cast<Wide*>(&region.sum_y),
                  rows * static_cast<Wide>(top + bottom) / 2);
        for (int c = 0; c < 3; ++c) {
          if (c < channels) {
            atomicAdd(reinterpret_cast<Wide*>(&region.sum_value[c]), static_cast<Wide>(sum[c]));
          }
        }
        if constexpr (kMoments) {
          add_moments(records.moments[label - 1], column, top, bottom, lab);
        }
      });
}

__global__ __launch_bounds__(kThreads) void publish_kernel(Records records, RegionTable table) {
  await_last();
  const uint32_t total = *records.total;
  const uint32_t known = min(min(total, records.capacity), table.capacity);
  const size_t first = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  const auto copy = [&]<class T>(const T* from, T* to) {
    static_assert(sizeof(T) % sizeof(Wide) == 0);
    const size_t words = static_cast<size_t>(known) * (sizeof(T) / sizeof(Wide));
    for (size_t w = first; w < words; w += static_cast<size_t>(gridDim.x) * kThreads) {
      reinterpret_cast<Wide*>(to)[w] = reinterpret_cast<const Wide*>(from)[w];
    }
  };
  copy(records.region, table.regions);
  if (table.moments) copy(records.moments, table.moments);
  if (first == 0 && table.total) *table.total = total;
}

}  // namespace

void measure_records(ConstLabelMap labels, const ConstFrame& frame, const Image<uint32_t>& colors,
                     const Records& records, cudaStream_t stream) {
  launch(clear_kernel, blocks_for(records.capacity, kThreads), kThreads, 0, stream, records);
  launch(records.moments ? measure_kernel<true> : measure_kernel<false>, column_grid(labels.size()),
         ColumnWalk::threads, 0, stream, labels, frame, colors, records);
}

void publish_records(const Records& records, const RegionTable& table, cudaStream_t stream) {
  launch_chained(publish_kernel, 64, kThreads, 0, stream, records, table);
}

}  // namespace regions::slic
