// method=report against its oracle: every step of its ladder gives the same labels.
#include "tests/slicsuperpixel/cuda_fixture.hpp"

namespace regions {
namespace {

using SlicReport = SlicCuda;

std::vector<SlicCase> report_cases() {
  std::vector<SlicCase> cases;
  for (const char* content : {"scene", "blobs", "clouds", "rand_g1_d50", "full", "checkerboard"}) {
    cases.push_back({content, {131, 87}});
  }
  for (const char* setting :
       {"region-size=8", "region-size=9", "region-size=33", "region-size=128", "region-size=512",
        "superpixels=1", "superpixels=37", "compactness=0", "compactness=40", "iterations=0",
        "iterations=1", "color-space=rgb", "color-space=luma", "min-size=0"}) {
    cases.push_back({"scene", {131, 87}, {setting}});
  }
  for (const Size size : {Size{1, 1}, {1, 90}, {90, 1}, {16, 16}, {17, 33}, {257, 129}}) {
    cases.push_back({"scene", size, {"compactness=3"}});
  }
  cases.push_back({"scene", {640, 360}, {"region-size=128"}, PixelFormat::nv12});
  return cases;
}

TEST_F(SlicReport, EveryStepEqualsTheOracle) {
  for (const SlicCase& task : report_cases()) {
    const GuardedFrame picture = task.frame();
    SlicParams params = task.params();
    params.method = SlicMethod::ece1782;
    const Superpixels expected = report_slowly(picture.frame(), params);
    for (params.ece1782_step = 1; params.ece1782_step <= 7; ++params.ece1782_step) {
      SCOPED_TRACE(task.name() + " step " + std::to_string(params.ece1782_step));
      const SlicResult found = run(picture.frame(), params);
      EXPECT_EQ(found.total, expected.regions.size());
      EXPECT_EQ(difference(found.superpixels, expected, task.size.width), "");
      EXPECT_TRUE(found.intact);
    }
  }
}

// The report's own case; the steps have no order of work in common.
TEST_F(SlicReport, StepsAgreeOnTheReportsCase) {
  const SlicCase task = {"scene", {4096, 2048}, {"region-size=128"}, PixelFormat::rgbx};
  const GuardedFrame picture = task.frame();
  SlicParams params = task.params();
  params.method = SlicMethod::ece1782;
  params.ece1782_step = 1;
  const SlicResult first = run(picture.frame(), params);
  for (params.ece1782_step = 2; params.ece1782_step <= 7; ++params.ece1782_step) {
    const SlicResult found = run(picture.frame(), params);
    EXPECT_EQ(difference(found.superpixels, first.superpixels, task.size.width), "")
        << params.ece1782_step;
  }
}

TEST_F(SlicReport, SaysWhatItCannotDo) {
  const SlicCase task = {"scene", {64, 64}};
  const GuardedFrame picture = task.frame();
  for (const char* setting : {"region-size=7", "variant=slico", "warm-start=true"}) {
    SlicCase bad = task;
    bad.settings = {setting, "method=report"};
    EXPECT_THROW(run(picture.frame(), bad.params()), InputError) << setting;
  }
}

}  // namespace
}  // namespace regions
