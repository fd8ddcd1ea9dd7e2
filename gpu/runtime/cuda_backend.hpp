// Interface of the CUDA backend for the other layers. Includes no CUDA header.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

// Returns the number of CUDA devices; 0 without a driver. Never throws.
int cuda_device_count();

// Returns the primary context (a CUcontext) of the device with index `ordinal`. The CUDA runtime
// and most libraries use this context. It is retained until the process ends. Throws DeviceError if
// there is no such device, and MemoryError if the device has too little free memory.
void* primary_context(int ordinal);

// Makes waiting threads block instead of spin (CU_CTX_SCHED_BLOCKING_SYNC) if they wait for a
// stream or for the whole primary context of device `ordinal`. This includes threads of other
// libraries. Has no effect if the context is already active. Throws DeviceError if there is no such
// device.
void use_blocking_sync(int ordinal);

// Creates a backend for device `ordinal` in `context` (a CUcontext that must outlive the backend),
// or in the primary context if `context` is null. Throws DeviceError if the driver or the
// device does not exist, and MemoryError if the device has too little free memory.
std::shared_ptr<Backend> make_cuda_backend(int ordinal = 0, void* context = nullptr);

}  // namespace regions
