// Functions of the CUDA driver that the runtime API does not offer. They are looked up by name at
// run time, so that this code also loads on a machine without a driver and can report the error.
#pragma once

#include <cuda.h>

#include "gpu/runtime/launch.hpp"

namespace regions {

// Returns the driver function `name`, or null if the driver does not have it. `version` selects the
// version of the function's interface, in the format of CUDA_VERSION (12040 means CUDA 12.4).
template <class Function>
Function* find_driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  auto status = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &status);
  const bool found = error == cudaSuccess && status == cudaDriverEntryPointSuccess;
  return found ? reinterpret_cast<Function*>(function) : nullptr;
}

// Returns the driver function `name`, which every supported driver (CUDA 12.0 or later) has. Throws
// DeviceError if it is missing.
template <class Function>
Function* require_driver_function(const char* name) {
  Function* const function = find_driver_function<Function>(name, 12000);
  if (!function) throw DeviceError(std::string("the CUDA driver is too old: it lacks ") + name);
  return function;
}

}  // namespace regions
