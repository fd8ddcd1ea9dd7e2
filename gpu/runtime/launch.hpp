// How this folder calls CUDA: every runtime call stands in check(), every kernel goes through
// launch() on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "core/backend.hpp"
#include "core/faults.hpp"

namespace regions {

// Throws MemoryError or DeviceError saying what was tried and what CUDA answered.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  const std::string text = std::string(what) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) throw MemoryError(text);
  throw DeviceError(text);
}

// The device of the thread's innermost Backend::Entry; negative where that has ended.
inline thread_local int entered_device = -1;

// The device whose context is the thread's. The runtime takes half a microsecond to tell.
inline int device_in_use() {
  int device = entered_device;
  if (device < 0) check(cudaGetDevice(&device), "asking for the device");
  return device;
}

// A property of that device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device_in_use()),
        "asking for the GPU's properties");
  return value;
}

inline cudaStream_t stream_of(Queue& queue) { return static_cast<cudaStream_t>(queue.native()); }
inline cudaStream_t own_stream_of(Queue& queue) { return static_cast<cudaStream_t>(queue.own()); }

// Whether a graph is made of what is put on the stream.
inline bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking what becomes of a stream's work");
  return status != cudaStreamCaptureStatusNone;
}

// A stream of Backend::make_queue's priority.
inline cudaStream_t make_stream(int priority) {
  int lowest = 0, highest = 0;  // smaller numbers go first
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "asking for priorities");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking,
                                     std::max(lowest - priority, highest)),
        "creating a stream");
  return stream;
}

// How the blocks of a kernel come up: by themselves; all at once, or, if something else holds the
// device, none until they can (cooperative); or, up to 16, on multiprocessors that lie together
// (a cluster, compute capability 9.0): grids of several streams run side by side, where cooperative
// ones follow each other.
enum class Blocks : uint8_t { apart, cooperative, cluster };
// Whether a kernel may begin while the one before it on the stream ends; see gpu/runtime/chain.hpp.
enum class Begin : uint8_t { after, early };

// A kernel on its way to a stream.
struct Launch {
  const void* kernel;
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
  void** arguments;
  std::span<const size_t> sizes;  // of the arguments, in bytes
  Blocks blocks = Blocks::apart;
  Begin begin = Begin::after;

  void go() const { go_on(stream); }
  void go_on(cudaStream_t other) const {
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
    if (begin == Begin::early) {
      add(cudaLaunchAttributeProgrammaticStreamSerialization)
          .programmaticStreamSerializationAllowed = 1;
    }
    if (blocks == Blocks::cooperative) add(cudaLaunchAttributeCooperative).cooperative = 1;
    if (blocks == Blocks::cluster) {
      add(cudaLaunchAttributeClusterDimension).clusterDim = {grid.x, 1, 1};
    }
    check(cudaLaunchKernelExC(&config, kernel, arguments), "launching a kernel");
  }
};

// An object that is given a thread's launches in place of their streams, see
// gpu/runtime/replay.hpp.
class LaunchTaker {
 public:
  virtual void take(const Launch& launch) = 0;
  // Whether what is taken reaches the streams, so that they must wait for each other.
  virtual bool reaches_streams() const = 0;
  // The stream that work for `stream` goes onto.
  virtual cudaStream_t instead_of(cudaStream_t stream) const { return stream; }

 protected:
  ~LaunchTaker() = default;
};
inline thread_local LaunchTaker* launch_taker = nullptr;

// Whether kernels run: not with `idle` among the faults. Throws if this one is to fail.
inline bool may_launch() {
  may_fail(Fault::launch);
  return !faults::idle.load(std::memory_order_relaxed);
}

// Launches a kernel with arguments converted to the types it declares. An empty grid is no launch.
template <class... Declared, class... Given>
void launch_as(Blocks blocks, Begin begin, void (*kernel)(Declared...), dim3 grid, dim3 block,
               size_t shared_bytes, cudaStream_t stream, Given&&... given) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (!may_launch()) return;
  [&](Declared... arguments) {
    void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    static constexpr size_t kSizes[] = {sizeof(Declared)...};
    const Launch ready{reinterpret_cast<const void*>(kernel),
                       grid,
                       block,
                       shared_bytes,
                       stream,
                       pointers,
                       kSizes,
                       blocks,
                       begin};
    const bool is_taken = launch_taker && blocks == Blocks::apart;
    is_taken ? launch_taker->take(ready) : ready.go();
  }(std::forward<Given>(given)...);
}

// Runs a kernel. After it: its grid, the shape of its blocks, the shared memory of each in bytes,
// the stream, the arguments.
template <class Kernel, class... Given>
void launch(Kernel* kernel, Given&&... given) {
  launch_as(Blocks::apart, Begin::after, kernel, std::forward<Given>(given)...);
}
// The same for a kernel whose blocks wait for each other. A grid too large for the device throws.
template <class Kernel, class... Given>
void launch_cooperative(Kernel* kernel, Given&&... given) {
  launch_as(Blocks::cooperative, Begin::after, kernel, std::forward<Given>(given)...);
}

// The compute capability, times ten, that the code was made for which a kernel has on the device in
// use: code made from the intermediate language of older ones does what those can, wherever it
// runs.
inline int code_version(const void* kernel) {
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking about a kernel");
  return attributes.ptxVersion;
}

// Blocks of so many threads that the device runs at once, as a cooperative launch wants.
template <class Kernel>
int resident_blocks(Kernel* kernel, int threads, size_t shared_bytes = 0) {
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, reinterpret_cast<const void*>(kernel),
                                                      threads, shared_bytes),
        "asking how many blocks run at once");
  return device_attribute(cudaDevAttrMultiProcessorCount) * each;
}

// Blocks of `block` that cover `count`.
inline unsigned blocks_for(size_t count, size_t block) {
  return static_cast<unsigned>((count + block - 1) / block);
}

}  // namespace regions
