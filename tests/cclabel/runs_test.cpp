// Run lengths (attach-runs): the pixels of all regions as runs.
#include "core/work_area.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/scenes.hpp"

namespace regions {
namespace {

using CcLabelRuns = CcLabelTest;
TEST_ON_BACKENDS(CcLabelRuns);

constexpr uint32_t kEnough = 1 << 17;

TEST_P(CcLabelRuns, EveryContent_RunsEqualThoseOfTheLabelMap) {
  for (const auto list : {contents(), edge_contents()}) {
    for (const std::string_view content : list) {
      const Picture picture = make_picture(content, {131, 77});
      for (const Connectivity connectivity : kFlat) {
        for (const int64_t min_area : {0, 4}) {
          CcLabelParams params;
          params.connectivity = connectivity;
          params.min_area = min_area;
          check(picture.frame(), params, std::string(content), {.most_runs = kEnough});
        }
      }
    }
  }
}

TEST_P(CcLabelRuns, SizesNearMultiplesOf32_RunsEqualThoseOfTheLabelMap) {
  for (const Size size :
       {Size{1, 1}, {31, 3}, {32, 1}, {33, 70}, {1023, 5}, {1024, 4}, {1025, 3}, {2100, 31}}) {
    for (const char* content : {"noise", "clouds", "full", "empty", "corners"}) {
      const Volume picture = make_volume(content, size, 1);
      for (const Criterion criterion : kCriteria) {
        CcLabelParams params;
        params.connectivity = Connectivity::four;
        params.criterion = criterion;
        params.tolerance = 0.2;
        check(picture.frame(), params, content, {.most_runs = kEnough});
      }
    }
  }
}

// Adjacent pixels that are only linked through other rows are one run.
TEST_P(CcLabelRuns, GrayPictureAndEveryCriterion_RunsEqualThoseOfTheLabelMap) {
  for (const std::string_view content : tone_contents()) {
    for (const Size size : {Size{1, 1}, {65, 3}, {200, 131}}) {
      const Picture picture = make_picture(content, size);
      for (const Criterion criterion : kCriteria) {
        CcLabelParams params;
        params.criterion = criterion;
        params.tolerance = 0.04;
        params.label_background = criterion == Criterion::binary;
        check(picture.frame(), params, std::string(content), {.most_runs = kEnough});
      }
    }
  }
}

TEST_P(CcLabelRuns, VolumesAndThresholds_RunsEqualThoseOfTheLabelMap) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {150, 20}, 20);
    const RunOptions options{
        .slices = volume.slices, .depth = std::max(volume.slices, 2), .most_runs = kEnough};
    check(volume.frame(), params, volume.name(), options);
  }
}

TEST_P(CcLabelRuns, MoreRunsThanTheCapacity_TotalCountsAllAndTheFirstAreStored) {
  const Volume picture = make_volume("noise", {300, 61}, 1);
  CcLabelParams params;
  params.connectivity = Connectivity::four;
  for (const uint32_t most : {1u, 2u, 63u, 1023u, 1024u, 1025u, 4000u}) {
    for (const uint32_t regions : {1u, 20u, 300u, 1u << 16}) {
      check(picture.frame(), params, "few", {.capacity = regions, .most_runs = most});
    }
  }
  check(make_picture("empty", {90, 61}).frame(), {}, "empty", {.most_runs = 5});
}

TEST_P(CcLabelRuns, WithoutLabelMap_RunsEqualThoseWithALabelMap) {
  const Picture picture = make_picture("clouds", {90, 61});
  struct Kind {
    CcOutput output;
    std::optional<PixelFormat> out;
  };
  for (const auto& [output, out] : {Kind{CcOutput::none, {}},
                                    {CcOutput::overlay, PixelFormat::gray8},
                                    {CcOutput::colors, PixelFormat::rgb}}) {
    CcLabelParams params;
    params.output = output;
    RunOptions options{.out = out, .most_runs = 5000};
    const RunResult with_labels = run(picture.frame(), {}, params, options);
    options.wants_labels = false;
    const RunResult without = run(picture.frame(), {}, params, options);
    EXPECT_FALSE(without.runs.empty());
    EXPECT_EQ(difference(without.runs, with_labels.runs), "");
  }
}

// The runs of a smaller picture, enlarged, paint the larger picture with its nearest labels.
TEST(CcLabelRunsEnlarge, ScaledWorkArea_PaintedRunsEqualTheNearestLabels) {
  const WorkArea place{{90, 61}, 7, 4, {70, 50}, {23, 31}};
  const Picture picture = make_picture("rand_g1_d50", place.work);
  const RunResult small = run_on_cpu(1, picture.frame(), {}, {}, {.most_runs = 5000});
  std::vector<PixelRun> large = small.runs;  // the result replaces earlier contents
  enlarge(place, small.runs, large);
  std::vector<uint32_t> painted(place.picture.area()), expected(place.picture.area());
  const PixelRun* before = nullptr;
  for (const PixelRun& run : large) {
    for (uint32_t x = run.x; x < run.x + run.width; ++x) painted[run.row * 90 + x] = run.label;
    if (before && before->label == run.label) {
      EXPECT_TRUE(before->row < run.row ||
                  (before->row == run.row && before->x + before->width < run.x));
    }
    before = &run;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    int u = static_cast<int>(i % 90), v = static_cast<int>(i / 90);
    if (!reduce(place, u, v)) continue;
    expected[i] = small.labelling.labels[static_cast<size_t>(v) * 23 + static_cast<size_t>(u)];
  }
  EXPECT_EQ(painted, expected);
}

}  // namespace
}  // namespace regions
