// The CUDA backend: its contexts, its memory, and its queue, which is a CUDA stream with events.
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

// While an object of this class exists, the thread's sleeps end within 1 µs of the requested time.
// The default timer slack of Linux is 50 µs, so that one interrupt can wake several threads.
class PreciseSleep {
 public:
  PreciseSleep() : previous_slack_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1000UL); }
  ~PreciseSleep() {
    if (previous_slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(previous_slack_));
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  const int previous_slack_;  // timer slack of the thread before the construction, ns
};

// A queue that enqueues its work on a CUDA stream. Events mark the beginning and the end of the
// work of a frame.
class CudaQueue : public Queue {
 public:
  CudaQueue(std::shared_ptr<Backend> backend, int priority)
      : backend_(std::move(backend)),
        own_stream_(make_stream(priority)),
        current_stream_(own_stream_) {
    create_event(begin_event_, cudaEventDefault);
    create_event(timed_end_event_, cudaEventDefault);
    create_event(end_event_, cudaEventDisableTiming);
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
                                static_cast<size_t>(rows), kind, current_stream_),
              "copying a picture");
        continue;
      }
      for (int y = 0; y < rows; ++y) {  // a bottom-up picture (negative pitch) or a single row
        check(cudaMemcpyAsync(to.plane[p] + y * to.pitch[p], from.plane[p] + y * from.pitch[p],
                              bytes, kind, current_stream_),
              "copying a row of a picture");
      }
    }
  }
  void copy_bytes(const void* from, void* to, size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, current_stream_), "copying bytes");
  }
  void shrink(const ConstFrame& from, const Frame& to) override {
    regions::shrink(from, to, current_stream_);
  }
  void transfer_changes(const ConstFrame& before, const ConstFrame& after, const Frame& to,
                        bool is_tint) override {
    regions::transfer_changes(before, after, to, is_tint, current_stream_);
  }
  void pick(const ConstFrame& from, const Frame& to, const PixelMapping& picking) override {
    regions::pick(from, to, picking, current_stream_);
  }
  void start() override {
    is_timed_ = frame_count_ < kFirstTimedFrames || frame_count_ % kTimingInterval == 0;
    ++frame_count_;
    if (is_timed_) record_event(begin_event_);
  }
  void record() override {
    if (is_capturing_) return;
    if (is_timed_) record_event(timed_end_event_);
    if (!(is_end_event_pending_ = current_stream_ == kDefaultStream)) record_event(end_event_);
  }
  bool done() const override {
    record_pending_end_event();
    return cudaEventQuery(end_event_) != cudaErrorNotReady;
  }
  void wait() override {
    if (is_capturing_) throw DeviceError("a stream that records a CUDA graph cannot wait");
    record_pending_end_event();
    const bool polls_first = was_short_wait_ || ++wait_count_ % kPollInterval == 0;
    was_short_wait_ = polls_first && poll_until(Clock::now() + kShortWait);
    if (!was_short_wait_) sleep();
    if (!std::exchange(is_timed_, false)) return;
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_event_, timed_end_event_),
          "asking for a frame's time");
    elapsed_ = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
  }
  int64_t elapsed() const override { return elapsed_; }
  void* native() const override { return current_stream_; }
  void* owned_stream() const override { return own_stream_; }
  void move_to(void* native) override {
    const auto next_stream = static_cast<cudaStream_t>(native);
    // While a stream is captured, the default stream must not be used.
    is_capturing_ = is_capturing(next_stream);
    const bool is_unchanged = std::exchange(current_stream_, next_stream) == kDefaultStream &&
                              next_stream == kDefaultStream;
    if (is_unchanged || is_capturing_) return;
    record_pending_end_event();
    check(cudaStreamWaitEvent(current_stream_, end_event_), "following the queue's earlier work");
  }
  void follow(void* native) override {
    if (!followed_event_)
      check(cudaEventCreateWithFlags(&followed_event_, cudaEventDisableTiming),
            "creating an event");
    check(cudaEventRecord(followed_event_, static_cast<cudaStream_t>(native)),
          "recording an event");
    check(cudaStreamWaitEvent(current_stream_, followed_event_), "following a stream");
  }
  void lead(void* native) override {
    record_pending_end_event();
    check(cudaStreamWaitEvent(static_cast<cudaStream_t>(native), end_event_), "leading a stream");
  }

 private:
  // Only every 16th frame is timed, because timing events cost the driver as much as kernels: with
  // a pair per frame, 16 streams of 640x480 process 20% fewer frames (H200, 2026-11-21). The first
  // frames are timed too, so that a queue that is used briefly also reports a time. No later timed
  // frame includes the loading of kernels or the instantiation of a graph (GraphCache: frame 12).
  static constexpr uint64_t kTimingInterval = 16, kFirstTimedFrames = 3;

  // How wait() waits. A thread that polls occupies a core. A thread that the driver wakes costs an
  // interrupt and work of a driver thread, together 100 µs of CPU time. A thread that sleeps and
  // then checks costs half as much (H200, 2026-11-27). It sleeps first for 3/4 of the previous
  // wait's duration, then repeatedly for 1/8 of the time waited so far. Before it sleeps, wait()
  // polls for kShortWait if the previous wait was shorter than kShortWait. Otherwise it polls at
  // every 16th wait, to find out whether waits have become short.
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::microseconds kShortWait{120};
  static constexpr unsigned kPollInterval = 16;
  static constexpr std::chrono::microseconds kMinSleep{20}, kMaxSleep{2000};

  bool poll_until(Clock::time_point deadline) const {
    do {
      if (has_ended()) return true;
    } while (Clock::now() < deadline);
    return false;
  }
  bool has_ended() const {
    const cudaError_t state = cudaEventQuery(end_event_);
    if (state == cudaErrorNotReady) return false;
    check(state, "running a frame on the GPU");
    return true;
  }
  void sleep() {
    const PreciseSleep precise_sleep;
    const Clock::time_point start_time = Clock::now();
    std::chrono::nanoseconds next_sleep = last_sleep_ * 3 / 4, slept{0};
    do {
      std::this_thread::sleep_for(
          std::clamp<std::chrono::nanoseconds>(next_sleep, kMinSleep, kMaxSleep));
      slept = Clock::now() - start_time;
      next_sleep = slept / 8;
    } while (!has_ended());
    last_sleep_ = slept;
  }

  void create_event(cudaEvent_t& event, unsigned flags) {
    const cudaError_t error = cudaEventCreateWithFlags(&event, flags);
    if (error != cudaSuccess) release();
    check(error, "creating an event");
  }
  void record_event(cudaEvent_t event) {
    check(cudaEventRecord(event, current_stream_), "recording an event");
  }
  // On the default stream, record() leaves the recording of end_event_ to this function, which runs
  // only if the event is needed. On other streams, record() records the event at once, because
  // these streams may be destroyed before the event is needed.
  void record_pending_end_event() const {
    if (!std::exchange(is_end_event_pending_, false)) return;
    check(cudaEventRecord(end_event_, kDefaultStream), "recording an event");
  }
  // Destroys the events and the stream.
  void release() {
    for (cudaEvent_t event : {begin_event_, timed_end_event_, end_event_, followed_event_}) {
      if (event) cudaEventDestroy(event);
    }
    cudaStreamDestroy(own_stream_);
  }
  static cudaMemcpyKind direction(Memory from, Memory to) {
    if (from == Memory::host) {
      return to == Memory::host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    }
    return to == Memory::host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
  }

  std::shared_ptr<Backend> backend_;
  const cudaStream_t own_stream_;
  cudaStream_t current_stream_;  // receives the work: own_stream_ or a stream given to move_to()
  bool is_capturing_ = false;    // whether current_stream_ is being captured into a graph
  // Whether end_event_ must still be recorded on the default stream.
  mutable bool is_end_event_pending_ = false;
  cudaEvent_t begin_event_ = nullptr, timed_end_event_ = nullptr, end_event_ = nullptr;
  cudaEvent_t followed_event_ = nullptr;  // marks the work that follow() waits for
  uint64_t frame_count_ = 0;              // number of frames started so far
  bool is_timed_ = false;                 // whether the current frame is timed
  int64_t elapsed_ = 0;                   // duration of the last timed frame, ns
  bool was_short_wait_ = true;            // whether the previous wait() was shorter than kShortWait
  unsigned wait_count_ = 0;               // number of waits that did not follow a short wait
  std::chrono::nanoseconds last_sleep_{0};  // duration of the previous wait that slept
};

// ---- contexts and memory

// Functions of the CUDA driver that the runtime API does not offer.
struct DriverFunctions {
  decltype(&cuDevicePrimaryCtxGetState) get_primary_state =
      require_driver_function<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
  decltype(&cuDevicePrimaryCtxSetFlags) set_primary_flags =
      require_driver_function<decltype(cuDevicePrimaryCtxSetFlags)>("cuDevicePrimaryCtxSetFlags");
  decltype(&cuDevicePrimaryCtxRetain) retain_primary =
      require_driver_function<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  decltype(&cuCtxPushCurrent) push_context =
      require_driver_function<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent");
  decltype(&cuCtxPopCurrent) pop_context =
      require_driver_function<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent");
};

const DriverFunctions& driver() {
  static const DriverFunctions functions;
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

// Returns the free memory of the current device as the last part of an error message. The text is
// empty if CUDA does not report the free memory.
std::string free_memory_text() {
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
  // allocates rarely. Each allocation is as large as all earlier allocations of the same second
  // together, up to 1/64 of the device's memory.
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
                        free_memory_text());
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
  // The driver keeps a stack of contexts for each thread, so entries can be nested.
  void enter() override {
    if (driver().push_context(context_) != CUDA_SUCCESS)
      throw DeviceError("the CUDA context was lost");
    entered_device = ordinal_;
  }
  void leave() override {
    entered_device = -1;  // the device of an enclosing entry is unknown here
    CUcontext popped;
    driver().pop_context(&popped);
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
      cudaGetLastError();  // clears CUDA's error state: the device still works
      const bool is_device = std::string_view(kind) == "GPU";
      throw MemoryError("out of " + std::string(kind) + " memory" +
                        (is_device ? " on " + description_ : "") + ": " + std::to_string(bytes) +
                        " bytes wanted" + (is_device ? free_memory_text() : ""));
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
  static std::map<int, CUcontext> contexts;
  const std::lock_guard lock(mutex);
  CUcontext& context = contexts[ordinal];
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
  if (driver().get_primary_state(ordinal, &flags, &is_created) != CUDA_SUCCESS || is_created)
    return;
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
