// Superpixels of the CPU against the oracle, and properties of all superpixels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

class SlicReference : public testing::TestWithParam<SlicCase> {};

TEST_P(SlicReference, AnyPictureAndParameters_SuperpixelsEqualReference) {
  const SlicCase& task = GetParam();
  SCOPED_TRACE(task.name());
  const GuardedFrame picture = task.frame(3 * layout_of(task.format).sample_bytes);
  const SlicParams params = task.params();
  const Superpixels expected = oracle_superpixels(picture.frame(), params);
  for (const int threads : {1, 3}) {
    const SlicResult result = run_slic_on_cpu(threads, picture.frame(), params);
    EXPECT_EQ(result.total, expected.regions.size());
    EXPECT_EQ(difference(result.superpixels, expected, task.size.width), "") << threads;
    EXPECT_TRUE(result.intact);
    EXPECT_LE(result.superpixels.borders.size(), max_borders(result.superpixels.regions.size()));
  }
  const SlicGrid grid = grid_of(task.size, params);
  const double least =
      std::round(params.min_size * (params.superpixels > 0 ? 0.4 : 1) * grid.width * grid.height);
  for (const Region& r : expected.regions) {
    EXPECT_TRUE(expected.regions.size() == 1 || static_cast<double>(r.area) >= least) << r.id;
  }
}

std::string test_name(const testing::TestParamInfo<SlicCase>& info) {
  std::string name = std::to_string(info.index) + "_" + info.param.name();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Cases, SlicReference, testing::ValuesIn(small_cases()), test_name);

// Cells are large enough that pixels and the sides of the picture hardly matter.
TEST(Slic, RequestedNumber_FoundNumberIsWithin10PercentExceptInNoise) {
  double sum = 0;
  int runs = 0;
  for (const Size size : {Size{321, 481}, {320, 240}, {131, 187}}) {
    for (const char* content : {"scene", "noise", "clouds", "blobs", "gradient", "full", "maze",
                                "checkerboard", "rand_g1_d50", "rand_g16_d50"}) {
      const GuardedFrame picture = SlicCase{content, size}.frame();
      for (const char* variant : {"variant=slic", "variant=slico"}) {
        for (const int wanted : {50, 200, 1000}) {
          if (size.area() / static_cast<size_t>(wanted) < 64) continue;
          const SlicCase task = {content, size, {variant, "superpixels=" + std::to_string(wanted)}};
          const SlicResult found =
              run_slic_on_cpu(2, picture.frame(), task.params(), {.capacity = 0});
          const double share = found.total / (1.0 * wanted);
          // slico splits noise into many small fragments.
          const bool is_fragmented =
              content == std::string("noise") && variant == std::string("variant=slico");
          EXPECT_NEAR(share, 1, is_fragmented ? 0.35 : 0.1) << task.name();
          sum += share;
          ++runs;
        }
      }
    }
  }
  EXPECT_NEAR(sum / runs, 1, 0.03);
}

// A picture of two flat halves.
TEST(Slic, StraightEdge_SuperpixelsDoNotCrossIt) {
  GuardedFrame picture(PixelFormat::rgb, {200, 120});
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 200; ++x) {
      const bool right = x + y / 3 > 117;
      picture.frame().set_sample(0, x, y, right ? 200 : 30);
      picture.frame().set_sample(1, x, y, right ? 60 : 90);
      picture.frame().set_sample(2, x, y, 40);
    }
  }
  const SlicResult result = run_slic_on_cpu(2, std::as_const(picture).frame(), {});
  std::vector<int> left(result.total + 1), right(result.total + 1);
  for (int y = 0; y < 120; ++y) {
    for (int x = 0; x < 200; ++x) {
      auto& side = x + y / 3 > 117 ? right : left;
      ++side[result.superpixels.labels[static_cast<size_t>(y * 200 + x)]];
    }
  }
  for (uint32_t k = 1; k <= result.total; ++k) EXPECT_EQ(std::min(left[k], right[k]), 0) << k;
}

// A textured half and a smooth half with a faint edge. With one compactness for all superpixels,
// SLIC has ragged borders in the texture or misses the edge. SLICO avoids both.
TEST(Slic, Slico_SmootherInTextureThanLooseSlicAndCloserToAFaintEdgeThanStrictSlic) {
  GuardedFrame picture(PixelFormat::gray8, {256, 128});
  const auto is_upper = [](int x, int y) { return y < 70 + (x % 32) / 4; };
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 256; ++x) {
      const auto noise =
          static_cast<int>(hash(static_cast<uint32_t>(x), static_cast<uint32_t>(y), 3) % 160);
      const int smooth = is_upper(x, y) ? 100 : 108;
      picture.frame().set_sample(0, x, y, x < 128 ? 40 + noise : smooth);
    }
  }
  struct Quality {
    double ragged = 0;  // length of the borders in the texture
    double missed = 0;  // pixels that are separated from their superpixel by the edge
  };
  const auto quality = [&](const char* variant, double compactness) {
    SlicParams params;
    params.output = SlicOutput::none;
    params.compactness = compactness;
    assign_text(find(fields_of(params), "variant"), &params, variant);
    const Superpixels found =
        run_slic_on_cpu(2, std::as_const(picture).frame(), params).superpixels;
    Quality seen;
    std::vector<std::array<int, 2>> sides(found.regions.size() + 1);
    for (int y = 1; y < 128; ++y) {
      for (int x = 1; x < 256; ++x) {
        const size_t at = static_cast<size_t>(y * 256 + x);
        const uint32_t label = found.labels[at];
        if (x < 120) {
          seen.ragged += (label != found.labels[at - 1]) + (label != found.labels[at - 256]);
        } else if (x >= 144) {
          ++sides[label][is_upper(x, y)];
        }
      }
    }
    for (const auto& [lower, upper] : sides) seen.missed += std::min(lower, upper);
    return seen;
  };
  const Quality adaptive = quality("slico", 8), strict = quality("slic", 40),
                loose = quality("slic", 4);
  EXPECT_LT(adaptive.ragged, 0.8 * loose.ragged);
  EXPECT_LT(adaptive.missed, 0.8 * strict.missed);
}

TEST(Slic, LabConversion_RgbColors_DeviateByLessThan1_1FromTheCieFormula) {
  double worst = 0;
  for (int red = 0; red < 256; red += 5) {
    for (int green = 0; green < 256; green += 5) {
      for (int blue = 0; blue < 256; blue += 5) {
        const auto linear = [](int level) {
          const double v = level / 255.0;
          return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
        };
        const double r = linear(red), g = linear(green), b = linear(blue);
        const auto f = [](double t) {
          return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
        };
        const double x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
        const double y = f(0.2126729 * r + 0.7151522 * g + 0.0721750 * b);
        const double z = f((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883);
        const uint32_t color = lab_of(lab_tables(), red, green, blue);
        worst = std::max({worst, std::abs(color_component(color, 0) + 100 - 2 * (116 * y - 16)),
                          std::abs(color_component(color, 1) - 500 * (x - y)),
                          std::abs(color_component(color, 2) - 200 * (y - z))});
      }
    }
  }
  EXPECT_LT(worst, 1.1);  // rounding, and the steps of the table for dark colours
  for (int level = 0; level < 256; ++level) {
    const uint32_t gray = lab_of(lab_tables(), level, level, level);
    EXPECT_EQ(color_component(gray, 1), 0) << level;
    EXPECT_EQ(color_component(gray, 2), 0) << level;
  }
}

}  // namespace
}  // namespace regions
