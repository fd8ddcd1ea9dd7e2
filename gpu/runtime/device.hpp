// The CUDA backend's interface to the other layers. It needs no CUDA header.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

// Devices a driver offers; 0 without a driver. Never throws.
int cuda_device_count();

// The device's primary context (a CUcontext), the one the runtime and most libraries share. Kept
// until the process ends. Throws DeviceError without such a device, and MemoryError if the device
// has too little free memory.
void* primary_context(int ordinal);

// From now on threads that wait for all of a stream's work in the primary context sleep instead of
// spinning, also threads of other libraries. If the context exists already, nothing changes.
void let_waits_sleep(int ordinal);

// A backend on `context` (a CUcontext that outlives it), or on the primary context if null.
// Throws DeviceError without a driver or such a device, and MemoryError if the device has too
// little free memory.
std::shared_ptr<Backend> make_cuda_backend(int ordinal = 0, void* context = nullptr);

}  // namespace regions
