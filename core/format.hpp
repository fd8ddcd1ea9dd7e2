// Pixel formats as data: where each component of a pixel lies in its planes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/image.hpp"

namespace regions {

enum class PixelFormat : uint8_t {
  gray8,
  gray16,
  nv12,
  i420,
  p010,
  yuy2,
  uyvy,
  rgba,
  bgra,
  rgbx,
  bgrx,
  rgb,
  bgr,
  labels32  // one uint32 label a pixel
};
inline constexpr int kPixelFormats = 14;

enum class ColorModel : uint8_t { gray, yuv, rgb, labels };

// One component (Y, U, V or R, G, B, A) of a format. Pixel (x, y) has it at byte
// offset + (x >> x_shift) * step of row (y >> y_shift) of the plane.
struct Component {
  uint8_t plane = 0;
  uint8_t offset = 0;   // bytes
  uint8_t step = 0;     // bytes
  uint8_t x_shift = 0;  // log2 of the horizontal subsampling
  uint8_t y_shift = 0;  // log2 of the vertical subsampling
};

struct Layout {
  PixelFormat format = PixelFormat::gray8;
  ColorModel model = ColorModel::gray;
  uint8_t planes = 1;
  uint8_t sample_bytes = 1;  // 1, 2 or 4, little endian
  uint8_t low_bits = 0;      // unused low bits of a sample (6 in P010)
  uint8_t depth = 8;         // bits of a sample's value
  uint8_t channels = 1;      // colour components, alpha not counted
  bool alpha = false;        // component[3] is alpha
  Component component[4] = {};

  REGIONS_HD constexpr int max_value() const { return static_cast<int>((1u << depth) - 1u); }
};

// The layout of a format; throws InputError for a value outside the enumeration.
const Layout& layout_of(PixelFormat format);

// Name as in GStreamer caps ("NV12", "GRAY16_LE"; "U32_LE" for labels32), and back.
// format_named throws InputError naming an unknown name.
std::string_view name_of(PixelFormat format);
PixelFormat format_named(std::string_view name);

// Bytes and rows that plane `plane` of a `size` picture needs without padding.
size_t row_bytes(const Layout& layout, int plane, Size size);
int row_count(const Layout& layout, int plane, Size size);

}  // namespace regions
