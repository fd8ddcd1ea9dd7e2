// The passes over all pixels of SLICO (core/slicsuperpixel/slico.hpp): as iterate.cu and codes.cu,
// with squared distances in place of products, and the greatest of them for each cluster.
#include "core/slicsuperpixel/slico.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/candidates.hpp"

namespace regions::slic {
namespace {

constexpr int kNoCandidate = 15;  // place of a pixel that takes no part
constexpr int kSumWords = sizeof(ClusterSums) / sizeof(uint32_t);

template <class T>
struct AdaptiveCandidates {
  AdaptiveCandidate of[T::cells][kCandidates];
};

// Ends with a barrier.
template <class T>
__device__ void make_candidates(const Clusters& clusters, int turn, int x0, int y0,
                                AdaptiveCandidates<T>& s) {
  const SlicGrid& grid = clusters.grid;
  for (int i = static_cast<int>(threadIdx.x); i < T::cells * kCandidates; i += T::threads) {
    const int cell = i / kCandidates, place = i % kCandidates;
    const int x = x0 + cell % T::cells_x + place % 3 - 1;
    const int y = y0 + cell / T::cells_x + place / 3 - 1;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    const size_t k = inside ? grid.index(x, y) : 0;
    const ClusterSums sums = clusters.sums[turn][k];
    s.of[cell][place] = adaptive_candidate_of(center_of(sums, grid, clusters.scale),
                                              color_of(sums, clusters.reach[turn][k]), inside,
                                              place, grid, clusters.scale);
  }
  __syncthreads();  // all candidates are there
}

struct Choice {
  int place;
  int distance;  // of colours
};

// What a pixel of the strip, with its row in the patch in the uppermost byte, chooses.
template <class T>
__device__ Choice choose(const AdaptiveCandidates<T>& s, const SlicScale& scale,
                         const Strip<T>& strip, uint32_t color) {
  const int u = strip.left + static_cast<int>(threadIdx.x % T::lanes);
  const int v = static_cast<int>(color >> 24);
  const int quarters[3] = {static_cast<int>(4 * (color & 255)),
                           static_cast<int>(4 * (color >> 8 & 255)),
                           static_cast<int>(4 * (color >> 16 & 255))};
  int best = INT32_MAX, best_distance = 0;
#pragma unroll
  for (int place = 0; place < kCandidates; ++place) {
    const AdaptiveCandidate& c = s.of[strip.cell][place];
    const int distance = color_distance(quarters, c.color, scale);
    const int score = c.place.start(u, strip.top / kPatchRows, place) +
                      16 * (c.place.row * v + color_score(distance, c.factor));
    if (score >= best) continue;
    best = score;
    best_distance = distance;
  }
  return {best & 15, best_distance};
}

template <class T>
__device__ void clear_tile(uint32_t (&tile)[T::halo][kSumWords + 1]) {
  for (int i = static_cast<int>(threadIdx.x); i < T::halo * (kSumWords + 1); i += T::threads) {
    tile[i / (kSumWords + 1)][i % (kSumWords + 1)] = 0;
  }
}

// The sums of what the warp's pixels have chosen, to the block's; `color` has 255 in the uppermost
// byte of those that take no part.
template <class T, int kPixels>
__device__ void add_strip(const Strip<T>& strip, const Geometry<T>& geometry,
                          const uint32_t (&color)[kPixels], const Choice (&choice)[kPixels],
                          uint32_t (&tile)[T::halo][kSumWords + 1]) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll 1
  for (int place = 0; place < kCandidates; ++place) {
    uint32_t sum[3] = {}, rows = 0, count = 0;
    int reach = 0;
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      if (choice[i].place != place) continue;
      for (int c = 0; c < 3; ++c) sum[c] += color[i] >> 8 * c & 255;
      rows += color[i] >> 24;
      reach = max(reach, choice[i].distance);
      ++count;
    }
    const auto column = static_cast<uint32_t>(lane % T::lanes);
    const uint32_t counts = warp_sum(count | count * column << 16);  // at most 512 pixels of 31
    if (counts == 0) continue;                                       // all lanes alike
    for (uint32_t& component : sum) component = warp_sum(component);
    rows = warp_sum(rows);
    const uint32_t most = warp_max(static_cast<uint32_t>(reach));
    if (lane != 0) continue;
    const int cx = strip.cell % T::cells_x, cy = strip.cell / T::cells_x;
    uint32_t* const to = tile[(cy + place / 3) * T::halo_x + cx + place % 3];
    const uint32_t all = counts & 0xffff;
    const auto reach_x = static_cast<uint32_t>(strip.left + (2 - place % 3) * geometry.width);
    const auto reach_y = static_cast<uint32_t>(strip.top + (2 - place / 3) * geometry.height);
    for (int c = 0; c < 3; ++c) atomicAdd(to + c, sum[c]);
    atomicAdd(to + 3, (counts >> 16) + all * reach_x);
    atomicAdd(to + 4, rows + all * reach_y);
    atomicAdd(to + 5, all);
    atomicMax(to + kSumWords, most);
  }
}

// Sums of integers and greatest integers: no order of atomics matters.
template <class T>
__device__ void give_tile(const Clusters& clusters, int turn, int x0, int y0,
                          const uint32_t (&tile)[T::halo][kSumWords + 1]) {
  auto* const to = reinterpret_cast<uint32_t*>(clusters.sums[turn]);
  for (int i = static_cast<int>(threadIdx.x); i < T::halo * (kSumWords + 1); i += T::threads) {
    const int cluster = i / (kSumWords + 1), word = i % (kSumWords + 1);
    const uint32_t value = tile[cluster][word];
    if (value == 0) continue;  // also outside the grid
    const int x = x0 - 1 + cluster % T::halo_x, y = y0 - 1 + cluster / T::halo_x;
    const size_t k = clusters.grid.index(x, y);
    if (word < kSumWords) {
      atomicAdd(to + k * kSumWords + word, value);
    } else {
      atomicMax(clusters.reach[turn] + k, value);
    }
  }
}

template <class T>
__global__ __launch_bounds__(T::threads) void iterate_kernel(Clusters clusters, int iteration,
                                                             RowChoice rows) {
  constexpr int kPixels = T::rows / T::rows_at_once;
  __shared__ AdaptiveCandidates<T> s;
  __shared__ uint32_t tile[T::halo][kSumWords + 1];      // the last word: the reach
  if (clusters.executed(iteration) < iteration) return;  // all threads alike
  const SlicGrid& grid = clusters.grid;
  const Geometry<T> geometry(grid);
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  for (int i = static_cast<int>(threadIdx.x); i < T::cells; i += T::threads) {
    const int x = x0 + i % T::cells_x, y = y0 + i / T::cells_x;
    if (x >= grid.columns || y >= grid.rows) continue;
    clusters.sums[(iteration + 2) % 3][grid.index(x, y)] = {};
    clusters.reach[(iteration + 2) % 3][grid.index(x, y)] = 0;
  }
  clear_tile<T>(tile);
  make_candidates(clusters, iteration % 3, x0, y0, s);
  for_each_strip<T>(grid, x0, y0, [&](const Strip<T>& strip) {
    uint32_t color[kPixels];
    Choice choice[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      const int lane_row = static_cast<int>(threadIdx.x % 32) / T::lanes;
      const int row = (i * T::rows_at_once + lane_row) * rows.step + rows.phase;
      choice[i] = {kNoCandidate, 0};
      color[i] = 0;
      if (!strip.inside || row >= T::rows || row >= strip.end) continue;
      color[i] = clusters.colors(strip.x, strip.y + row);
      choice[i] = choose(s, clusters.scale, strip, color[i]);
    }
    add_strip(strip, geometry, color, choice, tile);
  });
  __syncthreads();  // the block's sums are complete
  give_tile<T>(clusters, (iteration + 1) % 3, x0, y0, tile);
}

template <class T>
__global__ __launch_bounds__(T::threads) void codes_kernel(Clusters clusters, int iterations,
                                                           Image<uint8_t> codes,
                                                           JoinCounts* counts) {
  __shared__ AdaptiveCandidates<T> s;
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  make_candidates(clusters, clusters.executed(iterations) % 3, x0, y0, s);
  for_each_strip<T>(clusters.grid, x0, y0, [&](const Strip<T>& strip) {
    const int first = static_cast<int>(threadIdx.x % 32) / T::lanes;
    for (int row = first; row < min(strip.end, T::rows); row += T::rows_at_once) {
      if (!strip.inside) continue;
      const uint32_t color = clusters.colors(strip.x, strip.y + row);
      const int place = choose(s, clusters.scale, strip, color).place;
      codes(strip.x, strip.y + row) =
          cluster_code(strip.column + place % 3 - 1, strip.row + place / 3 - 1);
    }
  });
}

}  // namespace

void iterate_adaptive(const Clusters& clusters, int iteration, RowChoice rows,
                      cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    launch(iterate_kernel<T>, blocks_of<T>(clusters.grid), T::threads, 0, stream, clusters,
           iteration, rows);
  });
}

void write_adaptive_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                          JoinCounts* counts, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    launch(codes_kernel<T>, blocks_of<T>(clusters.grid), T::threads, 0, stream, clusters,
           iterations, codes, counts);
  });
}

}  // namespace regions::slic
