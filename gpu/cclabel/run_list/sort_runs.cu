// Sorts runs by label: two passes of counting sort, a byte of the label each, the low one first.
// Each keeps the order of equal digits, so that runs of a label stay in raster order.
#include "gpu/cclabel/run_list/phases.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::runs {
namespace {

constexpr int kThreads = Runs::kSortBlock;
constexpr int kWarps = kThreads / 32;
constexpr int kDigits = Runs::kDigits;
static_assert(kDigits <= kThreads, "a thread has a digit");

__device__ uint32_t known_of(const Runs& runs) { return min(*runs.total, runs.capacity); }
// Blocks that have runs.
__device__ uint32_t blocks_of(uint32_t known) { return (known + kThreads - 1) / kThreads; }
// Labels count from 1 and are at most 65536.
__device__ uint32_t digit_of(const PixelRun& run, int shift) {
  return (run.label - 1) >> shift & (kDigits - 1);
}

__global__ __launch_bounds__(kThreads) void count_digits_kernel(Runs runs, int from, int shift) {
  __shared__ uint32_t counts[kDigits];
  const uint32_t known = known_of(runs), blocks = blocks_of(known);
  if (blockIdx.x >= blocks) return;  // whole blocks
  if (threadIdx.x < kDigits) counts[threadIdx.x] = 0;
  __syncthreads();  // counts are clear
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  // Sums of ones: the order of atomics does not matter.
  if (i < known) atomicAdd(counts + digit_of(runs.list[from][i], shift), 1u);
  __syncthreads();  // counts are complete
  if (threadIdx.x < kDigits) {
    runs.digits[threadIdx.x * blocks + blockIdx.x] = counts[threadIdx.x];
  }
}

// One block: where the runs of each digit and block begin.
__global__ __launch_bounds__(kThreads) void add_up_digits_kernel(Runs runs) {
  __shared__ uint32_t warp_sums[kWarps];
  const uint32_t count = kDigits * blocks_of(known_of(runs));
  uint32_t before = 0;
  for (uint32_t first = 0; first < count; first += kThreads) {
    const uint32_t i = first + threadIdx.x;
    const uint32_t own = i < count ? runs.digits[i] : 0;
    uint32_t all;
    const uint32_t earlier = sum_before<kThreads>(own, warp_sums, all);
    if (i < count) runs.digits[i] = before + earlier;
    before += all;
    __syncthreads();  // warp_sums may be used again
  }
}

__global__ __launch_bounds__(kThreads) void move_kernel(Runs runs, int from, int shift) {
  __shared__ uint32_t place[kWarps][kDigits];
  const uint32_t known = known_of(runs), blocks = blocks_of(known);
  if (blockIdx.x >= blocks) return;  // whole blocks
  for (int i = static_cast<int>(threadIdx.x); i < kWarps * kDigits; i += kThreads) {
    place[i / kDigits][i % kDigits] = 0;
  }
  __syncthreads();  // counts are clear
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x, warp = threadIdx.x / 32;
  const bool exists = i < known;
  const PixelRun run = exists ? runs.list[from][i] : PixelRun{};
  const uint32_t digit = exists ? digit_of(run, shift) : kDigits;  // beyond all
  const uint32_t alike = __match_any_sync(kAllLanes, digit);
  const auto rank = static_cast<uint32_t>(__popc(alike & ((1u << threadIdx.x % 32) - 1)));
  if (exists && rank == 0) place[warp][digit] = static_cast<uint32_t>(__popc(alike));
  __syncthreads();  // each warp's counts are there
  if (threadIdx.x < kDigits) {
    uint32_t next = runs.digits[threadIdx.x * blocks + blockIdx.x];
    for (int w = 0; w < kWarps; ++w) {
      const uint32_t count = place[w][threadIdx.x];
      place[w][threadIdx.x] = next;
      next += count;
    }
  }
  __syncthreads();  // counts have become places
  if (exists) runs.list[1 - from][place[warp][digit] + rank] = run;
}

__global__ __launch_bounds__(kThreads) void publish_kernel(Runs runs, RegionTable table) {
  const uint32_t known = min(known_of(runs), table.run_capacity);
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < known; i += gridDim.x * kThreads) {
    PixelRun run = runs.list[0][i];
    run.width -= run.x;
    table.runs[i] = run;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *table.run_total = *runs.total;
}

}  // namespace

void sort_runs(const Runs& runs, cudaStream_t stream) {
  const unsigned blocks = blocks_for(runs.capacity, kThreads);
  for (int pass = 0; pass < 2; ++pass) {
    launch(count_digits_kernel, blocks, kThreads, 0, stream, runs, pass, 8 * pass);
    launch(add_up_digits_kernel, 1, kThreads, 0, stream, runs);
    launch(move_kernel, blocks, kThreads, 0, stream, runs, pass, 8 * pass);
  }
}

void publish_runs(const Runs& runs, const RegionTable& table, cudaStream_t stream) {
  constexpr unsigned kBlocks = 32;  // enough for the bus
  launch(publish_kernel, kBlocks, kThreads, 0, stream, runs, table);
}

}  // namespace regions::runs
