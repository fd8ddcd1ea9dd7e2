// Initialises the clusters of a frame from seeds or from the previous frame (warm start), and saves
// the clusters for the next frame.
#include "core/slicsuperpixel/clusters.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

// Threads per block. Blocks are small, because there are few threads, which mostly wait for memory.
constexpr int kThreads = 64;
constexpr int kSeedLanes = 16;  // lanes per seed; nine of these lanes handle one pixel each

__device__ inline size_t thread_index() {
  return static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
}

// Counts the clusters of the previous frame from which this frame cannot start.
__global__ __launch_bounds__(kThreads) void count_rejected_kernel(Clusters clusters) {
  const SlicGrid& grid = clusters.grid;
  const size_t cluster = thread_index();
  const auto columns = static_cast<size_t>(grid.columns);
  bool rejected = false;
  if (cluster < grid.cells()) {
    const ClusterSums sums = clusters.saved_sums[cluster];
    rejected =
        !can_warm_start(center_of(sums, grid, clusters.scale), grid) ||
        has_changed(sums, static_cast<int>(cluster % columns), static_cast<int>(cluster / columns),
                    grid, [&](int x, int y) { return clusters.color_at(x, y); });
  }
  const unsigned all = __ballot_sync(kAllLanes, rejected);
  if (threadIdx.x % 32 == 0 && all != 0) {
    atomicAdd(clusters.rejected, static_cast<uint32_t>(__popc(all)));
  }
}

// Finds the seed of each cell, from which its cluster starts. A group of kSeedLanes lanes handles a
// cell, with one lane per pixel that can be the seed. In a warm start, the cluster of the previous
// frame replaces the seed if possible.
__global__ __launch_bounds__(kThreads) void seed_kernel(Clusters clusters, int iterations) {
  static_assert(SeedCandidates::kCount <= kSeedLanes && 32 % kSeedLanes == 0);
  const SlicGrid& grid = clusters.grid;
  const size_t thread = thread_index(), cluster = thread / kSeedLanes;
  if (clusters.movement_sums && thread < static_cast<size_t>(iterations))
    clusters.movement_sums[thread] = 0;
  const auto pixel = static_cast<uint32_t>(thread % kSeedLanes);
  const bool exists = cluster < grid.cells();
  const auto columns = static_cast<size_t>(grid.columns);
  const SeedCandidates seed_pixels(static_cast<int>(cluster % columns),
                                   static_cast<int>(cluster / columns), grid);
  const auto color_at = [&](int x, int y) { return clusters.color_at(x, y); };
  uint32_t choice = UINT32_MAX, color = 0;
  if (exists && seed_pixels.has(static_cast<int>(pixel))) {
    const int p = static_cast<int>(pixel), x = seed_pixels.x(p), y = seed_pixels.y(p);
    color = color_at(x, y);
    choice = static_cast<uint32_t>(seed_pixels.gradient(p, clusters.scale, color_at)) * kSeedLanes +
             pixel;
  }
  uint32_t best = choice;
#pragma unroll
  for (int step = kSeedLanes / 2; step > 0; step /= 2) {
    best = min(best, __shfl_xor_sync(kAllLanes, best, step));
  }
  if (choice != best || !exists) return;  // only the lane with the best pixel continues
  ClusterSums sums =
      seed_at(seed_pixels.x(static_cast<int>(pixel)), seed_pixels.y(static_cast<int>(pixel)), color,
              seed_pixels.column, seed_pixels.row, grid);
  uint32_t max_distance = clusters.scale.initial_max_distance;
  if (clusters.saved_sums && clusters.is_compatible && !is_scene_cut(*clusters.rejected, grid)) {
    const ClusterSums saved = clusters.saved_sums[cluster];
    if (can_warm_start(center_of(saved, grid, clusters.scale), grid)) {
      sums = saved;
      if (clusters.max_distance[0]) max_distance = clusters.saved_max_distance[cluster];
    }
  }
  clusters.sums[0][cluster] = sums;
  clusters.sums[1][cluster] = {};
  if (clusters.max_distance[0]) {
    clusters.max_distance[0][cluster] = max_distance;
    clusters.max_distance[1][cluster] = 0;
  }
}

// Copies the clusters after the last executed iteration, so that the next frame can start from
// them.
__global__ __launch_bounds__(kThreads) void save_clusters_kernel(Clusters clusters,
                                                                 int iterations) {
  const size_t cluster = thread_index();
  if (cluster >= clusters.grid.cells()) return;
  const int last = clusters.executed_iterations(iterations) % 3;
  clusters.saved_sums[cluster] = clusters.sums[last][cluster];
  if (clusters.max_distance[0])
    clusters.saved_max_distance[cluster] = clusters.max_distance[last][cluster];
}

}  // namespace

void seed(const Clusters& clusters, int iterations, cudaStream_t stream) {
  const size_t cells = clusters.grid.cells();
  if (clusters.saved_sums && clusters.is_compatible) {
    check(cudaMemsetAsync(clusters.rejected, 0, sizeof(uint32_t), stream), "clearing a counter");
    launch(count_rejected_kernel, blocks_for(cells, kThreads), kThreads, 0, stream, clusters);
  }
  // There are at least 128 threads, because they also clear the array `movement_sums`.
  const size_t threads = cells * kSeedLanes > 128 ? cells * kSeedLanes : 128;
  // This kernel is launched without programmatic dependent launch. The iterations after it read
  // colours before they wait, so all colours must be written before this kernel starts.
  launch(seed_kernel, blocks_for(threads, kThreads), kThreads, 0, stream, clusters, iterations);
}

void save_clusters(const Clusters& clusters, int iterations, cudaStream_t stream) {
  launch(save_clusters_kernel, blocks_for(clusters.grid.cells(), kThreads), kThreads, 0, stream,
         clusters, iterations);
}

}  // namespace regions::slicsuperpixel
