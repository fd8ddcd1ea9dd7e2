// One pass over the pixels an iteration: a block makes candidates from its clusters' sums, each
// lane finds the best of nine for its pixels and adds them to counters of its own, and what a warp
// has counted goes to the block's and the picture's sums by integer atomics, whose order does not
// matter. Of cells up to 16 pixels wide, see iterate_narrow.cu.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/block_sums.hpp"

namespace regions::slic {
namespace {

// A lane's sums for one place: components 0 and 2; component 1, the rows in the strip and, above
// them, the count. Of `pixels` pixels at most in `strips` strips below each other.
template <int pixels, int strips>
struct alignas(8) Counter {  // read and written as one
  static_assert(pixels <= 32 && strips <= 2);
  // So few that a warp's sums, of 256 pixels in 16 rows, fit where a lane's do: components are
  // below 2^16, rows below 2^12. The counts' sum runs over.
  static constexpr bool kFew = pixels <= 8 && strips == 1;
  static constexpr int kCount = kFew ? 28 : 25;  // the count's lowest bit
  uint32_t even, odd;

  __device__ void add(uint32_t color, int row) {
    const uint32_t second_row = __byte_perm(color, 0, 0x4341);  // bytes 1 and 3
    *this = Counter{even + (color & 0x00ff00ffu),
                    odd + second_row + (1u << kCount) + (static_cast<uint32_t>(row) << 16)};
  }
  __device__ uint32_t count() const { return odd >> kCount; }
  __device__ uint32_t rest() const { return odd & ((1u << kCount) - 1); }
};

// A warp's sums for one place, as few numbers as hold them. `column` is the lane's, as a factor:
// 1 + (column << 16).
template <class Counter>
struct WarpSums {
  static constexpr int kSplit = 18;  // 1024 of 255 are below 2^18, of columns below 2^14
  uint32_t counts = 0;               // pixels, and the sum of their columns << 16
  uint32_t even = 0, odd = 0, third = 0;

  WarpSums() = default;
  __device__ WarpSums(const Counter& counter, uint32_t column) {
    counts = warp_sum(counter.count() * column);
    if constexpr (Counter::kFew) {
      even = warp_sum(counter.even);
      odd = warp_sum(counter.odd);
    } else {
      even = warp_sum(counter.even & 0xffff);
      third = warp_sum(counter.even >> 16);
      odd = warp_sum((counter.rest() & 0xffff) | counter.rest() >> 16 << kSplit);
    }
  }
  __device__ ClusterSums sums() const {
    constexpr bool kFew = Counter::kFew;
    ClusterSums sums;
    sums.color[0] = kFew ? even & 0xffff : even;
    sums.color[1] = kFew ? odd & 0xffff : odd & ((1u << kSplit) - 1);
    sums.color[2] = kFew ? even >> 16 : third;
    sums.x = counts >> 16;
    sums.y = kFew ? odd >> 16 & 0xfff : odd >> kSplit;
    sums.count = counts & 0xffff;
    return sums;
  }
};

// Adds what a warp's lanes have counted of the strips below `top` of a cell to the block's sums.
template <class T, class LaneCounter>
__device__ void give_sums(const LaneCounter (*counter)[32], const Strip<T>& strip, int top,
                          const Geometry<T>& geometry, BlockSums<T>& block) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Each lane reads its own counters only; the warp's sums end in the lane of their place.
  WarpSums<LaneCounter> packed;
  const uint32_t column = 1 + (static_cast<uint32_t>(lane % T::lanes) << 16);
#pragma unroll
  for (int place = 0; place < kCandidates; ++place) {
    const WarpSums<LaneCounter> sums(counter[place][lane], column);
    if (lane == place) packed = sums;
  }
  const ClusterSums mine = packed.sums();
  if (lane < kCandidates && mine.count > 0) {
    uint32_t* const to = block.of(strip.cell) + (lane / 3 * T::halo_x + lane % 3) * kSumWords;
    const auto reach_x = static_cast<uint32_t>(strip.left + (2 - lane % 3) * geometry.width);
    const auto reach_y = static_cast<uint32_t>(top + (2 - lane / 3) * geometry.height);
    for (int c = 0; c < 3; ++c) atomicAdd(to + c, mine.color[c]);
    atomicAdd(to + 3, mine.x + mine.count * reach_x);
    atomicAdd(to + 4, mine.y + mine.count * reach_y);
    atomicAdd(to + 5, mine.count);
  }
}

template <class T, int kStep>
__global__ __launch_bounds__(T::threads, T::blocks) void iterate_kernel(Clusters clusters,
                                                                        Turn turn, int phase) {
  constexpr int kRowStep = T::rows_at_once * kStep;
  constexpr int kPixels = (T::rows + kRowStep - 1) / kRowStep;
  using LaneCounter = Counter<kPixels * T::stack, T::stack>;
  __shared__ Candidates<T> s;
  __shared__ BlockSums<T> block;
  __shared__ LaneCounter counters[T::warps][kCandidates + 1][32];
  block.clear();
  await_last();
  if (clusters.executed(turn.iteration) < turn.iteration) return;  // all threads alike

  const SlicGrid& grid = clusters.grid;
  const Geometry<T> geometry(grid);
  const int x0 = static_cast<int>(blockIdx.x) * T::cells_x;
  const int y0 = static_cast<int>(blockIdx.y) * T::cells_y;
  const int lane = static_cast<int>(threadIdx.x % 32);
  LaneCounter(*const counter)[32] = counters[threadIdx.x / 32];

  clear_sums<T>(grid, x0, y0, turn.clear);
  make_candidates(clusters, turn.from, x0, y0, s);

  for_each_strip<T, T::stack>(grid, x0, y0, [&](Strip<T> strip) {
    const int first = phase + lane / T::lanes * kStep;  // strips are as high as patches
    const int top = strip.top;
#pragma unroll
    for (int place = 0; place < kCandidates; ++place) counter[place][lane] = {0, 0};
#pragma unroll 1
    for (int k = 0; k < T::stack; ++k) {  // unrolled, it would take too many registers
      uint32_t color[kPixels];
      int best[kPixels];
      read_strip<kRowStep>(clusters.colors, strip, first, color);
      choose(s, strip, color, best);
      if (strip.whole && T::rows % kRowStep == 0) {
#pragma unroll
        for (int i = 0; i < kPixels; ++i) counter[best[i] & 15][lane].add(color[i], k * T::rows);
      } else {
#pragma unroll
        for (int i = 0; i < kPixels; ++i) {
          const bool takes_part =
              strip.inside && first + i * kRowStep < strip.end && first + i * kRowStep < T::rows;
          counter[takes_part ? best[i] & 15 : kNoCandidate][lane].add(color[i], k * T::rows);
        }
      }
      strip.move_down();
      if (strip.end <= 0) break;
    }
    give_sums(counter, strip, top, geometry, block);
    __syncwarp();
  });
  __syncthreads();  // the block's sums are complete
  block.give(grid, x0, y0, turn.to);
}

// Between iterations, if they may end early.
__global__ __launch_bounds__(PixelBlock::threads) void movement_kernel(Clusters clusters,
                                                                       int iteration) {
  await_last();
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

}  // namespace

void iterate(const Clusters& clusters, int iteration, RowChoice rows, cudaStream_t stream) {
  if (clusters.reach[0]) {
    iterate_adaptive(clusters, iteration, rows, stream);
  } else {
    with_shape(clusters.grid, [&]<class T>(T) {
      if constexpr (T::lanes == 32) {
        with_step(rows, [&]<int step>() {
          launch_chained(iterate_kernel<T, step>, blocks_of<T>(clusters.grid), T::threads, 0,
                         stream, clusters, Turn(clusters, iteration), rows.phase);
        });
      } else {
        iterate_narrow(clusters, iteration, rows, stream);
      }
    });
  }
  if (!clusters.moved) return;
  launch_chained(movement_kernel, blocks_for(clusters.grid.cells(), PixelBlock::threads),
                 PixelBlock::threads, 0, stream, clusters, iteration);
}

}  // namespace regions::slic
