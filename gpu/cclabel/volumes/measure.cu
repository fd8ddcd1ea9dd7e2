// Measures regions, or their areas alone: a word's runs, added up over the warp by region, go to
// the records by atomics.
#include "gpu/cclabel/base/record_sums.hpp"
#include "gpu/cclabel/base/tuning.hpp"
#include "gpu/cclabel/volumes/phases.hpp"
#include "gpu/cclabel/volumes/rows.hpp"
#include "gpu/cclabel/volumes/tuning.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = cclabel::WordBlock::threads;

__global__ __launch_bounds__(kThreads) void measure_kernel(Volume v, ConstFrame frame,
                                                           Records records) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = word < v.row_words();
  const RowWord row(v, exists ? word : 0);
  const int frame_row = row.row % v.stack.volume_rows();
  const int channels = frame.layout.channels;
  for (int c = 0; c < v.classes; ++c) {
    uint32_t left = exists ? row.of_class(v, c) : 0;
    while (__any_sync(kAllLanes, left != 0)) {
      uint32_t label = 0;
      cclabel::Piece piece;
      if (left) {
        const int b = __ffs(static_cast<int>(left)) - 1;
        const uint32_t run = run_from(left, b);
        left &= ~run;
        label = label_of_region(v, region_of_node(v, row.node_at(c, b)));
        if (label > records.capacity) label = 0;
        if (label) {
          piece.area = static_cast<uint32_t>(__popc(run));
          piece.left = row.w * 32 + b;
          // (left + right) * area is even: of an odd area both ends are odd or both even.
          piece.right = piece.left + static_cast<int>(piece.area) - 1;
          piece.y = row.place.y;
          piece.z = row.place.z;
          for (int x = piece.left; x <= piece.right; ++x) {
            for (int k = 0; k < channels; ++k) {
              piece.value[k] += static_cast<uint32_t>(frame.sample(k, x, frame_row));
            }
          }
        }
      }
      for_each_key(label, [&](uint32_t common, bool joins) {
        cclabel::add_group(piece, joins, channels, records.region[common - 1]);
      });
    }
  }
}

// Adds each word's voxels to their regions' roots.
__global__ __launch_bounds__(kThreads) void sum_areas_kernel(Volume v) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = word < v.row_words();
  const RowWord row(v, exists ? word : 0);
  for (int c = 0; c < v.classes; ++c) {
    uint32_t left = exists ? row.of_class(v, c) : 0;
    while (__any_sync(kAllLanes, left != 0)) {
      uint32_t key = 0, count = 0;
      if (left) {
        const int b = __ffs(static_cast<int>(left)) - 1;
        const uint32_t run = run_from(left, b);
        left &= ~run;
        count = static_cast<uint32_t>(__popc(run));
        key = region_of_node(v, row.node_at(c, b)) + 1;
      }
      for_each_key(key, [&](uint32_t common, bool joins) {
        const uint32_t sum = warp_sum(joins ? count : 0);
        if (is_first_lane()) atomicAdd(v.area + common - 1, sum);  // sums have no order
      });
    }
  }
}

}  // namespace

void sum_areas(const Volume& volume, cudaStream_t stream) {
  clear_areas(volume.regions(), stream);
  launch(sum_areas_kernel, blocks_for(volume.row_words(), kThreads), kThreads, 0, stream, volume);
}

void measure_regions(const Volume& volume, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  launch(measure_kernel, blocks_for(volume.row_words(), kThreads), kThreads, 0, stream, volume,
         frame, records);
}

}  // namespace regions::volumes
