// Masks that are attached to frames: scaling to the size of the frame, refinement along edges, and
// certain pixels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/graphcutbg/energy.hpp"
#include "tests/graphcutbg/scene.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

GuardedFrame noise(PixelFormat format, Size size, uint32_t seed) {
  GuardedFrame picture(format, size, 3);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const uint32_t value = hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), seed);
      const auto level = static_cast<int>(value % (format == PixelFormat::gray16 ? 65536 : 256));
      picture.frame().set_sample(0, x, y, level);
    }
  }
  return picture;
}

// Bilinear interpolation in floating point. The edges of mask and frame coincide.
double interpolated(const std::vector<double>& mask, Size size, double x, double y) {
  const double u = std::clamp(x * size.width - 0.5, 0.0, size.width - 1.0);
  const double v = std::clamp(y * size.height - 0.5, 0.0, size.height - 1.0);
  const auto at = [&](double a, double b) {
    const auto i = static_cast<size_t>(std::min(a, size.width - 1.0));
    const auto j = static_cast<size_t>(std::min(b, size.height - 1.0));
    return mask[j * static_cast<size_t>(size.width) + i];
  };
  const double i = std::floor(u), j = std::floor(v), s = u - i, t = v - j;
  return (at(i, j) * (1 - s) + at(i + 1, j) * s) * (1 - t) +
         (at(i, j + 1) * (1 - s) + at(i + 1, j + 1) * s) * t;
}

TEST(GraphCutMask, MaskOfAnySizeAndFormat_IsInterpolatedToTheFrame) {
  const Size frames[] = {{1, 1}, {64, 48}, {37, 29}, {5, 90}};
  const Size masks[] = {{1, 1}, {2, 1}, {16, 12}, {7, 31}, {129, 95}, {64, 48}};
  for (const Size frame : frames) {
    for (const Size size : masks) {
      for (const PixelFormat format :
           {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
        GuardedFrame mask = noise(PixelFormat::gray8, size, 5);
        std::vector<double> values;
        std::vector<uint32_t> labels;
        if (format == PixelFormat::gray16) mask = noise(format, size, 5);
        ConstFrame view = mask.frame();
        for (int y = 0; y < size.height; ++y) {
          for (int x = 0; x < size.width; ++x) {
            const int sample = mask.frame().sample(0, x, y);
            // Labels whose lower 16 bits are zero are foreground, too.
            labels.push_back(sample < 99 ? 0 : static_cast<uint32_t>(sample) << 16);
            values.push_back(format == PixelFormat::gray8    ? sample
                             : format == PixelFormat::gray16 ? sample >> 8
                             : sample < 99                   ? 0
                                                             : 255);
          }
        }
        if (format == PixelFormat::labels32) {
          view.layout = layout_of(format);
          view.plane[0] = reinterpret_cast<const std::byte*>(labels.data());
          view.pitch[0] = static_cast<ptrdiff_t>(sizeof(uint32_t)) * size.width;
        }
        const auto scale = graphcutbg::MaskScale::between(size, frame);
        for (int y = 0; y < frame.height; ++y) {
          for (int x = 0; x < frame.width; ++x) {
            const double wanted =
                interpolated(values, size, (x + 0.5) / frame.width, (y + 0.5) / frame.height);
            const int value = graphcutbg::mask_value(view, scale, x, y).value;
            // Positions are rounded to 1/256 pixel in each direction.
            ASSERT_NEAR(value, wanted, size == frame ? 0 : 2.6)
                << name_of(format) << " " << size.width << "x" << size.height << " at " << x << ", "
                << y << " of " << frame.width << "x" << frame.height;
          }
        }
      }
    }
  }
}

// Values between 0 and 255 are graded if the mask has them, but not if they were interpolated. They
// then give more evidence.
TEST(GraphCutMask, GradedMask_GivesMoreEvidenceThanAnInterpolatedEdge) {
  const Size frame = {64, 1}, size = {8, 1};
  const auto scale = graphcutbg::MaskScale::between(size, frame);
  const auto at = [&](std::initializer_list<int> pixels, int x) {
    GuardedFrame mask(PixelFormat::gray8, size);
    int column = 0;
    for (const int value : pixels) mask.frame().set_sample(0, column++, 0, value);
    return graphcutbg::mask_value(std::as_const(mask).frame(), scale, x, 0);
  };
  const auto hard = {0, 0, 0, 0, 255, 255, 255, 255}, graded = {0, 0, 0, 60, 200, 255, 255, 255};
  for (int x = 0; x < frame.width; ++x) {
    EXPECT_FALSE(at(hard, x).is_graded) << x;
    // Mask pixels 3 and 4 contribute between the centres of pixels 2 and 5.
    EXPECT_EQ(at(graded, x).is_graded, x >= 20 && x < 44) << x;
  }
  GraphCutBgParams params;
  params.source = GraphCutSource::mask;
  for (const int threshold : {12, 200}) {
    params.var_threshold = threshold;
    const auto plan = graphcutbg::energy_plan_of(params, frame, size);
    for (const int value : {6, 100, 150, 249}) {
      const int weak = graphcutbg::mask_evidence({value, false}, plan);
      const int strong = graphcutbg::mask_evidence({value, true}, plan);
      EXPECT_EQ(weak < 0, value < 128);
      EXPECT_GT(std::abs(strong), 2 * std::abs(weak)) << value;
      EXPECT_LT(std::abs(strong), graphcutbg::kCertainWeight) << value;
    }
  }
}

// An object of one colour whose mask is too small by six pixels on each side.
TEST(GraphCutMask, ErodedMask_WithForegroundColors_IsGrownToTheWholeObject) {
  const Size size = {256, 192};
  const auto is_inside = [](int x, int y, int margin) {
    return x >= 64 + margin && x < 192 - margin && y >= 32 + margin && y < 160 - margin;
  };
  GuardedFrame picture(PixelFormat::rgb, size), mask(PixelFormat::gray8, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const auto noise =
          static_cast<int>(hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y)) % 8);
      const bool inside = is_inside(x, y, 0);
      picture.frame().set_sample(0, x, y, (inside ? 180 : 60) + noise);
      picture.frame().set_sample(1, x, y, 90 + noise);
      picture.frame().set_sample(2, x, y, (inside ? 60 : 160) + noise);
      mask.frame().set_sample(0, x, y, is_inside(x, y, 6) ? 255 : 0);
    }
  }
  for (const bool learns_colors : {false, true}) {
    GraphCutBgParams params = params_with(GraphCutOutput::mask);
    params.source = GraphCutSource::mask;
    params.mask_foreground = 256;
    params.mask_background = -1;
    params.foreground_colors = learns_colors;
    const Clip clip{.size = size};
    Camera camera(clip, params);
    const Shot shot = camera.shoot(std::as_const(picture).frame(), std::as_const(mask).frame());
    int wrong = 0;
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        const bool found = shot.mask[static_cast<size_t>(y * size.width + x)] != 0;
        wrong += found != is_inside(x, y, 0);
      }
    }
    EXPECT_EQ(wrong > 100, !learns_colors) << wrong;
  }
}

TEST(GraphCutMask, LargestPictureSides_ReadsStayInsideTheMask) {
  for (const int count : {1, 2, 65535}) {
    for (const int frame : {1, 3, 65535}) {
      const uint64_t step = graphcutbg::MaskScale::between({count, 1}, {frame, 1}).across;
      for (const int n : {0, frame / 2, frame - 1}) {
        const graphcutbg::MaskPosition place(n, step, count);
        EXPECT_GE(place.first, 0);
        EXPECT_LT(place.first, count);
        EXPECT_GE(place.second, place.first);
        EXPECT_LT(place.second, count);
        EXPECT_NEAR(place.first, (n + 0.5) * count / frame, 1.01);
      }
    }
  }
}

// A mask with a sixteenth of the pixels, as from a neural network. Its border is up to three pixels
// off.
TEST(GraphCutMask, CoarseMask_RefinedByTheCut_HasAtMostAQuarterOfTheWrongPixels) {
  const Clip clip{.size = {128, 96}};
  GraphCutBgParams params = params_with(GraphCutOutput::mask);
  params.source = GraphCutSource::mask;
  params.sigma = 6;
  params.lambda = 8;
  constexpr int kCell = 4;
  Camera camera(clip, params);
  GuardedFrame coarse(PixelFormat::gray8, {clip.size.width / kCell, clip.size.height / kCell});
  std::vector<uint8_t> nearest(clip.size.area());
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      int covered = 0;
      for (int i = 0; i < kCell * kCell; ++i) {
        covered += clip.covers(4, x / kCell * kCell + i % kCell, y / kCell * kCell + i / kCell);
      }
      coarse.frame().set_sample(0, x / kCell, y / kCell, covered * 255 / (kCell * kCell));
      nearest[static_cast<size_t>(y * clip.size.width + x)] = covered >= 8 ? 255 : 0;
    }
  }
  const Shot shot = camera.shoot(clip.frame(4).frame(), coarse.frame());
  ASSERT_TRUE(shot.intact);
  const int before = wrong_pixels(clip, 4, nearest);
  EXPECT_GT(before, 40);
  EXPECT_LE(wrong_pixels(clip, 4, shot.mask), before / 4);
}

TEST(GraphCutMask, MaskPixels_Value0IsBackgroundAndValue255ForegroundDespiteTheirNeighbours) {
  const Clip clip;
  GraphCutBgParams params = params_with(GraphCutOutput::mask);
  params.source = GraphCutSource::both;
  params.lambda = 32;
  Camera camera(clip, params);
  camera.shoot(0, 10);  // frames without a mask
  GuardedFrame mask(PixelFormat::gray8, clip.size);
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) mask.frame().set_sample(0, x, y, 128);
  }
  mask.frame().set_sample(0, 60, 4, 255);  // against all neighbours
  mask.frame().set_sample(0, 34, 24, 0);
  const Shot shot = camera.shoot(clip.frame(10).frame(), mask.frame());
  EXPECT_EQ(shot.mask[4 * 64 + 60], 255);
  EXPECT_EQ(shot.mask[24 * 64 + 34], 0);
}

}  // namespace
}  // namespace regions
