// Numbers regions 1..n in raster order of their first voxels: a bit for each, counted through.
#include "gpu/cclabel/runs.hpp"
#include "gpu/volumes/groups.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/rows.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kBandThreads = BandBlock::threads;
constexpr int kThreads = NumberBlock::threads;
static_assert(kThreads == Volume::kSumWords, "a block numbers what one sum counts");

// Calls visit(node) for the roots of a thread's share.
template <class Visit>
__device__ void for_each_root(const Volume& v, Visit visit) {
  const Share<BandBlock::parts> part(v);
  for (uint32_t starts = part.of(starts_of(v.band[part.place.word])); starts;
       starts &= starts - 1) {
    const uint32_t node =
        part.place.word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(starts)) - 1);
    if (v.parent[node] == node) visit(node);
  }
}

__global__ __launch_bounds__(kBandThreads) void clear_areas_kernel(Volume v) {
  for_each_root(v, [&](uint32_t root) { v.area[root] = 0; });
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
        key = row.root_of(v, c, b) + 1;
      }
      for_each_key(key, [&](uint32_t common, bool joins) {
        const uint32_t sum = cclabel::warp_sum(joins ? count : 0);
        if (is_first_lane()) atomicAdd(v.area + common - 1, sum);  // sums have no order
      });
    }
  }
}

__global__ __launch_bounds__(kBandThreads) void drop_by_area_kernel(Volume v, uint32_t least,
                                                                    uint32_t most) {
  for_each_root(v, [&](uint32_t root) {
    if (v.area[root] < least || v.area[root] > most) v.label[root] = kNone;
  });
}

// Marks first voxels; a dropped root gets its label, 0. Clears the records.
__global__ __launch_bounds__(kBandThreads) void mark_firsts_kernel(Volume v, Records records) {
  const size_t step = static_cast<size_t>(gridDim.x) * gridDim.y * kBandThreads;
  const size_t block = static_cast<size_t>(blockIdx.y) * gridDim.x + blockIdx.x;
  for (size_t i = block * kBandThreads + threadIdx.x; i < records.capacity; i += step) {
    Region region{};
    region.left = region.top = region.front = INT32_MAX;  // the others only grow
    records.region[i] = region;
  }
  for_each_root(v, [&](uint32_t root) {
    const uint32_t first = v.label[root];
    if (first == kNone) {
      v.label[root] = 0;
    } else {
      atomicOr(v.firsts + first / 32, 1u << first % 32);  // each its own bit
    }
  });
}

// Counts the first voxels of what a block of number_kernel will number.
__global__ __launch_bounds__(kThreads) void count_kernel(Volume v) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const uint32_t firsts = word < v.row_words() ? v.firsts[word] : 0;
  uint32_t all;
  cclabel::sum_before<kThreads>(static_cast<uint32_t>(__popc(firsts)), warp_sums, all);
  if (threadIdx.x == 0) v.sums[blockIdx.x] = all;
}

// What a record says of its region's first voxel.
__device__ void begin_record(const RowWord& row, int b, uint32_t label, Region& record) {
  record.id = record.track = label;
  record.first_x = row.w * 32 + b;
  record.first_y = row.place.y;
  record.first_z = row.place.z;
  record.layer = static_cast<uint32_t>(row.place.layer);
}

__global__ __launch_bounds__(kThreads) void number_kernel(Volume v, Records records) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  uint32_t earlier = 0;
  for (uint32_t k = threadIdx.x; k < blockIdx.x; k += kThreads) earlier += v.sums[k];
  uint32_t before;
  cclabel::sum_before<kThreads>(earlier, warp_sums, before);
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const uint32_t firsts = word < v.row_words() ? v.firsts[word] : 0;
  const auto count = static_cast<uint32_t>(__popc(firsts));
  __syncthreads();  // warp_sums may be used again
  uint32_t all;
  uint32_t label = before + cclabel::sum_before<kThreads>(count, warp_sums, all);
  if (firsts) {
    const RowWord row(v, word);
    for (uint32_t bits = firsts; bits; bits &= bits - 1) {
      const int b = __ffs(static_cast<int>(bits)) - 1;
      const int c = row.bits >> b & 1 ? 0 : 1;
      v.label[row.root_of(v, c, b)] = ++label;
      if (label <= records.capacity) begin_record(row, b, label, records.region[label - 1]);
    }
  }
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) v.total[0] = v.total[1] = before + all;
}

dim3 grid_of(const Volume& v) { return band_grid(v, BandBlock::parts, kBandThreads); }

}  // namespace

void filter_areas(const Volume& volume, uint32_t least, uint32_t most, cudaStream_t stream) {
  const dim3 bands = grid_of(volume);
  launch(clear_areas_kernel, bands, kBandThreads, 0, stream, volume);
  launch(sum_areas_kernel, blocks_for(volume.row_words(), RowBlock::threads), RowBlock::threads, 0,
         stream, volume);
  launch(drop_by_area_kernel, bands, kBandThreads, 0, stream, volume, least, most);
}

void number_regions(const Volume& volume, const Records& records, cudaStream_t stream) {
  const unsigned blocks = blocks_for(volume.row_words(), Volume::kSumWords);
  launch(mark_firsts_kernel, grid_of(volume), kBandThreads, 0, stream, volume, records);
  launch(count_kernel, blocks, kThreads, 0, stream, volume);
  launch(number_kernel, blocks, kThreads, 0, stream, volume, records);
}

}  // namespace regions::volumes
