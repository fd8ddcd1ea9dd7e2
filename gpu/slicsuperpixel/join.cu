// The rounds of joining. The first ones are wide and hand what is left to the next in lists of
// their own; one block does the rest.
#include <cuda/atomic>

#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/joining.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = JoinRounds::threads;
constexpr int kLast = JoinRounds::last_threads;

// Every small piece goes where the chain of its round's choices ends. Counts and the first entries
// are fetched at once: each wait for memory is a tenth of the kernel.
__global__ __launch_bounds__(kThreads) void follow_kernel(Joining joining, int round) {
  await_last();
  const Pieces& pieces = joining.pieces;
  const uint32_t own = blockIdx.x * kThreads + threadIdx.x;
  uint32_t id = own < pieces.small_capacity(round) ? pieces.small[round][own] : 0;
  const JoinCounts counts = *pieces.counts;
  if (round >= counts.wide_rounds()) return;
  const uint32_t count = counts.small[round];
  for (uint32_t i = own; i < count;) {
    joining.follow(id, round % 2);
    i += gridDim.x * kThreads;
    if (i < count) id = pieces.small[round][i];
  }
}

// Looks again at an edge: its pieces by now, or twice the same if it cannot matter any more.
// A piece that was a representative when the edge was written has joined one at most since then.
__device__ uint2 touch_again(const Joining& joining, const uint2& edge, int turn) {
  if (edge.x == edge.y) return {};
  const uint32_t* const parent = joining.pieces.parent;
  const uint2 now = {__ldcg(parent + edge.x), __ldcg(parent + edge.y)};
  return now.x != now.y && joining.touch(now.x, now.y, turn) ? now : uint2{};
}

// Forgets a choice that has been followed. Returns whether the piece is still there, and small.
__device__ bool is_left(const Joining& joining, uint32_t id, int turn) {
  const Pieces& pieces = joining.pieces;
  pieces.choice[turn][id] = kNoChoice;
  const uint32_t parent = __ldcg(pieces.parent + id), area = __ldcg(&pieces.piece[id].area);
  return parent == id && area < joining.least;
}

// Where the threads of a block that want to may put an entry in a list of *count.
class BlockRoom {
 public:
  __device__ uint32_t find(bool wants, uint32_t* count) {
    const unsigned own = __ballot_sync(kAllLanes, wants);
    const int warp = static_cast<int>(threadIdx.x / 32);
    if (threadIdx.x % 32 == 0) wanted_[warp] = static_cast<uint32_t>(__popc(own));
    __syncthreads();  // all warps have counted
    uint32_t before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) {
      if (w < warp) before += wanted_[w];
      all += wanted_[w];
    }
    if (threadIdx.x == 0 && all > 0) start_ = atomicAdd(count, all);
    __syncthreads();  // there is room, and no thread reads the warps' counts
    return start_ + before +
           static_cast<uint32_t>(__popc(own & below(static_cast<int>(threadIdx.x % 32))));
  }

 private:
  uint32_t wanted_[kThreads / 32];
  uint32_t start_;
};

// Edges first, then small pieces, a block's worth at a time.
__global__ __launch_bounds__(kThreads) void choose_again_kernel(Joining joining, int round) {
  __shared__ BlockRoom room;
  await_last();
  const Pieces& pieces = joining.pieces;
  const uint32_t own = blockIdx.x * kThreads + threadIdx.x;
  uint2 edge = own < pieces.edge_capacity(round) ? pieces.edges[round][own] : uint2{};
  const JoinCounts counts = *pieces.counts;
  if (round >= counts.wide_rounds()) return;
  const JoinLists lists(pieces, counts, round);
  const bool has_read = lists.edges == pieces.edges[round];
  const int next = round + 1;
  const uint32_t for_edges = (lists.edge_count + kThreads - 1) / kThreads;
  const uint32_t for_small = (lists.small_count + kThreads - 1) / kThreads;
  for (uint32_t job = blockIdx.x; job < for_edges + for_small; job += gridDim.x) {
    if (job < for_edges) {
      const uint32_t e = job * kThreads + threadIdx.x;
      const bool exists = e < lists.edge_count;
      if (!has_read || job != blockIdx.x) edge = exists ? lists.edges[e] : uint2{};
      if (exists) lists.edges[e] = edge = touch_again(joining, edge, next % 2);
      const bool stays = exists && edge.x != edge.y;
      const uint32_t at = room.find(stays, &pieces.counts->edges[next]);
      if (stays && at < pieces.edge_capacity(next)) pieces.edges[next][at] = edge;
    } else {
      const uint32_t i = (job - for_edges) * kThreads + threadIdx.x;
      const uint32_t id = i < lists.small_count ? lists.small[i] : 0;
      const bool stays = i < lists.small_count && is_left(joining, id, round % 2);
      const uint32_t at = room.find(stays, &pieces.counts->small[next]);
      if (stays) pieces.small[next][at] = id;
    }
  }
}

// Blocks of one launch that wait for each other.
class Barrier {
 public:
  __device__ Barrier(uint32_t* arrivals, uint32_t blocks) : arrivals_(arrivals), blocks_(blocks) {}

  // Every thread's writes before are seen by every thread after, if those read past the L1 cache.
  __device__ void meet() {
    __syncthreads();  // all of the block have come
    if (threadIdx.x == 0) {
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

// The rounds that are left, by `all` threads. meet(chose) waits for all and says whether any
// thread has chosen.
template <class Meet>
__device__ void finish(const Joining& joining, const JoinLists& lists, int turn, uint32_t own,
                       uint32_t all, Meet meet) {
  const Pieces& pieces = joining.pieces;
  bool chose = true;
  for (; chose; turn = 1 - turn) {
    for (uint32_t i = own; i < lists.small_count; i += all) joining.follow(lists.small[i], turn);
    meet(false);
    for (uint32_t i = own; i < lists.small_count; i += all) {
      pieces.choice[turn][lists.small[i]] = kNoChoice;
    }
    chose = false;
    for (uint32_t e = own; e < lists.edge_count; e += all) {
      const uint2 edge = touch_again(joining, lists.edges[e], 1 - turn);
      lists.edges[e] = edge;
      chose |= edge.x != edge.y;
    }
    chose = meet(chose);
  }
}

// Of little by one block, of much, as noise leaves, by several.
__global__ __launch_bounds__(kLast) void finish_kernel(Joining joining) {
  await_last();
  const JoinCounts counts = *joining.pieces.counts;
  const int rounds = counts.wide_rounds();
  const JoinLists lists(joining.pieces, counts, rounds);
  if (lists.edge_count == 0) return;
  const uint32_t wanted =
      counts.has_few(rounds) ? 1 : lists.edge_count / JoinRounds::last_edges + 1;
  const uint32_t blocks = min(gridDim.x, wanted);
  if (blockIdx.x >= blocks) return;
  if (blocks == 1) {
    return finish(joining, lists, rounds % 2, threadIdx.x, kLast,
                  [](bool chose) { return __syncthreads_or(chose) != 0; });
  }
  JoinCounts& shared = *joining.pieces.counts;
  Barrier barrier(&shared.arrivals, blocks);
  uint32_t meeting = 0;
  finish(joining, lists, rounds % 2, blockIdx.x * kLast + threadIdx.x, blocks * kLast,
         [&](bool chose) {
           volatile uint32_t* const last = &shared.last_choice;
           ++meeting;
           if (chose) *last = meeting;
           barrier.meet();
           return *last == meeting;
         });
}

// The rounds after the first choices.
void join_small(const Joining& joining, cudaStream_t stream) {
  for (int round = 0; round < JoinRounds::wide; ++round) {
    launch_chained(follow_kernel, JoinRounds::follow_blocks, kThreads, 0, stream, joining, round);
    launch_chained(choose_again_kernel, JoinRounds::choose_blocks, kThreads, 0, stream, joining,
                   round);
  }
  launch_chained_as(Blocks::cooperative, finish_kernel,
                    static_cast<unsigned>(joining.pieces.join_blocks), kLast, 0, stream, joining);
}

}  // namespace

void join_pieces(const Pieces& pieces, const StayRule& rule, const SlicScale& scale,
                 cudaStream_t stream) {
  const Joining small = {pieces, scale, rule.least};
  make_first_choices(small, stream);
  join_small(small, stream);
  if (rule.wanted == 0) return;
  settle(pieces, stream);
  make_first_choices({pieces, scale, rule.certain}, stream);
  mark_staying(pieces, rule, stream);
  join_small({pieces, scale, Piece::kStays}, stream);
}

int join_blocks() {
  return std::min(resident_blocks(finish_kernel, kLast), JoinRounds::most_blocks);
}

}  // namespace regions::slic
