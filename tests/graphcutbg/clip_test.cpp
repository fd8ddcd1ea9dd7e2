// Whole frames on the CPU: what is found, what is learnt, what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "cpu/backend.hpp"
#include "tests/graphcutbg/scene.hpp"

namespace regions {
namespace {

GraphCutBgParams masks() {
  GraphCutBgParams params;
  params.output = GraphCutOutput::mask;
  params.verify = true;
  return params;
}

TEST(GraphCutClip, FindsWhatMovesAndProvesTheCut) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    GraphCutBgParams params = masks();
    params.neighbours = neighbours;
    Camera camera({}, params);
    const Shot first = camera.shoot(0);
    EXPECT_EQ(first.report.foreground, 0u) << "the first frame is the background";
    for (int i = 1; i < 40; ++i) {
      const Shot shot = camera.shoot(i);
      ASSERT_TRUE(shot.intact);
      EXPECT_TRUE(shot.report.cut.exact);
      EXPECT_EQ(shot.report.cut.flow, shot.report.cut_value) << "frame " << i;
      if (i > 5) {
        EXPECT_LE(wrong_pixels(camera.clip, i, shot.mask), 30) << "frame " << i;
      }
    }
  }
}

TEST(GraphCutClip, ThreadsAndWarmStartsChangeNothing) {
  GraphCutBgParams params = masks();
  Camera one({}, params, 1), two({}, params, 2);
  params.warm_start = true;
  Camera warm({}, params, 2);
  for (int i = 0; i < 12; ++i) {
    const Shot shot = one.shoot(i);
    EXPECT_EQ(shot.mask, two.shoot(i).mask) << "frame " << i;
    EXPECT_EQ(shot.mask, warm.shoot(i).mask) << "frame " << i;
  }
  EXPECT_EQ(one.algorithm().state(), two.algorithm().state());
}

TEST(GraphCutClip, EveryFormatFindsTheBlock) {
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format == PixelFormat::labels32) continue;
    for (const Size size : {Size{64, 48}, Size{37, 29}}) {
      Clip clip{.size = size, .format = format, .padding = 5};
      Camera camera(clip, masks());
      Shot shot{{}, GuardedFrame(PixelFormat::gray8, size), {}, false};
      for (int i = 0; i < 10; ++i) shot = camera.shoot(i);
      EXPECT_TRUE(shot.intact);
      EXPECT_LE(wrong_pixels(clip, 9, shot.mask), 60) << name_of(format) << " " << size.width;
    }
  }
}

TEST(GraphCutClip, AConstantClipStaysEmpty) {
  Clip clip{.empty = true, .noise = 0};
  Camera camera(clip, masks());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(camera.shoot(i).report.foreground, 0u);
}

TEST(GraphCutClip, SpecksGoAndThinThingsStay) {
  Clip clip{.empty = true};
  Camera camera(clip, masks());
  for (int i = 0; i < 20; ++i) camera.shoot(i);
  GuardedFrame frame = clip.frame(20);
  std::vector<uint8_t> thin(clip.size.area());
  const auto paint = [&](int x, int y, bool stays) {
    for (int c = 0; c < 3; ++c) frame.frame().set_sample(c, x, y, c == 1 ? 250 : 5);
    thin[static_cast<size_t>(y) * static_cast<size_t>(clip.size.width) + static_cast<size_t>(x)] =
        stays ? 255 : 0;
  };
  for (int i = 0; i < 10; ++i) paint(4 + 6 * i, 5, false);  // noise: pixels and pairs
  for (int i = 0; i < 10; ++i) paint(4 + 6 * i + i % 2, 10 - i % 3 / 2, false);
  for (int i = 0; i < 4; ++i) paint(6 * i + 7, 16, false), paint(6 * i + 8, 16, false);
  for (int i = 0; i < 24; ++i)
    paint(20 + i, 22, true), paint(50, 20 + i, true);  // a mast and a wire
  for (int i = 0; i < 8; ++i) paint(6 + i, 40, true);  // a short one
  EXPECT_EQ(camera.shoot(frame.frame()).mask, thin);
}

TEST(GraphCutClip, TinyPicturesWork) {
  for (const Size size : {Size{1, 1}, Size{1, 9}, Size{9, 1}, Size{2, 2}}) {
    Camera camera({.size = size, .empty = true}, masks());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(camera.shoot(i).report.cut.exact);
  }
}

TEST(GraphCutClip, SuddenLightIsFollowed) {
  for (const double gain : {0.7, 1.35}) {
    Clip clip;
    clip.noise = 2;
    Camera camera(clip, masks());
    for (int i = 0; i < 30; ++i) camera.shoot(i);
    clip.gain = gain;
    Shot shot = camera.shoot(clip.frame(30).frame());
    for (int i = 31; i < 36; ++i) shot = camera.shoot(clip.frame(i).frame());
    EXPECT_LE(wrong_pixels(clip, 35, shot.mask), 120) << gain;
  }
}

TEST(GraphCutClip, ACameraThatJumpsStartsAnew) {
  Clip clip;
  clip.empty = true;
  Camera camera(clip, masks());
  for (int i = 0; i < 20; ++i) camera.shoot(i);
  clip.other = true;
  int restarts = 0, most = 0;
  for (int i = 20; i < 40; ++i) {
    const Shot shot = camera.shoot(clip.frame(i).frame());
    restarts += shot.report.restarted;
    most = std::max(most, static_cast<int>(shot.report.foreground));
  }
  EXPECT_GT(most, static_cast<int>(clip.size.area() * 7 / 10)) << "the jump was seen";
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(camera.shoot(clip.frame(40).frame()).report.foreground, 0u);
}

TEST(GraphCutClip, WhatStandsStillBecomesBackgroundWithinHistory) {
  GraphCutBgParams params = masks();
  params.history = 60;
  Clip clip;
  clip.empty = true;
  Camera camera(clip, params);
  for (int i = 0; i < 80; ++i) camera.shoot(i);
  clip.empty = false;
  const auto still = [&](int i) {  // frame 3's block, other noise
    Clip now = clip;
    now.seed = 100 + static_cast<uint32_t>(i);
    return camera.shoot(now.frame(3).frame());
  };
  EXPECT_GT(still(0).report.foreground, 200u);
  for (int i = 1; i < 20; ++i) still(i);
  EXPECT_GT(still(20).report.foreground, 200u) << "too early";
  for (int i = 21; i < 75; ++i) still(i);
  EXPECT_EQ(still(75).report.foreground, 0u);
}

TEST(GraphCutClip, FreezeLearnsNothing) {
  Camera camera({}, masks());
  for (int i = 0; i < 10; ++i) camera.shoot(i);
  camera.params.freeze = true;
  const auto before = camera.algorithm().state();
  for (int i = 10; i < 13; ++i) camera.shoot(i);
  const auto after = camera.algorithm().state();
  // The scene's counters go on; the words do not change.
  ASSERT_EQ(before.size(), after.size());
  EXPECT_TRUE(std::equal(before.begin() + 64, before.end(), after.begin() + 64));
}

TEST(GraphCutClip, StoredModelsGoOnWhereTheyWere) {
  Camera camera({}, masks()), other({}, masks());
  EXPECT_TRUE(camera.algorithm().state().empty());
  for (int i = 0; i < 15; ++i) camera.shoot(i);
  auto state = camera.algorithm().state();
  other.algorithm().restore(state);
  EXPECT_EQ(camera.shoot(15).mask, other.shoot(15).mask);

  Camera larger({.size = {65, 48}}, masks());
  EXPECT_THROW(larger.algorithm().restore(state), InputError);
  EXPECT_THROW(other.algorithm().restore(std::span(state).first(20)), InputError);
  EXPECT_THROW(other.algorithm().restore(std::span(state).first(state.size() - 1)), InputError);
  state[4] = std::byte{9};
  EXPECT_THROW(other.algorithm().restore(state), InputError) << "another version";
  EXPECT_EQ(camera.shoot(16).mask, other.shoot(16).mask) << "the model stayed as it was";
}

TEST(GraphCutClip, ResetForgets) {
  Camera camera({}, masks());
  for (int i = 0; i < 10; ++i) camera.shoot(i);
  camera.algorithm().reset();
  EXPECT_EQ(camera.shoot(10).report.foreground, 0u);
  Camera fresh({}, masks());
  fresh.shoot(10);
  EXPECT_EQ(camera.shoot(11).mask, fresh.shoot(11).mask);
}

TEST(GraphCutClip, SlotsOnQueuesOfTheirOwnKeepTheOrder) {
  Clip clip{.size = {160, 120}};
  constexpr int kFrames = 24, kSlots = 3;
  Camera serial(clip, masks());
  const auto backend = make_cpu_backend(2);
  const auto algorithm = as_graph_cut(make_algorithm<GraphCutBgParams, BackendKind::cpu>(backend));
  algorithm->configure(
      {.in = layout_of(clip.format), .size = clip.size, .has_output = true, .slots = kSlots});
  std::vector<std::unique_ptr<Queue>> queues;
  for (int s = 0; s < kSlots; ++s) queues.push_back(backend->make_queue());
  std::vector<GuardedFrame> frames;
  std::vector<std::vector<uint8_t>> found(kFrames, std::vector<uint8_t>(clip.size.area()));
  for (int i = 0; i < kFrames; ++i) frames.push_back(clip.frame(i));
  GraphCutBgParams params = masks();
  params.output = GraphCutOutput::none;
  for (int i = 0; i < kFrames; ++i) {
    FrameTask task;
    task.slot = i % kSlots;
    Queue& queue = *queues[static_cast<size_t>(task.slot)];
    if (i >= kSlots) queue.wait();
    task.in = frames[static_cast<size_t>(i)].frame();
    task.foreground = {found[static_cast<size_t>(i)].data(), clip.size.width, clip.size.height,
                       clip.size.width};
    algorithm->enqueue(task, params, queue);
    queue.record();
  }
  for (auto& queue : queues) queue->wait();
  for (int i = 0; i < kFrames; ++i) {
    EXPECT_EQ(serial.shoot(i).mask, found[static_cast<size_t>(i)]) << "frame " << i;
  }
}

}  // namespace
}  // namespace regions
