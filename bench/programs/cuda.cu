// Measures times on the GPU with CUDA events and graph replays. Also contains the lower-bound
// kernel, with which labelling times are compared.
#include <cuda_runtime.h>

#include "bench/programs/cuda.hpp"
#include "gpu/runtime/cuda_backend.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace {

constexpr int kWarmUp = 3;

// Measures the time of work on a stream with two CUDA events.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    check(cudaEventCreate(&start_), "creating an event");
    check(cudaEventCreate(&stop_), "creating an event");
  }
  ~Stopwatch() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start() { check(cudaEventRecord(start_, stream_), "recording an event"); }
  // Waits for all work that was enqueued before. Returns the microseconds since start().
  double stop() {
    check(cudaEventRecord(stop_, stream_), "recording an event");
    check(cudaEventSynchronize(stop_), "waiting for the timed work");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading the events");
    return milliseconds * 1000.0;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

// An executable CUDA graph of the work of several frames.
class GraphReplay {
 public:
  GraphReplay(cudaStream_t stream, int frames, const FrameWork& enqueue) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int frame = 0; frame < frames; ++frame) enqueue(frame);
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream, &graph), "capturing the frames' work");
    const cudaError_t status = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a graph");
    check(cudaGraphUpload(graph_, stream), "uploading the graph");
  }
  ~GraphReplay() { cudaGraphExecDestroy(graph_); }
  GraphReplay(const GraphReplay&) = delete;
  GraphReplay& operator=(const GraphReplay&) = delete;

  void launch() { check(cudaGraphLaunch(graph_, stream_), "launching the graph"); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t graph_ = nullptr;
};

// Measures `runs` calls of work(run), each with a pair of events. Each call processes `frames`
// frames; the result is the time per frame.
Timing time_events(cudaStream_t stream, int frames, int runs, const FrameWork& work) {
  Stopwatch stopwatch(stream);
  std::vector<double> samples;
  for (int run = -kWarmUp; run < runs; ++run) {
    stopwatch.start();
    work(run + kWarmUp);
    const double elapsed = stopwatch.stop();
    if (run >= 0) samples.push_back(elapsed / frames);
  }
  return summarise(samples);
}

__global__ void lower_bound_kernel(Image<const uchar4> in, Image<int4> out) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (!out.contains(x, y)) return;
  const uchar4 value = in(x, y);
  out(x, y) = {value.x, value.y, value.z, value.w};
}

}  // namespace

bool have_cuda() { return cuda_device_count() > 0; }

std::shared_ptr<Backend> make_first_gpu_backend() { return make_cuda_backend(0, nullptr); }

CudaTimes time_on_cuda(Queue& queue, int frames, const FrameWork& enqueue, int runs) {
  const cudaStream_t stream = stream_of(queue);
  GraphReplay replay(stream, frames, enqueue);
  CudaTimes times;
  times.graph = time_events(stream, frames, runs, [&](int) { replay.launch(); });
  times.stream = time_events(stream, 1, runs, [&](int run) { enqueue(run % frames); });
  return times;
}

CopyTimes time_copies(Backend& backend, Queue& queue, size_t bytes, int runs) {
  const Block host = backend.allocate_pinned(bytes);
  const Block device = backend.allocate(bytes);
  const auto up = [&](int) { queue.copy_bytes(host.data(), device.data(), bytes); };
  const auto down = [&](int) { queue.copy_bytes(device.data(), host.data(), bytes); };
  const cudaStream_t stream = stream_of(queue);
  return {time_events(stream, 1, runs, up), time_events(stream, 1, runs, down)};
}

void enqueue_lower_bound(Image<const uint8_t> in, Image<uint32_t> out, Queue& queue) {
  const Image<const uchar4> from{reinterpret_cast<const uchar4*>(in.data), in.width / 4, in.height,
                                 in.pitch};
  const Image<int4> to{reinterpret_cast<int4*>(out.data), out.width / 4, out.height, out.pitch};
  const dim3 block(32, 8);
  const dim3 grid((static_cast<unsigned>(to.width) + block.x - 1) / block.x,
                  (static_cast<unsigned>(to.height) + block.y - 1) / block.y);
  launch(lower_bound_kernel, grid, block, 0, stream_of(queue), from, to);
}

}  // namespace regions
