// Where clusters begin, and how far they have moved.
#include "core/slico.hpp"
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
  const unsigned all = __ballot_sync(0xffffffffu, unfit);
  if (threadIdx.x % 32 == 0 && all) atomicAdd(clusters.unfit, static_cast<uint32_t>(__popc(all)));
}

__global__ __launch_bounds__(kThreads) void seed_kernel(Clusters clusters, int iterations) {
  const size_t k = own_cell();
  if (clusters.moved && k < static_cast<size_t>(iterations)) clusters.moved[k] = 0;
  const SlicGrid& grid = clusters.grid;
  if (k >= grid.cells()) return;
  clusters.sums[1][k] = {};
  if (clusters.reach[0]) {
    clusters.reach[0][k] = first_reach(clusters.scale);
    clusters.reach[1][k] = 0;
  }
  if (clusters.kept && clusters.same && !is_cut(*clusters.unfit, grid)) {
    const ClusterSums sums = clusters.kept[k];
    if (may_stay(center_of(sums, grid, clusters.scale), grid)) {
      clusters.sums[0][k] = sums;
      if (clusters.reach[0]) clusters.reach[0][k] = clusters.kept_reach[k];
      return;
    }
  }
  const auto columns = static_cast<size_t>(grid.columns);
  clusters.sums[0][k] =
      seed_of(static_cast<int>(k % columns), static_cast<int>(k / columns), grid, clusters.scale,
              [&](int x, int y) { return clusters.color_at(x, y); });
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
  const size_t count = clusters.grid.cells() > 128 ? clusters.grid.cells() : 128;  // `moved` too
  const unsigned blocks = blocks_for(count, kThreads);
  if (clusters.kept && clusters.same) {
    check(cudaMemsetAsync(clusters.unfit, 0, sizeof(uint32_t), stream), "clearing a counter");
    launch(count_unfit_kernel, blocks, kThreads, 0, stream, clusters);
  }
  launch(seed_kernel, blocks, kThreads, 0, stream, clusters, iterations);
}

void keep(const Clusters& clusters, int iterations, cudaStream_t stream) {
  launch(keep_kernel, blocks_for(clusters.grid.cells(), kThreads), kThreads, 0, stream, clusters,
         iterations);
}

}  // namespace regions::slic
