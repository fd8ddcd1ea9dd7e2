// Calls of the CUDA driver that the runtime has no counterpart for, asked for by name at run time,
// so that a machine without a driver loads this code and is told so.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace regions {

// Null where the driver has no such call. `version`: of its interface, as the call came to be.
template <class Function>
Function* driver_call(const char* name, unsigned version = 12000) {
  void* found = nullptr;
  auto status = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status);
  const bool is_there = error == cudaSuccess && status == cudaDriverEntryPointSuccess;
  return is_there ? reinterpret_cast<Function*>(found) : nullptr;
}

}  // namespace regions
