// PixelCounts: the shares of objects inside zones, and of zones that are foreground.
#include "core/events/pixel_counts.hpp"

#include <gtest/gtest.h>

namespace regions::events {
namespace {

constexpr Size kPicture = {20, 10};
constexpr double kNone = -1;  // foreground that was not measured

// The right half of the picture counts pixels. The second zone does not need them.
Rules right_half() {
  return rules_for(parse_rules(R"([
    {"id": "right", "points": [[10, 0], [20, 0], [20, 10], [10, 10]], "anchor": "area"},
    {"id": "box", "points": [[0, 0], [5, 0], [5, 5]]}])"),
                   kPicture);
}

// A label map in which the rows of each label are one run: label, first column, end.
struct Bar {
  uint32_t label;
  int row, first, end;
};
std::vector<uint32_t> map_of(const std::vector<Bar>& bars, Size size) {
  std::vector<uint32_t> labels(size.area());
  for (const Bar& bar : bars) {
    for (int x = bar.first; x < bar.end; ++x)
      labels[static_cast<size_t>(bar.row * size.width + x)] = bar.label;
  }
  return labels;
}
ConstLabelMap view_of(const std::vector<uint32_t>& labels, Size size) {
  return {labels.data(), size.width, size.height, static_cast<ptrdiff_t>(size.width) * 4};
}
std::vector<Object> objects_with(const std::vector<uint32_t>& ids) {
  std::vector<Object> objects;
  for (const uint32_t id : ids) objects.emplace_back().id = id;
  return objects;
}

const std::vector<Bar> kBars = {{1, 2, 8, 12}, {2, 4, 12, 20}, {3, 6, 0, 5}};

TEST(PixelCounts, LabelMap_SharesArePixelsInsideTheZone) {
  PixelCounts counts;
  const auto labels = map_of(kBars, kPicture);
  counts.count_labels(right_half(), view_of(labels, kPicture), objects_with({2, 1, 3}),
                      std::vector<double>{8, 4, 5});
  ASSERT_EQ(counts.shares().size(), 2U);
  EXPECT_EQ(counts.shares()[0], (std::vector<double>{1, 0.5, 0}));
  EXPECT_TRUE(counts.shares()[1].empty());
  EXPECT_EQ(counts.foreground()[0], 10 / 100.0);
  EXPECT_EQ(counts.foreground()[1], kNone);
}

TEST(PixelCounts, Runs_EqualTheLabelMap) {
  PixelCounts counts;
  std::vector<PixelRun> runs;
  for (const Bar& bar : kBars) {
    runs.push_back({bar.label, static_cast<uint32_t>(bar.first), static_cast<uint32_t>(bar.row),
                    static_cast<uint32_t>(bar.end - bar.first)});
  }
  counts.count_runs(right_half(), kPicture, runs, objects_with({2, 1, 3}));
  EXPECT_EQ(counts.shares()[0], (std::vector<double>{1, 0.5, 0}));
  EXPECT_EQ(counts.foreground()[0], 10 / 100.0);
}

TEST(PixelCounts, Mask_HasForegroundAndNoShares) {
  PixelCounts counts;
  std::vector<uint8_t> mask(kPicture.area());
  std::fill_n(mask.begin(), 20, 255);
  counts.count_mask(right_half(), {mask.data(), kPicture.width, kPicture.height, kPicture.width});
  EXPECT_TRUE(counts.shares()[0].empty());
  EXPECT_EQ(counts.foreground()[0], 0.1);
}

TEST(PixelCounts, MapOfAnotherSize_ZonesAreScaled) {
  PixelCounts counts;
  constexpr Size kSmall = {10, 5};
  const auto labels = map_of({{1, 0, 4, 6}}, kSmall);
  counts.count_labels(right_half(), view_of(labels, kSmall), objects_with({1}),
                      std::vector<double>{2});
  EXPECT_EQ(counts.shares()[0], (std::vector<double>{0.5}));
  EXPECT_EQ(counts.foreground()[0], 1 / 25.0);
}

TEST(PixelCounts, UnknownAndHugeIds_HaveNoShare) {
  PixelCounts counts;
  const auto labels = map_of({{UINT32_MAX, 0, 10, 20}, {7, 1, 10, 20}}, kPicture);
  const auto objects = objects_with({UINT32_MAX, 5, 0});
  counts.count_labels(right_half(), view_of(labels, kPicture), objects,
                      std::vector<double>{0, 3, 0});
  EXPECT_EQ(counts.shares()[0], (std::vector<double>{0, 0, 0}));
  const std::vector<PixelRun> runs = {{UINT32_MAX, 10, 0, 10}, {5, UINT32_MAX, 1, UINT32_MAX}};
  counts.count_runs(right_half(), kPicture, runs, objects);
  EXPECT_EQ(counts.shares()[0], (std::vector<double>{0, 0, 0}));
}

TEST(PixelCounts, ClearedOrEmptyFrame_IsUnknownOrWithoutForeground) {
  PixelCounts counts;
  const auto labels = map_of(kBars, kPicture);
  counts.count_labels(right_half(), view_of(labels, kPicture), {}, {});
  counts.clear();
  EXPECT_TRUE(counts.shares().empty());
  EXPECT_TRUE(counts.foreground().empty());
  counts.count_nothing(right_half());
  EXPECT_EQ(counts.foreground()[0], 0);
}

}  // namespace
}  // namespace regions::events
