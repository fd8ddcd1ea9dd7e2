// Memory that starts as zeros: what kernels expect of the first frame, and leave for the next.
#pragma once

#include "gpu/runtime/launch.hpp"

namespace regions {

// When they return, `bytes` of the backend's memory are 0. Not for a hot path: they wait.
inline void fill_with_zeros(Queue& queue, void* data, size_t bytes) {
  check(cudaMemsetAsync(data, 0, bytes, stream_of(queue)), "clearing memory");
  queue.record();
  queue.wait();
}
inline void fill_with_zeros(Backend& backend, void* data, size_t bytes) {
  const Backend::Entry entry(backend);
  fill_with_zeros(*backend.make_queue(), data, bytes);
}

}  // namespace regions
