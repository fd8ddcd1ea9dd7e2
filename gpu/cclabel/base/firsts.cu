// Numbers regions 1..n in raster order of their first voxels: a bit for each, counted through. No
// block waits for another: each adds up what lies before its own words.
#include <bit>

#include "gpu/cclabel/base/divide_memory.hpp"
#include "gpu/cclabel/base/firsts.hpp"
#include "gpu/cclabel/base/record_sums.hpp"
#include "gpu/cclabel/base/tuning.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {
namespace {

constexpr int kRowThreads = WordBlock::threads;
constexpr int kThreads = WordsBlock::threads;
constexpr uint32_t kWordsOfTile = 256;  // of volumes
static_assert(kThreads == Firsts::kSumWords, "a block numbers what one sum counts");

// Calls visit(id) for the first voxels of regions in the thread's word.
template <class Visit>
__device__ void for_each_region(const Firsts& f, Visit visit) {
  const uint32_t word = blockIdx.x * kRowThreads + threadIdx.x;
  if (word >= f.words) return;
  for (uint32_t bits = f.bits[f.index_of(word)]; bits; bits &= bits - 1) {
    visit(word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(bits)) - 1));
  }
}

__device__ void drop(const Firsts& f, uint32_t region) {
  f.bits[f.index_of(region / 32)] &= ~(1u << region % 32);  // this thread's word alone
  atomicSub(f.sums + region / 32 / Firsts::kSumWords, 1u);
}

__global__ __launch_bounds__(kRowThreads) void clear_areas_kernel(Firsts f) {
  for_each_region(f, [&](uint32_t region) { f.area[region] = 0; });
}

__global__ __launch_bounds__(kRowThreads) void drop_by_area_kernel(Firsts f, uint32_t least,
                                                                   uint32_t most) {
  for_each_region(f, [&](uint32_t region) {
    if (f.area[region] < least || f.area[region] > most) drop(f, region);
  });
}

__global__ __launch_bounds__(kRowThreads) void drop_smallest_kernel(Firsts f, Areas areas,
                                                                    const Selection* selection) {
  if (*f.total <= areas.limit) return;
  for_each_region(f, [&](uint32_t region) {
    if (key_of_region(areas, region, f.area[region]) < selection->least_key) drop(f, region);
  });
}

// The bits word by word in raster order, where the numbers were.
__global__ __launch_bounds__(kRowThreads) void line_up_kernel(Firsts f) {
  const uint32_t word = blockIdx.x * kRowThreads + threadIdx.x;
  if (word < f.words) f.before[word] = f.bits[f.index_of(word)];
}

__global__ __launch_bounds__(kThreads) void number_kernel(Firsts f, Count which, Records records) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  wait_for_earlier();
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  const uint32_t place = f.index_of(word);
  const uint32_t firsts = word < f.words ? f.bits[place] : 0;  // on its way with the sums
  uint32_t earlier = 0;
  for (uint32_t k = threadIdx.x; k < blockIdx.x; k += kThreads) earlier += f.sums[k];
  uint32_t start;
  sum_before<kThreads>(earlier, warp_sums, start);
  const auto count = static_cast<uint32_t>(__popc(firsts));
  __syncthreads();  // warp_sums may be used again
  uint32_t all;
  uint32_t label = start + sum_before<kThreads>(count, warp_sums, all);
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) {
    if (which == Count::all) f.total[0] = start + all;
    f.total[1] = start + all;
  }
  // Not before: multiprocessors that this kernel leaves free would take the next one's blocks, most
  // of them (1.2 of 29 us at 128^3, H200, 2026-11-21).
  let_next_start();
  if (word >= f.words) return;
  f.before[place] = label;
  for (uint32_t bits = firsts; bits && label < records.capacity; bits &= bits - 1) {
    const uint32_t id = word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(bits)) - 1);
    ++label;
    records.region[label - 1] = begun_record(label, static_cast<int>(id % f.pitch),
                                             f.stack.place(static_cast<int>(id / f.pitch)));
  }
}

}  // namespace

void clear_areas(const Firsts& firsts, cudaStream_t stream) {
  launch(clear_areas_kernel, blocks_for(firsts.words, kRowThreads), kRowThreads, 0, stream, firsts);
}

void drop_by_area(const Firsts& firsts, uint32_t least, uint32_t most, cudaStream_t stream) {
  launch(drop_by_area_kernel, blocks_for(firsts.words, kRowThreads), kRowThreads, 0, stream, firsts,
         least, most);
}

void drop_smallest(const Firsts& firsts, uint32_t limit, Selection* selection,
                   cudaStream_t stream) {
  const int id_bits = std::bit_width(uint64_t{firsts.words} * 32);
  const Areas areas{firsts.area, id_bits, limit};
  launch(line_up_kernel, blocks_for(firsts.words, kRowThreads), kRowThreads, 0, stream, firsts);
  find_largest(firsts.before, firsts.words, firsts.total, areas, selection, stream);  // lined up
  launch(drop_smallest_kernel, blocks_for(firsts.words, kRowThreads), kRowThreads, 0, stream,
         firsts, areas, selection);
}

void number_firsts(const Firsts& firsts, Count count, const Records& records, cudaStream_t stream) {
  const dim3 grid = blocks_for(firsts.words, Firsts::kSumWords);
  divide_memory(number_kernel, firsts.words / kWordsOfTile);
  launch_chained(number_kernel, grid, kThreads, 0, stream, firsts, count, records);
}

}  // namespace regions::cclabel
