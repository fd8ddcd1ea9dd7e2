// Every conversion between stored components and colours, in all formats, matrices and ranges,
// against the Recommendations' equations in floating point.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/drawing/paint.hpp"
#include "core/graphcutbg/composite.hpp"
#include "core/region.hpp"
#include "core/slicsuperpixel/clusters.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

using Triple = std::array<double, 3>;

// The stored components of a colour with R, G and B in 0..255.
struct Equations {
  Layout layout;
  Colorimetry color;
  double kr, kb;              // weights of the Recommendation
  double black, luma;         // stored units: black; from black to white
  double middle, chroma = 0;  // stored units: no colour; from the least to the greatest

  Equations(PixelFormat format, Colorimetry wanted) : layout(layout_of(format)), color(wanted) {
    constexpr double kWeights[3][2] = {{0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}};
    kr = kWeights[static_cast<int>(color.matrix)][0];
    kb = kWeights[static_cast<int>(color.matrix)][1];
    const int bits = format == PixelFormat::p010 ? 10 : format == PixelFormat::gray16 ? 16 : 8;
    const bool limited = is_yuv() && !color.full_range;
    const double step = std::exp2(bits - 8), all = std::exp2(bits) - 1;
    black = limited ? 16 * step : 0;
    luma = limited ? 219 * step : all;
    middle = 128 * step;
    chroma = limited ? 224 * step : all;
  }
  bool is_yuv() const { return layout.model == ColorModel::yuv; }
  Triple stored(const Triple& rgb) const {
    if (layout.model == ColorModel::rgb) return rgb;
    const double y = (kr * rgb[0] + (1 - kr - kb) * rgb[1] + kb * rgb[2]) / 255;
    return {black + luma * y, middle + chroma * (rgb[2] / 255 - y) / (2 - 2 * kb),
            middle + chroma * (rgb[0] / 255 - y) / (2 - 2 * kr)};
  }
  Triple rgb(const Triple& stored) const {
    if (layout.model == ColorModel::rgb) return stored;
    const double y = 255 * (stored[0] - black) / luma;
    if (!is_yuv()) return {y, y, y};
    const double red = y + 255 * (2 - 2 * kr) * (stored[2] - middle) / chroma;
    const double blue = y + 255 * (2 - 2 * kb) * (stored[1] - middle) / chroma;
    Triple rgb = {red, (y - kr * red - kb * blue) / (1 - kr - kb), blue};
    for (double& c : rgb) c = std::clamp(c, 0.0, 255.0);
    return rgb;
  }
  std::string name() const {
    return std::string(name_of(layout.format)) + " matrix " +
           std::to_string(static_cast<int>(color.matrix)) + (color.full_range ? " full" : "");
  }
};

template <class Use>
void for_all_equations(Use use) {
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    for (const YuvMatrix matrix : {YuvMatrix::bt601, YuvMatrix::bt709, YuvMatrix::bt2020}) {
      for (const bool full : {true, false}) {
        const Equations equations(static_cast<PixelFormat>(f), {matrix, full});
        SCOPED_TRACE(equations.name());
        use(equations);
      }
    }
  }
}

// Corners of the cube of colours, its middle and unequal values.
constexpr double kLevels[] = {0, 1, 100, 180, 255};

template <class Use>
void for_all_colors(Use use) {
  for (const double red : kLevels) {
    for (const double green : kLevels) {
      for (const double blue : kLevels) use(Triple{red, green, blue});
    }
  }
}

TEST(Colors, RgbToSamples_EveryMatrixAndRange_EqualsTheItuEquations) {
  for_all_equations([](const Equations& equations) {
    const ColorEncoder encoder = encoder_of(equations.layout, equations.color);
    for_all_colors([&](const Triple& rgb) {
      int value[3];
      encoder.encode({static_cast<uint8_t>(rgb[0]), static_cast<uint8_t>(rgb[1]),
                      static_cast<uint8_t>(rgb[2])},
                     value);
      const Triple wanted = equations.stored(rgb);
      for (int c = 0; c < equations.layout.channels; ++c) {
        const double most = equations.layout.max_value();
        ASSERT_NEAR(value[c], std::clamp(wanted[static_cast<size_t>(c)], 0.0, most), 0.53)
            << "component " << c << " of " << rgb[0] << " " << rgb[1] << " " << rgb[2];
      }
    });
  });
}

// Stored values, including values that no colour has.
template <class Use>
void for_all_stored(const Equations& equations, Use use) {
  const int most = equations.layout.max_value();
  for (const double first : {0.0, 0.062, 0.07, 0.4, 0.9, 0.93, 1.0}) {
    for (const double second : {0.0, 0.3, 0.502, 1.0}) {
      for (const double third : {0.0, 0.502, 0.7, 1.0}) {
        use(std::array<int, 3>{static_cast<int>(first * most), static_cast<int>(second * most),
                               static_cast<int>(third * most)});
      }
    }
  }
}

TEST(Colors, SamplesToRgbAndLab_EveryMatrixAndRange_EqualTheItuEquations) {
  for_all_equations([](const Equations& equations) {
    const Layout& layout = equations.layout;
    const auto cutout = graphcutbg::decoder_of(layout, equations.color);
    const auto& tables = lab_tables();
    const PixelFormat bytes = layout.sample_bits == 8 ? layout.format
                              : equations.is_yuv()    ? PixelFormat::nv12
                                                      : PixelFormat::gray8;
    const Equations as_bytes(bytes, equations.color);
    GuardedFrame pixel(layout.format, {1, 1}, 0, equations.color);
    for_all_stored(equations, [&](const std::array<int, 3>& stored) {
      Triple exact = {}, eight_bits = {};  // superpixels ignore the low bits
      for (int c = 0; c < layout.channels; ++c) {
        const auto at = static_cast<size_t>(c);
        pixel.frame().set_sample(c, 0, 0, stored[at]);
        exact[at] = stored[at];
        eight_bits[at] = stored[at] >> (layout.sample_bits - 8);
      }
      const Triple wanted = equations.rgb(exact);
      int rgb[3];
      cutout.decode(std::as_const(pixel).frame(), 0, 0, rgb);
      const double near = layout.sample_bits == 16 ? 1.51 : 0.6;
      for (int c = 0; c < 3; ++c) {
        ASSERT_NEAR(rgb[c], wanted[static_cast<size_t>(c)], near)
            << c << " of a pixel of the cut-out";
      }
      const auto seen = [&](ColorSpace space) {
        return reader_of(layout, equations.color, space)
            .at(tables, std::as_const(pixel).frame(), 0, 0);
      };
      const Triple color = as_bytes.rgb(eight_bits);
      const uint32_t as_rgb = seen(ColorSpace::rgb);
      int level[3];
      for (int c = 0; c < 3; ++c) {
        level[c] = color_component(as_rgb, c) + 128;
        ASSERT_NEAR(level[c], color[static_cast<size_t>(c)], 0.6) << c << " of a superpixel";
      }
      ASSERT_EQ(seen(ColorSpace::lab), lab_of(tables, level[0], level[1], level[2]));
      const int luma =
          equations.is_yuv()
              ? stored[0] >> (layout.sample_bits - 8)
              : static_cast<int>(0.299 * level[0] + 0.587 * level[1] + 0.114 * level[2] + 0.5);
      ASSERT_NEAR(color_component(seen(ColorSpace::luma), 0) + 128, luma,
                  equations.is_yuv() ? 0 : 1);
      ASSERT_EQ(seen(ColorSpace::luma) >> 8, 0u);
    });
  });
}

TEST(Colors, MeanColor_EveryMatrixAndRange_EqualsTheItuEquations) {
  for_all_equations([](const Equations& equations) {
    for_all_stored(equations, [&](const std::array<int, 3>& stored) {
      Region region;
      region.area = 4;
      Triple mean = {};
      for (int c = 0; c < equations.layout.channels; ++c) {
        const auto at = static_cast<size_t>(c);
        region.sum_value[c] = 4 * static_cast<uint64_t>(stored[at]) + (stored[at] > 0 ? 0 : 3);
        mean[at] = static_cast<double>(region.sum_value[c]) / 4;
      }
      const MeanColor found = MeanColors(equations.layout, equations.color).of(region);
      const Triple wanted = equations.rgb(mean);
      ASSERT_NEAR(found.red, wanted[0], 1e-9);
      ASSERT_NEAR(found.green, wanted[1], 1e-9);
      ASSERT_NEAR(found.blue, wanted[2], 1e-9);
    });
  });
}

// The sums of the tables are rounded down three times, each by less than 2^-20 of white.
TEST(Colors, LabTables_EveryLevelOfOneRgbChannel_DifferFromCielabByRoundingOnly) {
  const auto linear = [](int level) {
    const double v = level / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  const auto f = [](double t) {
    return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  };
  for (int channel = 0; channel < 3; ++channel) {
    for (int level = 0; level < 256; ++level) {
      int rgb[3] = {};
      rgb[channel] = level;
      const LabTerms terms = lab_terms(lab_tables(), rgb[0], rgb[1], rgb[2]);
      const double r = linear(rgb[0]), g = linear(rgb[1]), b = linear(rgb[2]);
      const double x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047;
      const double y = 0.2126729 * r + 0.7151522 * g + 0.0721749 * b;
      const double z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883;
      // An index of the root is half a step off at most, and floors lose another little.
      const auto off = [&](double t) {
        return std::max(f(t + 0.52 / 8191) - f(t), f(t) - f(std::max(0.0, t - 0.52 / 8191))) + 1e-4;
      };
      const double lab[3] = {232 * f(y) - 132, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
      const double near[3] = {232 * off(y), 500 * (off(x) + off(y)), 200 * (off(y) + off(z))};
      for (int c = 0; c < 3; ++c) {
        const double found = (terms.component[c] - (1 << 15)) / 65536.0;
        ASSERT_NEAR(found, lab[c], near[c]) << channel << ", level " << level << ": " << c;
      }
    }
  }
}

TEST(Colors, MeanColor_SamplesOfAPrimaryColor_IsThatColor) {
  struct Case {
    PixelFormat format;
    Colorimetry color;
    int value[3];
    double red, green, blue;
  };
  // The primaries of BT.601 and BT.709 in limited range, from the tables of the Recommendations.
  for (const auto& [format, color, value, red, green, blue] :
       {Case{PixelFormat::rgb, {}, {10, 200, 30}, 10, 200, 30},
        {PixelFormat::bgra, {}, {10, 200, 30}, 10, 200, 30},
        {PixelFormat::gray8, {}, {99, 0, 0}, 99, 99, 99},
        {PixelFormat::gray16, {}, {65535, 0, 0}, 255, 255, 255},
        {PixelFormat::nv12, {YuvMatrix::bt601, false}, {81, 90, 240}, 255, 0, 0},
        {PixelFormat::i420, {YuvMatrix::bt601, false}, {145, 54, 34}, 0, 255, 0},
        {PixelFormat::yuy2, {YuvMatrix::bt709, false}, {63, 102, 240}, 255, 0, 0},
        {PixelFormat::p010, {YuvMatrix::bt709, false}, {127, 960, 471}, 0, 0, 255},
        {PixelFormat::nv12, {YuvMatrix::bt601, true}, {76, 85, 255}, 255, 0, 0},
        {PixelFormat::nv12, {YuvMatrix::bt2020, false}, {235, 128, 128}, 255, 255, 255}}) {
    Region region;
    region.area = 7;
    for (int c = 0; c < 3; ++c) region.sum_value[c] = static_cast<uint64_t>(value[c]) * 7;
    const MeanColor mean = MeanColors(layout_of(format), color).of(region);
    EXPECT_NEAR(mean.red, red, 2.5) << name_of(format);
    EXPECT_NEAR(mean.green, green, 2.5) << name_of(format);
    EXPECT_NEAR(mean.blue, blue, 2.5) << name_of(format);
  }
  const MeanColor none = MeanColors(layout_of(PixelFormat::rgb), {}).of({});
  EXPECT_EQ(none.red + none.green + none.blue, 0);
}

TEST(Colors, MeanLab_SumsOfOffsetValues_ReturnsCielabWithoutOffsets) {
  Region region;
  region.area = 8;
  Moments moments;
  moments.sum_lab[0] = 8 * 28 + 8 * 2 * 60;  // of 2 L - 100 + 128
  moments.sum_lab[1] = 8 * 128 - 20;
  moments.sum_lab[2] = 8 * 128 + 52;
  const MeanLab mean = mean_lab(region, moments);
  EXPECT_DOUBLE_EQ(mean.l, 60);
  EXPECT_DOUBLE_EQ(mean.a, -2.5);
  EXPECT_DOUBLE_EQ(mean.b, 6.5);
  region.area = 0;
  const MeanLab none = mean_lab(region, moments);
  EXPECT_EQ(none.l, 0);
  EXPECT_EQ(none.a, 0);
  EXPECT_EQ(none.b, 0);
  const Covariance nothing = covariance(region, moments);
  EXPECT_EQ(nothing.xx, 0);
  EXPECT_EQ(nothing.xy, 0);
  EXPECT_EQ(nothing.yy, 0);
}

}  // namespace
}  // namespace regions
