// From a picture to a smaller one and back, sample by sample: one function for both backends.
#pragma once

#include "core/error.hpp"
#include "core/frame.hpp"

namespace regions {

// `few` steps cover `many` places without gaps: step i begins at first_of(i), and place x is in
// step_of(x), the last step that begins at or before it.
// Both count up to 65535, so that products fit 32 bits.
REGIONS_HD inline int first_of(int i, int few, int many) {
  return static_cast<int>(static_cast<uint32_t>(i) * static_cast<uint32_t>(many) /
                          static_cast<uint32_t>(few));
}
REGIONS_HD inline int step_of(int x, int few, int many) {
  return static_cast<int>(((static_cast<uint32_t>(x) + 1) * static_cast<uint32_t>(few) - 1) /
                          static_cast<uint32_t>(many));
}

// Components that carry something: not the fourth byte of RGBx.
REGIONS_HD inline int components(const Layout& layout) { return layout.channels + layout.alpha; }
// Samples that a component has in a picture of so many pixels.
REGIONS_HD inline int samples(int pixels, int shift) {
  return (pixels + (1 << shift) - 1) >> shift;
}

template <int bytes>
REGIONS_HD inline uint32_t word_at(const std::byte* at) {
  const auto* p = reinterpret_cast<const uint8_t*>(at);
  return bytes == 1 ? p[0] : static_cast<uint32_t>(p[0] | p[1] << 8);
}

// Sample (i, j) of component c of the smaller picture: the mean of those it stands for, rounded.
template <int bytes>
REGIONS_HD inline void shrink_sample(const ConstFrame& from, const Frame& to, int c, int i, int j) {
  const Component& k = from.layout.component[c];
  const int few_x = samples(to.width, k.x_shift), many_x = samples(from.width, k.x_shift);
  const int few_y = samples(to.height, k.y_shift), many_y = samples(from.height, k.y_shift);
  const int left = first_of(i, few_x, many_x), right = first_of(i + 1, few_x, many_x);
  const int top = first_of(j, few_y, many_y), bottom = first_of(j + 1, few_y, many_y);
  const std::byte* row = from.at(c, left << k.x_shift, top << k.y_shift);
  uint32_t sum = 0;
  for (int y = top; y < bottom; ++y, row += from.pitch[k.plane]) {
    const std::byte* sample = row;
    for (int x = left; x < right; ++x, sample += k.step) {
      sum += word_at<bytes>(sample) >> from.layout.low_bits;
    }
  }
  const auto count = static_cast<uint32_t>((right - left) * (bottom - top));
  to.set_sample(c, i << k.x_shift, j << k.y_shift, static_cast<int>((sum + count / 2) / count));
}

// What becomes of sample (i, j) of component c of a picture when its smaller one has been drawn on:
// where that changed, it takes the new value; a tint is added instead, so that detail stays.
REGIONS_HD inline void carry_over(const ConstFrame& before, const ConstFrame& after,
                                  const Frame& to, bool is_tint, int c, int i, int j) {
  const Component& k = to.layout.component[c];
  const int x = step_of(i, samples(before.width, k.x_shift), samples(to.width, k.x_shift))
                << k.x_shift;
  const int y = step_of(j, samples(before.height, k.y_shift), samples(to.height, k.y_shift))
                << k.y_shift;
  const int old = before.sample(c, x, y), fresh = after.sample(c, x, y);
  if (old == fresh) return;
  int value = fresh;
  if (is_tint) {
    value = to.sample(c, i << k.x_shift, j << k.y_shift) + fresh - old;
    value = value < 0 ? 0 : value > to.layout.max_value() ? to.layout.max_value() : value;
  }
  to.set_sample(c, i << k.x_shift, j << k.y_shift, value);
}

// Along one axis, which place of one picture a place of another takes its pixel from: that at
// (i * times + plus) / by, or none outside.
struct Picking {
  int64_t times = 1, plus = 0, by = 1;

  REGIONS_HD int at(int i, int places) const {
    const int64_t place = i * times + plus;
    if (place < 0 || place / by >= places) return -1;
    return static_cast<int>(place / by);
  }
};
struct PixelPicking {
  Picking x, y;
};

// Along one axis: from a working picture to the whole one, where `first` and `many` are the
// rectangle's.
REGIONS_HD inline Picking enlarging(int first, int many, int few) {
  return {few, static_cast<int64_t>(1 - first) * few - 1, many};
}
// From another picture of the whole scene, `there` places long, to the working picture: each pixel
// takes what lies at its middle. `whole` is the picture's length.
REGIONS_HD inline Picking reducing(int first, int many, int few, int whole, int there) {
  return {2ll * many * there, (many + 2ll * few * first) * there, 2ll * few * whole};
}

// Pixel (x, y) of `to` from pixel (u, v) of `from`, both of one plane without subsampling; all its
// bytes are 0 where there is none (u or v is -1).
template <int bytes>
REGIONS_HD inline void pick_pixel(const ConstFrame& from, int u, int v, const Frame& to, int x,
                                  int y) {
  std::byte* pixel = to.plane[0] + y * to.pitch[0] + static_cast<ptrdiff_t>(x) * bytes;
  const bool found = u >= 0 && v >= 0;
  const std::byte* source =
      found ? from.plane[0] + v * from.pitch[0] + static_cast<ptrdiff_t>(u) * bytes : nullptr;
  for (int b = 0; b < bytes; ++b) pixel[b] = found ? source[b] : std::byte{0};
}

// Calls run.template operator()<bytes>() for the bytes of such a layout's pixels.
template <class Run>
void with_pixel_bytes(const Layout& layout, Run run) {
  expects(
      layout.planes == 1 && layout.component[0].x_shift == 0 && layout.component[1].x_shift == 0,
      "pixels are picked of pictures that have all of a pixel in one place");
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
