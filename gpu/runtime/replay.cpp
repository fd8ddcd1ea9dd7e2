// Frames' kernels as a graph: compared, captured, given new arguments.
#include "gpu/runtime/replay.hpp"

#include <cstring>

namespace regions {

Replay::~Replay() {
  Backend::Entry entry(*backend_);
  forget();
}

// ---- steps

Replay::Step::Step(const Launch& launch)
    : kernel(launch.kernel),
      grid(launch.grid),
      block(launch.block),
      shared_bytes(launch.shared_bytes) {
  size_t bytes = 0;
  for (const size_t size : launch.sizes) bytes += size;
  arguments.resize(bytes);
  take_arguments_of(launch);
}

bool Replay::Step::is_like(const Launch& launch) const {
  const auto equal = [](const dim3& a, const dim3& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  };
  return kernel == launch.kernel && equal(grid, launch.grid) && equal(block, launch.block) &&
         shared_bytes == launch.shared_bytes;
}

// Bytes between members may differ where the values do not: then they are set once too often.
bool Replay::Step::has_arguments_of(const Launch& launch) const {
  const std::byte* mine = arguments.data();
  for (size_t i = 0; i < launch.sizes.size(); mine += launch.sizes[i++]) {
    if (std::memcmp(mine, launch.arguments[i], launch.sizes[i]) != 0) return false;
  }
  return true;
}

void Replay::Step::take_arguments_of(const Launch& launch) {
  std::byte* mine = arguments.data();
  for (size_t i = 0; i < launch.sizes.size(); mine += launch.sizes[i++]) {
    std::memcpy(mine, launch.arguments[i], launch.sizes[i]);
  }
}

// ---- passes

void Replay::take(const Launch& launch) {
  if (pass_ == Pass::compare) return compare(launch);
  const cudaStream_t stream = instead_of(launch.stream);
  launch.go_on(stream);
  if (pass_ == Pass::launch) {
    steps_.emplace_back(launch);
  } else {
    // What the stream's next work would come behind is what it was given last.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* last = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    size_t count = 0;
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &edges, &count),
          "asking for a graph's kernel");
    steps_.at(seen_).node = count == 1 ? *last : nullptr;
  }
  ++seen_;
}

void Replay::compare(const Launch& launch) {
  if (differs_) return;
  if (seen_ == steps_.size() || !steps_[seen_].is_like(launch)) {
    differs_ = true;
    return;
  }
  Step& step = steps_[seen_++];
  if (step.has_arguments_of(launch)) return;
  if (executable_ && !set_arguments(step, launch)) {
    differs_ = true;
    return;
  }
  step.take_arguments_of(launch);
}

bool Replay::set_arguments(const Step& step, const Launch& launch) const {
  cudaKernelNodeParams params = {};
  params.func = const_cast<void*>(launch.kernel);
  params.gridDim = launch.grid;
  params.blockDim = launch.block;
  params.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  params.kernelParams = launch.arguments;
  const cudaError_t error = cudaGraphExecKernelNodeSetParams(executable_, step.node, &params);
  if (error != cudaSuccess) cudaGetLastError();  // the kernels go one by one, and say what is wrong
  return error == cudaSuccess;
}

// ---- graphs

Replay::Capture::Capture(Replay& replay, cudaStream_t stream, cudaStream_t own)
    : replay_(replay), own_(own) {
  replay.captured_for_ = stream;
  replay.captured_on_ = own;
  // Other threads may allocate meanwhile.
  check(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), "beginning a graph");
}

Replay::Capture::~Capture() {
  if (is_done_) return;
  cudaGraph_t unfinished = nullptr;
  cudaStreamEndCapture(own_, &unfinished);
  if (unfinished) cudaGraphDestroy(unfinished);
  cudaGetLastError();
  replay_.forget();
}

void Replay::Capture::end() {
  check(cudaStreamEndCapture(own_, &replay_.graph_), "ending a graph");
  size_t nodes = 0;
  check(cudaGraphGetNodes(replay_.graph_, nullptr, &nodes), "counting a graph's kernels");
  expects(nodes == replay_.steps_.size() && replay_.is_same(),
          "the work of a frame differs from the recorded launches");
  check(cudaGraphInstantiate(&replay_.executable_, replay_.graph_, 0), "making a graph");
  is_done_ = true;
}

void Replay::go(cudaStream_t stream) {
  check(cudaGraphLaunch(executable_, stream), "launching a graph");
}

void Replay::forget() {
  if (executable_) cudaGraphExecDestroy(std::exchange(executable_, nullptr));
  if (graph_) cudaGraphDestroy(std::exchange(graph_, nullptr));
  steps_.clear();
  alike_ = 0;
}

}  // namespace regions
