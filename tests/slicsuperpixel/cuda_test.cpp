// slicsuperpixel on CUDA: all small cases, repeated runs, and method=ece1782, which runs on CUDA
// only. All steps of ECE1782 give the labels of the oracle.
#include "tests/pictures/backend_test.hpp"
#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

using SlicCuda = CudaTest;
using SlicCudaEce1782 = CudaTest;

TEST_F(SlicCuda, SmallPictures_SuperpixelsEqualTheCpu) {
  for (const SlicCase& task : small_cases()) {
    SCOPED_TRACE(task.name());
    const GuardedFrame picture = task.frame();
    const SlicResult expected = run_slic_on_cpu(2, picture.frame(), task.params());
    const SlicResult found = run_slic(backend_, picture.frame(), task.params());
    EXPECT_EQ(found.total, expected.total);
    EXPECT_EQ(difference(found.superpixels, expected.superpixels, task.size.width), "");
    EXPECT_TRUE(found.intact);
  }
}

TEST_F(SlicCuda, SamePictureRepeated_SuperpixelsEqualTheCpuEachTime) {
  for (const SlicCase& task : {large_cases()[0], large_cases()[4]}) {
    const GuardedFrame picture = task.frame();
    const SlicResult expected = run_slic_on_cpu(2, picture.frame(), task.params());
    for (int i = 0; i < 20; ++i) {
      const SlicResult found = run_slic(backend_, picture.frame(), task.params(), {.repeats = 3});
      ASSERT_EQ(difference(found.superpixels, expected.superpixels, task.size.width), "") << i;
    }
  }
}

std::vector<SlicCase> ece1782_cases() {
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

TEST_F(SlicCudaEce1782, EachOptimisationStep_SuperpixelsEqualReference) {
  for (const SlicCase& task : ece1782_cases()) {
    const GuardedFrame picture = task.frame();
    SlicParams params = task.params();
    params.method = SlicMethod::ece1782;
    const Superpixels expected = oracle_ece1782(picture.frame(), params);
    for (params.ece1782_step = 1; params.ece1782_step <= 7; ++params.ece1782_step) {
      SCOPED_TRACE(task.name() + " step " + std::to_string(params.ece1782_step));
      const SlicResult found = run_slic(backend_, picture.frame(), params);
      EXPECT_EQ(found.total, expected.regions.size());
      EXPECT_EQ(difference(found.superpixels, expected, task.size.width), "");
      EXPECT_TRUE(found.intact);
    }
  }
}

// The steps process the pixels in different orders.
TEST_F(SlicCudaEce1782, PictureOf4096x2048_AllOptimisationStepsHaveEqualSuperpixels) {
  const SlicCase task = {"scene", {4096, 2048}, {"region-size=128"}, PixelFormat::rgbx};
  const GuardedFrame picture = task.frame();
  SlicParams params = task.params();
  params.method = SlicMethod::ece1782;
  params.ece1782_step = 1;
  const SlicResult first = run_slic(backend_, picture.frame(), params);
  for (params.ece1782_step = 2; params.ece1782_step <= 7; ++params.ece1782_step) {
    const SlicResult found = run_slic(backend_, picture.frame(), params);
    EXPECT_EQ(difference(found.superpixels, first.superpixels, task.size.width), "")
        << params.ece1782_step;
  }
}

TEST_F(SlicCudaEce1782, UnsupportedParameter_IsRefused) {
  const SlicCase task = {"scene", {64, 64}};
  const GuardedFrame picture = task.frame();
  for (const char* setting : {"region-size=7", "variant=slico", "warm-start=true"}) {
    SlicCase bad = task;
    bad.settings = {setting, "method=report"};
    EXPECT_THROW(run_slic(backend_, picture.frame(), bad.params()), InputError) << setting;
  }
}

}  // namespace
}  // namespace regions
