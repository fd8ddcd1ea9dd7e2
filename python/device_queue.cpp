// Implements Target and DeviceQueue, and the Python functions for streams of CUDA devices.
#include "python/device_queue.hpp"

#include <map>
#include <mutex>
#include <string>

#include "python/arrays.hpp"
#include "python/module.hpp"
#if REGIONS_CUDA
#include "gpu/runtime/cuda_backend.hpp"
#endif

namespace regions::python {
namespace {

std::shared_ptr<Backend> backend_for(const Target& target) {
  if (target.is_cpu()) return make_cpu_backend(target.threads);
#if REGIONS_CUDA
  return make_cuda_backend(target.device);
#else
  throw InputError("an array is on CUDA device " + std::to_string(target.device) +
                   ", but this build of gst_regions has no CUDA; copy the array to the host");
#endif
}

// Returns the queue of a device for libraries that do not expose their streams, such as JAX. The
// queue is never destroyed, because its work may still run when the interpreter shuts down.
DeviceQueue& queue_of(int device) {
  static std::mutex& mutex = *new std::mutex;  // guards `queues`
  static auto& queues = *new std::map<int, DeviceQueue>;
  const std::lock_guard lock(mutex);
  return queues.try_emplace(device, Target{.device = device}).first->second;
}

uintptr_t stream_of_device(int device) {
  return reinterpret_cast<uintptr_t>(queue_of(device).stream());
}

// Makes later work on `stream` wait for the work on stream_of_device().
void wait_for_stream_of(int device, uintptr_t stream) {
  queue_of(device).make_wait(reinterpret_cast<void*>(stream));
}

// Returns the address of the first element of an array.
uintptr_t address_of(const AnyArray& array) { return reinterpret_cast<uintptr_t>(array.data()); }

}  // namespace

Target target_of(const TargetTuple& tuple) {
  return {nb::cast<int>(tuple[0]), nb::cast<int>(tuple[1]), nb::cast<uintptr_t>(tuple[2])};
}

void Target::expect_memory(int type, int id) const {
  const bool is_on_host = type == nb::device::cpu::value;
  expects(is_cpu() ? is_on_host : type == nb::device::cuda::value && id == device,
          "the arrays of a call must all be in host memory, or all on the same CUDA device");
}

DeviceQueue::DeviceQueue(const Target& target) : backend_(backend_for(target)) {
  const Backend::Entry entry(*backend_);
  queue_ = target.is_cpu() ? make_immediate_queue(*backend_) : backend_->make_queue();
}

void bind_device_queue(nb::module_& module) {
  module.def("stream_of", stream_of_device);
  module.def("wait_for_stream_of", wait_for_stream_of);
  module.def("address_of", address_of);
}

}  // namespace regions::python
