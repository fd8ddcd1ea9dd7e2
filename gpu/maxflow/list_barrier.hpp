// The barrier of the few blocks that work on lists: the hardware's where they are a cluster.
#pragma once

#include "gpu/maxflow/grid_barrier.hpp"

namespace regions::maxflow {

class ListBarrier {
 public:
  // All threads of the block construct theirs together.
  __device__ ListBarrier(Progress* progress, GridBarrier::Words* words)
      : grid_(&progress->tiles, words), said_(progress->said) {
#if __CUDA_ARCH__ >= 900
    unsigned blocks;
    asm("mov.u32 %0, %cluster_nctarank;" : "=r"(blocks));
    is_cluster_ = blocks == gridDim.x;
#endif
  }

  // Every thread's writes before are seen by every thread after. Returns all bits that any thread
  // ever said.
  __device__ unsigned meet(unsigned bits) {
#if __CUDA_ARCH__ >= 900
    if (is_cluster_) {
      unsigned* said = &said_[turn_++ % 2];
      if (bits) atomicOr(said, bits);
      asm volatile(
          "barrier.cluster.arrive.release.aligned;\n"
          "barrier.cluster.wait.acquire.aligned;" ::
              : "memory");
      return all_ |= __ldcg(said);
    }
#endif
    all_ |= grid_.meet(bits);
    return all_;
  }

 private:
  GridBarrier grid_;
  unsigned* said_;  // [2], by turns: a thread that is late reads no bits of the next one
  unsigned turn_ = 0;
  unsigned all_ = 0;
  bool is_cluster_ = false;
};

}  // namespace regions::maxflow
