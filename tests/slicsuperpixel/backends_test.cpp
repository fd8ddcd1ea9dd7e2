// slicsuperpixel on each backend: all results equal the results of one CPU thread.
#include <gtest/gtest.h>

#include "tests/pictures/backend_test.hpp"
#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

class SlicBackends : public BackendTest {
 protected:
  SlicResult run(const ConstFrame& in, const SlicParams& params, const SlicOptions& options = {}) {
    return is_cuda() ? run_slic(backend_, in, params, options)
                     : run_slic_on_cpu(3, in, params, options);
  }
  void expect_cpu_results(const SlicCase& task) {
    SCOPED_TRACE(task.name());
    const GuardedFrame picture = task.frame();
    const SlicResult expected = run_slic_on_cpu(1, picture.frame(), task.params());
    const SlicResult found = run(picture.frame(), task.params());
    EXPECT_EQ(found.total, expected.total);
    EXPECT_EQ(difference(found.superpixels, expected.superpixels, task.size.width), "");
    EXPECT_TRUE(found.intact);
  }
};
TEST_ON_BACKENDS(SlicBackends);

TEST_P(SlicBackends, LargePictures_SuperpixelsEqualThoseOfOneCpuThread) {
  for (const SlicCase& task : large_cases()) {
    const bool is_large = task.size.area() > 800000;
    if (is_cuda() || !is_large) expect_cpu_results(task);
  }
}

// Cells of 16x21, 16x17 and 15x17 pixels.
TEST_P(SlicBackends, GridCellsHigherThanAPatch_SuperpixelsEqualThoseOfOneCpuThread) {
  for (const char* number : {"superpixels=53", "superpixels=61", "superpixels=72"}) {
    for (const char* step : {"row-step=1", "row-step=2", "row-step=3", "row-step=4"}) {
      for (const char* variant : {"variant=slic", "variant=slico"}) {
        expect_cpu_results({"scene", {160, 101}, {number, step, variant}});
      }
    }
  }
}

TEST_P(SlicBackends, EveryOutputPicture_PixelsEqualThoseOfOneCpuThread) {
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
    const bool has_format_of_input = output == SlicOutput::mean || output == SlicOutput::overlay;
    if (has_format_of_input) task.format = format;
    const GuardedFrame picture = task.frame();
    SlicParams params = task.params();
    params.output = output;
    const SlicOptions options = {.out = format, .padding = 4 * layout_of(format).sample_bytes};
    const SlicResult expected = run_slic_on_cpu(1, picture.frame(), params, options);
    const SlicResult found = run(picture.frame(), params, options);
    EXPECT_TRUE(found.intact) << name_of(format);
    EXPECT_TRUE(found.out->same_pixels(*expected.out))
        << static_cast<int>(output) << " " << name_of(format);
  }
}

TEST_P(SlicBackends, FewRecords_LabelsEqualThoseWithAllRecords) {
  const SlicCase task = {"scene", {333, 211}};
  const GuardedFrame picture = task.frame();
  const SlicResult all = run_slic_on_cpu(1, picture.frame(), task.params());
  for (const uint32_t capacity : {0u, 1u, 40u}) {
    const SlicResult some = run(picture.frame(), task.params(), {.capacity = capacity});
    EXPECT_EQ(some.total, all.total);
    EXPECT_EQ(some.superpixels.regions.size(), capacity);
    EXPECT_EQ(difference(some.superpixels, all.superpixels, task.size.width), "");
    EXPECT_TRUE(some.intact);
  }
}

TEST_P(SlicBackends, WarmStartWithAnyNumberOfSlots_SuperpixelsEqualThoseOfOneCpuThread) {
  std::vector<GuardedFrame> frames;
  for (int i = 0; i < 7; ++i) frames.push_back(panned_frame({320, 200}, 2 * i, i >= 5));
  SlicParams params;
  params.output = SlicOutput::none;
  params.warm_start = true;
  for (const auto& [iterations, variant, number] :
       {std::tuple(0, SlicVariant::slic, 0), std::tuple(1, SlicVariant::slic, 0),
        std::tuple(3, SlicVariant::slic, 0), std::tuple(2, SlicVariant::slico, 0),
        std::tuple(3, SlicVariant::slic, 200)}) {
    params.iterations = iterations;
    params.superpixels = number;
    params.variant = variant;
    const auto cpu = make_cpu_backend(1);
    const auto on_cpu = make_algorithm_on<SlicParams>(cpu);
    const auto expected = run_frames(cpu, *on_cpu, frames, params, 1);
    const auto algorithm = make_algorithm_on<SlicParams>(backend_);
    for (const int slots : {1, 3}) {
      const auto found = run_frames(backend_, *algorithm, frames, params, slots);
      for (size_t i = 0; i < frames.size(); ++i) {
        EXPECT_EQ(difference(found[i], expected[i], 320), "") << iterations << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace regions
