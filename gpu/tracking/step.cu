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

__device__ uint32_t count_of(const TrackedRecords& records) {
  return min(*records.total, records.capacity);
}

__global__ void see_kernel(TrackMemory memory, TrackRules rules, TrackedRecords records) {
  const GridTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts).see();
}

__global__ __launch_bounds__(StepBlock::threads) void match_kernel(TrackMemory memory,
                                                                   TrackRules rules,
                                                                   TrackedRecords records,
                                                                   TrackReport* report) {
  const BlockTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts).match(report);
}

__global__ void finish_kernel(TrackMemory memory, TrackRules rules, TrackedRecords records,
                              RegionTable published) {
  const GridTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts_before)
      .finish(published);
}

// Enough for visible and lost tracks.
unsigned blocks_of(const TrackedRecords& records) {
  return std::min(blocks_for(2 * size_t{records.capacity}, SpreadBlock::threads),
                  SpreadBlock::most_blocks);
}

}  // namespace

void match_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                  TrackReport* report, cudaStream_t stream) {
  launch(see_kernel, blocks_of(records), SpreadBlock::threads, 0, stream, memory, rules, records);
  launch(match_kernel, 1, StepBlock::threads, 0, stream, memory, rules, records, report);
}

void finish_tracks(const TrackMemory& memory, const TrackRules& rules,
                   const TrackedRecords& records, const RegionTable& published,
                   cudaStream_t stream) {
  launch(finish_kernel, blocks_of(records), SpreadBlock::threads, 0, stream, memory, rules, records,
         published);
}

}  // namespace regions
