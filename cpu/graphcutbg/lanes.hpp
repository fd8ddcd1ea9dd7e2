// Lanes: what core/graphcutbg's functions over pixels take where several pixels lie side by side in
// a vector of the machine.
#pragma once

#include <cstring>

#include "core/graphcutbg/lanes.hpp"
#include "cpu/bits.hpp"
#include "cpu/vectors.hpp"

namespace regions::graphcut {

template <int kLanes>
class Lanes {
  using Signed = typename VectorTypes<kLanes>::Signed;
  using Unsigned = typename VectorTypes<kLanes>::Unsigned;
  using Floats = typename VectorTypes<kLanes>::Floats;

 public:
  // A truth value a lane.
  struct Mask {
    Signed bits;  // all or none

    REGIONS_INLINE friend Mask operator&(Mask a, Mask b) { return {a.bits & b.bits}; }
    REGIONS_INLINE friend Mask operator|(Mask a, Mask b) { return {a.bits | b.bits}; }
    REGIONS_INLINE Mask operator!() const { return {~bits}; }
    REGIONS_INLINE friend bool any(Mask mask) {
      using Words = typename VectorTypes<4>::Words;
      if constexpr (kLanes == 8) {
        // Halves first: that leaves fewer words to move out of the vector.
        const auto lower = __builtin_shufflevector(mask.bits, mask.bits, 0, 1, 2, 3);
        const auto upper = __builtin_shufflevector(mask.bits, mask.bits, 4, 5, 6, 7);
        return any_of(reinterpret_cast<Words>(lower | upper));
      } else {
        return any_of(reinterpret_cast<Words>(mask.bits));
      }
    }
    template <class Words>
    REGIONS_INLINE static bool any_of(Words words) {
      return (words[0] | words[1]) != 0;
    }
  };

  Lanes() = default;
  REGIONS_INLINE Lanes(int32_t all) : v_(Signed{} + all) {}
  REGIONS_INLINE explicit Lanes(Signed v) : v_(v) {}
  REGIONS_INLINE int32_t operator[](int lane) const { return v_[lane]; }
  // Which of so many bytes are not zero.
  REGIONS_INLINE static Mask nonzero(const uint8_t* bytes) {
    uint32_t four[kLanes / 4];
    std::memcpy(four, bytes, sizeof four);
    Unsigned at{};
    for (int i = 0; i < kLanes; ++i) at[i] = 255u << (8 * (i % 4));
    Unsigned words{};
    for (int i = 0; i < kLanes; ++i) words[i] = four[i / 4];
    return {(words & at) != 0};
  }

  // Sums and products wrap.
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
  REGIONS_INLINE friend Lanes operator>>(Lanes a, int bits) { return Lanes(a.v_ >> bits); }
  REGIONS_INLINE friend Lanes operator&(Lanes a, Lanes b) { return Lanes(a.v_ & b.v_); }
  REGIONS_INLINE friend Lanes operator|(Lanes a, Lanes b) { return Lanes(a.v_ | b.v_); }
  REGIONS_INLINE friend Lanes operator^(Lanes a, Lanes b) { return Lanes(a.v_ ^ b.v_); }
  REGIONS_INLINE friend Mask operator<(Lanes a, Lanes b) { return {a.v_ < b.v_}; }
  REGIONS_INLINE friend Mask operator>(Lanes a, Lanes b) { return {a.v_ > b.v_}; }
  REGIONS_INLINE friend Mask operator>=(Lanes a, Lanes b) { return {a.v_ >= b.v_}; }
  REGIONS_INLINE friend Mask operator==(Lanes a, Lanes b) { return {a.v_ == b.v_}; }
  REGIONS_INLINE friend Mask operator!=(Lanes a, Lanes b) { return {a.v_ != b.v_}; }

  REGIONS_INLINE friend Lanes pick(Mask first, Lanes a, Lanes b) {
    return Lanes(first.bits < 0 ? a.v_ : b.v_);  // the sign tells, as machines like it
  }
  REGIONS_INLINE friend Lanes wrapped_product(Lanes a, Lanes b) { return a * b; }
  REGIONS_INLINE friend Lanes upper_bits(Lanes a, int first) {
    return Lanes(reinterpret_cast<Signed>(a.bits() >> first));
  }
  // Rounding makes the ratio wrong by one at most, which the rest shows.
  REGIONS_INLINE friend Lanes quotient(Lanes a, Lanes b) {
    const Floats ratio =
        __builtin_convertvector(a.v_, Floats) / __builtin_convertvector(b.v_, Floats);
    const Lanes near(__builtin_convertvector(ratio, Signed));
    const Lanes rest = a - near * b;
    return near + Lanes(rest.v_ < 0) - Lanes(rest.v_ >= b.v_);  // true is -1
  }
  REGIONS_INLINE friend void read_words(const uint32_t* from, Lanes& lanes) {
    std::memcpy(&lanes.v_, from, sizeof lanes.v_);
  }
  REGIONS_INLINE friend void write_words(uint32_t* to, Lanes lanes) {
    std::memcpy(to, &lanes.v_, sizeof lanes.v_);
  }
  REGIONS_INLINE friend void count_up(int32_t first, Lanes& lanes) {
    Signed steps{};
    for (int i = 0; i < kLanes; ++i) steps[i] = i;
    lanes.v_ = steps + first;
  }

 private:
  REGIONS_INLINE Unsigned bits() const { return reinterpret_cast<Unsigned>(v_); }
  Signed v_;
};

}  // namespace regions::graphcut
