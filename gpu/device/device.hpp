// The CUDA backend as the other layers see it: no CUDA header is needed to use it.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

// Devices a driver offers; 0 without a driver. Never throws.
int cuda_device_count();

// The device's primary context (a CUcontext), the one the runtime and most libraries share. Kept
// until the process ends. Throws DeviceError without such a device.
void* primary_context(int ordinal);

// From now on threads that wait for all of a stream's work in the primary context, others' too,
// sleep rather than spin. Where the context is there already, its maker has chosen, and nothing
// changes.
void let_waits_sleep(int ordinal);

// A backend on `context` (a CUcontext that outlives it), or on the primary context if null.
// Throws DeviceError if there is no driver or no such device.
std::shared_ptr<Backend> make_cuda_backend(int ordinal = 0, void* context = nullptr);

}  // namespace regions
