// Building blocks of the kernels that assign pixels to clusters: block shapes, candidates in shared
// memory, the choice of the best candidate, and the sums of a block. The iterations and the final
// assignment use them.
//
// A block processes a few neighbouring cells. Its pixels can choose the clusters of these cells and
// of the cells around them (the halo). A cell is divided into strips: a strip is a part of the cell
// that is as high as a patch (kPatchRows rows) and is processed by one warp at a time.
#pragma once

#include <type_traits>

#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {

// The shape of a thread block. It is a type, because kernels take it as a template argument.
//
// A block processes cells_x x cells_y cells. A warp processes one strip of a cell at a time, which
// has `lanes` columns and kPatchRows rows. A stack consists of `stack` strips, one below another.
// In an iteration, the sums of the warp's lanes are added up once per stack. `side` is the width
// and height of a cell in pixels if they are known at compile time, else 0.
template <int side_, int lanes_, int cells_x_, int cells_y_, int warps_, int stack_ = 1>
struct BlockShape {
  static constexpr int side = side_;
  static constexpr int lanes = lanes_;
  static constexpr int cells_x = cells_x_;
  static constexpr int cells_y = cells_y_;
  static constexpr int warps = warps_;
  static constexpr int stack = stack_;
  static constexpr int threads = 32 * warps;
  // minimum number of resident blocks per multiprocessor; it allows 64 registers per thread
  static constexpr int blocks = 1024 / threads;
  static constexpr int rows = kPatchRows;          // number of rows of a strip
  static constexpr int rows_at_once = 32 / lanes;  // number of rows that a warp processes at once
  static constexpr int halo_x = cells_x + 2;       // number of columns of cells, including the halo
  // number of cells including the halo, whose clusters the pixels of a block can choose
  static constexpr int halo = halo_x * (cells_y + 2);
  static constexpr int cells = cells_x * cells_y;
};

// A block covers about 64 x 64 pixels or one large cell, so that the cost of the halo is small.
using Cells16 = BlockShape<16, 16, 4, 4, 8>;
using Cells32 = BlockShape<32, 32, 2, 2, 8>;
using Cells128 = BlockShape<128, 32, 1, 1, 16, 2>;
using NarrowCells = BlockShape<0, 16, 4, 4, 8>;    // cells up to 16 pixels wide and 32 high
using MiddleCells = BlockShape<0, 32, 2, 2, 8>;    // cells up to 64 pixels wide and high
using WideCells = BlockShape<0, 32, 1, 1, 16, 2>;  // all larger cells

// Calls use(Shape()) with the block shape for the cells of this grid.
template <class Use>
void with_shape(const SlicGrid& grid, Use use) {
  if (grid.width == grid.height) {
    if (grid.width == 16) return use(Cells16());
    if (grid.width == 32) return use(Cells32());
    if (grid.width == 128) return use(Cells128());
  }
  const int side = grid.width > grid.height ? grid.width : grid.height;
  if (grid.width <= 16 && grid.height <= 32) return use(NarrowCells());
  if (side <= 64) return use(MiddleCells());
  use(WideCells());
}

// Calls use.template operator()<step>(), so that the row step is a template argument.
template <class Use>
void with_row_step(RowSubset rows, Use use) {
  switch (rows.row_step) {
    case 1:
      return use.template operator()<1>();
    case 2:
      return use.template operator()<2>();
    case 3:
      return use.template operator()<3>();
    default:
      return use.template operator()<4>();
  }
}

// Returns the dimensions of a CUDA grid whose blocks together process all cells.
template <class Shape>
dim3 blocks_of(const SlicGrid& grid) {
  return {blocks_for(static_cast<size_t>(grid.columns), Shape::cells_x),
          blocks_for(static_cast<size_t>(grid.rows), Shape::cells_y)};
}

inline constexpr int kSumWords = sizeof(ClusterSums) / sizeof(uint32_t);
// Candidate number that is given to pixels that do not take part in the iteration. Counters have an
// additional entry for these pixels, whose sums are not used.
inline constexpr int kNoCandidate = kCandidates;

// The three arrays of sums that an iteration uses. It reads `from`, adds to `to`, and sets `clear`
// to zero for the next iteration.
struct IterationSums {
  int iteration;
  const ClusterSums* from;
  ClusterSums *to, *clear;

  IterationSums(const Clusters& clusters, int i)
      : iteration(i),
        from(clusters.sums[i % 3]),
        to(clusters.sums[(i + 1) % 3]),
        clear(clusters.sums[(i + 2) % 3]) {}
};

#ifdef __CUDACC__

// A Candidate in the form that the dot-product instruction dp2a needs: two 16-bit coefficients of
// the score per word.
struct PackedCandidate {
  int first_second;  // coefficients of colour components 0 and 1
  int third_row;     // coefficients of colour component 2 and of the row in the patch
  int base;          // Candidate::base, adapted to the bias of stored colours
  int column;        // coefficient of the column in the cell
};

// The parts of a Center. Several threads compute them, one mean value per thread.
struct CenterWords {
  int mean[5];   // Center::color[0..2], then Center::x and Center::y
  int share[3];  // color_share() of each colour component; the sum is Center::base
  int alive;     // whether the cluster has pixels

  __device__ operator Center() const {
    return {
        {mean[0], mean[1], mean[2]}, share[0] + share[1] + share[2], mean[3], mean[4], alive != 0};
  }
};

// The candidates of a block's cells, in shared memory.
template <class Shape>
struct Candidates {
  std::conditional_t<Shape::lanes == 16, CenterWords, Center> center[Shape::halo];
  PackedCandidate packed[Shape::cells][kCandidates];
  int down[Shape::cells][kCandidates];  // Candidate::down, the score per row of the cell
};

// The size of a cell, known at compile time if possible.
template <class Shape>
struct Geometry {
  int width, height;  // size of a cell in pixels
  __device__ explicit Geometry(const SlicGrid& grid)
      : width(Shape::side ? Shape::side : grid.width),
        height(Shape::side ? Shape::side : grid.height) {}
  // The numbers of strips of a cell next to each other, and one below another.
  __device__ int strips_x() const { return (width + Shape::lanes - 1) / Shape::lanes; }
  __device__ int strips_y() const { return (height + Shape::rows - 1) / Shape::rows; }
};

// Multiplies two coefficients by 16 and packs them into the halves of a word.
__device__ inline int pack(int low, int high) {
  return (16 * low & 0xffff) | static_cast<int>(static_cast<unsigned>(16 * high) << 16);
}

// Calls visit(i) for i = 0..count-1, each in one thread of the block.
template <class Shape, int count, class Visit>
__device__ void for_each_in_block(Visit visit) {
  const auto thread = static_cast<int>(threadIdx.x);
  if constexpr (count <= Shape::threads) {
    if (thread < count) visit(thread);
  } else {
    for (int i = thread; i < count; i += Shape::threads) visit(i);
  }
}

// Loads the sums of a cluster from the L2 cache.
__device__ inline ClusterSums fetch_sums(const ClusterSums* sums) {
  static_assert(sizeof(ClusterSums) == 3 * sizeof(uint2));
  // The array is aligned for 8-byte loads.
  const auto* const from = reinterpret_cast<const uint2*>(sums);
  const uint2 first = __ldcg(from), second = __ldcg(from + 1), third = __ldcg(from + 2);
  return {{first.x, first.y, second.x}, second.y, third.x, third.y};
}

// Computes the centres of the block's clusters, one thread per cluster.
template <class Shape>
__device__ void find_centers(const Clusters& clusters, const ClusterSums* sums,
                             int first_cell_column, int first_cell_row,
                             Center (&centers)[Shape::halo]) {
  const SlicGrid& grid = clusters.grid;
  static_assert(Shape::halo <= Shape::threads);
  const auto thread = static_cast<int>(threadIdx.x);
  const int x = first_cell_column - 1 + thread % Shape::halo_x,
            y = first_cell_row - 1 + thread / Shape::halo_x;
  const bool exists = thread < Shape::halo && x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
  ClusterSums thread_sums;
  if (exists) thread_sums = fetch_sums(sums + (y * grid.columns + x));
  // The warp issues all loads before the divisions below wait for them.
  __syncwarp();
  if (thread < Shape::halo) {
    centers[thread] = exists ? center_of(thread_sums, grid, clusters.scale) : Center{};
  }
}
// Computes the centres of the block's clusters, one thread per mean value. A block of small cells
// has many clusters, so the slow divisions are spread over more threads.
template <class Shape>
__device__ void find_centers(const Clusters& clusters, const ClusterSums* sums,
                             int first_cell_column, int first_cell_row,
                             CenterWords (&centers)[Shape::halo]) {
  static_assert(sizeof(ClusterSums) == 6 * sizeof(uint32_t));
  constexpr int kMeans = 5;
  const SlicGrid& grid = clusters.grid;
  const SlicScale& scale = clusters.scale;
  for_each_in_block<Shape, Shape::halo * kMeans>([&](int i) {
    const int cluster = i / kMeans, part = i % kMeans;
    const int x = first_cell_column - 1 + cluster % Shape::halo_x,
              y = first_cell_row - 1 + cluster / Shape::halo_x;
    CenterWords& center = centers[cluster];
    uint32_t sum = 0, count = 0;
    if (x >= 0 && y >= 0 && x < grid.columns && y < grid.rows) {
      const auto* const words = reinterpret_cast<const uint32_t*>(sums + (y * grid.columns + x));
      sum = __ldcg(words + part);
      count = __ldcg(words + kMeans);
    }
    const int mean = mean_of(sum, count > 0 ? count : 1);
    if (part < 3) {
      const int k = coefficient_of(mean, scale.gain[part]);
      center.mean[part] = k;
      center.share[part] = color_share(k, scale.square[part]);
    } else {
      center.mean[part] = offset_of(mean, part == 3 ? grid.width : grid.height);
      if (part == 3) center.alive = count > 0;
    }
  });
}

// Computes the candidates of all cells of the block in shared memory. All threads of the block must
// call this function, which ends with a barrier.
template <class Shape>
__device__ void make_candidates(const Clusters& clusters, const ClusterSums* sums,
                                int first_cell_column, int first_cell_row,
                                Candidates<Shape>& candidates) {
  const SlicGrid& grid = clusters.grid;
  find_centers<Shape>(clusters, sums, first_cell_column, first_cell_row, candidates.center);
  __syncthreads();  // all centres are written
  for_each_in_block<Shape, Shape::cells * kCandidates>([&](int i) {
    const int cell = i / kCandidates, candidate = i % kCandidates;
    const int cx = cell % Shape::cells_x + candidate % 3,
              cy = cell / Shape::cells_x + candidate / 3;
    // For clusters outside the grid, find_centers() has set Center::alive to false.
    const Candidate c = candidate_of(candidates.center[cy * Shape::halo_x + cx], true, candidate,
                                     grid, clusters.scale);
    PackedCandidate& packed = candidates.packed[cell][candidate];
    packed.first_second = pack(c.color[0], c.color[1]);
    packed.third_row = pack(c.color[2], c.row);
    // The stored colour components of pixels are increased by kColorBias. The base is reduced to
    // compensate for the increase.
    packed.base = c.base - 16 * kColorBias * (c.color[0] + c.color[1] + c.color[2]);
    packed.column = c.column;
    candidates.down[cell][candidate] = c.down;
  });
  __syncthreads();  // all candidates are written
}

// A strip of a cell, with Shape::lanes columns and Shape::rows rows.
template <class Shape>
struct Strip {
  int cell, column, row;  // index of the cell in the block; its column and row in the grid
  int left, top;          // position of the strip in the cell, in pixels
  int x, y;               // this lane's column and the strip's first row in the picture
  int end;                // number of the cell's rows inside the picture, from `top` on
  bool inside;            // whether this lane's column is in the cell and in the picture
  bool whole;             // whether the whole strip is in the cell and in the picture

  // Moves to the next strip below. The new strip has rows in the cell and in the picture only if
  // `end` is still positive.
  __device__ void move_down() {
    top += Shape::rows, y += Shape::rows, end -= Shape::rows;
    whole = whole && end >= Shape::rows;
  }
};

// Calls visit(strip) for each strip of the block that starts in the picture. One warp handles each
// strip. If `stack` is greater than 1, calls visit() only for the first strip of each stack.
template <class Shape, int stack = 1, class Visit>
__device__ void for_each_strip(const SlicGrid& grid, int first_cell_column, int first_cell_row,
                               Visit visit) {
  const Geometry<Shape> geometry(grid);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int strips_x = geometry.strips_x();
  const int strips = strips_x * ((geometry.strips_y() + stack - 1) / stack);
  for (int stack_index = static_cast<int>(threadIdx.x / 32); stack_index < Shape::cells * strips;
       stack_index += Shape::warps) {
    const int cell = stack_index / strips, strip = stack_index % strips;
    const int column = first_cell_column + cell % Shape::cells_x,
              row = first_cell_row + cell / Shape::cells_x;
    const int left = strip % strips_x * Shape::lanes,
              top = strip / strips_x * (stack * Shape::rows);
    const int strip_x = column * geometry.width + left, y = row * geometry.height + top;
    if (strip_x >= grid.size.width || y >= grid.size.height) continue;
    const int x = strip_x + lane % Shape::lanes;
    const int end = min(geometry.height - top, grid.size.height - y);
    const int width = min(geometry.width - left, grid.size.width - strip_x);
    visit(Strip<Shape>{cell, column, row, left, top, x, y, end, lane % Shape::lanes < width,
                       width >= Shape::lanes && end >= Shape::rows});
  }
}

// Loads the colours of kCount pixels that are kStep rows apart, starting with row `first` of the
// strip. Also loads rows below the cell or below the picture, which callers ignore.
template <int kStep, class Shape, int kCount>
__device__ void read_strip(const Image<uint32_t>& colors, const Strip<Shape>& strip, int first,
                           uint32_t (&color)[kCount]) {
  static_assert((kCount - 1) * kStep < Shape::rows + kStep);
  const auto pitch = static_cast<uint32_t>(colors.pitch);
  const auto* const from = reinterpret_cast<const std::byte*>(colors.row(strip.y) + strip.x) +
                           static_cast<uint64_t>(pitch) * static_cast<uint32_t>(first);
  const uint32_t step = kStep * pitch;
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) {
    color[i] = *reinterpret_cast<const uint32_t*>(from + static_cast<uint64_t>(step) * i);
  }
}

// Returns sum + halves[0] * bytes[k] + halves[1] * bytes[k + 1] for the two signed 16-bit halves of
// a word. dot_low() uses bytes 0 and 1, dot_high() uses bytes 2 and 3.
__device__ inline int dot_low(int halves, uint32_t bytes, int sum) {
  asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(halves), "r"(bytes));
  return sum;
}
__device__ inline int dot_high(int halves, uint32_t bytes, int sum) {
  asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(halves), "r"(bytes));
  return sum;
}

// Finds the lowest score of each pixel and writes it to `best`. The lowest four bits of a score are
// the number of the candidate.
template <class Shape, int kCount>
__device__ void choose(const Candidates<Shape>& candidates, const Strip<Shape>& strip,
                       const uint32_t (&color)[kCount], int (&best)[kCount]) {
  const PackedCandidate* const packed = candidates.packed[strip.cell];
  const int* const down = candidates.down[strip.cell];
  const int u = strip.left + static_cast<int>(threadIdx.x % Shape::lanes);
  const auto start_of = [&](int candidate) {
    const PackedCandidate& c = packed[candidate];
    return ((c.base + strip.top * down[candidate] + c.column * u) & ~15) | candidate;
  };
  const auto score = [&](int candidate, int start, uint32_t pixel) {
    const PackedCandidate& c = packed[candidate];
    return dot_high(c.third_row, pixel, dot_low(c.first_second, pixel, start));
  };
  const int start = start_of(0);
#pragma unroll
  for (int i = 0; i < kCount; ++i) best[i] = score(0, start, color[i]);
#pragma unroll
  for (int candidate = 1; candidate < kCandidates; candidate += 2) {
    const int first_start = start_of(candidate), second_start = start_of(candidate + 1);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      best[i] = __vimin3_s32(best[i], score(candidate, first_start, color[i]),
                             score(candidate + 1, second_start, color[i]));
    }
  }
}

// The sums of all clusters that the pixels of a block can choose, in shared memory.
template <class Shape>
struct BlockSums {
  uint32_t word[Shape::halo][kSumWords];

  // Sets the sums to zero. All threads of the block must call clear() and add_to().
  __device__ void clear() {
    for_each_in_block<Shape, Shape::halo * kSumWords>(
        [&](int i) { word[i / kSumWords][i % kSumWords] = 0; });
  }
  // Returns the sums of candidate 0 of a cell. The sums of candidate c are stored
  // (c / 3) * halo_x + c % 3 clusters after them.
  __device__ uint32_t* of_cell(int cell) {
    return word[cell / Shape::cells_x * Shape::halo_x + cell % Shape::cells_x];
  }
  // Adds the block's sums to the clusters in global memory. The caller must execute a barrier
  // before the call. The order of atomics does not matter, because integers are added.
  __device__ void add_to(const SlicGrid& grid, int first_cell_column, int first_cell_row,
                         ClusterSums* sums) const {
    auto* const to = reinterpret_cast<uint32_t*>(sums);
    for_each_in_block<Shape, Shape::halo * kSumWords>([&](int i) {
      const int cluster = i / kSumWords, part = i % kSumWords;
      const uint32_t sum = word[cluster][part];
      if (sum == 0) return;  // sums of clusters outside the grid are always 0
      const int x = first_cell_column - 1 + cluster % Shape::halo_x,
                y = first_cell_row - 1 + cluster / Shape::halo_x;
      atomicAdd(to + static_cast<size_t>(y * grid.columns + x) * kSumWords + part, sum);
    });
  }
};

// Sets the sums of the block's cells in global memory to zero. Uses the threads with the highest
// numbers, because they have less other work.
template <class Shape>
__device__ void clear_sums(const SlicGrid& grid, int first_cell_column, int first_cell_row,
                           ClusterSums* sums) {
  static_assert(Shape::cells <= Shape::threads);
  const int cell = Shape::threads - 1 - static_cast<int>(threadIdx.x);
  const int x = first_cell_column + cell % Shape::cells_x,
            y = first_cell_row + cell / Shape::cells_x;
  if (cell < Shape::cells && x < grid.columns && y < grid.rows) sums[y * grid.columns + x] = {};
}

#endif

}  // namespace regions::slicsuperpixel
