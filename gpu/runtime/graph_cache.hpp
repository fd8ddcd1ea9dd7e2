// The kernels of a frame as one CUDA graph, and a side stream for concurrent work, which becomes a
// branch of the graph.
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/launch.hpp"

namespace regions {

// Launches a frame's kernels as one CUDA graph that is cached between frames. The driver serialises
// the threads of a process, and a dozen calls per frame saturate it long before the GPU is busy.
// With one call per frame, 16 streams of 640x480 process twice as many frames (H200, 2026-11-21).
class GraphCache final : private LaunchRecorder {
 public:
  explicit GraphCache(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~GraphCache();
  GraphCache(const GraphCache&) = delete;
  GraphCache& operator=(const GraphCache&) = delete;

  // Runs on the queue's stream the kernels that work() launches. work() may enqueue only by
  // launch() and SideStream. All runs must use the same queue, so that they follow each other: a
  // running graph keeps its arguments and is freed after it has ended.
  //
  // If the kernels or launch configurations differ from the previous frame's, they are launched one
  // by one; work() is then called again. After kFramesBeforeCapture frames with the same kernels
  // they are captured into a graph, on the queue's own stream because other threads may use the
  // current one. Later frames launch this graph with their own arguments.
  //
  // If the caller is capturing the stream into its own graph, work() is called once and enqueues
  // directly.
  template <class Work>
  void run(Queue& queue, const Work& work) {
    const cudaStream_t stream = stream_of(queue);
    if (is_capturing(stream)) return work();
    run_pass(Pass::compare, work);
    if (!is_same()) {
      discard();
      return run_pass(Pass::launch, work);
    }
    if (!executable_ && ++same_frames_ < kFramesBeforeCapture) return work();
    if (!executable_) {
      Capture capture(*this, stream, own_stream_of(queue));
      run_pass(Pass::capture, work);
      capture.end();
    }
    launch_graph(stream);
  }

 private:
  // The driver instantiates one graph at a time, which takes 2 to 7 ms (H200, 2026-11-26). Capture
  // therefore waits until the first frames of many streams, which are late already, have passed.
  static constexpr int kFramesBeforeCapture = 12;

  // A kernel of the previous frame.
  struct KernelNode {
    const void* kernel;
    dim3 grid, block;
    size_t shared_bytes;
    std::vector<std::byte> arguments;  // packed without gaps
    cudaGraphNode_t node = nullptr;

    explicit KernelNode(const KernelLaunch& launch);
    bool has_configuration_of(const KernelLaunch& launch) const;
    bool has_arguments_of(const KernelLaunch& launch) const;
    void copy_arguments(const KernelLaunch& launch);
  };
  // A call of work(): launches are compared with the previous frame's, enqueued, or captured.
  enum class Pass : uint8_t { compare, launch, capture };
  // Captures the work intended for `stream` on `own`. The destructor ends the capture in any case.
  class Capture {
   public:
    Capture(GraphCache& cache, cudaStream_t stream, cudaStream_t own);
    ~Capture();
    void end();

   private:
    GraphCache& cache_;
    const cudaStream_t own_;
    bool is_done_ = false;
  };
  // Makes `recorder` receive the thread's launches during its lifetime.
  class RecorderScope {
   public:
    explicit RecorderScope(LaunchRecorder& recorder)
        : previous_(std::exchange(launch_recorder, &recorder)) {}
    ~RecorderScope() { launch_recorder = previous_; }
    RecorderScope(const RecorderScope&) = delete;
    RecorderScope& operator=(const RecorderScope&) = delete;

   private:
    LaunchRecorder* const previous_;
  };

  template <class Work>
  void run_pass(Pass pass, const Work& work) {
    const RecorderScope scope(*this);
    pass_ = pass;
    launches_ = 0;
    is_different_ = false;
    work();
  }
  void record(const KernelLaunch& launch) override;
  bool enqueues_launches() const override { return pass_ != Pass::compare; }
  cudaStream_t capture_stream_for(cudaStream_t stream) const override {
    return pass_ == Pass::capture && stream == captured_for_ ? captured_on_ : stream;
  }
  void compare(const KernelLaunch& launch);
  bool set_arguments(const KernelNode& node, const KernelLaunch& launch) const;
  bool is_same() const { return !is_different_ && launches_ > 0 && launches_ == nodes_.size(); }
  void launch_graph(cudaStream_t stream);
  void discard();

  std::shared_ptr<Backend> backend_;
  std::vector<KernelNode> nodes_;  // of the previous frame
  Pass pass_ = Pass::compare;
  size_t launches_ = 0;        // in this pass
  bool is_different_ = false;  // from the previous frame
  int same_frames_ = 0;        // consecutive frames with the same kernels, before there is a graph
  cudaStream_t captured_for_ = nullptr, captured_on_ = nullptr;  // set by Capture
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// A second stream for work that may run concurrently with the main stream: fork, work, join. Inside
// a graph it becomes a branch.
class SideStream {
 public:
  SideStream(std::shared_ptr<Backend> backend, int priority) : backend_(std::move(backend)) {
    Backend::Entry entry(*backend_);
    stream_ = make_stream(priority);
    for (cudaEvent_t* event : {&forked_, &done_}) {
      check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "creating an event");
    }
  }
  ~SideStream() {
    Backend::Entry entry(*backend_);
    for (cudaEvent_t event : {forked_, done_}) {
      if (event) cudaEventDestroy(event);
    }
    cudaStreamDestroy(stream_);
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;

  // Returns the side stream, after making it wait for all work of `main` so far.
  cudaStream_t fork(cudaStream_t main) {
    if (!enqueues()) return stream_;
    check(cudaEventRecord(forked_, actual(main)), "recording an event");
    check(cudaStreamWaitEvent(stream_, forked_, 0), "waiting for an event");
    return stream_;
  }
  // Makes later work of `main` wait for the side stream's work.
  void join(cudaStream_t main) {
    if (!enqueues()) return;
    check(cudaEventRecord(done_, stream_), "recording an event");
    check(cudaStreamWaitEvent(actual(main), done_, 0), "waiting for an event");
  }
  // join() after a failure between fork() and join(), so that a thread that waits for `main` also
  // waits for the side stream's work. Ignores its own errors.
  void join_after_error(cudaStream_t main) noexcept {
    if (cudaEventRecord(done_, stream_) == cudaSuccess) cudaStreamWaitEvent(main, done_, 0);
    cudaGetLastError();
  }

 private:
  static cudaStream_t actual(cudaStream_t main) {
    return launch_recorder ? launch_recorder->capture_stream_for(main) : main;
  }
  static bool enqueues() { return !launch_recorder || launch_recorder->enqueues_launches(); }

  std::shared_ptr<Backend> backend_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

}  // namespace regions
