// The kernels of method=report, which ece1782.hpp describes. Sums are integers, so the order of
// atomics does not matter.
#include "gpu/runtime/launch.hpp"
#include "gpu/slicsuperpixel/ece1782.hpp"

namespace regions::slicsuperpixel {
namespace {

// The pixels of a cell that are inside the picture, numbered in raster order.
struct CellPixels {
  int left, top, width, count;

  __device__ CellPixels(const SlicGrid& grid, int column, int row) {
    left = column * grid.width;
    top = row * grid.height;
    width = min(grid.width, grid.size.width - left);
    count = width * min(grid.height, grid.size.height - top);
  }
  __device__ int x(int pixel) const { return left + pixel % width; }
  __device__ int y(int pixel) const { return top + pixel / width; }
};

// Returns a pixel's colour, with one load if kWideAccess is true, else with one load per component.
template <bool kWideAccess>
__device__ inline uchar4 color_at(const Image<uint32_t>& colors, int x, int y) {
  if constexpr (kWideAccess) {
    const uint32_t color = colors(x, y);
    return make_uchar4(color & 255, color >> 8 & 255, color >> 16 & 255, 0);
  } else {
    // The pointer is volatile so that the compiler does not combine the loads.
    const volatile auto* bytes = reinterpret_cast<const volatile uint8_t*>(&colors(x, y));
    return make_uchar4(bytes[0], bytes[1], bytes[2], 0);
  }
}

// Returns a pixel's owner, with one load if kWideAccess is true, else with two loads.
template <bool kWideAccess>
__device__ inline Owner owner_at(const Image<Owner>& owners, int x, int y) {
  if constexpr (kWideAccess) {
    const uint32_t both = *reinterpret_cast<const uint32_t*>(&owners(x, y));
    return {static_cast<uint16_t>(both), static_cast<uint16_t>(both >> 16)};
  } else {
    const volatile auto* halves = reinterpret_cast<const volatile uint16_t*>(&owners(x, y));
    return {halves[0], halves[1]};
  }
}

constexpr int kThreads = 256;     // threads per block, except for sum_in_accumulators_kernel()
constexpr int kSumThreads = 128;  // threads per block of sum_in_accumulators_kernel()
constexpr int kWords = sizeof(ClusterSums) / sizeof(uint32_t);
constexpr int kSums = kCandidates * kWords;  // number of words of nine accumulators

// The pixel of the current thread. A warp has 32 neighbouring pixels of a row.
struct Pixel {
  int x, y;
  bool inside;  // whether the pixel is in the picture

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

// Assigns each pixel to the superpixel of the cell that contains it.
__global__ __launch_bounds__(kThreads) void assign_own_cells_kernel(Ece1782 state) {
  const Pixel pixel(state.grid.size);
  if (!pixel.inside) return;
  state.owners(pixel.x, pixel.y) = {static_cast<uint16_t>(pixel.x / state.grid.width),
                                    static_cast<uint16_t>(pixel.y / state.grid.height)};
}

__global__ __launch_bounds__(kThreads) void reset_kernel(Ece1782 state) {
  const size_t i = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < state.grid.cells() * kCandidates) state.sums[i] = {};
}

// The words that pixel (x, y) adds to the ClusterSums of its owner.
struct PixelWords {
  uint32_t word[kWords];

  __device__ PixelWords(const SlicGrid& grid, uchar4 color, Owner owner, int x, int y)
      : word{color.x,
             color.y,
             color.z,
             static_cast<uint32_t>(x - (owner.column - 1) * grid.width),
             static_cast<uint32_t>(y - (owner.row - 1) * grid.height),
             1} {}
};

// Returns the accumulator of superpixel (column, row) for the pixels of one cell: of the
// superpixel's own cell or of a cell around it. `neighbour` is the position of this cell among the
// nine cells, 0..8 in raster order.
__device__ inline uint32_t* accumulator(const Ece1782& state, int column, int row, int neighbour) {
  ClusterSums& sums =
      state.sums[state.grid.index(column, row) * kCandidates + static_cast<size_t>(neighbour)];
  return reinterpret_cast<uint32_t*>(&sums);
}

// Step kAtomics: each thread adds one pixel to global memory.
__global__ __launch_bounds__(kThreads) void sum_pixels_kernel(Ece1782 state) {
  const Pixel pixel(state.grid.size);
  if (!pixel.inside) return;
  const Owner owner = owner_at<false>(state.owners, pixel.x, pixel.y);
  const PixelWords words(state.grid, color_at<false>(state.colors, pixel.x, pixel.y), owner,
                         pixel.x, pixel.y);
  uint32_t* const to = accumulator(state, owner.column, owner.row, 0);
  for (int w = 0; w < kWords; ++w) atomicAdd(to + w, words.word[w]);
}

// The cell of the current block. Its pixels are added to the sums of nine superpixels: of the
// superpixel of this cell and of the cells around it.
struct SourceCell {
  int column, row;
  __device__ SourceCell()
      : column(static_cast<int>(blockIdx.x)), row(static_cast<int>(blockIdx.y)) {}
  // Returns the owner's position 0..8 around this cell, in raster order.
  __device__ int neighbour_of(Owner owner) const {
    return (owner.row - row + 1) * 3 + owner.column - column + 1;
  }
  __device__ bool inside(const SlicGrid& grid, int neighbour) const {
    const int x = column + neighbour % 3 - 1, y = row + neighbour / 3 - 1;
    return x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
  }
  __device__ uint32_t* accumulator_of(const Ece1782& state, int neighbour, int from) const {
    return accumulator(state, column + neighbour % 3 - 1, row + neighbour / 3 - 1, from);
  }
};

// Step kCells: a block sums the pixels of one cell in shared memory, then adds the sums to global
// memory.
template <bool kWideAccess>
__global__ __launch_bounds__(kThreads) void sum_cell_kernel(Ece1782 state) {
  __shared__ uint32_t sums[kSums];
  const SourceCell source;
  const CellPixels pixels(state.grid, source.column, source.row);
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kThreads) sums[i] = 0;
  __syncthreads();  // all sums in shared memory are zero
  for (int p = static_cast<int>(threadIdx.x); p < pixels.count; p += kThreads) {
    const int x = pixels.x(p), y = pixels.y(p);
    const Owner owner = owner_at<kWideAccess>(state.owners, x, y);
    const PixelWords words(state.grid, color_at<kWideAccess>(state.colors, x, y), owner, x, y);
    uint32_t* const to = sums + source.neighbour_of(owner) * kWords;
    for (int w = 0; w < kWords; ++w) atomicAdd(to + w, words.word[w]);
  }
  __syncthreads();  // all pixels are added to the sums
  for (int i = static_cast<int>(threadIdx.x); i < kSums; i += kThreads) {
    const int neighbour = i / kWords;
    if (!source.inside(state.grid, neighbour)) continue;
    atomicAdd(source.accumulator_of(state, neighbour, 0) + i % kWords, sums[i]);
  }
}

// From step kAccumulators on: every thread has nine accumulators in shared memory. The block adds
// up the accumulators of its threads in a binary tree. Every superpixel has one accumulator in
// global memory for each cell that adds to it, so no atomics are needed.
template <int kPixels>
__global__ __launch_bounds__(kSumThreads) void sum_in_accumulators_kernel(Ece1782 state) {
  __shared__ uint32_t sums[kSums][kSumThreads];
  const SourceCell source;
  const CellPixels pixels(state.grid, source.column, source.row);
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = 0; i < kSums; ++i) sums[i][thread] = 0;
  for (int first = thread; first < pixels.count; first += kPixels * kSumThreads) {
    Owner owner[kPixels];
    uchar4 color[kPixels];
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      const int p = min(first + k * kSumThreads, pixels.count - 1);
      owner[k] = owner_at<true>(state.owners, pixels.x(p), pixels.y(p));
      color[k] = color_at<true>(state.colors, pixels.x(p), pixels.y(p));
    }
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      const int p = first + k * kSumThreads;
      if (p >= pixels.count) continue;
      const PixelWords words(state.grid, color[k], owner[k], pixels.x(p), pixels.y(p));
      const int to = source.neighbour_of(owner[k]) * kWords;
      for (int w = 0; w < kWords; ++w) sums[to + w][thread] += words.word[w];
    }
  }
  for (int step = kSumThreads / 2; step > 0; step /= 2) {
    __syncthreads();  // the previous level of the tree is complete
    for (int i = thread; i < kSums * step; i += kSumThreads) {
      sums[i / step][i % step] += sums[i / step][i % step + step];
    }
  }
  __syncthreads();  // the sums are complete
  for (int i = thread; i < kSums; i += kSumThreads) {
    const int neighbour = i / kWords;
    if (!source.inside(state.grid, neighbour)) continue;
    source.accumulator_of(state, neighbour, 8 - neighbour)[i % kWords] = sums[i][0];
  }
}

// Computes the means of all superpixels from their accumulators.
__global__ __launch_bounds__(kThreads) void average_kernel(Ece1782 state) {
  const SlicGrid& grid = state.grid;
  const size_t superpixel = static_cast<size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (superpixel >= grid.cells()) return;
  ClusterSums all = state.sums[superpixel * kCandidates];
  if (state.ece1782_step >= kAccumulators) {
    for (int neighbour = 1; neighbour < kCandidates; ++neighbour) {
      all.add(state.sums[superpixel * kCandidates + static_cast<size_t>(neighbour)]);
    }
  }
  Ece1782Mean mean = {};
  if (all.count > 0) {
    const auto column = static_cast<int>(superpixel % static_cast<size_t>(grid.columns));
    const auto row = static_cast<int>(superpixel / static_cast<size_t>(grid.columns));
    for (int c = 0; c < 3; ++c) mean.color[c] = static_cast<int>(all.color[c] / all.count);
    mean.x = (column - 1) * grid.width + static_cast<int>(all.x / all.count);
    mean.y = (row - 1) * grid.height + static_cast<int>(all.y / all.count);
    mean.alive = 1;
  }
  state.means[superpixel] = mean;
}

// Writes the cluster_code() of each pixel and clears the counts of the merge lists.
__global__ __launch_bounds__(kThreads) void codes_kernel(Ece1782 state, Image<uint8_t> codes,
                                                         MergeCounts* counts) {
  const Pixel pixel(state.grid.size);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  if (!pixel.inside) return;
  const Owner owner = state.owners(pixel.x, pixel.y);
  codes(pixel.x, pixel.y) = cluster_code(owner.column, owner.row);
}

// Returns the distance of a pixel to the mean of a superpixel. Squared distances are integers below
// 2^24 and therefore exact in floats, so float and integer units compute the same labels. The
// intrinsics round after each operation, because a fused operation would give other results.
template <bool kUseFloats>
__device__ inline float distance_to(const Ece1782Mean& mean, uchar4 color, int x, int y,
                                    float factor) {
  const int dx = x - mean.x, dy = y - mean.y;
  const float position_term = __fmul_rn(static_cast<float>(dx * dx + dy * dy), factor);
  if constexpr (kUseFloats) {
    const float l = static_cast<float>(color.x) - static_cast<float>(mean.color[0]);
    const float a = static_cast<float>(color.y) - static_cast<float>(mean.color[1]);
    const float b = static_cast<float>(color.z) - static_cast<float>(mean.color[2]);
    return __fadd_rn(l * l + a * a + b * b, position_term);
  } else {
    const int l = color.x - mean.color[0], a = color.y - mean.color[1], b = color.z - mean.color[2];
    return __fadd_rn(static_cast<float>(l * l + a * a + b * b), position_term);
  }
}

// The nearest superpixel found so far. If several have the same distance, the first one in raster
// order is kept.
struct Nearest {
  float distance = 3e38f;
  int neighbour = 4;

  __device__ void keep_if_nearer(float other_distance, int other_neighbour) {
    if (other_distance >= distance) return;
    distance = other_distance;
    neighbour = other_neighbour;
  }
};

// Stores an owner with one store if kWideAccess is true, else with two stores.
template <bool kWideAccess>
__device__ inline void store(Owner& to, Owner owner) {
  if constexpr (kWideAccess) {
    *reinterpret_cast<uint32_t*>(&to) = owner.column | static_cast<uint32_t>(owner.row) << 16;
  } else {
    auto* halves = reinterpret_cast<volatile uint16_t*>(&to);
    halves[0] = owner.column;
    halves[1] = owner.row;
  }
}

__device__ inline Owner owner_of(int column, int row, int neighbour) {
  return {static_cast<uint16_t>(column + neighbour % 3 - 1),
          static_cast<uint16_t>(row + neighbour / 3 - 1)};
}

// The ownership kernel before step kNeighbours. It reads all means from global memory.
__global__ __launch_bounds__(kThreads) void choose_per_pixel_kernel(Ece1782 state) {
  const SlicGrid& grid = state.grid;
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int y = static_cast<int>(blockIdx.y * (kThreads / 32) + threadIdx.x / 32);
  if (x >= grid.size.width || y >= grid.size.height) return;
  const int column = x / grid.width, row = y / grid.height;
  const uchar4 color = color_at<false>(state.colors, x, y);
  Nearest nearest;
  for (int neighbour = 0; neighbour < kCandidates; ++neighbour) {
    const int cx = column + neighbour % 3 - 1, cy = row + neighbour / 3 - 1;
    if (cx < 0 || cy < 0 || cx >= grid.columns || cy >= grid.rows) continue;
    const Ece1782Mean& mean = state.means[grid.index(cx, cy)];
    if (mean.alive)
      nearest.keep_if_nearer(distance_to<false>(mean, color, x, y, state.factor), neighbour);
  }
  store<false>(state.owners(x, y), owner_of(column, row, nearest.neighbour));
}

// The ownership kernel from step kNeighbours on. A block processes kPixels * kThreads pixels of one
// cell.
template <bool kWideAccess, int kPixels, bool kUseFloats>
__global__ __launch_bounds__(kThreads) void choose_per_cell_kernel(Ece1782 state) {
  __shared__ Ece1782Mean means[kCandidates];
  const SlicGrid& grid = state.grid;
  const int column = static_cast<int>(blockIdx.x), row = static_cast<int>(blockIdx.y);
  if (threadIdx.x < kCandidates) {
    const int cx = column + static_cast<int>(threadIdx.x) % 3 - 1;
    const int cy = row + static_cast<int>(threadIdx.x) / 3 - 1;
    const bool inside = cx >= 0 && cy >= 0 && cx < grid.columns && cy < grid.rows;
    means[threadIdx.x] = inside ? state.means[grid.index(cx, cy)] : Ece1782Mean{};
  }
  __syncthreads();  // the nine means are loaded
  const CellPixels pixels(grid, column, row);
  const int first =
      static_cast<int>(blockIdx.z) * kPixels * kThreads + static_cast<int>(threadIdx.x);
  int x[kPixels], y[kPixels];
  uchar4 color[kPixels];
  Nearest nearest[kPixels];
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    const int p = min(first + k * kThreads, pixels.count - 1);
    x[k] = pixels.x(p);
    y[k] = pixels.y(p);
    color[k] = color_at<kWideAccess>(state.colors, x[k], y[k]);
  }
#pragma unroll
  for (int neighbour = 0; neighbour < kCandidates; ++neighbour) {
    const Ece1782Mean mean = means[neighbour];
    if (!mean.alive) continue;
#pragma unroll
    for (int k = 0; k < kPixels; ++k) {
      nearest[k].keep_if_nearer(distance_to<kUseFloats>(mean, color[k], x[k], y[k], state.factor),
                                neighbour);
    }
  }
#pragma unroll
  for (int k = 0; k < kPixels; ++k) {
    if (first + k * kThreads >= pixels.count) continue;
    store<kWideAccess>(state.owners(x[k], y[k]), owner_of(column, row, nearest[k].neighbour));
  }
}

template <bool kWideAccess, int kPixels, bool kUseFloats>
void launch_per_cell(const Ece1782& state, cudaStream_t stream) {
  const SlicGrid& grid = state.grid;
  const auto pixels = static_cast<size_t>(grid.width) * static_cast<size_t>(grid.height);
  launch(choose_per_cell_kernel<kWideAccess, kPixels, kUseFloats>,
         dim3(static_cast<unsigned>(grid.columns), static_cast<unsigned>(grid.rows),
              blocks_for(pixels, kPixels * kThreads)),
         kThreads, 0, stream, state);
}

}  // namespace

void assign_own_cells(const Ece1782& state, cudaStream_t stream) {
  launch(assign_own_cells_kernel, pixel_grid(state.grid.size), kThreads, 0, stream, state);
}

void reset_sums(const Ece1782& state, cudaStream_t stream) {
  launch(reset_kernel, blocks_for(state.grid.cells() * kCandidates, kThreads), kThreads, 0, stream,
         state);
}

void sum_owned_pixels(const Ece1782& state, cudaStream_t stream) {
  const SlicGrid& grid = state.grid;
  if (state.ece1782_step < kCells) {
    launch(sum_pixels_kernel, pixel_grid(grid.size), kThreads, 0, stream, state);
  } else if (state.ece1782_step < kAccumulators) {
    launch(state.ece1782_step < kWideLoads ? sum_cell_kernel<false> : sum_cell_kernel<true>,
           cell_grid(grid), kThreads, 0, stream, state);
  } else {
    launch(state.ece1782_step < kSeveralPixels ? sum_in_accumulators_kernel<1>
                                               : sum_in_accumulators_kernel<8>,
           cell_grid(grid), kSumThreads, 0, stream, state);
  }
}

void average_sums(const Ece1782& state, cudaStream_t stream) {
  launch(average_kernel, blocks_for(state.grid.cells(), kThreads), kThreads, 0, stream, state);
}

void write_owner_codes(const Ece1782& state, Image<uint8_t> codes, MergeCounts* counts,
                       cudaStream_t stream) {
  launch(codes_kernel, pixel_grid(state.grid.size), kThreads, 0, stream, state, codes, counts);
}

void choose_owners(const Ece1782& state, cudaStream_t stream) {
  const Size size = state.grid.size;
  if (state.ece1782_step < kNeighbours) {
    launch(choose_per_pixel_kernel,
           dim3(blocks_for(static_cast<size_t>(size.width), 32),
                blocks_for(static_cast<size_t>(size.height), kThreads / 32)),
           kThreads, 0, stream, state);
  } else if (state.ece1782_step < kWideLoads) {
    launch_per_cell<false, 1, false>(state, stream);
  } else if (state.ece1782_step < kSeveralPixels) {
    launch_per_cell<true, 1, false>(state, stream);
  } else if (state.ece1782_step < kFloatDistances) {
    launch_per_cell<true, 8, false>(state, stream);
  } else {
    launch_per_cell<true, 8, true>(state, stream);
  }
}

}  // namespace regions::slicsuperpixel
