// GPU backend, timing functions and lower-bound kernel for benchmarks. Does not include CUDA's
// headers. In a build without CUDA, have_cuda() returns false.
#pragma once

#include <memory>

#include "bench/programs/clock.hpp"
#include "core/algorithm.hpp"

namespace regions {

// The time of one frame whose data is on the GPU, measured in two ways. `graph` is the time of a
// CUDA graph with the work of several frames, divided by their number; a graph has no launch gaps.
// `stream` is the time of one call without a graph, between a pair of events.
struct CudaTimes {
  Timing graph, stream;
};
// The times of single copies: from pinned host memory to the device (`up`) and back (`down`).
struct CopyTimes {
  Timing up, down;
};

#if REGIONS_CUDA
// Returns true if a GPU and its driver are usable.
bool have_cuda();
std::shared_ptr<Backend> make_first_gpu_backend();
CudaTimes time_on_cuda(Queue& queue, int frames, const FrameWork& enqueue, int runs);
CopyTimes time_copies(Backend& backend, Queue& queue, size_t bytes, int runs);
// Enqueues a kernel whose time is a lower bound for any labelling: it reads each pixel once and
// writes one 32-bit label per pixel, 4 pixels per thread. The width and both pitches must be
// multiples of 4 elements.
void enqueue_lower_bound(Image<const uint8_t> in, Image<uint32_t> out, Queue& queue);
#else
inline bool have_cuda() { return false; }
inline std::shared_ptr<Backend> make_first_gpu_backend() {
  throw DeviceError("this build has no CUDA");
}
inline CudaTimes time_on_cuda(Queue&, int, const FrameWork&, int) { return {}; }
inline CopyTimes time_copies(Backend&, Queue&, size_t, int) { return {}; }
inline void enqueue_lower_bound(Image<const uint8_t>, Image<uint32_t>, Queue&) {}
#endif

}  // namespace regions
