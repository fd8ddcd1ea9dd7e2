// The kernels of one step of tracking, see core/tracking/tracking_step.hpp. In the kernels
// collect_pairs and finish, each thread processes one region or pair at a time. Between these two
// kernels, match runs in a single thread block, because a few thousand tracks do not justify the
// barriers of a whole grid. This block executes each instruction about once per frame, so its time
// depends mostly on the amount of code that is fetched. Therefore loops are not unrolled, and code
// that is needed twice is a function. The three kernels are launched as a chain (programmatic
// dependent launch).
#include <algorithm>

#include "core/tracking/tracking_step.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"
#include "gpu/tracking/tracking.hpp"

namespace regions::tracking {
namespace {

struct MatchBlock {
  static constexpr unsigned threads = 1024;
};

// The thread blocks of collect_pairs and finish. They are small, so that a thousand regions use
// many multiprocessors. The speed is limited by the number of cache lines that a multiprocessor can
// request at once, because records are 80 bytes apart.
struct RegionBlock {
  static constexpr unsigned threads = 64;
  static constexpr unsigned max_blocks = 264;
};

__device__ void atomic_max(uint64_t* address, uint64_t value) {
  atomicMax(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}

// The team of TrackStep that consists of all threads of a grid. It has no barriers.
struct GridTeam {
  template <class F>
  __device__ void for_each(uint32_t count, F f) const {
    const uint32_t step = gridDim.x * blockDim.x;
#pragma unroll 1
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) f(i);
  }
  __device__ static void raise(uint64_t* address, uint64_t value) { atomic_max(address, value); }
};

// The team of TrackStep that consists of the threads of one block. Its atomic operations change
// global memory. They compute maxima, minima and sums, so the order of threads does not matter.
class BlockTeam {
 public:
  template <class F>
  __device__ void for_each(uint32_t count, F f) const {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += MatchBlock::threads) f(i);
    __syncthreads();  // the results of f() are complete before the next phase reads them
  }
  // Each warp processes one row at a time.
  template <class IsActive, class F>
  __device__ void for_each_pair(uint32_t rows, uint32_t columns, IsActive is_active, F f) const {
#pragma unroll 1
    for (uint32_t row = threadIdx.x / 32; row < rows; row += MatchBlock::threads / 32) {
      if (!is_active(row)) continue;
#pragma unroll 1
      for (uint32_t column = threadIdx.x % 32; column < columns; column += 32) f(row, column);
    }
    __syncthreads();  // the results of f() are complete before the next phase reads them
  }
  template <class F>
  __device__ void once(F f) const {
    if (threadIdx.x == 0) f();
    __syncthreads();  // the results of f() are complete before the next phase reads them
  }
  template <class F>
  __device__ uint32_t count(uint32_t count, F f) const {
    int sum = 0;
#pragma unroll 1
    for (uint32_t start = 0; start < count; start += MatchBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      sum += __syncthreads_count(i < count && f(i));  // also the barrier before the next phase
    }
    return static_cast<uint32_t>(sum);
  }
  template <class IsSelected, class Take>
  __device__ uint32_t compact(uint32_t count, IsSelected is_selected, Take take) const {
    uint32_t before = 0;
#pragma unroll 1
    for (uint32_t start = 0; start < count; start += MatchBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      const bool is_taken = i < count && is_selected(i);
      const Ranks ranks = rank_in_block(is_taken, false);
      if (is_taken) take(i, before + ranks.rank);
      before += ranks.count;
      __syncthreads();  // the results of take() are complete, and warp_counts may be overwritten
    }
    return before;
  }
  template <class IsSelected, class Take, class IsAlsoSelected, class AlsoTake>
  __device__ TwoCounts compact_two(uint32_t count, IsSelected is_selected, Take take,
                                   IsAlsoSelected is_also_selected, AlsoTake also_take) const {
    TwoCounts before;
#pragma unroll 1
    for (uint32_t start = 0; start < count; start += MatchBlock::threads) {
      const uint32_t i = start + threadIdx.x;
      const bool is_first = i < count && is_selected(i);
      const bool is_second = i < count && is_also_selected(i);
      const Ranks ranks = rank_in_block(is_first, is_second);
      if (is_first) take(i, before.first + ranks.rank % kSecondList);
      if (is_second) also_take(i, before.second + ranks.rank / kSecondList);
      before.first += ranks.count % kSecondList;
      before.second += ranks.count / kSecondList;
      __syncthreads();  // the results of take() and also_take() are complete; warp_counts may be
                        // overwritten
    }
    return before;
  }
  __device__ static void raise(uint64_t* address, uint64_t value) { atomic_max(address, value); }
  __device__ static void lower(uint64_t* address, uint64_t value) {
    atomicMin(reinterpret_cast<unsigned long long*>(address),
              static_cast<unsigned long long>(value));
  }
  __device__ static void add(uint32_t* address, uint32_t value) { atomicAdd(address, value); }

 private:
  // `rank` is the number of selected threads with a lower index, `count` the number of all selected
  // threads. The lower 16 bits are the numbers for one list, the upper 16 bits for a second list.
  struct Ranks {
    uint32_t rank, count;
  };
  static constexpr uint32_t kSecondList = 1 << 16;
  __device__ static uint32_t packed_counts(uint32_t votes, uint32_t also_votes) {
    return static_cast<uint32_t>(__popc(votes)) +
           kSecondList * static_cast<uint32_t>(__popc(also_votes));
  }
  // Ranks the threads for which is_first is true in the first list, and the threads for which
  // is_second is true in the second list. All threads of the block must call this function.
  __device__ __noinline__ static Ranks rank_in_block(bool is_first, bool is_second) {
    constexpr uint32_t kWarps = MatchBlock::threads / 32;
    static_assert(kWarps == 32, "the lanes of one warp sum the counts of all warps");
    __shared__ uint32_t warp_counts[kWarps];
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const uint32_t votes = __ballot_sync(kAllLanes, is_first);
    const uint32_t also_votes = __ballot_sync(kAllLanes, is_second);
    if (lane == 0) warp_counts[warp] = packed_counts(votes, also_votes);
    __syncthreads();  // warp_counts is complete, and all threads have evaluated is_selected()
    uint32_t sum = warp_counts[lane];
#pragma unroll 1
    for (uint32_t step = 1; step < kWarps; step *= 2) {
      const uint32_t left = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += left;
    }
    const uint32_t count = __shfl_sync(kAllLanes, sum, kWarps - 1);
    const uint32_t before = __shfl_sync(kAllLanes, sum, warp == 0 ? 0 : warp - 1);
    const uint32_t lower_lanes = (1u << lane) - 1;
    return {(warp == 0 ? 0 : before) + packed_counts(votes & lower_lanes, also_votes & lower_lanes),
            count};
  }
};

__device__ uint32_t count_of(const TrackedRecords& records) {
  return min(*records.total, records.capacity);
}

__global__ void collect_pairs_kernel(TrackMemory memory, TrackRules rules, TrackedRecords records) {
  pdl_trigger_and_wait();
  const GridTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts)
      .collect_pairs();
}

__global__ __launch_bounds__(MatchBlock::threads) void match_kernel(TrackMemory memory,
                                                                    TrackRules rules,
                                                                    TrackedRecords records) {
  pdl_trigger_and_wait();
  const BlockTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts).match();
}

__global__ void finish_kernel(TrackMemory memory, TrackRules rules, TrackedRecords records,
                              RegionTable published, TrackEvents* report) {
  pdl_trigger_and_wait();
  const GridTeam team;
  TrackStep(team, memory, rules, records.regions, count_of(records), *memory.counts_before)
      .finish(published, records.states, report);
}

// Returns a number of blocks with enough threads for all visible and all lost tracks.
unsigned region_blocks(const TrackedRecords& records) {
  return std::min(blocks_for(2 * size_t{records.capacity}, RegionBlock::threads),
                  RegionBlock::max_blocks);
}

}  // namespace

void collect_track_pairs(const TrackMemory& memory, const TrackRules& rules,
                         const TrackedRecords& records, cudaStream_t stream) {
  launch_pdl(collect_pairs_kernel, region_blocks(records), RegionBlock::threads, 0, stream, memory,
             rules, records);
}

void match_tracks(const TrackMemory& memory, const TrackRules& rules, const TrackedRecords& records,
                  cudaStream_t stream) {
  launch_pdl(match_kernel, 1, MatchBlock::threads, 0, stream, memory, rules, records);
}

void finish_tracks(const TrackMemory& memory, const TrackRules& rules,
                   const TrackedRecords& records, const RegionTable& published, TrackEvents* report,
                   cudaStream_t stream) {
  launch_pdl(finish_kernel, region_blocks(records), RegionBlock::threads, 0, stream, memory, rules,
             records, published, report);
}

}  // namespace regions::tracking
