// Operations on SIMD vectors with one pixel or one cell per lane, and the selection of the widest
// vectors that this CPU supports.
#pragma once

#include <cstring>

#include "cpu/simd.hpp"

namespace regions {

// Operations on vectors of kLanes 32-bit lanes.
template <int kLanes>
struct Vectors : VectorTypes<kLanes> {
  using Ints = typename VectorTypes<kLanes>::Signed;
  using Bytes = typename VectorTypes<kLanes>::Bytes;

  // Returns the vector 0, 1, ..., kLanes - 1.
  REGIONS_INLINE static Ints lane_numbers() {
    Ints lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    return lane;
  }
  // Loads kLanes bytes and extends each one to 32 bits. g++ 12 compiles the loop to one
  // instruction. For __builtin_convertvector it would generate one instruction per lane.
  REGIONS_INLINE static Ints load(const int8_t* from) {
    int32_t wide[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      wide[i] = from[i];  // NOLINT(bugprone-signed-char-misuse): numbers, not characters
    }
    Ints numbers;
    std::memcpy(&numbers, wide, sizeof numbers);
    return numbers;
  }
  // Returns the lowest byte of each lane.
  REGIONS_INLINE static Bytes low_bytes(const Ints& numbers) {
    Bytes bytes;
    if constexpr (kLanes == 8) {
      typedef int8_t All __attribute__((vector_size(32)));
      bytes = __builtin_shufflevector(reinterpret_cast<All>(numbers),
                                      reinterpret_cast<All>(numbers), 0, 4, 8, 12, 16, 20, 24, 28);
    } else {
      int32_t wide[kLanes];
      std::memcpy(wide, &numbers, sizeof numbers);
      int8_t narrow[kLanes];
      for (int i = 0; i < kLanes; ++i) narrow[i] = static_cast<int8_t>(wide[i]);
      std::memcpy(&bytes, narrow, sizeof bytes);
    }
    return bytes;
  }
  REGIONS_INLINE static uint32_t sum_lanes(const Ints& lanes) {
    if constexpr (kLanes == 4) {
      const Ints two = lanes + __builtin_shufflevector(lanes, lanes, 2, 3, 0, 1);
      return static_cast<uint32_t>(two[0]) + static_cast<uint32_t>(two[1]);
    } else {
      return Vectors<kLanes / 2>::sum_lanes(add_halves(lanes));
    }
  }
  // Returns a vector of four sums: the sum of the lanes of a, of b, of c and of d.
  REGIONS_INLINE static VectorTypes<4>::Signed sum_lanes_of_four(const Ints& a, const Ints& b,
                                                                 const Ints& c, const Ints& d) {
    if constexpr (kLanes == 4) {
      const Ints ab =
          __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Ints cd =
          __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
      return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
             __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    } else {
      return Vectors<kLanes / 2>::sum_lanes_of_four(add_halves(a), add_halves(b), add_halves(c),
                                                    add_halves(d));
    }
  }

 private:
  // Adds the upper half of the lanes to the lower half.
  REGIONS_INLINE static auto add_halves(const Ints& v) {
    if constexpr (kLanes == 8) {
      return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    } else {
      return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    }
  }
};

// Returns the number of 32-bit lanes of the widest vectors that this CPU supports. Tests lower the
// limit by defining REGIONS_MAX_LANES. The functions are static, because tests compile some source
// files a second time with another limit.
#ifndef REGIONS_MAX_LANES
#define REGIONS_MAX_LANES 16
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define REGIONS_16_LANES __attribute__((target("arch=x86-64-v4")))
#define REGIONS_8_LANES __attribute__((target("arch=x86-64-v3")))
static inline int widest_vector_lanes() {
  if (REGIONS_MAX_LANES >= 16 && __builtin_cpu_supports("x86-64-v4")) return 16;
  return REGIONS_MAX_LANES >= 8 && __builtin_cpu_supports("x86-64-v3") ? 8 : 4;
}
#else
#define REGIONS_16_LANES
#define REGIONS_8_LANES
static inline int widest_vector_lanes() { return 4; }
#endif

// Returns the version of a function for this CPU: `by_16`, `by_8` and `by_4` use vectors of 16, 8
// and 4 lanes.
template <class Function>
static Function* select_for_cpu(Function* by_16, Function* by_8, Function* by_4) {
  const int lanes = widest_vector_lanes();
  return lanes == 16 ? by_16 : lanes == 8 ? by_8 : by_4;
}

}  // namespace regions
