// Helpers for CUDA runtime calls and kernel launches: error checks, properties of the current
// device, streams, and ordinary, cooperative, cluster and programmatic dependent launches. Every
// runtime call is wrapped in check(). Every kernel is started by launch() or one of its variants.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/backend.hpp"
#include "core/faults.hpp"

namespace regions {

// Throws MemoryError or DeviceError if `error` is an error. `action` describes the attempted
// action; the message consists of it and CUDA's error text.
inline void check(cudaError_t error, const char* action) {
  if (error == cudaSuccess) return;
  const std::string text = std::string(action) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) throw MemoryError(text);
  throw DeviceError(text);
}

// ---- the current device

// Device index set by the thread's last Backend::Entry. Negative if no entry is active, or if an
// inner entry has ended.
inline thread_local int entered_device = -1;

// Returns the device index of the thread's current context. cudaGetDevice() takes half a
// microsecond, so it is called only outside of entries.
inline int current_device() {
  int device = entered_device;
  if (device < 0) check(cudaGetDevice(&device), "asking for the device");
  return device;
}

// Whether to use only what GPUs of compute capability 7.5 offer: 64 KiB of shared memory per block,
// no clusters and no programmatic dependent launches. Tests set the environment variable
// REGIONS_OLD_GPU to 1 to run the code for such GPUs on a newer GPU.
inline bool imitates_old_gpu() {
  static const bool is_set = [] {
    const char* value = std::getenv("REGIONS_OLD_GPU");
    return value && std::string_view(value) == "1";
  }();
  return is_set;
}

// Returns an attribute of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, current_device()),
        "asking for the GPU's properties");
  if (!imitates_old_gpu()) return value;
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) return std::min(value, 64 << 10);
  return attribute == cudaDevAttrClusterLaunch ? 0 : value;
}

// Caches one non-negative number (or a bool) per device. A process may use several devices with
// different properties, and kernel attributes are set for the current device only.
class DeviceCache {
 public:
  // Returns the result of query() for the current device. Calls query() only at the first use on
  // each device; two threads that start at the same time may both call it.
  template <class Query>
  int get(Query query) {
    const int device = current_device();
    if (device >= kMaxDevices) return query();
    std::atomic<int>& value = values_[static_cast<size_t>(device)];
    if (value == 0) value = static_cast<int>(query()) + 1;
    return value - 1;
  }

 private:
  static constexpr int kMaxDevices = 64;
  std::array<std::atomic<int>, kMaxDevices> values_ = {};  // [device], value + 1; 0: not yet known
};

// Returns the number of multiprocessors of the current device. It is queried once per device; later
// calls neither allocate nor synchronise. Use it for grid sizes and thresholds; results of
// algorithms must not depend on it.
inline unsigned multiprocessors() {
  static DeviceCache count;
  return static_cast<unsigned>(
      count.get([] { return device_attribute(cudaDevAttrMultiProcessorCount); }));
}

// ---- streams

inline cudaStream_t stream_of(Queue& queue) { return static_cast<cudaStream_t>(queue.native()); }
inline cudaStream_t own_stream_of(Queue& queue) {
  return static_cast<cudaStream_t>(queue.owned_stream());
}

// Whether the stream is being captured into a CUDA graph.
inline bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking what becomes of a stream's work");
  return status != cudaStreamCaptureStatusNone;
}

// Creates a non-blocking stream. `priority` has the same meaning as in Backend::make_queue().
inline cudaStream_t make_stream(int priority) {
  int lowest_priority = 0, highest_priority = 0;  // smaller numbers mean higher priority
  check(cudaDeviceGetStreamPriorityRange(&lowest_priority, &highest_priority),
        "asking for priorities");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     std::max(lowest_priority - priority, highest_priority)),
        "creating a stream");
  return stream;
}

// ---- launches

// How the blocks of a grid are scheduled.
enum class GridKind : uint8_t {
  // Blocks start one by one, as multiprocessors become free.
  independent,
  // All blocks run at the same time. If other work occupies the device, the grid waits until it
  // fits. Cooperative grids of several streams run one after another.
  cooperative,
  // The grid is one thread block cluster of up to 16 blocks (compute capability 9.0). Clusters of
  // several streams run concurrently.
  cluster
};
// Whether a kernel may start before the previous kernel on its stream has ended: not at all, or by
// programmatic dependent launch (see pdl_trigger()).
enum class Dependency : uint8_t { full, programmatic };

// A kernel with its launch configuration and arguments.
struct KernelLaunch {
  const void* kernel;
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
  void** arguments;               // [arguments], address of each argument
  std::span<const size_t> sizes;  // [arguments], size of each argument, bytes
  GridKind grid_kind = GridKind::independent;
  Dependency dependency = Dependency::full;

  void enqueue() const { enqueue_on(stream); }
  void enqueue_on(cudaStream_t other) const {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    const auto add = [&](cudaLaunchAttributeID id) -> cudaLaunchAttributeValue& {
      attributes[config.numAttrs].id = id;
      return attributes[config.numAttrs++].val;
    };
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = other;
    config.attrs = attributes;
    if (dependency == Dependency::programmatic) {
      add(cudaLaunchAttributeProgrammaticStreamSerialization)
          .programmaticStreamSerializationAllowed = 1;
    }
    if (grid_kind == GridKind::cooperative) add(cudaLaunchAttributeCooperative).cooperative = 1;
    if (grid_kind == GridKind::cluster) {
      add(cudaLaunchAttributeClusterDimension).clusterDim = {grid.x, 1, 1};
    }
    check(cudaLaunchKernelExC(&config, kernel, arguments), "launching a kernel");
  }
};

// Interface of an object that receives the kernel launches of a thread instead of the streams. It
// does not receive cooperative and cluster launches. GraphCache implements it to build CUDA graphs.
class LaunchRecorder {
 public:
  virtual void record(const KernelLaunch& launch) = 0;
  // Whether the launches that record() receives are also enqueued. If so, streams must wait for
  // each other.
  virtual bool enqueues_launches() const = 0;
  // Returns the stream that receives the work intended for `stream`.
  virtual cudaStream_t capture_stream_for(cudaStream_t stream) const { return stream; }

 protected:
  ~LaunchRecorder() = default;
};
// The recorder that receives this thread's launches; null if launches go to their streams.
inline thread_local LaunchRecorder* launch_recorder = nullptr;

// Applies fault injection to a launch. Throws if this launch must fail. Returns whether the kernel
// may run: false if the fault `idle` is injected.
inline bool apply_launch_faults() {
  fail_if_injected(Fault::launch);
  return !faults::skip_launches.load(std::memory_order_relaxed);
}

// Launches a kernel; converts the arguments to its parameter types. An empty grid launches nothing.
template <class... Declared, class... Given>
void launch_as(GridKind grid_kind, Dependency dependency, void (*kernel)(Declared...), dim3 grid,
               dim3 block, size_t shared_bytes, cudaStream_t stream, Given&&... given) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (!apply_launch_faults()) return;
  [&](Declared... arguments) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    static constexpr size_t kSizes[] = {sizeof(Declared)...};
    const KernelLaunch launch{reinterpret_cast<const void*>(kernel),
                              grid,
                              block,
                              shared_bytes,
                              stream,
                              pointers,
                              kSizes,
                              grid_kind,
                              dependency};
    const bool is_recorded = launch_recorder && grid_kind == GridKind::independent;
    is_recorded ? launch_recorder->record(launch) : launch.enqueue();
  }(std::forward<Given>(given)...);
}

// Launches an ordinary kernel. `given` starts with the grid, the block shape, the dynamic shared
// memory per block (bytes) and the stream; the kernel's arguments follow.
template <class Kernel, class... Given>
void launch(Kernel* kernel, Given&&... given) {
  launch_as(GridKind::independent, Dependency::full, kernel, std::forward<Given>(given)...);
}
// Launches a kernel that uses a grid-wide barrier. Throws DeviceError if not all blocks fit on the
// device at the same time.
template <class Kernel, class... Given>
void launch_cooperative(Kernel* kernel, Given&&... given) {
  launch_as(GridKind::cooperative, Dependency::full, kernel, std::forward<Given>(given)...);
}

// ---- programmatic dependent launch (compute capability 9.0)
//
// The blocks of a kernel may start while the previous kernel still runs. This hides the launch
// latency, which is a large part of the time of kernels that take microseconds. Each kernel calls
// pdl_wait() before the first access to data that earlier kernels of the frame write or read,
// unless these kernels are known to be complete.

#ifdef __CUDACC__

// Lets the next kernel of the stream start. Its blocks cannot take the place of blocks of the
// current kernel: the next kernel starts only after every block of the current kernel has called
// this function or ended.
__device__ inline void pdl_trigger() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Waits until all earlier kernels of the stream are complete. All blocks must call this function.
__device__ inline void pdl_wait() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Lets the next kernel's blocks start, then waits for the earlier kernels.
__device__ inline void pdl_trigger_and_wait() {
  pdl_trigger();
  pdl_wait();
}

// Waits for the earlier kernels, then lets the next kernel's blocks start. The next kernel may
// therefore read the results of kernels that precede the current kernel, even before it calls
// pdl_wait().
__device__ inline void pdl_wait_and_trigger() {
  pdl_wait();
  pdl_trigger();
}

#endif

// Returns the compute capability (times ten) for which the code of `kernel` on the current device
// was compiled. Code that is translated from PTX of an older capability has only the features of
// the older capability.
inline int compiled_capability(const void* kernel) {
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking about a kernel");
  return imitates_old_gpu() ? std::min(attributes.ptxVersion, 75) : attributes.ptxVersion;
}

// Whether `kernel`, as compiled for the current device, implements pdl_wait(). The answer is the
// same for all kernels of a build.
inline bool supports_pdl(const void* kernel) {
  static DeviceCache is_supported;
  return is_supported.get([kernel] { return compiled_capability(kernel) >= 90; });
}

// launch_as() for a kernel that calls pdl_wait().
template <class Kernel, class... Given>
void launch_pdl_as(GridKind grid_kind, Kernel* kernel, Given&&... given) {
  const bool is_supported = supports_pdl(reinterpret_cast<const void*>(kernel));
  launch_as(grid_kind, is_supported ? Dependency::programmatic : Dependency::full, kernel,
            std::forward<Given>(given)...);
}
template <class Kernel, class... Given>
void launch_pdl(Kernel* kernel, Given&&... given) {
  launch_pdl_as(GridKind::independent, kernel, std::forward<Given>(given)...);
}

// ---- launch configurations

// Returns the number of blocks of `threads` threads that the current device runs at the same time.
// It is the limit of a cooperative grid.
template <class Kernel>
int resident_blocks(Kernel* kernel, int threads, size_t shared_bytes = 0) {
  int per_multiprocessor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &per_multiprocessor, reinterpret_cast<const void*>(kernel), threads, shared_bytes),
        "asking how many blocks run at once");
  return static_cast<int>(multiprocessors()) * per_multiprocessor;
}

// Returns the number of blocks of `block` elements each that cover `count` elements.
inline unsigned blocks_for(size_t count, size_t block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

// Allows launches of `kernel` with `bytes` of dynamic shared memory per block. Throws DeviceError
// if the current device has less.
template <class Kernel>
void allow_shared_memory(Kernel* kernel, size_t bytes) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, function), "asking about a kernel");
  const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const bool fits = attributes.sharedSizeBytes + bytes <= static_cast<size_t>(most);
  check(fits ? cudaSuccess : cudaErrorInvalidValue, "asking for shared memory");
  check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "asking for shared memory");
}

// Allows launches of `kernel` as a cluster of `blocks` blocks with `shared_bytes` of dynamic shared
// memory per block. Returns whether the device can run such a cluster. If an earlier call has set a
// larger limit of shared memory, the larger limit remains.
template <class Kernel>
bool enable_cluster(Kernel* kernel, unsigned blocks, unsigned threads, size_t shared_bytes) {
  if (imitates_old_gpu()) return false;
  const auto* function = reinterpret_cast<const void*>(kernel);
  const auto set = [&](cudaFuncAttribute attribute, int value) {
    const cudaError_t error = cudaFuncSetAttribute(function, attribute, value);
    if (error != cudaSuccess)
      cudaGetLastError();  // clears the error: the device does not support the value
    return error == cudaSuccess;
  };
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, function), "asking about a kernel");
  const int bytes = std::max(static_cast<int>(shared_bytes), attributes.maxDynamicSharedSizeBytes);
  if (!set(cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) ||
      !set(cudaFuncAttributeNonPortableClusterSizeAllowed, 1)) {
    return false;
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, function, &config);
  if (error != cudaSuccess) cudaGetLastError();  // clears the error: the cluster is too large
  return error == cudaSuccess && clusters > 0;
}

// Sets `bytes` bytes of device memory at `data` to 0 and waits until this is done. Use it for
// memory that kernels expect to be zero at the start of a frame and set to zero again for the next
// frame. Too slow to be called per frame.
inline void fill_with_zeros(Queue& queue, void* data, size_t bytes) {
  check(cudaMemsetAsync(data, 0, bytes, stream_of(queue)), "clearing memory");
  queue.record();
  queue.wait();
}
inline void fill_with_zeros(Backend& backend, void* data, size_t bytes) {
  const Backend::Entry entry(backend);
  fill_with_zeros(*backend.make_queue(), data, bytes);
}

}  // namespace regions
