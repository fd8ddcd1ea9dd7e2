// The output pictures against their equations, in every format, in place and into another picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/drawing/paint.hpp"
#include "core/graphcutbg/composite.hpp"
#include "tests/graphcutbg/scene.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr Size kSize{53, 37};

bool is_foreground(int x, int y) { return (x - 30) * (x - 30) + 2 * (y - 9) * (y - 9) < 260; }

int level_at(int c, int x, int y) {
  const auto place = static_cast<uint32_t>(x / 3 + 100 * (y / 2));
  return static_cast<int>(hash(place, static_cast<uint32_t>(c)) % 256);
}

GuardedFrame noise(PixelFormat format, Colorimetry color) {
  GuardedFrame picture(format, kSize, format == PixelFormat::p010 ? 4 : 5, color);
  const Layout& layout = picture.frame().layout;
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      for (int c = 0; c < layout.channels + layout.alpha; ++c) {
        picture.frame().set_sample(c, x, y, level_at(c, x, y) << (layout.sample_bits - 8));
      }
    }
  }
  return picture;
}

// The picture for replace-with=image.
GuardedFrame scenery() {
  GuardedFrame picture(PixelFormat::rgb, kSize);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      for (int c = 0; c < 3; ++c) picture.frame().set_sample(c, x, y, level_at(c + 5, y, x));
    }
  }
  return picture;
}

// The output picture in floating point.
struct Equations {
  const ConstFrame in;
  const GraphCutBgParams params;
  mutable std::map<std::array<int, 3>, double> cells = {};  // computed means
  mutable std::map<std::array<int, 2>, bool> opaque = {};   // results of is_opaque()

  bool hides() const {
    return params.output == GraphCutOutput::replace && params.replace == Replaced::foreground;
  }
  // Whether foreground is in the square around a pixel that `grow` and `feather` describe.
  bool is_opaque(int x, int y) const {
    if (!hides()) return is_foreground(x, y);
    const auto [known, is_new] = opaque.try_emplace({x, y});
    const int radius = params.grow + params.feather;
    for (int v = std::max(y - radius, 0); is_new && v <= std::min(y + radius, kSize.height - 1);
         ++v) {
      for (int u = std::max(x - radius, 0); u <= std::min(x + radius, kSize.width - 1); ++u) {
        known->second |= is_foreground(u, v);
      }
    }
    return known->second;
  }
  // The share of foreground in a square, from 0 to 1. Pixels outside repeat the picture's border.
  double alpha(int x, int y) const {
    const int radius = params.feather;
    int sum = 0;
    for (int dy = -radius; dy <= radius; ++dy) {
      for (int dx = -radius; dx <= radius; ++dx) {
        sum += is_opaque(std::clamp(x + dx, 0, kSize.width - 1),
                         std::clamp(y + dy, 0, kSize.height - 1));
      }
    }
    return std::floor(sum * 255.0 / std::pow(2 * radius + 1, 2) + 0.5) / 255;
  }

  bool is_overlay() const { return params.output == GraphCutOutput::overlay; }
  // The opacity of the painted colour in steps of 1/256.
  double opacity() const {
    double opacity = is_overlay() ? params.opacity : 1;
    if (is_overlay()) opacity *= params.color.alpha() / 255.0;
    if (!is_overlay() && params.replace_with == Replacement::color) {
      opacity *= params.replace_color.alpha() / 255.0;
    }
    return std::floor(opacity * 256 + 0.5) / 256;
  }

  bool pixelates() const { return params.replace_with == Replacement::pixelate; }
  int side() const {
    return pixelates() ? params.pixelate + params.pixelate % 2 : std::max(1, params.blur / 2);
  }
  double weight_of(int x, int y) const {
    return hides() ? alpha(x, y) : is_foreground(x, y) ? 1 : 256;
  }
  // The mean of component c in cell (i, j) and, for a blur, around it. Foreground has a weight of
  // 1/256 if the background is replaced. Else the weights are the opacities.
  double cell(int c, int i, int j) const {
    const auto [known, is_new] = cells.try_emplace({c, i, j});
    if (!is_new) return known->second;
    const int side = this->side(), reach = pixelates() ? 0 : 1;
    const int columns = (kSize.width + side - 1) / side, rows = (kSize.height + side - 1) / side;
    double sum = 0, weight = 0;
    for (int v = j - reach; v <= j + reach; ++v) {
      for (int u = i - reach; u <= i + reach; ++u) {
        const int left = std::clamp(u, 0, columns - 1) * side;
        const int top = std::clamp(v, 0, rows - 1) * side;
        const double part = (u == i ? 2 : 1) * (v == j ? 2 : 1);
        for (int y = top; y < std::min(top + side, kSize.height); ++y) {
          for (int x = left; x < std::min(left + side, kSize.width); ++x) {
            const double w = part * weight_of(x, y);
            sum += w * in.sample(c, x, y);
            weight += w;
          }
        }
      }
    }
    return known->second = weight > 0 ? sum / weight : 0;
  }
  double blurred(int c, int x, int y) const {
    const int side = this->side();
    const int columns = (kSize.width + side - 1) / side, rows = (kSize.height + side - 1) / side;
    const double u = (x + 0.5) / side - 0.5, v = (y + 0.5) / side - 0.5;
    const auto i = static_cast<int>(std::floor(u)), j = static_cast<int>(std::floor(v));
    const auto at = [&](int a, int b) {
      return cell(c, std::clamp(a, 0, columns - 1), std::clamp(b, 0, rows - 1));
    };
    const double upper = at(i, j) * (i + 1 - u) + at(i + 1, j) * (u - i);
    const double lower = at(i, j + 1) * (i + 1 - u) + at(i + 1, j + 1) * (u - i);
    return upper * (j + 1 - v) + lower * (v - j);
  }

  double painted(int c, int x, int y) const {
    if (!is_overlay() && params.replace_with == Replacement::blur) return blurred(c, x, y);
    if (!is_overlay() && pixelates()) return cell(c, x / side(), y / side());
    Rgb color = is_overlay() ? params.color.rgb() : params.replace_color.rgb();
    if (!is_overlay() && params.replace_with == Replacement::image) {
      const auto level = [&](int k) { return static_cast<uint8_t>(level_at(k + 5, y, x)); };
      color = {level(0), level(1), level(2)};
    }
    int value[3];
    encoder_of(in.layout, in.color).encode(color, value);
    return value[c];
  }

  // Component c of the sample that contains pixel (x, y).
  double sample(int c, int x, int y) const {
    if (c >= in.layout.channels) return in.sample(c, x, y);  // alpha does not change
    const Component& k = in.layout.component[c];
    const int left = x >> k.x_shift << k.x_shift, top = y >> k.y_shift << k.y_shift;
    double share = 0, largest = 0;
    int pixels = 0;
    for (int v = top; v < std::min(top + (1 << k.y_shift), kSize.height); ++v) {
      for (int u = left; u < std::min(left + (1 << k.x_shift), kSize.width); ++u, ++pixels) {
        const double part = is_overlay() || hides() ? alpha(u, v) : 1 - alpha(u, v);
        share += part;
        largest = std::max(largest, part);
      }
    }
    if (hides()) share = largest * pixels;
    share *= opacity() / pixels;
    if (share == 0) return in.sample(c, left, top);
    return in.sample(c, left, top) * (1 - share) + painted(c, left, top) * share;
  }
};

// Runs one frame whose foreground an attached mask determines.
Shot shoot(const GuardedFrame& in, const GraphCutBgParams& params, bool in_place) {
  const ConstFrame picture = in.frame();
  Camera camera({.size = kSize,
                 .format = picture.layout.format,
                 .color = picture.color,
                 .padding = picture.layout.format == PixelFormat::p010 ? 4 : 5},
                params, in_place ? 1 : 3);
  camera.algorithm().set_picture(GraphCutPicture::replace_image, scenery().frame());
  GuardedFrame mask(PixelFormat::gray8, kSize);
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      mask.frame().set_sample(0, x, y, is_foreground(x, y) ? 255 : 0);
    }
  }
  Shot shot = camera.shoot(picture, std::as_const(mask).frame(), in_place);
  EXPECT_TRUE(shot.intact);
  return shot;
}

struct View {
  const char* name;
  GraphCutOutput output;
  Replacement replacement = Replacement::color;
  int feather = 0;
  double opacity = 1;
  uint32_t color = 0xFF4080F0;
  int blur = 24;
  Replaced replaced = Replaced::background;
  int pixelate = 16;
  int grow = 0;
};

class GraphCutOutputPicture : public testing::TestWithParam<View> {};

TEST_P(GraphCutOutputPicture, EveryFormat_PixelsEqualTheEquations) {
  const View& view = GetParam();
  GraphCutBgParams params;
  params.source = GraphCutSource::mask;
  params.lambda = 0;
  params.output = view.output;
  params.replace_with = view.replacement;
  params.feather = view.feather;
  params.opacity = view.opacity;
  params.color = params.replace_color = {view.color};
  (view.output == GraphCutOutput::overlay ? params.replace_color : params.color) = {0x33FF0000};
  params.blur = view.blur;
  params.replace = view.replaced;
  params.pixelate = view.pixelate;
  params.grow = view.grow;
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    const Colorimetry color{f % 2 ? YuvMatrix::bt709 : YuvMatrix::bt601, f % 3 == 0};
    SCOPED_TRACE(std::string(view.name) + " " + std::string(name_of(format)));
    const GuardedFrame in = noise(format, color);
    const Equations wanted{in.frame(), params};
    const GuardedFrame other = shoot(in, params, false).out;
    EXPECT_TRUE(shoot(in, params, true).out.same_pixels(other)) << "in place";
    const bool averages =
        view.replacement == Replacement::blur || view.replacement == Replacement::pixelate;
    const double near = averages ? 1.51 : 0.51;
    const Layout& layout = in.frame().layout;
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        for (int c = 0; c < layout.channels + layout.alpha; ++c) {
          const Component& k = layout.component[c];
          if (x & ((1 << k.x_shift) - 1) || y & ((1 << k.y_shift) - 1)) continue;
          ASSERT_NEAR(other.frame().sample(c, x, y), wanted.sample(c, x, y), near)
              << "component " << c << " of " << x << ", " << y;
        }
      }
    }
  }
}

using enum GraphCutOutput;
constexpr Replaced kForeground = Replaced::foreground;
INSTANTIATE_TEST_SUITE_P(
    Views, GraphCutOutputPicture,
    testing::Values(
        View{"tint", overlay}, View{"faint_tint", overlay, {}, 0, 0.3, 0xC0FFFFFF},
        View{"soft_tint", overlay, {}, 4, 0.5}, View{"color", replace},
        View{"faint_color", replace, {}, 1, 0.2, 0x60102030},
        View{"image", replace, Replacement::image, 0, 0.2, 0x60102030},
        View{"soft_image", replace, Replacement::image, 2},
        View{"blur", replace, Replacement::blur},
        View{"little_blur", replace, Replacement::blur, 0, 0.2, 0x60102030, 3},
        View{"soft_blur", replace, Replacement::blur, 3, 1, 0, 11},
        View{"blocks", replace, Replacement::pixelate},
        View{"odd_blocks", replace, Replacement::pixelate, 0, 1, 0, 24, {}, 7},
        View{"hidden_by_color", replace, {}, 0, 1, 0xFF4080F0, 24, kForeground, 16, 3},
        View{"softly_hidden", replace, {}, 2, 1, 0xFF4080F0, 24, kForeground, 16, 4},
        View{"hidden_by_blocks", replace, Replacement::pixelate, 0, 1, 0, 24, kForeground, 6, 2},
        View{"hidden_by_soft_blocks", replace, Replacement::pixelate, 3, 1, 0, 24, kForeground, 5,
             1},
        View{"hidden_by_blur", replace, Replacement::blur, 0, 1, 0, 7, kForeground},
        View{"hidden_by_little_blur", replace, Replacement::blur, 1, 1, 0, 2, kForeground, 16, 3},
        View{"hidden_whole", replace, Replacement::image, 0, 1, 0, 24, kForeground, 16, 128}),
    [](const auto& which) { return std::string(which.param.name); });

size_t index(const Clip& clip, int x, int y) {
  return static_cast<size_t>(y) * static_cast<size_t>(clip.size.width) + static_cast<size_t>(x);
}

TEST(GraphCutOutputs, Feather_SmoothsTheOutputMaskButNotTheAttachedMask) {
  const Clip clip;
  Camera hard(clip, params_with(GraphCutOutput::mask));
  GraphCutBgParams params = params_with(GraphCutOutput::mask);
  params.feather = 2;
  Camera soft(clip, params);
  const Shot sharp = hard.shoot(0, 11), blurred = soft.shoot(0, 11);
  EXPECT_EQ(sharp.mask, blurred.mask) << "the attached mask is not smoothed";
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

// An attached mask whose foreground is one column of pixels.
GuardedFrame mask_of_column(Size size, int column) {
  GuardedFrame mask(PixelFormat::gray8, size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) mask.frame().set_sample(0, x, y, x == column ? 255 : 0);
  }
  return mask;
}

GraphCutBgParams hiding_by_color() {
  GraphCutBgParams params = params_with(GraphCutOutput::replace);
  params.replace = Replaced::foreground;
  params.replace_with = Replacement::color;
  params.replace_color = {0xFF102030};
  params.grow = 0;
  params.hold = 0;
  return params;
}

// The columns of the row 5 that have the colour of hiding_by_color().
std::vector<int> hidden_columns(const Shot& shot) {
  std::vector<int> columns;
  const ConstFrame frame = shot.out.frame();
  for (int x = 0; x < frame.width; ++x) {
    const bool is_hidden = frame.sample(0, x, 5) == 0x10 && frame.sample(1, x, 5) == 0x20 &&
                           frame.sample(2, x, 5) == 0x30;
    if (is_hidden) columns.push_back(x);
  }
  return columns;
}

TEST(GraphCutOutputs, Hold_PixelsStayHiddenForThatManyFrames) {
  for (const int hold : {0, 1, 3}) {
    const Clip clip{.empty = true};
    GraphCutBgParams params = hiding_by_color();
    params.source = GraphCutSource::mask;
    params.lambda = 0;
    params.hold = hold;
    Camera camera(clip, params);
    for (int i = 0; i < 6; ++i) {
      const GuardedFrame mask = mask_of_column(clip.size, 10 + 3 * i);
      std::vector<int> wanted;
      for (int k = std::max(0, i - hold); k <= i; ++k) wanted.push_back(10 + 3 * k);
      EXPECT_EQ(hidden_columns(camera.shoot(clip.frame(i).frame(), std::as_const(mask).frame())),
                wanted)
          << "frame " << i << ", hold=" << hold;
    }
    camera.algorithm().reset();
    const GuardedFrame mask = mask_of_column(clip.size, 2);
    const Shot shot = camera.shoot(clip.frame(6).frame(), std::as_const(mask).frame());
    EXPECT_EQ(hidden_columns(shot), std::vector<int>{2}) << "reset() forgets hidden pixels";
  }
}

TEST(GraphCutOutputs, ReplaceForeground_UnknownForeground_WholePictureIsHidden) {
  Clip clip;
  GraphCutBgParams params = hiding_by_color();
  params.hold = 2;
  Camera camera(clip, params);
  const auto width = static_cast<size_t>(clip.size.width);
  for (int i = 0; i < 20; ++i) {
    const size_t hidden = hidden_columns(camera.shoot(i)).size();
    // The first frame starts the model. It and the two frames for which it is held are hidden.
    EXPECT_EQ(hidden == width, i < 3) << "frame " << i;
  }
  clip.other = true;
  const Shot changed = camera.shoot(clip.frame(20).frame());
  EXPECT_NE(changed.report.change, SceneChange::none);
  EXPECT_EQ(changed.report.foreground, 0u);
  EXPECT_EQ(hidden_columns(changed).size(), width);
}

// The learnt background in every format equals the scene without its noise.
TEST(GraphCutOutputs, OutputBackground_EveryFormat_ShowsTheSceneWithoutTheBlock) {
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    for (const bool full_range : {false, true}) {
      Clip clip{.format = static_cast<PixelFormat>(f), .color = {YuvMatrix::bt709, full_range}};
      Camera camera(clip, params_with(GraphCutOutput::background));
      const Shot shot = camera.shoot(0, 12);
      EXPECT_TRUE(shot.intact);
      clip.empty = true;
      clip.noise = 0;
      const GuardedFrame scene = clip.frame(0);
      const Layout& layout = scene.frame().layout;
      // One level of rounding, three of noise, and the clip's luma below 16 or its rounding to RGB.
      const int near = 8 << (layout.sample_bits - 8);
      for (int y = 0; y < clip.size.height; ++y) {
        for (int x = 0; x < clip.size.width; ++x) {
          for (int c = 0; c < layout.channels; ++c) {
            ASSERT_NEAR(shot.out.frame().sample(c, x, y), scene.frame().sample(c, x, y), near)
                << name_of(clip.format) << ", component " << c << " of " << x << ", " << y;
          }
        }
      }
    }
  }
}

TEST(GraphCutOutputs, ReplaceForegroundWithModel_BlockDisappears) {
  Clip clip;
  GraphCutBgParams params = hiding_by_color();
  params.replace_with = Replacement::model;
  params.grow = 2;
  Camera camera(clip, params);
  const Shot shot = camera.shoot(0, 12);
  const GuardedFrame in = clip.frame(11);
  clip.empty = true;
  const GuardedFrame scene = clip.frame(11);
  int unchanged = 0;
  for (int y = 0; y < clip.size.height; ++y) {
    for (int x = 0; x < clip.size.width; ++x) {
      bool is_equal = true;
      for (int c = 0; c < 3; ++c) {
        ASSERT_NEAR(shot.out.frame().sample(c, x, y), scene.frame().sample(c, x, y), 12);
        is_equal &= shot.out.frame().sample(c, x, y) == in.frame().sample(c, x, y);
      }
      unchanged += is_equal;
    }
  }
  EXPECT_GT(unchanged, 64 * 48 / 2) << "the rest of the picture is the input";
}

TEST(GraphCutOutputs, ComponentOfColor_EveryRgbColor_DiffersByAtMostThreeLevels) {
  const Layout& rgb = layout_of(PixelFormat::rgb);
  int largest = 0;
  for (int r = 0; r < 256; r += 3) {
    for (int g = 0; g < 256; g += 3) {
      for (int b = 0; b < 256; b += 3) {
        const graphcutbg::Color color = graphcutbg::color_of_rgb(r, g, b);
        const int wanted[] = {r, g, b};
        for (int c = 0; c < 3; ++c) {
          const int found = graphcutbg::component_of(color, c, rgb, true);
          largest = std::max(largest, std::abs(found - wanted[c]));
        }
      }
    }
  }
  EXPECT_LE(largest, 3);
}

TEST(GraphCutOutputs, OutputCutout_HasTheMaskAsAlpha) {
  const Clip clip;
  Camera camera(clip, params_with(GraphCutOutput::cutout));
  const Shot shot = camera.shoot(0, 11);
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

TEST(GraphCutOutputs, CutoutOfLimitedRangeYuv_IsFullRangeRgb) {
  // White, BT.601 red and black, of ITU-R BT.601-7 table 3.
  Clip clip{.size = {16, 16}, .format = PixelFormat::nv12, .color = {YuvMatrix::bt601, false}};
  Camera camera(clip, params_with(GraphCutOutput::cutout));
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

}  // namespace
}  // namespace regions
