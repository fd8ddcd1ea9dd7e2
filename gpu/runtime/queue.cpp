// A stream and the events on it: order, waits, times.
#include "gpu/runtime/queue.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "gpu/runtime/launch.hpp"
#include "gpu/runtime/resampling.hpp"

namespace regions {
namespace {

constexpr cudaStream_t kDefault = nullptr;

// While it lives, the thread's sleeps end within a microsecond of their time, and not within 50,
// as Linux has it where several threads may then be woken at once.
class PreciseSleep {
 public:
  PreciseSleep() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1000UL); }
  ~PreciseSleep() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  const int before_;  // ns
};

class CudaQueue : public Queue {
 public:
  CudaQueue(std::shared_ptr<Backend> backend, int priority)
      : backend_(std::move(backend)), stream_(make_stream(priority)), current_(stream_) {
    create(begin_, cudaEventDefault);
    create(timed_end_, cudaEventDefault);
    create(end_, cudaEventDisableTiming);
  }
  ~CudaQueue() override {
    Backend::Entry entry(*backend_);
    release();
  }
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void copy(const ConstFrame& from, const Frame& to) override {
    expects(from.layout.format == to.layout.format && from.size() == to.size(),
            "a copy requires pictures of equal format and size");
    const cudaMemcpyKind way = direction(from.memory, to.memory);
    for (int p = 0; p < from.layout.planes; ++p) {
      const size_t bytes = row_bytes(from.layout, p, from.size());
      const int rows = row_count(from.layout, p, from.size());
      const ptrdiff_t least = std::min(from.pitch[p], to.pitch[p]);
      if (least >= static_cast<ptrdiff_t>(bytes)) {
        check(cudaMemcpy2DAsync(to.plane[p], static_cast<size_t>(to.pitch[p]), from.plane[p],
                                static_cast<size_t>(from.pitch[p]), bytes,
                                static_cast<size_t>(rows), way, current_),
              "copying a picture");
        continue;
      }
      for (int y = 0; y < rows; ++y) {  // from below to above, or a single row
        check(cudaMemcpyAsync(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p],
                              bytes, way, current_),
              "copying a row of a picture");
      }
    }
  }
  void copy_bytes(const void* from, void* to, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, current_), "copying bytes");
  }
  void shrink(const ConstFrame& from, const Frame& to) override {
    regions::shrink(from, to, current_);
  }
  void carry_over(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                  bool is_tint) override {
    regions::carry_over(before, after, to, is_tint, current_);
  }
  void pick(const ConstFrame& from, const Frame& to, const PixelPicking& picking) override {
    regions::pick(from, to, picking, current_);
  }
  void start() override {
    is_timed_ = frames_ < kFirstTimed || frames_ % kTimedEach == 0;
    ++frames_;
    if (is_timed_) mark(begin_);
  }
  void record() override {
    if (is_part_of_graph_) return;
    if (is_timed_) mark(timed_end_);
    if (!(is_to_mark_ = current_ == kDefault)) mark(end_);
  }
  bool done() const override {
    mark_end();
    return cudaEventQuery(end_) != cudaErrorNotReady;
  }
  void wait() override {
    if (is_part_of_graph_) throw DeviceError("a stream that records a CUDA graph cannot wait");
    mark_end();
    const bool tries = is_short_wait_ || ++waits_ % kTriesEach == 0;
    is_short_wait_ = tries && ends_by(Clock::now() + kShortWait);
    if (!is_short_wait_) sleep();
    if (!std::exchange(is_timed_, false)) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, timed_end_), "asking for a frame's time");
    elapsed_ = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }
  int64_t elapsed() const override { return elapsed_; }
  void* native() const override { return current_; }
  void* own() const override { return stream_; }
  void move_to(void* native) override {
    const auto next = static_cast<cudaStream_t>(native);
    is_part_of_graph_ = is_captured(next);  // while it is, nothing may be put on the default stream
    const bool stays = std::exchange(current_, next) == kDefault && next == kDefault;
    if (stays || is_part_of_graph_) return;
    mark_end();
    check(cudaStreamWaitEvent(current_, end_), "following the queue's earlier work");
  }
  void follow(void* native) override {
    if (!joint_)
      check(cudaEventCreateWithFlags(&joint_, cudaEventDisableTiming), "creating an event");
    check(cudaEventRecord(joint_, static_cast<cudaStream_t>(native)), "recording an event");
    check(cudaStreamWaitEvent(current_, joint_), "following a stream");
  }
  void lead(void* native) override {
    mark_end();
    check(cudaStreamWaitEvent(static_cast<cudaStream_t>(native), end_), "leading a stream");
  }

 private:
  // Events that tell the time cost the driver as much as kernels: with a pair for each frame
  // sixteen streams of 640x480 get a fifth fewer frames through (H200, 2026-11-21). The first
  // frames are timed, too: of what is used for long, none waited for kernels to be loaded or a
  // graph made.
  static constexpr uint64_t kTimedEach = 16, kFirstTimed = 3;

  // A thread that asks again and again for the end of the work holds a core; one that the driver
  // wakes costs an interrupt and a thread of the driver's that looks for its cause, together 100 us
  // of processor time. One that sleeps for most of the time that the last wait took, and then for
  // an eighth of what it has waited, again and again, costs half as much (H200, 2026-11-27). A wait
  // spins where the one before was short, and now and then to see whether it would be.
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kShortWait{120};
  static constexpr unsigned kTriesEach = 16;
  static constexpr std::chrono::microseconds kShortestSleep{20}, kLongestSleep{2000};

  bool ends_by(Clock::time_point latest) const {
    do {
      if (has_ended()) return true;
    } while (Clock::now() < latest);
    return false;
  }
  bool has_ended() const {
    const cudaError_t state = cudaEventQuery(end_);
    if (state == cudaErrorNotReady) return false;
    check(state, "running a frame on the GPU");
    return true;
  }
  void sleep() {
    const PreciseSleep precise;
    const Clock::time_point began = Clock::now();
    std::chrono::nanoseconds next = last_sleep_ * 3 / 4, slept{0};
    do {
      std::this_thread::sleep_for(
          std::clamp<std::chrono::nanoseconds>(next, kShortestSleep, kLongestSleep));
      slept = Clock::now() - began;
      next = slept / 8;
    } while (!has_ended());
    last_sleep_ = slept;
  }

  void create(cudaEvent_t& event, unsigned flags) {
    const cudaError_t error = cudaEventCreateWithFlags(&event, flags);
    if (error != cudaSuccess) release();
    check(error, "creating an event");
  }
  void mark(cudaEvent_t event) { check(cudaEventRecord(event, current_), "recording an event"); }
  // The default stream is there whenever the event is asked for; other streams may be gone.
  void mark_end() const {
    if (!std::exchange(is_to_mark_, false)) return;
    check(cudaEventRecord(end_, kDefault), "recording an event");
  }
  void release() {
    for (cudaEvent_t event : {begin_, timed_end_, end_, joint_}) {
      if (event) cudaEventDestroy(event);
    }
    cudaStreamDestroy(stream_);
  }
  static cudaMemcpyKind direction(Memory from, Memory to) {
    if (from == Memory::host) {
      return to == Memory::host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    }
    return to == Memory::host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  }

  std::shared_ptr<Backend> backend_;
  const cudaStream_t stream_;
  cudaStream_t current_;             // that work goes onto: the queue's own, or another
  bool is_part_of_graph_ = false;    // what is put there
  mutable bool is_to_mark_ = false;  // with end_, the end of what was put on the default stream
  cudaEvent_t begin_ = nullptr, timed_end_ = nullptr, end_ = nullptr;
  cudaEvent_t joint_ = nullptr;  // on the streams that are followed
  uint64_t frames_ = 0;          // that were started
  bool is_timed_ = false;        // the one under way
  int64_t elapsed_ = 0;          // by the last that was
  bool is_short_wait_ = true;    // the last one was
  unsigned waits_ = 0;
  std::chrono::nanoseconds last_sleep_{0};
};

}  // namespace

std::unique_ptr<Queue> make_cuda_queue(std::shared_ptr<Backend> backend, int priority) {
  return std::make_unique<CudaQueue>(std::move(backend), priority);
}

}  // namespace regions
