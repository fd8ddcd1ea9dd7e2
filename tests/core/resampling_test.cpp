// Working pictures: what goes from pictures to them and back, against plain loops over all pixels.
#include "cpu/resampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/core/resampling_case.hpp"

namespace regions {
namespace {

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

TEST(Resampling, StepsCoverAllPlaces) {
  for (const auto& [few, many] :
       {std::pair{1, 1}, {1, 7}, {3, 7}, {7, 7}, {100, 333}, {4096, 65535}, {65535, 65535}}) {
    for (int x = 0; x < many; x += 1 + many / 500) {
      const int step = cell_of(x, few, many);
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
    shrink(crop_to(whole.frame(), place), small.frame(), Workers(2));
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

// Rows of more bytes than are summed at once, and steps of more rows than 16 bits hold the sum of.
TEST(Resampling, LongRowsAndHighStepsHoldMeans) {
  struct Case {
    Size whole, small;
  };
  for (const auto& [whole, size] : {Case{{5000, 9}, {313, 3}},
                                    {{4096, 5}, {4095, 2}},
                                    {{9001, 2}, {2, 1}},
                                    {{7, 1200}, {3, 4}},
                                    {{300, 300}, {1, 2}},
                                    {{5120, 20}, {512, 2}},  // even steps: pairs of columns
                                    {{4803, 6}, {1601, 3}},  // odd ones
                                    {{40, 256}, {4, 2}},     // the most rows of pairs
                                    {{40, 258}, {4, 2}}}) {
    for (int n = 0; n < kPixelFormats - 1; ++n) {
      const Layout& layout = layout_of(static_cast<PixelFormat>(n));
      GuardedFrame from(layout.format, whole, 6), small(layout.format, size, 4);
      for (int y = 0; y < whole.height; ++y) {
        for (int x = 0; x < whole.width; ++x) {
          for (int c = 0; c < layout.channels + layout.alpha; ++c) {
            const uint32_t noise =
                hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(c));
            from.frame().set_sample(c, x, y, layout.max_value() - static_cast<int>(noise % 40));
          }
        }
      }
      shrink(from.frame(), small.frame(), Workers(2));
      ASSERT_TRUE(small.intact()) << name_of(layout.format);
      for (int c = 0; c < layout.channels + layout.alpha; ++c) {
        const Grid few = grid_of(layout, c, size), many = grid_of(layout, c, whole);
        for (int j = 0; j < few.rows; ++j) {
          for (int i = 0; i < few.columns; ++i) {
            const PixelInterval x = pixels_of_cell(i, few.columns, many.columns);
            const PixelInterval y = pixels_of_cell(j, few.rows, many.rows);
            int64_t sum = 0;
            for (int v = y.first; v < y.end; ++v) {
              for (int u = x.first; u < x.end; ++u) sum += value_of(from.frame(), c, u, v);
            }
            const int64_t count = int64_t{x.end - x.first} * (y.end - y.first);
            ASSERT_EQ(value_of(small.frame(), c, i, j), (sum + count / 2) / count)
                << name_of(layout.format) << " " << c << ": " << i << ", " << j;
          }
        }
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
           {mapping_to_picture(place.left, place.area.width, place.work.width),
            mapping_to_picture(place.top, place.area.height, place.work.height)},
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
    pick(mask.frame(), small.frame(),
         {mapping_to_work_area(place.left, place.area.width, place.work.width, place.picture.width,
                               there.width),
          mapping_to_work_area(place.top, place.area.height, place.work.height,
                               place.picture.height, there.height)},
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
    transfer_changes(before.frame(), after.frame(), crop_to(whole.frame(), place), is_tint,
                     Workers(2));
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

}  // namespace
}  // namespace regions
