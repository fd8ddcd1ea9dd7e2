// What a block makes of its clusters before it looks at pixels, and how a lane finds the best
// candidate of its own. For the passes over all pixels: each iteration, and the last assignment.
#pragma once

#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {

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
dim3 blocks_of(const SlicGrid& grid) {
  return {blocks_for(static_cast<size_t>(grid.columns), T::cells_x),
          blocks_for(static_cast<size_t>(grid.rows), T::cells_y)};
}

#ifdef __CUDACC__

// A candidate as lanes use it: two 16-bit coefficients a word.
struct PackedCandidate {
  int first_second;
  int third_row;
  int base;
  int column;
};

template <class T>
struct Candidates {
  Center center[T::halo];
  PackedCandidate packed[T::cells][kCandidates];
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

__device__ inline int pack(int low, int high) {
  return (16 * low & 0xffff) | static_cast<int>(static_cast<unsigned>(16 * high) << 16);
}

// Ends with a barrier.
template <class T>
__device__ void make_candidates(const Clusters& clusters, const ClusterSums* sums, int x0, int y0,
                                Candidates<T>& s) {
  const SlicGrid& grid = clusters.grid;
  for (int i = static_cast<int>(threadIdx.x); i < T::halo; i += T::threads) {
    const int x = x0 - 1 + i % T::halo_x, y = y0 - 1 + i / T::halo_x;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    s.center[i] =
        inside ? center_of(sums[static_cast<size_t>(y) * grid.columns + x], grid, clusters.scale)
               : Center{};
  }
  __syncthreads();  // all centres are there
  for (int i = static_cast<int>(threadIdx.x); i < T::cells * kCandidates; i += T::threads) {
    const int cell = i / kCandidates, place = i % kCandidates;
    const int cx = cell % T::cells_x, cy = cell / T::cells_x;
    const int x = x0 + cx + place % 3 - 1, y = y0 + cy + place / 3 - 1;
    const bool inside = x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
    const Candidate c = candidate_of(s.center[(cy + place / 3) * T::halo_x + cx + place % 3],
                                     inside, place, grid, clusters.scale);
    PackedCandidate& packed = s.packed[cell][place];
    packed.first_second = pack(c.color[0], c.color[1]);
    packed.third_row = pack(c.color[2], c.row);
    // Pixels come with 128 added to each component, which the base takes back.
    packed.base = c.base - 16 * kColorBias * (c.color[0] + c.color[1] + c.color[2]);
    packed.column = c.column;
    s.down[cell][place] = c.down;
  }
  __syncthreads();  // all candidates are there
}

// A strip of a cell, T::lanes columns of T::rows rows; a warp takes one at a time.
template <class T>
struct Strip {
  int cell, column, row;  // in the block; in the grid
  int left, top;          // in the cell
  int x, y;               // this lane's column, and the strip's first row, in the picture
  int end;                // behind the rows of the cell that are in the picture, from `top`
  bool inside;            // the lane's column is in the cell and in the picture
  bool whole;             // all of the strip is; the same for all lanes
};

// Calls visit(strip) for each strip of the block that begins in the picture.
template <class T, class Visit>
__device__ void for_each_strip(const SlicGrid& grid, int x0, int y0, Visit visit) {
  const Geometry<T> geometry(grid);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int strips_x = geometry.strips_x();
  const int strips = strips_x * geometry.strips_y();
  for (int unit = static_cast<int>(threadIdx.x / 32); unit < T::cells * strips; unit += T::warps) {
    const int cell = unit / strips, strip = unit % strips;
    const int column = x0 + cell % T::cells_x, row = y0 + cell / T::cells_x;
    const int left = strip % strips_x * T::lanes, top = strip / strips_x * T::rows;
    const int strip_x = column * geometry.width + left, y = row * geometry.height + top;
    if (strip_x >= grid.size.width || y >= grid.size.height) continue;
    const int x = strip_x + lane % T::lanes;
    const int end = min(geometry.height - top, grid.size.height - y);
    const int width = min(geometry.width - left, grid.size.width - strip_x);
    visit(Strip<T>{cell, column, row, left, top, x, y, end, lane % T::lanes < width,
                   width >= T::lanes && end >= T::rows});
  }
}

// Colours of pixels kStep rows apart, the first `first` rows into the strip. Rows below the cell or
// the strip are read from the last one.
template <int kStep, class T, int kCount>
__device__ void read_strip(const Image<uint32_t>& colors, const Strip<T>& strip, int first,
                           uint32_t (&color)[kCount]) {
  // A strip spans at most 16 rows, so 32 bits are enough for places in it.
  const auto* const start = reinterpret_cast<const std::byte*>(colors.row(strip.y) + strip.x);
  const auto pitch = static_cast<uint32_t>(colors.pitch);
  const auto at = [&](int row) {
    return *reinterpret_cast<const uint32_t*>(start + static_cast<uint32_t>(row) * pitch);
  };
  if (T::rows % kStep == 0 && strip.whole) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) color[i] = at(first + i * kStep);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) color[i] = at(min(first + i * kStep, strip.end - 1));
  }
}

// Sums of signed halves times unsigned bytes 0, 1 and 2, 3.
__device__ inline int dot_low(int halves, uint32_t bytes, int sum) {
  asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(halves), "r"(bytes));
  return sum;
}
__device__ inline int dot_high(int halves, uint32_t bytes, int sum) {
  asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(halves), "r"(bytes));
  return sum;
}

// The best score of each pixel, with its place in the lowest four bits.
template <class T, int kCount>
__device__ void choose(const Candidates<T>& s, const Strip<T>& strip,
                       const uint32_t (&color)[kCount], int (&best)[kCount]) {
  const PackedCandidate* const candidate = s.packed[strip.cell];
  const int* const down = s.down[strip.cell];
  const int u = strip.left + static_cast<int>(threadIdx.x % T::lanes);
  const auto start_of = [&](int place) {
    const PackedCandidate& c = candidate[place];
    return ((c.base + strip.top * down[place] + c.column * u) & ~15) | place;
  };
  const auto score = [&](int place, int start, uint32_t pixel) {
    const PackedCandidate& c = candidate[place];
    return dot_high(c.third_row, pixel, dot_low(c.first_second, pixel, start));
  };
  const int start = start_of(0);
#pragma unroll
  for (int i = 0; i < kCount; ++i) best[i] = score(0, start, color[i]);
#pragma unroll
  for (int place = 1; place < kCandidates; place += 2) {
    const int one = start_of(place), other = start_of(place + 1);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      best[i] =
          __vimin3_s32(best[i], score(place, one, color[i]), score(place + 1, other, color[i]));
    }
  }
}

#endif

}  // namespace regions::slic
