// What regions come with beyond their records: colours, neighbours, runs, a past.
#include <algorithm>

#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

// A graph of superpixels, as an application reads it: two halves, bright and dark.
TEST(Library, SuperpixelsComeWithColoursAndNeighbours) {
  const Filter filter = open("slicsuperpixel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  ASSERT_EQ(regions_set(filter.get(), "superpixels", "2"), REGIONS_OK);
  std::vector<uint8_t> pixels(kWidth * kHeight, 255);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth / 2; ++x) pixels[y * kWidth + x] = 0;
  }
  RegionsRegion regions[4];
  RegionsMoments moments[4];
  RegionsBorder borders[12];
  RegionsFrame frame = REGIONS_FRAME_INIT;
  frame.in = picture("GRAY8", pixels);
  frame.regions = regions;
  frame.capacity = 4;
  frame.moments = moments;
  frame.borders = borders;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  ASSERT_EQ(frame.count, 2u);
  EXPECT_EQ(moments[0].sum_lab[0], 28 * regions[0].area);   // L = 0
  EXPECT_EQ(moments[1].sum_lab[0], 228 * regions[1].area);  // L = 100
  ASSERT_EQ(frame.border_count, 1u);
  EXPECT_EQ(borders[0].first, 1u);
  EXPECT_EQ(borders[0].second, 2u);
  EXPECT_EQ(borders[0].length, static_cast<uint32_t>(kHeight));
  // Of those that fit.
  frame.capacity = 1;
  ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(frame.total, 2u);
  EXPECT_EQ(frame.count, 1u);
  EXPECT_EQ(frame.border_count, 0u);

  const Filter labeller = open("cclabel");
  Labelled l;
  l.frame.borders = borders;
  ASSERT_EQ(regions_set(labeller.get(), "output", "none"), REGIONS_OK);
  EXPECT_EQ(regions_process(labeller.get(), &l.frame), REGIONS_ERROR_INPUT);
}

// The second rectangle has five rows of ten pixels, the first one four of six.
TEST(Library, RunsAreTheRegionsPixels) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  Labelled l;
  RegionsRun runs[9] = {};
  l.frame.runs = runs;
  l.frame.run_capacity = 9;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  ASSERT_EQ(l.frame.run_count, 9u);
  EXPECT_EQ(l.frame.runs_truncated, 0u);
  for (uint32_t i = 0; i < 9; ++i) {
    const bool first = i < 4;
    EXPECT_EQ(runs[i].id, first ? 1u : 2u);
    EXPECT_EQ(runs[i].x, first ? 3u : 20u);
    EXPECT_EQ(runs[i].y, first ? 2 + i : 8 + i);
    EXPECT_EQ(runs[i].width, first ? 6u : 10u);
  }
  l.frame.run_capacity = 5;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.frame.run_count, 5u);
  EXPECT_EQ(l.frame.runs_truncated, 1u);
  // Of the regions that are set.
  l.frame.run_capacity = 9;
  l.frame.capacity = 1;
  ASSERT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
  EXPECT_EQ(l.frame.run_count, 4u);
  l.frame.run_capacity = 0;
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT);
  const Filter other = open("slicsuperpixel");
  l.frame.run_capacity = 9;
  EXPECT_EQ(regions_process(other.get(), &l.frame), REGIONS_ERROR_INPUT);
}

// Two posts on a bar that is seen once: they are one region as long as a window of three frames
// holds the bar.
void join_windows(const Filter& filter) {
  for (const auto& [name, value] :
       {std::pair("output", "none"), std::pair("depth", "3"), std::pair("connectivity", "26")}) {
    ASSERT_EQ(regions_set(filter.get(), name, value), REGIONS_OK);
  }
  Labelled l;
  const auto show = [&](bool with_bar) {
    std::ranges::fill(l.in, uint8_t{20});
    for (int x = 3; x < 30; ++x) {
      const bool is_post = x < 6 || x >= 27;
      for (int y = is_post ? 2 : 8; y < (with_bar || is_post ? 9 : 8); ++y) {
        l.in[static_cast<size_t>(y * kWidth + x)] = 200;
      }
    }
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    return l.frame.total;
  };
  EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_ERROR_INPUT);
  EXPECT_NE(std::string(regions_error()).find("sliding=true"), std::string::npos);
  ASSERT_EQ(regions_set(filter.get(), "sliding", "true"), REGIONS_OK);
  ASSERT_EQ(show(true), 1u);
  EXPECT_EQ(l.regions[0].area, 2u * 3 * 7 + 21);
  const uint32_t track = l.regions[0].track;
  for (int frame = 0; frame < 2; ++frame) {
    ASSERT_EQ(show(false), 1u);
    EXPECT_EQ(l.regions[0].area, 2u * 3 * 7);
    EXPECT_EQ(l.regions[0].track, track);
    EXPECT_EQ(l.labels[2 * kWidth + 3], 1u);
    EXPECT_EQ(l.labels[2 * kWidth + 27], 1u);
  }
  ASSERT_EQ(show(false), 2u);
  EXPECT_EQ(l.labels[2 * kWidth + 27], 2u);
  EXPECT_TRUE((l.regions[0].track == track) != (l.regions[1].track == track));
  // A reset takes the frames away, too.
  ASSERT_EQ(show(true), 1u);
  ASSERT_EQ(regions_reset(filter.get()), REGIONS_OK);
  EXPECT_EQ(show(false), 2u);
}

TEST(Library, WindowsJoinWhatWasJoined) { join_windows(open("cclabel")); }

// The same of masks, which come with some of the frames.
TEST(Library, WindowsOfMasks) {
  const Filter filter = open("cclabel");
  for (const auto& [name, value] :
       {std::pair("output", "none"), std::pair("depth", "2"), std::pair("connectivity", "26"),
        std::pair("sliding", "true"), std::pair("source", "mask")}) {
    ASSERT_EQ(regions_set(filter.get(), name, value), REGIONS_OK);
  }
  Labelled l;
  std::vector<uint8_t> mask = rectangles(), dark(l.in.size(), 20);
  for (uint8_t& value : mask) value = value > 20;
  l.frame.in = picture("GRAY8", dark);
  const std::vector<uint8_t> both = mask;
  std::vector<uint8_t> wide(mask.size());  // a bar over both
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = both[i] || (i / kWidth == 5) || i / kWidth == 12;
  for (size_t y = 5; y < 13; ++y) wide[y * kWidth] = 1;
  const auto show = [&](std::vector<uint8_t>& shown) {
    l.frame.mask = picture("GRAY8", shown);
    EXPECT_EQ(regions_process(filter.get(), &l.frame), REGIONS_OK) << regions_error();
    return l.frame.total;
  };
  EXPECT_EQ(show(mask), 2u);
  EXPECT_EQ(show(wide), 1u);
  EXPECT_EQ(show(mask), 1u) << "as long as the window holds the bar";
  EXPECT_EQ(show(mask), 2u);
}

TEST(Library, WindowsJoinWhatWasJoinedOnCuda) {
  const Filter filter(regions_open("cclabel", "cuda", 0));
  if (!filter) GTEST_SKIP() << "no CUDA device: " << regions_error();
  join_windows(filter);
}

}  // namespace
}  // namespace regions::test
