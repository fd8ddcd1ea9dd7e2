// Tests the shared code of the benchmark programs: medians, comparisons of answers, mirrored
// inputs, options, output rows, and TestStand on the CPU.
#include <gtest/gtest.h>

#include "bench/programs/cases.hpp"

namespace regions {
namespace {

TEST(BenchTimings, Summarise_OddAndEvenCounts_ReturnsMedian) {
  std::vector<double> odd = {9, 1, 5};
  EXPECT_EQ(summarise(odd).median, 5);
  std::vector<double> even = {8, 1, 3, 5};
  EXPECT_EQ(summarise(even).median, 4);
  EXPECT_EQ(summarise(even).fastest, 1);
  EXPECT_EQ(summarise(even).runs, 4);
}

TEST(BenchTimings, TimeCalls_EnoughTime_MakesMaxTimingsAfterWarmUp) {
  std::vector<int> frames;
  const Timing timing =
      time_calls(3, [&](int frame) { frames.push_back(frame); }, {.max_timings = 5, .seconds = 60});
  EXPECT_EQ(timing.runs, 5);
  EXPECT_EQ(frames, (std::vector{0, 1, 2, 0, 1, 2, 0}));
}

TEST(BenchTimings, TimeCalls_NoTime_MakesMinTimingsAndPreparesEach) {
  int prepared = 0, ran = 0;
  const Effort effort{.max_timings = 9, .seconds = 0, .warm_up = 1, .min_timings = 2};
  const Timing timing = time_calls(
      1, [&](int) { EXPECT_EQ(prepared, ++ran); }, effort, [&] { ++prepared; });
  EXPECT_EQ(timing.runs, 2);
  EXPECT_EQ(ran, 3);
}

TEST(BenchRow, Json_SeveralFields_PrintsOneObject) {
  testing::internal::CaptureStdout();
  Row row("kind", true);
  row.add("text", "a \"b\" \\").add("whole", 3).add("part", 2.0 / 3, 2).add("fact", false);
  row.add(Size{4, 5}).add_json("list", "[1,2]").remark("unseen").print();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "{\"what\": \"kind\", \"text\": \"a \\\"b\\\" \\\\\", \"whole\": 3, \"part\": 0.67, "
            "\"fact\": false, \"width\": 4, \"height\": 5, \"list\": [1,2]}\n");
}

TEST(BenchFrames, SeveralFrames_EachHasItsOwnAnswerAndWrongLabelsAreFound) {
  Case test_case{.content = "maze", .size = {33, 9}, .table = true};
  const std::vector<Picture> pictures = {make_picture("maze", test_case.size),
                                         make_picture("empty", test_case.size)};
  CcLabelTestStand test_stand = make_test_stand(test_case, make_cpu_backend(1), pictures, 3);
  for (int frame = 0; frame < test_stand.count(); ++frame) test_stand.run(frame);
  Answer maze = test_stand.answer(0);
  EXPECT_EQ(test_stand.answer(1).total, 0u);
  EXPECT_GT(maze.total, 0u);
  EXPECT_EQ(maze.regions.size(), maze.total);
  EXPECT_EQ(difference(maze, test_stand.answer(2)), "");
  EXPECT_TRUE(test_stand.has_labels(2, maze.labels));
  EXPECT_FALSE(test_stand.has_labels(1, maze.labels));
  maze.labels.back() ^= 1;
  EXPECT_FALSE(test_stand.has_labels(2, maze.labels));
  test_stand.overwrite_outputs();
  EXPECT_NE(difference(maze, test_stand.answer(0)), "");
}

TEST(BenchFrames, VolumeInput_RegionIsConnectedInDepth) {
  regions::Setup setup{.in = layout_of(PixelFormat::gray8), .size = {5, 5}};
  setup.depth = 2;
  CcLabelParams params;
  params.connectivity = Connectivity::six;
  TestStand<CcLabelParams> test_stand(make_cpu_backend(1), setup, params, 1);
  Picture cube{.size = {5, 10}, .pixels = std::vector<uint8_t>(50)};
  cube.pixels[7] = cube.pixels[25 + 7] = 255;  // neighbours in depth
  test_stand.set_input(0, cube.frame());
  test_stand.run(0);
  EXPECT_EQ(test_stand.answer(0).total, 1u);
}

TEST(BenchAnswer, Difference_WrongLabelRegionOrTotal_IsReported) {
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

TEST(MirroredPictures, RgbPicture_MovesWholePixels) {
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

TEST(BenchOptions, SeveralLists_GiveAllCombinations) {
  const Options options =
      parse_words({"--size", "64x32,8x8", "--content", "maze", "--task", "labels", "--criterion",
                   "binary", "--set", "threshold=0.25"});
  const std::vector<Case> cases = cases_of(options);
  ASSERT_EQ(cases.size(), 4u);
  EXPECT_EQ(cases.front().name(), "binary-4-labels/maze/64x32");
  EXPECT_EQ(cases.back().name(), "binary-8-labels/maze/8x8");
  EXPECT_EQ(cases.front().params.threshold, 0.25);
  EXPECT_EQ(cases.front().min_bytes(), size_t{64 * 32 * 5});
}

TEST(BenchOptions, Filter_RegularExpression_SelectsMatchingNames) {
  const Options options = parse_words({"--filter", "^difference-8-table/blobs/512x512$"});
  const std::vector<Case> cases = cases_of(options);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases.front().format, PixelFormat::rgb);
}

TEST(BenchOptions, HelpOption_ReturnsZeroAndListsOptions) {
  testing::internal::CaptureStdout();
  std::vector<std::string> words = {"program", "--help"};
  std::vector<char*> pointers = {words[0].data(), words[1].data()};
  const auto run = [](int count, char** all) { return options_of(count, all).json ? 4 : 3; };
  EXPECT_EQ(run_program("program", run, 2, pointers.data()), 0);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(text.rfind("usage: program [OPTION", 0), 0u);
  EXPECT_NE(text.find("  --size LIST"), text.npos);
}

TEST(BenchOptions, InvalidOption_ThrowsInputError) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"word"},
                                             {"--size"},
                                             {"--size", "12"},
                                             {"--size", "axb"},
                                             {"--set", "threshold"},
                                             {"--set", "threshold=7"},
                                             {"--set", "nothing=1"},
                                             {"--connectivity", "5"},
                                             {"--task", "all"},
                                             {"--runs", "0"},
                                             {"--seconds", "-1"},
                                             {"--content", ""},
                                             {"--format", "FOO"}}) {
    EXPECT_THROW(parse_words(words), InputError) << words.front();
  }
}

}  // namespace
}  // namespace regions
