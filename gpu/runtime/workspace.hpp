// Device memory of an algorithm: one allocation divided into typed arrays, and memory filled with
// zeros. Allocated by configure() only, never per frame.
#pragma once

#include <vector>

#include "core/backend.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {

// One allocation of a backend, divided into typed arrays. Its contents are uninitialised, and the
// kernels must not depend on them.
class Workspace {
 public:
  // Plans an array of `count` elements. allocate() stores its address in `array`, which must exist
  // until then.
  template <class T>
  void reserve(T*& array, size_t count) {
    arrays_.push_back({&array, bytes_, [](void* target, std::byte* start) {
                         *static_cast<T**>(target) = reinterpret_cast<T*>(start);
                       }});
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Throws MemoryError.
  void allocate(Backend& backend) {
    block_ = backend.allocate(bytes_);
    for (const Array& array : arrays_)
      array.set(array.target, block_.as<std::byte>() + array.start);
    arrays_.clear();
  }

  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 256;  // bytes, as guaranteed by cudaMalloc()
  struct Array {
    void* target;
    size_t start;  // bytes
    void (*set)(void* target, std::byte* start);
  };
  std::vector<Array> arrays_;
  size_t bytes_ = 0;
  Block block_;
};

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
