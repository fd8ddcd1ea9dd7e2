// Drawing on the CPU against the oracle: what is drawn where, in every format, and nothing else.
#include "cpu/drawing/drawing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/drawing/paint.hpp"
#include "tests/pictures/pictures.hpp"
#include "tests/regionoverlay/oracle.hpp"
#include "tests/regionoverlay/scene.hpp"

namespace regions {
namespace {

// Draws with a workspace of its own, which must be blank afterwards.
void draw_blank(const ConstFrame& in, const Frame& out, const LabelView& labels,
                const std::vector<Region>& regions, const DrawingParams& params, int threads = 1) {
  std::vector<uint32_t> memory(ink_bytes(out.size()) / sizeof(uint32_t));
  const Ink ink = ink_in(memory.data(), out.size());
  draw(in, out, labels, regions, params, ink, Workers(threads));
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) ASSERT_EQ(ink.codes(x, y), 0u) << x << ", " << y;
  }
  for (int y = 0; y < ink.tiles.height; ++y) {
    for (int x = 0; x < ink.tiles.width; ++x) ASSERT_EQ(ink.tiles(x, y), 0u) << x << ", " << y;
  }
}

// Component c of all pixels that share the sample at (x, y), as the oracle has it.
void expect_sample(const std::vector<Touch>& touches, const ConstFrame& in, const ConstFrame& out,
                   int c, int x, int y, const std::string& name) {
  const Component& component = in.layout.component[c];
  const int x_end = std::min(in.width, x + (1 << component.x_shift));
  const int y_end = std::min(in.height, y + (1 << component.y_shift));
  const int old = in.sample(c, x, y);
  double sum = 0;
  bool touched = false, text = false;
  for (int v = y; v < y_end; ++v) {
    for (int u = x; u < x_end; ++u) {
      const Touch& touch =
          touches[static_cast<size_t>(v) * static_cast<size_t>(in.width) + static_cast<size_t>(u)];
      sum += mixed_slowly(touch, old, c, in.layout, in.color);
      touched |= touch.alpha > 0;
      text |= touch.text;
    }
  }
  const int got = out.sample(c, x, y);
  if (!touched) {
    ASSERT_EQ(got, old) << name << ": component " << c << " changed at " << x << ", " << y;
    return;
  }
  // Colours, opacities and (in text) coverage are rounded to 1 / 256.
  const double slack = 1 + (text ? 3 : 1) * in.layout.max_value() / 256.0;
  ASSERT_NEAR(got, sum / ((x_end - x) * (y_end - y)), slack)
      << name << ": component " << c << " at " << x << ", " << y;
}

void expect_oracle(PixelFormat format, const Scene& scene, const DrawingParams& params,
                   Colorimetry color = {}, bool with_labels = true) {
  const std::string name = describe(format, scene.size, params);
  const GuardedFrame in = noisy_picture(format, scene.size, 3, color);
  GuardedFrame out(format, scene.size, 5, color);
  const LabelView labels = with_labels ? LabelView(scene.label_map()) : LabelView();
  draw_blank(in.frame(), out.frame(), labels, scene.regions, params);
  EXPECT_TRUE(out.intact()) << name;
  const std::vector<Touch> touches = draw_slowly(
      scene.size, with_labels ? scene.labels : std::vector<uint32_t>(), scene.regions, params);
  const Layout& layout = layout_of(format);
  for (int c = 0; c < 4; ++c) {
    if (c >= layout.channels && !(c == 3 && layout.alpha)) continue;
    const Component& k = layout.component[c];
    for (int y = 0; y < scene.size.height; y += 1 << k.y_shift) {
      for (int x = 0; x < scene.size.width; x += 1 << k.x_shift) {
        expect_sample(touches, in.frame(), out.frame(), c, x, y, name);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Drawing, EveryFormatEqualsTheOracle) {
  for (const PixelFormat format : drawable_formats()) {
    for (const Size size : {Size{131, 97}, Size{64, 32}, Size{7, 5}}) {
      expect_oracle(format, make_scene(size, 12), {15, 0.4, 2});
    }
  }
}

TEST(Drawing, EveryParameterEqualsTheOracle) {
  for (const DrawingParams& params : scene_params()) {
    expect_oracle(PixelFormat::bgra, make_scene({131, 97}, 12, 1), params);
    expect_oracle(PixelFormat::nv12, make_scene({131, 97}, 3, 2), params);
  }
}

TEST(Drawing, EverySizeEqualsTheOracle) {
  for (const Size size : scene_sizes()) {
    expect_oracle(PixelFormat::i420, make_scene(size, 5, 3), {15, 0.6, 3});
    expect_oracle(PixelFormat::uyvy, make_scene(size, 5, 4), {7, 0.6, 1});
  }
  for (const Size size : {Size{65535, 2}, {2, 65535}}) {
    expect_oracle(PixelFormat::nv12, make_scene(size, 5, 4), {15, 0.6, 1});
  }
}

// Alone on background, at the borders of the picture and of what is looked at together.
TEST(Drawing, OutlinesOfSinglePixelsAtEveryBorder) {
  const Picture black = make_picture("empty", {600, 70});
  for (const int thickness : {1, 2, 33}) {
    for (const int x : {0, 1, 31, 32, 63, 64, 254, 255, 256, 257, 511, 512, 598, 599}) {
      for (const int y : {0, 15, 16, 63, 64, 69}) {
        Scene scene;
        scene.size = {600, 70};
        scene.labels.assign(scene.size.area(), 0);
        scene.labels[static_cast<size_t>(600 * y + x)] = 1;
        const std::vector<Region> regions = {{.id = 1, .track = 3}};
        GuardedFrame picture = convert(black.frame(), PixelFormat::gray8);
        draw_blank(picture.frame(), picture.frame(), scene.label_map(), regions,
                   {2, 0.4, thickness}, 2);
        // The pixel alone is drawn: around it is no region, so its outline has no shadow there.
        for (int v = 0; v < 70; ++v) {
          for (int u = 0; u < 600; ++u) {
            ASSERT_EQ(picture.frame().sample(0, u, v) != 0, u == x && v == y)
                << u << ", " << v << " around " << x << ", " << y << ", thickness " << thickness;
          }
        }
      }
    }
  }
}

TEST(Drawing, EveryColorimetryEqualsTheOracle) {
  for (const YuvMatrix matrix : {YuvMatrix::bt601, YuvMatrix::bt709, YuvMatrix::bt2020}) {
    for (const bool full_range : {false, true}) {
      for (const PixelFormat format : {PixelFormat::p010, PixelFormat::yuy2}) {
        expect_oracle(format, make_scene({65, 33}, 6, 5), {15, 0.5, 1}, {matrix, full_range});
      }
    }
  }
}

TEST(Drawing, WithoutLabelsThereAreBoxesAndIdsAlone) {
  expect_oracle(PixelFormat::rgb, make_scene({131, 97}, 6, 6), {15, 0.5, 2}, {}, false);
}

TEST(Drawing, NothingToDrawChangesNothing) {
  for (const PixelFormat format : drawable_formats()) {
    const GuardedFrame in = noisy_picture(format, {65, 33});
    GuardedFrame out(format, {65, 33}, 1);
    draw_blank(in.frame(), out.frame(), {}, {}, {15, 1, 64});
    EXPECT_TRUE(out.same_pixels(in)) << name_of(format);
  }
}

void expect_alike_in_place(PixelFormat format, const DrawingParams& params, int threads) {
  const Scene scene = make_scene({200, 333}, 40, 7);
  const GuardedFrame in = noisy_picture(format, scene.size);
  GuardedFrame out(format, scene.size, 2);
  draw_blank(in.frame(), out.frame(), scene.label_map(), scene.regions, params);
  GuardedFrame place = noisy_picture(format, scene.size);
  draw_blank(place.frame(), place.frame(), scene.label_map(), scene.regions, params, threads);
  EXPECT_TRUE(place.same_pixels(out)) << describe(format, scene.size, params) << " by " << threads;
}

TEST(Drawing, InPlaceEqualsOutOfPlaceAndThreadsDoNotShow) {
  for (const PixelFormat format : drawable_formats()) {
    expect_alike_in_place(format, {15, 0.4, 2}, 3);
  }
  for (const DrawingParams& params : scene_params()) {
    for (const int threads : {1, 2, 7}) expect_alike_in_place(PixelFormat::nv12, params, threads);
  }
}

TEST(Drawing, BoxesFarOutsideAndUpsideDownDrawNothing) {
  constexpr int kMin = INT32_MIN;
  constexpr int kMax = INT32_MAX;
  std::vector<Region> regions(5);
  const int boxes[5][4] = {{kMin, kMin, -1, -1},
                           {64, 0, kMax, 32},
                           {0, 33, 10, kMax},
                           {20, 20, 10, 30},
                           {kMax, kMax, kMin, kMin}};
  for (size_t i = 0; i < regions.size(); ++i) {
    regions[i].left = boxes[i][0];
    regions[i].top = boxes[i][1];
    regions[i].right = boxes[i][2];
    regions[i].bottom = boxes[i][3];
  }
  const GuardedFrame in = noisy_picture(PixelFormat::rgba, {64, 33});
  GuardedFrame out(PixelFormat::rgba, {64, 33});
  draw_blank(in.frame(), out.frame(), {}, regions, {9, 1, 64});
  EXPECT_TRUE(out.same_pixels(in));
}

TEST(Drawing, ABoxLargerThanThePictureShowsOnlyItsId) {
  Region region;
  region.left = region.top = INT32_MIN;
  region.right = region.bottom = INT32_MAX;
  region.track = 7;
  Scene scene{{64, 48}, {region}, {}};
  const GuardedFrame in = noisy_picture(PixelFormat::rgb, scene.size);
  GuardedFrame boxes(PixelFormat::rgb, scene.size), ids(PixelFormat::rgb, scene.size);
  draw_blank(in.frame(), boxes.frame(), {}, scene.regions, {1, 1, 8});
  EXPECT_TRUE(boxes.same_pixels(in));
  draw_blank(in.frame(), ids.frame(), {}, scene.regions, {9, 1, 8});
  EXPECT_FALSE(ids.same_pixels(in));
}

// Labels of 1 and 2 bytes, and maps of another size, give what a plain map gives.
TEST(Drawing, LabelsOfAnyWidthAndSize) {
  const Size size{90, 70};
  const Size half{45, 35};
  const Scene coarse = make_scene(half, 9, 8);
  const DrawingParams params{6, 0.5, 2};
  std::vector<uint32_t> fine(size.area());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      fine[static_cast<size_t>(y * size.width + x)] =
          coarse.labels[static_cast<size_t>(y / 2 * half.width + x / 2)];
    }
  }
  const GuardedFrame in = noisy_picture(PixelFormat::nv12, size);
  GuardedFrame expected(PixelFormat::nv12, size);
  const ConstLabelMap plain{fine.data(), size.width, size.height, size.width * 4};
  draw_blank(in.frame(), expected.frame(), plain, coarse.regions, params);
  EXPECT_FALSE(expected.same_pixels(in));
  for (const PixelFormat format :
       {PixelFormat::gray8, PixelFormat::gray16, PixelFormat::labels32}) {
    GuardedFrame labels(format, half, 4);
    for (int y = 0; y < half.height; ++y) {
      for (int x = 0; x < half.width; ++x) {
        const uint32_t label = coarse.labels[static_cast<size_t>(y * half.width + x)];
        std::memcpy(labels.frame().at(0, x, y), &label, layout_of(format).sample_bytes);
      }
    }
    GuardedFrame out(PixelFormat::nv12, size);
    draw_blank(in.frame(), out.frame(), LabelView(ConstFrame(labels.frame())), coarse.regions,
               params);
    EXPECT_TRUE(out.same_pixels(expected)) << name_of(format);
  }
}

// Each single bit around a word reaches exactly the bits within the radius.
TEST(Drawing, DilatedWordsReachAsFarAsTheRadius) {
  for (int radius = 0; radius <= 64; ++radius) {
    for (int from = 0; from < 160; ++from) {
      uint32_t around[5] = {};
      around[from / 32] = 1u << from % 32;
      uint32_t expected = 0;
      for (int to = 64; to < 96; ++to) {
        if (std::abs(to - from) <= radius) expected |= 1u << (to - 64);
      }
      ASSERT_EQ(dilated_word(around, radius), expected) << "bit " << from << ", radius " << radius;
    }
  }
}

// The nearest label of the extremes stays in the map, and equal sizes read it one to one.
TEST(Drawing, NearestLabelsStayInTheMap) {
  for (const int labels : {1, 2, 3, 640, 1000, 65535}) {
    for (const int pixels : {1, 2, 3, 641, 999, 65535}) {
      const uint32_t step =
          sampler_of({ConstLabelMap{nullptr, labels, labels, 0}}, {pixels, pixels}).step_x;
      int before = 0;
      for (int x = 0; x < pixels; ++x) {
        const auto at = static_cast<int>(LabelSampler::nearest(x, step));
        ASSERT_TRUE(at >= before && at < labels) << x << " of " << pixels << " in " << labels;
        ASSERT_LE(std::abs(at - (2.0 * x + 1) * labels / (2.0 * pixels)), 2);
        before = at;
      }
      if (labels == pixels) {
        EXPECT_EQ(LabelSampler::nearest(pixels - 1, step), labels - 1);
      }
    }
  }
}

TEST(Drawing, ColoursAreBrightAndNeighboursDiffer) {
  for (uint32_t track = 0; track < 5000; ++track) {
    const Rgb a = track_color(track);
    EXPECT_GE(77 * a.red + 150 * a.green + 29 * a.blue, 130 * 256) << track;
    for (uint32_t other = track + 1; other < track + 4; ++other) {
      const Rgb b = track_color(other);
      const int apart =
          std::abs(a.red - b.red) + std::abs(a.green - b.green) + std::abs(a.blue - b.blue);
      EXPECT_GE(apart, 100) << track << " and " << other;
    }
  }
}

}  // namespace
}  // namespace regions
