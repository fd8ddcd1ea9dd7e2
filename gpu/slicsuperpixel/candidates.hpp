// What a block makes of its clusters before it looks at pixels, and how a lane finds the best
// candidate of its own. For the passes over all pixels: each iteration, and the last assignment.
#pragma once

#include <type_traits>

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
  if (grid.width <= 16 && grid.height <= 32) return use(NarrowCells());
  if (side <= 64) return use(MiddleCells());
  use(WideCells());
}

// Calls use.template operator()<step>() for the step of the rows that take part.
template <class Use>
void with_step(RowChoice rows, Use use) {
  switch (rows.step) {
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

// A Center as threads find it, each a mean.
struct CenterWords {
  int mean[5];   // three coefficients, x and y
  int share[3];  // of the score
  int alive;

  __device__ operator Center() const {
    return {
        {mean[0], mean[1], mean[2]}, share[0] + share[1] + share[2], mean[3], mean[4], alive != 0};
  }
};

template <class T>
struct Candidates {
  std::conditional_t<T::lanes == 16, CenterWords, Center> center[T::halo];
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

// Calls visit(i) for i in 0..count-1, each by one thread of the block.
template <class T, int count, class Visit>
__device__ void share_out(Visit visit) {
  const auto own = static_cast<int>(threadIdx.x);
  if constexpr (count <= T::threads) {
    if (own < count) visit(own);
  } else {
    for (int i = own; i < count; i += T::threads) visit(i);
  }
}

__device__ inline ClusterSums fetch_sums(const ClusterSums* sums) {
  static_assert(sizeof(ClusterSums) == 3 * sizeof(uint2));
  const auto* const from = reinterpret_cast<const uint2*>(sums);  // as workspaces align them
  const uint2 first = __ldcg(from), second = __ldcg(from + 1), third = __ldcg(from + 2);
  return {{first.x, first.y, second.x}, second.y, third.x, third.y};
}

// Centres of the block's clusters, a thread each.
template <class T>
__device__ void find_centers(const Clusters& clusters, const ClusterSums* sums, int x0, int y0,
                             Center (&centers)[T::halo]) {
  const SlicGrid& grid = clusters.grid;
  static_assert(T::halo <= T::threads);
  const auto own = static_cast<int>(threadIdx.x);
  const int x = x0 - 1 + own % T::halo_x, y = y0 - 1 + own / T::halo_x;
  const bool exists = own < T::halo && x >= 0 && y >= 0 && x < grid.columns && y < grid.rows;
  ClusterSums own_sums;
  if (exists) own_sums = fetch_sums(sums + (y * grid.columns + x));
  __syncwarp();  // fetched at once, not one by one where divisions need them
  if (own < T::halo) {
    centers[own] = exists ? center_of(own_sums, grid, clusters.scale) : Center{};
  }
}
// A thread for each mean: of small cells a block has many clusters, and a division takes long.
template <class T>
__device__ void find_centers(const Clusters& clusters, const ClusterSums* sums, int x0, int y0,
                             CenterWords (&centers)[T::halo]) {
  static_assert(sizeof(ClusterSums) == 6 * sizeof(uint32_t));
  constexpr int kMeans = 5;
  const SlicGrid& grid = clusters.grid;
  const SlicScale& scale = clusters.scale;
  share_out<T, T::halo * kMeans>([&](int i) {
    const int cluster = i / kMeans, which = i % kMeans;
    const int x = x0 - 1 + cluster % T::halo_x, y = y0 - 1 + cluster / T::halo_x;
    CenterWords& center = centers[cluster];
    uint32_t sum = 0, count = 0;
    if (x >= 0 && y >= 0 && x < grid.columns && y < grid.rows) {
      const auto* const words = reinterpret_cast<const uint32_t*>(sums + (y * grid.columns + x));
      sum = __ldcg(words + which);
      count = __ldcg(words + kMeans);
    }
    const int mean = mean_of(sum, count > 0 ? count : 1);
    if (which < 3) {
      const int k = coefficient_of(mean, scale.gain[which]);
      center.mean[which] = k;
      center.share[which] = color_share(k, scale.square[which]);
    } else {
      center.mean[which] = offset_of(mean, which == 3 ? grid.width : grid.height);
      if (which == 3) center.alive = count > 0;
    }
  });
}

// Ends with a barrier.
template <class T>
__device__ void make_candidates(const Clusters& clusters, const ClusterSums* sums, int x0, int y0,
                                Candidates<T>& s) {
  const SlicGrid& grid = clusters.grid;
  find_centers<T>(clusters, sums, x0, y0, s.center);
  __syncthreads();  // all centres are there
  share_out<T, T::cells * kCandidates>([&](int i) {
    const int cell = i / kCandidates, place = i % kCandidates;
    const int cx = cell % T::cells_x + place % 3, cy = cell / T::cells_x + place / 3;
    // Clusters outside the grid are not alive.
    const Candidate c =
        candidate_of(s.center[cy * T::halo_x + cx], true, place, grid, clusters.scale);
    PackedCandidate& packed = s.packed[cell][place];
    packed.first_second = pack(c.color[0], c.color[1]);
    packed.third_row = pack(c.color[2], c.row);
    // Pixels come with 128 added to each component, which the base takes back.
    packed.base = c.base - 16 * kColorBias * (c.color[0] + c.color[1] + c.color[2]);
    packed.column = c.column;
    s.down[cell][place] = c.down;
  });
  __syncthreads();  // all candidates are there
}

// A strip of a cell, T::lanes columns of T::rows rows.
template <class T>
struct Strip {
  int cell, column, row;  // in the block; in the grid
  int left, top;          // in the cell
  int x, y;               // this lane's column, and the strip's first row, in the picture
  int end;                // behind the rows of the cell that are in the picture, from `top`
  bool inside;            // the lane's column is in the cell and in the picture
  bool whole;             // all of the strip is; the same for all lanes

  // To the one below, which is in the cell and in the picture only if `end` is still positive.
  __device__ void move_down() {
    top += T::rows, y += T::rows, end -= T::rows;
    whole = whole && end >= T::rows;
  }
};

// Calls visit(strip) for each strip of the block that begins in the picture, or, of `stack` strips
// below each other, for the first. A warp takes one at a time.
template <class T, int stack = 1, class Visit>
__device__ void for_each_strip(const SlicGrid& grid, int x0, int y0, Visit visit) {
  const Geometry<T> geometry(grid);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int strips_x = geometry.strips_x();
  const int strips = strips_x * ((geometry.strips_y() + stack - 1) / stack);
  for (int unit = static_cast<int>(threadIdx.x / 32); unit < T::cells * strips; unit += T::warps) {
    const int cell = unit / strips, strip = unit % strips;
    const int column = x0 + cell % T::cells_x, row = y0 + cell / T::cells_x;
    const int left = strip % strips_x * T::lanes, top = strip / strips_x * (stack * T::rows);
    const int strip_x = column * geometry.width + left, y = row * geometry.height + top;
    if (strip_x >= grid.size.width || y >= grid.size.height) continue;
    const int x = strip_x + lane % T::lanes;
    const int end = min(geometry.height - top, grid.size.height - y);
    const int width = min(geometry.width - left, grid.size.width - strip_x);
    visit(Strip<T>{cell, column, row, left, top, x, y, end, lane % T::lanes < width,
                   width >= T::lanes && end >= T::rows});
  }
}

// Colours of pixels kStep rows apart, the first `first` rows into the strip; also those below the
// cell and, never to be used, below the picture.
template <int kStep, class T, int kCount>
__device__ void read_strip(const Image<uint32_t>& colors, const Strip<T>& strip, int first,
                           uint32_t (&color)[kCount]) {
  static_assert((kCount - 1) * kStep < T::rows + kStep);
  const auto pitch = static_cast<uint32_t>(colors.pitch);
  const auto* const from = reinterpret_cast<const std::byte*>(colors.row(strip.y) + strip.x) +
                           static_cast<uint64_t>(pitch) * static_cast<uint32_t>(first);
  const uint32_t step = kStep * pitch;
#pragma unroll
  for (uint32_t i = 0; i < kCount; ++i) {
    color[i] = *reinterpret_cast<const uint32_t*>(from + static_cast<uint64_t>(step) * i);
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
