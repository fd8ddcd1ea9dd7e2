// Integer arithmetic for kernels: atomic additions, and fast division by a number that is known
// before the launch.
#pragma once

#include <bit>
#include <cstdint>

#include "core/image.hpp"

namespace regions {

// Adds a number to a sum to which other threads also add. All sums are sums of integers, so the
// order of the additions does not matter. Host code adds without an atomic operation.
struct AtomicAdd {
  REGIONS_HD void operator()(uint32_t* sum, uint32_t amount) const {
#ifdef __CUDA_ARCH__
    atomicAdd(sum, amount);
#else
    *sum += amount;
#endif
  }
  REGIONS_HD void operator()(uint64_t* sum, uint64_t amount) const {
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(amount));
#else
    *sum += amount;
#endif
  }
};

#ifdef __CUDACC__

// Atomically adds `value` to `sum`. Skips the atomic operation if `value` is 0.
__device__ inline void atomic_add64(uint64_t& sum, uint64_t value) {
  if (value) AtomicAdd()(&sum, value);
}

#endif

// Divides numbers n below 2^30 by a fixed divisor d, by a multiplication and a shift. Let s be the
// integer with 2^s <= d < 2^(s + 1). Then factor = 2^(31 + s) / d + e with a rounding error e < 1.
// The error of n * factor / 2^(31 + s) is below n / 2^(31 + s), which is less than 1 / d.
// Therefore the truncated quotient is exact.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(uint32_t d)
      : shift_(31u + static_cast<uint32_t>(std::bit_width(d)) - 1),
        factor_(static_cast<uint32_t>(((uint64_t{1} << shift_) + d - 1) / d)) {}

  REGIONS_HD uint32_t divide(uint32_t n) const {
    return static_cast<uint32_t>(static_cast<uint64_t>(n) * factor_ >> shift_);
  }

 private:
  uint32_t shift_ = 31, factor_ = 1u << 31;
};

}  // namespace regions
