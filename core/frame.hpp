// Pixel formats, frames (the planes of one picture with layout and colorimetry), label maps and
// volumes. Label 0 is background everywhere.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "core/image.hpp"

namespace regions {

struct Rgb {
  uint8_t red = 0, green = 0, blue = 0;
};

// A colour 0xAARRGGBB; alpha 255 is opaque.
struct Argb {
  uint32_t code = 0;

  uint8_t alpha() const { return static_cast<uint8_t>(code >> 24); }
  Rgb rgb() const {
    return {static_cast<uint8_t>(code >> 16), static_cast<uint8_t>(code >> 8),
            static_cast<uint8_t>(code)};
  }
};

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
  labels32  // one uint32 label per pixel
};
inline constexpr int kPixelFormats = 14;

enum class ColorModel : uint8_t { gray, yuv, rgb, labels };

// Describes one component (Y, U, V or R, G, B, A) of a format. The value for pixel (x, y) is stored
// in row y >> y_shift of the plane. It begins offset + (x >> x_shift) * step bytes after the start
// of this row.
struct Component {
  uint8_t plane = 0;
  uint8_t offset = 0;   // bytes from the start of a row to the first sample
  uint8_t step = 0;     // bytes from one sample to the next
  uint8_t x_shift = 0;  // log2 of the horizontal subsampling
  uint8_t y_shift = 0;  // log2 of the vertical subsampling
};

struct Layout {
  PixelFormat format = PixelFormat::gray8;
  ColorModel model = ColorModel::gray;
  uint8_t planes = 1;
  uint8_t sample_bytes = 1;  // bytes per sample: 1, 2 or 4, little endian
  uint8_t low_bits = 0;      // unused low bits per sample (6 in P010)
  uint8_t sample_bits = 8;   // significant bits per sample
  uint8_t channels = 1;      // colour components without alpha
  bool alpha = false;        // true if component[3] is alpha
  Component component[4] = {};

  REGIONS_HD constexpr int max_value() const { return static_cast<int>((1u << sample_bits) - 1u); }
};

// The layout of a format; throws InputError for a value outside the enumeration.
const Layout& layout_of(PixelFormat format);

// name_of() returns the name of a format as in GStreamer caps ("NV12", "GRAY16_LE"; "U32_LE" for
// labels32). format_named() returns the format with this name, and throws InputError for an unknown
// name.
std::string_view name_of(PixelFormat format);
PixelFormat format_named(std::string_view name);

// The number of bytes per row and the number of rows in plane `plane` of a picture of this size,
// without padding.
size_t row_bytes(const Layout& layout, int plane, Size size);
int row_count(const Layout& layout, int plane, Size size);

// How many of a frame's regions get a label in the output format.
struct LabelCapacity {
  uint32_t labelled = 0;  // regions that get a label
  std::string warning;    // message for the user; empty if all regions get a label
};

// The largest label that a label picture of this layout can store.
uint32_t max_label_of(const Layout& layout);

// Builds the message for too many labels, such as "300 regions, but GRAY8 holds labels up to 255".
std::string capacity_message(uint32_t total, const char* what, const Layout& out);

// Luma of RGB by BT.601 in 8-bit fixed point. Gives the same value on host and device.
REGIONS_HD inline int luma_of(int red, int green, int blue) {
  return (77 * red + 150 * green + 29 * blue + 128) >> 8;
}

enum class YuvMatrix : uint8_t { bt601, bt709, bt2020 };

struct Colorimetry {
  YuvMatrix matrix = YuvMatrix::bt601;
  bool full_range = true;  // false: black is 16 and white is 235 (of 255)
};

// The weights of red and blue in luma, Kr and Kb (ITU-R BT.601-7, BT.709-6, BT.2020-2).
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

// A view of the planes of one picture. Byte is std::byte or const std::byte.
template <class Byte>
struct BasicFrame {
  Byte* plane[3] = {};      // the first layout.planes entries are set
  ptrdiff_t pitch[3] = {};  // bytes
  int width = 0;            // pixels
  int height = 0;           // pixels
  Layout layout;
  Colorimetry color;
  Memory memory = Memory::host;

  REGIONS_HD bool empty() const { return plane[0] == nullptr; }
  REGIONS_HD Size size() const { return {width, height}; }

  // Address of component c of pixel (x, y).
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
  // Writes a value 0..layout.max_value(). Only for Frame, not for ConstFrame.
  REGIONS_HD void set_sample(int c, int x, int y, int value) const {
    auto* p = reinterpret_cast<uint8_t*>(at(c, x, y));
    const int stored = value << layout.low_bits;
    p[0] = static_cast<uint8_t>(stored);
    if (layout.sample_bytes == 2) p[1] = static_cast<uint8_t>(stored >> 8);
  }
  // Returns plane p as an image with elements of type T. The caller gives the number of elements
  // per row and of rows.
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

// These two functions check a frame whose planes and pitches a caller provides. They throw an
// InputError that calls the frame `name`. expects_planes() requires that every plane is present,
// that its rows do not overlap, and that its pitch is below 2 GiB. expects_aligned() requires that
// rows start at multiples of the sample size; input pictures do not need this.
void expects_planes(const ConstFrame& frame, const std::string& name);
void expects_aligned(const ConstFrame& frame, const std::string& name);

using LabelMap = Image<uint32_t>;
using ConstLabelMap = Image<const uint32_t>;

// Returns a frame whose planes are stored one after another in one block of memory at `data`.
Frame packed_frame(const Layout& layout, Size size, const Colorimetry& color, Memory memory,
                   void* data);
// The size in bytes of the block that packed_frame() requires. Rows start at multiples of 16 bytes,
// planes at multiples of 256 bytes.
size_t packed_bytes(const Layout& layout, Size size);

// The slices of a volume (x, y, z) as one tall picture: frames below one another, in order of z.
// With several thresholds, the outputs of each threshold form a volume (a layer), and layers are
// stored below one another. In raster order of the tall picture, voxels are sorted by threshold,
// then z, y and x.
struct VolumeLayout {
  Size slice;      // size of one frame
  int slices = 1;  // slices per volume
  int layers = 1;  // number of volumes, one per threshold

  // Number of slices in all volumes together.
  REGIONS_HD constexpr int total_slices() const { return slices * layers; }
  REGIONS_HD constexpr int volume_rows() const { return slice.height * slices; }
  REGIONS_HD constexpr int rows() const { return slice.height * total_slices(); }
  REGIONS_HD constexpr Size size() const { return {slice.width, rows()}; }

  // Coordinates of a row of the tall picture.
  struct Position {
    int y, z, layer;
  };
  REGIONS_HD constexpr Position position(int row) const {
    const int k = row / slice.height;
    return {row - k * slice.height, k % slices, k / slices};
  }
  // Index of the row with these coordinates in the tall picture.
  REGIONS_HD constexpr int row(const Position& at) const {
    return (at.layer * slices + at.z) * slice.height + at.y;
  }
  // True if slice k (counted through all layers) is the first slice of its volume.
  REGIONS_HD constexpr bool begins_volume(int k) const { return k % slices == 0; }
};

// Returns a view of the rows begin..begin + count - 1. If chroma is vertically subsampled, `begin`
// and `count` must be even.
template <class Byte>
REGIONS_HD BasicFrame<Byte> rows_of(BasicFrame<Byte> frame, int begin, int count) {
  bool moved[3] = {};
  for (int c = 0; c < 4; ++c) {
    const Component& k = frame.layout.component[c];
    if (k.step == 0 || moved[k.plane]) continue;
    moved[k.plane] = true;
    frame.plane[k.plane] += (begin >> k.y_shift) * frame.pitch[k.plane];
  }
  frame.height = count;
  return frame;
}
template <class T>
REGIONS_HD Image<T> rows_of(const Image<T>& image, int begin, int count) {
  return {image.row(begin), image.width, count, image.pitch};
}

}  // namespace regions
