// Calls of the driver that the runtime has no counterpart for. They are asked for by name at run
// time, so that a machine without a driver loads this code and is told so.
#pragma once

#include <cuda.h>

#include "gpu/runtime/launch.hpp"

namespace regions {

// Null where the driver does not have it. `version`: the interface's, as CUDA_VERSION counts.
template <class Function>
Function* find_driver_call(const char* name, unsigned version) {
  void* function = nullptr;
  auto status = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &status);
  const bool found = error == cudaSuccess && status == cudaDriverEntryPointSuccess;
  return found ? reinterpret_cast<Function*>(function) : nullptr;
}

// Of the oldest interface that we need.
template <class Function>
Function* driver_call(const char* name) {
  Function* const function = find_driver_call<Function>(name, 12000);
  if (!function) throw DeviceError(std::string("the CUDA driver is too old: it lacks ") + name);
  return function;
}

}  // namespace regions
