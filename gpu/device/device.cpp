// The CUDA backend: contexts and memory.
#include "gpu/device/device.hpp"

#include <map>
#include <mutex>

#include "core/arena.hpp"
#include "gpu/device/driver_call.hpp"
#include "gpu/device/kernels.hpp"
#include "gpu/device/queue.hpp"

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
  throw DeviceError(count == 0 ? std::string("no CUDA device: no driver, or no GPU")
                               : "no CUDA device " + std::to_string(ordinal) + ": there are " +
                                     std::to_string(count));
}

// What all backends of a context share.
struct Shared {
  // Where sixteen streams begin at once, the driver lets their threads in one by one: each of 280
  // requests for memory took up to 22 ms (H200, 2026-11-27), while frames came.
  Arena device{size_t{2} << 20, size_t{512} << 20};
  Arena pinned{size_t{2} << 20, size_t{4} << 20};  // of which a megabyte takes half a millisecond
  std::once_flag kernels_loaded;
};

Shared& shared_in(CUcontext context) {
  static std::mutex mutex;
  static std::map<CUcontext, Shared> all;
  const std::lock_guard lock(mutex);
  return all[context];
}

class CudaBackend : public Backend, public std::enable_shared_from_this<CudaBackend> {
 public:
  CudaBackend(int ordinal, CUcontext context)
      : context_(context), ordinal_(ordinal), shared_(shared_in(context)) {
    Entry entry(*this);
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, ordinal), "asking for the GPU's properties");
    description_ = "cuda:" + std::to_string(ordinal) + " " + properties.name;
    std::call_once(shared_.kernels_loaded, load_kernels);
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
    return allocate_in<cudaFree>(shared_.device, "GPU", bytes,
                                 [](void** data, size_t size) { return cudaMalloc(data, size); });
  }
  Block allocate_pinned(size_t bytes) override {
    return allocate_in<cudaFreeHost>(
        shared_.pinned, "pinned host", bytes,
        [](void** data, size_t size) { return cudaHostAlloc(data, size, cudaHostAllocPortable); });
  }

 protected:
  // The driver keeps a stack of contexts for each thread, so entries nest and never mix.
  void enter() override {
    if (driver().push(context_) != CUDA_SUCCESS) throw DeviceError("the CUDA context is gone");
    entered_device = ordinal_;
  }
  void leave() override {
    entered_device = -1;  // which entry is around this one is not known
    CUcontext popped;
    driver().pop(&popped);
  }

 private:
  template <cudaError_t (*release)(void*), class Allocate>
  Block allocate_in(Arena& arena, const char* kind, size_t bytes, Allocate allocate_into) {
    may_fail(Fault::allocation);
    Entry entry(*this);
    return arena.take(bytes, [&](size_t size) {
      void* data = nullptr;
      const cudaError_t error = allocate_into(&data, size);
      if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();  // not sticky: the device goes on
        throw MemoryError("out of " + std::string(kind) + " memory: " + std::to_string(size) +
                          " bytes wanted");
      }
      check(error, "allocating memory");
      const auto free_block = [](void* owner, void* block) {
        Entry owner_entry(*static_cast<CudaBackend*>(owner));
        release(block);
      };
      return Block(data, size, free_block, this, shared_from_this());
    });
  }

  CUcontext context_;
  int ordinal_;
  Shared& shared_;
  std::string description_;
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
  if (!context && driver().retain_primary(&context, ordinal) != CUDA_SUCCESS) {
    context = nullptr;
    throw DeviceError("cannot make a context on CUDA device " + std::to_string(ordinal));
  }
  return context;
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
  return std::make_shared<CudaBackend>(ordinal, static_cast<CUcontext>(context));
}

}  // namespace regions
