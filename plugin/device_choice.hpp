// Which backend an element runs on.
#pragma once

#include <memory>

#include "core/backend.hpp"
#include "plugin/cuda_memory.hpp"
#include "plugin/settings.hpp"

namespace regions {

// The backend the settings ask for; elements on one device share it. Throws DeviceError when
// `device` is cuda and there is none that works.
std::shared_ptr<Backend> choose_backend(GstElement* element, const FilterSettings& settings,
                                        CudaContext& context);

// The backend on a GstCudaContext.
std::shared_ptr<Backend> backend_on(const CudaContextRef& context);

}  // namespace regions
