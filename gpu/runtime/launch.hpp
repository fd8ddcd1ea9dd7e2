// CUDA runtime calls and kernel launches: error checks, properties of the current device, streams,
// and ordinary, cooperative, cluster and programmatic dependent launches. Every runtime call is
// wrapped in check(). Every kernel is started by launch() or one of its variants.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "core/backend.hpp"
#include "core/faults.hpp"

namespace regions {

// Throws MemoryError or DeviceError with the attempted action and CUDA's error text.
inline void check(cudaError_t error, const char* action) {
  if (error == cudaSuccess) return;
  const std::string text = std::string(action) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) throw MemoryError(text);
  throw DeviceError(text);
}

// ---- the current device

// The device of the thread's innermost Backend::Entry, or a negative number after that entry ended.
inline thread_local int entered_device = -1;

// The device of the thread's current context. cudaGetDevice() takes half a microsecond, so it is
// called only outside of entries.
inline int current_device() {
  int device = entered_device;
  if (device < 0) check(cudaGetDevice(&device), "asking for the device");
  return device;
}

// An attribute of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, current_device()),
        "asking for the GPU's properties");
  return value;
}

// Caches one non-negative number (or a bool) per device. A process may use several devices with
// different properties, and kernel attributes are set for the current device only.
class DeviceCache {
 public:
  // Returns query() of the current device, which is called at the first use on this device. Two
  // threads may both call it.
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
  std::array<std::atomic<int>, kMaxDevices> values_ = {};  // value + 1; 0: not yet known
};

// Number of multiprocessors of the current device. Queried once per device; neither allocates nor
// synchronises afterwards. Use it for grid sizes and thresholds; results must not depend on it.
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

// Creates a non-blocking stream with a priority as in Backend::make_queue().
inline cudaStream_t make_stream(int priority) {
  int lowest = 0, highest = 0;  // smaller numbers go first
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "asking for priorities");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     std::max(lowest - priority, highest)),
        "creating a stream");
  return stream;
}

// ---- launches

// How the blocks of a grid are scheduled.
enum class GridKind : uint8_t {
  independent,  // one by one, as multiprocessors become free
  cooperative,  // all at once; if other work occupies the device, the grid waits until it fits.
                // Cooperative grids of several streams run one after the other
  cluster       // as one thread block cluster of up to 16 blocks (compute capability 9.0). Grids of
                // several streams run concurrently
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
  void** arguments;
  std::span<const size_t> sizes;  // of the arguments, in bytes
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

// Receives the launches of a thread instead of their streams; GraphCache builds CUDA graphs with
// it.
class LaunchRecorder {
 public:
  virtual void record(const KernelLaunch& launch) = 0;
  // Whether recorded launches are also enqueued, so that streams must wait for each other.
  virtual bool enqueues_launches() const = 0;
  // The stream that receives work intended for `stream`.
  virtual cudaStream_t capture_stream_for(cudaStream_t stream) const { return stream; }

 protected:
  ~LaunchRecorder() = default;
};
inline thread_local LaunchRecorder* launch_recorder = nullptr;

// Whether kernels run: false with fault injection `idle`. Throws if fault injection makes this
// launch fail.
inline bool is_launch_allowed() {
  fail_if_injected(Fault::launch);
  return !faults::skip_launches.load(std::memory_order_relaxed);
}

// Launches a kernel; converts the arguments to its parameter types. An empty grid launches nothing.
template <class... Declared, class... Given>
void launch_as(GridKind grid_kind, Dependency dependency, void (*kernel)(Declared...), dim3 grid,
               dim3 block, size_t shared_bytes, cudaStream_t stream, Given&&... given) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (!is_launch_allowed()) return;
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
// Launches a kernel with a grid-wide barrier. Throws DeviceError if the grid does not fit the
// device.
template <class Kernel, class... Given>
void launch_cooperative(Kernel* kernel, Given&&... given) {
  launch_as(GridKind::cooperative, Dependency::full, kernel, std::forward<Given>(given)...);
}

// ---- programmatic dependent launch (compute capability 9.0)
//
// The blocks of a kernel may start while the previous kernel still runs, which hides the launch
// latency: a large part of the time of kernels that take microseconds. Each kernel calls pdl_wait()
// before it accesses data that earlier kernels of the frame write or read, unless these kernels are
// known to be complete.

#ifdef __CUDACC__

// Triggers the dependent kernel's programmatic launch. This cannot starve the current grid: it
// fires only after all of its blocks have called it or ended, so all are resident.
__device__ inline void pdl_trigger() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Waits until all earlier kernels of the stream are complete. All blocks must call it.
__device__ inline void pdl_wait() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// First lets the next kernel's blocks start and wait, then waits for the earlier kernels.
__device__ inline void pdl_trigger_and_wait() {
  pdl_trigger();
  pdl_wait();
}

// Opposite order: when the next kernel's blocks start, all kernels earlier than the current kernel
// are complete. These blocks may therefore read earlier results before their own pdl_wait().
__device__ inline void pdl_wait_and_trigger() {
  pdl_wait();
  pdl_trigger();
}

#endif

// Compute capability (times ten) for which the code of `kernel` on the current device was compiled.
// Code translated from PTX of an older capability has only the features of the older one.
inline int compiled_capability(const void* kernel) {
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking about a kernel");
  return attributes.ptxVersion;
}

// Whether the kernels of this build, as compiled for the current device, implement pdl_wait().
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

// Number of blocks of `threads` threads that the device runs at once; the limit of a cooperative
// grid.
template <class Kernel>
int resident_blocks(Kernel* kernel, int threads, size_t shared_bytes = 0) {
  int per_multiprocessor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &per_multiprocessor, reinterpret_cast<const void*>(kernel), threads, shared_bytes),
        "asking how many blocks run at once");
  return static_cast<int>(multiprocessors()) * per_multiprocessor;
}

// Number of blocks of `block` elements that cover `count` elements.
inline unsigned blocks_for(size_t count, size_t block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

// Allows launches of `kernel` as a cluster of `blocks` blocks with `shared_bytes` of dynamic shared
// memory each. Returns whether the device can run such a cluster. An earlier, larger limit of
// shared memory stays in force.
template <class Kernel>
bool enable_cluster(Kernel* kernel, unsigned blocks, unsigned threads, size_t shared_bytes) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  const auto set = [&](cudaFuncAttribute attribute, int value) {
    const cudaError_t error = cudaFuncSetAttribute(function, attribute, value);
    if (error != cudaSuccess) cudaGetLastError();  // clears the error; the device has less
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
  if (error != cudaSuccess) cudaGetLastError();  // clears the error; the cluster is too large
  return error == cudaSuccess && clusters > 0;
}

// Sets `bytes` of the backend's memory to 0 and waits until this is done. For memory that kernels
// expect to be zero at the first frame and leave zero for the next. Not for hot paths.
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
