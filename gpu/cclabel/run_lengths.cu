// The kernels of RunLengths. Listing: counts the runs that begin in each chunk of a row, sums the
// counts, and then writes the start and end of each run. Sorting by label: two passes of counting
// sort, by the low byte of the label and then by the high byte. Each pass keeps the order of runs
// with equal bytes, so the runs of a label stay in raster order.
#include "core/error.hpp"
#include "gpu/cclabel/run_lengths.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = 256;
constexpr int kScanThreads = 1024;

// The chunk of a row that the warp processes, 32 pixels at a time.
struct RowChunk {
  const uint32_t* row;
  int width, y, begin, end;
  uint32_t max_label, index;
  bool exists;

  __device__ RowChunk(const ConstLabelMap& labels, uint32_t max_label_)
      : width(labels.width), max_label(max_label_) {
    const auto in_row = static_cast<uint32_t>(RunBuffers::chunks_of_row(labels.width));
    index = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
    exists = index < in_row * static_cast<uint32_t>(labels.height);
    y = exists ? static_cast<int>(index / in_row) : 0;
    begin = static_cast<int>(index % in_row) * RunBuffers::kChunk;
    end = min(begin + RunBuffers::kChunk, width);
    row = labels.row(y);
  }
  // Returns the label of pixel x; 0 outside the row, and for labels whose runs are not listed.
  __device__ uint32_t at(int x) const {
    if (x < 0 || x >= width) return 0;
    const uint32_t label = row[x];
    return label <= max_label ? label : 0;
  }
  // Calls visit(x, label, begins, ends) for 32 pixels at a time, one per lane. `begins`: a run
  // begins at the pixel. `ends`: a run ends at the pixel. Both are false for pixels beyond the end
  // of the chunk.
  template <class Visit>
  __device__ void for_each(Visit visit) const {
    for (int first = begin; first < end; first += 32) {
      const int x = first + static_cast<int>(threadIdx.x % 32);
      const bool inside = x < end;
      const uint32_t label = inside ? at(x) : 0;
      visit(x, label, label != 0 && at(x - 1) != label, label != 0 && at(x + 1) != label);
    }
  }
};

__device__ uint32_t popcount(uint32_t votes) { return static_cast<uint32_t>(__popc(votes)); }

__global__ __launch_bounds__(kThreads) void count_runs_kernel(ConstLabelMap labels,
                                                              uint32_t max_label, RunBuffers runs) {
  const RowChunk chunk(labels, max_label);
  if (!chunk.exists) return;  // all lanes of the warp return before any vote
  uint32_t count = 0;
  chunk.for_each([&](int, uint32_t, bool begins, bool) {
    count += popcount(__ballot_sync(kAllLanes, begins));
  });
  if (threadIdx.x % 32 == 0) runs.runs_before[chunk.index] = count;
}

// Executed by one block. Replaces each count by the sum of all earlier counts.
__global__ __launch_bounds__(kScanThreads) void sum_counts_kernel(uint32_t* counts, uint32_t count,
                                                                  uint32_t* total) {
  __shared__ uint32_t warp_sums[kScanThreads / 32];
  uint32_t before = 0;
  for (uint32_t first = 0; first < count; first += kScanThreads) {
    const uint32_t i = first + threadIdx.x;
    const uint32_t count_here = i < count ? counts[i] : 0;
    uint32_t all;
    const uint32_t earlier = block_exclusive_sum<kScanThreads>(count_here, warp_sums, all);
    if (i < count) counts[i] = before + earlier;
    before += all;
    __syncthreads();  // all threads have read warp_sums; it may be overwritten
  }
  if (threadIdx.x == 0) *total = before;
}

// Writes the start and the end of each run to the list. Runs do not overlap, so their ends are in
// the same order as their starts.
__global__ __launch_bounds__(kThreads) void write_runs_kernel(ConstLabelMap labels,
                                                              uint32_t max_label, RunBuffers runs) {
  const RowChunk chunk(labels, max_label);
  if (!chunk.exists) return;  // all lanes of the warp return before any vote
  const uint32_t earlier_lanes = (1u << threadIdx.x % 32) - 1;
  uint32_t begun_runs = runs.runs_before[chunk.index];
  const uint32_t first = chunk.at(chunk.begin);
  const bool continues = first != 0 && chunk.at(chunk.begin - 1) == first;
  uint32_t ended_runs = begun_runs - continues;
  chunk.for_each([&](int x, uint32_t label, bool begins, bool ends) {
    const uint32_t beginnings = __ballot_sync(kAllLanes, begins);
    const uint32_t endings = __ballot_sync(kAllLanes, ends);
    const uint32_t begin_index = begun_runs + popcount(beginnings & earlier_lanes);
    const uint32_t end_index = ended_runs + popcount(endings & earlier_lanes);
    if (begins && begin_index < runs.capacity) {
      PixelRun& run = runs.list[0][begin_index];
      run.label = label;
      run.x = static_cast<uint32_t>(x);
      run.row = static_cast<uint32_t>(chunk.y);
    }
    if (ends && end_index < runs.capacity)
      runs.list[0][end_index].width = static_cast<uint32_t>(x + 1);
    begun_runs += popcount(beginnings);
    ended_runs += popcount(endings);
  });
}

constexpr int kSortThreads = RunBuffers::kSortBlock;
constexpr int kSortWarps = kSortThreads / 32;
constexpr int kDigits = RunBuffers::kDigits;
static_assert(kDigits <= kSortThreads, "each thread has at most one digit");

__device__ uint32_t stored_runs(const RunBuffers& runs) { return min(*runs.total, runs.capacity); }
// Returns the number of blocks that have runs to sort.
__device__ uint32_t blocks_in_use(uint32_t stored) {
  return (stored + kSortThreads - 1) / kSortThreads;
}
// Labels are at most 65536, so label - 1 has two digits of 8 bits.
__device__ uint32_t digit_of(const PixelRun& run, int shift) {
  return (run.label - 1) >> shift & (kDigits - 1);
}

__global__ __launch_bounds__(kSortThreads) void count_digits_kernel(RunBuffers runs, int from,
                                                                    int shift) {
  __shared__ uint32_t counts[kDigits];
  const uint32_t stored = stored_runs(runs), blocks = blocks_in_use(stored);
  if (blockIdx.x >= blocks) return;  // all threads of the block return before any barrier
  if (threadIdx.x < kDigits) counts[threadIdx.x] = 0;
  __syncthreads();  // all counts are 0
  const uint32_t i = blockIdx.x * kSortThreads + threadIdx.x;
  // The order of the atomics does not matter, because they count.
  if (i < stored) atomicAdd(counts + digit_of(runs.list[from][i], shift), 1u);
  __syncthreads();  // all counts are complete
  if (threadIdx.x < kDigits) {
    runs.digit_offsets[threadIdx.x * blocks + blockIdx.x] = counts[threadIdx.x];
  }
}

// Executed by one block. Computes, for each digit and block, the index in the sorted list at which
// the runs with this digit begin.
__global__ __launch_bounds__(kSortThreads) void sum_digits_kernel(RunBuffers runs) {
  __shared__ uint32_t warp_sums[kSortWarps];
  const uint32_t count = kDigits * blocks_in_use(stored_runs(runs));
  uint32_t before = 0;
  for (uint32_t first = 0; first < count; first += kSortThreads) {
    const uint32_t i = first + threadIdx.x;
    const uint32_t count_here = i < count ? runs.digit_offsets[i] : 0;
    uint32_t all;
    const uint32_t earlier = block_exclusive_sum<kSortThreads>(count_here, warp_sums, all);
    if (i < count) runs.digit_offsets[i] = before + earlier;
    before += all;
    __syncthreads();  // all threads have read warp_sums; it may be overwritten
  }
}

__global__ __launch_bounds__(kSortThreads) void move_runs_kernel(RunBuffers runs, int from,
                                                                 int shift) {
  __shared__ uint32_t offset[kSortWarps][kDigits];
  const uint32_t stored = stored_runs(runs), blocks = blocks_in_use(stored);
  if (blockIdx.x >= blocks) return;  // all threads of the block return before any barrier
  for (int i = static_cast<int>(threadIdx.x); i < kSortWarps * kDigits; i += kSortThreads) {
    offset[i / kDigits][i % kDigits] = 0;
  }
  __syncthreads();  // all counts are 0
  const uint32_t i = blockIdx.x * kSortThreads + threadIdx.x, warp = threadIdx.x / 32;
  const bool exists = i < stored;
  const PixelRun run = exists ? runs.list[from][i] : PixelRun{};
  const uint32_t digit = exists ? digit_of(run, shift) : kDigits;  // kDigits: the thread has no run
  const uint32_t same_digit = __match_any_sync(kAllLanes, digit);
  const auto rank = static_cast<uint32_t>(__popc(same_digit & ((1u << threadIdx.x % 32) - 1)));
  if (exists && rank == 0) offset[warp][digit] = static_cast<uint32_t>(__popc(same_digit));
  __syncthreads();  // the counts of all warps are complete
  if (threadIdx.x < kDigits) {
    uint32_t next = runs.digit_offsets[threadIdx.x * blocks + blockIdx.x];
    for (int w = 0; w < kSortWarps; ++w) {
      const uint32_t count = offset[w][threadIdx.x];
      offset[w][threadIdx.x] = next;
      next += count;
    }
  }
  __syncthreads();  // offsets have replaced the counts
  if (exists) runs.list[1 - from][offset[warp][digit] + rank] = run;
}

__global__ __launch_bounds__(kSortThreads) void publish_runs_kernel(RunBuffers runs,
                                                                    RegionTable table) {
  const uint32_t stored = min(stored_runs(runs), table.run_capacity);
  for (uint32_t i = blockIdx.x * kSortThreads + threadIdx.x; i < stored;
       i += gridDim.x * kSortThreads) {
    PixelRun run = runs.list[0][i];
    run.width -= run.x;
    table.runs[i] = run;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *table.run_total = *runs.total;
}

void list_runs(ConstLabelMap labels, uint32_t max_label, const RunBuffers& runs,
               cudaStream_t stream) {
  const auto chunks = static_cast<uint32_t>(RunBuffers::chunks_of_row(labels.width)) *
                      static_cast<uint32_t>(labels.height);
  const unsigned blocks = blocks_for(chunks, kThreads / 32);
  launch(count_runs_kernel, blocks, kThreads, 0, stream, labels, max_label, runs);
  launch(sum_counts_kernel, 1, kScanThreads, 0, stream, runs.runs_before, chunks, runs.total);
  launch(write_runs_kernel, blocks, kThreads, 0, stream, labels, max_label, runs);
}

void sort_runs(const RunBuffers& runs, cudaStream_t stream) {
  const unsigned blocks = blocks_for(runs.capacity, kSortThreads);
  for (int pass = 0; pass < 2; ++pass) {
    launch(count_digits_kernel, blocks, kSortThreads, 0, stream, runs, pass, 8 * pass);
    launch(sum_digits_kernel, 1, kSortThreads, 0, stream, runs);
    launch(move_runs_kernel, blocks, kSortThreads, 0, stream, runs, pass, 8 * pass);
  }
}

void publish_runs(const RunBuffers& runs, const RegionTable& table, cudaStream_t stream) {
  constexpr unsigned kBlocks = 32;  // enough to use the full bandwidth of the bus to the host
  launch(publish_runs_kernel, kBlocks, kSortThreads, 0, stream, runs, table);
}

}  // namespace

void RunLengths::allocate(Backend& backend, const Setup& setup) {
  constexpr uint32_t kMaxRegions = 1 << 16;  // sorting uses two digits of 8 bits
  expects(setup.max_regions <= kMaxRegions,
          "attach-runs supports up to 65536 regions; max-regions is " +
              std::to_string(setup.max_regions));
  const VolumeLayout largest{setup.size, setup.depth, setup.layers};
  const auto chunks_of_row = static_cast<size_t>(RunBuffers::chunks_of_row(setup.size.width));
  const size_t blocks = blocks_for(setup.max_runs, RunBuffers::kSortBlock);
  runs_.capacity = setup.max_runs;
  memory_.reserve(runs_.runs_before, chunks_of_row * static_cast<size_t>(largest.rows()));
  memory_.reserve(runs_.total, 1);
  for (PixelRun*& list : runs_.list) memory_.reserve(list, setup.max_runs);
  memory_.reserve(runs_.digit_offsets, RunBuffers::kDigits * blocks);
  memory_.reserve(labels_, largest.size().area());
  memory_.allocate(backend);
}

LabelMap RunLengths::labels(const VolumeLayout& volume_layout) const {
  const int width = volume_layout.slice.width;
  return {labels_, width, volume_layout.rows(), static_cast<ptrdiff_t>(sizeof(uint32_t)) * width};
}

void RunLengths::fill(ConstLabelMap labels, const RegionTable& table, cudaStream_t stream) const {
  RunBuffers runs = runs_;
  runs.capacity = table.run_capacity;
  list_runs(labels, table.capacity, runs, stream);
  sort_runs(runs, stream);
  publish_runs(runs, table, stream);
}

}  // namespace regions::cclabel
