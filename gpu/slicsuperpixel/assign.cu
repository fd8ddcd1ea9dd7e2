// The iterations of SLIC on the GPU, which assign pixels and update clusters in one pass over the
// pixels, and the final assignment.
//
// A block computes candidates from the sums of its clusters. Each lane finds the best of nine
// candidates for its pixels and adds the pixels to its own counters. The counters of a warp's lanes
// are added up and added to the sums of the block. At the end, the sums of the block are added to
// the sums of the picture. The atomics add integers, so their order does not matter. The file
// assign_narrow.cu does the same for cells up to 16 pixels wide and 32 pixels high.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/assign.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kMovementThreads = 256;

// The sums over those pixels of one lane that chose one candidate: at most `pixels` pixels in
// `strips` strips. `even` contains the sums of colour components 0 and 2. `odd` contains the sum of
// component 1, the sum of the row numbers in the strip, and the number of pixels (highest bits).
template <int pixels, int strips>
struct alignas(8) Counter {  // aligned, so that it is loaded and stored by one instruction
  static_assert(pixels <= 32 && strips <= 2);
  // With at most 8 pixels per lane, the sums of a whole warp (256 pixels in 16 rows) fit in the
  // bit fields of a Counter: sums of components are below 2^16, and sums of rows are below 2^12.
  // Only the number of pixels does not fit.
  static constexpr bool kHasFewPixels = pixels <= 8 && strips == 1;
  static constexpr int kCountShift = kHasFewPixels ? 28 : 25;  // lowest bit of the number of pixels
  uint32_t even, odd;

  __device__ void add(uint32_t color, int row) {
    const uint32_t second_row = __byte_perm(color, 0, 0x4341);  // component 1 | row << 16
    *this = Counter{even + (color & 0x00ff00ffu),
                    odd + second_row + (1u << kCountShift) + (static_cast<uint32_t>(row) << 16)};
  }
  __device__ uint32_t count() const { return odd >> kCountShift; }
  __device__ uint32_t below_count() const { return odd & ((1u << kCountShift) - 1); }
};

// The sums over those pixels of one warp that chose one candidate, in as few words as possible. The
// constructor's parameter `column` is 1 + (the lane's column << 16). Multiplied by a lane's number
// of pixels, it gives this number in the lower half and the sum of the pixels' columns in the upper
// half.
template <class Counter>
struct WarpSums {
  static constexpr int kRowShift = 18;  // the sum of 1024 values of at most 255 is below 2^18
  uint32_t counts = 0;                  // number of pixels | sum of their columns << 16
  uint32_t even = 0, odd = 0, third = 0;

  WarpSums() = default;
  __device__ WarpSums(const Counter& counter, uint32_t column) {
    counts = warp_sum(counter.count() * column);
    if constexpr (Counter::kHasFewPixels) {
      even = warp_sum(counter.even);
      odd = warp_sum(counter.odd);
    } else {
      even = warp_sum(counter.even & 0xffff);
      third = warp_sum(counter.even >> 16);
      odd = warp_sum((counter.below_count() & 0xffff) | counter.below_count() >> 16 << kRowShift);
    }
  }
  __device__ ClusterSums sums() const {
    constexpr bool kHasFewPixels = Counter::kHasFewPixels;
    ClusterSums sums;
    sums.color[0] = kHasFewPixels ? even & 0xffff : even;
    sums.color[1] = kHasFewPixels ? odd & 0xffff : odd & ((1u << kRowShift) - 1);
    sums.color[2] = kHasFewPixels ? even >> 16 : third;
    sums.x = counts >> 16;
    sums.y = kHasFewPixels ? odd >> 16 & 0xfff : odd >> kRowShift;
    sums.count = counts & 0xffff;
    return sums;
  }
};

// Adds the counters of all lanes of a warp to the block's sums. The counted pixels are in a stack
// of strips whose first strip starts at row `top` of the cell.
template <class Shape, class LaneCounter>
__device__ void add_to_block(const LaneCounter (*counter)[32], const Strip<Shape>& strip, int top,
                             const Geometry<Shape>& geometry, BlockSums<Shape>& block) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Each lane reads only its own counters. Afterwards lane c has the warp's sums for candidate c.
  WarpSums<LaneCounter> packed;
  const uint32_t column = 1 + (static_cast<uint32_t>(lane % Shape::lanes) << 16);
#pragma unroll
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    const WarpSums<LaneCounter> sums(counter[candidate][lane], column);
    if (lane == candidate) packed = sums;
  }
  const ClusterSums lane_sums = packed.sums();
  if (lane < kCandidates && lane_sums.count > 0) {
    uint32_t* const to =
        block.of_cell(strip.cell) + (lane / 3 * Shape::halo_x + lane % 3) * kSumWords;
    const auto window_x = static_cast<uint32_t>(strip.left + (2 - lane % 3) * geometry.width);
    const auto window_y = static_cast<uint32_t>(top + (2 - lane / 3) * geometry.height);
    for (int c = 0; c < 3; ++c) atomicAdd(to + c, lane_sums.color[c]);
    atomicAdd(to + 3, lane_sums.x + lane_sums.count * window_x);
    atomicAdd(to + 4, lane_sums.y + lane_sums.count * window_y);
    atomicAdd(to + 5, lane_sums.count);
  }
}

template <class Shape, int kStep>
__global__ __launch_bounds__(Shape::threads, Shape::blocks) void iterate_kernel(Clusters clusters,
                                                                                IterationSums sums,
                                                                                int phase) {
  constexpr int kRowStep = Shape::rows_at_once * kStep;
  constexpr int kPixels = (Shape::rows + kRowStep - 1) / kRowStep;
  using LaneCounter = Counter<kPixels * Shape::stack, Shape::stack>;
  __shared__ Candidates<Shape> candidates;
  __shared__ BlockSums<Shape> block;
  __shared__ LaneCounter counters[Shape::warps][kCandidates + 1][32];
  block.clear();
  pdl_trigger_and_wait();
  // All threads of the grid take the same branch.
  if (clusters.executed_iterations(sums.iteration) < sums.iteration) return;

  const SlicGrid& grid = clusters.grid;
  const Geometry<Shape> geometry(grid);
  const int first_cell_column = static_cast<int>(blockIdx.x) * Shape::cells_x;
  const int first_cell_row = static_cast<int>(blockIdx.y) * Shape::cells_y;
  const int lane = static_cast<int>(threadIdx.x % 32);
  LaneCounter(*const counter)[32] = counters[threadIdx.x / 32];

  clear_sums<Shape>(grid, first_cell_column, first_cell_row, sums.clear);
  make_candidates(clusters, sums.from, first_cell_column, first_cell_row, candidates);

  for_each_strip<Shape, Shape::stack>(
      grid, first_cell_column, first_cell_row, [&](Strip<Shape> strip) {
        // The first row of the strip that this lane uses. A strip is as high as a patch, so `phase`
        // is the same in all strips.
        const int first = phase + lane / Shape::lanes * kStep;
        const int top = strip.top;
#pragma unroll
        for (int candidate = 0; candidate < kCandidates; ++candidate)
          counter[candidate][lane] = {0, 0};
#pragma unroll 1
        for (int k = 0; k < Shape::stack; ++k) {
          // This loop is not unrolled, because it would then require too many registers.
          uint32_t color[kPixels];
          int best[kPixels];
          read_strip<kRowStep>(clusters.colors, strip, first, color);
          choose(candidates, strip, color, best);
          if (strip.whole && Shape::rows % kRowStep == 0) {
#pragma unroll
            for (int i = 0; i < kPixels; ++i)
              counter[best[i] & 15][lane].add(color[i], k * Shape::rows);
          } else {
#pragma unroll
            for (int i = 0; i < kPixels; ++i) {
              const bool takes_part = strip.inside && first + i * kRowStep < strip.end &&
                                      first + i * kRowStep < Shape::rows;
              counter[takes_part ? best[i] & 15 : kNoCandidate][lane].add(color[i],
                                                                          k * Shape::rows);
            }
          }
          strip.move_down();
          if (strip.end <= 0) break;
        }
        add_to_block(counter, strip, top, geometry, block);
        __syncwarp();  // all lanes have read their counters
      });
  __syncthreads();  // the block's sums are complete
  block.add_to(grid, first_cell_column, first_cell_row, sums.to);
}

// Adds up the movements of all centres in an iteration. Runs only if iterations may end early.
__global__ __launch_bounds__(kMovementThreads) void movement_kernel(Clusters clusters,
                                                                    int iteration) {
  pdl_trigger_and_wait();
  if (clusters.executed_iterations(iteration) < iteration) return;
  const SlicGrid& grid = clusters.grid;
  const size_t cluster = static_cast<size_t>(blockIdx.x) * kMovementThreads + threadIdx.x;
  uint32_t movement_sums = 0;
  if (cluster < grid.cells()) {
    movement_sums = static_cast<uint32_t>(
        movement(center_of(clusters.sums[iteration % 3][cluster], grid, clusters.scale),
                 center_of(clusters.sums[(iteration + 1) % 3][cluster], grid, clusters.scale)));
  }
  movement_sums = warp_sum(movement_sums);
  if (threadIdx.x % 32 == 0 && movement_sums > 0) {
    atomicAdd(clusters.movement_sums + iteration, static_cast<unsigned long long>(movement_sums));
  }
}

// Performs the final assignment: writes the cluster code of each pixel.
template <class Shape>
__global__ __launch_bounds__(Shape::threads, Shape::blocks) void codes_kernel(Clusters clusters,
                                                                              int iterations,
                                                                              Image<uint8_t> codes,
                                                                              MergeCounts* counts) {
  pdl_trigger_and_wait();
  __shared__ Candidates<Shape> candidates;
  constexpr int kPixels = Shape::rows / Shape::rows_at_once;
  const SlicGrid& grid = clusters.grid;
  const int first_cell_column = static_cast<int>(blockIdx.x) * Shape::cells_x;
  const int first_cell_row = static_cast<int>(blockIdx.y) * Shape::cells_y;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *counts = {};
  make_candidates(clusters, clusters.sums[clusters.executed_iterations(iterations) % 3],
                  first_cell_column, first_cell_row, candidates);
  const auto write = [&]<int count>(const Strip<Shape>& strip) {
    const int first = static_cast<int>(threadIdx.x % 32) / Shape::lanes;
    uint32_t color[count];
    int best[count];
    read_strip<Shape::rows_at_once>(clusters.colors, strip, first, color);
    choose(candidates, strip, color, best);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int y = first + i * Shape::rows_at_once;
      if (!strip.inside || y >= strip.end) continue;
      const int candidate = best[i] & 15;
      codes(strip.x, strip.y + y) =
          cluster_code(strip.column + candidate % 3 - 1, strip.row + candidate / 3 - 1);
    }
  };
  for_each_strip<Shape>(grid, first_cell_column, first_cell_row, [&](const Strip<Shape>& strip) {
    // In a cell that is slightly higher than a strip, the last strip has few rows.
    if (Shape::side == 0 && strip.end <= Shape::rows_at_once) {
      write.template operator()<1>(strip);
    } else {
      write.template operator()<kPixels>(strip);
    }
  });
}

}  // namespace

void iterate(const Clusters& clusters, int iteration, RowSubset rows, cudaStream_t stream) {
  if (clusters.max_distance[0]) {
    iterate_slico(clusters, iteration, rows, stream);
  } else {
    with_shape(clusters.grid, [&]<class Shape>(Shape) {
      if constexpr (Shape::lanes == 32) {
        with_row_step(rows, [&]<int step>() {
          launch_pdl(iterate_kernel<Shape, step>, blocks_of<Shape>(clusters.grid), Shape::threads,
                     0, stream, clusters, IterationSums(clusters, iteration), rows.phase);
        });
      } else {
        iterate_narrow(clusters, iteration, rows, stream);
      }
    });
  }
  if (!clusters.movement_sums) return;
  launch_pdl(movement_kernel, blocks_for(clusters.grid.cells(), kMovementThreads), kMovementThreads,
             0, stream, clusters, iteration);
}

void write_cluster_codes(const Clusters& clusters, int iterations, Image<uint8_t> codes,
                         MergeCounts* counts, cudaStream_t stream) {
  if (clusters.max_distance[0]) {
    return write_slico_codes(clusters, iterations, codes, counts, stream);
  }
  with_shape(clusters.grid, [&]<class Shape>(Shape) {
    launch_pdl(codes_kernel<Shape>, blocks_of<Shape>(clusters.grid), Shape::threads, 0, stream,
               clusters, iterations, codes, counts);
  });
}

}  // namespace regions::slicsuperpixel
