// Scaling of pictures: shrinking, transferring changes back to the full size, and nearest-pixel
// sampling. Both backends use these functions.
#pragma once

#include "core/error.hpp"
#include "core/frame.hpp"

namespace regions {

// first_of() and cell_of() divide an axis of `pixels` pixels into `cells` cells. Cell i begins at
// pixel first_of(i). Pixel x belongs to cell cell_of(x), the last cell that begins at or before x.
// Products fit in 32 bits for lengths up to 65535.
REGIONS_HD inline int first_of(int i, int cells, int pixels) {
  return static_cast<int>(static_cast<uint32_t>(i) * static_cast<uint32_t>(pixels) /
                          static_cast<uint32_t>(cells));
}
REGIONS_HD inline int cell_of(int x, int cells, int pixels) {
  return static_cast<int>(((static_cast<uint32_t>(x) + 1) * static_cast<uint32_t>(cells) - 1) /
                          static_cast<uint32_t>(pixels));
}

// Number of components including alpha. The unused fourth byte of RGBx does not count.
REGIONS_HD inline int components(const Layout& layout) { return layout.channels + layout.alpha; }
// Number of samples of a component along an axis of this many pixels. `shift` is log2 of the
// subsampling.
REGIONS_HD inline int samples(int pixels, int shift) {
  return (pixels + (1 << shift) - 1) >> shift;
}

// Reads a little-endian word of 1 or 2 bytes.
template <int bytes>
REGIONS_HD inline uint32_t word_at(const std::byte* at) {
  const auto* p = reinterpret_cast<const uint8_t*>(at);
  return bytes == 1 ? p[0] : static_cast<uint32_t>(p[0] | p[1] << 8);
}

// value_in() reads and put_value() writes the value of a component sample at this address. `bytes`
// is the size of a sample.
template <int bytes>
REGIONS_HD inline int value_in(const std::byte* at, const Layout& layout) {
  return static_cast<int>(word_at<bytes>(at) >> layout.low_bits);
}
template <int bytes>
REGIONS_HD inline void put_value(std::byte* at, const Layout& layout, int value) {
  const int stored = value << layout.low_bits;
  at[0] = static_cast<std::byte>(stored);
  if (bytes == 2) at[1] = static_cast<std::byte>(stored >> 8);
}

// The pixels or samples first .. end - 1 of an axis.
struct PixelInterval {
  int first, end;
};
REGIONS_HD inline PixelInterval pixels_of_cell(int i, int cells, int pixels) {
  return {first_of(i, cells, pixels), first_of(i + 1, cells, pixels)};
}

// The rounded mean of component c over the samples in the intervals x and y.
template <int bytes>
REGIONS_HD inline int mean_of(const ConstFrame& from, int c, const PixelInterval& x,
                              const PixelInterval& y) {
  const Component& k = from.layout.component[c];
  const std::byte* row = from.at(c, x.first << k.x_shift, y.first << k.y_shift);
  uint32_t sum = 0;
  for (int v = y.first; v < y.end; ++v, row += from.pitch[k.plane]) {
    const std::byte* sample = row;
    for (int u = x.first; u < x.end; ++u, sample += k.step) {
      sum += static_cast<uint32_t>(value_in<bytes>(sample, from.layout));
    }
  }
  const auto count = static_cast<uint32_t>((x.end - x.first) * (y.end - y.first));
  return static_cast<int>((sum + count / 2) / count);
}

// New value of a sample of the large picture, after the sample of the small picture changed from
// `old` to `current`. A tint adds the difference to `value`, which preserves detail. Other drawing
// replaces the value.
REGIONS_HD inline int changed_sample(int value, int old, int current, bool is_tint,
                                     const Layout& layout) {
  if (!is_tint) return current;
  const int tinted = value + current - old;
  return tinted < 0 ? 0 : tinted > layout.max_value() ? layout.max_value() : tinted;
}

// Maps pixels of a destination to pixels of a source along one axis: destination pixel i takes
// source pixel (i * factor + offset) / divisor. at() returns -1 if the source pixel is outside
// 0..length - 1.
struct AxisMapping {
  int64_t factor = 1, offset = 0, divisor = 1;

  REGIONS_HD int at(int i, int length) const {
    const int64_t position = i * factor + offset;
    if (position < 0 || position / divisor >= length) return -1;
    return static_cast<int>(position / divisor);
  }
};
struct PixelMapping {
  AxisMapping x, y;
};

// Returns the mapping that fills the whole picture with pixels of the working picture, along one
// axis. The rectangle that the working picture shows begins at pixel `first` and is `pixels` pixels
// long; the working picture is `cells` pixels long.
REGIONS_HD inline AxisMapping mapping_to_picture(int first, int pixels, int cells) {
  return {cells, static_cast<int64_t>(1 - first) * cells - 1, pixels};
}
// Returns the mapping that fills the working picture with pixels of another picture, which shows
// the whole scene, along one axis. Each pixel takes the value at its centre. The whole picture is
// `whole` pixels long, the other picture `other_length`. See mapping_to_picture() for the other
// parameters.
REGIONS_HD inline AxisMapping mapping_to_work_area(int first, int pixels, int cells, int whole,
                                                   int other_length) {
  return {2ll * pixels * other_length, (pixels + 2ll * cells * first) * other_length,
          2ll * cells * whole};
}

// Copies pixel (u, v) of `from` to pixel (x, y) of `to`. Both frames have one plane without
// subsampling, with `bytes` bytes per pixel. Writes zeros if u or v is -1.
template <int bytes>
REGIONS_HD inline void pick_pixel(const ConstFrame& from, int u, int v, const Frame& to, int x,
                                  int y) {
  std::byte* pixel = to.plane[0] + y * to.pitch[0] + static_cast<ptrdiff_t>(x) * bytes;
  const bool has_source = u >= 0 && v >= 0;
  const std::byte* source =
      has_source ? from.plane[0] + v * from.pitch[0] + static_cast<ptrdiff_t>(u) * bytes : nullptr;
  for (int b = 0; b < bytes; ++b) pixel[b] = has_source ? source[b] : std::byte{0};
}

// Calls run.operator()<bytes>(), where `bytes` is the number of bytes per pixel of this layout.
template <class Run>
void with_pixel_bytes(const Layout& layout, Run run) {
  expects(
      layout.planes == 1 && layout.component[0].x_shift == 0 && layout.component[1].x_shift == 0,
      "nearest-pixel scaling requires a packed pixel format");
  switch (layout.component[0].step) {
    case 1:
      return run.template operator()<1>();
    case 2:
      return run.template operator()<2>();
    case 3:
      return run.template operator()<3>();
    default:
      return run.template operator()<4>();
  }
}

}  // namespace regions
