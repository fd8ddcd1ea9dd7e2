// Thousands of regions that overlap, on the CPU: the same picture as region by region, at a cost
// that neither their size nor the width of their lines drives up.
#include <gtest/gtest.h>

#include <chrono>

#include "cpu/drawing/drawing.hpp"
#include "tests/regionoverlay/oracle.hpp"
#include "tests/regionoverlay/scene.hpp"

namespace regions {
namespace {

// Each pixel as the oracle has it; twice in one workspace.
void expect_oracle(const Scene& scene, const DrawingParams& params) {
  const std::string name = describe(PixelFormat::rgb, scene.size, params);
  std::vector<uint32_t> memory(ink_bytes(scene.size) / sizeof(uint32_t));
  const Ink ink = ink_in(memory.data(), scene.size);
  const std::vector<Touch> touches = draw_slowly(scene.size, {}, scene.regions, params);
  for (const int threads : {1, 3}) {
    GuardedFrame out(PixelFormat::rgb, scene.size);
    const GuardedFrame in = noisy_picture(PixelFormat::rgb, scene.size);
    draw(in.frame(), out.frame(), {}, scene.regions, params, ink, Workers(threads));
    for (int y = 0; y < scene.size.height; ++y) {
      for (int x = 0; x < scene.size.width; ++x) {
        const Touch& touch = touches[static_cast<size_t>(y * scene.size.width + x)];
        for (int c = 0; c < 3; ++c) {
          const double expected =
              mixed_slowly(touch, in.frame().sample(c, x, y), c, in.frame().layout, {});
          ASSERT_NEAR(out.frame().sample(c, x, y), expected, touch.text ? 4 : 2)
              << name << ": component " << c << " at " << x << ", " << y;
        }
      }
    }
    EXPECT_TRUE(out.intact()) << name;
    for (const uint32_t word : memory) ASSERT_EQ(word, 0u) << name;
  }
}

TEST(Crowd, EqualsTheOracle) {
  for (const Size size : {Size{131, 97}, Size{64, 64}, Size{1100, 7}, Size{5, 300}}) {
    for (const uint32_t style : {1u, 8u, 9u}) {
      for (const int thickness : {1, 3, 8, 64}) {
        expect_oracle(make_scene(size, 2500, static_cast<uint32_t>(thickness)),
                      {style, 0.4, thickness});
      }
    }
  }
}

TEST(Crowd, OfOneBoxIsTheLastOne) {
  for (const Size size : {Size{131, 97}, Size{1100, 7}}) {
    for (const int thickness : {1, 8, 64}) {
      Scene scene = make_scene(size, 2500);
      for (Region& r : scene.regions) {
        r.left = r.top = 0;
        r.right = size.width - 1;
        r.bottom = size.height - 1;
      }
      expect_oracle(scene, {9, 0.4, thickness});
    }
  }
}

// Lines at every place and of few codes, with holes between them.
TEST(Crowd, OfBoxesOnAGridEqualsTheOracle) {
  Scene scene = make_scene({131, 97}, 3000);
  for (size_t i = 0; i < scene.regions.size(); ++i) {
    Region& r = scene.regions[i];
    r.left = static_cast<int>(i * 7 % 19) * 7 - 5;
    r.top = static_cast<int>(i * 5 % 13) * 9 - 5;
    r.right = r.left + static_cast<int>(i % 4) * 42;
    r.bottom = r.top + static_cast<int>(i % 3) * 36;
  }
  for (const int thickness : {1, 2, 5}) expect_oracle(scene, {1, 0.4, thickness});
}

double seconds_of(const Scene& scene, const DrawingParams& params) {
  GuardedFrame picture(PixelFormat::gray8, scene.size);
  std::vector<uint32_t> memory(ink_bytes(scene.size) / sizeof(uint32_t));
  const Ink ink = ink_in(memory.data(), scene.size);
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    draw(picture.frame(), picture.frame(), {}, scene.regions, params, ink, Workers(1));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

TEST(Crowd, ThickLinesCostHardlyMoreThanThinOnes) {
  const Scene scene = make_scene({960, 540}, 10000);
  EXPECT_LT(seconds_of(scene, {1, 0.4, 64}), 6 * seconds_of(scene, {1, 0.4, 1}));
}

}  // namespace
}  // namespace regions
