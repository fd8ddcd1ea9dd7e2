// The output pictures of slicsuperpixel, pixel for pixel, and what it refuses.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

const SlicCase kScene = {"scene", {203, 117}, {"region-size=12"}};

TEST(SlicOutput, LabelsOfEachWidth) {
  const GuardedFrame picture = kScene.frame();
  SlicParams params = kScene.params();
  params.output = SlicOutput::labels;
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
    if (format == PixelFormat::gray8) params.region_size = 30;
    const SlicResult result =
        run_slic_on_cpu(2, picture.frame(), params, {.out = format, .padding = 4});
    EXPECT_TRUE(result.intact);
    size_t wrong = 0, at = 0;
    for (int y = 0; y < kScene.size.height; ++y) {
      for (int x = 0; x < kScene.size.width; ++x) {
        uint32_t label = 0;
        std::memcpy(&label, result.out->frame().at(0, x, y), layout_of(format).sample_bytes);
        wrong += label != result.superpixels.labels[at++];
      }
    }
    EXPECT_EQ(wrong, 0u) << name_of(format);
    params.region_size = 12;
  }
}

TEST(SlicOutput, Boundaries) {
  const GuardedFrame picture = kScene.frame();
  SlicParams params = kScene.params();
  params.output = SlicOutput::boundaries;
  const SlicResult result =
      run_slic_on_cpu(2, picture.frame(), params, {.out = PixelFormat::gray8, .padding = 3});
  EXPECT_TRUE(result.intact);
  const auto label = [&](int x, int y) {
    return result.superpixels.labels[static_cast<size_t>(y * kScene.size.width + x)];
  };
  size_t wrong = 0;
  for (int y = 0; y < kScene.size.height; ++y) {
    for (int x = 0; x < kScene.size.width; ++x) {
      const bool edge =
          (x > 0 && label(x, y) != label(x - 1, y)) || (y > 0 && label(x, y) != label(x, y - 1));
      wrong += result.out->frame().sample(0, x, y) != (edge ? 255 : 0);
    }
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(SlicOutput, MeansInPlace) {
  for (const PixelFormat format : {PixelFormat::gray8, PixelFormat::nv12, PixelFormat::i420,
                                   PixelFormat::p010, PixelFormat::yuy2, PixelFormat::bgra}) {
    SlicCase task = kScene;
    task.format = format;
    const GuardedFrame picture = task.frame();
    SlicParams params = task.params();
    params.output = SlicOutput::mean;
    const SlicResult result = run_slic_on_cpu(2, picture.frame(), params, {.out = format});
    EXPECT_TRUE(result.intact);
    const ConstFrame out = std::as_const(*result.out).frame();
    size_t wrong = 0;
    for (int y = 0; y < task.size.height; ++y) {
      for (int x = 0; x < task.size.width; ++x) {
        for (int c = 0; c < out.layout.channels; ++c) {
          const Component& k = out.layout.component[c];
          const int sx = x >> k.x_shift << k.x_shift, sy = y >> k.y_shift << k.y_shift;
          const uint32_t label =
              result.superpixels.labels[static_cast<size_t>(sy * task.size.width + sx)];
          const Region& r = result.superpixels.regions[label - 1];
          const double mean = static_cast<double>(r.sum_value[c]) / static_cast<double>(r.area);
          wrong += out.sample(c, x, y) != static_cast<int>(mean + 0.5);
        }
      }
    }
    EXPECT_EQ(wrong, 0u) << name_of(format);
  }
}

TEST(SlicOutput, RecordsStopAtTheCapacity) {
  const GuardedFrame picture = kScene.frame();
  const SlicResult all = run_slic_on_cpu(1, picture.frame(), kScene.params());
  for (const uint32_t capacity : {0u, 1u, 40u}) {
    const SlicResult some =
        run_slic_on_cpu(2, picture.frame(), kScene.params(), {.capacity = capacity});
    EXPECT_EQ(some.total, all.total);
    EXPECT_EQ(difference(some.superpixels, all.superpixels, kScene.size.width), "");
    EXPECT_TRUE(some.intact);
  }
}

TEST(SlicOutput, TheReportsMethodIsForCuda) {
  const GuardedFrame picture = kScene.frame();
  SlicParams params = kScene.params();
  params.method = SlicMethod::ece1782;
  try {
    run_slic_on_cpu(1, picture.frame(), params);
    FAIL() << "the CPU has no such method";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("CUDA"), std::string::npos);
  }
}

TEST(SlicOutput, RefusesWhatIsNoPicture) {
  const GuardedFrame labels(PixelFormat::labels32, {16, 16});
  EXPECT_THROW(run_slic_on_cpu(1, labels.frame(), {}), InputError);
}

}  // namespace
}  // namespace regions
