// The table of pixel formats.
#include "core/format.hpp"

#include <string>

#include "core/error.hpp"

namespace regions {
namespace {

constexpr Layout gray(PixelFormat format, uint8_t bytes) {
  return {format, ColorModel::gray, 1, bytes, 0, static_cast<uint8_t>(8 * bytes), 1,
          false,  {{0, 0, bytes}}};
}
constexpr Layout packed_rgb(PixelFormat format, uint8_t step, uint8_t r, uint8_t g, uint8_t b,
                            bool alpha) {
  return {format,
          ColorModel::rgb,
          1,
          1,
          0,
          8,
          3,
          alpha,
          {{0, r, step}, {0, g, step}, {0, b, step}, {0, 3, step}}};
}
// Two pixels in four bytes.
constexpr Layout packed_yuv(PixelFormat format, uint8_t y, uint8_t u, uint8_t v) {
  return {format, ColorModel::yuv, 1, 1, 0, 8, 3, false, {{0, y, 2}, {0, u, 4, 1}, {0, v, 4, 1}}};
}

struct Named {
  const char* name;
  Layout layout;
};

constexpr Named kFormats[kPixelFormats] = {
    {"GRAY8", gray(PixelFormat::gray8, 1)},
    {"GRAY16_LE", gray(PixelFormat::gray16, 2)},
    {"NV12",
     {PixelFormat::nv12,
      ColorModel::yuv,
      2,
      1,
      0,
      8,
      3,
      false,
      {{0, 0, 1}, {1, 0, 2, 1, 1}, {1, 1, 2, 1, 1}}}},
    {"I420",
     {PixelFormat::i420,
      ColorModel::yuv,
      3,
      1,
      0,
      8,
      3,
      false,
      {{0, 0, 1}, {1, 0, 1, 1, 1}, {2, 0, 1, 1, 1}}}},
    {"P010_10LE",
     {PixelFormat::p010,
      ColorModel::yuv,
      2,
      2,
      6,
      10,
      3,
      false,
      {{0, 0, 2}, {1, 0, 4, 1, 1}, {1, 2, 4, 1, 1}}}},
    {"YUY2", packed_yuv(PixelFormat::yuy2, 0, 1, 3)},
    {"UYVY", packed_yuv(PixelFormat::uyvy, 1, 0, 2)},
    {"RGBA", packed_rgb(PixelFormat::rgba, 4, 0, 1, 2, true)},
    {"BGRA", packed_rgb(PixelFormat::bgra, 4, 2, 1, 0, true)},
    {"RGBx", packed_rgb(PixelFormat::rgbx, 4, 0, 1, 2, false)},
    {"BGRx", packed_rgb(PixelFormat::bgrx, 4, 2, 1, 0, false)},
    {"RGB", packed_rgb(PixelFormat::rgb, 3, 0, 1, 2, false)},
    {"BGR", packed_rgb(PixelFormat::bgr, 3, 2, 1, 0, false)},
    {"U32_LE", {PixelFormat::labels32, ColorModel::labels, 1, 4, 0, 32, 1, false, {{0, 0, 4}}}}};

}  // namespace

const Layout& layout_of(PixelFormat format) {
  const auto index = static_cast<size_t>(format);
  expects(index < kPixelFormats, "unknown pixel format number " + std::to_string(index));
  return kFormats[index].layout;
}

std::string_view name_of(PixelFormat format) {
  layout_of(format);
  return kFormats[static_cast<size_t>(format)].name;
}

PixelFormat format_named(std::string_view name) {
  for (const Named& known : kFormats) {
    if (name == known.name) return known.layout.format;
  }
  throw InputError("unknown pixel format: " + std::string(name));
}

size_t row_bytes(const Layout& layout, int plane, Size size) {
  size_t bytes = 0;
  for (const Component& c : layout.component) {
    if (c.step == 0 || c.plane != plane) continue;
    const auto samples = static_cast<size_t>((size.width + (1 << c.x_shift) - 1) >> c.x_shift);
    const size_t end = samples * c.step;
    if (end > bytes) bytes = end;
  }
  return bytes;
}

int row_count(const Layout& layout, int plane, Size size) {
  for (const Component& c : layout.component) {
    if (c.step != 0 && c.plane == plane) {
      return (size.height + (1 << c.y_shift) - 1) >> c.y_shift;
    }
  }
  return 0;
}

}  // namespace regions
