// Device memory of an algorithm: a class that divides one allocation into typed arrays, and a
// function that fills memory with zeros. Algorithms use both in configure() only, never per frame.
#pragma once

#include <vector>

#include "core/backend.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {

// One allocation of a backend, divided into typed arrays. The memory is uninitialised: kernels must
// not depend on its first contents.
class Workspace {
 public:
  // Plans an array of `count` elements. allocate() stores the array's address in the variable
  // `array`, which must exist until then.
  template <class T>
  void reserve(T*& array, size_t count) {
    arrays_.push_back({&array, bytes_, [](void* target, std::byte* start) {
                         *static_cast<T**>(target) = reinterpret_cast<T*>(start);
                       }});
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Allocates the planned arrays and stores their addresses. Throws MemoryError.
  void allocate(Backend& backend) {
    block_ = backend.allocate(bytes_);
    for (const Array& array : arrays_)
      array.set_address(array.target, block_.as<std::byte>() + array.start);
    arrays_.clear();
  }

  // Total size of the planned arrays.
  size_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kAlignment = 256;  // bytes, as guaranteed by cudaMalloc()
  struct Array {
    void* target;  // the pointer variable that receives the address
    size_t start;  // offset in the allocation, bytes
    void (*set_address)(void* target, std::byte* start);
  };
  std::vector<Array> arrays_;
  size_t bytes_ = 0;
  Block block_;
};

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
