// Measures the regions of volumes, or sums only their areas. Each thread processes the runs of one
// word of a row. The warp sums the runs of each region; then one lane adds the sum to the record by
// atomics.
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/volume/volume.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volume {
namespace {

constexpr int kThreads = cclabel::BitmapBlock::threads;

__global__ __launch_bounds__(kThreads) void measure_kernel(VolumeArrays v, ConstFrame frame,
                                                           Records records) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = word < v.all_words();
  const RowWord row(v, exists ? word : 0);
  const int frame_row = row.row % v.layout.volume_rows();
  const int channels = frame.layout.channels;
  for (int c = 0; c < v.classes; ++c) {
    uint32_t remaining = exists ? row.class_bits(v, c) : 0;
    while (__any_sync(kAllLanes, remaining != 0)) {
      uint32_t label = 0;
      cclabel::VoxelSums run_sums;
      if (remaining) {
        const int b = __ffs(static_cast<int>(remaining)) - 1;
        const uint32_t run = run_from(remaining, b);
        remaining &= ~run;
        label = label_of_region(v, region_of_node(v, row.node_at(c, b)));
        if (label > records.capacity) label = 0;
        if (label) {
          run_sums.area = static_cast<uint32_t>(__popc(run));
          run_sums.left = row.w * 32 + b;
          // add_warp_sums() requires that (left + right) * area is even. If the area is odd, left +
          // right is even.
          run_sums.right = run_sums.left + static_cast<int>(run_sums.area) - 1;
          run_sums.y = row.position.y;
          run_sums.z = row.position.z;
          for (int x = run_sums.left; x <= run_sums.right; ++x) {
            for (int k = 0; k < channels; ++k) {
              run_sums.value[k] += static_cast<uint32_t>(frame.sample(k, x, frame_row));
            }
          }
        }
      }
      for_each_key(label, [&](uint32_t common_key, bool takes_part) {
        cclabel::add_warp_sums(run_sums, takes_part, channels, records.region[common_key - 1]);
      });
    }
  }
}

// Adds the voxels of each word to the areas of their regions. Each thread has one word.
__global__ __launch_bounds__(kThreads) void sum_areas_kernel(VolumeArrays v) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = word < v.all_words();
  const RowWord row(v, exists ? word : 0);
  for (int c = 0; c < v.classes; ++c) {
    uint32_t remaining = exists ? row.class_bits(v, c) : 0;
    while (__any_sync(kAllLanes, remaining != 0)) {
      uint32_t key = 0, count = 0;  // the key is the region's id + 1
      if (remaining) {
        const int b = __ffs(static_cast<int>(remaining)) - 1;
        const uint32_t run = run_from(remaining, b);
        remaining &= ~run;
        count = static_cast<uint32_t>(__popc(run));
        key = region_of_node(v, row.node_at(c, b)) + 1;
      }
      for_each_key(key, [&](uint32_t common_key, bool takes_part) {
        const uint32_t sum = warp_sum(takes_part ? count : 0);
        // The order of the atomics does not matter, because they are sums.
        if (is_first_lane()) atomicAdd(v.area + common_key - 1, sum);
      });
    }
  }
}

}  // namespace

void sum_areas(const VolumeArrays& volume, cudaStream_t stream) {
  clear_areas(volume.regions(), stream);
  launch(sum_areas_kernel, blocks_for(volume.all_words(), kThreads), kThreads, 0, stream, volume);
}

void measure_regions(const VolumeArrays& volume, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  launch(measure_kernel, blocks_for(volume.all_words(), kThreads), kThreads, 0, stream, volume,
         frame, records);
}

}  // namespace regions::volume
