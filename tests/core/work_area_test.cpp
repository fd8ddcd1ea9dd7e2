// Work areas: the working picture and its regions, and resampling between pictures and working
// pictures, against plain loops over all pixels.
#include "core/work_area.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "cpu/resampling.hpp"
#include "tests/core/error_message.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr int kCases = 300;

// The cell that contains pixel x, found by walking through the cells.
int cell_by_walking(int x, int few, int many) {
  int cell = 0;
  while ((cell + 1) * static_cast<int64_t>(many) / few <= x) ++cell;
  return cell;
}

struct ResamplingCase {
  PixelFormat format = PixelFormat::gray8;
  WorkAreaParams params;
  WorkArea place;
  int padding = 0;
  int number = 0;

  explicit ResamplingCase(int n) : number(n) {
    uint32_t draw = 0;
    const auto below = [&](int end) {
      return static_cast<int>(hash(++draw, static_cast<uint32_t>(n), 77) %
                              static_cast<uint32_t>(end));
    };
    format = static_cast<PixelFormat>(below(kPixelFormats - 1));  // all but labels
    const Size size = {1 + below(70), 1 + below(50)};
    params.left = below(3) ? below(size.width) : 0;
    params.top = below(3) ? below(size.height) : 0;
    params.width = below(80);
    params.height = below(60);
    params.process_scale = below(3) ? 1.0 / 16 + below(1000) * 15.0 / 16 / 1000 : 1;
    padding = 2 * below(8);
    place = work_area_of(params, layout_of(format), size);
  }
  std::string name() const {
    return "case " + std::to_string(number) + ", " + std::string(name_of(format)) + ", " +
           std::to_string(place.area.width) + "x" + std::to_string(place.area.height) + " at " +
           std::to_string(place.left) + ", " + std::to_string(place.top) + " of " +
           std::to_string(place.picture.width) + "x" + std::to_string(place.picture.height) +
           " as " + std::to_string(place.work.width) + "x" + std::to_string(place.work.height);
  }
  // Noise in every component.
  GuardedFrame noise(Size size, uint32_t seed) const {
    GuardedFrame made(format, size, padding);
    const Frame frame = made.frame();
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        for (int c = 0; c < frame.layout.channels + frame.layout.alpha; ++c) {
          const uint32_t value = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                                      seed + static_cast<uint32_t>(c + 4 * number));
          frame.set_sample(c, x, y, static_cast<int>(value) & frame.layout.max_value());
        }
      }
    }
    return made;
  }
};

TEST(WorkArea, RectangleBetweenChromaSamples_IsExtendedToWholeSamples) {
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
}

TEST(WorkArea, Enlarge_RegionOfTheWorkingPicture_CoversItsPixelsInThePicture) {
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
      if (cell_by_walking(x, place.work.width, place.area.width) < region.left) continue;
      left = std::min(left, x + place.left);
      right = std::max(right, x + place.left);
    }
    for (int y = 0; y < place.area.height; ++y) {
      if (cell_by_walking(y, place.work.height, place.area.height) < region.top) continue;
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
    // Centres of pixels become centres of cells; sums are rounded.
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
    // reduce() is the inverse; it drops a region outside.
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

// Boxes at every position around the rectangle, and boxes that no picture has.
TEST(WorkArea, Reduce_BoxesOutsideTheAreaAreDroppedAndBoxesAcrossItsEdgeAreClipped) {
  const WorkArea place = {{60, 50}, 10, 20, {30, 24}, {10, 6}};  // scaled to a third and a fourth
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

TEST(WorkArea, Enlarge_EmptyRegion_StaysEmpty) {
  const WorkArea place = {{60, 50}, 10, 20, {30, 24}, {10, 6}};
  Region region;
  Moments moments;
  enlarge(place, {&region, 1}, {&moments, 1});
  EXPECT_EQ(region.area + region.sum_x + region.sum_y + region.sum_value[0], 0u);
  EXPECT_EQ(moments.sum_xx + moments.sum_xy + moments.sum_yy + moments.sum_lab[0], 0u);
}

TEST(WorkArea, ProcessScale_AnyRectangle_WorkingPictureSizeIsRounded) {
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

// The working picture has half the width and a third of the height.
TEST(WorkArea, Enlarge_Moments_MeanColorIsKeptAndCovarianceIsScaled) {
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

TEST(WorkArea, Reduce_PointInTheArea_MovesToItsPixelOfTheWorkingPicture) {
  const WorkArea place = {{50, 40}, 10, 4, {30, 20}, {10, 7}};
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 50; ++x) {
      int u = x, v = y;
      const bool inside = x >= 10 && x < 40 && y >= 4 && y < 24;
      ASSERT_EQ(reduce(place, u, v), inside) << x << ", " << y;
      if (!inside) continue;
      EXPECT_EQ(u, cell_by_walking(x - 10, 10, 30));
      EXPECT_EQ(v, cell_by_walking(y - 4, 7, 20));
    }
  }
}

TEST(WorkArea, RectangleOutsideThePicture_ErrorNamesItsEdge) {
  const Layout& gray = layout_of(PixelFormat::gray8);
  const auto answer = [&](int left, int top) {
    return error_message_of([&] { work_area_of({left, top, 0, 0, 1}, gray, {21, 13}); });
  };
  EXPECT_EQ(answer(20, 12), "");
  EXPECT_EQ(answer(21, 0),
            "settings: the rectangle's left edge is at 21; the picture ends at 21 pixels");
  EXPECT_EQ(answer(0, 14),
            "settings: the rectangle's upper edge is at 14; the picture ends at 13 pixels");
}

// A picture of one plane with random bytes.
GuardedFrame noisy_bytes(PixelFormat format, Size size) {
  GuardedFrame made(format, size);
  for (int y = 0; y < size.height; ++y) {
    std::byte* row = made.frame().plane[0] + y * made.frame().pitch[0];
    for (size_t x = 0; x < row_bytes(layout_of(format), 0, size); ++x) {
      row[x] = static_cast<std::byte>(hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y)));
    }
  }
  return made;
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

TEST(Resampling, CellOf_AnySizes_EachPixelIsInExactlyOneCell) {
  for (const auto& [few, many] :
       {std::pair{1, 1}, {1, 7}, {3, 7}, {7, 7}, {100, 333}, {4096, 65535}, {65535, 65535}}) {
    for (int x = 0; x < many; x += 1 + many / 500) {
      const int cell = cell_of(x, few, many);
      ASSERT_EQ(cell, cell_by_walking(x, few, many)) << x << " of " << few << "/" << many;
      ASSERT_LE(first_of(cell, few, many), x);
      ASSERT_GT(first_of(cell + 1, few, many), x);
    }
  }
}

TEST(Resampling, Shrink_AnyWorkArea_EachPixelIsTheMeanOfItsCell) {
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
          values[{cell_by_walking(i, few.columns, many.columns),
                  cell_by_walking(j, few.rows, many.rows)}]
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

// Rows with more bytes than are summed at once, and cells whose sums exceed 16 bits.
TEST(Resampling, Shrink_LongRowsAndHighCells_EachPixelIsTheMeanOfItsCell) {
  struct Case {
    Size whole, small;
  };
  for (const auto& [whole, size] : {Case{{5000, 9}, {313, 3}},
                                    {{4096, 5}, {4095, 2}},
                                    {{9001, 2}, {2, 1}},
                                    {{7, 1200}, {3, 4}},
                                    {{300, 300}, {1, 2}},
                                    {{5120, 20}, {512, 2}},  // even cells: pairs of columns
                                    {{4803, 6}, {1601, 3}},  // odd cells
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

TEST(Resampling, Pick_FromWorkingPictureToPicture_TakesTheNearestPixel) {
  for (int n = 0; n < kCases; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb,
                                     PixelFormat::rgba, PixelFormat::labels32}) {
      GuardedFrame small = noisy_bytes(format, place.work), whole(format, place.picture, 4);
      const Layout& layout = layout_of(format);
      const int bytes = layout.component[0].step;
      const auto byte_of = [&](const ConstFrame& frame, int x, int y, int b) {
        return static_cast<int>(frame.plane[0][y * frame.pitch[0] + x * bytes + b]);
      };
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
                    ? byte_of(small.frame(), cell_by_walking(u, place.work.width, place.area.width),
                              cell_by_walking(v, place.work.height, place.area.height), b)
                    : 0;
            ASSERT_EQ(byte_of(whole.frame(), x, y, b), wanted)
                << trial.name() << ": " << x << ", " << y;
          }
        }
      }
    }
  }
}

TEST(Resampling, Pick_MaskOfAnotherSize_TakesTheMaskPixelAtTheCentreOfEachPixel) {
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
        // In floating point, a centre on a border may belong to either pixel.
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

TEST(Resampling, TransferChanges_SomePixelsOfTheWorkingPictureDrawn_ChangesOnlyTheirPixels) {
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
            const int a = cell_by_walking(u, few.columns, many.columns);
            const int b = cell_by_walking(v, few.rows, many.rows);
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

// The backend's queue against the functions of the CPU.
using BackendResampling = BackendTest;
TEST_ON_BACKENDS(BackendResampling);

TEST_P(BackendResampling, RandomWorkAreas_ResampledPicturesEqualTheCpu) {
  std::vector<std::unique_ptr<DeviceFrame>> frames;
  const auto there = [&](GuardedFrame& host) {
    const ConstFrame from = std::as_const(host).frame();
    frames.push_back(std::make_unique<DeviceFrame>(*backend_, *queue_, from.layout.format,
                                                   from.size(), kToSixteen));
    frames.back()->upload(from);
    return frames.back()->frame();
  };
  const auto back = [&](const Frame& device, GuardedFrame& host) {
    queue_->copy(device, host.frame());
    finish();
  };
  const Workers workers(2);
  for (int n = 0; n < 200; ++n) {
    const ResamplingCase trial(n);
    const WorkArea& place = trial.place;
    GuardedFrame whole = trial.noise(place.picture, 1), small = trial.noise(place.work, 4);
    GuardedFrame before = trial.noise(place.work, 2), after = trial.noise(place.work, 3);
    GuardedFrame expected = trial.noise(place.work, 4), drawn = trial.noise(place.picture, 1);
    const Frame device_whole = there(whole), device_small = there(small);
    queue_->shrink(crop_to(device_whole, place), device_small);
    back(device_small, small);
    shrink(crop_to(whole.frame(), place), expected.frame(), workers);
    ASSERT_TRUE(small.same_pixels(expected)) << trial.name();

    queue_->transfer_changes(there(before), there(after), crop_to(device_whole, place), n % 2);
    back(device_whole, drawn);
    transfer_changes(before.frame(), after.frame(), crop_to(whole.frame(), place), n % 2, workers);
    ASSERT_TRUE(drawn.same_pixels(whole)) << trial.name();

    for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::rgb,
                                     PixelFormat::bgra, PixelFormat::labels32}) {
      GuardedFrame map = noisy_bytes(format, place.work), grown(format, place.picture),
                   wanted(format, place.picture);
      const PixelMapping picking = {
          mapping_to_picture(place.left, place.area.width, place.work.width),
          mapping_to_picture(place.top, place.area.height, place.work.height)};
      const Frame device_grown = there(grown);
      queue_->pick(there(map), device_grown, picking);
      back(device_grown, grown);
      pick(map.frame(), wanted.frame(), picking, workers);
      ASSERT_TRUE(grown.same_pixels(wanted)) << trial.name() << " " << name_of(format);
    }
    frames.clear();
  }
}

}  // namespace
}  // namespace regions
