// What the benchmarks need of a GPU, without CUDA's headers: the backend, the clocks and the floor
// kernel. A build without CUDA links without_cuda.cpp in place of cuda.cu.
#pragma once

#include <memory>

#include "bench/clock.hpp"
#include "core/cclabel/cclabel.hpp"

namespace regions {

// False where there is no GPU, no driver, or no CUDA in this build.
bool have_cuda();
std::shared_ptr<Backend> make_cuda();
std::unique_ptr<Algorithm<CcLabelParams>> make_cuda_cclabel(std::shared_ptr<Backend> backend);

// GPU-resident time of one frame. graph: replays of one graph that holds `frames` calls back to
// back, divided by `frames` (no launch gaps). stream: an event pair around one plain call.
struct CudaTimes {
  Timing graph, stream;
};
CudaTimes time_on_cuda(Queue& queue, int frames, const FrameWork& enqueue, int runs);

// Plain copies of that many bytes between pinned host memory and the device, one at a time.
struct CopyTimes {
  Timing up, down;
};
CopyTimes time_copies(Backend& backend, Queue& queue, size_t bytes, int runs);

// The least any labelling does: reads each value once (4 at a time) and writes one label for each.
// Width and both pitches are multiples of 4 values.
void enqueue_floor(Image<const uint8_t> in, Image<uint32_t> out, Queue& queue);

}  // namespace regions
