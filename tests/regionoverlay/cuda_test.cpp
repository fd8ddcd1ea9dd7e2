// Drawing on CUDA against the CPU, bit for bit: every format, size and parameter, in place and not.
#include <gtest/gtest.h>

#include "core/drawing/regionoverlay.hpp"
#include "cpu/drawing/drawing.hpp"
#include "gpu/runtime/cuda_backend.hpp"
#include "tests/cclabel/cuda_case.hpp"
#include "tests/regionoverlay/scene.hpp"

namespace regions {
namespace {

class RegionOverlayCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    backend_ = std::make_shared<PoisonedBackend>(make_cuda_backend());
    entry_ = std::make_unique<Backend::Entry>(*backend_);
    queue_ = backend_->make_queue();
    algorithm_ = make_algorithm<RegionOverlayParams, BackendKind::cuda>(backend_);
  }
  void TearDown() override {
    algorithm_.reset();
    queue_.reset();
    entry_.reset();
  }

  // Draws twice with one workspace, into another picture and in place.
  void expect_cpu(PixelFormat format, const Scene& scene, const DrawingParams& drawing,
                  PixelFormat label_format = PixelFormat::labels32, int padding = 3) {
    const std::string name = describe(format, scene.size, drawing);
    const GuardedFrame in = noisy_picture(format, scene.size);
    const GuardedFrame labels = labels_as(label_format, scene);
    GuardedFrame expected(format, scene.size);
    std::vector<uint32_t> memory(ink_bytes(scene.size) / sizeof(uint32_t));
    draw(in.frame(), expected.frame(), LabelView(labels.frame()), scene.regions, drawing,
         ink_in(memory.data(), scene.size), Workers(1));

    DeviceFrame from(*backend_, *queue_, format, scene.size, padding);
    DeviceFrame to(*backend_, *queue_, format, scene.size, padding);
    DeviceFrame map(*backend_, *queue_, label_format, labels.frame().size(), 4);
    from.upload(in.frame());
    map.upload(labels.frame());
    configure(format, scene, map.frame().layout);
    for (const DeviceFrame* out : {&to, &from}) {
      enqueue(scene, drawing, map.frame(), from.frame(), out->frame());
      bool intact = false;
      const GuardedFrame result = out->download(&intact);
      EXPECT_TRUE(intact) << name;
      ASSERT_TRUE(result.same_pixels(expected)) << name << (out == &from ? " in place" : "");
    }
  }

 private:
  static GuardedFrame labels_as(PixelFormat format, const Scene& scene) {
    GuardedFrame labels(format, scene.size);
    const auto bytes = layout_of(format).sample_bytes;
    for (int y = 0; y < scene.size.height; ++y) {
      for (int x = 0; x < scene.size.width; ++x) {
        std::memcpy(labels.frame().at(0, x, y), &scene.label_map()(x, y), bytes);
      }
    }
    return labels;
  }

  void configure(PixelFormat format, const Scene& scene, const Layout& mask) {
    regions::Setup setup;
    setup.in = setup.out = layout_of(format);
    setup.has_output = setup.has_mask = true;
    setup.mask = mask;
    setup.size = scene.size;
    setup.max_regions = 1 << 16;
    algorithm_->configure(setup);
  }

  void enqueue(const Scene& scene, const DrawingParams& drawing, const ConstFrame& labels,
               const ConstFrame& in, const Frame& out) {
    FrameTask task;
    task.in = in;
    task.out = out;
    task.mask = labels;
    task.attached = scene.regions.data();
    task.attached_count = static_cast<uint32_t>(scene.regions.size());
    algorithm_->enqueue(task, {drawing}, *queue_);
    queue_->record();
    queue_->wait();
  }

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Backend::Entry> entry_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<Algorithm<RegionOverlayParams>> algorithm_;
};

TEST_F(RegionOverlayCuda, EveryFormat) {
  for (const PixelFormat format : drawable_formats()) {
    for (const Size size : {Size{131, 97}, Size{128, 64}}) {
      expect_cpu(format, make_scene(size, 12), {15, 0.4, 2});
      expect_cpu(format, make_scene(size, 12), {15, 0.4, 2}, PixelFormat::labels32, 16);
    }
  }
}

TEST_F(RegionOverlayCuda, EveryParameter) {
  for (const DrawingParams& params : scene_params()) {
    expect_cpu(PixelFormat::bgra, make_scene({231, 197}, 12, 1), params);
    expect_cpu(PixelFormat::nv12, make_scene({231, 197}, 3, 2), params);
    expect_cpu(PixelFormat::yuy2, make_scene({231, 197}, 0, 3), params);
  }
}

TEST_F(RegionOverlayCuda, EverySize) {
  for (const Size size : scene_sizes()) {
    expect_cpu(PixelFormat::i420, make_scene(size, 5, 3), {15, 0.6, 3});
    expect_cpu(PixelFormat::p010, make_scene(size, 5, 4), {15, 0.6, 1});
  }
}

TEST_F(RegionOverlayCuda, LabelsOfAnyWidth) {
  for (const PixelFormat labels : {PixelFormat::gray8, PixelFormat::gray16}) {
    expect_cpu(PixelFormat::rgb, make_scene({131, 97}, 12, 5), {15, 0.4, 2}, labels);
  }
}

TEST_F(RegionOverlayCuda, ThousandsOfRegionsOnALargePicture) {
  expect_cpu(PixelFormat::nv12, make_scene({1920, 1080}, 4096, 6), {15, 0.4, 2},
             PixelFormat::labels32, 0);
  expect_cpu(PixelFormat::nv12, make_scene({3840, 2160}, 20, 7), {11, 0.4, 2});
}

// More ink than the GPU stamps region by region.
TEST_F(RegionOverlayCuda, Crowds) {
  for (const DrawingParams& params : {DrawingParams{1, 0.4, 64}, {9, 0.4, 8}, {15, 0.4, 2}}) {
    expect_cpu(PixelFormat::i420, make_scene({641, 363}, 65536, 8), params);
  }
  expect_cpu(PixelFormat::rgb, make_scene({1920, 1080}, 4096, 9), {9, 0.4, 64});
}

}  // namespace
}  // namespace regions
