// Lists runs in raster order: counts those that begin in each piece of a row, adds the counts up,
// then writes beginnings and ends, each by the thread that has that pixel.
#include "gpu/cclabel/run_list/phases.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::runs {
namespace {

constexpr int kThreads = 256;
constexpr int kScanThreads = 1024;

// A warp's piece of a row, whose pixels it takes 32 at a time.
struct Chunk {
  const uint32_t* row;
  int width, y, begin, end;
  uint32_t most, index;
  bool exists;

  __device__ Chunk(const ConstLabelMap& labels, uint32_t most_) : width(labels.width), most(most_) {
    const auto in_row = static_cast<uint32_t>(Runs::chunks_of_row(labels.width));
    index = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
    exists = index < in_row * static_cast<uint32_t>(labels.height);
    y = exists ? static_cast<int>(index / in_row) : 0;
    begin = static_cast<int>(index % in_row) * Runs::kChunk;
    end = min(begin + Runs::kChunk, width);
    row = labels.row(y);
  }
  // A label whose runs are listed; else, and outside the row, 0.
  __device__ uint32_t at(int x) const {
    if (x < 0 || x >= width) return 0;
    const uint32_t label = row[x];
    return label <= most ? label : 0;
  }
  // Calls visit(x, label, begins, ends) for 32 pixels at a time, a lane each; beyond the chunk
  // nothing begins or ends.
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

__device__ uint32_t count_of(uint32_t votes) { return static_cast<uint32_t>(__popc(votes)); }

__global__ __launch_bounds__(kThreads) void count_kernel(ConstLabelMap labels, uint32_t most,
                                                         Runs runs) {
  const Chunk chunk(labels, most);
  if (!chunk.exists) return;  // whole warps
  uint32_t count = 0;
  chunk.for_each([&](int, uint32_t, bool begins, bool) {
    count += count_of(__ballot_sync(kAllLanes, begins));
  });
  if (threadIdx.x % 32 == 0) runs.before[chunk.index] = count;
}

// One block: counts become what comes before them.
__global__ __launch_bounds__(kScanThreads) void add_up_kernel(uint32_t* counts, uint32_t count,
                                                              uint32_t* total) {
  __shared__ uint32_t warp_sums[kScanThreads / 32];
  uint32_t before = 0;
  for (uint32_t first = 0; first < count; first += kScanThreads) {
    const uint32_t i = first + threadIdx.x;
    const uint32_t own = i < count ? counts[i] : 0;
    uint32_t all;
    const uint32_t earlier = sum_before<kScanThreads>(own, warp_sums, all);
    if (i < count) counts[i] = before + earlier;
    before += all;
    __syncthreads();  // warp_sums may be used again
  }
  if (threadIdx.x == 0) *total = before;
}

// Runs do not overlap, so that their ends are in the order of their beginnings.
__global__ __launch_bounds__(kThreads) void write_kernel(ConstLabelMap labels, uint32_t most,
                                                         Runs runs) {
  const Chunk chunk(labels, most);
  if (!chunk.exists) return;  // whole warps
  const uint32_t earlier = (1u << threadIdx.x % 32) - 1;
  uint32_t begun = runs.before[chunk.index];
  const uint32_t first = chunk.at(chunk.begin);
  const bool goes_on = first != 0 && chunk.at(chunk.begin - 1) == first;
  uint32_t ended = begun - goes_on;
  chunk.for_each([&](int x, uint32_t label, bool begins, bool ends) {
    const uint32_t beginnings = __ballot_sync(kAllLanes, begins);
    const uint32_t endings = __ballot_sync(kAllLanes, ends);
    const uint32_t mine = begun + count_of(beginnings & earlier);
    const uint32_t last = ended + count_of(endings & earlier);
    if (begins && mine < runs.capacity) {
      PixelRun& run = runs.list[0][mine];
      run.label = label;
      run.x = static_cast<uint32_t>(x);
      run.row = static_cast<uint32_t>(chunk.y);
    }
    if (ends && last < runs.capacity) runs.list[0][last].width = static_cast<uint32_t>(x + 1);
    begun += count_of(beginnings);
    ended += count_of(endings);
  });
}

}  // namespace

void list_runs(ConstLabelMap labels, uint32_t most, const Runs& runs, cudaStream_t stream) {
  const auto chunks = static_cast<uint32_t>(Runs::chunks_of_row(labels.width)) *
                      static_cast<uint32_t>(labels.height);
  const unsigned blocks = blocks_for(chunks, kThreads / 32);
  launch(count_kernel, blocks, kThreads, 0, stream, labels, most, runs);
  launch(add_up_kernel, 1, kScanThreads, 0, stream, runs.before, chunks, runs.total);
  launch(write_kernel, blocks, kThreads, 0, stream, labels, most, runs);
}

}  // namespace regions::runs
