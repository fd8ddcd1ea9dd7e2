// Converts rows of all supported pixel formats to packed colours. The distances between samples are
// template arguments, so that the compiler vectorises the loops.
#include "cpu/graphcutbg/graphcutbg.hpp"
#include "cpu/simd.hpp"

namespace regions::graphcutbg {
namespace {

// For each component, the address of the byte with the upper eight bits of the row's first sample.
struct Samples {
  const uint8_t* first[3] = {};
  int black = 0;  // the luma value of black
};

REGIONS_INLINE uint32_t luma(uint8_t sample, int black) {
  return static_cast<uint32_t>(sample > black ? sample - black : 0);
}

template <int kStep>
REGIONS_INLINE void read_gray(const Samples& samples, int width, uint32_t* colors) {
  for (int x = 0; x < width; ++x) colors[x] = samples.first[0][x * kStep] | 128u << 8 | 128u << 16;
}

template <int kStep>
REGIONS_INLINE void read_rgb(const Samples& samples, int width, uint32_t* colors) {
  for (int x = 0; x < width; ++x) {
    const Color color = color_of_rgb(samples.first[0][x * kStep], samples.first[1][x * kStep],
                                     samples.first[2][x * kStep]);
    colors[x] = static_cast<uint32_t>(color.packed());
  }
}

// Converts a row of YUV pixels, in which two adjacent pixels share a chroma sample.
template <int kStep, int kChromaStep>
REGIONS_INLINE void read_yuv(const Samples& samples, int width, uint32_t* colors) {
  const uint8_t *first = samples.first[0], *second = samples.first[1], *third = samples.first[2];
  const int black = samples.black;
  const auto chroma = [&](int pair) __attribute__((always_inline)) {
    return static_cast<uint32_t>(second[pair * kChromaStep]) << 8 |
           static_cast<uint32_t>(third[pair * kChromaStep]) << 16;
  };
  for (int pair = 0; pair < width / 2; ++pair) {
    colors[2 * pair] = luma(first[2 * pair * kStep], black) | chroma(pair);
    colors[2 * pair + 1] = luma(first[(2 * pair + 1) * kStep], black) | chroma(pair);
  }
  if (width % 2) {
    colors[width - 1] = luma(first[(width - 1) * kStep], black) | chroma(width / 2);
  }
}

REGIONS_CLONES void read(const Layout& layout, const Samples& samples, int width,
                         uint32_t* colors) {
  const int step = layout.component[0].step, chroma_step = layout.component[1].step;
  switch (layout.model) {
    case ColorModel::gray:
      return step == 1 ? read_gray<1>(samples, width, colors)
                       : read_gray<2>(samples, width, colors);
    case ColorModel::rgb:
      return step == 3 ? read_rgb<3>(samples, width, colors) : read_rgb<4>(samples, width, colors);
    case ColorModel::yuv:
      if (step == 2) return read_yuv<2, 4>(samples, width, colors);
      return chroma_step == 1 ? read_yuv<1, 1>(samples, width, colors)
                              : read_yuv<1, 2>(samples, width, colors);
    case ColorModel::labels:
      break;  // not supported; configure() rejects this format
  }
}

}  // namespace

void read_row(const ConstFrame& frame, int y, uint32_t* colors) {
  Samples samples;
  for (int c = 0; c < frame.layout.channels; ++c) {
    // Samples are little endian: the second of two bytes has the upper bits.
    samples.first[c] =
        reinterpret_cast<const uint8_t*>(frame.at(c, 0, y)) + (frame.layout.sample_bytes - 1);
  }
  if (frame.layout.model == ColorModel::yuv && !frame.color.full_range) samples.black = 16;
  read(frame.layout, samples, frame.width, colors);
}

}  // namespace regions::graphcutbg
