// Memory that starts as zeros: what kernels expect of the first frame, and leave for the next.
#pragma once

#include "gpu/launch.hpp"

namespace regions {

// When it returns, `bytes` of the backend's memory are 0. Not for a hot path: it waits.
inline void fill_with_zeros(Backend& backend, void* data, size_t bytes) {
  const Backend::Entry entry(backend);
  const std::unique_ptr<Queue> queue = backend.make_queue();
  check(cudaMemsetAsync(data, 0, bytes, stream_of(*queue)), "clearing memory");
  queue->record();
  queue->wait();
}

}  // namespace regions
