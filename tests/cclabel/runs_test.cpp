// attach-runs on the CPU: the regions' pixels as runs, against the label map, pixel by pixel.
#include <gtest/gtest.h>

#include "core/work_area.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/runs_oracle.hpp"
#include "tests/cclabel/volume_cases.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

void expect_runs(int threads, const ConstFrame& in, const CcLabelParams& params,
                 RunOptions options) {
  SCOPED_TRACE(to_text(params) + " " + std::to_string(in.width) + "x" + std::to_string(in.height) +
               " capacity=" + std::to_string(options.capacity) +
               " runs=" + std::to_string(options.most_runs));
  const RunResult found = run_on_cpu(threads, in, {}, params, options);
  const SlowRuns expected =
      runs_slowly(found.labelling.labels, in.width, options.capacity, options.most_runs);
  EXPECT_EQ(difference(found.runs, expected.runs), "");
  EXPECT_EQ(found.total_runs, expected.total);
  EXPECT_TRUE(found.intact);
  if (found.total_runs > options.most_runs) return;
  std::vector<uint64_t> areas(found.labelling.regions.size());
  for (const PixelRun& run : found.runs) areas.at(run.label - 1) += run.width;
  for (const Region& r : found.labelling.regions) EXPECT_EQ(areas[r.id - 1], r.area) << r.id;
}

TEST(CcLabelRuns, OfEveryContentAreTheLabelMaps) {
  for (const auto list : {contents(), edge_contents()}) {
    for (const std::string_view content : list) {
      const Picture picture = make_picture(content, {131, 77});
      for (const Connectivity connectivity : {Connectivity::four, Connectivity::eight}) {
        CcLabelParams params;
        params.connectivity = connectivity;
        SCOPED_TRACE(std::string(content));
        expect_runs(2, picture.frame(), params, {.most_runs = 1 << 16});
        params.min_area = 4;
        expect_runs(3, picture.frame(), params, {.most_runs = 1 << 16});
      }
    }
  }
}

// Pixels beside each other that are linked another way are one run.
TEST(CcLabelRuns, OfEveryCriterion) {
  for (const std::string_view content : tone_contents()) {
    for (const Size size : {Size{1, 1}, {65, 3}, {200, 131}}) {
      CcLabelParams params;
      params.criterion = Criterion::difference;
      params.tolerance = 0.04;
      expect_runs(2, make_picture(content, size).frame(), params, {.most_runs = 1 << 16});
      params.criterion = Criterion::equal;
      expect_runs(1, make_picture(content, size).frame(), params, {.most_runs = 1 << 16});
      params.criterion = Criterion::binary;
      params.label_background = true;
      expect_runs(2, make_picture(content, size).frame(), params, {.most_runs = 1 << 16});
    }
  }
}

TEST(CcLabelRuns, OfVolumesAndThresholds) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const auto [volume, params, choice] = random_volume(seed, {90, 12}, 12);
    RunOptions options{.slices = volume.slices, .depth = std::max(volume.slices, 2)};
    options.most_runs = 1 << 16;
    expect_runs(1 + choice % 4, volume.frame(), params, options);
  }
}

// The rest is counted; recorded regions alone have runs.
TEST(CcLabelRuns, MoreThanThereIsRoomFor) {
  const Picture picture = make_picture("rand_g1_d40", {90, 61});
  for (const uint32_t most : {1u, 2u, 63u, 400u}) {
    for (const uint32_t regions : {1u, 20u, 4096u}) {
      expect_runs(2, picture.frame(), {}, {.capacity = regions, .most_runs = most});
    }
  }
  expect_runs(2, make_picture("empty", {90, 61}).frame(), {}, {.most_runs = 5});
}

TEST(CcLabelRuns, NobodyNeedsToWantLabelsToo) {
  const Picture picture = make_picture("clouds", {90, 61});
  for (const CcOutput output : {CcOutput::none, CcOutput::overlay, CcOutput::colors}) {
    CcLabelParams params;
    params.output = output;
    RunOptions options{.most_runs = 5000};
    if (output == CcOutput::overlay) options.out = PixelFormat::gray8;
    if (output == CcOutput::colors) options.out = PixelFormat::rgb;
    const RunResult with_labels = run_on_cpu(2, picture.frame(), {}, params, options);
    options.wants_labels = false;
    const RunResult without = run_on_cpu(2, picture.frame(), {}, params, options);
    EXPECT_FALSE(without.runs.empty());
    EXPECT_EQ(difference(without.runs, with_labels.runs), "");
  }
}

// Painted with the runs of a smaller picture, the picture has its labels by nearest pixels.
TEST(CcLabelRuns, GrowWithTheirPicture) {
  const WorkArea place{{90, 61}, 7, 4, {70, 50}, {23, 31}};
  const Picture picture = make_picture("rand_g1_d50", place.work);
  const RunResult small = run_on_cpu(1, picture.frame(), {}, {}, {.most_runs = 5000});
  std::vector<PixelRun> large = small.runs;  // of an earlier frame
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
