// One block of memory cut into arrays.
#pragma once

#include <concepts>
#include <cstddef>

#include "core/backend.hpp"

namespace regions {

// Hands out arrays of a block one after another; without memory it only counts their bytes.
class MemoryCutter {
 public:
  explicit MemoryCutter(std::byte* memory) : memory_(memory) {}

  // `count` entries, and before and behind them as many as `slack` that may be touched too.
  template <class T>
  T* piece(size_t count, size_t slack = 0) {
    std::byte* here = memory_ ? memory_ + used_ : nullptr;
    used_ += ((count + 2 * slack) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return here ? reinterpret_cast<T*>(here) + slack : nullptr;
  }
  size_t used() const { return used_; }

 private:
  static constexpr size_t kAlignment = 256;  // bytes

  std::byte* memory_;
  size_t used_ = 0;
};

// The memory of all pieces that cut() takes. It is called twice: to count bytes, when pieces are
// null, and to hand out memory.
template <std::invocable<MemoryCutter&> Cut>
Block allocate_pieces(Backend& backend, Cut cut) {
  MemoryCutter counter(nullptr);
  cut(counter);
  Block memory = backend.allocate(counter.used());
  MemoryCutter cutter(memory.as<std::byte>());
  cut(cutter);
  return memory;
}

}  // namespace regions
