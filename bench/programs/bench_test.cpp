// The benchmark's own arithmetic: medians, comparisons of answers, mirrored inputs, options.
#include <gtest/gtest.h>

#include "bench/programs/cases.hpp"

namespace regions {
namespace {

TEST(Clock, MedianOfOddAndEvenCounts) {
  std::vector<double> odd = {9, 1, 5};
  EXPECT_EQ(summarise(odd).median, 5);
  std::vector<double> even = {8, 1, 3, 5};
  EXPECT_EQ(summarise(even).median, 4);
  EXPECT_EQ(summarise(even).fastest, 1);
  EXPECT_EQ(summarise(even).runs, 4);
}

TEST(Clock, RunsAsOftenAsWantedAfterWarmUp) {
  std::vector<int> frames;
  const Timing timing =
      time_calls(3, [&](int frame) { frames.push_back(frame); }, {.least_runs = 5, .seconds = 60});
  EXPECT_EQ(timing.runs, 5);
  EXPECT_EQ(frames, (std::vector{0, 1, 2, 0, 1, 2, 0}));
}

TEST(Answers, EveryKindOfDifferenceIsFound) {
  Answer expected{.labels = {0, 1, 2}, .regions = {Region{.id = 1}, Region{.id = 2}}, .total = 2};
  EXPECT_EQ(difference(expected, expected), "");
  Answer wrong = expected;
  wrong.labels[2] = 1;
  EXPECT_NE(difference(expected, wrong).find("pixel 2 has label 1 instead of 2"),
            std::string::npos);
  wrong = expected;
  wrong.total = 3;
  EXPECT_NE(difference(expected, wrong), "");
  wrong = expected;
  wrong.regions[1].sum_value[2] = 7;
  EXPECT_NE(difference(expected, wrong).find("region 2"), std::string::npos);
}

TEST(Mirrored, TurnsColoursAsWholePixels) {
  const Picture picture{.size = {2, 2},
                        .format = PixelFormat::rgb,
                        .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  const std::vector<Picture> all = mirrored(picture);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].pixels, (std::vector<uint8_t>{4, 5, 6, 1, 2, 3, 10, 11, 12, 7, 8, 9}));
  EXPECT_EQ(all[2].pixels, (std::vector<uint8_t>{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(all[3].pixels, (std::vector<uint8_t>{10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3}));
}

Options parse_words(std::vector<std::string> words) {
  std::vector<char*> pointers = {nullptr};
  for (std::string& word : words) pointers.push_back(word.data());
  return options_of(static_cast<int>(pointers.size()), pointers.data());
}

TEST(Options, CasesAreTheProductOfTheLists) {
  const Options options =
      parse_words({"--size", "64x32,8x8", "--content", "maze", "--task", "labels", "--criterion",
                   "binary", "--set", "threshold=0.25"});
  const std::vector<Case> cases = cases_of(options);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases.front().name(), "binary-4-labels/maze/64x32");
  EXPECT_EQ(cases.back().name(), "binary-8-labels/maze/8x8");
  EXPECT_EQ(cases.front().params.threshold, 0.25);
  EXPECT_EQ(cases.front().least_bytes(), size_t{64 * 32 * 5});
}

TEST(Options, FilterIsARegularExpressionOverNames) {
  const Options options = parse_words({"--filter", "^difference-8-table/blobs/512x512$"});
  const std::vector<Case> cases = cases_of(options);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases.front().format, PixelFormat::rgb);
}

TEST(Options, BadOnesAreRefused) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"--size"},
                                             {"--size", "12"},
                                             {"--size", "axb"},
                                             {"--set", "threshold"},
                                             {"--set", "threshold=7"},
                                             {"--set", "nothing=1"},
                                             {"--connectivity", "5"},
                                             {"--task", "all"},
                                             {"--runs", "0"},
                                             {"--format", "FOO"}}) {
    EXPECT_THROW(parse_words(words), InputError) << words.front();
  }
}

}  // namespace
}  // namespace regions
