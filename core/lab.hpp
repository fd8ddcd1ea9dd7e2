// The colours superpixels are made of: three signed bytes a pixel, from any format. Tables and
// integers alone, so that host and device agree bit for bit.
#pragma once

#include "core/frame.hpp"

namespace regions {

enum class ColorSpace : uint8_t { lab, rgb, luma };

// sRGB (IEC 61966-2-1) to CIELAB under D65, by addition: the red, green and blue levels each bring
// their share of X/Xn, Y/Yn and Z/Zn, 21 bits apart; 13 bits of each sum index the cube root.
struct LabTables {
  static constexpr int kShare = 21;  // bits from X to Y to Z
  static constexpr int kDrop = 7;    // bits of a sum below the index
  static constexpr int kRoots = 1 << 13;
  static constexpr int kUnit = 1 << 14;  // f(1) = 1

  uint64_t share[3][256];  // [red, green, blue][level]
  uint16_t root[kRoots];   // f of CIE 15: the cube root, linear below 0.008856

  REGIONS_HD uint64_t share_of(int channel, int level) const { return share[channel][level]; }
  REGIONS_HD int f(uint64_t sums, int axis) const {
    return root[sums >> (axis * kShare + kDrop) & (kRoots - 1)];
  }
};
const LabTables& lab_tables();

// Three components of -128..127, the first in the lowest byte. Of lab: 2 L - 100, a, b.
REGIONS_HD inline uint32_t packed_color(int first, int second, int third) {
  return (static_cast<uint32_t>(first) & 255) | (static_cast<uint32_t>(second) & 255) << 8 |
         (static_cast<uint32_t>(third) & 255) << 16;
}
REGIONS_HD inline int color_component(uint32_t color, int c) {
  return static_cast<int8_t>(color >> (8 * c));
}

// The components of a pixel of lab, in 65536ths: packed_color() takes bits 16 to 23 of each.
struct LabTerms {
  static constexpr int kBits = 16;
  int component[3];
};

// From f of X, Y and Z: L = 116 f(Y) - 16, a = 500 (f(X) - f(Y)), b = 200 (f(Y) - f(Z)); sRGB keeps
// a and b within -108..99.
REGIONS_HD inline LabTerms lab_terms(int fx, int fy, int fz) {
  constexpr int kOne = 1 << LabTerms::kBits, kScale = kOne / LabTables::kUnit, kHalf = kOne / 2;
  return {{232 * kScale * fy + kHalf - 132 * kOne, 500 * kScale * (fx - fy) + kHalf,
           200 * kScale * (fy - fz) + kHalf}};
}
// Tables may lie differently in memory than LabTables.
template <class Tables>
REGIONS_HD LabTerms lab_terms(const Tables& tables, int red, int green, int blue) {
  const uint64_t sums =
      tables.share_of(0, red) + tables.share_of(1, green) + tables.share_of(2, blue);
  return lab_terms(tables.f(sums, 0), tables.f(sums, 1), tables.f(sums, 2));
}
template <class Tables>
REGIONS_HD uint32_t lab_of(const Tables& tables, int red, int green, int blue) {
  const LabTerms terms = lab_terms(tables, red, green, blue);
  return packed_color(terms.component[0] >> LabTerms::kBits, terms.component[1] >> LabTerms::kBits,
                      terms.component[2] >> LabTerms::kBits);
}

// Stored Y, U, V as 8-bit R, G, B, in fixed point.
struct RgbDecoder {
  static constexpr int kShift = 14;
  bool is_yuv = false;
  int drop = 0;   // bits of a sample beyond 8
  int black = 0;  // of luma
  int32_t luma = 1 << kShift;
  int32_t red_v = 0, green_u = 0, green_v = 0, blue_u = 0;

  REGIONS_HD static int clamped(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
  // From a frame's first three components (gray: the first alone).
  REGIONS_HD void decode(int& first, int& second, int& third) const {
    if (!is_yuv) return;
    const int y = (first - black) * luma + (1 << (kShift - 1));
    const int u = second - 128, v = third - 128;
    first = clamped((y + red_v * v) >> kShift);
    second = clamped((y - green_u * u - green_v * v) >> kShift);
    third = clamped((y + blue_u * u) >> kShift);
  }
};

// How pixels of one format become colours of one space.
struct ColorReader {
  ColorSpace space = ColorSpace::lab;
  RgbDecoder decoder;

  // From a pixel's components as 8-bit values, gray ones three times.
  template <class Tables>
  REGIONS_HD uint32_t color(const Tables& tables, int first, int second, int third) const {
    if (space == ColorSpace::luma && decoder.is_yuv) return packed_color(first - 128, 0, 0);
    decoder.decode(first, second, third);
    if (space == ColorSpace::lab) return lab_of(tables, first, second, third);
    if (space == ColorSpace::rgb) return packed_color(first - 128, second - 128, third - 128);
    return packed_color(((77 * first + 150 * second + 29 * third + 128) >> 8) - 128, 0, 0);
  }
  template <class Tables, class Byte>
  REGIONS_HD uint32_t at(const Tables& tables, const BasicFrame<Byte>& frame, int x, int y) const {
    const int first = frame.sample(0, x, y) >> decoder.drop;
    if (frame.layout.channels == 1) return color(tables, first, first, first);
    return color(tables, first, frame.sample(1, x, y) >> decoder.drop,
                 frame.sample(2, x, y) >> decoder.drop);
  }
};
ColorReader reader_of(const Layout& layout, const Colorimetry& color, ColorSpace space);

}  // namespace regions
