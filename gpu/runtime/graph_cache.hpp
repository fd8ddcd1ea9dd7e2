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

  // Runs the kernels that work() launches on the queue's stream. work() may enqueue work only by
  // launch() and SideStream, without cooperative launches and clusters. All calls must use the same
  // queue, so that the frames run one after another. Graphs may be changed or destroyed while they
  // run: CUDA has a copy of their arguments, and frees a graph only after it has ended.
  //
  // If the kernels or launch configurations differ from the previous frame's, work() is called
  // again and its kernels are launched one by one. After kFramesBeforeCapture frames with the same
  // kernels, the kernels are captured into a graph, which is launched instead of them. The capture
  // uses the queue's own stream, because other threads may use the queue's current stream. Later
  // frames launch this graph with their own arguments.
  //
  // If the caller is capturing the stream into its own graph, work() is called once and its kernels
  // become part of the caller's graph.
  template <class Work>
  void run(Queue& queue, const Work& work) {
    const cudaStream_t stream = stream_of(queue);
    if (is_capturing(stream)) return work();
    run_pass(Pass::compare, work);
    if (!matches_previous_frame()) {
      discard();
      return run_pass(Pass::launch, work);
    }
    if (!executable_graph_ && ++equal_frames_ < kFramesBeforeCapture) return work();
    if (!executable_graph_) {
      Capture capture(*this, stream, own_stream_of(queue));
      run_pass(Pass::capture, work);
      capture.end();
    }
    launch_graph(stream);
  }

 private:
  // The driver instantiates one graph at a time, which takes 2 to 7 ms (H200, 2026-11-26). If many
  // streams start together, their first frames are already late. The capture therefore waits until
  // these frames have passed.
  static constexpr int kFramesBeforeCapture = 12;

  // A kernel launch of the previous frame, and its node in the graph.
  struct KernelNode {
    const void* kernel;
    dim3 grid, block;
    size_t shared_bytes;
    std::vector<std::byte> arguments;  // the kernel's arguments, packed without gaps
    cudaGraphNode_t node = nullptr;

    explicit KernelNode(const KernelLaunch& launch);
    bool has_configuration_of(const KernelLaunch& launch) const;
    bool has_arguments_of(const KernelLaunch& launch) const;
    void copy_arguments(const KernelLaunch& launch);
  };
  // The purpose of a call of work(): each kernel launch is compared with the launch of the previous
  // frame, enqueued, or captured into a graph.
  enum class Pass : uint8_t { compare, launch, capture };
  // Captures the work that is intended for `stream`, using the stream `capture_stream`. The
  // destructor ends the capture if end() was not called or failed.
  class Capture {
   public:
    Capture(GraphCache& cache, cudaStream_t stream, cudaStream_t capture_stream);
    ~Capture();
    void end();

   private:
    GraphCache& cache_;
    const cudaStream_t capture_stream_;
    bool is_done_ = false;
  };
  // While an object of this class exists, `recorder` receives the thread's launches.
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
    launch_count_ = 0;
    differs_from_previous_ = false;
    work();
  }
  void record(const KernelLaunch& launch) override;
  bool enqueues_launches() const override { return pass_ != Pass::compare; }
  cudaStream_t capture_stream_for(cudaStream_t stream) const override {
    return pass_ == Pass::capture && stream == intended_stream_ ? capture_stream_ : stream;
  }
  // Compares a launch with the previous frame's launch. Updates the graph if only arguments differ.
  void compare(const KernelLaunch& launch);
  // Sets the arguments of a node of the graph. Returns whether this succeeded.
  bool set_arguments(const KernelNode& node, const KernelLaunch& launch) const;
  bool matches_previous_frame() const {
    return !differs_from_previous_ && launch_count_ > 0 && launch_count_ == nodes_.size();
  }
  void launch_graph(cudaStream_t stream);
  // Forgets the launches of the previous frame and destroys the graph.
  void discard();

  std::shared_ptr<Backend> backend_;
  std::vector<KernelNode> nodes_;  // the launches of the previous frame
  Pass pass_ = Pass::compare;
  size_t launch_count_ = 0;             // number of launches in this pass so far
  bool differs_from_previous_ = false;  // whether a launch differs from the previous frame's
  int equal_frames_ = 0;  // number of consecutive frames with the same kernels, before the capture
  cudaStream_t intended_stream_ = nullptr, capture_stream_ = nullptr;  // both set by Capture
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_graph_ = nullptr;
};

// A second stream for work that may run concurrently with the main stream: call fork(), enqueue the
// work, call join(). In a CUDA graph the side stream's work becomes a branch.
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

  // Makes the side stream wait for all work enqueued on `main` so far, and returns the side stream.
  cudaStream_t fork(cudaStream_t main) {
    if (!enqueues()) return stream_;
    check(cudaEventRecord(forked_, receiving_stream(main)), "recording an event");
    check(cudaStreamWaitEvent(stream_, forked_, 0), "waiting for an event");
    return stream_;
  }
  // Makes later work on `main` wait for the side stream's work.
  void join(cudaStream_t main) {
    if (!enqueues()) return;
    check(cudaEventRecord(done_, stream_), "recording an event");
    check(cudaStreamWaitEvent(receiving_stream(main), done_, 0), "waiting for an event");
  }
  // Replaces join() after an error between fork() and join(), so that a thread that waits for
  // `main` also waits for the side stream's work. Does not report errors.
  void join_after_error(cudaStream_t main) noexcept {
    if (cudaEventRecord(done_, stream_) == cudaSuccess) cudaStreamWaitEvent(main, done_, 0);
    cudaGetLastError();
  }

 private:
  static cudaStream_t receiving_stream(cudaStream_t main) {
    return launch_recorder ? launch_recorder->capture_stream_for(main) : main;
  }
  static bool enqueues() { return !launch_recorder || launch_recorder->enqueues_launches(); }

  std::shared_ptr<Backend> backend_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t forked_ = nullptr;  // marks the work of the main stream before fork()
  cudaEvent_t done_ = nullptr;    // marks the end of the side stream's work
};

}  // namespace regions
