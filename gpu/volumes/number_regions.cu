// Numbers regions 1..n in raster order of their first voxels: a bit for each, counted through. No
// block waits for another: each adds up what lies before its own words.
#include "gpu/cclabel/runs.hpp"
#include "gpu/volumes/groups.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/rows.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = NumberBlock::threads;
static_assert(kThreads == Volume::kSumWords, "a block numbers what one sum counts");

// Calls visit(id) for the first voxels of regions in the thread's word.
template <class Visit>
__device__ void for_each_region(const Volume& v, Visit visit) {
  const uint32_t word = blockIdx.x * RowBlock::threads + threadIdx.x;
  if (word >= v.row_words()) return;
  for (uint32_t firsts = v.firsts[word]; firsts; firsts &= firsts - 1) {
    visit(word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(firsts)) - 1));
  }
}

__global__ __launch_bounds__(RowBlock::threads) void clear_areas_kernel(Volume v) {
  for_each_region(v, [&](uint32_t region) { v.area[region] = 0; });
}

// Adds each word's voxels to their regions' roots.
__global__ __launch_bounds__(RowBlock::threads) void sum_areas_kernel(Volume v) {
  const uint32_t word = blockIdx.x * RowBlock::threads + threadIdx.x;
  const bool exists = word < v.row_words();
  const RowWord row(v, exists ? word : 0);
  for (int c = 0; c < v.classes; ++c) {
    uint32_t left = exists ? row.of_class(v, c) : 0;
    while (__any_sync(cclabel::kAllLanes, left != 0)) {
      uint32_t key = 0, count = 0;
      if (left) {
        const int b = __ffs(static_cast<int>(left)) - 1;
        const uint32_t run = run_from(left, b);
        left &= ~run;
        count = static_cast<uint32_t>(__popc(run));
        key = v.parent[v.node[row.node_at(c, b)]] + 1;
      }
      for_each_key(key, [&](uint32_t common, bool joins) {
        const uint32_t sum = cclabel::warp_sum(joins ? count : 0);
        if (is_first_lane()) atomicAdd(v.area + common - 1, sum);  // sums have no order
      });
    }
  }
}

__global__ __launch_bounds__(RowBlock::threads) void drop_by_area_kernel(Volume v, uint32_t least,
                                                                         uint32_t most) {
  for_each_region(v, [&](uint32_t region) {
    if (v.area[region] >= least && v.area[region] <= most) return;
    v.firsts[region / 32] &= ~(1u << region % 32);  // nobody else's word
    atomicSub(v.sums + region / 32 / Volume::kSumWords, 1u);
  });
}

__global__ __launch_bounds__(kThreads) void number_kernel(Volume v, Records records) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  uint32_t earlier = 0;
  for (uint32_t k = threadIdx.x; k < blockIdx.x; k += kThreads) earlier += v.sums[k];
  uint32_t start;
  cclabel::sum_before<kThreads>(earlier, warp_sums, start);
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const uint32_t firsts = word < v.row_words() ? v.firsts[word] : 0;
  const auto count = static_cast<uint32_t>(__popc(firsts));
  __syncthreads();  // warp_sums may be used again
  uint32_t all;
  uint32_t label = start + cclabel::sum_before<kThreads>(count, warp_sums, all);
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) v.total[0] = v.total[1] = start + all;
  if (word >= v.row_words()) return;
  v.before[word] = label;
  if (firsts == 0 || label >= records.capacity) return;
  const int row = static_cast<int>(word) / v.words;
  const int x = (static_cast<int>(word) - row * v.words) * 32;
  const Stack::Place place = v.stack.place(row);
  for (uint32_t bits = firsts; bits && label < records.capacity; bits &= bits - 1) {
    Region region{};
    region.id = region.track = ++label;
    region.first_x = x + __ffs(static_cast<int>(bits)) - 1;
    region.first_y = place.y;
    region.first_z = place.z;
    region.layer = static_cast<uint32_t>(place.layer);
    region.left = region.top = region.front = INT32_MAX;  // the others only grow
    records.region[label - 1] = region;
  }
}

}  // namespace

void filter_areas(const Volume& volume, uint32_t least, uint32_t most, cudaStream_t stream) {
  const unsigned blocks = blocks_for(volume.row_words(), RowBlock::threads);
  launch(clear_areas_kernel, blocks, RowBlock::threads, 0, stream, volume);
  launch(sum_areas_kernel, blocks, RowBlock::threads, 0, stream, volume);
  launch(drop_by_area_kernel, blocks, RowBlock::threads, 0, stream, volume, least, most);
}

void number_regions(const Volume& volume, const Records& records, cudaStream_t stream) {
  const unsigned blocks = blocks_for(volume.row_words(), Volume::kSumWords);
  launch(number_kernel, blocks, kThreads, 0, stream, volume, records);
}

}  // namespace regions::volumes
