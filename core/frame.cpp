// The table of pixel formats, the layout of packed frames, and checks of frames that callers
// describe.
#include "core/frame.hpp"

#include <climits>
#include <cstdlib>

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
// The layout of a format that stores two pixels in four bytes with common chroma. The parameters
// are the byte offsets of the components.
constexpr Layout packed_yuv(PixelFormat format, uint8_t y, uint8_t u, uint8_t v) {
  return {format, ColorModel::yuv, 1, 1, 0, 8, 3, false, {{0, y, 2}, {0, u, 4, 1}, {0, v, 4, 1}}};
}

struct NamedLayout {
  const char* name;
  Layout layout;
};

constexpr NamedLayout kFormats[kPixelFormats] = {
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
  for (const NamedLayout& known : kFormats) {
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

uint32_t max_label_of(const Layout& layout) {
  if (layout.sample_bytes == 4) return UINT32_MAX;
  return static_cast<uint32_t>(layout.max_value());
}

std::string capacity_message(uint32_t total, const char* what, const Layout& out) {
  return std::to_string(total) + " " + what + ", but " + std::string(name_of(out.format)) +
         " holds labels up to " + std::to_string(max_label_of(out));
}

namespace {

std::string plane_of(const std::string& name, int plane) {
  return "plane " + std::to_string(plane) + " of " + name;
}

}  // namespace

void expects_planes(const ConstFrame& frame, const std::string& name) {
  // The largest pitch that a copy to a GPU supports. Products of pitches and row counts fit in 64
  // bits.
  constexpr ptrdiff_t kMax = INT_MAX;
  for (int p = 0; p < frame.layout.planes; ++p) {
    const ptrdiff_t pitch = frame.pitch[p];
    const auto min_pitch = static_cast<ptrdiff_t>(row_bytes(frame.layout, p, frame.size()));
    expects(frame.plane[p] != nullptr, plane_of(name, p) + " is missing");
    expects(pitch >= -kMax && pitch <= kMax,
            "rows of " + plane_of(name, p) + " are 2 GiB or more apart");
    expects(std::abs(pitch) >= min_pitch || row_count(frame.layout, p, frame.size()) == 1,
            "rows of " + plane_of(name, p) + " overlap");
  }
}

void expects_aligned(const ConstFrame& frame, const std::string& name) {
  const auto bytes = static_cast<uintptr_t>(frame.layout.sample_bytes);
  for (int p = 0; p < frame.layout.planes; ++p) {
    const auto addresses =
        reinterpret_cast<uintptr_t>(frame.plane[p]) | static_cast<uintptr_t>(frame.pitch[p]);
    expects(addresses % bytes == 0, "rows of " + plane_of(name, p) +
                                        " must begin at multiples of " + std::to_string(bytes) +
                                        " bytes, the size of a sample");
  }
}

namespace {

// Alignment of rows in bytes. 16 bytes allow wide loads. With a larger alignment, most pitches
// would differ from the pitches that GStreamer uses. A copy between equal pitches is one transfer;
// any other copy is one transfer per row and several times slower.
constexpr size_t kRowAlignment = 16;
constexpr size_t kPlaneAlignment = 256;  // bytes

size_t rounded_up(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

size_t packed_pitch(const Layout& layout, int plane, Size size) {
  return rounded_up(row_bytes(layout, plane, size), kRowAlignment);
}

size_t packed_plane_bytes(const Layout& layout, int plane, Size size) {
  return rounded_up(
      packed_pitch(layout, plane, size) * static_cast<size_t>(row_count(layout, plane, size)),
      kPlaneAlignment);
}

}  // namespace

Frame packed_frame(const Layout& layout, Size size, const Colorimetry& color, Memory memory,
                   void* data) {
  Frame frame;
  frame.width = size.width;
  frame.height = size.height;
  frame.layout = layout;
  frame.color = color;
  frame.memory = memory;
  auto* next = static_cast<std::byte*>(data);
  for (int p = 0; p < layout.planes; ++p) {
    const size_t pitch = packed_pitch(layout, p, size);
    frame.plane[p] = next;
    frame.pitch[p] = static_cast<ptrdiff_t>(pitch);
    next += packed_plane_bytes(layout, p, size);
  }
  return frame;
}

size_t packed_bytes(const Layout& layout, Size size) {
  size_t bytes = 0;
  for (int p = 0; p < layout.planes; ++p) {
    bytes += packed_plane_bytes(layout, p, size);
  }
  return bytes;
}

}  // namespace regions
