// The CUDA backend's queue: a stream.
#pragma once

#include <memory>

#include "core/backend.hpp"

namespace regions {

// Needs an Entry of the backend.
std::unique_ptr<Queue> make_cuda_queue(std::shared_ptr<Backend> backend, int priority);

}  // namespace regions
