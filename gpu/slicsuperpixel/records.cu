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
}

// The first pixel as one number in raster order.
__device__ Wide* first_of(Region& region) {
  static_assert(offsetof(Region, first_x) % 8 == 0 &&
                offsetof(Region, first_y) == offsetof(Region, first_x) + 4);
  return reinterpret_cast<Wide*>(&region.first_x);
}

__global__ __launch_bounds__(ColumnWalk::threads) void measure_kernel(ConstLabelMap labels,
                                                                      ConstFrame frame,
                                                                      Records records) {
  int top = 0, bottom = 0, column = 0;
  uint32_t sum[3] = {};
  const int channels = frame.layout.channels;
  walk(
      labels,
      [&](int x, int y) {
        ushort4 value = {};
        value.x = static_cast<uint16_t>(frame.sample(0, x, y));
        if (channels > 1) value.y = static_cast<uint16_t>(frame.sample(1, x, y));
        if (channels > 2) value.z = static_cast<uint16_t>(frame.sample(2, x, y));
        return value;
      },
      [&](uint32_t) { top = -1, sum[0] = sum[1] = sum[2] = 0; },
      [&](ushort4 value, int x, int y) {
        if (top < 0) top = y;
        bottom = y;
        column = x;
        sum[0] += value.x;
        sum[1] += value.y;
        sum[2] += value.z;
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
      });
}

__global__ __launch_bounds__(kThreads) void publish_kernel(Records records, RegionTable table) {
  const uint32_t total = *records.total;
  const uint32_t known = min(min(total, records.capacity), table.capacity);
  const size_t words = static_cast<size_t>(known) * (sizeof(Region) / sizeof(Wide));
  static_assert(sizeof(Region) % sizeof(Wide) == 0);
  const size_t first = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (size_t w = first; w < words; w += static_cast<size_t>(gridDim.x) * kThreads) {
    reinterpret_cast<Wide*>(table.regions)[w] = reinterpret_cast<const Wide*>(records.region)[w];
  }
  if (first == 0 && table.total) *table.total = total;
}

}  // namespace

void measure_records(ConstLabelMap labels, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  launch(clear_kernel, blocks_for(records.capacity, kThreads), kThreads, 0, stream, records);
  launch(measure_kernel, column_grid(labels.size()), ColumnWalk::threads, 0, stream, labels, frame,
         records);
}

void publish_records(const Records& records, const RegionTable& table, cudaStream_t stream) {
  launch(publish_kernel, 64, kThreads, 0, stream, records, table);
}

}  // namespace regions::slic
