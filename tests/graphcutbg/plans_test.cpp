// What parameters come to, worked out by hand; what is refused; stored models and users' pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/graphcutbg/composite.hpp"
#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/stored_model.hpp"
#include "tests/core/complaint.hpp"
#include "tests/pictures/guarded.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions::graphcutbg {
namespace {

TEST(GraphCutPlans, OfTheScene) {
  GraphCutBgParams params;
  params.var_threshold = 12;
  params.learning_rate = 0.25;
  params.history = 500;
  params.sigma = 0;
  ScenePlan plan = scene_plan_of(params);
  EXPECT_EQ(plan.threshold, 6 * 64);   // half the squared distance, of 64 a nat
  EXPECT_EQ(plan.match, 12 * 16);      // of 1/16
  EXPECT_EQ(plan.min_alpha, 43u);      // 0.325 / 500 of 65536 is 42.6
  EXPECT_EQ(plan.rate, 1024);          // of 4096
  EXPECT_EQ(plan.contrast_scale, 0u);  // the frame's own
  EXPECT_FALSE(plan.freezes);
  params.var_threshold = 4;
  params.history = 10000;
  params.sigma = 10;
  params.freeze = true;
  plan = scene_plan_of(params);
  EXPECT_EQ(plan.threshold, 128);
  EXPECT_EQ(plan.match, 9 * 16) << "three deviations at least";
  EXPECT_EQ(plan.min_alpha, 2u) << "0.325 / 10000 of 65536 is 2.1";
  EXPECT_EQ(plan.contrast_scale, 5242u);  // 16 * 65536 / (2 * 10^2)
  EXPECT_TRUE(plan.freezes);
  params.history = 1;
  params.sigma = 0.5;
  plan = scene_plan_of(params);
  EXPECT_EQ(plan.min_alpha, 21299u);
  EXPECT_EQ(plan.contrast_scale, 65536u * 16) << "16 steps for each unit at most";
  params.sigma = 255;
  EXPECT_EQ(scene_plan_of(params).contrast_scale, 8u);
}

TEST(GraphCutPlans, OfTheEnergy) {
  GraphCutBgParams params;
  params.lambda = 5;
  params.shadow = 0.25;
  params.shadow_darkest = 0.75;
  params.mask_foreground = 201;
  params.mask_background = 17;
  const EnergyPlan plan = energy_plan_of(params, {64, 32}, {16, 64});
  for (int i = 0; i < 128; ++i) {
    ASSERT_EQ(plan.link[i], std::max(38L, std::lround(320 * std::exp(-i / 16.0)))) << i;
  }
  EXPECT_EQ(plan.link[128], 38) << "contrasts beyond the table";
  params.source = GraphCutSource::mask;
  EXPECT_EQ(energy_plan_of(params, {64, 32}).link[128], 0) << "a mask is refined along edges";
  params.source = GraphCutSource::image;
  EXPECT_EQ(plan.shadow, 64);
  EXPECT_EQ(plan.darkest, 192);
  EXPECT_EQ(plan.mask_foreground, 201);
  EXPECT_EQ(plan.mask_background, 17);
  EXPECT_EQ(plan.mask_scale.across, uint64_t{1} << 30);
  EXPECT_EQ(plan.mask_scale.down, uint64_t{2} << 32);
  struct Case {
    GraphCutSource source;
    bool learns_colors, image, mask, colors;
  };
  using enum GraphCutSource;
  for (const auto& [source, learns, uses_image, uses_mask, uses_colors] :
       {Case{image, false, true, false, false},
        {image, true, true, false, true},
        {mask, false, false, true, false},
        {mask, true, false, true, false},
        {both, false, true, true, false},
        {both, true, true, true, true}}) {
    params.source = source;
    params.foreground_colors = learns;
    const EnergyPlan uses = energy_plan_of(params, {8, 8});
    EXPECT_EQ(uses.uses_image, uses_image) << static_cast<int>(source) << learns;
    EXPECT_EQ(uses.uses_mask, uses_mask) << static_cast<int>(source) << learns;
    EXPECT_EQ(uses.uses_colors, uses_colors) << static_cast<int>(source) << learns;
  }
}

TEST(GraphCutPlans, OfTheCut) {
  GraphCutBgParams params;
  CutLimits limits = cut_limits_of(params, false);
  EXPECT_EQ(limits.max_iterations, 0);
  EXPECT_EQ(limits.time_budget_us, 0) << "-1 is for the element to know";
  EXPECT_FALSE(limits.warm);
  params.max_iterations = 7;
  params.time_budget = 1;
  params.warm_start = true;
  limits = cut_limits_of(params, false);
  EXPECT_EQ(limits.max_iterations, 7);
  EXPECT_EQ(limits.time_budget_us, 1);
  EXPECT_TRUE(limits.warm);
  EXPECT_FALSE(cut_limits_of(params, true).warm) << "nothing to start from";
}

TEST(GraphCutPlans, OutputsAreWhatTheParametersSay) {
  using enum GraphCutOutput;
  const std::pair<GraphCutOutput, Output> outputs[] = {{overlay, Output::drawn_on},
                                                       {mask, Output::mask},
                                                       {cutout, Output::cutout},
                                                       {replace, Output::drawn_on},
                                                       {none, Output::untouched}};
  for (const auto& [wanted, output] : outputs) {
    GraphCutBgParams params;
    params.output = wanted;
    EXPECT_EQ(output_of(params), output) << static_cast<int>(wanted);
  }
}

TEST(GraphCutRefusals, NameWhatIsWrong) {
  const regions::Setup setup{.in = layout_of(PixelFormat::gray8), .size = {8, 6}, .slots = 2};
  const auto configure = [](regions::Setup wanted) {
    return complaint([&] { expects_cuttable(wanted); });
  };
  EXPECT_EQ(configure(setup), "");
  EXPECT_EQ(configure({.size = {1, 1}}), "");
  for (const regions::Setup& empty :
       {regions::Setup{.size = {0, 6}}, {.size = {8, 0}}, {.size = {8, 6}, .slots = 0}}) {
    EXPECT_EQ(configure(empty),
              "a cut requires a picture of at least 1x1 pixels and at least one slot");
  }
  EXPECT_EQ(configure({.in = layout_of(PixelFormat::labels32), .size = {8, 6}}),
            "a label image cannot be cut");

  const GuardedFrame frame(PixelFormat::gray8, {8, 6}), narrow(PixelFormat::gray8, {7, 6}),
      color(PixelFormat::rgb, {8, 6}), large(PixelFormat::gray8, {65535, 1});
  GraphCutBgParams params;
  FrameTask task{.in = frame.frame()};
  const auto enqueue = [&] { return complaint([&] { expects_cuttable(setup, task, params); }); };
  EXPECT_EQ(enqueue(), "");
  task.slot = 1;
  EXPECT_EQ(enqueue(), "");
  for (const int slot : {-1, 2}) {
    task.slot = slot;
    EXPECT_EQ(enqueue(), "there is no slot " + std::to_string(slot));
  }
  task.slot = 0;
  for (const GuardedFrame* other : {&narrow, &color}) {
    task.in = other->frame();
    EXPECT_EQ(enqueue(), "the frame differs from the configured size or format");
  }
  task.in = frame.frame();
  GuardedFrame out(PixelFormat::gray8, {8, 6});
  task.out = out.frame();
  EXPECT_EQ(enqueue(), "the frame has an output, but none was configured");
  task.out = {};
  params.source = GraphCutSource::mask;
  EXPECT_EQ(enqueue(), "source=mask, but no mask is attached to the frame");
  params.source = GraphCutSource::both;
  EXPECT_EQ(enqueue(), "");
  for (const GraphCutSource source : {GraphCutSource::both, GraphCutSource::mask}) {
    params.source = source;
    for (const GuardedFrame* mask : {&frame, &narrow, &large}) {
      task.mask = mask->frame();
      EXPECT_EQ(enqueue(), "");
    }
    task.mask = color.frame();
    EXPECT_EQ(enqueue(),
              "invalid mask of 8x6 pixels; expected one channel and sides from 1 to 65535");
    for (const Size size : {Size{0, 6}, {8, 0}, {65536, 6}, {8, 65536}}) {
      task.mask = frame.frame();
      task.mask.width = size.width;
      task.mask.height = size.height;
      EXPECT_EQ(enqueue(), "invalid mask of " + std::to_string(size.width) + "x" +
                               std::to_string(size.height) +
                               " pixels; expected one channel and sides from 1 to 65535");
    }
  }
  params.source = GraphCutSource::image;
  EXPECT_EQ(enqueue(), "") << "a mask that is not read";
  uint8_t pixel = 0;
  task.foreground = {&pixel, 8, 6, 8};
  EXPECT_EQ(enqueue(), "");
  task.foreground.width = 7;
  EXPECT_EQ(enqueue(), "the foreground mask must have the size of the frame");
}

TEST(GraphCutState, WhatIsNoModelIsRefused) {
  static constexpr Size kSize{3, 2};
  constexpr size_t kPixels = 6;
  std::vector<std::byte> good(state_bytes(kSize));
  StateHeader header;
  header.width = 3;
  header.height = 2;
  std::memcpy(good.data(), &header, sizeof header);
  const auto words = [](std::vector<std::byte>& state) {
    return reinterpret_cast<uint32_t*>(state.data() + sizeof(StateHeader));
  };
  Model model;
  for (Mode& mode : model.mode) {
    mode.weight = 1;
    mode.var_luma = 1 << 15;
    mode.var_chroma = 1;
  }
  for (size_t i = 0; i < kPixels; ++i) model.store(words(good) + i, kPixels);
  const auto answer = [&](std::span<const std::byte> state, Size size) {
    return complaint([&] { checked_header(state, size); });
  };
  EXPECT_EQ(answer(good, kSize), "");
  EXPECT_EQ(checked_header(good, kSize).width, 3);
  EXPECT_EQ(answer(good, {2, 3}),
            "the stored background model is for 3x2 pixels; the frames have 2x3");
  for (const size_t bytes : {size_t{0}, sizeof header - 1, sizeof header, good.size() - 1}) {
    EXPECT_EQ(answer({good.data(), bytes}, kSize), "the stored background model is truncated")
        << bytes;
  }
  std::vector<std::byte> longer = good;
  longer.push_back({});
  EXPECT_EQ(answer(longer, kSize), "the stored background model has extra bytes at its end");
  StateHeader other = header;
  other.magic ^= 1;
  std::memcpy(longer.data(), &other, sizeof other);
  EXPECT_EQ(answer(longer, kSize), "this is not a stored background model");
  other = header;
  other.version = 7;
  std::memcpy(longer.data(), &other, sizeof other);
  EXPECT_EQ(answer(longer, kSize), "the stored background model has version 7; expected version 1");
  // Each mode of the first and the last pixel without one of its variances.
  for (const size_t i : {size_t{0}, kPixels - 1}) {
    for (Mode& mode : model.mode) {
      for (int32_t Mode::*part : {&Mode::var_luma, &Mode::var_chroma}) {
        const int32_t kept = mode.*part;
        std::vector<std::byte> state = good;
        mode.*part = 0;
        model.store(words(state) + i, kPixels);
        EXPECT_EQ(answer(state, kSize), "the stored background model is damaged");
        mode.weight = 0;
        model.store(words(state) + i, kPixels);
        EXPECT_EQ(answer(state, kSize), "") << "no such mode";
        mode.weight = 1;
        mode.*part = kept;
      }
    }
  }
}

// Pictures of users come in any format and leave in the frames'.
TEST(GraphCutPictures, AreInTheFramesComponents) {
  constexpr Size kSize{5, 3};
  GuardedFrame picture(PixelFormat::bgr, kSize, 2);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        picture.frame().set_sample(
            c, x, y,
            static_cast<int>(
                regions::hash(static_cast<uint32_t>(x + 5 * y), static_cast<uint32_t>(c)) % 256));
      }
    }
  }
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    for (const bool full : {true, false}) {
      regions::Setup setup{.in = layout_of(static_cast<PixelFormat>(f)), .size = kSize};
      setup.color = {YuvMatrix::bt709, full};
      const auto colors = background_of(std::as_const(picture).frame(), setup);
      const auto components = replacement_of(std::as_const(picture).frame(), setup);
      ASSERT_EQ(colors.size(), 15u);
      ASSERT_EQ(components.size(), 45u);
      GuardedFrame pixel(setup.in.format, {1, 1}, 0, setup.color);
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 0; x < kSize.width; ++x) {
          const auto at = static_cast<size_t>(5 * y + x);
          const auto level = [&](int c) {
            return static_cast<uint8_t>(picture.frame().sample(c, x, y));
          };
          int component[3];
          encoder_of(setup.in, setup.color).encode({level(0), level(1), level(2)}, component);
          for (int c = 0; c < setup.in.channels; ++c) {
            pixel.frame().set_sample(c, 0, 0, component[c]);
            ASSERT_EQ(components[static_cast<size_t>(15 * c) + at], component[c])
                << name_of(setup.in.format) << " " << c;
          }
          ASSERT_EQ(colors[at],
                    static_cast<uint32_t>(color_at(std::as_const(pixel).frame(), 0, 0).packed()))
              << name_of(setup.in.format) << " " << at;
        }
      }
    }
  }
}

TEST(GraphCutPictures, ExclusionBeginsAtTheMiddle) {
  const regions::Setup setup{.in = layout_of(PixelFormat::nv12), .size = {4, 1}};
  GuardedFrame picture(PixelFormat::gray8, {4, 1});
  const int levels[] = {0, 127, 128, 255};
  for (int x = 0; x < 4; ++x) picture.frame().set_sample(0, x, 0, levels[x]);
  const auto excluded = exclusion_of(std::as_const(picture).frame(), setup);
  EXPECT_EQ(excluded, (std::vector<uint8_t>{0, 0, 1, 1}));
  const auto answers = [&](const ConstFrame& given, const char* text) {
    EXPECT_EQ(complaint([&] { exclusion_of(given, setup); }), text);
    EXPECT_EQ(complaint([&] { background_of(given, setup); }), text);
    EXPECT_EQ(complaint([&] { replacement_of(given, setup); }), text);
  };
  const GuardedFrame tall(PixelFormat::gray8, {4, 2}), labels(PixelFormat::labels32, {4, 1});
  answers(tall.frame(), "the picture has 4x2 pixels; the frames have 4x1");
  answers(labels.frame(), "a label image cannot be used as a picture");
}

}  // namespace
}  // namespace regions::graphcutbg
