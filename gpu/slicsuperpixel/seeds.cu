// Where clusters begin, and how far they have moved.
#include "core/slicsuperpixel/seeds.hpp"
#include "core/slicsuperpixel/slico.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = SeedBlock::threads;

__device__ inline size_t own_cell() {
  return static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

__global__ __launch_bounds__(kThreads) void count_unfit_kernel(Clusters clusters) {
  const SlicGrid& grid = clusters.grid;
  const size_t k = own_cell();
  const auto columns = static_cast<size_t>(grid.columns);
  bool unfit = false;
  if (k < grid.cells()) {
    const ClusterSums sums = clusters.kept[k];
    unfit = !may_stay(center_of(sums, grid, clusters.scale), grid) ||
            has_changed(sums, static_cast<int>(k % columns), static_cast<int>(k / columns), grid,
                        [&](int x, int y) { return clusters.color_at(x, y); });
  }
  const unsigned all = __ballot_sync(kAllLanes, unfit);
  if (threadIdx.x % 32 == 0 && all) atomicAdd(clusters.unfit, static_cast<uint32_t>(__popc(all)));
}

// A group of lanes for a cell, one for each pixel that may be its seed.
__global__ __launch_bounds__(kThreads) void seed_kernel(Clusters clusters, int iterations) {
  constexpr int kGroup = SeedBlock::group;
  static_assert(SeedPlaces::kCount <= kGroup && 32 % kGroup == 0);
  const SlicGrid& grid = clusters.grid;
  const size_t thread = own_cell(), k = thread / kGroup;
  if (clusters.moved && thread < static_cast<size_t>(iterations)) clusters.moved[thread] = 0;
  const auto place = static_cast<uint32_t>(thread % kGroup);
  const bool exists = k < grid.cells();
  const auto columns = static_cast<size_t>(grid.columns);
  const SeedPlaces places(static_cast<int>(k % columns), static_cast<int>(k / columns), grid);
  const auto color_at = [&](int x, int y) { return clusters.color_at(x, y); };
  uint32_t choice = UINT32_MAX, color = 0;
  if (exists && places.has(static_cast<int>(place))) {
    const int p = static_cast<int>(place), x = places.x(p), y = places.y(p);
    color = color_at(x, y);
    choice = static_cast<uint32_t>(places.gradient(p, clusters.scale, color_at)) * kGroup + place;
  }
  uint32_t best = choice;
#pragma unroll
  for (int step = kGroup / 2; step > 0; step /= 2) {
    best = min(best, __shfl_xor_sync(kAllLanes, best, step));
  }
  if (choice != best || !exists) return;  // all but one
  ClusterSums sums = seed_at(places.x(static_cast<int>(place)), places.y(static_cast<int>(place)),
                             color, places.column, places.row, grid);
  uint32_t reach = first_reach(clusters.scale);
  if (clusters.kept && clusters.same && !is_cut(*clusters.unfit, grid)) {
    const ClusterSums kept = clusters.kept[k];
    if (may_stay(center_of(kept, grid, clusters.scale), grid)) {
      sums = kept;
      if (clusters.reach[0]) reach = clusters.kept_reach[k];
    }
  }
  clusters.sums[0][k] = sums;
  clusters.sums[1][k] = {};
  if (clusters.reach[0]) {
    clusters.reach[0][k] = reach;
    clusters.reach[1][k] = 0;
  }
}

__global__ __launch_bounds__(kThreads) void keep_kernel(Clusters clusters, int iterations) {
  const size_t k = own_cell();
  if (k >= clusters.grid.cells()) return;
  const int last = clusters.executed(iterations) % 3;
  clusters.kept[k] = clusters.sums[last][k];
  if (clusters.reach[0]) clusters.kept_reach[k] = clusters.reach[last][k];
}

}  // namespace

void seed(const Clusters& clusters, int iterations, cudaStream_t stream) {
  const size_t cells = clusters.grid.cells();
  if (clusters.kept && clusters.same) {
    check(cudaMemsetAsync(clusters.unfit, 0, sizeof(uint32_t), stream), "clearing a counter");
    launch(count_unfit_kernel, blocks_for(cells, kThreads), kThreads, 0, stream, clusters);
  }
  const size_t threads =
      cells * SeedBlock::group > 128 ? cells * SeedBlock::group : 128;  // `moved`
  // Not in the chain, but where it begins: iterations read colours before they wait.
  launch(seed_kernel, blocks_for(threads, kThreads), kThreads, 0, stream, clusters, iterations);
}

void keep(const Clusters& clusters, int iterations, cudaStream_t stream) {
  launch(keep_kernel, blocks_for(clusters.grid.cells(), kThreads), kThreads, 0, stream, clusters,
         iterations);
}

}  // namespace regions::slic
