// GraphCache: compares a frame's launches with the previous frame's, captures them into a graph and
// updates the graph's kernel arguments.
#include "gpu/runtime/graph_cache.hpp"

#include <cstring>

namespace regions {

GraphCache::~GraphCache() {
  Backend::Entry entry(*backend_);
  discard();
}

// ---- nodes

GraphCache::KernelNode::KernelNode(const KernelLaunch& launch)
    : kernel(launch.kernel),
      grid(launch.grid),
      block(launch.block),
      shared_bytes(launch.shared_bytes) {
  size_t bytes = 0;
  for (const size_t size : launch.sizes) bytes += size;
  arguments.resize(bytes);
  copy_arguments(launch);
}

bool GraphCache::KernelNode::has_configuration_of(const KernelLaunch& launch) const {
  const auto equal = [](const dim3& a, const dim3& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  };
  return kernel == launch.kernel && equal(grid, launch.grid) && equal(block, launch.block) &&
         shared_bytes == launch.shared_bytes;
}

// Compares padding bytes too. If only padding bytes differ, the arguments are set again needlessly.
bool GraphCache::KernelNode::has_arguments_of(const KernelLaunch& launch) const {
  const std::byte* stored = arguments.data();
  for (size_t i = 0; i < launch.sizes.size(); stored += launch.sizes[i++]) {
    if (std::memcmp(stored, launch.arguments[i], launch.sizes[i]) != 0) return false;
  }
  return true;
}

void GraphCache::KernelNode::copy_arguments(const KernelLaunch& launch) {
  std::byte* stored = arguments.data();
  for (size_t i = 0; i < launch.sizes.size(); stored += launch.sizes[i++]) {
    std::memcpy(stored, launch.arguments[i], launch.sizes[i]);
  }
}

// ---- passes

void GraphCache::record(const KernelLaunch& launch) {
  if (pass_ == Pass::compare) return compare(launch);
  const cudaStream_t stream = capture_stream_for(launch.stream);
  launch.enqueue_on(stream);
  if (pass_ == Pass::launch) {
    nodes_.emplace_back(launch);
  } else {
    // The stream's next work would depend on the kernel that was just captured. The dependency
    // gives the graph node of this kernel.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t* last = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    size_t count = 0;
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &last, &edges, &count),
          "asking for a graph's kernel");
    nodes_.at(launch_count_).node = count == 1 ? *last : nullptr;
  }
  ++launch_count_;
}

void GraphCache::compare(const KernelLaunch& launch) {
  if (differs_from_previous_) return;
  if (launch_count_ == nodes_.size() || !nodes_[launch_count_].has_configuration_of(launch)) {
    differs_from_previous_ = true;
    return;
  }
  KernelNode& node = nodes_[launch_count_++];
  if (node.has_arguments_of(launch)) return;
  if (executable_graph_ && !set_arguments(node, launch)) {
    differs_from_previous_ = true;
    return;
  }
  node.copy_arguments(launch);
}

bool GraphCache::set_arguments(const KernelNode& node, const KernelLaunch& launch) const {
  cudaKernelNodeParams params = {};
  params.func = const_cast<void*>(launch.kernel);
  params.gridDim = launch.grid;
  params.blockDim = launch.block;
  params.sharedMemBytes = static_cast<unsigned>(launch.shared_bytes);
  params.kernelParams = launch.arguments;
  const cudaError_t error = cudaGraphExecKernelNodeSetParams(executable_graph_, node.node, &params);
  if (error != cudaSuccess)
    cudaGetLastError();  // the kernels are then launched one by one, which reports the error
  return error == cudaSuccess;
}

// ---- graphs

GraphCache::Capture::Capture(GraphCache& cache, cudaStream_t stream, cudaStream_t capture_stream)
    : cache_(cache), capture_stream_(capture_stream) {
  cache.intended_stream_ = stream;
  cache.capture_stream_ = capture_stream;
  // Thread-local mode lets other threads allocate memory during the capture.
  check(cudaStreamBeginCapture(capture_stream, cudaStreamCaptureModeThreadLocal),
        "beginning a graph");
}

GraphCache::Capture::~Capture() {
  if (is_done_) return;
  cudaGraph_t unfinished = nullptr;
  cudaStreamEndCapture(capture_stream_, &unfinished);
  if (unfinished) cudaGraphDestroy(unfinished);
  cudaGetLastError();
  cache_.discard();
}

void GraphCache::Capture::end() {
  check(cudaStreamEndCapture(capture_stream_, &cache_.graph_), "ending a graph");
  size_t nodes = 0;
  check(cudaGraphGetNodes(cache_.graph_, nullptr, &nodes), "counting a graph's kernels");
  expects(nodes == cache_.nodes_.size() && cache_.matches_previous_frame(),
          "the work of a frame differs from the recorded launches");
  check(cudaGraphInstantiate(&cache_.executable_graph_, cache_.graph_, 0), "making a graph");
  is_done_ = true;
}

void GraphCache::launch_graph(cudaStream_t stream) {
  check(cudaGraphLaunch(executable_graph_, stream), "launching a graph");
}

void GraphCache::discard() {
  if (executable_graph_) cudaGraphExecDestroy(std::exchange(executable_graph_, nullptr));
  if (graph_) cudaGraphDestroy(std::exchange(graph_, nullptr));
  nodes_.clear();
  equal_frames_ = 0;
}

}  // namespace regions
