// The last assignment: which cluster each pixel is in, as cluster_code() says it.
#include "gpu/slicsuperpixel/candidates.hpp"

namespace regions::slic {
namespace {

template <class T>
__global__ __launch_bounds__(T::threads, T::blocks) void codes_kernel(Clusters clusters,
                                                                      int iterations,
                                                                      Image<uint8_t> codes,
                                                                      JoinCounts* counts) {
  await_last();
  __shared__ Candidates<T> s;
  constexpr int kPixels = T::rows / T::rows_at_once;
  const SlicGrid& grid = clusters.grid;
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  make_candidates(clusters, clusters.sums[clusters.executed(iterations) % 3], x0, y0, s);
  const auto write = [&]<int count>(const Strip<T>& strip) {
    const int first = static_cast<int>(threadIdx.x % 32) / T::lanes;
    uint32_t color[count];
    int best[count];
    read_strip<T::rows_at_once>(clusters.colors, strip, first, color);
    choose(s, strip, color, best);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int y = first + i * T::rows_at_once;
      if (!strip.inside || y >= strip.end) continue;
      const int place = best[i] & 15;
      codes(strip.x, strip.y + y) =
          cluster_code(strip.column + place % 3 - 1, strip.row + place / 3 - 1);
    }
  };
  for_each_strip<T>(grid, x0, y0, [&](const Strip<T>& strip) {
    if (T::side == 0 && strip.end <= T::rows_at_once) {  // what a strip leaves of a higher cell
      write.template operator()<1>(strip);
    } else {
      write.template operator()<kPixels>(strip);
    }
  });
}

}  // namespace

void write_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes, JoinCounts* counts,
                 cudaStream_t stream) {
  if (clusters.reach[0]) return write_adaptive_codes(clusters, iterations, codes, counts, stream);
  with_shape(clusters.grid, [&]<class T>(T) {
    launch_chained(codes_kernel<T>, blocks_of<T>(clusters.grid), T::threads, 0, stream, clusters,
                   iterations, codes, counts);
  });
}

}  // namespace regions::slic
