// Divides one block of memory into several typed arrays.
#pragma once

#include <concepts>
#include <cstddef>

#include "core/backend.hpp"

namespace regions {

// Returns consecutive arrays of one block of memory. If the memory is null, it only counts the
// bytes of the arrays.
class Suballocator {
 public:
  explicit Suballocator(std::byte* memory) : memory_(memory) {}

  // Returns an array of `count` entries, or null if this object only counts bytes. The `padding`
  // entries before the first and after the last entry may also be accessed.
  template <class T>
  T* array(size_t count, size_t padding = 0) {
    std::byte* start = memory_ ? memory_ + used_ : nullptr;
    used_ += ((count + 2 * padding) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return start ? reinterpret_cast<T*>(start) + padding : nullptr;
  }
  size_t used_bytes() const { return used_; }

 private:
  static constexpr size_t kAlignment = 256;  // bytes

  std::byte* memory_;
  size_t used_ = 0;
};

// Allocates one block for all arrays that assign(suballocator) requests, and calls assign() twice:
// first to count the bytes (all arrays are null), then with the memory.
template <std::invocable<Suballocator&> Assign>
Block allocate_arrays(Backend& backend, Assign assign) {
  Suballocator counter(nullptr);
  assign(counter);
  Block memory = backend.allocate(counter.used_bytes());
  Suballocator suballocator(memory.as<std::byte>());
  assign(suballocator);
  return memory;
}

}  // namespace regions
