// Integer arithmetic in kernels: atomic additions, and division by a number known before launch.
#pragma once

#include <bit>
#include <cstdint>

#include "core/image.hpp"

namespace regions {

// Adds to a sum that other threads also add to. All sums are of integers, so the order of additions
// does not matter. On the host it is a plain addition.
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

// Atomically adds `value`; skips the atomic operation if it is 0.
__device__ inline void atomic_add64(uint64_t& sum, uint64_t value) {
  if (value) AtomicAdd()(&sum, value);
}

#endif

// Divides numbers below 2^30 by a fixed divisor d, as a multiplication and a shift. If
// 2^s <= d < 2^(s + 1), then factor = 2^(31 + s) / d + e with e < 1. The error of
// n * factor / 2^(31 + s) is below n / 2^(31 + s), which is less than 1 / d, so the quotient is
// exact.
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
