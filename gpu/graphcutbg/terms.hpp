// What all pixels of a frame need to know of it, in the shared memory of each block: lanes look up
// different entries of the link table at once, which constant memory would answer one by one.
#pragma once

#include "gpu/graphcutbg/phases.hpp"

namespace regions::graphcut {

struct Terms {
  FramePlan frame;
  EnergyPlan energy;
};

class SharedTerms {
 public:
  // The whole block calls it.
  __device__ const Terms& load(const FramePlan& frame, const EnergyPlan& energy) {
    auto& terms = reinterpret_cast<Terms&>(words_);
    copy(frame, terms.frame);
    copy(energy, terms.energy);
    __syncthreads();  // the terms are whole
    return terms;
  }

 private:
  template <class T>
  __device__ static void copy(const T& from, T& to) {
    static_assert(sizeof(T) % sizeof(uint32_t) == 0 && std::is_trivially_copyable_v<T>);
    const unsigned threads = blockDim.x * blockDim.y;
    for (unsigned i = threadIdx.y * blockDim.x + threadIdx.x; i < sizeof(T) / sizeof(uint32_t);
         i += threads) {
      reinterpret_cast<uint32_t*>(&to)[i] = reinterpret_cast<const uint32_t*>(&from)[i];
    }
  }

  alignas(Terms) uint32_t words_[sizeof(Terms) / sizeof(uint32_t)];
};

}  // namespace regions::graphcut
