// What arrays on devices need besides: streams of our own, and whether two lie apart.
#include <map>

#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/lane.hpp"

namespace regions::python {
namespace {

// The stream of a device that work is done on for libraries whose streams are their own. Never
// destroyed: when the interpreter ends, work may still be under way.
Lane& lane_of(int device) {
  static std::mutex& mutex = *new std::mutex;
  static auto& lanes = *new std::map<int, Lane>;
  const std::lock_guard lock(mutex);
  return lanes.try_emplace(device, Place{.device = device}).first->second;
}

uintptr_t stream_of_device(int device) {
  return reinterpret_cast<uintptr_t>(lane_of(device).stream());
}

// What comes onto `stream` from here on waits for what is on stream_of_device().
void wait_for_stream_of(int device, uintptr_t stream) {
  lane_of(device).lead(reinterpret_cast<void*>(stream));
}

// Whether `written` has no gaps, and shares no memory with `read`.
bool is_apart(const AnyArray& written, const AnyArray& read) {
  int64_t packed = 1;
  for (size_t axis = written.ndim(); axis-- > 0;) {
    if (written.shape(axis) > 1 && written.stride(axis) != packed) return false;
    packed *= static_cast<int64_t>(written.shape(axis));
  }
  const auto first_and_end = [](const AnyArray& array) {
    auto first = reinterpret_cast<intptr_t>(array.data()), last = first;
    const int64_t bytes = array.dtype().bits / 8;
    for (size_t axis = 0; axis < array.ndim(); ++axis) {
      const int64_t reach = (static_cast<int64_t>(array.shape(axis)) - 1) * array.stride(axis);
      (reach < 0 ? first : last) += reach * bytes;
    }
    return std::pair{first, last + bytes};
  };
  const auto [first, end] = first_and_end(written);
  const auto [other, other_end] = first_and_end(read);
  return end <= other || other_end <= first;
}

// Of its first element.
uintptr_t address_of(const AnyArray& array) { return reinterpret_cast<uintptr_t>(array.data()); }

}  // namespace

void bind_devices(nb::module_& module) {
  module.def("stream_of", stream_of_device);
  module.def("wait_for_stream_of", wait_for_stream_of);
  module.def("is_apart", is_apart);
  module.def("address_of", address_of);
}

}  // namespace regions::python
