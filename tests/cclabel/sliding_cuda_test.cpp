// cclabel with sliding=true on CUDA: the CPU's windows, bit for bit, tracks and reports too.
#include <gtest/gtest.h>

#include "cpu/backend.hpp"
#include "tests/cclabel/cuda_fixture.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/sliding_scene.hpp"

namespace regions {
namespace {

class CcLabelSlidingCuda : public DirtyCuda {
 protected:
  void expect_same(const std::vector<Picture>& pictures, const CcLabelParams& params,
                   const WindowOptions& options = {}) {
    SCOPED_TRACE(to_text(params) + " slots=" + std::to_string(options.slots));
    const std::vector<ConstFrame> frames = frames_of(pictures);
    const auto cpu = make_cpu_backend(2);
    const auto slow = make_algorithm<CcLabelParams, BackendKind::cpu>(cpu);
    WindowOptions one = options;
    one.slots = 1;
    const auto expected = run_windows(cpu, *slow, frames, params, one);
    const Backend::Entry entry(*gpu_);
    const auto fast = make_algorithm<CcLabelParams, BackendKind::cuda>(gpu_);
    const auto found = run_windows(gpu_, *fast, frames, params, options);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t t = 0; t < frames.size(); ++t) {
      EXPECT_EQ(difference(found[t], expected[t], frames[t].width), "") << "frame " << t;
    }
  }
};

TEST_F(CcLabelSlidingCuda, DepthsConnectivitiesFiltersAndCriteria) {
  for (const WindowCase& one : window_cases()) {
    expect_same(one.pictures, one.params, one.options);
  }
}

TEST_F(CcLabelSlidingCuda, WidePicturesAndTheirRuns) {
  for (const int depth : {2, 3, 7}) {
    for (const Connectivity connectivity :
         {Connectivity::six, Connectivity::eighteen, Connectivity::twenty_six}) {
      CcLabelParams params = sliding_params(depth);
      params.connectivity = connectivity;
      expect_same(noise_pictures({137, 41}, 17, 0.8), params, {.most_runs = 5000});
      expect_same(noise_pictures({33, 20}, 17, 0.5), params, {.slots = 3});
      expect_same(scene_pictures(), params, {.slots = 3, .most_runs = 100});
    }
  }
}

TEST_F(CcLabelSlidingCuda, Outputs) {
  for (const CcOutput output :
       {CcOutput::labels, CcOutput::mask, CcOutput::colors, CcOutput::overlay}) {
    for (const LabelValues values : {LabelValues::dense, LabelValues::track}) {
      CcLabelParams params = sliding_params(3);
      params.output = output;
      params.label_values = values;
      params.overflow = Overflow::saturate;
      WindowOptions options{.out = PixelFormat::gray8};
      if (output == CcOutput::colors) options.out = PixelFormat::rgba;
      expect_same(noise_pictures({77, 31}, 8, 0.8), params, options);
    }
  }
}

TEST_F(CcLabelSlidingCuda, Masks) {
  CcLabelParams params = sliding_params(3);
  params.source = Source::mask;
  const std::vector<Picture> masks = noise_pictures({77, 31}, 9, 0.9);
  expect_same(noise_pictures({77, 31}, 9, 0), params, {.slots = 2, .masks = frames_of(masks)});
}

// More regions than are recorded; large windows that are labelled while others still are.
TEST_F(CcLabelSlidingCuda, LargeFramesAndFewRecords) {
  const CcLabelParams params = sliding_params(5);
  expect_same(noise_pictures({320, 180}, 12, 0.9), params, {.slots = 4, .capacity = 100});
  expect_same(noise_pictures({1280, 720}, 8, 0.97), params, {.slots = 4, .capacity = 4096});
}

}  // namespace
}  // namespace regions
