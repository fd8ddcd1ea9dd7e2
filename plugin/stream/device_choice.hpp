// The choice of the backend that an element runs on.
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "plugin/memory/cuda_memory.hpp"
#include "plugin/stream/settings.hpp"

namespace regions {

// Returns the backend that the settings select. Elements on one device share it. With device=cuda,
// throws DeviceError or MemoryError if no device works. With device=auto, falls back to the CPU
// then.
std::shared_ptr<Backend> choose_backend(GstElement* element, const FilterSettings& settings,
                                        CudaContext& context);

// Returns the CPU's backend for device=auto, because a CUDA device failed with `error`. Posts an
// element warning with its text, unless the machine has no CUDA device.
std::shared_ptr<Backend> fall_back(GstElement* element, const FilterSettings& settings,
                                   CudaContext& context, const std::exception& error);

// The backend on a GstCudaContext.
std::shared_ptr<Backend> backend_on(const CudaContextRef& context);

}  // namespace regions
