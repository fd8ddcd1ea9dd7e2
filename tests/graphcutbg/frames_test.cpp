// Frame after frame on each backend: the foreground that is found, the background that is learnt,
// stored models, and pictures that the user provides. Every result equals that of one CPU thread.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/faults.hpp"
#include "tests/core/error_message.hpp"
#include "tests/graphcutbg/scene.hpp"
#include "tests/pictures/backend_test.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

GraphCutBgParams masks() { return params_with(GraphCutOutput::mask); }

GuardedFrame white(Size size) {
  GuardedFrame picture(PixelFormat::gray8, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) picture.frame().set_sample(0, x, y, 255);
  }
  return picture;
}

std::vector<std::vector<uint8_t>> masks_of(Camera& camera, int first, int end) {
  std::vector<std::vector<uint8_t>> found;
  for (int i = first; i < end; ++i) found.push_back(camera.shoot(i).mask);
  return found;
}

// Compares a camera on a backend with one on a single CPU thread.
class GraphCutFrames : public BackendTest {
 protected:
  Camera on_backend(const Clip& clip, const GraphCutBgParams& params) {
    return is_cuda() ? Camera(clip, params, backend_) : Camera(clip, params, 3);
  }

  static void expect_same(const Shot& found, const Shot& wanted, GraphCutOutput output) {
    EXPECT_TRUE(found.intact);
    ASSERT_TRUE(found.mask == wanted.mask);
    ASSERT_TRUE(output == GraphCutOutput::none || found.out.same_pixels(wanted.out));
    EXPECT_EQ(found.report.foreground, wanted.report.foreground);
    EXPECT_EQ(found.report.change, wanted.report.change);
    EXPECT_EQ(found.report.restarted, wanted.report.restarted);
    EXPECT_EQ(found.report.cut.flow, wanted.report.cut.flow);
    EXPECT_EQ(found.report.cut_value, wanted.report.cut_value);
    EXPECT_TRUE(found.report.cut.exact);
  }

  // Runs `frames` frames of a clip. `change(i, clip, params)` may alter clip and parameters.
  template <class Change>
  void expect_cpu_results(Clip clip, GraphCutBgParams params, int frames, Change change,
                          const ConstFrame& mask = {}) {
    params.verify = true;
    Camera one(clip, params, 1), other = on_backend(clip, params);
    for (int i = 0; i < frames; ++i) {
      SCOPED_TRACE(testing::Message()
                   << name_of(clip.format) << " " << clip.size.width << "x" << clip.size.height
                   << ", output " << static_cast<int>(params.output) << ", frame " << i);
      change(i, clip, params);
      one.params = other.params = params;
      const GuardedFrame in = clip.frame(i);
      const bool draws = output_of(params) == Output::drawn_on;
      ASSERT_NO_FATAL_FAILURE(expect_same(other.shoot(in.frame(), mask, draws && i % 2 == 1),
                                          one.shoot(in.frame(), mask), params.output));
    }
    EXPECT_EQ(other.algorithm().state(), one.algorithm().state());
  }
  void expect_cpu_results(const Clip& clip, const GraphCutBgParams& params, int frames) {
    expect_cpu_results(clip, params, frames, [](int, Clip&, GraphCutBgParams&) {});
  }
};
TEST_ON_BACKENDS(GraphCutFrames);

TEST_P(GraphCutFrames, MovingBlock_IsForegroundAndCutIsExact) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    GraphCutBgParams params = masks();
    params.verify = true;
    params.neighbours = neighbours;
    Camera camera = on_backend({}, params);
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

TEST_P(GraphCutFrames, EveryFormat_MovingBlockIsForeground) {
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format == PixelFormat::labels32) continue;
    for (const Size size : {Size{64, 48}, Size{37, 29}}) {
      const Clip clip{
          .size = size, .format = format, .padding = 5 * layout_of(format).sample_bytes};
      Camera camera = on_backend(clip, masks());
      const Shot shot = camera.shoot(0, 10);
      EXPECT_TRUE(shot.intact);
      EXPECT_LE(wrong_pixels(clip, 9, shot.mask), 60) << name_of(format) << " " << size.width;
    }
  }
}

TEST_P(GraphCutFrames, ConstantScene_HasNoForeground) {
  Clip clip{.empty = true, .noise = 0};
  Camera camera = on_backend(clip, masks());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(camera.shoot(i).report.foreground, 0u);
}

TEST_P(GraphCutFrames, NoisePixelsAndThinLines_OnlyTheLinesAreForeground) {
  Clip clip{.empty = true};
  Camera camera = on_backend(clip, masks());
  camera.shoot(0, 20);
  GuardedFrame frame = clip.frame(20);
  std::vector<uint8_t> thin(clip.size.area());
  const auto paint = [&](int x, int y, bool stays) {
    for (int c = 0; c < 3; ++c) frame.frame().set_sample(c, x, y, c == 1 ? 250 : 5);
    thin[static_cast<size_t>(y) * static_cast<size_t>(clip.size.width) + static_cast<size_t>(x)] =
        stays ? 255 : 0;
  };
  for (int i = 0; i < 10; ++i) paint(4 + 6 * i, 5, false);  // noise: single pixels and pairs
  for (int i = 0; i < 10; ++i) paint(4 + 6 * i + i % 2, 10 - i % 3 / 2, false);
  for (int i = 0; i < 4; ++i) paint(6 * i + 7, 16, false), paint(6 * i + 8, 16, false);
  for (int i = 0; i < 24; ++i)
    paint(20 + i, 22, true), paint(50, 20 + i, true);  // a vertical and a horizontal line
  for (int i = 0; i < 8; ++i) paint(6 + i, 40, true);  // a short line
  EXPECT_EQ(camera.shoot(frame.frame()).mask, thin);
}

TEST_P(GraphCutFrames, SuddenLightChange_OnlyTheMovingBlockIsForeground) {
  for (const double gain : {0.7, 1.35}) {
    Clip clip;
    clip.noise = 2;
    Camera camera = on_backend(clip, masks());
    camera.shoot(0, 30);
    clip.gain = gain;
    camera.clip = clip;
    const Shot shot = camera.shoot(30, 36);
    EXPECT_LE(wrong_pixels(clip, 35, shot.mask), 120) << gain;
  }
}

TEST_P(GraphCutFrames, CameraMovesSuddenly_NothingIsForegroundAndModelRestartsOnce) {
  Clip clip;
  clip.empty = true;
  Camera camera = on_backend(clip, masks());
  camera.shoot(0, 20);
  clip.other = true;
  int restarts = 0;
  for (int i = 20; i < 40; ++i) {
    const Shot shot = camera.shoot(clip.frame(i).frame());
    restarts += shot.report.restarted;
    EXPECT_EQ(shot.report.foreground, 0u) << i;
    EXPECT_EQ(shot.report.change != SceneChange::none, i <= 28) << i;
  }
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(camera.shoot(clip.frame(40).frame()).report.foreground, 0u);
}

// What happens to the camera of a scene with much texture.
enum class Mishap { none, dimmed, infrared, covered, moved, defocused, frozen };

// Shoots a textured scene in which a block moves and a mishap happens.
class Surveillance {
 public:
  static constexpr Size kSize{192, 144};
  static constexpr int kBlock = 24 * 24;  // pixels

  explicit Surveillance(Camera& camera) : camera_(camera) {}
  Shot shoot(Mishap mishap) {
    if (mishap != Mishap::frozen) ++number_;
    GuardedFrame picture(PixelFormat::rgb, kSize);
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        for (uint32_t c = 0; c < 3; ++c) {
          picture.frame().set_sample(static_cast<int>(c), x, y, level(mishap, x, y, c));
        }
      }
    }
    return camera_.shoot(std::as_const(picture).frame());
  }

 private:
  static int random(int x, int y, uint32_t seed, int end) {
    const uint32_t value = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), seed);
    return static_cast<int>(value % static_cast<uint32_t>(end));
  }
  // The scene without noise: smooth shades, texture, and the block.
  double scene(int x, int y, uint32_t c) const {
    const int left = number_ * 4 % (kSize.width - 24);
    const bool is_block = number_ >= 10 && x >= left && x < left + 24 && y >= 60 && y < 84;
    if (is_block) return c == 0 ? 230 : 40;
    return 40 + x / 4 + y / 4 + random(x / 3, y / 3, c, 70);
  }
  int level(Mishap mishap, int x, int y, uint32_t c) const {
    const int noise = random(x, y, c + 3 * static_cast<uint32_t>(number_), 7) - 3;
    double value = scene(x, y, c);
    if (mishap == Mishap::dimmed) value *= 0.5;
    if (mishap == Mishap::infrared) return static_cast<int>(scene(x, y, 1)) + noise;
    if (mishap == Mishap::covered) value = 25;
    if (mishap == Mishap::moved) value = scene(x + 31, y + 50, c);
    if (mishap == Mishap::defocused) {
      value = 0;
      for (int d = 0; d < 144; ++d) value += scene(x + d % 12 - 6, y + d / 12 - 6, c) / 144;
    }
    return static_cast<int>(value) + noise;
  }

  Camera& camera_;
  int number_ = 0;
};

TEST_P(GraphCutFrames, SceneChanges_AreToldInTheFirstFrameWhichHasNoForeground) {
  struct Case {
    Mishap mishap;
    SceneChange change;
  };
  for (const auto& [mishap, change] : {Case{Mishap::dimmed, SceneChange::light},
                                       {Mishap::infrared, SceneChange::infrared},
                                       {Mishap::covered, SceneChange::covered},
                                       {Mishap::moved, SceneChange::moved},
                                       {Mishap::defocused, SceneChange::defocused},
                                       {Mishap::frozen, SceneChange::frozen}}) {
    SCOPED_TRACE(name_of(change));
    Camera camera = on_backend({.size = Surveillance::kSize}, masks());
    Surveillance stream(camera);
    for (int i = 0; i < 45; ++i) {
      EXPECT_EQ(stream.shoot(Mishap::none).report.change, SceneChange::none) << i;
    }
    EXPECT_NEAR(stream.shoot(Mishap::none).report.foreground, Surveillance::kBlock, 60);
    const Shot first = stream.shoot(mishap);
    EXPECT_EQ(first.report.change, change) << name_of(first.report.change);
    EXPECT_EQ(first.report.foreground, 0u);
    EXPECT_EQ(std::ranges::count(first.mask, 0), std::ssize(first.mask));
    for (int i = 0; i < 14; ++i) stream.shoot(mishap);
    const Shot last = stream.shoot(mishap);
    const bool lasts = mishap == Mishap::covered || mishap == Mishap::frozen;
    EXPECT_EQ(last.report.change, lasts ? change : SceneChange::none) << "after 15 frames";
    if (!lasts) {
      // The place of the block when the model started again may still be foreground.
      EXPECT_GT(last.report.foreground, Surveillance::kBlock * 8 / 10);
      EXPECT_LT(last.report.foreground, Surveillance::kBlock * 26 / 10);
      continue;
    }
    const Shot back = stream.shoot(Mishap::none);
    EXPECT_EQ(back.report.change, SceneChange::none) << "the model has waited";
    EXPECT_NEAR(back.report.foreground, Surveillance::kBlock, 60) << "the block";
  }
}

TEST_P(GraphCutFrames, FlickeringLamp_ObjectIsForegroundInMostFramesAndNothingElseIs) {
  Camera camera = on_backend({.size = Surveillance::kSize}, masks());
  Surveillance stream(camera);
  for (int i = 0; i < 30; ++i) stream.shoot(Mishap::none);
  int visible = 0;  // frames with the block
  for (int i = 0; i < 60; ++i) {
    const auto foreground = static_cast<int>(
        stream.shoot(i % 5 == 0 ? Mishap::dimmed : Mishap::none).report.foreground);
    EXPECT_LT(foreground, Surveillance::kBlock + 60) << i;
    visible += foreground > Surveillance::kBlock - 60;
  }
  EXPECT_GE(visible, 34);
}

TEST_P(GraphCutFrames, ChangedSceneWithFreeze_IsToldAndShown) {
  Camera camera = on_backend({.size = Surveillance::kSize}, masks());
  Surveillance stream(camera);
  for (int i = 0; i < 20; ++i) stream.shoot(Mishap::none);
  camera.params.freeze = true;
  const Shot shot = stream.shoot(Mishap::moved);
  EXPECT_EQ(shot.report.change, SceneChange::moved);
  EXPECT_GT(shot.report.foreground, shot.report.pixels / 2);
}

TEST_P(GraphCutFrames, LargeObjectOrStillPictureWithoutNoise_IsNoSceneChange) {
  for (const int noise : {0, 4}) {
    Clip clip{.size = {192, 144}, .noise = noise};
    clip.empty = true;
    Camera camera = on_backend(clip, masks());
    for (int i = 0; i < 30; ++i) {
      const int number = noise == 0 ? 0 : i;
      EXPECT_EQ(camera.shoot(clip.frame(number).frame()).report.change, SceneChange::none) << i;
    }
    for (int i = 0; i < 20; ++i) {  // an object enters that covers half of the picture in the end
      GuardedFrame picture = clip.frame(noise == 0 ? 0 : 30 + i);
      for (int y = 0; y < 144; ++y) {
        for (int x = 0; x < 5 * i; ++x) {
          for (int c = 0; c < 3; ++c)
            picture.frame().set_sample(c, x, y, (x - 5 * i) % 9 * 9 + 230);
        }
      }
      EXPECT_EQ(camera.shoot(std::as_const(picture).frame()).report.change, SceneChange::none) << i;
    }
  }
}

TEST_P(GraphCutFrames, StillObject_BecomesBackgroundWithinHistory) {
  GraphCutBgParams params = masks();
  params.history = 60;
  Clip clip;
  clip.empty = true;
  Camera camera = on_backend(clip, params);
  camera.shoot(0, 80);
  clip.empty = false;
  const auto still = [&](int i) {  // the block of frame 3 with other noise
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

// A still scene into which a test paints.
class Stage {
 public:
  explicit Stage(Camera& camera) : camera_(camera) {}

  // Paints an object of 20x16 pixels with its upper left corner at (x, y).
  void paint_object(int x, int y) {
    for (int i = 0; i < 20 * 16; ++i) {
      const int px = x + i % 20, py = y + i / 20;
      for (int c = 0; c < 3; ++c) {
        const int shade = static_cast<int>(hash(static_cast<uint32_t>(i), 7) % 20);
        if (px >= 0 && px < frame_.frame().width)
          frame_.frame().set_sample(c, px, py, (c == 1 ? 30 : 190) + shade);
      }
    }
  }
  // Paints bright glints of 3x2 pixels at places that differ from frame to frame.
  void paint_glints(int top, int bottom) {
    for (uint32_t k = 0; k < 5; ++k) {
      const auto at = [&](uint32_t what, int first, int last) {
        const uint32_t value = hash(static_cast<uint32_t>(number_), k, what);
        return first + static_cast<int>(value % static_cast<uint32_t>(last - first));
      };
      const int x = at(1, 0, frame_.frame().width - 3), y = at(2, top, bottom - 2);
      for (int i = 0; i < 6; ++i) {
        for (int c = 0; c < 3; ++c) frame_.frame().set_sample(c, x + i % 3, y + i / 3, 250);
      }
    }
  }
  // Shoots the painted frame, and starts the next frame.
  Shot shoot() {
    Shot shot = camera_.shoot(std::as_const(frame_).frame());
    frame_ = camera_.clip.frame(++number_);
    return shot;
  }

 private:
  Camera& camera_;
  int number_ = 0;
  GuardedFrame frame_ = camera_.clip.frame(0);
};

TEST_P(GraphCutFrames, ObjectStopsAtFrame100_HalfOfItIsForegroundForAboutHistoryFrames) {
  for (const int history : {500, 1000}) {
    GraphCutBgParams params = masks();
    params.history = history;
    Camera camera = on_backend({.empty = true, .noise = 2}, params);
    Stage stage(camera);
    int stood = 0;  // frames since the object has stopped
    for (int i = 0; i < 100; ++i) {
      if (i >= 85) stage.paint_object(20 - 2 * (100 - i), 16);
      stage.shoot();
    }
    for (; stood < 2 * history; ++stood) {
      stage.paint_object(20, 16);
      if (stage.shoot().report.foreground < 160) break;
    }
    EXPECT_GE(stood, history * 8 / 10) << history;
    EXPECT_LE(stood, history * 13 / 10) << history;
  }
}

TEST_P(GraphCutFrames, ObjectThatWasPresentFromTheStart_LeavesNoGhost) {
  Camera camera = on_backend({.empty = true, .noise = 2}, masks());
  Stage stage(camera);
  for (int i = 0; i < 200; ++i) {
    stage.paint_object(20, 16);
    stage.shoot();
  }
  EXPECT_GT(stage.shoot().report.foreground, 200u) << "the ghost";
  for (int i = 1; i < 30; ++i) stage.shoot();
  EXPECT_EQ(stage.shoot().report.foreground, 0u);
}

TEST_P(GraphCutFrames, GlintsOnWater_AreSoonBackgroundAndAnObjectAmongThemIsForeground) {
  Camera camera = on_backend({.empty = true, .noise = 2}, masks());
  Stage stage(camera);
  uint32_t early = 0, late = 0;
  for (int i = 0; i < 160; ++i) {
    stage.paint_glints(16, 48);
    const uint32_t foreground = stage.shoot().report.foreground;
    if (i >= 1 && i < 11) early += foreground;
    if (i >= 150) late += foreground;
  }
  EXPECT_GT(early, 100u) << "before the picture is known to sparkle";
  EXPECT_LT(late * 10, early);
  for (int i = 0; i < 10; ++i) {
    stage.paint_object(8 + 2 * i, 26);
    EXPECT_NEAR(stage.shoot().report.foreground, 320, 40) << i;
  }
}

TEST_P(GraphCutFrames, CameraTurns_PictureIsBackgroundDuringAndAfterTheTurn) {
  constexpr Size kSize{320, 240};
  Camera camera = on_backend({.size = kSize}, masks());
  // Smooth random columns and rows with noise, from which the camera sees a part.
  const auto shoot = [&](int left, uint32_t seed) {
    GuardedFrame frame(PixelFormat::rgb, kSize);
    const auto level = [](int at, uint32_t axis) {
      const auto knot = [&](int i) {
        return static_cast<int>(hash(static_cast<uint32_t>(i + 9), axis) % 90);
      };
      return knot(at / 9) + (knot(at / 9 + 1) - knot(at / 9)) * (at % 9) / 9;
    };
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const uint32_t noise = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), seed) % 5;
        for (uint32_t c = 0; c < 3; ++c) {
          frame.frame().set_sample(static_cast<int>(c), x, y,
                                   30 + level(x + left, c) + level(y, 5) + static_cast<int>(noise));
        }
      }
    }
    return camera.shoot(std::as_const(frame).frame()).report.foreground;
  };
  uint32_t i = 0;
  for (; i < 20; ++i) EXPECT_LT(shoot(0, i), 20u) << i;
  uint32_t turning = 0;
  for (int step = 1; step <= 20; ++step) turning += shoot(5 * step, ++i);
  EXPECT_LT(turning / 20, kSize.area() / 10) << "during the turn";
  for (int k = 0; k < 10; ++k) EXPECT_LT(shoot(100, ++i), kSize.area() / 50) << "after the turn";
}

TEST_P(GraphCutFrames, DimmedBackground_IsAShadowInColorAndWhereGreyTextureIsKept) {
  constexpr Size kSize{128, 96};
  // A square of 40x40 pixels in a frame. is_dimmed: as in a shadow; otherwise, its luma is 60.
  const auto foreground = [&](PixelFormat format, bool is_textured, bool is_dimmed) {
    Camera camera = on_backend({.size = kSize, .format = format}, masks());
    uint32_t found = 0;
    for (int i = 0; i <= 60; ++i) {
      GuardedFrame frame(format, kSize);
      for (int at = 0; at < 128 * 96; ++at) {
        const int x = at % 128, y = at / 128;
        const auto random = [&](uint32_t what, uint32_t from, uint32_t range) {
          return static_cast<int>(hash(static_cast<uint32_t>(at), what, from) % range);
        };
        const int noise = random(7, static_cast<uint32_t>(i), 5);
        const bool is_inside = i == 60 && x >= 40 && x < 80 && y >= 30 && y < 70;
        for (int c = 0; c < (format == PixelFormat::gray8 ? 1 : 3); ++c) {
          const int hue = x < 60 ? 20 * c : 40 - 20 * c;
          const int was = 90 + hue + (is_textured ? random(5, 0, 24) : 0);
          const int now = !is_inside ? was : is_dimmed ? was * 7 / 10 : 60;
          frame.frame().set_sample(c, x, y, now + noise);
        }
      }
      found = camera.shoot(std::as_const(frame).frame()).report.foreground;
    }
    return found;
  };
  for (const bool is_textured : {true, false}) {
    EXPECT_LT(foreground(PixelFormat::rgb, is_textured, true), 200u) << "the shadow has the hue";
    EXPECT_NEAR(foreground(PixelFormat::gray8, is_textured, false), 1600, 100) << "an object";
  }
  EXPECT_LT(foreground(PixelFormat::gray8, true, true), 200u) << "the shadow has the texture";
  EXPECT_NEAR(foreground(PixelFormat::gray8, false, true), 1600, 100) << "equal to a dark object";
}

// An object of the background's tones hides its texture. Only its luma is compared.
TEST_P(GraphCutFrames, GreyObjectWithTheTonesOfTheBackground_IsForegroundInACalmPicture) {
  constexpr Size kSize{128, 96};
  Camera camera = on_backend({.size = kSize, .format = PixelFormat::gray8}, masks());
  uint32_t found = 0;
  for (int i = 0; i <= 100; ++i) {
    GuardedFrame frame(PixelFormat::gray8, kSize);
    for (int at = 0; at < 128 * 96; ++at) {
      const int x = at % 128, y = at / 128;
      const auto random = [&](uint32_t from) { return hash(static_cast<uint32_t>(at), from); };
      // Pixels of the object are as bright as the background a pixel away.
      const bool is_inside = i == 100 && x >= 40 && x < 80 && y >= 30 && y < 70;
      const uint32_t seen = static_cast<uint32_t>(at) + (is_inside ? 1 : 0);
      const int level = 80 + static_cast<int>(hash(seen, 5) % 80);
      frame.frame().set_sample(
          0, x, y, level + static_cast<int>(random(1000 + static_cast<uint32_t>(i)) % 5));
    }
    found = camera.shoot(std::as_const(frame).frame()).report.foreground;
  }
  EXPECT_NEAR(found, 1600, 120);
}

TEST_P(GraphCutFrames, FreezeEnabled_ModelIsUnchanged) {
  Camera camera = on_backend({}, masks());
  camera.shoot(0, 10);
  camera.params.freeze = true;
  const auto before = camera.algorithm().state();
  for (int i = 10; i < 13; ++i) camera.shoot(i);
  auto after = camera.algorithm().state();
  ASSERT_EQ(before.size(), after.size());
  // The counters in the header change, and the labels, which are above the colours of the last
  // plane.
  const size_t colors = before.size() - 4 * camera.clip.size.area();
  for (size_t i = colors + 3; i < after.size(); i += 4) after[i] = before[i];
  EXPECT_TRUE(std::equal(before.begin() + 64, before.end(), after.begin() + 64));
}

TEST_P(GraphCutFrames, MovingBlock_ReportHasTheForegroundPixelsAndAnExactCut) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    for (const bool verifies : {false, true}) {
      const Clip clip;
      GraphCutBgParams params = masks();
      params.neighbours = neighbours;
      params.verify = verifies;
      Camera camera = on_backend(clip, params);
      for (int i = 0; i < 12; ++i) {
        const Shot shot = camera.shoot(i);
        const auto foreground = shot.mask.size() - static_cast<size_t>(std::count(
                                                       shot.mask.begin(), shot.mask.end(), 0));
        EXPECT_EQ(shot.report.foreground, foreground) << i;
        EXPECT_EQ(shot.report.pixels, 64u * 48);
        EXPECT_TRUE(shot.report.cut.exact);
        EXPECT_EQ(shot.report.cut.gap, 0);
        EXPECT_EQ(shot.report.cut_value, verifies ? shot.report.cut.flow : -1) << i;
        EXPECT_FALSE(shot.report.restarted);
        EXPECT_EQ(i == 0, foreground == 0) << i;
      }
    }
  }
}

// Only one pixel of the mask is certain, so the links decide about its neighbours.
TEST_P(GraphCutFrames, EightNeighbours_DiagonalLinksAddFlow) {
  const Clip clip{.size = {5, 5}};
  GuardedFrame mask(PixelFormat::gray8, clip.size);
  for (int i = 0; i < 25; ++i) mask.frame().set_sample(0, i % 5, i / 5, i == 12 ? 255 : 120);
  int64_t flow[2];
  for (const bool eight : {false, true}) {
    GraphCutBgParams params = masks();
    params.source = GraphCutSource::mask;
    params.neighbours = eight ? Neighbours::eight : Neighbours::four;
    params.sigma = 255;
    params.lambda = 0.1;
    Camera camera = on_backend(clip, params);
    const Shot shot = camera.shoot(clip.frame(0).frame(), std::as_const(mask).frame());
    EXPECT_EQ(shot.report.foreground, 1u);
    flow[eight] = shot.report.cut.flow;
  }
  // 6 units of 1/64 nat, and 181 / 256 of this for each of the four diagonals.
  EXPECT_EQ(flow[0], 4 * 6);
  EXPECT_EQ(flow[1], 4 * 6 + 4 * 4);
}

TEST_P(GraphCutFrames, StoredModelLoaded_MasksEqualThoseOfTheUninterruptedStream) {
  Camera camera = on_backend({}, masks()), other = on_backend({}, masks());
  EXPECT_TRUE(camera.algorithm().state().empty());
  camera.shoot(0, 6);
  std::vector<std::byte> state = camera.algorithm().state();
  EXPECT_FALSE(state.empty());
  const auto rest = masks_of(camera, 6, 12);
  camera.algorithm().reset();
  EXPECT_TRUE(camera.algorithm().state().empty());
  for (Camera* restored : {&camera, &other}) {
    restored->algorithm().restore(state);
    EXPECT_EQ(restored->algorithm().state(), state);
    EXPECT_EQ(masks_of(*restored, 6, 12), rest);
  }
  camera.algorithm().restore(state);
  state.pop_back();
  EXPECT_THROW(camera.algorithm().restore(state), InputError);
  EXPECT_EQ(masks_of(camera, 6, 12), rest) << "the model changed";
}

TEST_P(GraphCutFrames, StoredColorModelLoadedForGreyFrames_ColoredPlaceIsForeground) {
  constexpr Size kSize{128, 96};
  constexpr int kLuma = 113;  // of the colour 200, 80, 60
  Camera color = on_backend({.size = kSize, .format = PixelFormat::rgb}, masks());
  Camera grey = on_backend({.size = kSize, .format = PixelFormat::gray8}, masks());
  GuardedFrame with_color(PixelFormat::rgb, kSize), without(PixelFormat::gray8, kSize);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      const bool is_red = x >= 40 && x < 80 && y >= 30 && y < 70;
      for (int c = 0; c < 3; ++c) {
        const int value[] = {200, 80, 60};
        with_color.frame().set_sample(c, x, y, is_red ? value[c] : kLuma);
      }
      without.frame().set_sample(0, x, y, kLuma);
    }
  }
  for (int i = 0; i < 9; ++i) color.shoot(std::as_const(with_color).frame());
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(grey.shoot(std::as_const(without).frame()).report.foreground, 0u);
  }
  grey.algorithm().restore(color.algorithm().state());
  EXPECT_EQ(grey.shoot(std::as_const(without).frame()).report.foreground, 36u * 36)
      << "two pixels at the edges may have moved";
}

TEST_P(GraphCutFrames, ExclusionAndBackgroundImage_Reset_BothStayInUse) {
  const Clip clip;
  const GuardedFrame all = white(clip.size);
  Camera plain = on_backend(clip, masks());
  const auto found = masks_of(plain, 0, 8);

  Camera excluded = on_backend(clip, masks());
  excluded.algorithm().set_picture(GraphCutPicture::exclusion_image, all.frame());
  const std::vector<std::vector<uint8_t>> nothing(8, std::vector<uint8_t>(64 * 48));
  EXPECT_EQ(masks_of(excluded, 0, 8), nothing);
  excluded.algorithm().reset();
  EXPECT_EQ(masks_of(excluded, 0, 8), nothing) << "reset() removed the picture";
  excluded.algorithm().set_picture(GraphCutPicture::exclusion_image, {});
  excluded.algorithm().reset();
  EXPECT_EQ(masks_of(excluded, 0, 8), found);

  Clip still = clip;
  still.empty = true;
  Camera known = on_backend(clip, masks());
  known.algorithm().set_picture(GraphCutPicture::background_image, still.frame(0).frame());
  const auto from_picture = masks_of(known, 1, 4);
  EXPECT_GT(std::count(from_picture[0].begin(), from_picture[0].end(), 255), 100);
  known.algorithm().reset();
  EXPECT_EQ(masks_of(known, 1, 4), from_picture) << "reset() removed the picture";
  known.algorithm().set_picture(GraphCutPicture::background_image, {});
  EXPECT_EQ(masks_of(known, 0, 8), found);
}

TEST_P(GraphCutFrames, PicturesSet_AlgorithmConfiguredAgain_PicturesAreForgotten) {
  const Clip clip;
  const GuardedFrame all = white(clip.size);
  const auto found = masks_of(*std::make_unique<Camera>(clip, masks(), 1), 0, 8);
  GraphCutBgParams params;
  params.output = GraphCutOutput::replace;
  params.replace_with = Replacement::image;
  Camera replaced = on_backend(clip, params);
  const auto answer = [&] { return error_message_of([&] { replaced.shoot(0); }); };
  const std::string none = "replace-with=image requires replace-image";
  EXPECT_EQ(answer(), none);
  replaced.algorithm().set_picture(GraphCutPicture::replace_image, all.frame());
  EXPECT_EQ(answer(), "");
  replaced.algorithm().set_picture(GraphCutPicture::replace_image, {});
  EXPECT_EQ(answer(), none);
  for (const auto which : {GraphCutPicture::replace_image, GraphCutPicture::exclusion_image,
                           GraphCutPicture::background_image}) {
    replaced.algorithm().set_picture(which, all.frame());
  }
  replaced.algorithm().configure(
      {.in = layout_of(clip.format), .size = clip.size, .has_output = true});
  EXPECT_EQ(answer(), none) << "configure() kept the picture";
  replaced.params = masks();
  EXPECT_EQ(masks_of(replaced, 0, 8), found) << "configure() kept the model";
}

TEST_P(GraphCutFrames, EveryFormatAndOutput_ResultsEqualThoseOfOneCpuThread) {
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    if (format == PixelFormat::labels32) continue;
    for (const GraphCutOutput output :
         {GraphCutOutput::overlay, GraphCutOutput::mask, GraphCutOutput::cutout,
          GraphCutOutput::replace, GraphCutOutput::none, GraphCutOutput::background}) {
      GraphCutBgParams params;
      params.output = output;
      params.feather = 2;
      const bool limited = f % 2 == 1;
      const Clip clip{
          .size = {67, 45}, .format = format, .color = {YuvMatrix::bt709, !limited}, .padding = 4};
      expect_cpu_results(clip, params, 6);
    }
  }
}

TEST_P(GraphCutFrames, EveryReplacement_ResultsEqualThoseOfOneCpuThread) {
  GraphCutBgParams params = params_with(GraphCutOutput::replace);
  params.hold = 2;
  params.blur = 11;
  params.pixelate = 7;
  for (const Replacement replacement :
       {Replacement::color, Replacement::blur, Replacement::pixelate, Replacement::model}) {
    params.replace_with = replacement;
    for (const Replaced replaced : {Replaced::background, Replaced::foreground}) {
      params.replace = replaced;
      for (const PixelFormat format :
           {PixelFormat::rgb, PixelFormat::nv12, PixelFormat::p010, PixelFormat::yuy2}) {
        params.feather = format == PixelFormat::rgb ? 0 : 2;
        params.grow = format == PixelFormat::p010 ? 128 : 3;
        expect_cpu_results({.size = {67, 45}, .format = format, .padding = 4}, params, 8);
      }
      for (const Size size : {Size{1, 1}, Size{1, 40}, Size{40, 1}, Size{257, 65}}) {
        expect_cpu_results({.size = size, .format = PixelFormat::i420}, params, 4);
      }
    }
  }
}

// A jump of the scene hides the whole picture, and then starts the model again.
TEST_P(GraphCutFrames, ReplaceForegroundOfOtherScene_ResultsEqualThoseOfOneCpuThread) {
  GraphCutBgParams params = params_with(GraphCutOutput::replace);
  params.replace = Replaced::foreground;
  params.replace_with = Replacement::pixelate;
  params.hold = 3;
  expect_cpu_results({.size = {96, 64}}, params, 34,
                     [](int i, Clip& clip, GraphCutBgParams&) { clip.other = i >= 16; });
}

// The output of a frame shows the model, which the next frame changes.
TEST_P(GraphCutFrames, FramesInFlightShowTheModel_OutputsEqualThoseOfSingleFrames) {
  const Clip clip{.size = {160, 120}};
  constexpr int kSlots = 4, kFrames = 24;
  const GraphCutBgParams params = params_with(GraphCutOutput::background);
  Camera single(clip, params, 1);
  const auto algorithm = make_graph_cut(backend_);
  algorithm->prepare(params);
  algorithm->configure(
      {.in = layout_of(clip.format), .size = clip.size, .has_output = true, .slots = kSlots});
  std::vector<std::unique_ptr<Queue>> queues;
  for (int slot = 0; slot < kSlots; ++slot) queues.push_back(backend_->make_queue());
  for (int first = 0; first < kFrames; first += kSlots) {
    std::vector<DeviceFrame> pictures;
    for (int slot = 0; slot < kSlots; ++slot) {
      Queue& queue = *queues[static_cast<size_t>(slot)];
      pictures.emplace_back(*backend_, queue, clip.format, clip.size, 0, clip.color);
      pictures.back().upload(clip.frame(first + slot).frame());
    }
    for (int slot = 0; slot < kSlots; ++slot) {
      const Frame picture = pictures[static_cast<size_t>(slot)].frame();
      Queue& queue = *queues[static_cast<size_t>(slot)];
      algorithm->enqueue({.slot = slot, .in = picture, .out = picture}, params, queue);
      queue.record();
    }
    for (int slot = 0; slot < kSlots; ++slot) {
      queues[static_cast<size_t>(slot)]->wait();
      bool intact = false;
      const GuardedFrame found = pictures[static_cast<size_t>(slot)].download(&intact);
      EXPECT_TRUE(found.same_pixels(single.shoot(first + slot).out)) << "frame " << first + slot;
    }
  }
}

// CUDA reads aligned NV12 pictures in words of four pixels.
TEST_P(GraphCutFrames, Nv12WithAnyAlignment_ResultsEqualThoseOfOneCpuThread) {
  for (const Size size : {Size{4, 2}, {132, 1}, {128, 65}, {2052, 7}, {130, 64}}) {
    for (const bool full_range : {true, false}) {
      for (const int padding : {0, 2, 4}) {
        const Clip clip{.size = size,
                        .format = PixelFormat::nv12,
                        .color = {YuvMatrix::bt709, full_range},
                        .padding = padding};
        expect_cpu_results(clip, {}, 3);
      }
    }
  }
}

TEST_P(GraphCutFrames, ParametersChangeBetweenFrames_ResultsEqualThoseOfOneCpuThread) {
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    GraphCutBgParams params;
    params.neighbours = neighbours;
    params.output = GraphCutOutput::replace;
    expect_cpu_results({.size = {130, 70}, .format = PixelFormat::nv12}, params, 30,
                       [](int i, Clip& clip, GraphCutBgParams& p) {
                         p.replace_with = i % 3 == 0 ? Replacement::blur : Replacement::color;
                         p.replace = i % 7 < 4 ? Replaced::foreground : Replaced::background;
                         p.grow = i % 6;
                         p.hold = i % 4;
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

TEST_P(GraphCutFrames, CameraJumpOrDarkness_ResultsEqualThoseOfOneCpuThread) {
  expect_cpu_results({.size = {96, 64}, .empty = true}, masks(), 34,
                     [](int i, Clip& clip, GraphCutBgParams&) {
                       clip.other = i >= 16;
                       clip.gain = i >= 30 ? 0.5 : 1;
                     });
}

TEST_P(GraphCutFrames, OddFrameSize_ResultsEqualThoseOfOneCpuThread) {
  for (const Size size :
       {Size{1, 1}, Size{2, 2}, Size{1, 40}, Size{40, 1}, Size{33, 9}, Size{257, 65}}) {
    expect_cpu_results({.size = size, .format = PixelFormat::i420}, {}, 4);
  }
}

TEST_P(GraphCutFrames, LargePicture_ResultsEqualThoseOfOneCpuThread) {
  const Size size = is_cuda() ? Size{1920, 1080} : Size{640, 360};
  expect_cpu_results({.size = size, .format = PixelFormat::nv12}, masks(), 4);
}

TEST_P(GraphCutFrames, MaskOfAnySize_ResultsEqualThoseOfOneCpuThread) {
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
      expect_cpu_results(
          clip, params, 5, [](int, Clip&, GraphCutBgParams&) {}, mask.frame());
    }
  }
}

TEST_P(GraphCutFrames, AlphaChannelAsMask_ResultsEqualThoseOfOneCpuThread) {
  GraphCutBgParams params;
  params.mask_from = MaskFrom::alpha;
  for (const GraphCutSource source : {GraphCutSource::mask, GraphCutSource::both}) {
    params.source = source;
    expect_cpu_results({.size = {67, 45}, .format = PixelFormat::rgba, .padding = 4}, params, 5);
    expect_cpu_results({.size = {64, 48}, .format = PixelFormat::bgra}, params, 5);
  }
}

TEST_P(GraphCutFrames, PicturesAndModelOfOtherBackend_ResultsEqualThoseOfOneCpuThread) {
  const Clip clip{.size = {80, 60}};
  GraphCutBgParams params = params_with(GraphCutOutput::replace);
  params.replace_with = Replacement::image;
  params.verify = true;
  Camera cpu(clip, params, 1), other = on_backend(clip, params);
  Clip shown = clip, empty = clip;
  shown.other = true;
  empty.empty = true;
  for (Camera* each : {&cpu, &other}) {
    GraphCutBg& algorithm = each->algorithm();
    algorithm.set_picture(GraphCutPicture::replace_image, shown.frame(3).frame());
    algorithm.set_picture(GraphCutPicture::background_image, empty.frame(9).frame());
    algorithm.set_picture(GraphCutPicture::exclusion_image, shown.frame(30).frame());
  }
  for (int i = 0; i < 6; ++i) {
    if (i == 4) {
      const auto from_cpu = cpu.algorithm().state();
      cpu.algorithm().restore(other.algorithm().state());
      other.algorithm().reset();
      other.algorithm().restore(from_cpu);
    }
    expect_same(other.shoot(i), cpu.shoot(i), params.output);
  }
}

// ---- the CPU

TEST(CpuGraphCut, FailedFrame_LaterMasksEqualThoseWithoutIt) {
  Camera camera({}, masks()), other({}, masks());
  const auto fail = [&] {
    inject_faults("work=1");
    EXPECT_THROW(other.shoot(3), DeviceError);
    inject_faults(nullptr);
  };
  const auto first = masks_of(camera, 0, 8);
  EXPECT_EQ(masks_of(other, 0, 5), std::vector(first.begin(), first.begin() + 5));
  fail();
  EXPECT_EQ(masks_of(other, 5, 8), std::vector(first.begin() + 5, first.end()));
  other.algorithm().reset();
  fail();
  EXPECT_TRUE(other.algorithm().state().empty());
  EXPECT_EQ(masks_of(other, 0, 8), first) << "the failed frame must not undo the reset";
}

TEST(CpuGraphCut, SlotsOnSeparateQueues_MasksEqualThoseOfOneSlot) {
  Clip clip{.size = {160, 120}};
  constexpr int kFrames = 24, kSlots = 3;
  Camera serial(clip, masks());
  const auto backend = make_cpu_backend(2);
  const auto algorithm = make_graph_cut(backend);
  algorithm->configure(
      {.in = layout_of(clip.format), .size = clip.size, .has_output = true, .slots = kSlots});
  std::vector<std::unique_ptr<Queue>> queues;
  for (int s = 0; s < kSlots; ++s) queues.push_back(backend->make_queue());
  std::vector<GuardedFrame> frames;
  std::vector<std::vector<uint8_t>> found(kFrames, std::vector<uint8_t>(clip.size.area()));
  for (int i = 0; i < kFrames; ++i) frames.push_back(clip.frame(i));
  const GraphCutBgParams params = params_with(GraphCutOutput::none);
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
