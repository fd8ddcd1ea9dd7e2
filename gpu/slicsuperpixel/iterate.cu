// One pass over the pixels an iteration: a block makes candidates from its clusters' sums, each
// lane finds the best of nine for its pixels and adds them to counters of its own, and what a warp
// has counted goes to the block's and the picture's sums by integer atomics, whose order does not
// matter.
#include "gpu/cclabel/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

using cclabel::kAllLanes;
using cclabel::warp_sum;

constexpr int kNobody = kCandidates;  // counter of pixels that take no part
constexpr int kSumWords = sizeof(ClusterSums) / sizeof(uint32_t);

// A candidate as lanes use it: two 16-bit coefficients a word.
struct PackedCandidate {
  int first_second;
  int third_row;
  int base;
  int column;
};

__device__ inline int pack(int low, int high) {
  return (16 * low & 0xffff) | static_cast<int>(static_cast<unsigned>(16 * high) << 16);
}

template <class T>
struct Block {
  Center center[T::halo];
  PackedCandidate candidate[T::cells][kCandidates];
  int down[T::cells][kCandidates];
};

template <class T>
struct Geometry {
  int width, height;  // of a cell
  __device__ explicit Geometry(const SlicGrid& grid)
      : width(T::side ? T::side : grid.width), height(T::side ? T::side : grid.height) {}
  __device__ int strips_x() const { return (width + T::lanes - 1) / T::lanes; }
  __device__ int strips_y() const { return (height + T::rows - 1) / T::rows; }
};

template <class T>
__device__ void make_candidates(const Clusters& clusters, const ClusterSums* sums, int x0, int y0,
                                Block<T>& block) {
  const SlicGrid& grid = clusters.grid;
  for (int i = static_cast<int>(threadIdx.x); i < T::halo; i += T::threads) {
    const int x = x0 - 1 + i % T::halo_x, y = y0 - 1 + i / T::halo_x;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    block.center[i] =
        inside ? center_of(sums[static_cast<size_t>(y) * grid.columns + x], grid, clusters.scale)
               : Center{};
  }
  __syncthreads();  // all centres are there
  for (int i = static_cast<int>(threadIdx.x); i < T::cells * kCandidates; i += T::threads) {
    const int cell = i / kCandidates, place = i % kCandidates;
    const int cx = cell % T::cells_x, cy = cell / T::cells_x;
    const int x = x0 + cx + place % 3 - 1, y = y0 + cy + place / 3 - 1;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    const Candidate c = candidate_of(block.center[(cy + place / 3) * T::halo_x + cx + place % 3],
                                     inside, place, grid, clusters.scale);
    block.candidate[cell][place] = {pack(c.color[0], c.color[1]), pack(c.color[2], c.row), c.base,
                                    c.column};
    block.down[cell][place] = c.down;
  }
  __syncthreads();  // all candidates are there
}

// Calls visit(cell, left, top, column, row) for each strip of the block that begins in the picture;
// a warp takes every warps-th. `left`, `top` count in the cell at (column, row) of the grid.
template <class T, class Visit>
__device__ void for_each_strip(const SlicGrid& grid, int x0, int y0, Visit visit) {
  const Geometry<T> geometry(grid);
  const int strips_x = geometry.strips_x();
  const int strips = strips_x * geometry.strips_y();
  for (int unit = static_cast<int>(threadIdx.x / 32); unit < T::cells * strips; unit += T::warps) {
    const int cell = unit / strips, strip = unit % strips;
    const int column = x0 + cell % T::cells_x, row = y0 + cell / T::cells_x;
    const int left = strip % strips_x * T::lanes, top = strip / strips_x * T::rows;
    if (column * geometry.width + left >= grid.size.width) continue;
    if (row * geometry.height + top >= grid.size.height) continue;
    visit(cell, left, top, column, row);
  }
}

// The best place of up to kCount pixels below each other, `step` rows apart.
template <int kCount>
__device__ void choose(const PackedCandidate* candidate, const int* down, int u, int patch,
                       const uint32_t (&color)[kCount], int (&best)[kCount]) {
#pragma unroll
  for (int place = 0; place < kCandidates; ++place) {
    const PackedCandidate c = candidate[place];
    const int start = ((c.base + kPatchRows * patch * down[place] + c.column * u) & ~15) | place;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const auto pixel = static_cast<int>(color[i]);
      const int score = __dp2a_hi(c.third_row, pixel, __dp2a_lo(c.first_second, pixel, start));
      best[i] = place == 0 ? score : min(best[i], score);
    }
  }
}

// A lane's sums for one place: components 0 and 2, 16 bits each; component 1 (11 bits), the count
// (5) and the rows in the patch (16). Of at most 8 pixels.
struct Counter {
  static constexpr int kCount = 11;
  uint32_t even, odd;

  __device__ void add(uint32_t color) {
    const uint32_t biased = color ^ 0x00808080u;  // + 128
    even += biased & 0x00ff00ffu;
    odd += (biased >> 8 & 0x00ff00ffu) + (1u << kCount);
  }
};

template <class T, int kStep>
__global__ __launch_bounds__(T::threads) void iterate_kernel(Clusters clusters, int iteration,
                                                             int phase) {
  __shared__ Block<T> block;
  __shared__ uint32_t tile[T::halo][kSumWords];
  __shared__ Counter counters[T::warps][kCandidates + 1][32];
  constexpr int kPixels = (T::rows + T::rows_at_once * kStep - 1) / (T::rows_at_once * kStep);
  if (clusters.executed(iteration) < iteration) return;  // all threads alike

  const SlicGrid& grid = clusters.grid;
  const Geometry<T> geometry(grid);
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  const int lane = static_cast<int>(threadIdx.x % 32);
  Counter(*const counter)[32] = counters[threadIdx.x / 32];

  ClusterSums* const clear = clusters.sums[(iteration + 2) % 3];
  for (int i = static_cast<int>(threadIdx.x); i < T::cells; i += T::threads) {
    const int x = x0 + i % T::cells_x, y = y0 + i / T::cells_x;
    if (x < grid.columns && y < grid.rows) clear[static_cast<size_t>(y) * grid.columns + x] = {};
  }
  for (int i = static_cast<int>(threadIdx.x); i < T::halo * kSumWords; i += T::threads) {
    tile[i / kSumWords][i % kSumWords] = 0;
  }
  make_candidates(clusters, clusters.sums[iteration % 3], x0, y0, block);

  for_each_strip<T>(grid, x0, y0, [&](int cell, int left, int top, int column, int row) {
    const int u = left + lane % T::lanes;
    const int x = column * geometry.width + u;
    const int patch = top / kPatchRows, cell_y = row * geometry.height;
    // The first row that takes part, then this lane's.
    const int behind = (top % kPatchRows + kStep - phase) % kStep;
    const int first = top + (behind ? kStep - behind : 0) + lane / T::lanes * kStep;
    const int end = min(min(top + T::rows, geometry.height), grid.size.height - cell_y);
    const bool in_cell = u < geometry.width && x < grid.size.width;
    uint32_t color[kPixels];
    int best[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      // Rows below the picture are read from its last one.
      const int y = min(first + i * T::rows_at_once * kStep, end - 1);
      color[i] = clusters.colors(x, cell_y + y);
    }
    choose<kPixels>(block.candidate[cell], block.down[cell], u, patch, color, best);
#pragma unroll
    for (int place = 0; place < kCandidates; ++place) counter[place][lane] = {0, 0};
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      const bool takes_part = in_cell && first + i * T::rows_at_once * kStep < end;
      counter[takes_part ? best[i] & 15 : kNobody][lane].add(color[i]);
    }
    // Each lane reads its own counters only; the warp's sums end in the lane of their place.
    uint32_t even = 0, odd = 0, counts = 0;
#pragma unroll
    for (int place = 0; place < kCandidates; ++place) {
      const Counter c = counter[place][lane];
      const uint32_t n = c.odd >> Counter::kCount & 31;
      const uint32_t even_sum = warp_sum(c.even);  // 256 pixels of 255 are below 2^16
      const uint32_t odd_sum = warp_sum(c.odd & 0xffff07ffu);
      const uint32_t counts_sum = warp_sum(n | n * static_cast<uint32_t>(lane % T::lanes) << 16);
      if (lane == place) even = even_sum, odd = odd_sum, counts = counts_sum;
    }
    const uint32_t n = counts & 0xffff;
    if (lane < kCandidates && n > 0) {
      const int cx = cell % T::cells_x, cy = cell / T::cells_x;
      uint32_t* sums = tile[(cy + lane / 3) * T::halo_x + cx + lane % 3];
      const int reach_x = left + (2 - lane % 3) * geometry.width;
      const int reach_y = patch * kPatchRows + (2 - lane / 3) * geometry.height;
      atomicAdd(sums + 0, even & 0xffff);
      atomicAdd(sums + 1, odd & 0xffff);
      atomicAdd(sums + 2, even >> 16);
      atomicAdd(sums + 3, (counts >> 16) + n * static_cast<uint32_t>(reach_x));
      atomicAdd(sums + 4, (odd >> 16) + n * static_cast<uint32_t>(reach_y));
      atomicAdd(sums + 5, n);
    }
    __syncwarp();
  });
  __syncthreads();  // the block's sums are complete
  auto* const to = reinterpret_cast<uint32_t*>(clusters.sums[(iteration + 1) % 3]);
  for (int i = static_cast<int>(threadIdx.x); i < T::halo * kSumWords; i += T::threads) {
    const int cluster = i / kSumWords, word = i % kSumWords;
    const uint32_t sum = tile[cluster][word];
    if (sum == 0) continue;  // also outside the grid
    const int x = x0 - 1 + cluster % T::halo_x, y = y0 - 1 + cluster / T::halo_x;
    atomicAdd(to + (static_cast<size_t>(y) * grid.columns + x) * kSumWords + word, sum);
  }
}

template <class T>
__global__ __launch_bounds__(T::threads) void codes_kernel(Clusters clusters, int iterations,
                                                           Image<uint8_t> codes) {
  __shared__ Block<T> block;
  constexpr int kPixels = T::rows / T::rows_at_once;
  const SlicGrid& grid = clusters.grid;
  const Geometry<T> geometry(grid);
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  const int lane = static_cast<int>(threadIdx.x % 32);
  make_candidates(clusters, clusters.sums[clusters.executed(iterations) % 3], x0, y0, block);
  for_each_strip<T>(grid, x0, y0, [&](int cell, int left, int top, int column, int row) {
    const int u = left + lane % T::lanes;
    const int x = column * geometry.width + u;
    const int cell_y = row * geometry.height;
    const int first = top + lane / T::lanes;
    const int end = min(min(top + T::rows, geometry.height), grid.size.height - cell_y);
    const bool in_cell = u < geometry.width && x < grid.size.width;
    uint32_t color[kPixels];
    int best[kPixels];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      color[i] = clusters.colors(x, cell_y + min(first + i * T::rows_at_once, end - 1));
    }
    choose<kPixels>(block.candidate[cell], block.down[cell], u, top / kPatchRows, color, best);
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      const int y = first + i * T::rows_at_once;
      if (!in_cell || y >= end) continue;
      const int place = best[i] & 15;
      codes(x, cell_y + y) = cluster_code(column + place % 3 - 1, row + place / 3 - 1);
    }
  });
}

// Between iterations, if they may end early.
__global__ __launch_bounds__(PixelBlock::threads) void movement_kernel(Clusters clusters,
                                                                       int iteration) {
  if (clusters.executed(iteration) < iteration) return;
  const SlicGrid& grid = clusters.grid;
  const size_t k = static_cast<size_t>(blockIdx.x) * PixelBlock::threads + threadIdx.x;
  uint32_t moved = 0;
  if (k < grid.cells()) {
    moved = static_cast<uint32_t>(
        movement(center_of(clusters.sums[iteration % 3][k], grid, clusters.scale),
                 center_of(clusters.sums[(iteration + 1) % 3][k], grid, clusters.scale)));
  }
  moved = warp_sum(moved);
  if (threadIdx.x % 32 == 0 && moved > 0) {
    atomicAdd(clusters.moved + iteration, static_cast<unsigned long long>(moved));
  }
}

template <class T>
dim3 grid_for(const SlicGrid& grid) {
  return {blocks_for(static_cast<size_t>(grid.columns), T::cells_x),
          blocks_for(static_cast<size_t>(grid.rows), T::cells_y)};
}

// Calls use(T()) with the block shape for these cells.
template <class Use>
void with_shape(const SlicGrid& grid, Use use) {
  if (grid.width == grid.height) {
    if (grid.width == 16) return use(Cells16());
    if (grid.width == 32) return use(Cells32());
    if (grid.width == 128) return use(Cells128());
  }
  const int side = grid.width > grid.height ? grid.width : grid.height;
  if (side <= 16) return use(NarrowCells());
  if (side <= 64) return use(MiddleCells());
  use(WideCells());
}

template <class T>
auto kernel_for(int step) {
  switch (step) {
    case 1:
      return iterate_kernel<T, 1>;
    case 2:
      return iterate_kernel<T, 2>;
    case 3:
      return iterate_kernel<T, 3>;
    default:
      return iterate_kernel<T, 4>;
  }
}

}  // namespace

void iterate(const Clusters& clusters, int iteration, RowChoice rows, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    launch(kernel_for<T>(rows.step), grid_for<T>(clusters.grid), T::threads, 0, stream, clusters,
           iteration, rows.phase);
  });
  if (!clusters.moved) return;
  launch(movement_kernel, blocks_for(clusters.grid.cells(), PixelBlock::threads),
         PixelBlock::threads, 0, stream, clusters, iteration);
}

void write_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                 cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    launch(codes_kernel<T>, grid_for<T>(clusters.grid), T::threads, 0, stream, clusters, iterations,
           codes);
  });
}

}  // namespace regions::slic
