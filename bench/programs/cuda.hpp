// The backend, the clocks and the floor kernel for benchmarks on a GPU, without CUDA's headers. In
// a build without CUDA, have_cuda() is false.
#pragma once

#include <memory>

#include "bench/programs/clock.hpp"
#include "core/algorithm.hpp"

namespace regions {

// Time of one frame whose data is on the GPU. graph: replays of one graph with `frames` consecutive
// calls, divided by `frames` (no launch gaps). stream: a pair of events around one plain call.
struct CudaTimes {
  Timing graph, stream;
};
// Times of single copies between pinned host memory and the device.
struct CopyTimes {
  Timing up, down;
};

#if REGIONS_CUDA
// Whether a GPU and its driver are usable.
bool have_cuda();
std::shared_ptr<Backend> make_first_gpu_backend();
CudaTimes time_on_cuda(Queue& queue, int frames, const FrameWork& enqueue, int runs);
CopyTimes time_copies(Backend& backend, Queue& queue, size_t bytes, int runs);
// A lower bound for any labelling: reads each value once (4 at a time) and writes one label for
// each. The width and both pitches must be multiples of 4 values.
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

// Makes the algorithm for the kind of its backend.
template <class P>
std::unique_ptr<Algorithm<P>> make_algorithm_on(const std::shared_ptr<Backend>& backend) {
#if REGIONS_CUDA
  if (backend->kind() == BackendKind::cuda) return make_algorithm<P, BackendKind::cuda>(backend);
#endif
  return make_algorithm<P, BackendKind::cpu>(backend);
}

}  // namespace regions
