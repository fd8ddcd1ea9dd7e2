// Working pictures: how they lie in their pictures, and what goes from one to the other, against
// plain loops over all pixels.
#include "cpu/resampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/core/resampling_case.hpp"

namespace regions {
namespace {

constexpr int kCases = 300;

// The step of place x, by walking: a step ends where the share of all places is used up.
int step_by_walking(int x, int few, int many) {
  int step = 0;
  while ((step + 1) * static_cast<int64_t>(many) / few <= x) ++step;
  return step;
}

struct Grid {
  int columns, rows;
};
Grid grid_of(const Layout& layout, int c, Size size) {
  const int across = 1 << layout.component[c].x_shift, down = 1 << layout.component[c].y_shift;
  return {(size.width + across - 1) / across, (size.height + down - 1) / down};
}
int value_of(const ConstFrame& frame, int c, int i, int j) {
  return frame.sample(c, i << frame.layout.component[c].x_shift,
                      j << frame.layout.component[c].y_shift);
}

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
  EXPECT_TRUE(whole.is_whole());
  EXPECT_TRUE(work_area_of({0, 0, 1000, 1000, 1}, nv12, {21, 13}).is_whole());
  EXPECT_TRUE(work_area_of({0, 0, 0, 0, 1.0 / 16}, nv12, {3, 3}).work == (Size{1, 1}));
  EXPECT_THROW(work_area_of({21, 0, 0, 0, 1}, nv12, {21, 13}), InputError);
  EXPECT_THROW(work_area_of({0, 13, 0, 0, 1}, nv12, {21, 13}), InputError);
}

TEST(Resampling, StepsCoverAllPlaces) {
  for (const auto& [few, many] :
       {std::pair{1, 1}, {1, 7}, {3, 7}, {7, 7}, {100, 333}, {4096, 65535}, {65535, 65535}}) {
    for (int x = 0; x < many; x += 1 + many / 500) {
      const int step = step_of(x, few, many);
      ASSERT_EQ(step, step_by_walking(x, few, many)) << x << " of " << few << "/" << many;
      ASSERT_LE(first_of(step, few, many), x);
      ASSERT_GT(first_of(step + 1, few, many), x);
    }
  }
}

TEST(Resampling, SmallerPicturesHoldMeans) {
  for (int n = 0; n < kCases; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    const GuardedFrame whole = trial.noise(place.picture, 1);
    GuardedFrame small(trial.format, place.work, trial.padding);
    shrink(part_of(whole.frame(), place), small.frame(), Workers(2));
    ASSERT_TRUE(small.intact()) << trial.name();
    const Layout& layout = layout_of(trial.format);
    for (int c = 0; c < layout.channels + layout.alpha; ++c) {
      const Component& k = layout.component[c];
      const Grid few = grid_of(layout, c, place.work), many = grid_of(layout, c, place.area);
      std::map<std::pair<int, int>, std::vector<int>> values;
      for (int j = 0; j < many.rows; ++j) {
        for (int i = 0; i < many.columns; ++i) {
          values[{step_by_walking(i, few.columns, many.columns),
                  step_by_walking(j, few.rows, many.rows)}]
              .push_back(value_of(whole.frame(), c, i + (place.left >> k.x_shift),
                                  j + (place.top >> k.y_shift)));
        }
      }
      ASSERT_EQ(values.size(), static_cast<size_t>(few.columns) * static_cast<size_t>(few.rows));
      for (const auto& [at, all] : values) {
        double sum = 0;
        for (const int v : all) sum += v;
        const auto mean = static_cast<int>(std::floor(sum / static_cast<double>(all.size()) + 0.5));
        ASSERT_EQ(value_of(small.frame(), c, at.first, at.second), mean) << trial.name();
      }
    }
  }
}

TEST(Resampling, MapsGrowByNearestPixels) {
  for (int n = 0; n < kCases; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb,
                                     PixelFormat::rgba, PixelFormat::labels32}) {
      GuardedFrame small(format, place.work), whole(format, place.picture, 4);
      const Layout& layout = layout_of(format);
      const int bytes = layout.component[0].step;
      const auto byte_of = [&](const ConstFrame& frame, int x, int y, int b) {
        return static_cast<int>(frame.plane[0][y * frame.pitch[0] + x * bytes + b]);
      };
      for (int y = 0; y < place.work.height; ++y) {
        for (int x = 0; x < place.work.width * bytes; ++x) {
          small.frame().plane[0][y * small.frame().pitch[0] + x] =
              static_cast<std::byte>(hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y)));
        }
      }
      pick(small.frame(), whole.frame(),
           {enlarging(place.left, place.area.width, place.work.width),
            enlarging(place.top, place.area.height, place.work.height)},
           Workers(2));
      ASSERT_TRUE(whole.intact()) << trial.name();
      for (int y = 0; y < place.picture.height; ++y) {
        for (int x = 0; x < place.picture.width; ++x) {
          const int u = x - place.left, v = y - place.top;
          const bool inside = u >= 0 && v >= 0 && u < place.area.width && v < place.area.height;
          for (int b = 0; b < bytes; ++b) {
            const int wanted =
                inside
                    ? byte_of(small.frame(), step_by_walking(u, place.work.width, place.area.width),
                              step_by_walking(v, place.work.height, place.area.height), b)
                    : 0;
            ASSERT_EQ(byte_of(whole.frame(), x, y, b), wanted)
                << trial.name() << ": " << x << ", " << y;
          }
        }
      }
    }
  }
}

TEST(Resampling, MasksOfOtherSizesAreTakenAtMiddles) {
  for (int n = 0; n < kCases; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    const Size there = {1 + n % 90, 1 + n % 61};
    GuardedFrame mask(PixelFormat::gray8, there), small(PixelFormat::gray8, place.work);
    for (int y = 0; y < there.height; ++y) {
      for (int x = 0; x < there.width; ++x)
        mask.frame().set_sample(0, x, y, (x * 7 + y * 31) & 255);
    }
    pick(
        mask.frame(), small.frame(),
        {reducing(place.left, place.area.width, place.work.width, place.picture.width, there.width),
         reducing(place.top, place.area.height, place.work.height, place.picture.height,
                  there.height)},
        Workers(1));
    ASSERT_TRUE(small.intact());
    for (int y = 0; y < place.work.height; ++y) {
      for (int x = 0; x < place.work.width; ++x) {
        const double u = (place.left + (x + 0.5) * place.area.width / place.work.width) *
                         there.width / place.picture.width;
        const double v = (place.top + (y + 0.5) * place.area.height / place.work.height) *
                         there.height / place.picture.height;
        // A middle on a border may fall either way in floating point.
        std::set<int> wanted;
        for (const double du : {-1e-9, 1e-9}) {
          for (const double dv : {-1e-9, 1e-9}) {
            const int i = std::min(static_cast<int>(std::max(0.0, u + du)), there.width - 1);
            const int j = std::min(static_cast<int>(std::max(0.0, v + dv)), there.height - 1);
            wanted.insert((i * 7 + j * 31) & 255);
          }
        }
        ASSERT_TRUE(wanted.contains(small.frame().sample(0, x, y))) << trial.name();
      }
    }
  }
}

TEST(Resampling, ChangesGoToThePictureAndNothingElseDoes) {
  for (int n = 0; n < kCases; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    const bool is_tint = n % 2;
    GuardedFrame whole = trial.noise(place.picture, 1);
    const GuardedFrame untouched = trial.noise(place.picture, 1);
    const GuardedFrame before = trial.noise(place.work, 2);
    GuardedFrame after = trial.noise(place.work, 2);
    const Layout& layout = layout_of(trial.format);
    for (int y = 0; y < place.work.height; y += 2) {
      after.frame().set_sample(0, y % place.work.width, y, layout.max_value() / 3);
    }
    carry_over(before.frame(), after.frame(), part_of(whole.frame(), place), is_tint, Workers(2));
    ASSERT_TRUE(whole.intact()) << trial.name();
    for (int c = 0; c < layout.channels + layout.alpha; ++c) {
      const Component& k = layout.component[c];
      const Grid all = grid_of(layout, c, place.picture), many = grid_of(layout, c, place.area),
                 few = grid_of(layout, c, place.work);
      for (int j = 0; j < all.rows; ++j) {
        for (int i = 0; i < all.columns; ++i) {
          const int u = i - (place.left >> k.x_shift), v = j - (place.top >> k.y_shift);
          int wanted = value_of(untouched.frame(), c, i, j);
          if (u >= 0 && v >= 0 && u < many.columns && v < many.rows) {
            const int a = step_by_walking(u, few.columns, many.columns);
            const int b = step_by_walking(v, few.rows, many.rows);
            const int change = value_of(after.frame(), c, a, b) - value_of(before.frame(), c, a, b);
            if (is_tint) {
              wanted = std::clamp(wanted + change, 0, layout.max_value());
            } else if (change != 0) {
              wanted = value_of(after.frame(), c, a, b);
            }
          }
          ASSERT_EQ(value_of(whole.frame(), c, i, j), wanted) << trial.name();
        }
      }
    }
  }
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
    EXPECT_EQ(back[0].bottom, region.bottom);
    if (place.left > 0) {
      std::vector<Region> outside(1);
      outside[0].right = place.left - 1;
      outside[0].bottom = place.picture.height - 1;
      reduce(place, outside);
      EXPECT_TRUE(outside.empty());
    }
  }
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
