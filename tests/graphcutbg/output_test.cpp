// Masks that come with the frame, places not looked at, and what the outputs show.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/graphcutbg/scene.hpp"

namespace regions {
namespace {

GraphCutBgParams with(GraphCutOutput output) {
  GraphCutBgParams params;
  params.output = output;
  return params;
}

// A camera that has seen the clip up to frame 9.
Camera trained(const Clip& clip, const GraphCutBgParams& params) {
  Camera camera(clip, params);
  for (int i = 0; i < 10; ++i) camera.shoot(i);
  return camera;
}

GuardedFrame flat(PixelFormat format, Size size, int red, int green, int blue) {
  GuardedFrame picture(format, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      picture.frame().set_sample(0, x, y, red);
      picture.frame().set_sample(1, x, y, green);
      picture.frame().set_sample(2, x, y, blue);
    }
  }
  return picture;
}

size_t index(const Clip& clip, int x, int y) {
  return static_cast<size_t>(y) * static_cast<size_t>(clip.size.width) + static_cast<size_t>(x);
}

TEST(GraphCutMask, SourceMaskIsRefinedAlongEdges) {
  const Clip clip;
  GraphCutBgParams params = with(GraphCutOutput::mask);
  params.source = GraphCutSource::mask;
  params.sigma = 6;
  params.lambda = 8;
  Camera camera(clip, params);
  GuardedFrame coarse(PixelFormat::gray8, clip.size);  // unknown in a wide band, leaning one way
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      int near = 0;
      for (int dy = -3; dy <= 3; ++dy) {
        for (int dx = -3; dx <= 3; ++dx) near += clip.covers(4, x + dx, y + dy);
      }
      coarse.frame().set_sample(0, x, y, near == 49 ? 255 : near == 0 ? 0 : 128);
    }
  }
  const Shot shot = camera.shoot(clip.frame(4).frame(), coarse.frame());
  EXPECT_LE(wrong_pixels(clip, 4, shot.mask), 12);
  EXPECT_THROW(camera.shoot(4), InputError) << "source=mask without a mask";
  ConstFrame nothing = coarse.frame();
  nothing.width = 0;
  EXPECT_THROW(camera.shoot(clip.frame(4).frame(), nothing), InputError);
}

TEST(GraphCutMask, SurePixelsArePinnedAndFramesMayComeWithout) {
  const Clip clip;
  GraphCutBgParams params = with(GraphCutOutput::mask);
  params.source = GraphCutSource::both;
  params.lambda = 32;
  Camera camera = trained(clip, params);
  GuardedFrame mask(PixelFormat::gray8, clip.size);
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) mask.frame().set_sample(0, x, y, 128);
  }
  mask.frame().set_sample(0, 60, 4, 255);  // single pixels against all their neighbours
  mask.frame().set_sample(0, 34, 24, 0);
  const Shot shot = camera.shoot(clip.frame(10).frame(), mask.frame());
  EXPECT_EQ(shot.mask[index(clip, 60, 4)], 255);
  EXPECT_EQ(shot.mask[index(clip, 34, 24)], 0);
}

TEST(GraphCutMask, ExclusionHoldsNoForeground) {
  const Clip clip;
  Camera camera(clip, with(GraphCutOutput::mask));
  GuardedFrame excluded = flat(PixelFormat::rgb, clip.size, 0, 0, 0);
  for (int x = 0; x < clip.size.width; ++x) {
    for (int c = 0; c < 3; ++c) excluded.frame().set_sample(c, x, 25, 255);
  }
  camera.algorithm().set_picture(GraphCutPicture::exclusion, excluded.frame());
  int inside = 0;
  for (int i = 0; i < 14; ++i) {
    const Shot shot = camera.shoot(i);
    for (int y = 0; y < clip.size.height; ++y) {
      for (int x = 0; x < clip.size.width; ++x) {
        const bool open = y != 25;
        if (!open) {
          ASSERT_EQ(shot.mask[index(clip, x, y)], 0) << i << ": " << x << ", " << y;
        }
        inside += shot.mask[index(clip, x, y)] != 0;
      }
    }
  }
  EXPECT_GT(inside, 1000);
}

TEST(GraphCutMask, ABackgroundImageShowsWhatIsThereFromTheFirstFrame) {
  Clip clip;
  clip.empty = true;
  Camera camera(clip, with(GraphCutOutput::mask));
  camera.algorithm().set_picture(GraphCutPicture::background, clip.frame(77).frame());
  clip.empty = false;
  EXPECT_LE(wrong_pixels(clip, 5, camera.shoot(clip.frame(5).frame()).mask), 40);
  const GuardedFrame small(PixelFormat::rgb, {8, 8});
  EXPECT_THROW(camera.algorithm().set_picture(GraphCutPicture::background, small.frame()),
               InputError);
}

TEST(GraphCutOutputs, FeatherGradesTheMask) {
  const Clip clip;
  Camera hard = trained(clip, with(GraphCutOutput::mask));
  GraphCutBgParams params = with(GraphCutOutput::mask);
  params.feather = 2;
  Camera soft = trained(clip, params);
  const Shot sharp = hard.shoot(10), blurred = soft.shoot(10);
  EXPECT_EQ(sharp.mask, blurred.mask) << "the attached mask stays hard";
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      int sum = 0;
      for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
          const int u = std::clamp(x + dx, 0, clip.size.width - 1);
          const int v = std::clamp(y + dy, 0, clip.size.height - 1);
          sum += sharp.mask[index(clip, u, v)] / 255;
        }
      }
      ASSERT_NEAR(blurred.out.frame().sample(0, x, y), sum * 255 / 25.0, 0.51) << x << ", " << y;
    }
  }
}

TEST(GraphCutOutputs, CutoutKeepsColoursAndPutsTheMaskIntoAlpha) {
  const Clip clip;
  Camera camera = trained(clip, with(GraphCutOutput::cutout));
  const Shot shot = camera.shoot(10);
  const GuardedFrame in = clip.frame(10);
  EXPECT_TRUE(shot.intact);
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(shot.out.frame().sample(c, x, y), in.frame().sample(c, x, y));
      }
      ASSERT_EQ(shot.out.frame().sample(3, x, y), shot.mask[index(clip, x, y)]);
    }
  }
}

TEST(GraphCutOutputs, CutoutOfLimitedYuvIsRgb) {
  // White, BT.601 red and black, of ITU-R BT.601-7 table 3.
  Clip clip{.size = {16, 16}, .format = PixelFormat::nv12, .color = {YuvMatrix::bt601, false}};
  Camera camera(clip, with(GraphCutOutput::cutout));
  const int yuv[3][3] = {{235, 128, 128}, {81, 90, 240}, {16, 128, 128}};
  const int rgb[3][3] = {{255, 255, 255}, {255, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < 3; ++k) {
    GuardedFrame frame(clip.format, clip.size, 0, clip.color);
    for (int y = 0; y < 16; ++y) {
      for (int x = 0; x < 16; ++x) {
        for (int c = 0; c < 3; ++c) frame.frame().set_sample(c, x, y, yuv[k][c]);
      }
    }
    const Shot shot = camera.shoot(frame.frame());
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(shot.out.frame().sample(c, 5, 5), rgb[k][c], 2);
  }
}

TEST(GraphCutOutputs, OverlayAndReplaceChangeTheirSideOnly) {
  for (const PixelFormat format : {PixelFormat::rgb, PixelFormat::bgra, PixelFormat::nv12,
                                   PixelFormat::p010, PixelFormat::yuy2, PixelFormat::gray16}) {
    const Clip clip{.size = {63, 47}, .format = format};
    GraphCutBgParams params = with(GraphCutOutput::overlay);
    params.opacity = 1;
    for (const bool replaces : {false, true}) {
      if (replaces) params.output = GraphCutOutput::replace;
      params.replace_with = Replacement::color;
      Camera camera = trained(clip, params);
      const Shot shot = camera.shoot(10);
      const GuardedFrame in = clip.frame(10);
      ASSERT_TRUE(shot.intact);
      int changed = 0;
      for (int y = 0; y < clip.size.height; ++y) {
        for (int x = 0; x < clip.size.width; ++x) {
          const bool mine = (shot.mask[index(clip, x, y)] != 0) != replaces;
          const int now = shot.out.frame().sample(0, x, y), was = in.frame().sample(0, x, y);
          if (!mine) {
            ASSERT_EQ(now, was) << name_of(format) << " " << x << ", " << y;
          }
          changed += mine && now != was;
        }
      }
      EXPECT_GT(changed, 200) << name_of(format);
    }
  }
}

TEST(GraphCutOutputs, ReplaceShowsAPictureAndInPlace) {
  const Clip clip;
  GraphCutBgParams params = with(GraphCutOutput::replace);
  params.replace_with = Replacement::image;
  Camera camera(clip, params);
  EXPECT_THROW(camera.shoot(0), InputError) << "no picture given";
  camera.algorithm().set_picture(GraphCutPicture::replacement,
                                 flat(PixelFormat::bgr, clip.size, 10, 20, 30).frame());
  Shot shot = camera.shoot(0);
  for (int i = 1; i < 11; ++i) shot = camera.shoot(i);
  const GuardedFrame in = clip.frame(10);
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int wanted = shot.mask[index(clip, x, y)] ? in.frame().sample(c, x, y) : 10 * (c + 1);
        ASSERT_EQ(shot.out.frame().sample(c, x, y), wanted) << x << ", " << y;
      }
    }
  }
}

TEST(GraphCutOutputs, BlurIsSmoothAndWithoutHalo) {
  Clip clip;
  GraphCutBgParams params = with(GraphCutOutput::replace);
  params.blur = 12;
  Camera camera = trained(clip, params);
  const Shot shot = camera.shoot(10);
  const GuardedFrame in = clip.frame(10);
  int rough = 0, was_rough = 0, most = 0;
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x + 1 < clip.size.width; ++x) {
      const bool foreground = shot.mask[index(clip, x, y)] || shot.mask[index(clip, x + 1, y)];
      const auto step = [&](const ConstFrame& f) {
        return std::abs(f.sample(0, x, y) - f.sample(0, x + 1, y));
      };
      if (foreground) continue;
      rough += step(shot.out.frame());
      was_rough += step(in.frame());
      most = std::max(most, shot.out.frame().sample(0, x, y));
    }
  }
  EXPECT_LT(rough * 4, was_rough);
  EXPECT_LT(most, 140) << "the block is brighter and must not shine into its surroundings";
}

}  // namespace
}  // namespace regions
