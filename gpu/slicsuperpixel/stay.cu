// Of a wanted number of superpixels those pieces stay whose joining would cost most: when all have
// chosen, they are counted by rank, one block finds the least rank that stays, and they are marked.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/joining.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = ComponentBlock::threads;
constexpr int kBoundThreads = 1024;
constexpr int kRanks = StayRule::kRanks, kOwn = kRanks / kBoundThreads;

__device__ uint32_t rank_of(const Pieces& pieces, uint32_t id, const StayRule& rule) {
  const uint32_t first = pieces.first[id], stride = static_cast<uint32_t>(pieces.stride);
  return rule.rank_of(pieces.piece[id].area, pieces.choice[0][id], first % stride, first / stride);
}

// Leaves what the first choices want: components directly below their representatives, and empty
// lists. How many components there are was known before joining began, whose first kernel is not in
// the chain.
__global__ __launch_bounds__(kThreads) void settle_kernel(Pieces pieces) {
  await_last();
  const TileOfBlock tile(pieces);
  if (tile.tile == 0 && threadIdx.x == 0) *pieces.counts = {};
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kThreads) {
    __syncwarp();  // ways up differ: lanes left to themselves would read one by one from then on
    if (start + lane >= tile.count) continue;
    const uint32_t id = tile.id(pieces, start + lane), root = pieces.find(id);
    if (root != id) pieces.parent[id] = root;  // others only come to the same end sooner
  }
}

__global__ __launch_bounds__(kThreads) void count_ranks_kernel(Pieces pieces, StayRule rule) {
  __shared__ uint32_t count[kRanks];
  for (int r = static_cast<int>(threadIdx.x); r < kRanks; r += kThreads) count[r] = 0;
  __syncthreads();  // all counts are 0
  const TileOfBlock tile(pieces);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(pieces, i);
    // Sums, here and below: in any order.
    if (pieces.parent[id] == id) atomicAdd(count + rank_of(pieces, id, rule), 1u);
  }
  __syncthreads();  // the tile is counted
  for (int r = static_cast<int>(threadIdx.x); r < kRanks; r += kThreads) {
    if (count[r] > 0) atomicAdd(pieces.of_rank + r, count[r]);
  }
}

// The greatest ranks are the first thread's.
__global__ __launch_bounds__(kBoundThreads) void find_bound_kernel(Pieces pieces, StayRule rule) {
  __shared__ uint32_t warp_sums[kBoundThreads / 32];
  __shared__ uint32_t count[kRanks];  // of pieces of this rank or a greater one
  __shared__ uint32_t rank;
  const int last = kRanks - 1 - kOwn * static_cast<int>(threadIdx.x);
  uint32_t up_to[kOwn], own = 0;
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    up_to[k] = own += pieces.of_rank[last - k];
    pieces.of_rank[last - k] = 0;
  }
  if (threadIdx.x == 0) rank = 0;
  uint32_t total;
  // Has a barrier: `rank` is 0 for all after it.
  uint32_t before = sum_before<kBoundThreads>(own, warp_sums, total);
#pragma unroll
  for (int k = 0; k < kOwn; ++k) {
    const uint32_t greater = before + (k > 0 ? up_to[k - 1] : 0);
    count[last - k] = before + up_to[k];
    // Of one rank at most: then the loop over ranks would stop.
    if (greater < rule.wanted && count[last - k] >= rule.wanted) {
      rank = static_cast<uint32_t>(last - k);
    }
  }
  __syncthreads();  // rank and counts are known
  if (threadIdx.x == 0) *pieces.bound = rule.bound(rank, count[StayRule::first_of_step(rank)]);
}

__global__ __launch_bounds__(kThreads) void mark_kernel(Pieces pieces, StayRule rule) {
  const uint32_t bound = *pieces.bound;
  const TileOfBlock tile(pieces);
  for (uint32_t i = threadIdx.x; i < tile.count; i += kThreads) {
    const uint32_t id = tile.id(pieces, i);
    if (pieces.parent[id] != id || rank_of(pieces, id, rule) < bound) continue;
    pieces.piece[id].area |= Piece::kStays;
    pieces.choice[0][id] = kNoChoice;
  }
}

}  // namespace

void settle(const Pieces& pieces, cudaStream_t stream) {
  launch_chained(settle_kernel, tile_grid(pieces), kThreads, 0, stream, pieces);
}

void mark_staying(const Pieces& pieces, const StayRule& rule, cudaStream_t stream) {
  launch(count_ranks_kernel, tile_grid(pieces), kThreads, 0, stream, pieces, rule);
  launch(find_bound_kernel, 1, kBoundThreads, 0, stream, pieces, rule);
  launch(mark_kernel, tile_grid(pieces), kThreads, 0, stream, pieces, rule);
}

}  // namespace regions::slic
