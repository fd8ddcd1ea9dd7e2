// Division by a number that is known before a kernel starts: a product and a shift.
#pragma once

#include <bit>
#include <cstdint>

#include "core/image.hpp"

namespace regions {

// Of numbers below 2^30. With d in 2^s..2^(s + 1) - 1 and factor = 2^(31 + s) / d + e, e < 1, what
// is too much of n * factor / 2^(31 + s) stays below n / 2^(31 + s), which is less than 1 / d.
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
