// A barrier of all blocks of a cooperative launch, at which each may say something to all.
#pragma once

#include <cuda/atomic>

#include "gpu/maxflow/problem.hpp"

namespace regions::maxflow {

class GridBarrier {
 public:
  struct Words {  // in shared memory
    unsigned spoken[2];
    unsigned answer;
  };

  // All threads of the block construct theirs together.
  __device__ GridBarrier(Progress::Meeting* meeting, Words* words)
      : meeting_(meeting), words_(words) {
    if (threadIdx.x < 2) words_->spoken[threadIdx.x] = 0;
    __syncthreads();  // the words are zero before anybody speaks
  }

  // Turns so far; the same in every thread of the grid.
  __device__ unsigned turn() const { return turn_; }

  // Every thread's writes before are seen by every thread after. Returns all bits that any thread
  // said. They are joined with `or`, so order does not matter.
  __device__ unsigned meet(unsigned bits) {
    unsigned* spoken = &words_->spoken[turn_ % 2];
    const unsigned warp_bits = __reduce_or_sync(~0u, bits);
    if (threadIdx.x % 32 == 0 && warp_bits) atomicOr(spoken, warp_bits);
    __syncthreads();  // all of the block have written and spoken, and read the last answer
    if (threadIdx.x == 0) {
      unsigned* said = meeting_->said;
      if (*spoken) atomicOr(&said[turn_ % 3], *spoken);
      *spoken = 0;
      // The word of two turns ago: everybody read it before coming to the last turn.
      if (blockIdx.x == 0) said[(turn_ + 1) % 3] = 0;
      __threadfence();
      using Counter = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
      Counter arrived(meeting_->arrived);
      arrived.fetch_add(1, cuda::memory_order_acq_rel);
      const unsigned all = (turn_ + 1) * gridDim.x;
      while (static_cast<int>(arrived.load(cuda::memory_order_acquire) - all) < 0) {
      }
      words_->answer = __ldcg(&said[turn_ % 3]);
    }
    ++turn_;
    __syncthreads();  // the answer is there
    return words_->answer;
  }

 private:
  Progress::Meeting* meeting_;
  Words* words_;
  unsigned turn_ = 0;
};

}  // namespace regions::maxflow
