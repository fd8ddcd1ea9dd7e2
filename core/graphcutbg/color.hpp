// Colours as graphcutbg sees them, whatever the format: luma and two chroma values of 8 bits each;
// and a change of the light over a whole picture.
#pragma once

#include "core/frame.hpp"
#include "core/graphcutbg/lanes.hpp"

namespace regions::graphcut {

REGIONS_HD constexpr uint8_t clamp_byte(int value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

template <class Int>
struct BasicColor {
  Int y = 0, u = 128, v = 128;  // 0..255; black is 0, no colour 128

  REGIONS_LANES const Int& operator[](int c) const { return c == 0 ? y : c == 1 ? u : v; }
  // As one word, so that a picture of them is read at once; a note may stand in its upper byte.
  REGIONS_LANES Int packed() const { return y | u << 8 | v << 16; }
  REGIONS_LANES static BasicColor unpacked(const Int& word) {
    return {word & 255, word >> 8 & 255, word >> 16 & 255};
  }
  REGIONS_LANES static BasicColor load(const uint32_t* from) {
    Int word;
    read_words(from, word);
    return unpacked(word);
  }
};
using Color = BasicColor<int32_t>;

template <class Int>
REGIONS_LANES BasicColor<Int> pick(const Truth<Int>& first, const BasicColor<Int>& a,
                                   const BasicColor<Int>& b) {
  return {pick(first, a.y, b.y), pick(first, a.u, b.u), pick(first, a.v, b.v)};
}

// Chroma of RGB by BT.601 at full range, in 8-bit fixed point.
REGIONS_HD inline Color color_of_rgb(int r, int g, int b) {
  return {clamp_byte(luma_of(r, g, b)), clamp_byte(((-43 * r - 85 * g + 128 * b + 128) >> 8) + 128),
          clamp_byte(((128 * r - 107 * g - 21 * b + 128) >> 8) + 128)};
}

// The colour of these components as a frame stores them; greater depths lose their low bits.
REGIONS_HD inline Color color_of(const Layout& layout, bool full_range, const int (&component)[3]) {
  if (layout.model == ColorModel::rgb) {
    return color_of_rgb(component[0], component[1], component[2]);
  }
  const int shift = layout.depth - 8;
  const bool limited = layout.model == ColorModel::yuv && !full_range;
  const uint8_t luma = clamp_byte((component[0] >> shift) - (limited ? 16 : 0));
  if (layout.model == ColorModel::gray) return {luma, 128, 128};
  return {luma, static_cast<uint8_t>(component[1] >> shift),
          static_cast<uint8_t>(component[2] >> shift)};
}

// What a frame stores of a pixel, read but not used yet: GPUs read more of it meanwhile.
template <class Byte>
struct StoredColor {
  const BasicFrame<Byte>& frame;
  int component[3] = {};

  REGIONS_HD operator Color() const {
    return color_of(frame.layout, frame.color.full_range, component);
  }
};

// That of pixel (x, y). Chroma is the nearest sample's.
template <class Byte>
REGIONS_HD StoredColor<Byte> stored_color_at(const BasicFrame<Byte>& frame, int x, int y) {
  StoredColor<Byte> stored{frame};
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) {
    if (c < frame.layout.channels) stored.component[c] = frame.sample(c, x, y);
  }
  return stored;
}
template <class Byte>
REGIONS_HD Color color_at(const BasicFrame<Byte>& frame, int x, int y) {
  return stored_color_at(frame, x, y);
}

template <class Int>
REGIONS_LANES Int contrast2(const BasicColor<Int>& a, const BasicColor<Int>& b) {
  const Int dy = a.y - b.y;
  const Int du = a.u - b.u;
  const Int dv = a.v - b.v;
  return dy * dy + du * du + dv * dv;
}

// new = old * gain + offset; chroma is scaled about its middle.
struct Light {
  static constexpr int kGainBits = 12;
  static constexpr int kOne = 1 << kGainBits;
  int gain = kOne;
  int offset = 0;  // luma, of 1/256 levels

  REGIONS_HD bool same() const { return gain == kOne && offset == 0; }
  // A value with 8 fraction bits. Differences from the base stay below 2^16, gains below 2^15.
  template <class Int>
  REGIONS_LANES Int apply(int component, const Int& value) const {
    constexpr int kMiddle = 128 << 8;
    const int base = component == 0 ? 0 : kMiddle;
    const int add = component == 0 ? offset : kMiddle;
    const Int scaled = (value - base) * gain + kOne / 2;
    const Int towards_zero = pick(scaled < 0, Int(kOne - 1), Int(0));
    return within<Int>(((scaled + towards_zero) >> kGainBits) + add, 0, 65535);
  }
};

}  // namespace regions::graphcut
