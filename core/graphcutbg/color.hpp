// Colours as graphcutbg sees them, whatever the format: luma and two chroma values of 8 bits each;
// and a change of the light over a whole picture.
#pragma once

#include "core/cclabel.hpp"
#include "core/frame.hpp"

namespace regions::graphcut {

REGIONS_HD constexpr uint8_t clamp_byte(int value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

struct Color {
  uint8_t y = 0, u = 128, v = 128;  // black is 0, no colour 128

  REGIONS_HD int operator[](int c) const { return c == 0 ? y : c == 1 ? u : v; }
  // As one word, so that a picture of them is read at once.
  REGIONS_HD uint32_t packed() const {
    return y | static_cast<uint32_t>(u) << 8 | static_cast<uint32_t>(v) << 16;
  }
  REGIONS_HD static Color unpacked(uint32_t word) {
    return {static_cast<uint8_t>(word), static_cast<uint8_t>(word >> 8),
            static_cast<uint8_t>(word >> 16)};
  }
};

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

// The colour of pixel (x, y). Chroma is the nearest sample's.
template <class Byte>
REGIONS_HD Color color_at(const BasicFrame<Byte>& frame, int x, int y) {
  int component[3] = {};
  for (int c = 0; c < frame.layout.channels; ++c) component[c] = frame.sample(c, x, y);
  return color_of(frame.layout, frame.color.full_range, component);
}

REGIONS_HD inline int contrast2(const Color& a, const Color& b) {
  const int dy = a.y - b.y;
  const int du = a.u - b.u;
  const int dv = a.v - b.v;
  return dy * dy + du * du + dv * dv;
}

// new = old * gain + offset; chroma is scaled about its middle.
struct Light {
  static constexpr int kOne = 4096;
  int gain = kOne;
  int offset = 0;  // luma, of 1/256 levels

  REGIONS_HD bool same() const { return gain == kOne && offset == 0; }
  // A value with 8 fraction bits.
  REGIONS_HD int apply(int component, int value) const {
    constexpr int kMiddle = 128 << 8;
    const int base = component == 0 ? 0 : kMiddle;
    const int add = component == 0 ? offset : kMiddle;
    const int lit =
        static_cast<int>((static_cast<int64_t>(value - base) * gain + kOne / 2) / kOne) + add;
    return lit < 0 ? 0 : lit > 65535 ? 65535 : lit;
  }
};

}  // namespace regions::graphcut
