// One step of tracking. Seeing and finishing are a thread's work for each region; in between one
// block decides: some thousand tracks are too few to be worth the barriers of a grid.
#include <algorithm>

#include "core/tracking_step.hpp"
#include "gpu/tracking/phases.hpp"

namespace regions {
namespace {

struct StepBlock {
  static constexpr unsigned threads = 1024;
};

// Small, so that a thousand regions are spread over many multiprocessors: records lie 80 bytes
// apart, and how many lines one of those can ask for is the limit.
struct SpreadBlock {
  static constexpr unsigned threads = 64;
  static constexpr unsigned most_blocks = 264;
};

// The threads of a grid, which do not meet.
struct GridTeam {
  template <class F>
  __device__ void for_each(uint32_t count, F f) const {
    const uint32_t step = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) f(i);
  }
};

// The threads of a block. Its atomics are on global memory and give maxima, minima and sums, which
// no order changes.
class BlockTeam {
 public:
  template <class F>
  __device__ void for_each(uint32_t count, F f) const {
    for (uint32_t i = threadIdx.x; i < count; i += StepBlock::threads) f(i);
    __syncthreads();  // what the phase wrote is read by the next one
  }
  // A warp has a row at a time.
  template <class IsActive, class F>
  __device__ void for_each_pair(uint32_t rows, uint32_t columns, IsActive is_active, F f) const {
    for (uint32_t row = threadIdx.x / 32; row < rows; row += StepBlock::threads / 32) {
      if (!is_active(row)) continue;
      for (uint32_t column = threadIdx.x % 32; column < columns; column += 32) f(row, column);
    }
    __syncthreads();  // likewise
  }
  template <class F>
  __device__ void once(F f) const {
    if (threadIdx.x == 0) f();
    __syncthreads();  // likewise
  }
  template <class Wanted, class Take>
  __device__ uint32_t compact(uint32_t count, Wanted wanted, Take take) const {
    __shared__ uint32_t warp_counts[StepBlock::threads / 32];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t before = 0;
    for (uint32_t start = 0; start < count; start += StepBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      const bool is_wanted = i < count && wanted(i);
      const uint32_t votes = __ballot_sync(0xffffffffu, is_wanted);
      if (lane == 0) warp_counts[warp] = static_cast<uint32_t>(__popc(votes));
      __syncthreads();  // counts are complete, wanted() has been asked
      uint32_t rank = before + static_cast<uint32_t>(__popc(votes & ((1u << lane) - 1)));
      for (uint32_t w = 0; w < StepBlock::threads / 32; ++w) {
        if (w < warp) rank += warp_counts[w];
        before += warp_counts[w];
      }
      if (is_wanted) take(i, rank);
      __syncthreads();  // counts may be overwritten, what was taken is read
    }
    return before;
  }
  __device__ static void raise(uint64_t* at, uint64_t value) {
    atomicMax(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
  }
  __device__ static void lower(uint64_t* at, uint64_t value) {
    atomicMin(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
  }
  __device__ static void add(uint32_t* at, uint32_t more) { atomicAdd(at, more); }
};

// The records of a frame that are tracked.
struct Seen {
  Region* regions;
  const uint32_t* total;
  uint32_t capacity;
  __device__ uint32_t count() const { return min(*total, capacity); }
};

__global__ void see_kernel(TrackMemory memory, TrackRules rules, Seen seen) {
  const GridTeam team;
  TrackStep(team, memory, rules, seen.regions, seen.count(), *memory.counts).see();
}

__global__ __launch_bounds__(StepBlock::threads) void match_kernel(TrackMemory memory,
                                                                   TrackRules rules, Seen seen,
                                                                   TrackReport* report) {
  const BlockTeam team;
  TrackStep(team, memory, rules, seen.regions, seen.count(), *memory.counts).match(report);
}

__global__ void finish_kernel(TrackMemory memory, TrackRules rules, Seen seen) {
  const GridTeam team;
  TrackStep(team, memory, rules, seen.regions, seen.count(), *memory.counts_before).finish();
}

}  // namespace

void step_tracks(const TrackMemory& memory, const TrackRules& rules, Region* regions,
                 const uint32_t* count, uint32_t capacity, TrackReport* report,
                 cudaStream_t stream) {
  const Seen seen{regions, count, capacity};
  const unsigned blocks =
      std::min(blocks_for(2 * size_t{capacity}, SpreadBlock::threads), SpreadBlock::most_blocks);
  launch(see_kernel, blocks, SpreadBlock::threads, 0, stream, memory, rules, seen);
  launch(match_kernel, 1, StepBlock::threads, 0, stream, memory, rules, seen, report);
  launch(finish_kernel, blocks, SpreadBlock::threads, 0, stream, memory, rules, seen);
}

}  // namespace regions
