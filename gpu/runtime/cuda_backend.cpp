// The CUDA backend: contexts, memory, and the queue, which is a stream with events.
#include "gpu/runtime/cuda_backend.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/arena.hpp"
#include "gpu/runtime/copy_kernels.hpp"
#include "gpu/runtime/driver_function.hpp"
#include "gpu/runtime/kernel_loading.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace {

// ---- the queue

constexpr cudaStream_t kDefaultStream = nullptr;

// During its lifetime the thread's sleeps end within 1 µs of the requested time. The default of
// Linux is 50 µs, which lets it wake several threads at once.
class PreciseSleep {
 public:
  PreciseSleep() : previous_slack_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1000UL); }
  ~PreciseSleep() {
    if (previous_slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(previous_slack_));
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  const int previous_slack_;  // ns
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
    const cudaMemcpyKind kind = direction(from.memory, to.memory);
    for (int p = 0; p < from.layout.planes; ++p) {
      const size_t bytes = row_bytes(from.layout, p, from.size());
      const int rows = row_count(from.layout, p, from.size());
      const ptrdiff_t min_pitch = std::min(from.pitch[p], to.pitch[p]);
      if (min_pitch >= static_cast<ptrdiff_t>(bytes)) {
        check(cudaMemcpy2DAsync(to.plane[p], static_cast<size_t>(to.pitch[p]), from.plane[p],
                                static_cast<size_t>(from.pitch[p]), bytes,
                                static_cast<size_t>(rows), kind, current_),
              "copying a picture");
        continue;
      }
      for (int y = 0; y < rows; ++y) {  // bottom-up pictures (negative pitch), or a single row
        check(cudaMemcpyAsync(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p],
                              bytes, kind, current_),
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
  void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                        bool is_tint) override {
    regions::transfer_changes(before, after, to, is_tint, current_);
  }
  void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking) override {
    regions::pick(from, to, picking, current_);
  }
  void start() override {
    is_timed_ = frames_ < kFirstTimedFrames || frames_ % kTimingInterval == 0;
    ++frames_;
    if (is_timed_) mark(begin_);
  }
  void record() override {
    if (is_capturing_) return;
    if (is_timed_) mark(timed_end_);
    if (!(is_mark_pending_ = current_ == kDefaultStream)) mark(end_);
  }
  bool done() const override {
    mark_end();
    return cudaEventQuery(end_) != cudaErrorNotReady;
  }
  void wait() override {
    if (is_capturing_) throw DeviceError("a stream that records a CUDA graph cannot wait");
    mark_end();
    const bool spins = was_short_wait_ || ++waits_ % kSpinInterval == 0;
    was_short_wait_ = spins && spin_until(Clock::now() + kShortWait);
    if (!was_short_wait_) sleep();
    if (!std::exchange(is_timed_, false)) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, timed_end_), "asking for a frame's time");
    elapsed_ = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }
  int64_t elapsed() const override { return elapsed_; }
  void* native() const override { return current_; }
  void* owned_stream() const override { return stream_; }
  void move_to(void* native) override {
    const auto next = static_cast<cudaStream_t>(native);
    is_capturing_ = is_capturing(next);  // then the default stream must not be used
    const bool is_unchanged =
        std::exchange(current_, next) == kDefaultStream && next == kDefaultStream;
    if (is_unchanged || is_capturing_) return;
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
  // Only every 16th frame is timed, because timing events cost the driver as much as kernels: with
  // a pair per frame, 16 streams of 640x480 process 20% fewer frames (H200, 2026-11-21). The first
  // frames are timed too, so that a queue that is used briefly also reports a time. No later timed
  // frame includes the loading of kernels or the instantiation of a graph (GraphCache: frame 12).
  static constexpr uint64_t kTimingInterval = 16, kFirstTimedFrames = 3;

  // How wait() waits. A thread that polls occupies a core. A thread that the driver wakes costs an
  // interrupt and work of a driver thread, together 100 µs of CPU time. A thread that sleeps costs
  // half as much (H200, 2026-11-27): first 3/4 of the previous wait's duration, then repeatedly 1/8
  // of the time waited so far. wait() polls for kShortWait first if the previous wait was that
  // short, and otherwise at every 16th wait to find out whether waits have become short.
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kShortWait{120};
  static constexpr unsigned kSpinInterval = 16;
  static constexpr std::chrono::microseconds kMinSleep{20}, kMaxSleep{2000};

  bool spin_until(Clock::time_point latest) const {
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
      std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(next, kMinSleep, kMaxSleep));
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
  // Records end_ late if the work is on the default stream, which always exists. Other streams may
  // be destroyed before the event is needed, so record() records it at once for them.
  void mark_end() const {
    if (!std::exchange(is_mark_pending_, false)) return;
    check(cudaEventRecord(end_, kDefaultStream), "recording an event");
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
  cudaStream_t current_;                  // receives the work: the queue's own stream or another
  bool is_capturing_ = false;             // current_ is being captured into a graph
  mutable bool is_mark_pending_ = false;  // end_ must still be recorded on the default stream
  cudaEvent_t begin_ = nullptr, timed_end_ = nullptr, end_ = nullptr;
  cudaEvent_t joint_ = nullptr;  // recorded on the streams that follow() waits for
  uint64_t frames_ = 0;          // started so far
  bool is_timed_ = false;        // the current frame
  int64_t elapsed_ = 0;          // duration of the last timed frame, ns
  bool was_short_wait_ = true;   // the previous wait
  unsigned waits_ = 0;
  std::chrono::nanoseconds last_sleep_{0};  // duration of the previous wait that slept
};

// ---- contexts and memory

struct Driver {
  decltype(&cuDevicePrimaryCtxGetState) primary_state =
      require_driver_function<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
  decltype(&cuDevicePrimaryCtxSetFlags) set_primary_flags =
      require_driver_function<decltype(cuDevicePrimaryCtxSetFlags)>("cuDevicePrimaryCtxSetFlags");
  decltype(&cuDevicePrimaryCtxRetain) retain_primary =
      require_driver_function<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  decltype(&cuCtxPushCurrent) push =
      require_driver_function<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent");
  decltype(&cuCtxPopCurrent) pop =
      require_driver_function<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent");
};

const Driver& driver() {
  static const Driver functions;
  return functions;
}

// Throws DeviceError if there is no such device.
void expect_device(int ordinal) {
  const int count = cuda_device_count();
  if (ordinal >= 0 && ordinal < count) return;
  throw DeviceError(count == 0 ? std::string("no CUDA device: no driver or no GPU was found")
                               : "no CUDA device " + std::to_string(ordinal) + ": there are " +
                                     std::to_string(count));
}

// The free memory of the current device as the end of an error message. Empty if CUDA does not
// report it.
std::string free_bytes() {
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    return ", " + std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
  }
  cudaGetLastError();
  return "";
}

// State shared by all backends of a context.
struct ContextState {
  // If 16 streams start at once, the driver serialises their threads: each of 280 allocations took
  // up to 22 ms (H200, 2026-11-27), while frames were already arriving. The arena therefore
  // allocates rarely. Each allocation is as large as all earlier ones of the same second together,
  // up to 1/64 of the device's memory.
  Arena device;
  Arena pinned{size_t{2} << 20, size_t{4} << 20};  // pinning 1 MB takes 0.5 ms
  std::once_flag kernels_loaded;

  explicit ContextState(size_t device_bytes)
      : device(size_t{2} << 20, std::max(size_t{64} << 20, device_bytes / 64)) {}
};

ContextState& state_of(CUcontext context, const cudaDeviceProp& properties) {
  static std::mutex mutex;
  static std::map<CUcontext, ContextState> all;
  const std::lock_guard lock(mutex);
  return all.try_emplace(context, properties.totalGlobalMem).first->second;
}

cudaDeviceProp properties_of(int ordinal) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal), "asking for the GPU's properties");
  return properties;
}

class CudaBackend : public Backend, public std::enable_shared_from_this<CudaBackend> {
 public:
  CudaBackend(int ordinal, CUcontext context, const cudaDeviceProp& properties)
      : context_(context),
        ordinal_(ordinal),
        state_(state_of(context, properties)),
        description_("cuda:" + std::to_string(ordinal) + " " + properties.name) {
    Entry entry(*this);
    try {
      std::call_once(state_.kernels_loaded, load_kernels);
    } catch (const MemoryError& error) {
      throw MemoryError("out of GPU memory on " + description_ + ": " + error.what() +
                        free_bytes());
    }
  }
  BackendKind kind() const override { return BackendKind::cuda; }
  std::string description() const override { return description_; }
  int device() const override { return ordinal_; }
  Memory memory() const override { return Memory::device; }
  std::unique_ptr<Queue> make_queue(int priority) override {
    Entry entry(*this);
    return std::make_unique<CudaQueue>(shared_from_this(), priority);
  }
  Block allocate(size_t bytes) override {
    fail_if_injected(Fault::allocation);
    Entry entry(*this);
    return state_.device.allocate(bytes, [this](size_t size) {
      return request<cudaFree>("GPU", size, [&](void** data) { return cudaMalloc(data, size); });
    });
  }
  Block allocate_pinned(size_t bytes) override {
    fail_if_injected(Fault::allocation);
    Entry entry(*this);
    return state_.pinned.allocate(bytes, [this](size_t size) { return request_pinned(size); });
  }
  std::shared_ptr<void> reserve_pinned(size_t bytes) override {
    Entry entry(*this);
    return state_.pinned.reserve(bytes, [this](size_t size) { return request_pinned(size); });
  }

 protected:
  // The driver has a stack of contexts per thread, so entries can be nested.
  void enter() override {
    if (driver().push(context_) != CUDA_SUCCESS) throw DeviceError("the CUDA context was lost");
    entered_device = ordinal_;
  }
  void leave() override {
    entered_device = -1;  // the enclosing entry is unknown
    CUcontext popped;
    driver().pop(&popped);
  }

 private:
  Block request_pinned(size_t bytes) {
    return request<cudaFreeHost>("pinned host", bytes, [&](void** data) {
      return cudaHostAlloc(data, bytes, cudaHostAllocPortable);
    });
  }
  template <cudaError_t (*release)(void*), class Allocate>
  Block request(const char* kind, size_t bytes, Allocate allocate_into) {
    void* data = nullptr;
    const cudaError_t error = allocate_into(&data);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // clears the error; the device still works
      const bool is_device = std::string_view(kind) == "GPU";
      throw MemoryError("out of " + std::string(kind) + " memory" +
                        (is_device ? " on " + description_ : "") + ": " + std::to_string(bytes) +
                        " bytes wanted" + (is_device ? free_bytes() : ""));
    }
    check(error, "allocating memory");
    const auto free_block = [](void* owner, void* block) {
      Entry owner_entry(*static_cast<CudaBackend*>(owner));
      release(block);
    };
    return Block(data, bytes, free_block, this, shared_from_this());
  }

  CUcontext context_;
  int ordinal_;
  ContextState& state_;
  const std::string description_;
};

}  // namespace

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

void* primary_context(int ordinal) {
  expect_device(ordinal);
  static std::mutex mutex;
  static std::map<int, CUcontext> retained;
  const std::lock_guard lock(mutex);
  CUcontext& context = retained[ordinal];
  if (context) return context;
  const CUresult result = driver().retain_primary(&context, ordinal);
  if (result == CUDA_SUCCESS) return context;
  context = nullptr;
  const std::string name = "cuda:" + std::to_string(ordinal) + " " + properties_of(ordinal).name;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw MemoryError(
        "out of GPU memory on " + name +
        ": a CUDA context needs more bytes than are free, usually 300 to 600 million");
  }
  throw DeviceError("cannot create a context on " + name + ": CUDA error " +
                    std::to_string(result));
}

void use_blocking_sync(int ordinal) {
  expect_device(ordinal);
  unsigned flags = 0;
  int is_created = 0;
  if (driver().primary_state(ordinal, &flags, &is_created) != CUDA_SUCCESS || is_created) return;
  flags = (flags & ~unsigned{CU_CTX_SCHED_MASK}) | CU_CTX_SCHED_BLOCKING_SYNC;
  driver().set_primary_flags(ordinal, flags);
}

std::shared_ptr<Backend> make_cuda_backend(int ordinal, void* context) {
  expect_device(ordinal);
  if (!context) context = primary_context(ordinal);
  return std::make_shared<CudaBackend>(ordinal, static_cast<CUcontext>(context),
                                       properties_of(ordinal));
}

}  // namespace regions
