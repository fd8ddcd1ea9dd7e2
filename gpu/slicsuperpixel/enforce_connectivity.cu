// Enforces the connectivity of superpixels on the GPU in several merge rounds. The first rounds are
// wide: each round runs many blocks and writes the remaining edges (pairs of touching fragments)
// and small fragments to lists for the next round. Then a single kernel runs all remaining rounds.
// It uses one block, or several blocks if many fragments remain, for example in noise.
#include <cuda/atomic>

#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/slicsuperpixel.hpp"

namespace regions::slicsuperpixel {
namespace {

constexpr int kThreads = MergeRounds::threads;
constexpr int kFinishThreads = MergeRounds::last_threads;

// Merges every small fragment into the end of its chain of choices, see MergePass. The counts and
// the first list entries are loaded at the same time, because each wait for memory takes a tenth of
// the kernel's time.
__global__ __launch_bounds__(kThreads) void follow_choices_kernel(MergePass pass, int round) {
  pdl_trigger_and_wait();
  const Fragments& fragments = pass.fragments;
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  uint32_t id = thread < fragments.small_capacity(round) ? fragments.small[round][thread] : 0;
  const MergeCounts counts = *fragments.counts;
  if (round >= counts.wide_rounds()) return;
  const uint32_t count = counts.small[round];
  for (uint32_t i = thread; i < count;) {
    pass.follow_chain(id, round % 2);
    i += gridDim.x * kThreads;
    if (i < count) id = fragments.small[round][i];
  }
}

// Updates an edge after a round: finds the current roots of its two fragments, and offers the
// fragments to each other as choices. Returns the two roots, or two equal values if the edge is no
// longer needed. The parent of a fragment is its root: the fragment was a root when the edge was
// written and has been merged at most once.
__device__ uint2 update_edge(const MergePass& pass, const uint2& edge, int parity) {
  if (edge.x == edge.y) return {};
  const uint32_t* const parent = pass.fragments.parent;
  const uint2 now = {__ldcg(parent + edge.x), __ldcg(parent + edge.y)};
  return now.x != now.y && pass.offer_choices(now.x, now.y, parity) ? now : uint2{};
}

// Deletes the choice of a fragment after a round has used it. Returns true if the fragment is still
// a root and still small.
__device__ bool delete_choice(const MergePass& pass, uint32_t id, int parity) {
  const Fragments& fragments = pass.fragments;
  fragments.choice[parity][id] = kNoChoice;
  const uint32_t parent = __ldcg(fragments.parent + id), area = __ldcg(&fragments.sums[id].area);
  return parent == id && area < pass.min_size;
}

// Shared memory by which a block reserves one list entry for each thread that needs an entry.
class BlockReservation {
 public:
  // Reserves entries in a list of *count entries, and increases *count. Returns the index of this
  // thread's entry, if it needs one. All threads of the block must call this function.
  __device__ uint32_t reserve(bool needs_entry, uint32_t* count) {
    const unsigned lanes = __ballot_sync(kAllLanes, needs_entry);
    const int warp = static_cast<int>(threadIdx.x / 32);
    if (threadIdx.x % 32 == 0) warp_counts_[warp] = static_cast<uint32_t>(__popc(lanes));
    __syncthreads();  // warp_counts_ is complete
    uint32_t before = 0, total = 0;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w) {
      if (w < warp) before += warp_counts_[w];
      total += warp_counts_[w];
    }
    if (threadIdx.x == 0 && total > 0) start_ = atomicAdd(count, total);
    __syncthreads();  // start_ is written, and all threads have read warp_counts_
    return start_ + before +
           static_cast<uint32_t>(__popc(lanes & bits_below(static_cast<int>(threadIdx.x % 32))));
  }

 private:
  uint32_t warp_counts_[kThreads / 32];
  uint32_t start_;
};

// Prepares the next round: remaining small fragments choose a neighbour again. The edges and small
// fragments that are still needed are written to the lists of the next round. A block processes one
// item at a time: kThreads edges or kThreads small fragments. The items with edges come first, then
// the items with small fragments.
__global__ __launch_bounds__(kThreads) void choose_again_kernel(MergePass pass, int round) {
  __shared__ BlockReservation reservation;
  pdl_trigger_and_wait();
  const Fragments& fragments = pass.fragments;
  const uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  uint2 edge = thread < fragments.edge_capacity(round) ? fragments.edges[round][thread] : uint2{};
  const MergeCounts counts = *fragments.counts;
  if (round >= counts.wide_rounds()) return;
  const MergeLists lists(fragments, counts, round);
  const bool uses_loaded_edge = lists.edges == fragments.edges[round];
  const int next = round + 1;
  const uint32_t edge_items = (lists.edge_count + kThreads - 1) / kThreads;
  const uint32_t small_items = (lists.small_count + kThreads - 1) / kThreads;
  for (uint32_t item = blockIdx.x; item < edge_items + small_items; item += gridDim.x) {
    if (item < edge_items) {
      const uint32_t e = item * kThreads + threadIdx.x;
      const bool exists = e < lists.edge_count;
      if (!uses_loaded_edge || item != blockIdx.x) edge = exists ? lists.edges[e] : uint2{};
      if (exists) lists.edges[e] = edge = update_edge(pass, edge, next % 2);
      const bool is_needed = exists && edge.x != edge.y;
      const uint32_t index = reservation.reserve(is_needed, &fragments.counts->edges[next]);
      if (is_needed && index < fragments.edge_capacity(next)) fragments.edges[next][index] = edge;
    } else {
      const uint32_t i = (item - edge_items) * kThreads + threadIdx.x;
      const uint32_t id = i < lists.small_count ? lists.small[i] : 0;
      const bool is_needed = i < lists.small_count && delete_choice(pass, id, round % 2);
      const uint32_t index = reservation.reserve(is_needed, &fragments.counts->small[next]);
      if (is_needed) fragments.small[next][index] = id;
    }
  }
}

// A barrier for the first `blocks` blocks of a cooperative launch. `arrivals` counts the arrivals
// of these blocks; it is zero before the first barrier.
class GridBarrier {
 public:
  __device__ GridBarrier(uint32_t* arrivals, uint32_t blocks)
      : arrivals_(arrivals), blocks_(blocks) {}

  // Waits for all blocks. After the barrier, threads that bypass the L1 cache see all data that was
  // written earlier.
  __device__ void wait() {
    __syncthreads();  // all threads of the block have arrived
    if (threadIdx.x == 0) {
      const cuda::atomic_ref<uint32_t, cuda::thread_scope_device> arrivals(*arrivals_);
      expected_ += blocks_;
      arrivals.fetch_add(1, cuda::memory_order_acq_rel);
      while (arrivals.load(cuda::memory_order_acquire) < expected_) {
      }
    }
    __syncthreads();  // thread 0 has seen the arrival of all blocks
  }

 private:
  uint32_t* arrivals_;
  uint32_t blocks_;
  uint32_t expected_ = 0;
};

// Runs the remaining rounds with `thread_count` threads, until no fragment chooses a neighbour any
// more. wait_for_all(chose) waits until all of these threads have called it, and returns true if
// any thread passed true.
template <class Wait>
__device__ void run_rounds(const MergePass& pass, const MergeLists& lists, int parity,
                           uint32_t thread, uint32_t thread_count, Wait wait_for_all) {
  const Fragments& fragments = pass.fragments;
  bool chose = true;
  for (; chose; parity = 1 - parity) {
    for (uint32_t i = thread; i < lists.small_count; i += thread_count) {
      pass.follow_chain(lists.small[i], parity);
    }
    wait_for_all(false);
    for (uint32_t i = thread; i < lists.small_count; i += thread_count) {
      fragments.choice[parity][lists.small[i]] = kNoChoice;
    }
    chose = false;
    for (uint32_t e = thread; e < lists.edge_count; e += thread_count) {
      const uint2 edge = update_edge(pass, lists.edges[e], 1 - parity);
      lists.edges[e] = edge;
      chose |= edge.x != edge.y;
    }
    chose = wait_for_all(chose);
  }
}

// Runs the remaining rounds. Uses one block if few edges and fragments remain, else several blocks.
__global__ __launch_bounds__(kFinishThreads) void remaining_rounds_kernel(MergePass pass) {
  pdl_trigger_and_wait();
  const MergeCounts counts = *pass.fragments.counts;
  const int rounds = counts.wide_rounds();
  const MergeLists lists(pass.fragments, counts, rounds);
  if (lists.edge_count == 0) return;
  const uint32_t needed_blocks =
      counts.has_few(rounds) ? 1 : lists.edge_count / MergeRounds::last_edges + 1;
  const uint32_t blocks = min(gridDim.x, needed_blocks);
  if (blockIdx.x >= blocks) return;
  if (blocks == 1) {
    return run_rounds(pass, lists, rounds % 2, threadIdx.x, kFinishThreads,
                      [](bool chose) { return __syncthreads_or(chose) != 0; });
  }
  MergeCounts& shared = *pass.fragments.counts;
  GridBarrier barrier(&shared.arrivals, blocks);
  uint32_t barrier_number = 0;
  run_rounds(pass, lists, rounds % 2, blockIdx.x * kFinishThreads + threadIdx.x,
             blocks * kFinishThreads, [&](bool chose) {
               volatile uint32_t* const last = &shared.last_choice;
               ++barrier_number;
               if (chose) *last = barrier_number;
               barrier.wait();
               return *last == barrier_number;
             });
}

// Runs all merge rounds, after make_first_choices().
void merge_small(const MergePass& pass, cudaStream_t stream) {
  for (int round = 0; round < MergeRounds::wide; ++round) {
    launch_pdl(follow_choices_kernel, MergeRounds::follow_blocks(), kThreads, 0, stream, pass,
               round);
    launch_pdl(choose_again_kernel, MergeRounds::choose_blocks(), kThreads, 0, stream, pass, round);
  }
  launch_pdl_as(GridKind::cooperative, remaining_rounds_kernel,
                static_cast<unsigned>(pass.fragments.merge_blocks), kFinishThreads, 0, stream,
                pass);
}

}  // namespace

void enforce_connectivity(const Fragments& fragments, const RetentionRule& rule,
                          const SlicScale& scale, cudaStream_t stream) {
  const MergePass small = {fragments, scale, rule.min_size};
  make_first_choices(small, stream);
  merge_small(small, stream);
  if (rule.superpixels == 0) return;
  flatten_fragments(fragments, stream);
  make_first_choices({fragments, scale, rule.certain}, stream);
  mark_retained(fragments, rule, stream);
  merge_small({fragments, scale, Fragment::kRetained}, stream);
}

int max_merge_blocks() {
  return std::min(resident_blocks(remaining_rounds_kernel, kFinishThreads),
                  MergeRounds::max_blocks());
}

}  // namespace regions::slicsuperpixel
