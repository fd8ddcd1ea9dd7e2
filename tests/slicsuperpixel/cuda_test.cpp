// slicsuperpixel on CUDA against the CPU, bit for bit. Run one case alone with --gtest_filter.
#include <gtest/gtest.h>

#include "cpu/backend.hpp"
#include "tests/slicsuperpixel/cuda_fixture.hpp"
#include "tests/slicsuperpixel/video.hpp"

namespace regions {
namespace {

TEST_F(SlicCuda, SmallCasesEqualTheCpu) {
  for (const SlicCase& task : small_cases()) expect_cpu(task);
}

TEST_F(SlicCuda, LargeCasesEqualTheCpu) {
  for (const SlicCase& task : large_cases()) expect_cpu(task);
}

// Of 16x21, 16x17 and 15x17 pixels.
TEST_F(SlicCuda, CellsHigherThanAPatchEqualTheCpu) {
  for (const char* wanted : {"superpixels=53", "superpixels=61", "superpixels=72"}) {
    for (const char* step : {"row-step=1", "row-step=2", "row-step=3", "row-step=4"}) {
      for (const char* variant : {"variant=slic", "variant=slico"}) {
        expect_cpu({"scene", {160, 101}, {wanted, step, variant}});
      }
    }
  }
}

TEST_F(SlicCuda, AgainAndAgainTheSame) {
  for (const SlicCase& task : {large_cases()[0], large_cases()[4]}) {
    const GuardedFrame picture = task.frame();
    const SlicResult expected = run_slic_on_cpu(2, picture.frame(), task.params());
    for (int i = 0; i < 20; ++i) {
      const SlicResult found = run(picture.frame(), task.params(), {}, 3);
      ASSERT_EQ(difference(found.superpixels, expected.superpixels, task.size.width), "") << i;
    }
  }
}

TEST_F(SlicCuda, OutputsEqualTheCpu) {
  for (const auto& [output, format] : std::initializer_list<std::pair<SlicOutput, PixelFormat>>{
           {SlicOutput::labels, PixelFormat::gray16},
           {SlicOutput::labels, PixelFormat::labels32},
           {SlicOutput::boundaries, PixelFormat::gray8},
           {SlicOutput::mean, PixelFormat::nv12},
           {SlicOutput::mean, PixelFormat::p010},
           {SlicOutput::mean, PixelFormat::rgb},
           {SlicOutput::overlay, PixelFormat::nv12},
           {SlicOutput::overlay, PixelFormat::rgb}}) {
    SlicCase task = {"scene", {333, 211}, {"region-size=20"}, PixelFormat::rgb};
    const bool in_place = output == SlicOutput::mean || output == SlicOutput::overlay;
    if (in_place) task.format = format;
    const GuardedFrame picture = task.frame();
    SlicParams params = task.params();
    params.output = output;
    const SlicResult expected = run_slic_on_cpu(1, picture.frame(), params, {.out = format});
    const SlicResult found = run(picture.frame(), params, {.out = format});
    EXPECT_TRUE(found.intact) << name_of(format);
    EXPECT_TRUE(found.out->same_pixels(*expected.out))
        << static_cast<int>(output) << " " << name_of(format);
  }
}

TEST_F(SlicCuda, RecordsStopAtTheCapacity) {
  const SlicCase task = {"scene", {333, 211}};
  const GuardedFrame picture = task.frame();
  const SlicResult all = run_slic_on_cpu(1, picture.frame(), task.params());
  for (const uint32_t capacity : {1u, 40u}) {
    const SlicResult some = run(picture.frame(), task.params(), {.capacity = capacity});
    EXPECT_EQ(some.total, all.total);
    EXPECT_EQ(some.superpixels.regions.size(), capacity);
    EXPECT_EQ(difference(some.superpixels, all.superpixels, task.size.width), "");
  }
}

TEST_F(SlicCuda, WarmStartEqualsTheCpu) {
  std::vector<GuardedFrame> frames;
  for (int i = 0; i < 7; ++i) frames.push_back(panned_frame({320, 200}, 2 * i, i >= 5));
  SlicParams params;
  params.output = SlicOutput::none;
  params.warm_start = true;
  for (const auto& [iterations, variant, wanted] :
       {std::tuple(0, SlicVariant::slic, 0), std::tuple(1, SlicVariant::slic, 0),
        std::tuple(3, SlicVariant::slic, 0), std::tuple(2, SlicVariant::slico, 0),
        std::tuple(3, SlicVariant::slic, 200)}) {
    params.iterations = iterations;
    params.superpixels = wanted;
    params.variant = variant;
    const auto cpu = make_cpu_backend(2);
    const auto on_cpu = make_algorithm<SlicParams, BackendKind::cpu>(cpu);
    const auto expected = run_frames(cpu, *on_cpu, frames, params, 1);
    for (const int slots : {1, 3}) {
      const auto found = run_frames(backend_, *algorithm_, frames, params, slots);
      for (size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(difference(found[i], expected[i], 320), "") << iterations << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace regions
