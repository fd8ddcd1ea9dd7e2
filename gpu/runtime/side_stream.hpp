// A second stream for work that may run beside the first one's: fork, work, join. Inside a graph
// it becomes a branch.
#pragma once

#include <memory>

#include "gpu/runtime/launch.hpp"

namespace regions {

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

  // The side stream, behind all that `main` has been given.
  cudaStream_t fork(cudaStream_t main) {
    if (!orders()) return stream_;
    check(cudaEventRecord(forked_, taken(main)), "recording an event");
    check(cudaStreamWaitEvent(stream_, forked_, 0), "waiting for an event");
    return stream_;
  }
  // What `main` is given next comes behind the side stream's work.
  void join(cudaStream_t main) {
    if (!orders()) return;
    check(cudaEventRecord(done_, stream_), "recording an event");
    check(cudaStreamWaitEvent(taken(main), done_, 0), "waiting for an event");
  }
  // The same after a failure that left a fork without its join: a thread that waits for `main`
  // waits for what is there already. Says nothing of failures of its own.
  void join_again(cudaStream_t main) noexcept {
    if (cudaEventRecord(done_, stream_) == cudaSuccess) cudaStreamWaitEvent(main, done_, 0);
    cudaGetLastError();
  }

 private:
  static cudaStream_t taken(cudaStream_t main) {
    return launch_taker ? launch_taker->instead_of(main) : main;
  }
  static bool orders() { return !launch_taker || launch_taker->reaches_streams(); }

  std::shared_ptr<Backend> backend_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t forked_ = nullptr;
  cudaEvent_t done_ = nullptr;
};

}  // namespace regions
