// Sum, averaging and reset of the report's method. Sums of integers: no order of atomics matters.
#include "gpu/slicsuperpixel/report.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = PixelBlock::threads;
constexpr int kSumThreads = 128;  // of a cell, with kAccumulators
constexpr int kWords = sizeof(ClusterSums) / sizeof(uint32_t);
constexpr int kSums = kCandidates * kWords;

struct Pixel {
  int x, y;
  bool inside;

  __device__ explicit Pixel(Size size)
      : x(static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32)),
        y(static_cast<int>(blockIdx.y * (kThreads / 32) + threadIdx.x / 32)),
        inside(x < size.width && y < size.height) {}
};
dim3 pixel_grid(Size size) {
  return {blocks_for(static_cast<size_t>(size.width), 32),
          blocks_for(static_cast<size_t>(size.height), kThreads / 32)};
}
dim3 cell_grid(const SlicGrid& grid) {
  return {static_cast<unsigned>(grid.columns), static_cast<unsigned>(grid.rows)};
}

__global__ __launch_bounds__(kThreads) void own_kernel(Report report) {
  const Pixel pixel(report.grid.size);
  if (!pixel.inside) return;
  report.owners(pixel.x, pixel.y) = {static_cast<uint16_t>(pixel.x / report.grid.width),
                                     static_cast<uint16_t>(pixel.y / report.grid.height)};
}

__global__ __launch_bounds__(kThreads) void reset_kernel(Report report) {
  const size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < report.grid.cells() * kCandidates) report.sums[i] = {};
}

// The words that pixel (x, y) adds to its owner.
struct Words {
  uint32_t word[kWords];

  __device__ Words(const SlicGrid& grid, uchar4 color, Owner owner, int x, int y)
      : word{color.x,
             color.y,
             color.z,
             static_cast<uint32_t>(x - (owner.column - 1) * grid.width),
             static_cast<uint32_t>(y - (owner.row - 1) * grid.height),
             1} {}
};

// The accumulator of a cluster that the cell at `place` as seen from there gives to.
__device__ inline uint32_t* accumulator(const Report& report, int column, int row, int place) {
  ClusterSums& sums =
      report.sums[report.grid.index(column, row) * kCandidates + static_cast<size_t>(place)];
  return reinterpret_cast<uint32_t*>(&sums);
}

__global__ __launch_bounds__(kThreads) void sum_pixels_kernel(Report report) {
  const Pixel pixel(report.grid.size);
  if (!pixel.inside) return;
  const Owner owner = owner_at<false>(report.owners, pixel.x, pixel.y);
  const Words words(report.grid, color_at<false>(report.colors, pixel.x, pixel.y), owner, pixel.x,
                    pixel.y);
  uint32_t* const to = accumulator(report, owner.column, owner.row, 0);
  for (int w = 0; w < kWords; ++w) atomicAdd(to + w, words.word[w]);
}

// A block a cell: whom it gives what.
struct Giver {
  int column, row;
  __device__ Giver() : column(static_cast<int>(blockIdx.x)), row(static_cast<int>(blockIdx.y)) {}
  // Of its nine neighbours in raster order.
  __device__ int place_of(Owner owner) const {
    return (owner.row - row + 1) * 3 + owner.column - column + 1;
  }
  __device__ bool inside(const SlicGrid& grid, int place) const {
    const int x = column + place % 3 - 1, y = row + place / 3 - 1;
    return x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
  }
  __device__ uint32_t* accumulator_of(const Report& report, int place, int from) const {
    return accumulator(report, column + place % 3 - 1, row + place / 3 - 1, from);
  }
};

template <bool kWide>
__global__ __launch_bounds__(kThreads) void sum_cell_kernel(Report report) {
  __shared__ uint32_t sums[kSums];
  const Giver giver;
  const CellPixels pixels(report.grid, giver.column, giver.row);
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kThreads) sums[i] = 0;
  __syncthreads();  // all sums are cleared
  for (int p = static_cast<int>(threadIdx.x); p < pixels.count; p += kThreads) {
    const int x = pixels.x(p), y = pixels.y(p);
    const Owner owner = owner_at<kWide>(report.owners, x, y);
    const Words words(report.grid, color_at<kWide>(report.colors, x, y), owner, x, y);
    uint32_t* const to = sums + giver.place_of(owner) * kWords;
    for (int w = 0; w < kWords; ++w) atomicAdd(to + w, words.word[w]);
  }
  __syncthreads();  // all have added
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kThreads) {
    const int place = i / kWords;
    if (!giver.inside(report.grid, place)) continue;
    atomicAdd(giver.accumulator_of(report, place, 0) + i % kWords, sums[i]);
  }
}

// Every thread has nine accumulators of its own, added up as a tree at the end; and every
// superpixel has one for each cell that may give, so nothing needs to be atomic.
template <int kPixels>
__global__ __launch_bounds__(kSumThreads) void sum_privately_kernel(Report report) {
  __shared__ uint32_t sums[kSums][kSumThreads];
  const Giver giver;
  const CellPixels pixels(report.grid, giver.column, giver.row);
  const int own = static_cast<int>(threadIdx.x);
  for (int i = 0; i < kSums; ++i) sums[i][own] = 0;
  for (int first = own; first < pixels.count; first += kPixels * kSumThreads) {
    Owner owner[kPixels];
    uchar4 color[kPixels];
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      const int p = min(first + k * kSumThreads, pixels.count - 1);
      owner[k] = owner_at<true>(report.owners, pixels.x(p), pixels.y(p));
      color[k] = color_at<true>(report.colors, pixels.x(p), pixels.y(p));
    }
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      const int p = first + k * kSumThreads;
      if (p >= pixels.count) continue;
      const Words words(report.grid, color[k], owner[k], pixels.x(p), pixels.y(p));
      const int to = giver.place_of(owner[k]) * kWords;
      for (int w = 0; w < kWords; ++w) sums[to + w][own] += words.word[w];
    }
  }
  for (int step = kSumThreads / 2; step > 0; step /= 2) {
    __syncthreads();  // the level below is complete
    for (int i = own; i < kSums * step; i += kSumThreads) {
      sums[i / step][i % step] += sums[i / step][i % step + step];
    }
  }
  __syncthreads();  // the sums are complete
  for (int i = own; i < kSums; i += kSumThreads) {
    const int place = i / kWords;
    if (!giver.inside(report.grid, place)) continue;
    giver.accumulator_of(report, place, 8 - place)[i % kWords] = sums[i][0];
  }
}

__global__ __launch_bounds__(kThreads) void average_kernel(Report report) {
  const SlicGrid& grid = report.grid;
  const size_t k = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= grid.cells()) return;
  ClusterSums all = report.sums[k * kCandidates];
  if (report.step >= kAccumulators) {
    for (int place = 1; place < kCandidates; ++place) {
      all.add(report.sums[k * kCandidates + static_cast<size_t>(place)]);
    }
  }
  ReportMean mean = {};
  if (all.count > 0) {
    const auto column = static_cast<int>(k % static_cast<size_t>(grid.columns));
    const auto row = static_cast<int>(k / static_cast<size_t>(grid.columns));
    for (int c = 0; c < 3; ++c) mean.color[c] = static_cast<int>(all.color[c] / all.count);
    mean.x = (column - 1) * grid.width + static_cast<int>(all.x / all.count);
    mean.y = (row - 1) * grid.height + static_cast<int>(all.y / all.count);
    mean.alive = 1;
  }
  report.means[k] = mean;
}

__global__ __launch_bounds__(kThreads) void codes_kernel(Report report, Image<uint8_t> codes,
                                                         JoinCounts* counts) {
  const Pixel pixel(report.grid.size);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  if (!pixel.inside) return;
  const Owner owner = report.owners(pixel.x, pixel.y);
  codes(pixel.x, pixel.y) = cluster_code(owner.column, owner.row);
}

}  // namespace

void own_cells(const Report& report, cudaStream_t stream) {
  launch(own_kernel, pixel_grid(report.grid.size), kThreads, 0, stream, report);
}

void reset_sums(const Report& report, cudaStream_t stream) {
  launch(reset_kernel, blocks_for(report.grid.cells() * kCandidates, kThreads), kThreads, 0, stream,
         report);
}

void sum_owned(const Report& report, cudaStream_t stream) {
  const SlicGrid& grid = report.grid;
  if (report.step < kCells) {
    launch(sum_pixels_kernel, pixel_grid(grid.size), kThreads, 0, stream, report);
  } else if (report.step < kAccumulators) {
    launch(report.step < kWideLoads ? sum_cell_kernel<false> : sum_cell_kernel<true>,
           cell_grid(grid), kThreads, 0, stream, report);
  } else {
    launch(report.step < kSeveral ? sum_privately_kernel<1> : sum_privately_kernel<8>,
           cell_grid(grid), kSumThreads, 0, stream, report);
  }
}

void average_sums(const Report& report, cudaStream_t stream) {
  launch(average_kernel, blocks_for(report.grid.cells(), kThreads), kThreads, 0, stream, report);
}

void write_owner_codes(const Report& report, Image<uint8_t> codes, JoinCounts* counts,
                       cudaStream_t stream) {
  launch(codes_kernel, pixel_grid(report.grid.size), kThreads, 0, stream, report, codes, counts);
}

}  // namespace regions::slic
