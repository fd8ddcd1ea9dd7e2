// Interface of the CUDA backend for the other layers. Includes no CUDA header.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

// Number of CUDA devices; 0 without a driver. Never throws.
int cuda_device_count();

// The primary context of device `ordinal` (a CUcontext), which the CUDA runtime and most libraries
// use. It is retained until the process ends. Throws DeviceError if there is no such device, and
// MemoryError if the device has too little free memory.
void* primary_context(int ordinal);

// Makes threads that wait for a stream or the whole primary context of device `ordinal` block
// instead of spinning (CU_CTX_SCHED_BLOCKING_SYNC). This includes threads of other libraries. No
// effect if the context is already active. Throws DeviceError if there is no such device.
void use_blocking_sync(int ordinal);

// Creates a backend in `context` (a CUcontext that must outlive it), or in the primary context if
// `context` is null. Throws DeviceError without a driver or without such a device, and MemoryError
// if the device has too little free memory.
std::shared_ptr<Backend> make_cuda_backend(int ordinal = 0, void* context = nullptr);

}  // namespace regions
