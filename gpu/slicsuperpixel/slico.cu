// The iterations and the final assignment of SLICO on the GPU. The kernels differ from the SLIC
// kernels (assign.cu) in two ways: they use another colour distance, and they also find the largest
// colour distance of each cluster. The header core/slicsuperpixel/clusters.hpp describes SLICO.
#include "core/slicsuperpixel/clusters.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/assign.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kNotCounted = 15;  // candidate number of a pixel that is not counted

// The candidates of a block's cells, in shared memory.
template <class Shape>
struct SlicoCandidates {
  AdaptiveCandidate by_cell[Shape::cells][kCandidates];
};

// Computes the candidates of all cells of the block in shared memory. All threads of the block must
// call this function, which ends with a barrier.
template <class Shape>
__device__ void make_candidates(const Clusters& clusters, int sums_index, int first_cell_column,
                                int first_cell_row, SlicoCandidates<Shape>& candidates) {
  const SlicGrid& grid = clusters.grid;
  for (int i = static_cast<int>(threadIdx.x); i < Shape::cells * kCandidates; i += Shape::threads) {
    const int cell = i / kCandidates, candidate = i % kCandidates;
    const int x = first_cell_column + cell % Shape::cells_x + candidate % 3 - 1;
    const int y = first_cell_row + cell / Shape::cells_x + candidate / 3 - 1;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    const size_t grid_index = inside ? grid.index(x, y) : 0;
    const ClusterSums sums = clusters.sums[sums_index][grid_index];
    candidates.by_cell[cell][candidate] =
        adaptive_candidate_of(center_of(sums, grid, clusters.scale),
                              color_of(sums, clusters.max_distance[sums_index][grid_index]), inside,
                              candidate, grid, clusters.scale);
  }
  __syncthreads();  // all candidates are written
}

// The candidate that a pixel chose.
struct Choice {
  int candidate;
  int distance;  // colour distance between the pixel and the candidate
};

// Returns the best candidate for a pixel of the strip. The highest byte of `color` is the pixel's
// row in its patch (kPatchRows rows).
template <class Shape>
__device__ Choice choose(const SlicoCandidates<Shape>& candidates, const SlicScale& scale,
                         const Strip<Shape>& strip, uint32_t color) {
  const int u = strip.left + static_cast<int>(threadIdx.x % Shape::lanes);
  const int v = static_cast<int>(color >> 24);
  const int quarters[3] = {static_cast<int>(4 * (color & 255)),
                           static_cast<int>(4 * (color >> 8 & 255)),
                           static_cast<int>(4 * (color >> 16 & 255))};
  int best = INT32_MAX, best_distance = 0;
#pragma unroll
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const AdaptiveCandidate& c = candidates.by_cell[strip.cell][candidate];
    const int distance = color_distance(quarters, c.color, scale);
    const int score = c.place.start(u, strip.top / kPatchRows, candidate) +
                      16 * (c.place.row * v + color_score(distance, c.factor));
    if (score >= best) continue;
    best = score;
    best_distance = distance;
  }
  return {best & 15, best_distance};
}

template <class Shape>
__device__ void clear_block_sums(uint32_t (&block_sums)[Shape::halo][kSumWords + 1]) {
  for (int i = static_cast<int>(threadIdx.x); i < Shape::halo * (kSumWords + 1);
       i += Shape::threads) {
    block_sums[i / (kSumWords + 1)][i % (kSumWords + 1)] = 0;
  }
}

// Adds the pixels of a warp to the block's sums of the candidates that they chose. Pixels that are
// not counted have the candidate kNotCounted.
template <class Shape, int kPixels>
__device__ void add_strip_to_block(const Strip<Shape>& strip, const Geometry<Shape>& geometry,
                                   const uint32_t (&color)[kPixels],
                                   const Choice (&choice)[kPixels],
                                   uint32_t (&block_sums)[Shape::halo][kSumWords + 1]) {
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
    const auto column = static_cast<uint32_t>(lane % Shape::lanes);
    // The sum of columns fits in 16 bits, because there are at most 512 pixels in columns 0..31.
    const uint32_t counts = warp_sum(count | count * column << 16);
    if (counts == 0) continue;  // all lanes have the same sum
    for (uint32_t& component : sum) component = warp_sum(component);
    rows = warp_sum(rows);
    const uint32_t largest = warp_max(static_cast<uint32_t>(max_distance));
    if (lane != 0) continue;
    const int cx = strip.cell % Shape::cells_x, cy = strip.cell / Shape::cells_x;
    uint32_t* const to = block_sums[(cy + candidate / 3) * Shape::halo_x + cx + candidate % 3];
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

// Adds the block's sums to the clusters in global memory. The order of atomics does not matter,
// because they compute sums and maxima of integers.
template <class Shape>
__device__ void add_to_clusters(const Clusters& clusters, int sums_index, int first_cell_column,
                                int first_cell_row,
                                const uint32_t (&block_sums)[Shape::halo][kSumWords + 1]) {
  auto* const to = reinterpret_cast<uint32_t*>(clusters.sums[sums_index]);
  for (int i = static_cast<int>(threadIdx.x); i < Shape::halo * (kSumWords + 1);
       i += Shape::threads) {
    const int cluster = i / (kSumWords + 1), word = i % (kSumWords + 1);
    const uint32_t value = block_sums[cluster][word];
    if (value == 0) continue;  // sums of clusters outside the grid are always 0
    const int x = first_cell_column - 1 + cluster % Shape::halo_x,
              y = first_cell_row - 1 + cluster / Shape::halo_x;
    const size_t grid_index = clusters.grid.index(x, y);
    if (word < kSumWords) {
      atomicAdd(to + grid_index * kSumWords + word, value);
    } else {
      atomicMax(clusters.max_distance[sums_index] + grid_index, value);
    }
  }
}

template <class Shape>
__global__ __launch_bounds__(Shape::threads) void iterate_slico_kernel(Clusters clusters,
                                                                       int iteration,
                                                                       RowSubset rows) {
  constexpr int kPixels = Shape::rows / Shape::rows_at_once;
  __shared__ SlicoCandidates<Shape> candidates;
  // [cluster][word], the words of ClusterSums and then the largest colour distance of the cluster.
  __shared__ uint32_t block_sums[Shape::halo][kSumWords + 1];
  // All threads of the grid take the same branch.
  if (clusters.executed_iterations(iteration) < iteration) return;
  const SlicGrid& grid = clusters.grid;
  const Geometry<Shape> geometry(grid);
  const int first_cell_column = static_cast<int>(blockIdx.x) * Shape::cells_x;
  const int first_cell_row = static_cast<int>(blockIdx.y) * Shape::cells_y;
  for (int i = static_cast<int>(threadIdx.x); i < Shape::cells; i += Shape::threads) {
    const int x = first_cell_column + i % Shape::cells_x, y = first_cell_row + i / Shape::cells_x;
    if (x >= grid.columns || y >= grid.rows) continue;
    clusters.sums[(iteration + 2) % 3][grid.index(x, y)] = {};
    clusters.max_distance[(iteration + 2) % 3][grid.index(x, y)] = 0;
  }
  clear_block_sums<Shape>(block_sums);
  make_candidates(clusters, iteration % 3, first_cell_column, first_cell_row, candidates);
  for_each_strip<Shape>(grid, first_cell_column, first_cell_row, [&](const Strip<Shape>& strip) {
    uint32_t color[kPixels];
    Choice choice[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      const int lane_row = static_cast<int>(threadIdx.x % 32) / Shape::lanes;
      const int row = (i * Shape::rows_at_once + lane_row) * rows.row_step + rows.phase;
      choice[i] = {kNotCounted, 0};
      color[i] = 0;
      if (!strip.inside || row >= Shape::rows || row >= strip.end) continue;
      color[i] = clusters.colors(strip.x, strip.y + row);
      choice[i] = choose(candidates, clusters.scale, strip, color[i]);
    }
    add_strip_to_block(strip, geometry, color, choice, block_sums);
  });
  __syncthreads();  // the block's sums are complete
  add_to_clusters<Shape>(clusters, (iteration + 1) % 3, first_cell_column, first_cell_row,
                         block_sums);
}

// Performs the final assignment: writes the cluster code of each pixel.
template <class Shape>
__global__ __launch_bounds__(Shape::threads) void slico_codes_kernel(Clusters clusters,
                                                                     int iterations,
                                                                     Image<uint8_t> codes,
                                                                     MergeCounts* counts) {
  __shared__ SlicoCandidates<Shape> candidates;
  const int first_cell_column = static_cast<int>(blockIdx.x) * Shape::cells_x;
  const int first_cell_row = static_cast<int>(blockIdx.y) * Shape::cells_y;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  make_candidates(clusters, clusters.executed_iterations(iterations) % 3, first_cell_column,
                  first_cell_row, candidates);
  for_each_strip<Shape>(
      clusters.grid, first_cell_column, first_cell_row, [&](const Strip<Shape>& strip) {
        const int first = static_cast<int>(threadIdx.x % 32) / Shape::lanes;
        for (int row = first; row < min(strip.end, Shape::rows); row += Shape::rows_at_once) {
          if (!strip.inside) continue;
          const uint32_t color = clusters.colors(strip.x, strip.y + row);
          const int candidate = choose(candidates, clusters.scale, strip, color).candidate;
          codes(strip.x, strip.y + row) =
              cluster_code(strip.column + candidate % 3 - 1, strip.row + candidate / 3 - 1);
        }
      });
}

}  // namespace

void iterate_slico(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class Shape>(Shape) {
    launch(iterate_slico_kernel<Shape>, blocks_of<Shape>(clusters.grid), Shape::threads, 0, stream,
           clusters, iteration, rows);
  });
}

void write_slico_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                       MergeCounts* counts, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class Shape>(Shape) {
    launch(slico_codes_kernel<Shape>, blocks_of<Shape>(clusters.grid), Shape::threads, 0, stream,
           clusters, iterations, codes, counts);
  });
}

}  // namespace regions::slicsuperpixel
