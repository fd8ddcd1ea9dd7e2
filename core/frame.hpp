// Frame: the planes of one picture with its layout and colorimetry; LabelMap: one label a pixel.
// Label 0 is background, here and everywhere.
#pragma once

#include <cstring>
#include <string>

#include "core/format.hpp"

namespace regions {

// Luma of RGB by BT.601 in 8-bit fixed point; the same on host and device.
REGIONS_HD inline int luma_of(int red, int green, int blue) {
  return (77 * red + 150 * green + 29 * blue + 128) >> 8;
}

enum class YuvMatrix : uint8_t { bt601, bt709, bt2020 };

struct Colorimetry {
  YuvMatrix matrix = YuvMatrix::bt601;
  bool full_range = true;  // false: black is 16, white 235 (of 255)
};

// Kr and Kb of the colour matrix (ITU-R BT.601-7, BT.709-6, BT.2020-2).
struct LumaWeights {
  double red, blue;
};
constexpr LumaWeights luma_weights(YuvMatrix matrix) {
  switch (matrix) {
    case YuvMatrix::bt709:
      return {0.2126, 0.0722};
    case YuvMatrix::bt2020:
      return {0.2627, 0.0593};
    default:
      return {0.299, 0.114};
  }
}

// Byte is std::byte or const std::byte.
template <class Byte>
struct BasicFrame {
  Byte* plane[3] = {};      // layout.planes of them are set
  ptrdiff_t pitch[3] = {};  // bytes
  int width = 0;            // pixels
  int height = 0;           // pixels
  Layout layout;
  Colorimetry color;
  Memory memory = Memory::host;

  REGIONS_HD bool empty() const { return plane[0] == nullptr; }
  REGIONS_HD Size size() const { return {width, height}; }

  // Where component c of pixel (x, y) lies.
  REGIONS_HD Byte* at(int c, int x, int y) const {
    const Component& k = layout.component[c];
    return plane[k.plane] + (y >> k.y_shift) * pitch[k.plane] +
           static_cast<ptrdiff_t>(x >> k.x_shift) * k.step + k.offset;
  }
  // Value of component c of pixel (x, y), 0..layout.max_value().
  REGIONS_HD int sample(int c, int x, int y) const {
    const auto* p = reinterpret_cast<const uint8_t*>(at(c, x, y));
    if (layout.sample_bytes == 1) return p[0];
    return (p[0] | p[1] << 8) >> layout.low_bits;
  }
  // Writes a value 0..max_value(); only for a Frame, not a ConstFrame.
  REGIONS_HD void set_sample(int c, int x, int y, int value) const {
    auto* p = reinterpret_cast<uint8_t*>(at(c, x, y));
    const int stored = value << layout.low_bits;
    p[0] = static_cast<uint8_t>(stored);
    if (layout.sample_bytes == 2) p[1] = static_cast<uint8_t>(stored >> 8);
  }
  // A plane's bytes as an image of T, `width` elements wide.
  template <class T>
  REGIONS_HD Image<T> plane_as(int p, int elements, int rows) const {
    return {reinterpret_cast<T*>(plane[p]), elements, rows, pitch[p]};
  }
  REGIONS_HD operator BasicFrame<const std::byte>() const {
    BasicFrame<const std::byte> view;
    for (int i = 0; i < 3; ++i) {
      view.plane[i] = plane[i];
      view.pitch[i] = pitch[i];
    }
    view.width = width;
    view.height = height;
    view.layout = layout;
    view.color = color;
    view.memory = memory;
    return view;
  }
};

using Frame = BasicFrame<std::byte>;
using ConstFrame = BasicFrame<const std::byte>;

// Throw InputError, which calls the frame `name`, unless every plane is there and its rows neither
// overlap nor lie 2 GiB apart; unless rows begin where a sample may lie in memory, which pictures
// that come in need not.
void expects_planes(const ConstFrame& frame, const std::string& name);
void expects_aligned(const ConstFrame& frame, const std::string& name);

using LabelMap = Image<uint32_t>;
using ConstLabelMap = Image<const uint32_t>;

}  // namespace regions
