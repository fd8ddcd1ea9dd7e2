// Vectors of pixels, as many at a time as fit a machine's, and the choice of the widest that it
// has.
#pragma once

#include <cstring>

#include "cpu/bits.hpp"
#include "cpu/vectors.hpp"

namespace regions {

// Vectors of so many pixels.
template <int kLanes>
struct Vectors : VectorTypes<kLanes> {
  using Numbers = typename VectorTypes<kLanes>::Signed;
  using Scores = typename VectorTypes<kLanes>::Floats;
  using Bytes = typename VectorTypes<kLanes>::Bytes;

  REGIONS_INLINE static Numbers lane() {
    Numbers lane;
    for (int i = 0; i < kLanes; ++i) lane[i] = i;
    return lane;
  }
  // Loops, which become one instruction: of __builtin_convertvector g++ 12 makes one a lane.
  REGIONS_INLINE static Numbers load(const int8_t* from) {
    int32_t wide[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      wide[i] = from[i];  // NOLINT(bugprone-signed-char-misuse): numbers, not characters
    }
    Numbers numbers;
    std::memcpy(&numbers, wide, sizeof numbers);
    return numbers;
  }
  // The lowest bytes.
  REGIONS_INLINE static Bytes bytes_of(const Numbers& numbers) {
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
  REGIONS_INLINE static uint32_t sum_of(const Numbers& lanes) {
    if constexpr (kLanes == 4) {
      const Numbers two = lanes + __builtin_shufflevector(lanes, lanes, 2, 3, 0, 1);
      return static_cast<uint32_t>(two[0]) + static_cast<uint32_t>(two[1]);
    } else {
      return Vectors<kLanes / 2>::sum_of(halves(lanes));
    }
  }
  // Of four vectors.
  REGIONS_INLINE static VectorTypes<4>::Signed sums_of(const Numbers& a, const Numbers& b,
                                                       const Numbers& c, const Numbers& d) {
    if constexpr (kLanes == 4) {
      const Numbers ab =
          __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Numbers cd =
          __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
      return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) +
             __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    } else {
      return Vectors<kLanes / 2>::sums_of(halves(a), halves(b), halves(c), halves(d));
    }
  }

 private:
  // The sum of both halves.
  REGIONS_INLINE static auto halves(const Numbers& v) {
    if constexpr (kLanes == 8) {
      return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
    } else {
      return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
    }
  }
};

// Lanes of the widest vectors of this machine; tests take fewer. What chooses is each file's own,
// as a test compiles some of them anew.
#ifndef REGIONS_MOST_LANES
#define REGIONS_MOST_LANES 16
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define REGIONS_BY_16 __attribute__((target("arch=x86-64-v4")))
#define REGIONS_BY_8 __attribute__((target("arch=x86-64-v3")))
static inline int widest() {
  if (REGIONS_MOST_LANES >= 16 && __builtin_cpu_supports("x86-64-v4")) return 16;
  return REGIONS_MOST_LANES >= 8 && __builtin_cpu_supports("x86-64-v3") ? 8 : 4;
}
#else
#define REGIONS_BY_16
#define REGIONS_BY_8
static inline int widest() { return 4; }
#endif

// Of three versions of a function the one for this machine.
template <class Function>
static Function* for_machine(Function* by_16, Function* by_8, Function* by_4) {
  const int lanes = widest();
  return lanes == 16 ? by_16 : lanes == 8 ? by_8 : by_4;
}

}  // namespace regions
