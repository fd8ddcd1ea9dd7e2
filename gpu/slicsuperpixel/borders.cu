// Which superpixels touch, and along how many sides of pixels. Sides are counted in a hash table of
// pairs of labels, whose places differ from run to run; sorting makes the outcome the same.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

using Wide = unsigned long long;
constexpr int kThreads = PixelBlock::threads;
constexpr int kScanThreads = 1024;
constexpr int kRows = 8;  // that a warp walks down

__global__ __launch_bounds__(kThreads) void clear_kernel(Borders borders) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < borders.places) borders.key[i] = borders.length[i] = 0;
  if (i < borders.capacity) borders.degree[i] = borders.taken[i] = 0;
}

// What two touching pixels' labels are counted under; 0 if they are not.
__device__ inline Wide key_of(uint32_t a, uint32_t b, uint32_t capacity) {
  const uint32_t low = min(a, b), high = max(a, b);
  return low == high || high > capacity ? 0 : static_cast<Wide>(low) << 32 | high;
}

// Sums of integers: the order of atomics does not matter. There is always a free place, as there
// are less than 3 borders a label and at least 4 places.
__device__ void add_sides(const Borders& borders, Wide key, uint32_t sides) {
  if (key == 0 || sides == 0) return;
  const Wide mixed = key * 0x9E3779B97F4A7C15ull;
  for (auto place = static_cast<uint32_t>(mixed >> 32);; ++place) {
    place &= borders.places - 1;
    const Wide there = atomicCAS(borders.key + place, Wide{0}, key);
    if (there != 0 && there != key) continue;
    if (there == 0) atomicAdd(borders.degree + (key >> 32) - 1, 1u);
    atomicAdd(borders.length + place, sides);
    return;
  }
}

__global__ __launch_bounds__(kThreads) void count_kernel(ConstLabelMap labels, Borders borders) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int x = static_cast<int>(blockIdx.x) * 32 + lane;
  const int top = (static_cast<int>(blockIdx.y) * (kThreads / 32) + warp) * kRows;
  const int end = min(top + kRows, labels.height);
  const bool inside = x < labels.width;
  Wide held = 0;  // the last pair side by side, mostly the same in the next row
  uint32_t sides = 0;
  for (int y = top; y < end; ++y) {  // all lanes alike
    const uint32_t label = inside ? labels(x, y) : 0;
    const Wide beside = inside && x > 0 ? key_of(label, labels(x - 1, y), borders.capacity) : 0;
    if (beside != held) {
      add_sides(borders, held, sides);
      held = beside;
      sides = 0;
    }
    ++sides;
    // Lanes beside each other mostly touch the same pair: the first of them counts for all.
    const Wide above = inside && y > 0 ? key_of(label, labels(x, y - 1), borders.capacity) : 0;
    const Wide before = __shfl_up_sync(kAllLanes, above, 1);
    const bool begins = lane == 0 || before != above;
    const unsigned begin = __ballot_sync(kAllLanes, begins);
    if (!begins) continue;
    const unsigned later = begin & ~((2u << lane) - 1);
    const int next = later ? __ffs(static_cast<int>(later)) - 1 : 32;
    add_sides(borders, above, static_cast<uint32_t>(next - lane));
  }
  add_sides(borders, held, sides);
}

// One block: where the list of each lower label starts.
__global__ __launch_bounds__(kScanThreads) void start_kernel(const uint32_t* total,
                                                             Borders borders) {
  __shared__ uint32_t sums[kScanThreads];
  const uint32_t known = min(*total, borders.capacity);
  const uint32_t share = (known + kScanThreads - 1) / kScanThreads;
  const uint32_t first = threadIdx.x * share, end = min(first + share, known);
  uint32_t own = 0;
  for (uint32_t i = first; i < end; ++i) own += borders.degree[i];
  sums[threadIdx.x] = own;
  __syncthreads();  // all sums are there
  for (uint32_t step = 1; step < kScanThreads; step *= 2) {
    const uint32_t more = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();  // all have read
    sums[threadIdx.x] += more;
    __syncthreads();  // all have added
  }
  uint32_t start = sums[threadIdx.x] - own;
  for (uint32_t i = first; i < end; ++i) {
    borders.start[i] = start;
    start += borders.degree[i];
  }
  if (threadIdx.x == kScanThreads - 1) borders.start[known] = sums[threadIdx.x];
}

__global__ __launch_bounds__(kThreads) void list_kernel(Borders borders) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= borders.places || borders.key[i] == 0) return;
  const auto first = static_cast<uint32_t>(borders.key[i] >> 32);
  const uint32_t at = borders.start[first - 1] + atomicAdd(borders.taken + first - 1, 1u);
  borders.unsorted[at] = {first, static_cast<uint32_t>(borders.key[i]), borders.length[i]};
}

// Lists are short: each entry counts those of its list before it.
__global__ __launch_bounds__(kThreads) void sort_kernel(const uint32_t* total, Borders borders) {
  const uint32_t known = min(*total, borders.capacity), count = borders.start[known];
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const Border own = borders.unsorted[i];
    const uint32_t start = borders.start[own.first - 1];
    uint32_t rank = 0;
    for (uint32_t j = 0; j < borders.degree[own.first - 1]; ++j) {
      rank += borders.unsorted[start + j].second < own.second;
    }
    borders.sorted[start + rank] = own;
  }
}

__global__ __launch_bounds__(kThreads) void publish_kernel(const uint32_t* total, Borders borders,
                                                           RegionTable table) {
  constexpr uint32_t kWords = sizeof(Border) / sizeof(uint32_t);
  const uint32_t count = borders.start[min(*total, borders.capacity)];
  const uint32_t first = blockIdx.x * kThreads + threadIdx.x;
  for (uint32_t w = first; w < count * kWords; w += gridDim.x * kThreads) {
    reinterpret_cast<uint32_t*>(table.borders)[w] =
        reinterpret_cast<const uint32_t*>(borders.sorted)[w];
  }
  if (first == 0) *table.border_count = count;
}

}  // namespace

void find_borders(ConstLabelMap labels, const uint32_t* total, const Borders& borders,
                  const RegionTable& table, cudaStream_t stream) {
  constexpr unsigned kBlocks = 256;  // of kernels that go over what is found
  launch(clear_kernel, blocks_for(borders.places, kThreads), kThreads, 0, stream, borders);
  launch(count_kernel,
         dim3(blocks_for(static_cast<size_t>(labels.width), 32),
              blocks_for(static_cast<size_t>(labels.height), kThreads / 32 * kRows)),
         kThreads, 0, stream, labels, borders);
  launch(start_kernel, 1, kScanThreads, 0, stream, total, borders);
  launch(list_kernel, blocks_for(borders.places, kThreads), kThreads, 0, stream, borders);
  launch(sort_kernel, kBlocks, kThreads, 0, stream, total, borders);
  launch(publish_kernel, kBlocks, kThreads, 0, stream, total, borders, table);
}

}  // namespace regions::slic
