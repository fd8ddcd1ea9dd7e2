// One step of tracking. Seeing and finishing are a thread's work for each region or pair; in
// between one block decides: some thousand tracks are too few to be worth the barriers of a grid.
// That block runs through its code once a frame, so what counts most is how much code has to be
// fetched: loops are not unrolled, and what is needed twice is called. The three kernels are a
// chain.
#include <algorithm>

#include "core/tracking/step.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/chain.hpp"
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

__device__ void raise_to(uint64_t* at, uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
}

// The threads of a grid, which do not meet.
struct GridTeam {
  template <class F>
  __device__ void for_each(uint32_t count, F f) const {
    const uint32_t step = gridDim.x * blockDim.x;
#pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) f(i);
  }
  __device__ static void raise(uint64_t* at, uint64_t value) { raise_to(at, value); }
};

// The threads of a block. Its atomics are on global memory and give maxima, minima and sums, which
// no order changes.
class BlockTeam {
 public:
  template <class F>
  __device__ void for_each(uint32_t count, F f) const {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += StepBlock::threads) f(i);
    __syncthreads();  // what the phase wrote is read by the next one
  }
  // A warp has a row at a time.
  template <class IsActive, class F>
  __device__ void for_each_pair(uint32_t rows, uint32_t columns, IsActive is_active, F f) const {
#pragma unroll 1
    for (uint32_t row = threadIdx.x / 32; row < rows; row += StepBlock::threads / 32) {
      if (!is_active(row)) continue;
#pragma unroll 1
      for (uint32_t column = threadIdx.x % 32; column < columns; column += 32) f(row, column);
    }
    __syncthreads();  // likewise
  }
  template <class F>
  __device__ void once(F f) const {
    if (threadIdx.x == 0) f();
    __syncthreads();  // likewise
  }
  template <class F>
  __device__ uint32_t count(uint32_t count, F f) const {
    int found = 0;
#pragma unroll 1
    for (uint32_t start = 0; start < count; start += StepBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      found += __syncthreads_count(i < count && f(i));  // likewise
    }
    return static_cast<uint32_t>(found);
  }
  template <class Wanted, class Take>
  __device__ uint32_t compact(uint32_t count, Wanted wanted, Take take) const {
    uint32_t before = 0;
#pragma unroll 1
    for (uint32_t start = 0; start < count; start += StepBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      const bool is_wanted = i < count && wanted(i);
      const Place place = place_of(is_wanted, false);
      if (is_wanted) take(i, before + place.rank);
      before += place.count;
      __syncthreads();  // what was taken is read, counts may be overwritten
    }
    return before;
  }
  template <class Wanted, class Take, class AlsoWanted, class AlsoTake>
  __device__ Two compact_two(uint32_t count, Wanted wanted, Take take, AlsoWanted also_wanted,
                             AlsoTake also_take) const {
    Two before;
#pragma unroll 1
    for (uint32_t start = 0; start < count; start += StepBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      const bool is_first = i < count && wanted(i), is_second = i < count && also_wanted(i);
      const Place place = place_of(is_first, is_second);
      if (is_first) take(i, before.first + place.rank % kOne);
      if (is_second) also_take(i, before.second + place.rank / kOne);
      before.first += place.count % kOne;
      before.second += place.count / kOne;
      __syncthreads();  // likewise
    }
    return before;
  }
  __device__ static void raise(uint64_t* at, uint64_t value) { raise_to(at, value); }
  __device__ static void lower(uint64_t* at, uint64_t value) {
    atomicMin(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(value));
  }
  __device__ static void add(uint32_t* at, uint32_t more) { atomicAdd(at, more); }

 private:
  // Of the wanted: those of lower threads, and all; of a second list, times kOne.
  struct Place {
    uint32_t rank, count;
  };
  static constexpr uint32_t kOne = 1 << 16;
  __device__ static uint32_t counts_in(uint32_t votes, uint32_t also_votes) {
    return static_cast<uint32_t>(__popc(votes)) + kOne * static_cast<uint32_t>(__popc(also_votes));
  }
  __device__ __noinline__ static Place place_of(bool is_wanted, bool is_also_wanted) {
    constexpr uint32_t kWarps = StepBlock::threads / 32;
    static_assert(kWarps == 32, "a warp's lanes add up the warps");
    __shared__ uint32_t warp_counts[kWarps];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t votes = __ballot_sync(kAllLanes, is_wanted);
    const uint32_t also_votes = __ballot_sync(kAllLanes, is_also_wanted);
    if (lane == 0) warp_counts[warp] = counts_in(votes, also_votes);
    __syncthreads();  // counts are complete, wanted() has been asked
    uint32_t sum = warp_counts[lane];
#pragma unroll 1
    for (uint32_t step = 1; step < kWarps; step *= 2) {
      const uint32_t left = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += left;
    }
    const uint32_t count = __shfl_sync(kAllLanes, sum, kWarps - 1);
    const uint32_t before = __shfl_sync(kAllLanes, sum, warp == 0 ? 0 : warp - 1);
    const uint32_t lower = (1u << lane) - 1;
    return {(warp == 0 ? 0 : before) + counts_in(votes & lower, also_votes & lower), count};
  }
};

__device__ uint32_t count_of(const TrackedRecords& records) {
  return min(*records.total, records.capacity);
}

__global__ void see_kernel(TrackMemory memory, TrackRules rules, TrackedRecords records) {
  await_last();
  const GridTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts).see();
}

__global__ __launch_bounds__(StepBlock::threads) void match_kernel(TrackMemory memory,
                                                                   TrackRules rules,
                                                                   TrackedRecords records) {
  await_last();
  const BlockTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts).match();
}

__global__ void finish_kernel(TrackMemory memory, TrackRules rules, TrackedRecords records,
                              RegionTable published, TrackReport* report) {
  await_last();
  const GridTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts_before)
      .finish(published, report);
}

// Enough for visible and lost tracks.
unsigned blocks_of(const TrackedRecords& records) {
  return std::min(blocks_for(2 * size_t{records.capacity}, SpreadBlock::threads),
                  SpreadBlock::most_blocks);
}

}  // namespace

void see_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                cudaStream_t stream) {
  launch_chained(see_kernel, blocks_of(records), SpreadBlock::threads, 0, stream, memory, rules,
                 records);
}

void match_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                  cudaStream_t stream) {
  launch_chained(match_kernel, 1, StepBlock::threads, 0, stream, memory, rules, records);
}

void finish_tracks(const TrackMemory& memory, const TrackRules& rules,
                   const TrackedRecords& records, const RegionTable& published, TrackReport* report,
                   cudaStream_t stream) {
  launch_chained(finish_kernel, blocks_of(records), SpreadBlock::threads, 0, stream, memory, rules,
                 records, published, report);
}

}  // namespace regions
