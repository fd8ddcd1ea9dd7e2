// The kernels that a slot launches for every frame, as one CUDA graph. The driver lets a process'
// threads in one by one, and a dozen calls a frame keep it busy long before the GPU is: with one
// call sixteen streams of 640x480 get twice the frames through (H200, 2026-11-21).
#pragma once

#include <memory>
#include <vector>

#include "gpu/runtime/launch.hpp"

namespace regions {

class Replay final : private LaunchTaker {
 public:
  explicit Replay(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // Runs on the queue's stream what work() puts there by launch() and SideStream alone, behind
  // earlier runs, which were on the same queue: a graph under way keeps its arguments, and is freed
  // when it has ended. work() is called again where its kernels are not the last frame's: then they
  // go to the stream one by one, and after kAlike frames alike a graph is made of them, on the
  // queue's own stream as others may be using this one, which later frames use with arguments of
  // their own.
  // Where the stream's work becomes a graph of the caller's, it is put there as it comes.
  template <class Work>
  void run(Queue& queue, const Work& work) {
    const cudaStream_t stream = stream_of(queue);
    if (is_captured(stream)) return work();
    pass(Pass::compare, work);
    if (!is_same()) {
      forget();
      return pass(Pass::launch, work);
    }
    if (!executable_ && ++alike_ < kAlike) return work();
    if (!executable_) {
      Capture capture(*this, stream, own_stream_of(queue));
      pass(Pass::capture, work);
      capture.end();
    }
    go(stream);
  }

 private:
  // The driver makes one graph at a time, in 2 to 7 ms (H200, 2026-11-26): not while the first
  // frames of many streams come late and close together.
  static constexpr int kAlike = 12;

  // A kernel of the last frame.
  struct Step {
    const void* kernel;
    dim3 grid, block;
    size_t shared_bytes;
    std::vector<std::byte> arguments;  // one behind the other
    cudaGraphNode_t node = nullptr;

    explicit Step(const Launch& launch);
    bool is_like(const Launch& launch) const;
    bool has_arguments_of(const Launch& launch) const;
    void take_arguments_of(const Launch& launch);
  };
  // Where the launches go.
  enum class Pass : uint8_t { compare, launch, capture };
  // What is for `stream` goes onto `own`, whose work becomes the graph; left alone again, whatever
  // happens.
  class Capture {
   public:
    Capture(Replay& replay, cudaStream_t stream, cudaStream_t own);
    ~Capture();
    void end();

   private:
    Replay& replay_;
    const cudaStream_t own_;
    bool is_done_ = false;
  };
  // The thread's launches are ours.
  class Taking {
   public:
    explicit Taking(LaunchTaker& taker) : before_(std::exchange(launch_taker, &taker)) {}
    ~Taking() { launch_taker = before_; }
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    LaunchTaker* const before_;
  };

  template <class Work>
  void pass(Pass kind, const Work& work) {
    const Taking taking(*this);
    pass_ = kind;
    seen_ = 0;
    differs_ = false;
    work();
  }
  void take(const Launch& launch) override;
  bool reaches_streams() const override { return pass_ != Pass::compare; }
  cudaStream_t instead_of(cudaStream_t stream) const override {
    return pass_ == Pass::capture && stream == captured_for_ ? captured_on_ : stream;
  }
  void compare(const Launch& launch);
  bool set_arguments(const Step& step, const Launch& launch) const;
  bool is_same() const { return !differs_ && seen_ > 0 && seen_ == steps_.size(); }
  void go(cudaStream_t stream);
  void forget();

  std::shared_ptr<Backend> backend_;
  std::vector<Step> steps_;  // of the last frame
  Pass pass_ = Pass::compare;
  size_t seen_ = 0;       // launches of this pass
  bool differs_ = false;  // from the steps
  int alike_ = 0;         // frames in a row, with no graph yet
  cudaStream_t captured_for_ = nullptr, captured_on_ = nullptr;  // by the Capture
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace regions
