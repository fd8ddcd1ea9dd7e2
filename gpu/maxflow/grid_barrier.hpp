// Barriers of all blocks of a grid, at which threads can also vote, and functions by which all
// blocks of a grid sum up and write the results of a cut.
#pragma once

#include <cuda/atomic>

#include "gpu/maxflow/problem.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::maxflow {

// Bits that threads pass to a barrier as their votes. They also describe the state of a tile.
enum Vote : unsigned {
  kNotConverged = 1,   // in a relabel: heights are not final in the tile or in a neighbouring tile
  kExceeds16Bits = 1,  // in the worklist kernel: capacities need more than 16 bits
  kActive = 2,         // there is excess that can reach the sink
  kSaturated = 4,      // distances to the sink need more than 16 bits
  kStop = 8,  // while tiles are loaded: capacities need more than 16 bits; later: out of time
};

// A barrier of all blocks of a cooperative launch. It returns the OR of all votes.
class GridBarrier {
 public:
  static constexpr int kMaxBlocks = 4095;  // largest number that fits in kVoteCountBits bits
  // A block's data of the barrier, in shared memory.
  struct SharedWords {
    unsigned block_votes[2];  // [epoch % 2], votes of the block's threads
    unsigned result;          // votes of all blocks at the last barrier
  };

  // All threads of the block must construct it together.
  __device__ GridBarrier(Progress::BarrierState* state, SharedWords* words)
      : state_(state), words_(words) {
    if (threadIdx.x < 2) words_->block_votes[threadIdx.x] = 0;
    __syncthreads();  // block_votes is zero before any thread votes
  }

  // Number of completed barriers; the same in all threads of the grid.
  __device__ unsigned epoch() const { return epoch_; }

  // Waits for all threads of the grid. Writes before the barrier are visible to all threads after
  // the barrier. Returns the OR of the lowest kVoteBits bits of all threads' votes.
  __device__ unsigned sync_or(unsigned bits) {
    unsigned* block_votes = &words_->block_votes[epoch_ % 2];
    unsigned warp_bits = 0;
#pragma unroll
    for (int bit = 0; bit < kVoteBits; ++bit) {
      if (__any_sync(~0u, bits >> bit & 1)) warp_bits |= 1u << bit;
    }
    if (threadIdx.x % 32 == 0 && warp_bits) atomicOr(block_votes, warp_bits);
    __syncthreads();  // all threads of the block have voted and have read the previous result
    if (threadIdx.x == 0) {
      words_->result = sync_blocks(*block_votes);
      *block_votes = 0;
    }
    ++epoch_;
    __syncthreads();  // the result is visible to all threads
    return words_->result;
  }

 private:
  // One 64-bit word counts the blocks that have arrived (kBlockCountBits bits) and, for each of the
  // kVoteBits vote bits, the blocks that have set it (kVoteCountBits bits each). A block therefore
  // announces its arrival and its votes by a single atomic addition.
  static constexpr int kVoteBits = 4, kBlockCountBits = 16, kVoteCountBits = 12;
  using Count = unsigned long long;

  // Announces the block's votes and waits for all blocks. Returns the OR of the votes of all
  // blocks. Only one thread of each block calls this function.
  __device__ unsigned sync_blocks(unsigned bits) const {
    Count increment = 1;
#pragma unroll
    for (int bit = 0; bit < kVoteBits; ++bit) {
      if (bits >> bit & 1) increment += Count{1} << (kBlockCountBits + bit * kVoteCountBits);
    }
    // Clears the word of two epochs ago. Every block read it before arriving at the previous
    // barrier.
    if (blockIdx.x == 0) state_->words[(epoch_ + 1) % 3] = 0;
    const cuda::atomic_ref<Count, cuda::thread_scope_device> word(state_->words[epoch_ % 3]);
    word.fetch_add(increment, cuda::memory_order_release);
    Count value;
    do {
      value = word.load(cuda::memory_order_acquire);
    } while (value % (1 << kBlockCountBits) != gridDim.x);
    unsigned result = 0;
#pragma unroll
    for (int bit = 0; bit < kVoteBits; ++bit) {
      if (value >> (kBlockCountBits + bit * kVoteCountBits) & ((1 << kVoteCountBits) - 1)) {
        result |= 1u << bit;
      }
    }
    return result;
  }

  Progress::BarrierState* state_;
  SharedWords* words_;
  unsigned epoch_ = 0;
};

// The barrier of the worklist kernel. It is the hardware's cluster barrier if the grid is one
// cluster, and otherwise a GridBarrier.
class WorklistBarrier {
 public:
  // All threads of the block must construct it together.
  __device__ WorklistBarrier(Progress* progress, GridBarrier::SharedWords* words)
      : grid_barrier_(&progress->tiles, words), votes_(progress->votes) {
#if __CUDA_ARCH__ >= 900
    unsigned blocks;
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(blocks));
    is_cluster_ = blocks == gridDim.x;
#endif
  }

  // Waits for all threads of the grid. Writes before the barrier are visible to all threads after
  // the barrier. Returns the OR of all votes at this barrier and at all earlier barriers.
  __device__ unsigned sync_or(unsigned bits) {
#if __CUDA_ARCH__ >= 900
    if (is_cluster_) {
      unsigned* votes = &votes_[epoch_++ % 2];
      if (bits) atomicOr(votes, bits);
      asm volatile(
          "barrier.cluster.arrive.release.aligned;\n"
          "barrier.cluster.wait.acquire.aligned;" ::
              : "memory");
      return all_votes_ |= __ldcg(votes);
    }
#endif
    all_votes_ |= grid_barrier_.sync_or(bits);
    return all_votes_;
  }

 private:
  GridBarrier grid_barrier_;
  // [epoch % 2], OR of the votes. There are two words, so that a late thread of one epoch does not
  // read votes of the next epoch.
  unsigned* votes_;
  unsigned epoch_ = 0;
  unsigned all_votes_ = 0;  // OR of the votes at all barriers so far
  bool is_cluster_ = false;
};

// Sums over the tiles of a thread block, in shared memory.
struct BlockSums {
  unsigned long long sink_flow;  // flow into the sink
  unsigned long long gap;        // excess that could still reach the sink

  // Sets the sums to zero. All threads of the block must call this function.
  __device__ void clear() {
    if (threadIdx.x == 0) sink_flow = gap = 0;
    __syncthreads();  // the sums are zero before any thread adds
  }
  // Adds the numbers of all lanes of the warp to the sums. All lanes must call this function.
  __device__ void add(long long lane_sink_flow, long long lane_gap) {
    lane_sink_flow = warp_sum64(lane_sink_flow);
    lane_gap = warp_sum64(lane_gap);
    if (threadIdx.x % 32 != 0) return;
    atomicAdd(&sink_flow, static_cast<unsigned long long>(lane_sink_flow));
    atomicAdd(&gap, static_cast<unsigned long long>(lane_gap));
  }
};

// Writes the results of the cut. If distances needed more than 16 bits, it instead makes the plain
// solver continue from the flows in link_flow. `active`: whether a limit left active pixels. All
// threads of all blocks must call this function.
template <class Barrier>
__device__ void write_cut_results(const Problem& problem, const BlockSums& sums, Barrier& barrier,
                                  int iterations, unsigned votes, bool active) {
  Progress& progress = *problem.progress;
  __syncthreads();  // all threads of the block have added to the sums
  if (threadIdx.x == 0) {
    // The numbers are integers, so the order of the additions does not matter.
    atomicAdd(&progress.sink_flow, sums.sink_flow);
    atomicAdd(&progress.gap, sums.gap);
  }
  barrier.sync_or(0);
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  progress.iterations = iterations;
  if (votes & kSaturated) {
    progress.sink_flow = progress.gap = 0;
    progress.must_continue = 1;
    return;
  }
  problem.write_results(iterations, !active);
}

}  // namespace regions::maxflow
