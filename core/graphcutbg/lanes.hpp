// What arithmetic on one pixel and on several side by side spell differently. Functions over pixels
// are templates over Int: an int32_t where a thread has one pixel, a vector's lanes elsewhere, with
// the same operators and with overloads of the functions below. All give the same numbers.
#pragma once

#include <cstdint>

#include "core/image.hpp"

// Functions over lanes are inlined wherever they are called: so they are compiled for the machine
// that their caller is for, and no calling convention for vectors is concerned.
#ifdef __CUDACC__
#define REGIONS_LANES __host__ __device__ inline
#else
#define REGIONS_LANES [[gnu::always_inline]] inline
#endif
#if defined(__CUDA_ARCH__)
#define REGIONS_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define REGIONS_UNROLL  // the host's compiler knows no such pragma
#else
#define REGIONS_UNROLL _Pragma("GCC unroll 8")
#endif

namespace regions::graphcut {

// What comparing Ints gives.
template <class Int>
using Truth = decltype(Int() < Int());

REGIONS_HD constexpr bool any(bool truth) { return truth; }
REGIONS_HD constexpr int32_t pick(bool first, int32_t a, int32_t b) { return first ? a : b; }
REGIONS_HD constexpr int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
REGIONS_HD constexpr int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
// a / b, for 0 <= a, 0 < b and a quotient below 2^21; else any number, and of vectors no trap. GPUs
// have no instruction for it: there it is a product with the reciprocal, which is at most one off,
// put right by the remainder.
REGIONS_HD inline int32_t quotient(int32_t a, int32_t b) {
#ifdef __CUDA_ARCH__
  float reciprocal;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(static_cast<float>(b)));
  const auto near = static_cast<int32_t>(__int2float_rz(a) * reciprocal);
  const int32_t rest = a - near * b;
  return near + (rest >= b ? 1 : 0) - (rest < 0 ? 1 : 0);
#else
  return a / b;
#endif
}
// The same for a <= 2^24 and b < 2^24, which floats hold: as a / b is at least 1 / b below the next
// whole number, and a float's rounding at most a / b / 2^24, no ratio is rounded up to one. From
// 2^21 on the quotient is some number from 2^20 on.
REGIONS_HD inline int32_t small_quotient(int32_t a, int32_t b) { return quotient(a, b); }
// Modulo 2^32.
REGIONS_HD constexpr int32_t wrapped_product(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}
// The bits from `first` up, with zeros above.
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
// first, first + 1, ... in as many lanes as there are.
REGIONS_HD inline void count_up(int32_t first, int32_t& value) { value = first; }

template <class Int>
REGIONS_LANES Int within(Int value, Int least, Int most) {
  return smaller(larger(value, least), most);
}

}  // namespace regions::graphcut
