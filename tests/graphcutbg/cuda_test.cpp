// graphcutbg on CUDA against the CPU, bit for bit: masks, outputs, reports and models, frame after
// frame.
#include <gtest/gtest.h>

#include "gpu/runtime/cuda_backend.hpp"
#include "tests/cclabel/cuda_case.hpp"
#include "tests/graphcutbg/scene.hpp"

namespace regions {
namespace {

class GraphCutCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    plain_ = make_cuda_backend();
    entry_ = std::make_unique<Backend::Entry>(*plain_);
    backend_ = std::make_shared<PoisonedBackend>(plain_);
    queue_ = backend_->make_queue();
  }
  void TearDown() override {
    algorithm_.reset();
    queue_.reset();
    backend_.reset();
    entry_.reset();
  }

  void configure(const Clip& clip, const GraphCutBgParams& params) {
    algorithm_ = as_graph_cut(make_algorithm<GraphCutBgParams, BackendKind::cuda>(backend_));
    algorithm_->prepare(params);
    algorithm_->configure({.in = layout_of(clip.format),
                           .size = clip.size,
                           .color = clip.color,
                           .has_output = true,
                           .slots = 1});
  }

  void expect_same(const Shot& cpu, const GuardedFrame& in, const ConstFrame& mask,
                   const Clip& clip, const GraphCutBgParams& params, bool in_place,
                   const std::string& name) {
    DeviceFrame picture(*backend_, *queue_, clip.format, clip.size, clip.padding, clip.color);
    DeviceFrame out(*backend_, *queue_, output_format(params, clip.format), clip.size, 5,
                    clip.color);
    DeviceFrame found(*backend_, *queue_, PixelFormat::gray8, clip.size, 3);
    const Size mask_size = mask.empty() ? clip.size : mask.size();
    DeviceFrame given(*backend_, *queue_, PixelFormat::gray8, mask_size, 1);
    picture.upload(in.frame());
    const DeviceFrame& shown = in_place ? picture : out;
    FrameTask task;
    task.in = picture.frame();
    task.out = shown.frame();
    task.foreground = found.frame().plane_as<uint8_t>(0, clip.size.width, clip.size.height);
    if (!mask.empty()) {
      given.upload(mask);
      task.mask = given.frame();
    }
    algorithm_->enqueue(task, params, *queue_);
    queue_->record();
    queue_->wait();

    bool intact = false;
    const GuardedFrame pixels = found.download(&intact);
    ASSERT_TRUE(intact) << name;
    int wrong = 0;
    for (int y = 0; y < clip.size.height; ++y) {
      for (int x = 0; x < clip.size.width; ++x) {
        const size_t i =
            static_cast<size_t>(y) * static_cast<size_t>(clip.size.width) + static_cast<size_t>(x);
        wrong += pixels.frame().sample(0, x, y) != cpu.mask[i];
      }
    }
    ASSERT_EQ(wrong, 0) << name;
    if (params.output != GraphCutOutput::none) {
      const GuardedFrame result = shown.download(&intact);
      EXPECT_TRUE(intact) << name;
      ASSERT_TRUE(result.same_pixels(cpu.out)) << name << (in_place ? " in place" : "");
    }
    const GraphCutResult report = algorithm_->result(0);
    EXPECT_EQ(report.foreground, cpu.report.foreground) << name;
    EXPECT_EQ(report.restarted, cpu.report.restarted) << name;
    EXPECT_EQ(report.cut.flow, cpu.report.cut.flow) << name;
    EXPECT_EQ(report.cut_value, cpu.report.cut_value) << name;
    EXPECT_TRUE(report.cut.exact) << name;
  }

  // Runs `frames` of the clip on both; `change(i, clip, params)` may alter them before each.
  template <class Change>
  void compare(Clip clip, GraphCutBgParams params, int frames, const std::string& name,
               Change change, const ConstFrame& mask = {}) {
    params.verify = true;
    Camera camera(clip, params);
    configure(clip, params);
    for (int i = 0; i < frames; ++i) {
      change(i, clip, params);
      camera.params = params;
      const GuardedFrame in = clip.frame(i);
      const Shot shot = camera.shoot(in.frame(), mask);
      const bool paints =
          params.output == GraphCutOutput::overlay || params.output == GraphCutOutput::replace;
      ASSERT_NO_FATAL_FAILURE(expect_same(shot, in, mask, clip, params, paints && i % 2 == 1,
                                          name + ", frame " + std::to_string(i)));
    }
    EXPECT_EQ(camera.algorithm().state(), algorithm_->state()) << name;
  }
  void compare(const Clip& clip, const GraphCutBgParams& params, int frames,
               const std::string& name) {
    compare(clip, params, frames, name, [](int, Clip&, GraphCutBgParams&) {});
  }

  std::shared_ptr<Backend> plain_;
  std::unique_ptr<Backend::Entry> entry_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<GraphCutBg> algorithm_;
};

TEST_F(GraphCutCuda, EveryFormatAndOutput) {
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format == PixelFormat::labels32) continue;
    for (const GraphCutOutput output :
         {GraphCutOutput::overlay, GraphCutOutput::mask, GraphCutOutput::cutout,
          GraphCutOutput::replace, GraphCutOutput::none}) {
      GraphCutBgParams params;
      params.output = output;
      params.feather = 2;
      const bool limited = f % 2 == 1;
      const Clip clip{
          .size = {67, 45}, .format = format, .color = {YuvMatrix::bt709, !limited}, .padding = 4};
      compare(clip, params, 6, std::string(name_of(format)) + " " + std::to_string(int(output)));
    }
  }
}

// NV12 in whole words is read four pixels of two rows at a time.
TEST_F(GraphCutCuda, Nv12OfEveryAlignment) {
  for (const Size size : {Size{4, 2}, {132, 1}, {128, 65}, {2052, 7}, {130, 64}}) {
    for (const bool full_range : {true, false}) {
      for (const int padding : {0, 2, 4}) {
        const Clip clip{.size = size,
                        .format = PixelFormat::nv12,
                        .color = {YuvMatrix::bt709, full_range},
                        .padding = padding};
        compare(clip, {}, 3, std::to_string(size.width) + "x" + std::to_string(size.height));
      }
    }
  }
}

TEST_F(GraphCutCuda, ParametersThatChangeWhilePlaying) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    GraphCutBgParams params;
    params.neighbours = neighbours;
    params.output = GraphCutOutput::replace;
    compare({.size = {130, 70}, .format = PixelFormat::nv12}, params, 30, "changing",
            [](int i, Clip& clip, GraphCutBgParams& p) {
              p.replace_with = i % 3 == 0 ? Replacement::blur : Replacement::color;
              p.blur = 2 + i;
              p.feather = i % 5;
              p.warm_start = i > 10;
              p.freeze = i == 20;
              p.foreground_colors = i > 5;
              p.sigma = i > 15 ? 9 : 0;
              if (i == 18) clip.gain = 1.3;  // the light
            });
  }
}

TEST_F(GraphCutCuda, ACameraThatJumps) {
  GraphCutBgParams params;
  params.output = GraphCutOutput::mask;
  compare({.size = {96, 64}, .empty = true}, params, 34, "jump",
          [](int i, Clip& clip, GraphCutBgParams&) {
            clip.other = i >= 16;
            clip.gain = i >= 30 ? 0.5 : 1;
          });
}

TEST_F(GraphCutCuda, MasksPicturesAndStoredModels) {
  const Clip clip{.size = {80, 60}};
  for (const Size size : {clip.size, Size{1, 1}, Size{13, 9}, Size{160, 45}}) {
    GuardedFrame mask(PixelFormat::gray8, size);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        mask.frame().set_sample(0, x, y, (7 * x + 3 * y) % 256);
      }
    }
    for (const GraphCutSource source : {GraphCutSource::mask, GraphCutSource::both}) {
      GraphCutBgParams params;
      params.source = source;
      compare(
          clip, params, 5, "mask " + std::to_string(size.width),
          [](int, Clip&, GraphCutBgParams&) {}, mask.frame());
    }
  }

  GraphCutBgParams params;
  params.output = GraphCutOutput::replace;
  params.replace_with = Replacement::image;
  Camera camera(clip, params);
  configure(clip, params);
  EXPECT_TRUE(algorithm_->state().empty());
  Clip shown = clip, empty = clip;
  shown.other = true;
  empty.empty = true;
  const GuardedFrame picture = shown.frame(3), background = empty.frame(9);
  for (GraphCutBg* each : {&camera.algorithm(), algorithm_.get()}) {
    each->set_picture(GraphCutPicture::replacement, picture.frame());
    each->set_picture(GraphCutPicture::background, background.frame());
    each->set_picture(GraphCutPicture::exclusion, shown.frame(30).frame());
  }
  const auto both = [&](int i) {
    const GuardedFrame in = clip.frame(i);
    expect_same(camera.shoot(in.frame()), in, {}, clip, params, false, std::to_string(i));
  };
  for (int i = 0; i < 4; ++i) both(i);
  // Models travel between backends.
  const auto from_cpu = camera.algorithm().state();
  camera.algorithm().reset();
  algorithm_->reset();
  both(4);
  algorithm_->restore(from_cpu);
  camera.algorithm().restore(algorithm_->state());
  both(5);
}

TEST_F(GraphCutCuda, OddSizes) {
  for (const Size size : {Size{1, 1}, Size{1, 40}, Size{40, 1}, Size{33, 9}, Size{257, 65}}) {
    compare({.size = size, .format = PixelFormat::i420}, {}, 4,
            std::to_string(size.width) + "x" + std::to_string(size.height));
  }
}

TEST_F(GraphCutCuda, FullHd) {
  GraphCutBgParams params;
  params.output = GraphCutOutput::mask;
  compare({.size = {1920, 1080}, .format = PixelFormat::nv12}, params, 4, "1080p");
}

}  // namespace
}  // namespace regions
