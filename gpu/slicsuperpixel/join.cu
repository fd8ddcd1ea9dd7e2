// The rounds of joining. The first are wide and go by plain kernels; what is left after them is
// little, and one kernel does all of it. Edges that cannot matter any more are struck out where
// they stand: passing over them costs less than making a new list.
#include <cuda/atomic>

#include "gpu/slicsuperpixel/joining.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = JoinRounds::threads;
constexpr int kWide = PixelBlock::threads;
constexpr int kWideBlocks = JoinRounds::wide_blocks;

// Every small piece goes where the chain of first choices ends.
__global__ __launch_bounds__(kWide) void follow_kernel(Joining joining) {
  const Pieces& pieces = joining.pieces;
  const uint32_t count = pieces.counts->small;
  for (uint32_t i = blockIdx.x * kWide + threadIdx.x; i < count; i += gridDim.x * kWide) {
    joining.follow(pieces.small[i], 0);
  }
}

// Looks again at edge e: its pieces by now, or nothing if it cannot matter any more. Returns
// whether a piece has chosen.
__device__ bool touch_again(const Joining& joining, uint32_t e, int turn) {
  const Pieces& pieces = joining.pieces;
  const uint2 edge = pieces.edges[e];
  if (edge.x == edge.y) return false;
  const uint2 now = {pieces.find(edge.x), pieces.find(edge.y)};
  const bool chose = now.x != now.y && joining.touch(now.x, now.y, turn);
  pieces.edges[e] = chose ? now : uint2{};
  return chose;
}

__global__ __launch_bounds__(kWide) void choose_again_kernel(Joining joining) {
  const Pieces& pieces = joining.pieces;
  const uint32_t small = pieces.counts->small, edges = pieces.counts->edges;
  const uint32_t own = blockIdx.x * kWide + threadIdx.x, all = gridDim.x * kWide;
  for (uint32_t i = own; i < small; i += all) pieces.choice[0][pieces.small[i]] = kNoChoice;
  bool chose = false;
  for (uint32_t e = own; e < edges; e += all) chose |= touch_again(joining, e, 1);
  if (chose) *static_cast<volatile uint32_t*>(&pieces.counts->last_round) = 1;
}

// Blocks of one launch that wait for each other.
class Barrier {
 public:
  __device__ Barrier(uint32_t* arrivals, uint32_t blocks) : arrivals_(arrivals), blocks_(blocks) {}

  // Every thread's writes before are seen by every thread after, if those read past the L1 cache.
  __device__ void meet() {
    __syncthreads();  // all of the block have come
    if (blocks_ > 1 && threadIdx.x == 0) {
      const cuda::atomic_ref<uint32_t, cuda::thread_scope_device> arrivals(*arrivals_);
      due_ += blocks_;
      arrivals.fetch_add(1, cuda::memory_order_acq_rel);
      while (arrivals.load(cuda::memory_order_acquire) < due_) {
      }
    }
    __syncthreads();  // all blocks have come
  }

 private:
  uint32_t* arrivals_;
  uint32_t blocks_;
  uint32_t due_ = 0;
};

__global__ __launch_bounds__(kThreads) void join_kernel(Joining joining) {
  const Pieces& pieces = joining.pieces;
  JoinCounts& counts = *pieces.counts;
  if (counts.last_round == 0) return;
  const uint32_t small = counts.small, edges = counts.edges;
  const uint32_t wanted = (edges > small ? edges : small) / JoinRounds::each_block + 1;
  const uint32_t blocks = wanted < gridDim.x ? wanted : gridDim.x;
  if (blockIdx.x >= blocks) return;
  const uint32_t own = blockIdx.x * kThreads + threadIdx.x, all = blocks * kThreads;
  Barrier barrier(&counts.arrivals, blocks);
  for (uint32_t round = 2;; ++round) {
    const int turn = static_cast<int>(round + 1) % 2;
    for (uint32_t i = own; i < small; i += all) joining.follow(pieces.small[i], turn);
    barrier.meet();
    for (uint32_t i = own; i < small; i += all) pieces.choice[turn][pieces.small[i]] = kNoChoice;
    bool chose = false;
    for (uint32_t e = own; e < edges; e += all) chose |= touch_again(joining, e, 1 - turn);
    volatile uint32_t* const last_round = &counts.last_round;
    if (chose) *last_round = round;
    barrier.meet();
    if (*last_round != round) return;
  }
}

}  // namespace

void join_pieces(const Pieces& pieces, uint32_t least, const SlicScale& scale,
                 cudaStream_t stream) {
  const Joining joining{pieces, scale, least};
  make_first_choices(joining, stream);
  launch(follow_kernel, kWideBlocks, kWide, 0, stream, joining);
  launch(choose_again_kernel, kWideBlocks, kWide, 0, stream, joining);
  launch_cooperative(join_kernel, static_cast<unsigned>(pieces.join_blocks), kThreads, 0, stream,
                     joining);
}

int join_blocks() {
  int device = 0, processors = 0, each = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "asking for the GPU's processors");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, reinterpret_cast<const void*>(&join_kernel), kThreads, 0),
        "asking how many blocks run at once");
  const int most = processors * each;
  return most < JoinRounds::most_blocks ? most : JoinRounds::most_blocks;
}

}  // namespace regions::slic
