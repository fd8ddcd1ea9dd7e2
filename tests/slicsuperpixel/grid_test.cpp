// The grid of cells against an exhaustive search, and scales of distances against the formula in
// the documentation of SlicScale.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/slicsuperpixel/clusters.hpp"
#include "core/slicsuperpixel/fragments.hpp"

namespace regions {
namespace {

int cells_along(int pixels, int side) { return (pixels + side - 1) / side; }

// The deviation of cells of w x h pixels from square cells and from 0.94 times the requested
// number.
double deviation_of(Size size, int wanted, int w, int h) {
  const double cells = 1.0 * cells_along(size.width, w) * cells_along(size.height, h);
  return (cells < 0.9 * wanted ? 0.1 : 0) + std::abs(std::log(cells / (0.94 * wanted))) +
         0.1 * std::abs(std::log(1.0 * w / h));
}

TEST(SlicGrid, RegionSizeGiven_GridHasCellsOfThisSideThatCoverThePicture) {
  for (const Size size : {Size{1, 1}, {100, 40}, {101, 39}, {65535, 3}}) {
    for (const int side : {2, 3, 50, 512}) {
      SlicParams params;
      params.region_size = side;
      const SlicGrid wanted = {size, side, side, cells_along(size.width, side),
                               cells_along(size.height, side)};
      EXPECT_EQ(grid_of(size, params), wanted);
    }
    SlicParams least;
    least.region_size = 2;
    EXPECT_EQ(max_cells(size), grid_of(size, least).cells());
  }
}

// The search tries few cell sizes, but its result is almost as good as the best one.
TEST(SlicGrid, RequestedNumber_CellCountIsNearlyAsCloseAsInTheBestGrid) {
  for (const Size size : {Size{481, 321}, {321, 481}, {100, 100}, {1920, 1080}}) {
    for (const int wanted : {7, 20, 37, 100, 330, 1000, 5000}) {
      SlicParams params;
      params.superpixels = wanted;
      const SlicGrid grid = grid_of(size, params);
      EXPECT_TRUE(grid.size == size);
      EXPECT_EQ(grid.columns, cells_along(size.width, grid.width));
      EXPECT_EQ(grid.rows, cells_along(size.height, grid.height));
      if (size.area() / static_cast<size_t>(wanted) > 400 * 400) continue;
      double least = 1e9;
      for (int w = 2; w <= 512; ++w) {
        for (int h = 2; h <= 512; ++h) least = std::min(least, deviation_of(size, wanted, w, h));
      }
      EXPECT_LT(deviation_of(size, wanted, grid.width, grid.height), least + 0.04)
          << wanted << " of " << size.width << "x" << size.height;
    }
  }
}

// Other cells would change the labels of existing applications.
TEST(SlicGrid, RequestedNumber_GridEqualsThatOfEarlierReleases) {
  struct Case {
    Size size;
    int wanted, width, height;
  };
  for (const auto& [size, wanted, width, height] : {Case{{481, 321}, 1, 481, 321},
                                                    {{481, 321}, 20, 81, 107},
                                                    {{481, 321}, 100, 41, 41},
                                                    {{481, 321}, 5000, 8, 4},
                                                    {{321, 481}, 3, 321, 161},
                                                    {{321, 481}, 37, 65, 69},
                                                    {{1920, 1080}, 1, 480, 360},
                                                    {{1920, 1080}, 20, 320, 360},
                                                    {{1920, 1080}, 1000, 47, 47},
                                                    {{97, 13}, 3, 33, 13},
                                                    {{97, 13}, 37, 6, 7},
                                                    {{97, 13}, 1 << 24, 2, 2},
                                                    {{640, 31}, 20, 34, 31},
                                                    {{5, 7}, 2, 5, 4},
                                                    {{1, 1}, 1, 2, 2}}) {
    SlicParams params;
    params.superpixels = wanted;
    const SlicGrid grid = grid_of(size, params);
    EXPECT_TRUE(grid.width == width && grid.height == height)
        << wanted << " of " << size.width << "x" << size.height << ": " << grid.width << "x"
        << grid.height;
  }
}

TEST(SlicScales, AnyParameters_DistanceScalesEqualTheFormula) {
  for (const auto& [width, height] : {std::pair{2, 2}, {16, 16}, {8, 20}, {20, 8}, {512, 512}}) {
    for (const double compactness : {0.0, 0.5, 8.0, 40.0, 1000.0}) {
      for (const ColorSpace space : {ColorSpace::lab, ColorSpace::rgb, ColorSpace::luma}) {
        for (const SlicVariant variant : {SlicVariant::slic, SlicVariant::slico}) {
          SlicParams params;
          params.compactness = compactness;
          params.color_space = space;
          params.variant = variant;
          const SlicScale found = scale_of({{1000, 1000}, width, height, 5, 5}, params);
          const bool adapts = variant == SlicVariant::slico;
          // compactness^2 / cell area. SLICO uses a factor of 40 and one distance per cluster.
          const double place = std::pow(adapts ? 40 : compactness, 2) / (width * height);
          // The largest scale for which slopes and scores do not overflow within 2.5 cells, at
          // most 8.
          const double side = std::max(width, height);
          double scale = 8;
          if (place > 0) {
            scale = std::min(
                scale, std::min(2047 / (2.5 * side * 2 * place), 22000 / (side * side * place)));
          }
          const double near = 1e-6;                    // rounding of floats
          const double distance = 16 * scale * place;  // distance of one squared pixel
          EXPECT_NEAR(found.curvature * 256, distance, near * distance);
          EXPECT_NEAR(found.slope * 16, 2 * distance, near * distance);
          for (int c = 0; c < 3; ++c) {
            // 2 L and levels up to 255 have half the size of Lab units.
            const double weight = space == ColorSpace::lab && c > 0 ? 1 : 0.25;
            EXPECT_EQ(found.weight[c], 4 * weight);
            const double coefficient = 2 * scale * weight;  // for a mean of 1
            EXPECT_NEAR(found.gain[c] * 16, coefficient, near * coefficient);
            EXPECT_NEAR(found.square[c] * coefficient * coefficient, 16 * scale * weight,
                        1e-5 * scale);
          }
          const double first = std::max(compactness, 1.0);
          EXPECT_EQ(found.initial_max_distance,
                    adapts ? static_cast<uint32_t>(64 * first * first) : 0);
          EXPECT_NEAR(found.adaptive, adapts ? scale * 1600 : 0, near * scale * 1600);
        }
      }
    }
  }
}

TEST(SlicScales, ToleranceAndMinSize_AreConvertedToFixedPointUnits) {
  const SlicGrid grid = {{100, 60}, 20, 15, 5, 4};
  SlicParams params;
  params.tolerance = 0;
  EXPECT_EQ(movement_tolerance(grid, params), 0u);
  params.tolerance = 0.75;  // pixels, stored in sixteenths, for 20 cells
  EXPECT_EQ(movement_tolerance(grid, params), 240u);
  params.min_size = 0;
  EXPECT_EQ(retention_rule(grid, params).min_size, 0u);
  params.min_size = 0.25;
  EXPECT_EQ(retention_rule(grid, params).min_size, 75u);
  params.min_size = 0.005;
  EXPECT_EQ(retention_rule(grid, params).min_size, 2u) << "1.5 is rounded";
  EXPECT_EQ(retention_rule(grid, params).superpixels, 0u);
  params.superpixels = 19;
  EXPECT_EQ(retention_rule(grid, params).superpixels, 19u);
  EXPECT_EQ(retention_rule(grid, params).min_size, 1u) << "0.4 * 1.5 is 0.6";
  EXPECT_EQ(retention_rule(grid, params).certain, Fragment::kRetained) << "20 cells";
  params.superpixels = 20;
  EXPECT_EQ(retention_rule(grid, params).certain, 300u) << "a cell";
  params.min_size = 0;
  EXPECT_EQ(retention_rule(grid, params).superpixels, 0u) << "min-size=0 keeps all fragments";
}

}  // namespace
}  // namespace regions
