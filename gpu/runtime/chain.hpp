// Kernels in a chain: the blocks of one may come up while those of the one before are still at work
// (programmatic dependent launch, compute capability 9.0), which hides what it takes to start: of
// kernels of microseconds, a good part of the time. Each waits before it touches what another
// kernel of the frame writes or reads, unless that one is known to be complete.
#pragma once

#include "gpu/runtime/per_device.hpp"

namespace regions {

#ifdef __CUDACC__

// The next kernel's blocks may come up. All blocks of this one are there by then, so that those do
// not take their place.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Everything launched before is complete after this. All blocks must call it.
__device__ inline void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Both: the next kernel's blocks may wait beside this one's, while the one before is at work.
__device__ inline void await_last() {
  let_next_start();
  wait_for_earlier();
}

// The same in the other order: when the next kernel's blocks come up, all that was launched before
// this one is complete, so that they may read it before they wait.
__device__ inline void wait_then_let_start() {
  wait_for_earlier();
  let_next_start();
}

#endif

// Whether our kernels, as compiled for the device, wait in wait_for_earlier().
inline bool can_chain(const void* kernel) {
  static PerDevice can;
  return can.get([kernel] { return code_version(kernel) >= 90; });
}

// launch_as() for a kernel that waits in one of the functions above.
template <class Kernel, class... Given>
void launch_chained_as(Blocks blocks, Kernel* kernel, Given&&... given) {
  const bool can = can_chain(reinterpret_cast<const void*>(kernel));
  launch_as(blocks, can ? Begin::early : Begin::after, kernel, std::forward<Given>(given)...);
}
template <class Kernel, class... Given>
void launch_chained(Kernel* kernel, Given&&... given) {
  launch_chained_as(Blocks::apart, kernel, std::forward<Given>(given)...);
}

}  // namespace regions
