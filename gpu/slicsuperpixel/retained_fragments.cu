// Selects the fragments that are retained if a number of superpixels is requested: the fragments
// whose merging would cost most. A fragment's rank grows with its merge cost. After all fragments
// have chosen a neighbour, the kernels count the fragments of each rank, find the lowest retained
// rank, and mark the fragments that have this rank or a higher one.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kThreads = 128;
constexpr int kRankThreads = 1024;
constexpr int kRanks = RetentionRule::kRanks, kRanksPerThread = kRanks / kRankThreads;

__device__ uint32_t rank_of(const Fragments& fragments, uint32_t id, const RetentionRule& rule) {
  const uint32_t first = fragments.first_pixel[id],
                 stride = static_cast<uint32_t>(fragments.stride);
  return rule.rank_of(fragments.sums[id].area, fragments.choice[0][id], first % stride,
                      first / stride);
}

// Links each component directly to its root and empties the lists of edges and small fragments.
__global__ __launch_bounds__(kThreads) void flatten_kernel(Fragments fragments) {
  pdl_trigger_and_wait();
  const TileOfBlock tile(fragments);
  if (tile.tile == 0 && threadIdx.x == 0) *fragments.counts = {};
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kThreads) {
    // Paths to the root have different lengths. This barrier brings the lanes together again, so
    // that they load at the same time.
    __syncwarp();
    if (start + lane >= tile.count) continue;
    const uint32_t id = tile.id(fragments, start + lane), root = fragments.find_root(id);
    if (root != id) fragments.parent[id] = root;  // this only shortens the path of other threads
  }
}

// Counts the fragments of each rank.
__global__ __launch_bounds__(kThreads) void count_ranks_kernel(Fragments fragments,
                                                               RetentionRule rule) {
  __shared__ uint32_t count[kRanks];
  for (int r = static_cast<int>(threadIdx.x); r < kRanks; r += kThreads) count[r] = 0;
  __syncthreads();  // `count` is cleared
  const TileOfBlock tile(fragments);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(fragments, i);
    // In both loops, integers are added, so the order of atomics does not matter.
    if (fragments.parent[id] == id) atomicAdd(count + rank_of(fragments, id, rule), 1u);
  }
  __syncthreads();  // all fragments of the tile are counted in `count`
  for (int r = static_cast<int>(threadIdx.x); r < kRanks; r += kThreads) {
    if (count[r] > 0) atomicAdd(fragments.rank_histogram + r, count[r]);
  }
}

// Finds the lowest retained rank. Each thread handles kRanksPerThread ranks, and thread 0 handles
// the highest ranks.
__global__ __launch_bounds__(kRankThreads) void find_min_rank_kernel(Fragments fragments,
                                                                     RetentionRule rule) {
  __shared__ uint32_t warp_sums[kRankThreads / 32];
  __shared__ uint32_t count[kRanks];  // [rank], number of fragments of at least this rank
  __shared__ uint32_t rank;
  const int last = kRanks - 1 - kRanksPerThread * static_cast<int>(threadIdx.x);
  uint32_t up_to[kRanksPerThread], thread_sum = 0;
#pragma unroll
  for (int k = 0; k < kRanksPerThread; ++k) {
    up_to[k] = thread_sum += fragments.rank_histogram[last - k];
    fragments.rank_histogram[last - k] = 0;
  }
  if (threadIdx.x == 0) rank = 0;
  uint32_t total;
  // This function contains a barrier, after which all threads see that `rank` is 0.
  uint32_t before = block_exclusive_sum<kRankThreads>(thread_sum, warp_sums, total);
#pragma unroll
  for (int k = 0; k < kRanksPerThread; ++k) {
    const uint32_t greater = before + (k > 0 ? up_to[k - 1] : 0);
    count[last - k] = before + up_to[k];
    // The condition is true for at most one rank: the highest rank for which `count` is at least
    // the requested number.
    if (greater < rule.superpixels && count[last - k] >= rule.superpixels) {
      rank = static_cast<uint32_t>(last - k);
    }
  }
  __syncthreads();  // `rank` and `count` are complete
  if (threadIdx.x == 0) {
    *fragments.min_rank = rule.bound(rank, count[RetentionRule::first_of_step(rank)]);
  }
}

// Marks the fragments with at least the lowest retained rank and deletes their choices.
__global__ __launch_bounds__(kThreads) void mark_retained_kernel(Fragments fragments,
                                                                 RetentionRule rule) {
  const uint32_t min_rank = *fragments.min_rank;
  const TileOfBlock tile(fragments);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(fragments, i);
    if (fragments.parent[id] != id || rank_of(fragments, id, rule) < min_rank) continue;
    fragments.sums[id].area |= Fragment::kRetained;
    fragments.choice[0][id] = kNoChoice;
  }
}

}  // namespace

void flatten_fragments(const Fragments& fragments, cudaStream_t stream) {
  launch_pdl(flatten_kernel, tile_grid(fragments), kThreads, 0, stream, fragments);
}

void mark_retained(const Fragments& fragments, const RetentionRule& rule, cudaStream_t stream) {
  launch(count_ranks_kernel, tile_grid(fragments), kThreads, 0, stream, fragments, rule);
  launch(find_min_rank_kernel, 1, kRankThreads, 0, stream, fragments, rule);
  launch(mark_retained_kernel, tile_grid(fragments), kThreads, 0, stream, fragments, rule);
}

}  // namespace regions::slicsuperpixel
