// Mean colours, covariances and borders of superpixels where their values are known.
#include <gtest/gtest.h>

#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

// Two flat halves, red and blue, which one iteration leaves as they are: 24x16 and 40x16 pixels.
GuardedFrame halves(PixelFormat format = PixelFormat::rgb) {
  GuardedFrame picture(format, {64, 16}, 5);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 64; ++x) {
      picture.frame().set_sample(0, x, y, x < 24 ? 255 : 0);
      picture.frame().set_sample(1, x, y, 0);
      picture.frame().set_sample(2, x, y, x < 24 ? 0 : 255);
    }
  }
  return picture;
}

TEST(SlicDetails, OfRectanglesInEverySpace) {
  for (const ColorSpace space : {ColorSpace::lab, ColorSpace::rgb, ColorSpace::luma}) {
    SlicParams params;
    params.output = SlicOutput::none;
    params.region_size = 32;
    params.compactness = 0.1;
    params.color_space = space;
    const GuardedFrame picture = halves();
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

    // Of w places side by side: (w^2 - 1) / 12.
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

TEST(SlicDetails, CovarianceIsExactFarFromTheOrigin) {
  Region region;
  Moments moments;
  for (uint64_t x = 65533; x < 65536; ++x) {  // a diagonal
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

// As many borders as there can be are no more than there is room for: every size of picture, and
// pieces that nothing joins.
TEST(SlicDetails, BordersStayBelowThreeARegion) {
  for (const SlicCase& task : small_cases()) {
    const GuardedFrame picture = task.frame();
    const SlicResult result = run_slic_on_cpu(1, picture.frame(), task.params());
    EXPECT_LE(result.superpixels.borders.size(), max_borders(result.superpixels.regions.size()))
        << task.name();
    EXPECT_TRUE(result.intact);
  }
}

}  // namespace
}  // namespace regions
