// The CUDA backend: contexts and memory.
#include "gpu/runtime/device.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>

#include "core/arena.hpp"
#include "gpu/runtime/driver_call.hpp"
#include "gpu/runtime/kernels.hpp"
#include "gpu/runtime/queue.hpp"

namespace regions {
namespace {

struct Driver {
  decltype(&cuDevicePrimaryCtxGetState) primary_state =
      driver_call<decltype(cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState");
  decltype(&cuDevicePrimaryCtxSetFlags) set_primary_flags =
      driver_call<decltype(cuDevicePrimaryCtxSetFlags)>("cuDevicePrimaryCtxSetFlags");
  decltype(&cuDevicePrimaryCtxRetain) retain_primary =
      driver_call<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  decltype(&cuCtxPushCurrent) push = driver_call<decltype(cuCtxPushCurrent)>("cuCtxPushCurrent");
  decltype(&cuCtxPopCurrent) pop = driver_call<decltype(cuCtxPopCurrent)>("cuCtxPopCurrent");
};

const Driver& driver() {
  static const Driver found;
  return found;
}

void expect_device(int ordinal) {
  const int count = cuda_device_count();
  if (ordinal >= 0 && ordinal < count) return;
  throw DeviceError(count == 0 ? std::string("no CUDA device: no driver or no GPU was found")
                               : "no CUDA device " + std::to_string(ordinal) + ": there are " +
                                     std::to_string(count));
}

// The free memory of the current device as the end of a message; empty if CUDA does not report it.
std::string free_bytes() {
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) {
    return ", " + std::to_string(free) + " of " + std::to_string(total) + " bytes are free";
  }
  cudaGetLastError();
  return "";
}

// The state that all backends of a context share.
struct Shared {
  // If sixteen streams begin at once, the driver serialises their threads: each of 280 requests for
  // memory took up to 22 ms (H200, 2026-11-27), while frames arrived. So the arena makes few
  // requests. Each is as large as the sum of the previous ones in the same second, up to a 64th of
  // the device's memory.
  Arena device;
  Arena pinned{size_t{2} << 20, size_t{4} << 20};  // allocating a megabyte takes 0.5 ms
  std::once_flag kernels_loaded;

  explicit Shared(size_t device_bytes)
      : device(size_t{2} << 20, std::max(size_t{64} << 20, device_bytes / 64)) {}
};

Shared& shared_in(CUcontext context, const cudaDeviceProp& properties) {
  static std::mutex mutex;
  static std::map<CUcontext, Shared> all;
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
        shared_(shared_in(context, properties)),
        description_("cuda:" + std::to_string(ordinal) + " " + properties.name) {
    Entry entry(*this);
    try {
      std::call_once(shared_.kernels_loaded, load_kernels);
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
    return make_cuda_queue(shared_from_this(), priority);
  }
  Block allocate(size_t bytes) override {
    may_fail(Fault::allocation);
    Entry entry(*this);
    return shared_.device.take(bytes, [this](size_t size) {
      return request<cudaFree>("GPU", size, [&](void** data) { return cudaMalloc(data, size); });
    });
  }
  Block allocate_pinned(size_t bytes) override {
    may_fail(Fault::allocation);
    Entry entry(*this);
    return shared_.pinned.take(bytes, [this](size_t size) { return request_pinned(size); });
  }
  std::shared_ptr<void> keep_pinned_room(size_t bytes) override {
    Entry entry(*this);
    return shared_.pinned.keep_room(bytes, [this](size_t size) { return request_pinned(size); });
  }

 protected:
  // The driver keeps a stack of contexts for each thread, so entries nest without interference.
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
  Shared& shared_;
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

void let_waits_sleep(int ordinal) {
  expect_device(ordinal);
  unsigned flags = 0;
  int is_made = 0;
  if (driver().primary_state(ordinal, &flags, &is_made) != CUDA_SUCCESS || is_made) return;
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
