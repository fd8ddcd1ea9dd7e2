// What the benchmarks need of a GPU, without CUDA's headers: the backend, the clocks and the floor
// kernel. A build without CUDA has no GPU.
#pragma once

#include <memory>

#include "bench/programs/clock.hpp"
#include "core/algorithm.hpp"

namespace regions {

// GPU-resident time of one frame. graph: replays of one graph that holds `frames` calls back to
// back, divided by `frames` (no launch gaps). stream: an event pair around one plain call.
struct CudaTimes {
  Timing graph, stream;
};
// Of plain copies between pinned host memory and the device, one at a time.
struct CopyTimes {
  Timing up, down;
};

#if REGIONS_CUDA
// False where there is no GPU or no driver.
bool have_cuda();
std::shared_ptr<Backend> make_cuda();
CudaTimes time_on_cuda(Queue& queue, int frames, const FrameWork& enqueue, int runs);
CopyTimes time_copies(Backend& backend, Queue& queue, size_t bytes, int runs);
// The least any labelling does: reads each value once (4 at a time) and writes one label for each.
// Width and both pitches are multiples of 4 values.
void enqueue_floor(Image<const uint8_t> in, Image<uint32_t> out, Queue& queue);
#else
inline bool have_cuda() { return false; }
inline std::shared_ptr<Backend> make_cuda() { throw DeviceError("this build has no CUDA"); }
inline CudaTimes time_on_cuda(Queue&, int, const FrameWork&, int) { return {}; }
inline CopyTimes time_copies(Backend&, Queue&, size_t, int) { return {}; }
inline void enqueue_floor(Image<const uint8_t>, Image<uint32_t>, Queue&) {}
#endif

// The algorithm on its kind of backend.
template <class P>
std::unique_ptr<Algorithm<P>> make_on(const std::shared_ptr<Backend>& backend) {
#if REGIONS_CUDA
  if (backend->kind() == BackendKind::cuda) return make_algorithm<P, BackendKind::cuda>(backend);
#endif
  return make_algorithm<P, BackendKind::cpu>(backend);
}

}  // namespace regions
