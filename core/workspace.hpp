// Workspace: divides one allocation of a backend into typed arrays. Used by configure() only, never
// per frame.
#pragma once

#include <utility>
#include <vector>

#include "core/backend.hpp"

namespace regions {

// One allocation of a backend, divided into typed arrays. The memory is uninitialised: kernels must
// not depend on its initial contents.
class Workspace {
 public:
  // Plans an array of `count` elements. allocate() stores the array's address in the variable
  // `array`, which must exist until then. The `padding` elements before the first and after the
  // last element may also be accessed.
  template <class T>
  void reserve(T*& array, size_t count, size_t padding = 0) {
    arrays_.push_back({&array, bytes_ + padding * sizeof(T), [](void* target, std::byte* start) {
                         *static_cast<T**>(target) = reinterpret_cast<T*>(start);
                       }});
    bytes_ += ((count + 2 * padding) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

  // Allocates the planned arrays and stores their addresses. Throws MemoryError.
  void allocate(Backend& backend) {
    block_ = backend.allocate(bytes_);
    for (const Array& array : arrays_)
      array.set_address(array.target, block_.as<std::byte>() + array.start);
    arrays_.clear();
  }

  // Gives up the memory. The arrays are valid as long as the returned block exists.
  Block release() { return std::move(block_); }

  // Total size of the planned arrays, bytes.
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

}  // namespace regions
