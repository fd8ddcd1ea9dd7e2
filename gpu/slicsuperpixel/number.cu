// Final labels: the roots of joined pieces, counted in order. No block waits for another: each adds
// up the chunks before its own.
#include "gpu/cclabel/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

using cclabel::kAllLanes;
using cclabel::warp_prefix_sum;
using cclabel::warp_sum;

constexpr int kThreads = NumberBlock::threads;
constexpr int kChunk = NumberBlock::chunk;
constexpr int kBlocks = 264;
constexpr int kWarps = kThreads / 32;

// Sum over the block, for all of its threads. `sums` may be used again after a barrier.
__device__ uint32_t block_sum(uint32_t value, uint32_t (&sums)[kWarps]) {
  const uint32_t own = warp_sum(value);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = own;
  __syncthreads();  // all warps have left their sums
  uint32_t sum = 0;
  for (const uint32_t s : sums) sum += s;
  return sum;
}

__device__ uint32_t is_root(const Pieces& pieces, uint32_t label, uint32_t n) {
  return label <= n && pieces.parent[label] == label ? 1 : 0;
}

// Labels of chunk c are c * kChunk + 1 and on; a thread has four side by side.
__global__ __launch_bounds__(kThreads) void count_kernel(Pieces pieces) {
  __shared__ uint32_t sums[kWarps];
  const uint32_t n = *pieces.count;
  const uint32_t chunks = (n + kChunk - 1) / kChunk;
  for (uint32_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    uint32_t roots = 0;
    for (int k = 0; k < 4; ++k) roots += is_root(pieces, c * kChunk + 4 * threadIdx.x + k + 1, n);
    const uint32_t sum = block_sum(roots, sums);
    if (threadIdx.x == 0) pieces.chunk_roots[c] = sum;
    __syncthreads();  // `sums` is read
  }
}

__global__ __launch_bounds__(kThreads) void rank_kernel(Pieces pieces) {
  __shared__ uint32_t sums[kWarps];
  const uint32_t n = *pieces.count;
  const uint32_t chunks = (n + kChunk - 1) / kChunk;
  for (uint32_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    uint32_t earlier = 0;
    for (uint32_t i = threadIdx.x; i < c; i += kThreads) earlier += pieces.chunk_roots[i];
    const uint32_t before_chunk = block_sum(earlier, sums);
    __syncthreads();  // `sums` is read
    const uint32_t first = c * kChunk + 4 * threadIdx.x + 1;
    uint32_t root[4], own = 0;
    for (int k = 0; k < 4; ++k) own += root[k] = is_root(pieces, first + k, n);
    const uint32_t up_to_own = warp_prefix_sum(own);
    if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = up_to_own;
    __syncthreads();  // all warps have left their sums
    uint32_t rank = before_chunk + up_to_own - own;
    for (uint32_t w = 0; w < threadIdx.x / 32; ++w) rank += sums[w];
    for (int k = 0; k < 4; ++k) {
      rank += root[k];
      if (root[k]) pieces.dense[first + k] = rank;
      if (first + k == n) *pieces.total = rank;
    }
    __syncthreads();  // `sums` is read
  }
}

__global__ __launch_bounds__(PixelBlock::threads) void write_kernel(Pieces pieces, LabelMap to) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int first = static_cast<int>(blockIdx.y * 32 + threadIdx.x / 32 * 4);
  if (x >= to.width) return;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (first + k < to.height) to(x, first + k) = pieces.final_label(pieces.labels(x, first + k));
  }
}

}  // namespace

void number_labels(const Pieces& pieces, LabelMap labels, cudaStream_t stream) {
  launch(count_kernel, kBlocks, kThreads, 0, stream, pieces);
  launch(rank_kernel, kBlocks, kThreads, 0, stream, pieces);
  static_assert(PixelBlock::threads == 256);  // eight warps of four rows
  launch(write_kernel,
         dim3(blocks_for(static_cast<size_t>(labels.width), 32),
              blocks_for(static_cast<size_t>(labels.height), 32)),
         PixelBlock::threads, 0, stream, pieces, labels);
}

}  // namespace regions::slic
