// A barrier of all blocks of a cooperative launch, at which each may say something to all.
#pragma once

#include <cuda/atomic>

#include "gpu/maxflow/problem.hpp"

namespace regions::maxflow {

// What is said at the grid barrier, and what is known of a tile.
enum Said : unsigned {
  kUnsettled = 1,  // heights are not final: a tile goes on, or its neighbours must
  kWide = 1,       // of tiles on lists: capacities too large for 16 bits
  kActive = 2,     // excess is on its way
  kSaturated = 4,  // distances too long for 16 bits
  kHalt = 8,       // while loading: capacities too large for 16 bits; later: time is up
};

class GridBarrier {
 public:
  static constexpr int kMaxBlocks = 4095;  // as many as it can count
  struct Words {                           // in shared memory
    unsigned spoken[2];
    unsigned answer;
  };

  // All threads of the block construct theirs together.
  __device__ GridBarrier(Progress::Meeting* meeting, Words* words)
      : meeting_(meeting), words_(words) {
    if (threadIdx.x < 2) words_->spoken[threadIdx.x] = 0;
    __syncthreads();  // the words are zero before any thread speaks
  }

  // Turns so far; the same in every thread of the grid.
  __device__ unsigned turn() const { return turn_; }

  // Every thread's writes before are seen by every thread after. Returns all bits, of the lowest
  // kBits, that any thread said.
  __device__ unsigned meet(unsigned bits) {
    unsigned* spoken = &words_->spoken[turn_ % 2];
    unsigned warp_bits = 0;
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) {
      if (__any_sync(~0u, bits >> bit & 1)) warp_bits |= 1u << bit;
    }
    if (threadIdx.x % 32 == 0 && warp_bits) atomicOr(spoken, warp_bits);
    __syncthreads();  // all of the block have written and spoken, and read the last answer
    if (threadIdx.x == 0) {
      words_->answer = meet_blocks(*spoken);
      *spoken = 0;
    }
    ++turn_;
    __syncthreads();  // the answer is there
    return words_->answer;
  }

 private:
  // A word counts the blocks that came, and for each bit those that said it, so that one atomic
  // tells both and the last look at the word is the answer.
  static constexpr int kBits = 4, kCountBits = 16, kBitCountBits = 12;
  using Count = unsigned long long;

  __device__ unsigned meet_blocks(unsigned bits) const {
    Count say = 1;
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) {
      if (bits >> bit & 1) say += Count{1} << (kCountBits + bit * kBitCountBits);
    }
    // The word of two turns ago: every block had its answer before coming to the last turn.
    if (blockIdx.x == 0) meeting_->words[(turn_ + 1) % 3] = 0;
    const cuda::atomic_ref<Count, cuda::thread_scope_device> word(meeting_->words[turn_ % 3]);
    word.fetch_add(say, cuda::memory_order_release);
    Count seen;
    do {
      seen = word.load(cuda::memory_order_acquire);
    } while (seen % (1 << kCountBits) != gridDim.x);
    unsigned answer = 0;
#pragma unroll
    for (int bit = 0; bit < kBits; ++bit) {
      if (seen >> (kCountBits + bit * kBitCountBits) & ((1 << kBitCountBits) - 1)) {
        answer |= 1u << bit;
      }
    }
    return answer;
  }

  Progress::Meeting* meeting_;
  Words* words_;
  unsigned turn_ = 0;
};

}  // namespace regions::maxflow
