// Finds the borders between touching superpixels on the GPU. The length of each border, in pixel
// sides, is counted in a hash table of label pairs. The position of a pair in the table depends on
// the order of threads, but sorting makes the result unique.
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

using Uint64 = unsigned long long;
constexpr int kThreads = 256;
constexpr int kScanThreads = 1024;
constexpr int kRows = 8;  // number of rows that a warp of count_kernel() processes

__global__ __launch_bounds__(kThreads) void clear_kernel(Borders borders) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < borders.table_size) borders.key[i] = borders.length[i] = 0;
  if (i < borders.capacity) borders.degree[i] = borders.listed[i] = 0;
}

// Returns the key of a pair of labels in the hash table. Returns 0 if the labels are equal, or if
// one of the labels has no record because it is greater than `capacity`.
__device__ inline Uint64 key_of(uint32_t a, uint32_t b, uint32_t capacity) {
  const uint32_t low = min(a, b), high = max(a, b);
  return low == high || high > capacity ? 0 : static_cast<Uint64>(low) << 32 | high;
}

// Adds a number of pixel sides to the entry of a label pair. The order of atomics does not matter,
// because integers are added. The table always has a free entry: it has at least four entries per
// label, and regions of a plane have fewer than three borders per region.
__device__ void add_sides(const Borders& borders, Uint64 key, uint32_t sides) {
  if (key == 0 || sides == 0) return;
  const Uint64 hash = key * 0x9E3779B97F4A7C15ull;
  for (auto entry = static_cast<uint32_t>(hash >> 32);; ++entry) {
    entry &= borders.table_size - 1;
    const Uint64 old_key = atomicCAS(borders.key + entry, Uint64{0}, key);
    if (old_key != 0 && old_key != key) continue;
    if (old_key == 0) atomicAdd(borders.degree + (key >> 32) - 1, 1u);
    atomicAdd(borders.length + entry, sides);
    return;
  }
}

// Counts the pixel sides between superpixels. A warp processes kRows rows of 32 columns, from top
// to bottom.
__global__ __launch_bounds__(kThreads) void count_kernel(ConstLabelMap labels, Borders borders) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int x = static_cast<int>(blockIdx.x) * 32 + lane;
  const int top = (static_cast<int>(blockIdx.y) * (kThreads / 32) + warp) * kRows;
  const int end = min(top + kRows, labels.height);
  const bool inside = x < labels.width;
  // The pair of labels of the pixel and its left neighbour, and the number of consecutive rows that
  // have had this pair. The next row mostly has the same pair.
  Uint64 current_pair = 0;
  uint32_t sides = 0;
  for (int y = top; y < end; ++y) {  // all lanes have the same `end`, as the shuffle requires
    const uint32_t label = inside ? labels(x, y) : 0;
    const Uint64 left_pair =
        inside && x > 0 ? key_of(label, labels(x - 1, y), borders.capacity) : 0;
    if (left_pair != current_pair) {
      add_sides(borders, current_pair, sides);
      current_pair = left_pair;
      sides = 0;
    }
    ++sides;
    // Neighbouring lanes mostly have the same pair of labels with the pixels above. The first lane
    // of such a group adds the sides of the whole group.
    const Uint64 above_pair =
        inside && y > 0 ? key_of(label, labels(x, y - 1), borders.capacity) : 0;
    const Uint64 previous_pair = __shfl_up_sync(kAllLanes, above_pair, 1);
    const bool begins = lane == 0 || previous_pair != above_pair;
    const unsigned begin_lanes = __ballot_sync(kAllLanes, begins);
    if (!begins) continue;
    const unsigned later = begin_lanes & ~((2u << lane) - 1);
    const int next = later ? __ffs(static_cast<int>(later)) - 1 : 32;
    add_sides(borders, above_pair, static_cast<uint32_t>(next - lane));
  }
  add_sides(borders, current_pair, sides);
}

// Computes where the list of each label's borders starts. A border is in the list of its lower
// label. Runs in a single block.
__global__ __launch_bounds__(kScanThreads) void list_starts_kernel(const uint32_t* total,
                                                                   Borders borders) {
  __shared__ uint32_t sums[kScanThreads];
  const uint32_t recorded = min(*total, borders.capacity);
  const uint32_t labels_per_thread = (recorded + kScanThreads - 1) / kScanThreads;
  const uint32_t first = threadIdx.x * labels_per_thread,
                 end = min(first + labels_per_thread, recorded);
  uint32_t thread_sum = 0;
  for (uint32_t i = first; i < end; ++i) thread_sum += borders.degree[i];
  sums[threadIdx.x] = thread_sum;
  __syncthreads();  // the sums of all threads are written
  for (uint32_t step = 1; step < kScanThreads; step *= 2) {
    const uint32_t more = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();  // all threads have read `sums`
    sums[threadIdx.x] += more;
    __syncthreads();  // all threads have updated `sums`
  }
  uint32_t start = sums[threadIdx.x] - thread_sum;
  for (uint32_t i = first; i < end; ++i) {
    borders.start[i] = start;
    start += borders.degree[i];
  }
  if (threadIdx.x == kScanThreads - 1) borders.start[recorded] = sums[threadIdx.x];
}

// Writes each border to the list of its lower label, in any order.
__global__ __launch_bounds__(kThreads) void fill_lists_kernel(Borders borders) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= borders.table_size || borders.key[i] == 0) return;
  const auto first = static_cast<uint32_t>(borders.key[i] >> 32);
  const uint32_t index = borders.start[first - 1] + atomicAdd(borders.listed + first - 1, 1u);
  borders.unsorted[index] = {first, static_cast<uint32_t>(borders.key[i]), borders.length[i]};
}

// Sorts each list by the higher label. The position of an entry is the number of smaller entries in
// its list; lists are short, so counting them is fast.
__global__ __launch_bounds__(kThreads) void sort_kernel(const uint32_t* total, Borders borders) {
  const uint32_t recorded = min(*total, borders.capacity), count = borders.start[recorded];
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const Border border = borders.unsorted[i];
    const uint32_t start = borders.start[border.first - 1];
    uint32_t rank = 0;
    for (uint32_t j = 0; j < borders.degree[border.first - 1]; ++j) {
      rank += borders.unsorted[start + j].second < border.second;
    }
    borders.sorted[start + rank] = border;
  }
}

// Copies the sorted borders to the table in pinned memory.
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
  constexpr unsigned kBlocks = 256;  // number of blocks of kernels that process sorted lists
  launch(clear_kernel, blocks_for(borders.table_size, kThreads), kThreads, 0, stream, borders);
  launch(count_kernel,
         dim3(blocks_for(static_cast<size_t>(labels.width), 32),
              blocks_for(static_cast<size_t>(labels.height), kThreads / 32 * kRows)),
         kThreads, 0, stream, labels, borders);
  launch(list_starts_kernel, 1, kScanThreads, 0, stream, total, borders);
  launch(fill_lists_kernel, blocks_for(borders.table_size, kThreads), kThreads, 0, stream, borders);
  launch(sort_kernel, kBlocks, kThreads, 0, stream, total, borders);
  launch(publish_kernel, kBlocks, kThreads, 0, stream, total, borders, table);
}

}  // namespace regions::slicsuperpixel
