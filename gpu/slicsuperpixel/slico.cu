// The passes over all pixels for SLICO (core/slicsuperpixel/clusters.hpp). They differ from
// assign.cu in the distance, which is a squared difference, and keep the largest colour distance of
// each cluster.
#include "core/slicsuperpixel/clusters.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/assign.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kTakesNoPart = 15;  // candidate number of a pixel that takes no part

template <class T>
struct SlicoCandidates {
  AdaptiveCandidate of[T::cells][kCandidates];
};

// Computes the candidates of all cells of the block in shared memory. All threads call it; it ends
// with a barrier.
template <class T>
__device__ void make_candidates(const Clusters& clusters, int sums_index, int x0, int y0,
                                SlicoCandidates<T>& s) {
  const SlicGrid& grid = clusters.grid;
  for (int i = static_cast<int>(threadIdx.x); i < T::cells * kCandidates; i += T::threads) {
    const int cell = i / kCandidates, candidate = i % kCandidates;
    const int x = x0 + cell % T::cells_x + candidate % 3 - 1;
    const int y = y0 + cell / T::cells_x + candidate / 3 - 1;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    const size_t k = inside ? grid.index(x, y) : 0;
    const ClusterSums sums = clusters.sums[sums_index][k];
    s.of[cell][candidate] = adaptive_candidate_of(
        center_of(sums, grid, clusters.scale), color_of(sums, clusters.max_distance[sums_index][k]),
        inside, candidate, grid, clusters.scale);
  }
  __syncthreads();  // all candidates are written
}

struct Choice {
  int candidate;
  int distance;  // colour distance
};

// Returns the best candidate of a pixel of the strip. The highest byte of `color` is the row in the
// patch.
template <class T>
__device__ Choice choose(const SlicoCandidates<T>& s, const SlicScale& scale, const Strip<T>& strip,
                         uint32_t color) {
  const int u = strip.left + static_cast<int>(threadIdx.x % T::lanes);
  const int v = static_cast<int>(color >> 24);
  const int quarters[3] = {static_cast<int>(4 * (color & 255)),
                           static_cast<int>(4 * (color >> 8 & 255)),
                           static_cast<int>(4 * (color >> 16 & 255))};
  int best = INT32_MAX, best_distance = 0;
#pragma unroll
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const AdaptiveCandidate& c = s.of[strip.cell][candidate];
    const int distance = color_distance(quarters, c.color, scale);
    const int score = c.place.start(u, strip.top / kPatchRows, candidate) +
                      16 * (c.place.row * v + color_score(distance, c.factor));
    if (score >= best) continue;
    best = score;
    best_distance = distance;
  }
  return {best & 15, best_distance};
}

template <class T>
__device__ void clear_block_sums(uint32_t (&block_sums)[T::halo][kSumWords + 1]) {
  for (int i = static_cast<int>(threadIdx.x); i < T::halo * (kSumWords + 1); i += T::threads) {
    block_sums[i / (kSumWords + 1)][i % (kSumWords + 1)] = 0;
  }
}

// Adds the pixels of a warp to the block's sums of their candidates. Pixels that take no part have
// the candidate kTakesNoPart.
template <class T, int kPixels>
__device__ void add_strip_to_block(const Strip<T>& strip, const Geometry<T>& geometry,
                                   const uint32_t (&color)[kPixels],
                                   const Choice (&choice)[kPixels],
                                   uint32_t (&block_sums)[T::halo][kSumWords + 1]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    uint32_t sum[3] = {}, rows = 0, count = 0;
    int max_distance = 0;
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      if (choice[i].candidate != candidate) continue;
      for (int c = 0; c < 3; ++c) sum[c] += color[i] >> 8 * c & 255;
      rows += color[i] >> 24;
      max_distance = max(max_distance, choice[i].distance);
      ++count;
    }
    const auto column = static_cast<uint32_t>(lane % T::lanes);
    // at most 512 pixels in columns 0..31
    const uint32_t counts = warp_sum(count | count * column << 16);
    if (counts == 0) continue;  // the same for all lanes
    for (uint32_t& component : sum) component = warp_sum(component);
    rows = warp_sum(rows);
    const uint32_t largest = warp_max(static_cast<uint32_t>(max_distance));
    if (lane != 0) continue;
    const int cx = strip.cell % T::cells_x, cy = strip.cell / T::cells_x;
    uint32_t* const to = block_sums[(cy + candidate / 3) * T::halo_x + cx + candidate % 3];
    const uint32_t all = counts & 0xffff;
    const auto window_x = static_cast<uint32_t>(strip.left + (2 - candidate % 3) * geometry.width);
    const auto window_y = static_cast<uint32_t>(strip.top + (2 - candidate / 3) * geometry.height);
    for (int c = 0; c < 3; ++c) atomicAdd(to + c, sum[c]);
    atomicAdd(to + 3, (counts >> 16) + all * window_x);
    atomicAdd(to + 4, rows + all * window_y);
    atomicAdd(to + 5, all);
    atomicMax(to + kSumWords, largest);
  }
}

// Adds the block's sums to the clusters in global memory. The order of atomics does not matter:
// sums and maxima of integers.
template <class T>
__device__ void add_to_clusters(const Clusters& clusters, int sums_index, int x0, int y0,
                                const uint32_t (&block_sums)[T::halo][kSumWords + 1]) {
  auto* const to = reinterpret_cast<uint32_t*>(clusters.sums[sums_index]);
  for (int i = static_cast<int>(threadIdx.x); i < T::halo * (kSumWords + 1); i += T::threads) {
    const int cluster = i / (kSumWords + 1), word = i % (kSumWords + 1);
    const uint32_t value = block_sums[cluster][word];
    if (value == 0) continue;  // also true outside the grid
    const int x = x0 - 1 + cluster % T::halo_x, y = y0 - 1 + cluster / T::halo_x;
    const size_t k = clusters.grid.index(x, y);
    if (word < kSumWords) {
      atomicAdd(to + k * kSumWords + word, value);
    } else {
      atomicMax(clusters.max_distance[sums_index] + k, value);
    }
  }
}

template <class T>
__global__ __launch_bounds__(T::threads) void iterate_slico_kernel(Clusters clusters, int iteration,
                                                                   RowSubset rows) {
  constexpr int kPixels = T::rows / T::rows_at_once;
  __shared__ SlicoCandidates<T> s;
  __shared__ uint32_t block_sums[T::halo][kSumWords + 1];  // the last word is the largest distance
  // all threads of the grid return together
  if (clusters.executed_iterations(iteration) < iteration) return;
  const SlicGrid& grid = clusters.grid;
  const Geometry<T> geometry(grid);
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  for (int i = static_cast<int>(threadIdx.x); i < T::cells; i += T::threads) {
    const int x = x0 + i % T::cells_x, y = y0 + i / T::cells_x;
    if (x >= grid.columns || y >= grid.rows) continue;
    clusters.sums[(iteration + 2) % 3][grid.index(x, y)] = {};
    clusters.max_distance[(iteration + 2) % 3][grid.index(x, y)] = 0;
  }
  clear_block_sums<T>(block_sums);
  make_candidates(clusters, iteration % 3, x0, y0, s);
  for_each_strip<T>(grid, x0, y0, [&](const Strip<T>& strip) {
    uint32_t color[kPixels];
    Choice choice[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      const int lane_row = static_cast<int>(threadIdx.x % 32) / T::lanes;
      const int row = (i * T::rows_at_once + lane_row) * rows.step + rows.phase;
      choice[i] = {kTakesNoPart, 0};
      color[i] = 0;
      if (!strip.inside || row >= T::rows || row >= strip.end) continue;
      color[i] = clusters.colors(strip.x, strip.y + row);
      choice[i] = choose(s, clusters.scale, strip, color[i]);
    }
    add_strip_to_block(strip, geometry, color, choice, block_sums);
  });
  __syncthreads();  // the block's sums are complete
  add_to_clusters<T>(clusters, (iteration + 1) % 3, x0, y0, block_sums);
}

template <class T>
__global__ __launch_bounds__(T::threads) void slico_codes_kernel(Clusters clusters, int iterations,
                                                                 Image<uint8_t> codes,
                                                                 MergeCounts* counts) {
  __shared__ SlicoCandidates<T> s;
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  make_candidates(clusters, clusters.executed_iterations(iterations) % 3, x0, y0, s);
  for_each_strip<T>(clusters.grid, x0, y0, [&](const Strip<T>& strip) {
    const int first = static_cast<int>(threadIdx.x % 32) / T::lanes;
    for (int row = first; row < min(strip.end, T::rows); row += T::rows_at_once) {
      if (!strip.inside) continue;
      const uint32_t color = clusters.colors(strip.x, strip.y + row);
      const int candidate = choose(s, clusters.scale, strip, color).candidate;
      codes(strip.x, strip.y + row) =
          cluster_code(strip.column + candidate % 3 - 1, strip.row + candidate / 3 - 1);
    }
  });
}

}  // namespace

void iterate_slico(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    launch(iterate_slico_kernel<T>, blocks_of<T>(clusters.grid), T::threads, 0, stream, clusters,
           iteration, rows);
  });
}

void write_slico_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                       MergeCounts* counts, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    launch(slico_codes_kernel<T>, blocks_of<T>(clusters.grid), T::threads, 0, stream, clusters,
           iterations, codes, counts);
  });
}

}  // namespace regions::slicsuperpixel
