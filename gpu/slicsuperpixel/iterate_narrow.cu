// One pass over the pixels of cells up to 16 pixels wide: as in iterate.cu, but a warp has two
// cells side by side, each lane a column of one, and tensor cores sum what the lanes have counted.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/half_warp_sums.hpp"

namespace regions::slic {
namespace {

// A warp's strip, of two cells side by side: each half has one, each lane a column. False if it is
// outside the picture.
template <class T>
__device__ bool find_strip(const SlicGrid& grid, int x0, int y0, Strip<T>& strip) {
  static_assert(T::lanes == 16 && T::cells == 2 * T::warps && T::cells_x % 2 == 0);
  const Geometry<T> geometry(grid);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int first = static_cast<int>(threadIdx.x / 32) * 2;
  const int left_column = x0 + first % T::cells_x, row = y0 + first / T::cells_x;
  const int left = left_column * geometry.width, y = row * geometry.height;
  const int column = left_column + lane / 16, x = column * geometry.width;
  const int end = min(geometry.height, grid.size.height - y);
  strip = {first + lane / 16,
           column,
           row,
           0,
           0,
           x + lane % 16,
           y,
           end,
           lane % 16 < min(geometry.width, grid.size.width - x),
           geometry.width == 16 && left + 32 <= grid.size.width && end >= T::rows};
  return left < grid.size.width && end > 0;
}

// Adds the pixels of a strip, whose colours are `color`, to the sums of the candidates that they
// choose. The whole warp calls it.
template <class T, int kStep, int kParts, int kPixels>
__device__ void sum_strip(const Candidates<T>& s, const Strip<T>& strip,
                          const uint32_t (&color)[kParts][kPixels], int phase,
                          const Geometry<T>& geometry, const SumPlan<T>& plan, const SumLane& own,
                          WarpCounters& counters, BlockSums<T>& block) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const LaneCounters own_counters(counters, lane);
  // Of the half warp, and so of the cell, that this lane has a share of.
  uint32_t* const sums = block.of((strip.cell & ~1) | own.half);
  const int side = own.share == 0 ? geometry.height : geometry.width;
  const auto give = [&](int i, const Share& share) {
    atomicAdd(sums + plan.color[i][lane], share.color);
    atomicAdd(sums + plan.rest[i][lane], share.rest);
  };
  const int above = own.share == 0 ? strip.top : 0;
  const auto reach = [&](int i) { return plan.sides[i][lane] * side + above; };
  HalfWarpSums all;
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
    const int first = phase + part * kPixels * kStep;
    int best[kPixels];
    choose(s, strip, color[part], best);
    if (!strip.whole || T::rows % kStep != 0) {
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        const int row = first + i * kStep;
        if (!strip.inside || row >= strip.end || row >= T::rows) best[i] = kNoCandidate;
      }
    }
    if (part > 0) {
      __syncwarp();  // all lanes have read
      counters.clear(lane);
      __syncwarp();  // and cleared
    }
#pragma unroll
    for (int i = 0; i < kPixels; ++i) own_counters.add(best[i], color[part][i]);
    __syncwarp();  // all lanes have counted
    const Factors factors = plan.factors[lane];
    all.add(counters, own, factors);
    const LastSums last(counters, own);
    if (__any_sync(kAllLanes, last.counter.odd != 0)) {
      const int columns = own.share == 1 ? own.candidate : 0;
      const Share share = last.share(own, factors, reach(2) + columns);
      if (own.share < 3) give(2, share);
    }
  }
  if (own.share < 3) {
#pragma unroll
    for (int i = 0; i < 2; ++i) give(i, all.share(own, i, reach(i)));
  }
}

template <class T, int kStep>
__global__ __launch_bounds__(T::threads, T::blocks) void iterate_kernel(Clusters clusters,
                                                                        Turn turn, int phase) {
  constexpr int kRows = (T::rows + kStep - 1) / kStep;  // of a strip
  constexpr int kParts = (kRows + kCountedAtOnce - 1) / kCountedAtOnce;
  constexpr int kPixels = kRows / kParts;  // of a lane at a time
  static_assert(kPixels * kParts == kRows);
  __shared__ Candidates<T> s;
  __shared__ BlockSums<T> block;
  __shared__ WarpCounters warp_counters[T::warps];
  __shared__ SumPlan<T> plan;
  plan.copy(kSumPlan<T>);
  block.clear();
  const int lane = static_cast<int>(threadIdx.x % 32);
  warp_counters[threadIdx.x / 32].clear(lane);

  const SlicGrid& grid = clusters.grid;
  const Geometry<T> geometry(grid);
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  const SumLane own(lane);
  Strip<T> strip;
  const bool there = find_strip(grid, x0, y0, strip);
  uint32_t color[kParts][kPixels];
  const auto read = [&] {
#pragma unroll
    for (int part = 0; part < kParts; ++part) {  // strips are as high as patches
      read_strip<kStep>(clusters.colors, strip, phase + part * kPixels * kStep, color[part]);
    }
  };
  // Colours are complete: seed(), with which the chain begins, has waited for them.
  if (there) read();
  await_last();
  if (clusters.executed(turn.iteration) < turn.iteration) return;  // all threads alike

  clear_sums<T>(grid, x0, y0, turn.clear);
  make_candidates(clusters, turn.from, x0, y0, s);

  WarpCounters& counters = warp_counters[threadIdx.x / 32];
  const auto sum = [&](const auto& colors) {
    sum_strip<T, kStep>(s, strip, colors, phase, geometry, plan, own, counters, block);
  };
  if (there) sum(color);
  if constexpr (T::side == 0) {
    // Cells may be higher than a strip, mostly by a row.
    for (strip.move_down(); there && strip.end > phase; strip.move_down()) {
      __syncwarp();  // all lanes have read
      counters.clear(lane);
      __syncwarp();  // and cleared
      if (strip.end <= phase + kStep) {
        uint32_t row[1][1];
        read_strip<kStep>(clusters.colors, strip, phase, row[0]);
        sum(row);
      } else {
        read();
        sum(color);
      }
    }
  }
  __syncthreads();  // the block's sums are complete
  block.give(grid, x0, y0, turn.to);
}

}  // namespace

void iterate_narrow(const Clusters& clusters, int iteration, RowChoice rows, cudaStream_t stream) {
  with_shape(clusters.grid, [&]<class T>(T) {
    if constexpr (T::lanes == 16) {
      with_step(rows, [&]<int step>() {
        launch_chained(iterate_kernel<T, step>, blocks_of<T>(clusters.grid), T::threads, 0, stream,
                       clusters, Turn(clusters, iteration), rows.phase);
      });
    }
  });
}

}  // namespace regions::slic
