// Where a working picture lies in its picture, and its regions as those of the picture.
#include "core/work_area.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/resampling_case.hpp"

namespace regions {
namespace {

TEST(WorkArea, LiesInThePictureOnWholeSamples) {
  const Layout& nv12 = layout_of(PixelFormat::nv12);
  const WorkArea odd = work_area_of({3, 5, 4, 2, 1}, nv12, {21, 13});
  EXPECT_EQ(odd.left, 2);
  EXPECT_EQ(odd.top, 4);
  EXPECT_EQ(odd.area.width, 6);   // 2..7 holds 3..6
  EXPECT_EQ(odd.area.height, 4);  // 4..7 holds 5..6
  const WorkArea gray = work_area_of({3, 5, 4, 2, 0.5}, layout_of(PixelFormat::gray8), {21, 13});
  EXPECT_EQ(gray.left, 3);
  EXPECT_TRUE(gray.work == (Size{2, 1}));
  EXPECT_TRUE(gray.is_scaled());
  const WorkArea whole = work_area_of({}, nv12, {21, 13});
  EXPECT_TRUE(whole.is_identity());
  EXPECT_TRUE(work_area_of({0, 0, 1000, 1000, 1}, nv12, {21, 13}).is_identity());
  EXPECT_TRUE(work_area_of({0, 0, 0, 0, 1.0 / 16}, nv12, {3, 3}).work == (Size{1, 1}));
  EXPECT_THROW(work_area_of({21, 0, 0, 0, 1}, nv12, {21, 13}), InputError);
  EXPECT_THROW(work_area_of({0, 13, 0, 0, 1}, nv12, {21, 13}), InputError);
}

TEST(WorkArea, RegionsGrowWithTheirPixels) {
  for (int n = 0; n < kCases; ++n) {
    const WorkArea place = ResamplingCase(n).place;
    // One region: a rectangle of the working picture.
    Region region;
    region.left = region.first_x = n % place.work.width;
    region.top = region.first_y = n % place.work.height;
    region.right = place.work.width - 1;
    region.bottom = place.work.height - 1;
    region.area = static_cast<uint64_t>(region.width()) * static_cast<uint64_t>(region.height());
    region.sum_x = region.area * static_cast<uint64_t>(region.left + region.right) / 2;
    region.sum_y = region.area * static_cast<uint64_t>(region.top + region.bottom) / 2;
    region.sum_value[1] = region.area * 200;
    // Its pixels in the picture.
    int left = 1 << 20, right = -1, top = 1 << 20, bottom = -1;
    for (int x = 0; x < place.area.width; ++x) {
      if (step_by_walking(x, place.work.width, place.area.width) < region.left) continue;
      left = std::min(left, x + place.left);
      right = std::max(right, x + place.left);
    }
    for (int y = 0; y < place.area.height; ++y) {
      if (step_by_walking(y, place.work.height, place.area.height) < region.top) continue;
      top = std::min(top, y + place.top);
      bottom = std::max(bottom, y + place.top);
    }
    Region grown = region;
    enlarge(place, {&grown, 1});
    EXPECT_EQ(grown.left, left);
    EXPECT_EQ(grown.top, top);
    EXPECT_EQ(grown.right, right);
    EXPECT_EQ(grown.bottom, bottom);
    EXPECT_EQ(grown.first_x, left);
    EXPECT_EQ(grown.first_y, top);
    EXPECT_NEAR(grown.mean(grown.sum_value[1]), 200, 200.0 / static_cast<double>(grown.area));
    const double across = static_cast<double>(place.area.width) / place.work.width,
                 down = static_cast<double>(place.area.height) / place.work.height;
    const auto area = static_cast<double>(grown.area);
    EXPECT_NEAR(area, static_cast<double>(region.area) * across * down, 0.51);
    // Middles of pixels go to middles of what they stand for; sums are rounded.
    const double x = place.left + (region.centroid_x() + 0.5) * across - 0.5,
                 y = place.top + (region.centroid_y() + 0.5) * down - 0.5;
    EXPECT_NEAR(grown.centroid_x(), std::max(0.0, x), 0.51 / area);
    EXPECT_NEAR(grown.centroid_y(), std::max(0.0, y), 0.51 / area);
    if (place.area.width % place.work.width == 0 && place.area.height % place.work.height == 0) {
      EXPECT_EQ(grown.area,
                static_cast<uint64_t>(right - left + 1) * static_cast<uint64_t>(bottom - top + 1));
      EXPECT_NEAR(grown.centroid_x(), (left + right) / 2.0, 1.0);
      EXPECT_NEAR(grown.centroid_y(), (top + bottom) / 2.0, 1.0);
    }
    // And back; a region outside goes.
    std::vector<Region> back = {grown};
    reduce(place, back);
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(back[0].left, region.left);
    EXPECT_EQ(back[0].top, region.top);
    EXPECT_EQ(back[0].right, region.right);
    EXPECT_EQ(back[0].bottom, region.bottom);
    EXPECT_EQ(back[0].first_x, region.first_x);
    EXPECT_EQ(back[0].first_y, region.first_y);
    if (place.left > 0) {
      std::vector<Region> outside(1);
      outside[0].right = place.left - 1;
      outside[0].bottom = place.picture.height - 1;
      reduce(place, outside);
      EXPECT_TRUE(outside.empty());
    }
  }
}

// Boxes at every place around the rectangle, and such as no picture has.
TEST(WorkArea, WhatLiesOutsideIsLeftOutOrCutOff) {
  const WorkArea place = {{60, 50}, 10, 20, {30, 24}, {10, 6}};  // a third and a fourth
  for (const int left : {INT32_MIN, 0, 9, 10, 11, 39, 40, 59, INT32_MAX}) {
    for (const int right : {INT32_MIN, 0, 9, 10, 11, 39, 40, 59, INT32_MAX}) {
      for (const int top : {INT32_MIN, 19, 20, 30, 43, 44, INT32_MAX}) {
        for (const int bottom : {INT32_MIN, 19, 20, 30, 43, 44, INT32_MAX}) {
          Region r;
          r.left = r.first_x = left;
          r.right = right;
          r.top = r.first_y = top;
          r.bottom = bottom;
          std::vector<Region> one = {r};
          reduce(place, one);
          const bool inside = right >= 10 && left < 40 && bottom >= 20 && top < 44;
          ASSERT_EQ(one.size(), inside ? 1u : 0u) << left << ".." << right << ", " << top;
          if (!inside) continue;
          const auto x = [](int at) { return (std::clamp(at, 10, 39) - 10) / 3; };
          const auto y = [](int at) { return (std::clamp(at, 20, 43) - 20) / 4; };
          ASSERT_EQ(one[0].left, x(left));
          ASSERT_EQ(one[0].right, x(right));
          ASSERT_EQ(one[0].first_x, x(left));
          ASSERT_EQ(one[0].top, y(top));
          ASSERT_EQ(one[0].bottom, y(bottom));
          ASSERT_EQ(one[0].first_y, y(top));
        }
      }
    }
  }
}

TEST(WorkArea, WithoutPixelsNothingGrows) {
  const WorkArea place = {{60, 50}, 10, 20, {30, 24}, {10, 6}};
  Region region;
  Moments moments;
  enlarge(place, {&region, 1}, {&moments, 1});
  EXPECT_EQ(region.area + region.sum_x + region.sum_y + region.sum_value[0], 0u);
  EXPECT_EQ(moments.sum_xx + moments.sum_xy + moments.sum_yy + moments.sum_lab[0], 0u);
}

TEST(WorkArea, SizesAreScaledAndRounded) {
  const auto work_of = [](int left, int top, int width, int height, double scale, Size picture) {
    return work_area_of({left, top, width, height, scale}, layout_of(PixelFormat::i420), picture);
  };
  const WorkArea half = work_of(3, 2, 9, 0, 0.5, {21, 13});
  EXPECT_EQ(half.left, 2);
  EXPECT_TRUE(half.area == (Size{10, 11}));  // 2..11 holds 3..11; to the lower side
  EXPECT_TRUE(half.work == (Size{5, 6}));    // 5.5 is rounded
  EXPECT_TRUE(half.picture == (Size{21, 13}));
  EXPECT_FALSE(half.is_identity());
  const WorkArea edge = work_of(11, 12, 9, 1, 1, {21, 13});
  EXPECT_TRUE(edge.area == (Size{10, 1}));  // 10..19 holds 11..19; the last row has no neighbour
  EXPECT_EQ(edge.top, 12);
  EXPECT_FALSE(edge.is_scaled());
  const WorkArea right = work_of(11, 0, 10, 0, 1, {21, 13});
  EXPECT_TRUE(right.area == (Size{11, 13}));  // 10..20 is all there is
  const WorkArea wide = work_area_of({3, 3, 5, 5, 1}, layout_of(PixelFormat::yuy2), {21, 13});
  EXPECT_EQ(wide.left, 2);
  EXPECT_EQ(wide.top, 3) << "chroma has all rows";
  EXPECT_TRUE(wide.area == (Size{6, 5}));
}

// A rectangle's moments in a working picture half as wide and a third as high, against the sums
// over the pixels of the picture.
TEST(WorkArea, MomentsKeepColoursAndSpread) {
  const WorkArea place = {{200, 300}, 20, 30, {120, 240}, {60, 80}};
  Region region;
  Moments moments;
  for (int y = 10; y < 40; ++y) {
    for (int x = 5; x < 30; ++x) {
      ++region.area;
      const auto u = static_cast<uint64_t>(x), v = static_cast<uint64_t>(y);
      region.sum_x += u;
      region.sum_y += v;
      moments.sum_xx += u * u;
      moments.sum_xy += u * v;
      moments.sum_yy += v * v;
      moments.sum_lab[0] += 100;
      moments.sum_lab[2] += u;
    }
  }
  const Covariance small = covariance(region, moments);
  const MeanLab before = mean_lab(region, moments);
  enlarge(place, {&region, 1}, {&moments, 1});
  const Covariance large = covariance(region, moments);
  EXPECT_EQ(region.area, 30u * 25 * 6);
  EXPECT_NEAR(large.xx, 4 * small.xx, 1e-3);
  EXPECT_NEAR(large.xy, 6 * small.xy, 1e-3);
  EXPECT_NEAR(large.yy, 9 * small.yy, 1e-3);
  const MeanLab after = mean_lab(region, moments);
  EXPECT_EQ(after.l, before.l);
  EXPECT_NEAR(after.b, before.b, 1e-3);
}

TEST(WorkArea, PointsGoToTheStepThatHoldsThem) {
  const WorkArea place = {{50, 40}, 10, 4, {30, 20}, {10, 7}};
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 50; ++x) {
      int u = x, v = y;
      const bool inside = x >= 10 && x < 40 && y >= 4 && y < 24;
      ASSERT_EQ(reduce(place, u, v), inside) << x << ", " << y;
      if (!inside) continue;
      EXPECT_EQ(u, step_by_walking(x - 10, 10, 30));
      EXPECT_EQ(v, step_by_walking(y - 4, 7, 20));
    }
  }
}

}  // namespace
}  // namespace regions
