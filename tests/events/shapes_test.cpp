// Areas and lines: borders, holes, pixels and crossings.
#include "core/events/shapes.hpp"

#include <gtest/gtest.h>

#include <random>

namespace regions::events {
namespace {

const std::vector<Point> kSquare = {{10, 10}, {20, 10}, {20, 20}, {10, 20}};

TEST(Area, SharedEdge_BelongsToOneOfTheNeighbours) {
  const Area left({{{0, 0}, {10, 1}, {10, 9}, {0, 10}}});
  const Area right({{{10, 1}, {20, 0}, {20, 10}, {10, 9}}});
  for (double y = 1.5; y < 9; y += 0.25)
    EXPECT_NE(left.contains({10, y}), right.contains({10, y})) << y;
}

TEST(Area, RingInsideRing_IsAHole) {
  const Area area({kSquare, {{12, 12}, {18, 12}, {18, 18}, {12, 18}}});
  EXPECT_TRUE(area.contains({11, 15}));
  EXPECT_FALSE(area.contains({15, 15}));
  EXPECT_NEAR(area.distance_to_border({15, 14}), 2, 1e-12);
  EXPECT_FALSE(area.meets({13, 13, 17, 17}));
  EXPECT_TRUE(area.meets({11, 11, 17, 17}));
  EXPECT_TRUE(area.meets({0, 0, 99, 99}));
}

TEST(Area, Circle_ContainsItsBorder) {
  const Area area(Point{10, 10}, 5);
  EXPECT_TRUE(area.contains({13, 14}));
  EXPECT_FALSE(area.contains({13.1, 14}));
  EXPECT_TRUE(area.meets({14, 9, 30, 11}));
  EXPECT_FALSE(area.meets({14, 14, 30, 30}));
  EXPECT_NEAR(area.distance_to_border({10, 3}), 2, 1e-12);
}

TEST(Area, ThinBoxAcrossAnArea_MeetsIt) {
  EXPECT_TRUE(Area({kSquare}).meets({0, 14, 30, 15}));
  EXPECT_FALSE(Area({kSquare}).meets({0, 21, 30, 22}));
}

// The pixels of an area, counted by testing each centre.
uint64_t pixels_by_centre(const Area& area, Size size) {
  uint64_t count = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) count += area.contains({x + 0.5, y + 0.5});
  return count;
}

TEST(AreaPixels, RandomAreas_HaveThePixelsWhoseCentresAreInside) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> at(-20, 80);
  const Size size = {61, 47};
  std::vector<uint32_t> labels(size.area());
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<uint32_t>(i * 7 % 4);
  const ConstLabelMap map{labels.data(), size.width, size.height, size.width * 4};
  for (int i = 0; i < 200; ++i) {
    const Area area =
        i % 3 == 0
            ? Area(Point{at(random), at(random)}, 3 + i / 10.0)
            : Area(
                  {{{at(random), at(random)}, {at(random), at(random)}, {at(random), at(random)}}});
    const AreaPixels pixels(area, size);
    EXPECT_EQ(pixels.count(), pixels_by_centre(area, size));
    std::vector<uint32_t> by_label(4), by_run(4), expected(4);
    std::vector<PixelRun> runs;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        expected[map(x, y)] += area.contains({x + 0.5, y + 0.5});
        runs.push_back({map(x, y), static_cast<uint32_t>(x), static_cast<uint32_t>(y), 1});
      }
    }
    pixels.add_labels(map, by_label);
    pixels.add_runs(runs, by_run);
    EXPECT_EQ(by_label, expected);
    EXPECT_EQ(by_run, expected);
    EXPECT_EQ(pixels.count_foreground(map), pixels.count() - expected[0]);
  }
}

TEST(AreaPixels, LongRunsAndUnknownLabels_AreClipped) {
  const AreaPixels pixels(Area({kSquare}), {100, 100});
  const PixelRun runs[] = {{1, 0, 15, 100}, {1, 15, 15, 2},  {1, 0, 9, 100},
                           {1, 0, 20, 100}, {7, 0, 15, 100}, {1, 4000000000, 15, 4000000000}};
  std::vector<uint32_t> count(2);
  pixels.add_runs(runs, count);
  EXPECT_EQ(count[1], 12U);
}

TEST(AreaPixels, OutsideOfThePicture_HasNone) {
  EXPECT_EQ(AreaPixels(Area(Point{-50, -50}, 10), {20, 20}).count(), 0U);
  EXPECT_EQ(AreaPixels(Area(Point{50, 90}, 10), {20, 20}).count(), 0U);
}

TEST(Line, MoveAcross_CountsOnceAndWithItsDirection) {
  const std::vector<Point> line = {{0, 10}, {20, 10}};  // to the right; y points down
  EXPECT_EQ(crossings_of(line, {5, 5}, {5, 15}), 1);
  EXPECT_EQ(crossings_of(line, {5, 15}, {5, 5}), -1);
  EXPECT_EQ(crossings_of(line, {25, 5}, {25, 15}), 0);
  // A stop on the line does not count as a second crossing.
  EXPECT_EQ(crossings_of(line, {5, 5}, {5, 10}) + crossings_of(line, {5, 10}, {5, 15}), 1);
  EXPECT_EQ(crossings_of(line, {5, 5}, {5, 10}) + crossings_of(line, {5, 10}, {5, 5}), 0);
}

TEST(Line, MoveThroughACorner_CountsOnce) {
  const std::vector<Point> line = {{0, 10}, {10, 10}, {20, 14}};
  EXPECT_EQ(crossings_of(line, {10, 5}, {10, 15}), 1);
  EXPECT_EQ(crossings_of(line, {10, 15}, {10, 5}), -1);
}

TEST(Line, MoveThroughBothArmsOfAHook_IsNoCrossing) {
  const std::vector<Point> line = {{0, 0}, {10, 0}, {10, 10}, {0, 10}};
  EXPECT_EQ(crossings_of(line, {5, -5}, {5, 15}), 0);
  EXPECT_EQ(crossings_of(line, {5, -5}, {5, 5}), 1);
}

}  // namespace
}  // namespace regions::events
