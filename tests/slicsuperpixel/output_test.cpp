// Output pictures against the labels, and mean colours, covariances and borders of known pictures.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

const SlicCase kScene = {"scene", {203, 117}, {"region-size=12"}};

TEST(SlicOutput, OutputLabels_PixelsAreTheLabels) {
  const GuardedFrame picture = kScene.frame();
  SlicParams params = kScene.params();
  params.output = SlicOutput::labels;
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
    if (format == PixelFormat::gray8) params.region_size = 30;
    const SlicResult result =
        run_slic_on_cpu(2, picture.frame(), params, {.out = format, .padding = 4});
    EXPECT_TRUE(result.intact);
    size_t wrong = 0, at = 0;
    for (int y = 0; y < kScene.size.height; ++y) {
      for (int x = 0; x < kScene.size.width; ++x) {
        uint32_t label = 0;
        std::memcpy(&label, result.out->frame().at(0, x, y), layout_of(format).sample_bytes);
        wrong += label != result.superpixels.labels[at++];
      }
    }
    EXPECT_EQ(wrong, 0u) << name_of(format);
    params.region_size = 12;
  }
}

TEST(SlicOutput, OutputBoundaries_LinesSeparateDifferentLabels) {
  const GuardedFrame picture = kScene.frame();
  SlicParams params = kScene.params();
  params.output = SlicOutput::boundaries;
  const SlicResult result =
      run_slic_on_cpu(2, picture.frame(), params, {.out = PixelFormat::gray8, .padding = 3});
  EXPECT_TRUE(result.intact);
  const auto label = [&](int x, int y) {
    return result.superpixels.labels[static_cast<size_t>(y * kScene.size.width + x)];
  };
  size_t wrong = 0;
  for (int y = 0; y < kScene.size.height; ++y) {
    for (int x = 0; x < kScene.size.width; ++x) {
      const bool edge =
          (x > 0 && label(x, y) != label(x - 1, y)) || (y > 0 && label(x, y) != label(x, y - 1));
      wrong += result.out->frame().sample(0, x, y) != (edge ? 255 : 0);
    }
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(SlicOutput, OutputMean_PixelsHaveTheMeanOfTheirSuperpixel) {
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::nv12, PixelFormat::i420,
                                   PixelFormat::p010, PixelFormat::yuy2, PixelFormat::bgra}) {
    SlicCase task = kScene;
    task.format = format;
    const GuardedFrame picture = task.frame();
    SlicParams params = task.params();
    params.output = SlicOutput::mean;
    const SlicResult result = run_slic_on_cpu(2, picture.frame(), params, {.out = format});
    EXPECT_TRUE(result.intact);
    const ConstFrame out = std::as_const(*result.out).frame();
    size_t wrong = 0;
    for (int y = 0; y < task.size.height; ++y) {
      for (int x = 0; x < task.size.width; ++x) {
        for (int c = 0; c < out.layout.channels; ++c) {
          const Component& k = out.layout.component[c];
          const int sx = x >> k.x_shift << k.x_shift, sy = y >> k.y_shift << k.y_shift;
          const uint32_t label =
              result.superpixels.labels[static_cast<size_t>(sy * task.size.width + sx)];
          const Region& r = result.superpixels.regions[label - 1];
          const double mean = static_cast<double>(r.sum_value[c]) / static_cast<double>(r.area);
          wrong += out.sample(c, x, y) != static_cast<int>(mean + 0.5);
        }
      }
    }
    EXPECT_EQ(wrong, 0u) << name_of(format);
  }
}

TEST(SlicOutput, LabelPictureAsInput_IsRefused) {
  const GuardedFrame labels(PixelFormat::labels32, {16, 16});
  EXPECT_THROW(run_slic_on_cpu(1, labels.frame(), {}), InputError);
}

// Two flat rectangles that become two superpixels: 24x16 red pixels and 40x16 blue pixels.
GuardedFrame two_rectangles() {
  GuardedFrame picture(PixelFormat::rgb, {64, 16}, 5);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 64; ++x) {
      picture.frame().set_sample(0, x, y, x < 24 ? 255 : 0);
      picture.frame().set_sample(1, x, y, 0);
      picture.frame().set_sample(2, x, y, x < 24 ? 0 : 255);
    }
  }
  return picture;
}

TEST(SlicDetails, TwoRectangles_ColorCovarianceAndBorderEqualComputedValues) {
  for (const ColorSpace space : {ColorSpace::lab, ColorSpace::rgb, ColorSpace::luma}) {
    SlicParams params;
    params.output = SlicOutput::none;
    params.region_size = 32;
    params.compactness = 0.1;
    params.color_space = space;
    const GuardedFrame picture = two_rectangles();
    const Superpixels found = run_slic_on_cpu(1, picture.frame(), params).superpixels;
    ASSERT_EQ(found.regions.size(), 2u);
    ASSERT_EQ(found.regions[0].area, 24u * 16);

    // CIE: sRGB red is L 53.24, a 80.09, b 67.20; blue is 32.30, 79.19, -107.86.
    const MeanLab red = mean_lab(found.regions[0], found.moments[0]);
    EXPECT_NEAR(red.l, 53.24, 0.3);
    EXPECT_NEAR(red.a, 80.09, 0.6);
    EXPECT_NEAR(red.b, 67.20, 0.6);
    const MeanLab blue = mean_lab(found.regions[1], found.moments[1]);
    EXPECT_NEAR(blue.l, 32.30, 0.3);
    EXPECT_NEAR(blue.a, 79.19, 0.6);
    EXPECT_NEAR(blue.b, -107.86, 0.6);

    // The variance of w consecutive positions is (w^2 - 1) / 12.
    const Covariance spread = covariance(found.regions[1], found.moments[1]);
    EXPECT_DOUBLE_EQ(spread.xx, (40 * 40 - 1) / 12.0);
    EXPECT_DOUBLE_EQ(spread.xy, 0);
    EXPECT_DOUBLE_EQ(spread.yy, (16 * 16 - 1) / 12.0);

    ASSERT_EQ(found.borders.size(), 1u);
    EXPECT_EQ(found.borders[0].first, 1u);
    EXPECT_EQ(found.borders[0].second, 2u);
    EXPECT_EQ(found.borders[0].length, 16u);
  }
}

TEST(SlicDetails, CovarianceFarFromOrigin_IsExact) {
  Region region;
  Moments moments;
  for (uint64_t x = 65533; x < 65536; ++x) {  // pixels of a diagonal
    const uint64_t y = x - 3;
    ++region.area;
    region.sum_x += x;
    region.sum_y += y;
    moments.sum_xx += x * x;
    moments.sum_xy += x * y;
    moments.sum_yy += y * y;
  }
  const Covariance spread = covariance(region, moments);
  EXPECT_DOUBLE_EQ(spread.xx, 2 / 3.0);
  EXPECT_DOUBLE_EQ(spread.xy, 2 / 3.0);
  EXPECT_DOUBLE_EQ(spread.yy, 2 / 3.0);
}

}  // namespace
}  // namespace regions
