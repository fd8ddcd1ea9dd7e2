// Finds which regions are the `limit` largest, ties to the first in raster order: a radix select
// over keys of area and place, all different, from the highest digit down. Does nothing on the
// device while all regions fit.
#include "gpu/cclabel/base/largest.hpp"
#include "gpu/cclabel/base/tuning.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = SelectBlock::threads;
constexpr int kDigitBits = Selection::kDigitBits;
constexpr int kDigits = Selection::kDigits;

__global__ void begin_kernel(Areas areas, Selection* selection) {
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kThreads) selection->count[d] = 0;
  if (threadIdx.x != 0) return;
  selection->least_key = 0;
  selection->wanted = areas.limit;
  selection->arrived = 0;
}

// Counts the digits at `shift` of the keys that agree with what is selected above it.
__device__ void count_digits(const uint32_t* firsts, size_t words, const Areas& areas,
                             uint64_t selected, int shift, uint32_t (&count)[kDigits]) {
  const size_t step = static_cast<size_t>(gridDim.x) * kThreads;
  for (size_t w = blockIdx.x * kThreads + threadIdx.x; w < words; w += step) {
    for (uint32_t bits = firsts[w]; bits; bits &= bits - 1) {
      const uint32_t id =
          static_cast<uint32_t>(w) * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(bits)) - 1);
      const uint64_t key = key_of_region(areas, id, areas.of[id]);
      if ((key ^ selected) >> shift >> kDigitBits) continue;
      atomicAdd(&count[key >> shift & (kDigits - 1)], 1u);
    }
  }
}

// The last block to arrive picks the digit in which the wanted rank lies, counted from the top.
__device__ void pick_digit(Selection* selection, int shift) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  constexpr int kEach = kDigits / kThreads;
  uint32_t count[kEach], sum = 0;
  const int top = kDigits - 1 - static_cast<int>(threadIdx.x) * kEach;
  for (int i = 0; i < kEach; ++i) {
    count[i] = atomicExch(&selection->count[top - i], 0u);  // clear for the next digit
    sum += count[i];
  }
  const uint32_t wanted = selection->wanted;
  uint32_t total;
  uint32_t larger = sum_before<kThreads>(sum, warp_sums, total);  // has a barrier: wanted is read
  if (wanted <= larger || wanted > larger + sum) return;
  int i = 0;
  while (wanted > larger + count[i]) larger += count[i++];
  selection->least_key |= static_cast<uint64_t>(top - i) << shift;
  selection->wanted = wanted - larger;
  selection->arrived = 0;
}

__global__ __launch_bounds__(kThreads) void select_kernel(const uint32_t* firsts, size_t words,
                                                          const uint32_t* total, Areas areas,
                                                          Selection* selection, int shift) {
  if (!areas.wanted(total)) return;
  __shared__ uint32_t count[kDigits];
  __shared__ bool is_last;
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kThreads) count[d] = 0;
  __syncthreads();  // counts are clear
  count_digits(firsts, words, areas, selection->least_key, shift, count);
  __syncthreads();  // counts are complete
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += kThreads) {
    if (count[d]) atomicAdd(&selection->count[d], count[d]);
  }
  __threadfence();
  __syncthreads();  // this block's counts are added, and seen by blocks that see its arrival
  if (threadIdx.x == 0) is_last = atomicAdd(&selection->arrived, 1u) == gridDim.x - 1;
  __syncthreads();  // is_last is known
  if (is_last) pick_digit(selection, shift);
}

}  // namespace

void find_largest(const uint32_t* firsts, size_t words, const uint32_t* total, const Areas& areas,
                  Selection* selection, cudaStream_t stream) {
  launch(begin_kernel, 1, kThreads, 0, stream, areas, selection);
  const int digits = (2 * areas.id_bits + kDigitBits - 1) / kDigitBits;
  for (int digit = digits - 1; digit >= 0; --digit) {
    launch(select_kernel, SelectBlock::blocks, kThreads, 0, stream, firsts, words, total, areas,
           selection, digit * kDigitBits);
  }
}

}  // namespace regions::cclabel
