// Arithmetic for one pixel or for several pixels in SIMD lanes. Functions over pixels are templates
// over Int, which is int32_t for one pixel per thread, or a vector with the same operators and with
// overloads of the functions below. All variants give the same numbers.
#pragma once

#include <cstdint>

#include "core/image.hpp"

// These functions are always inlined. They are then compiled for the instruction set of their
// caller, and vectors do not cross a function call.
#ifdef __CUDACC__
#define REGIONS_LANES __host__ __device__ inline
#else
#define REGIONS_LANES [[gnu::always_inline]] inline
#endif
// Functions that few pixels call. The CPU calls them instead of inlining them, so that code for all
// pixels stays small.
#ifdef __CUDACC__
#define REGIONS_RARE __host__ __device__ inline
#else
#define REGIONS_RARE [[gnu::noinline]] inline
#endif
#if defined(__CUDA_ARCH__)
#define REGIONS_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define REGIONS_UNROLL  // the host compiler does not support this pragma
#else
#define REGIONS_UNROLL _Pragma("GCC unroll 8")
#endif

namespace regions::graphcutbg {

// Result of a comparison: bool for one pixel, or a mask with one boolean per SIMD lane.
template <class Int>
using LaneBool = decltype(Int() < Int());

REGIONS_HD constexpr bool any(bool truth) { return truth; }
REGIONS_HD constexpr int32_t select(bool first, int32_t a, int32_t b) { return first ? a : b; }
REGIONS_HD constexpr int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
REGIONS_HD constexpr int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
// Returns a / b for 0 <= a, 0 < b and a quotient below 2^21. Other arguments give an undefined
// number; vector versions never trap. GPUs have no instruction for integer division: this function
// multiplies by the reciprocal. The product is wrong by at most one, and the remainder corrects it.
REGIONS_HD inline int32_t quotient(int32_t a, int32_t b) {
#ifdef __CUDA_ARCH__
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(static_cast<float>(b)));
  const auto near = static_cast<int32_t>(__int2float_rz(a) * reciprocal);
  const int32_t remainder = a - near * b;
  return near + (remainder >= b ? 1 : 0) - (remainder < 0 ? 1 : 0);
#else
  return a / b;
#endif
}
// Returns a / b for a <= 2^24 and b < 2^24, so that vector versions can divide floats, which store
// a and b exactly. An a / b that is not an integer is at least 1 / b below the next integer. The
// rounding error of a float is at most a / b / 2^24, so no quotient is rounded up to an integer.
// For quotients of 2^21 or more, the result is some number >= 2^20.
REGIONS_HD inline int32_t small_quotient(int32_t a, int32_t b) { return quotient(a, b); }
// The product modulo 2^32.
REGIONS_HD constexpr int32_t wrapped_product(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
// Logical shift right: returns the bits from bit `first` upwards.
REGIONS_HD constexpr int32_t upper_bits(int32_t a, int first) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) >> first);
}
REGIONS_HD inline void read_words(const uint32_t* from, int32_t& value) {
  value = static_cast<int32_t>(*from);
}
REGIONS_HD inline void write_words(uint32_t* to, int32_t value) {
  *to = static_cast<uint32_t>(value);
}
REGIONS_HD inline int32_t look_up(const int32_t* table, int32_t index) { return table[index]; }
// Sets the lanes of `value` to first, first + 1, …
REGIONS_HD inline void count_up(int32_t first, int32_t& value) { value = first; }

template <class Int>
REGIONS_LANES Int clamp(Int value, Int low, Int high) {
  return smaller(larger(value, low), high);
}

}  // namespace regions::graphcutbg
