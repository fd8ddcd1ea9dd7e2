// Kernels in a chain: each is brought onto the multiprocessors while the one before still runs, and
// waits there until that is done (programmatic dependent launch, compute capability 9.0). Of
// kernels of microseconds, starting takes a good part of the time.
#pragma once

#include <cuda_runtime.h>

#include "gpu/launch.hpp"

namespace regions::volumes {

// Runs a kernel that begins with wait_for_earlier().
template <class... Declared, class... Given>
void launch_next(void (*kernel)(Declared...), dim3 grid, dim3 block, size_t shared_bytes,
                 cudaStream_t stream, Given&&... given) {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "asking what the device is");
  if (major < 9) {
    return launch(kernel, grid, block, shared_bytes, stream, std::forward<Given>(given)...);
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  may_fail(Fault::launch);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  [&](Declared... arguments) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    check(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers),
          "launching a kernel");
  }(std::forward<Given>(given)...);
}

#ifdef __CUDACC__

// The next kernel of the chain may come onto the multiprocessors. All blocks of this one are there
// by then, so that those do not take their place.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Until all that kernels before wrote is there.
__device__ inline void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

#endif

}  // namespace regions::volumes
