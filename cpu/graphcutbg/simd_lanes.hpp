// The type Lanes, which holds values of several pixels in one SIMD register. The functions of
// core/graphcutbg are templates that accept Lanes instead of an int32_t and give the same results.
#pragma once

#include <cstring>

#include "core/graphcutbg/lanes.hpp"
#include "cpu/simd.hpp"

// Lanes of AVX2 and AVX-512 use instructions in inline assembler. This requires that all functions
// with parameters or results of type Lanes are inlined, which g++ guarantees only with
// optimisation.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define REGIONS_WIDE_LANES 1
#else
#define REGIONS_WIDE_LANES 0
#endif

namespace regions::graphcutbg {

// The vector operations whose implementation depends on the instruction set.
template <int kLanes>
struct VectorOps {
  using Signed = typename VectorTypes<kLanes>::Signed;
  using Unsigned = typename VectorTypes<kLanes>::Unsigned;
  using Floats = typename VectorTypes<kLanes>::Floats;

  // One truth value per lane.
  struct Mask {
    Signed bits;  // in each lane, either all bits are set or all bits are clear

    REGIONS_INLINE friend Mask operator&(Mask a, Mask b) { return {a.bits & b.bits}; }
    REGIONS_INLINE friend Mask operator|(Mask a, Mask b) { return {a.bits | b.bits}; }
    REGIONS_INLINE Mask operator!() const { return {~bits}; }
    REGIONS_INLINE friend bool any(Mask mask) {
      if constexpr (kLanes == 8) {
        bool none;
        asm("vptest %1, %1" : "=@ccz"(none) : "x"(mask.bits));
        return !none;
      } else {
        const auto words = reinterpret_cast<typename VectorTypes<kLanes>::Words>(mask.bits);
        return (words[0] | words[1]) != 0;
      }
    }
  };

  REGIONS_INLINE static Signed fill(int32_t all) {
    if (__builtin_constant_p(all) && all == 0) return Signed{};
    if constexpr (kLanes == 8) {  // g++ 12 would compile `Signed{} + all` to one insertion per lane
      Signed v;
      asm("vmovd %1, %x0\n\tvpbroadcastd %x0, %0" : "=x"(v) : "r"(all));
      return v;
    } else {
      return Signed{} + all;
    }
  }
  REGIONS_INLINE static Mask less(Signed a, Signed b) { return {a < b}; }
  REGIONS_INLINE static Mask equal(Signed a, Signed b) { return {a == b}; }
  REGIONS_INLINE static Signed select(Mask first, Signed a, Signed b) {
    return first.bits < 0 ? a : b;  // a test of the sign compiles to one blend instruction
  }
  REGIONS_INLINE static Signed smaller(Signed a, Signed b) {
    if constexpr (kLanes == 8) {
      asm("vpminsd %1, %0, %0" : "+x"(a) : "x"(b));
      return a;
    } else {
      return a < b ? a : b;
    }
  }
  REGIONS_INLINE static Signed larger(Signed a, Signed b) {
    if constexpr (kLanes == 8) {
      asm("vpmaxsd %1, %0, %0" : "+x"(a) : "x"(b));
      return a;
    } else {
      return a > b ? a : b;
    }
  }
  // Returns a / b, computed with floats and rounded towards zero.
  REGIONS_INLINE static Signed ratio(Signed a, Signed b) {
    return __builtin_convertvector(
        __builtin_convertvector(a, Floats) / __builtin_convertvector(b, Floats), Signed);
  }
  REGIONS_INLINE static Mask nonzero(const uint8_t* bytes) {
    uint32_t four[kLanes / 4];
    std::memcpy(four, bytes, sizeof four);
    Unsigned lane_byte{};
    for (int i = 0; i < kLanes; ++i) lane_byte[i] = 255u << (8 * (i % 4));
    Unsigned words{};
    for (int i = 0; i < kLanes; ++i) words[i] = four[i / 4];
    return {(words & lane_byte) != 0};
  }
};

#if REGIONS_WIDE_LANES
// Suppresses a warning of g++ 16 about a changed calling convention. The warning does not apply:
// all functions with parameters or results of type Lanes are inlined, so no call passes Lanes.
#pragma GCC diagnostic ignored "-Wpsabi"

// AVX-512: a comparison sets one bit per lane in a mask register. g++ 12 expands such masks to
// vectors unless an instruction is requested explicitly. Intrinsics for AVX-512 are available only
// in code compiled as a whole for AVX-512, but the functions of core are not. Therefore this
// specialisation uses inline assembler.
template <>
struct VectorOps<16> {
  using Signed = VectorTypes<16>::Signed;

  struct Mask {
    uint16_t bits;

    REGIONS_INLINE friend Mask operator&(Mask a, Mask b) {
      return {static_cast<uint16_t>(a.bits & b.bits)};
    }
    REGIONS_INLINE friend Mask operator|(Mask a, Mask b) {
      return {static_cast<uint16_t>(a.bits | b.bits)};
    }
    REGIONS_INLINE Mask operator!() const { return {static_cast<uint16_t>(~bits)}; }
    REGIONS_INLINE friend bool any(Mask mask) { return mask.bits != 0; }
  };

  REGIONS_INLINE static Signed fill(int32_t all) {
    if (__builtin_constant_p(all) && all == 0) return Signed{};
    Signed v;
    asm("vpbroadcastd %1, %0" : "=v"(v) : "r"(all));
    return v;
  }
  REGIONS_INLINE static Mask less(Signed a, Signed b) {
    Mask mask;
    asm("vpcmpltd %2, %1, %0" : "=Yk"(mask.bits) : "v"(a), "v"(b));
    return mask;
  }
  REGIONS_INLINE static Mask equal(Signed a, Signed b) {
    Mask mask;
    asm("vpcmpeqd %2, %1, %0" : "=Yk"(mask.bits) : "v"(a), "v"(b));
    return mask;
  }
  REGIONS_INLINE static Signed select(Mask first, Signed a, Signed b) {
    Signed v;
    asm("vpblendmd %2, %1, %0%{%3%}" : "=v"(v) : "v"(b), "v"(a), "Yk"(first.bits));
    return v;
  }
  REGIONS_INLINE static Signed smaller(Signed a, Signed b) {
    asm("vpminsd %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
  }
  REGIONS_INLINE static Signed larger(Signed a, Signed b) {
    asm("vpmaxsd %1, %0, %0" : "+v"(a) : "v"(b));
    return a;
  }
  REGIONS_INLINE static Signed ratio(Signed a, Signed b) {
    asm("vcvtdq2ps %0, %0" : "+v"(a));
    asm("vcvtdq2ps %0, %0" : "+v"(b));
    asm("vdivps %1, %0, %0" : "+v"(a) : "v"(b));
    asm("vcvttps2dq %0, %0" : "+v"(a));
    return a;
  }
  REGIONS_INLINE static Mask nonzero(const uint8_t* bytes) {
    typedef uint8_t Bytes __attribute__((vector_size(16)));
    Bytes values;
    std::memcpy(&values, bytes, sizeof values);
    Mask mask;
    asm("vptestmb %1, %1, %0" : "=Yk"(mask.bits) : "v"(values));
    return mask;
  }
};
#endif

// kLanes signed 32-bit values that are processed together.
template <int kLanes>
class Lanes {
  using Ops = VectorOps<kLanes>;
  using Signed = typename Ops::Signed;
  using Unsigned = typename VectorTypes<kLanes>::Unsigned;

 public:
  using Mask = typename Ops::Mask;

  Lanes() = default;
  REGIONS_INLINE Lanes(int32_t all) : vector_(Ops::fill(all)) {}
  REGIONS_INLINE explicit Lanes(Signed v) : vector_(v) {}
  REGIONS_INLINE int32_t operator[](int lane) const { return vector_[lane]; }
  // Returns for each of kLanes bytes whether it is nonzero.
  REGIONS_INLINE static Mask nonzero(const uint8_t* bytes) { return Ops::nonzero(bytes); }

  // Sums and products wrap around.
  REGIONS_INLINE friend Lanes operator+(Lanes a, Lanes b) {
    return Lanes(reinterpret_cast<Signed>(a.bits() + b.bits()));
  }
  REGIONS_INLINE friend Lanes operator-(Lanes a, Lanes b) {
    return Lanes(reinterpret_cast<Signed>(a.bits() - b.bits()));
  }
  REGIONS_INLINE friend Lanes operator*(Lanes a, Lanes b) {
    return Lanes(reinterpret_cast<Signed>(a.bits() * b.bits()));
  }
  REGIONS_INLINE friend Lanes operator<<(Lanes a, int bits) {
    return Lanes(reinterpret_cast<Signed>(a.bits() << bits));
  }
  REGIONS_INLINE friend Lanes operator>>(Lanes a, int bits) { return Lanes(a.vector_ >> bits); }
  REGIONS_INLINE friend Lanes operator&(Lanes a, Lanes b) { return Lanes(a.vector_ & b.vector_); }
  REGIONS_INLINE friend Lanes operator|(Lanes a, Lanes b) { return Lanes(a.vector_ | b.vector_); }
  REGIONS_INLINE friend Lanes operator^(Lanes a, Lanes b) { return Lanes(a.vector_ ^ b.vector_); }
  REGIONS_INLINE friend Mask operator<(Lanes a, Lanes b) { return Ops::less(a.vector_, b.vector_); }
  REGIONS_INLINE friend Mask operator>(Lanes a, Lanes b) { return Ops::less(b.vector_, a.vector_); }
  REGIONS_INLINE friend Mask operator>=(Lanes a, Lanes b) {
    return !Ops::less(a.vector_, b.vector_);
  }
  REGIONS_INLINE friend Mask operator==(Lanes a, Lanes b) {
    return Ops::equal(a.vector_, b.vector_);
  }
  REGIONS_INLINE friend Mask operator!=(Lanes a, Lanes b) {
    return !Ops::equal(a.vector_, b.vector_);
  }

  REGIONS_INLINE friend Lanes select(Mask first, Lanes a, Lanes b) {
    return Lanes(Ops::select(first, a.vector_, b.vector_));
  }
  REGIONS_INLINE friend Lanes smaller(Lanes a, Lanes b) {
    return Lanes(Ops::smaller(a.vector_, b.vector_));
  }
  REGIONS_INLINE friend Lanes larger(Lanes a, Lanes b) {
    return Lanes(Ops::larger(a.vector_, b.vector_));
  }
  REGIONS_INLINE friend Lanes wrapped_product(Lanes a, Lanes b) { return a * b; }
  REGIONS_INLINE friend Lanes upper_bits(Lanes a, int first) {
    return Lanes(reinterpret_cast<Signed>(a.bits() >> first));
  }
  // Returns a / b, rounded down. The ratio of floats, `near`, differs from the result by at most
  // one. The remainder a - near * b shows in which direction.
  REGIONS_INLINE friend Lanes quotient(Lanes a, Lanes b) {
    const Lanes near(Ops::ratio(a.vector_, b.vector_));
    const Lanes remainder = a - near * b;
    return select(remainder < 0, near - 1, select(remainder < b, near, near + 1));
  }
  REGIONS_INLINE friend Lanes small_quotient(Lanes a, Lanes b) {
    return Lanes(Ops::ratio(a.vector_, b.vector_));
  }
  REGIONS_INLINE friend void read_words(const uint32_t* from, Lanes& lanes) {
    std::memcpy(&lanes.vector_, from, sizeof lanes.vector_);
  }
  REGIONS_INLINE friend void write_words(uint32_t* to, Lanes lanes) {
    std::memcpy(to, &lanes.vector_, sizeof lanes.vector_);
  }
  REGIONS_INLINE friend Lanes look_up(const int32_t* table, Lanes index) {
    Signed entries{};
    for (int i = 0; i < kLanes; ++i) entries[i] = table[index[i]];
    return Lanes(entries);
  }
  REGIONS_INLINE friend void count_up(int32_t first, Lanes& lanes) {
    Signed steps{};
    for (int i = 0; i < kLanes; ++i) steps[i] = i;
    lanes.vector_ = steps + first;
  }

 private:
  REGIONS_INLINE Unsigned bits() const { return reinterpret_cast<Unsigned>(vector_); }
  Signed vector_;
};

}  // namespace regions::graphcutbg
