// Additional functions for arrays on devices: internal streams, and addresses of arrays.
#include <map>

#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/lane.hpp"

namespace regions::python {
namespace {

// The queue of a device for libraries that do not expose their streams. It is never destroyed,
// because work may still run when the interpreter shuts down.
Lane& lane_of(int device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& lanes = *new std::map<int, Lane>;
  const std::lock_guard lock(mutex);
  return lanes.try_emplace(device, Place{.device = device}).first->second;
}

uintptr_t stream_of_device(int device) {
  return reinterpret_cast<uintptr_t>(lane_of(device).stream());
}

// Work that is added to `stream` from now on waits for the work on stream_of_device().
void wait_for_stream_of(int device, uintptr_t stream) {
  lane_of(device).lead(reinterpret_cast<void*>(stream));
}

// The address of the first element.
uintptr_t address_of(const AnyArray& array) { return reinterpret_cast<uintptr_t>(array.data()); }

}  // namespace

void bind_devices(nb::module_& module) {
  module.def("stream_of", stream_of_device);
  module.def("wait_for_stream_of", wait_for_stream_of);
  module.def("address_of", address_of);
}

}  // namespace regions::python
