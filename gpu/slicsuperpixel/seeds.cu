// Where clusters begin, and how far they have moved.
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = PixelBlock::threads;

__global__ __launch_bounds__(kThreads) void seed_kernel(Clusters clusters, int iterations) {
  const size_t k = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (clusters.moved && k < static_cast<size_t>(iterations)) clusters.moved[k] = 0;
  const SlicGrid& grid = clusters.grid;
  if (k >= grid.cells()) return;
  const auto columns = static_cast<size_t>(grid.columns);
  clusters.sums[0][k] =
      seed_of(static_cast<int>(k % columns), static_cast<int>(k / columns), grid, clusters.scale,
              [&](int x, int y) { return clusters.colors(x, y); });
  clusters.sums[1][k] = {};
}

}  // namespace

void seed(const Clusters& clusters, int iterations, cudaStream_t stream) {
  const size_t count = clusters.grid.cells() > 128 ? clusters.grid.cells() : 128;  // `moved` too
  launch(seed_kernel, blocks_for(count, kThreads), kThreads, 0, stream, clusters, iterations);
}

}  // namespace regions::slic
