// The rounds of joining. The first are wide and go by plain kernels; what is left after them is
// little, and one kernel does all of it, in one block if that is enough.
#include <cuda/atomic>

#include "gpu/slicsuperpixel/joining.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = JoinRounds::threads;
constexpr int kWide = PixelBlock::threads;
constexpr int kWideBlocks = JoinRounds::wide_blocks;

__global__ __launch_bounds__(kWide) void follow_kernel(Joining joining) {
  const Pieces& pieces = joining.pieces;
  const uint32_t count = pieces.counts->small;
  for (uint32_t i = blockIdx.x * kWide + threadIdx.x; i < count; i += gridDim.x * kWide) {
    joining.follow(pieces.small[i], 0);
  }
}

// Later rounds look only at what is still small, and at edges between pieces still apart.
__global__ __launch_bounds__(kWide) void choose_again_kernel(Joining joining) {
  const Pieces& pieces = joining.pieces;
  const uint32_t small = pieces.counts->small, edges = pieces.counts->edges;
  const uint32_t own = blockIdx.x * kWide + threadIdx.x, all = gridDim.x * kWide;
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = own - lane; start < small; start += all) {
    const uint32_t i = start + lane;
    bool kept = false;
    uint32_t id = 0;
    if (i < small) {
      id = pieces.small[i];
      pieces.choice[0][id] = kNoChoice;
      kept = pieces.parent[id] == id && pieces.piece[id].area < joining.least;
    }
    if (!__any_sync(cclabel::kAllLanes, kept)) continue;
    const uint32_t at = room_for(kept ? 1 : 0, &pieces.counts->later_small);
    if (kept) pieces.later_small[at] = id;
  }
  for (uint32_t start = own - lane; start < edges; start += all) {
    const uint32_t i = start + lane;
    bool kept = false;
    uint2 edge = {};
    if (i < edges) edge = pieces.edges[i];
    if (edge.x != edge.y) {
      edge = {pieces.find(edge.x), pieces.find(edge.y)};
      kept = edge.x != edge.y && joining.touch(edge.x, edge.y, 1);
    }
    if (!__any_sync(cclabel::kAllLanes, kept)) continue;
    const uint32_t at = room_for(kept ? 1 : 0, &pieces.counts->later_edges);
    if (kept && at < pieces.later_capacity) pieces.later_edges[at] = edge;
  }
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
  const uint32_t small = counts.later_small;
  if (small == 0) return;
  const bool listed = counts.later_edges <= pieces.later_capacity;
  const uint32_t edges = listed ? counts.later_edges : counts.edges;
  const uint2* const edge = listed ? pieces.later_edges : pieces.edges;
  const uint32_t wanted = (edges > small ? edges : small) / JoinRounds::each_block + 1;
  const uint32_t blocks = wanted < gridDim.x ? wanted : gridDim.x;
  if (blockIdx.x >= blocks) return;
  const uint32_t own = blockIdx.x * kThreads + threadIdx.x, all = blocks * kThreads;
  Barrier barrier(&counts.arrivals, blocks);
  for (uint32_t round = 1;; ++round) {
    const int turn = static_cast<int>(round % 2);
    for (uint32_t i = own; i < small; i += all) joining.follow(pieces.later_small[i], turn);
    barrier.meet();
    for (uint32_t i = own; i < small; i += all) {
      pieces.choice[turn][pieces.later_small[i]] = kNoChoice;
    }
    bool chose = false;
    for (uint32_t e = own; e < edges; e += all) {
      const uint32_t a = pieces.find(edge[e].x), b = pieces.find(edge[e].y);
      if (a != b) chose |= joining.touch(a, b, 1 - turn);
    }
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
