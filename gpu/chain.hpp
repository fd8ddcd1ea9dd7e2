// Kernels in a chain: the blocks of one may come up while those of the one before are still at work
// (programmatic dependent launch, compute capability 9.0), which hides what it takes to start: of
// kernels of microseconds, a good part of the time. Each waits before it touches what another
// kernel of the frame writes or reads.
#pragma once

#include "gpu/per_device.hpp"

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

// Both.
__device__ inline void await_last() {
  let_next_start();
  wait_for_earlier();
}

#endif

// Whether our kernels, as compiled for the device, wait in wait_for_earlier().
inline bool can_chain(const void* kernel) {
  static PerDevice can;
  return can.get([kernel] { return code_version(kernel) >= 90; });
}

// Puts a kernel that waits in wait_for_earlier() on the stream.
inline void launch_waiting(const Launch& launch, bool cooperative) {
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeCooperative;
  attributes[1].val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = launch.grid;
  config.blockDim = launch.block;
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = launch.stream;
  config.attrs = attributes;
  config.numAttrs = cooperative ? 2 : 1;
  check(cudaLaunchKernelExC(&config, launch.kernel, launch.arguments), "launching a kernel");
}

// launch() for a kernel that waits in wait_for_earlier() or await_last().
template <class Kernel, class... Given>
void launch_chained(Kernel* kernel, Given&&... given) {
  if (launch_taker || !can_chain(reinterpret_cast<const void*>(kernel))) {
    return launch(kernel, std::forward<Given>(given)...);
  }
  with_launch([](const Launch& ready) { launch_waiting(ready, false); }, kernel,
              std::forward<Given>(given)...);
}

// launch_cooperative() for such a kernel.
template <class Kernel, class... Given>
void launch_cooperative_chained(Kernel* kernel, Given&&... given) {
  if (!can_chain(reinterpret_cast<const void*>(kernel))) {
    return launch_cooperative(kernel, std::forward<Given>(given)...);
  }
  with_launch([](const Launch& ready) { launch_waiting(ready, true); }, kernel,
              std::forward<Given>(given)...);
}

}  // namespace regions
