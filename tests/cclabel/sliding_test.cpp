// cclabel with sliding=true on the CPU: every frame against what its window is by definition, and
// ids that stay.
#include <gtest/gtest.h>

#include "core/cclabel/sliding_window.hpp"
#include "cpu/backend.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/runs_oracle.hpp"
#include "tests/cclabel/sliding_scene.hpp"

namespace regions {
namespace {

std::vector<WindowResult> on_cpu(const std::vector<ConstFrame>& frames, const CcLabelParams& params,
                                 const WindowOptions& options = {}, int threads = 2) {
  const auto backend = make_cpu_backend(threads);
  const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  return run_windows(backend, *algorithm, frames, params, options);
}

void expect_definition(const std::vector<Picture>& pictures, const CcLabelParams& params,
                       const WindowOptions& options = {}) {
  SCOPED_TRACE(to_text(params) + " slots=" + std::to_string(options.slots));
  const std::vector<ConstFrame> frames = frames_of(pictures);
  const std::vector<WindowResult> found = on_cpu(frames, params, options);
  ASSERT_EQ(found.size(), frames.size());
  for (size_t t = 0; t < frames.size(); ++t) {
    const Labelling expected = last_of_window_slowly(frames, t, params);
    EXPECT_EQ(difference(without_tracks(found[t].labelling), expected, frames[t].width), "")
        << "frame " << t;
    EXPECT_EQ(found[t].total, expected.regions.size()) << "frame " << t;
  }
}

TEST(CcLabelSliding, EveryFrameIsTheLastOfItsWindow) {
  for (const WindowCase& one : window_cases()) {
    expect_definition(one.pictures, one.params, one.options);
  }
}

TEST(CcLabelSliding, MasksAreLabelledAndPicturesMeasured) {
  CcLabelParams params = sliding_params(3);
  params.source = Source::mask;
  const std::vector<Picture> pictures = noise_pictures({37, 21}, 9, 0);
  const std::vector<Picture> masks = noise_pictures({37, 21}, 9, 0.85);
  const std::vector<ConstFrame> labelled = frames_of(masks);
  const auto found = on_cpu(frames_of(pictures), params, {.masks = labelled});
  CcLabelParams nonzero = params;
  nonzero.source = Source::image;
  nonzero.threshold = 0.5 / 255;
  for (size_t t = 0; t < labelled.size(); ++t) {
    const Labelling expected = last_of_window_slowly(labelled, t, nonzero);
    EXPECT_EQ(found[t].labelling.labels, expected.labels) << "frame " << t;
    uint64_t sum = 0, measured = 0;
    for (size_t i = 0; i < expected.labels.size(); ++i) {
      if (expected.labels[i]) sum += pictures[t].pixels[i];
    }
    for (const Region& r : found[t].labelling.regions) measured += r.sum_value[0];
    EXPECT_EQ(measured, sum) << "frame " << t;
  }
}

// Of places in a doubled ring: each frame of the window lies where it was put.
TEST(CcLabelSliding, WindowsKeepTheirFrames) {
  for (const int depth : {2, 3, 5}) {
    WindowPositions places(depth);
    std::vector<int> memory(static_cast<size_t>(2 * depth), -1);
    for (int t = 0; t < 40; ++t) {
      const WindowPositions::Step step = places.next();
      for (int k = 0; k < step.moved; ++k) memory.at(step.moved_to + k) = memory.at(k);
      memory.at(step.position) = t;
      ASSERT_EQ(step.slices, std::min(t + 1, depth));
      for (int k = 0; k < step.slices; ++k) ASSERT_EQ(memory.at(step.position + k), t - k);
    }
  }
}

// Two things meet, touch and part. While the window has a frame where they touch they are one
// region; before and behind that both have the ids they had.
TEST(CcLabelSliding, IdsStayWithTwoThingsThatTouch) {
  const CcLabelParams params = sliding_params(4);
  const std::vector<Picture> pictures = scene_pictures();
  const std::vector<WindowResult> found = on_cpu(frames_of(pictures), params);
  for (int t = 0; t < kSceneFrames; ++t) {
    SCOPED_TRACE("frame " + std::to_string(t));
    const std::vector<Region>& regions = found[t].labelling.regions;
    const bool touched = t >= kSceneTouches && t < kSceneParts + params.depth - 1;
    ASSERT_EQ(regions.size(), touched ? 1u : 2u);
    EXPECT_EQ(regions[0].track, 1u);
    if (touched) continue;
    EXPECT_EQ(regions[1].track, 2u);
    EXPECT_EQ(regions[0].left, scene_left(t));
    EXPECT_EQ(regions[1].left, scene_right(t));
  }
  EXPECT_EQ(found[kSceneTouches].report.merges, 1u);
}

TEST(CcLabelSliding, OutputsShowLabelsTracksAndRuns) {
  const std::vector<Picture> pictures = noise_pictures({37, 21}, 8, 0.8);
  CcLabelParams params = sliding_params(3);
  params.output = CcOutput::labels;
  for (const LabelValues values : {LabelValues::dense, LabelValues::track}) {
    params.label_values = values;
    const WindowOptions options{.most_runs = 4096, .out = PixelFormat::gray16};
    for (const WindowResult& r : on_cpu(frames_of(pictures), params, options)) {
      for (size_t i = 0; i < r.labelling.labels.size(); ++i) {
        const uint32_t label = r.labelling.labels[i];
        const bool dense = values == LabelValues::dense || label == 0;
        const uint32_t expected = dense ? label : r.labelling.regions[label - 1].track;
        ASSERT_EQ(r.out[2 * i] + 256u * r.out[2 * i + 1], expected);
      }
      EXPECT_EQ(difference(r.runs, runs_slowly(r.labelling.labels, 37, 4096, 4096).runs), "");
    }
  }
}

TEST(CcLabelSliding, AResetBeginsAnotherWindow) {
  const std::vector<Picture> pictures = noise_pictures({37, 21}, 6, 0.7);
  const std::vector<ConstFrame> frames = frames_of(pictures);
  const CcLabelParams params = sliding_params(4);
  const auto backend = make_cpu_backend(2);
  const auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend);
  const auto first = run_windows(backend, *algorithm, frames, params, {});
  algorithm->reset();
  const auto second = run_windows(backend, *algorithm, frames, params, {});
  for (size_t t = 0; t < frames.size(); ++t) {
    EXPECT_EQ(difference(second[t], first[t], 37), "") << "frame " << t;
  }
}

TEST(CcLabelSliding, WhatItDoesNotTake) {
  const Layout& gray = layout_of(PixelFormat::gray8);
  regions::Setup setup{.in = gray, .size = {8, 8}, .depth = 1, .slides = true, .tracks = true};
  EXPECT_THROW(expects_labellable(setup), InputError);  // a window of one frame
  setup.depth = 3;
  EXPECT_NO_THROW(expects_labellable(setup));
  setup.layers = 2;
  EXPECT_THROW(expects_labellable(setup), InputError);
  setup.layers = 1;
  setup.has_background = true;
  EXPECT_THROW(expects_labellable(setup), InputError);
}

}  // namespace
}  // namespace regions
