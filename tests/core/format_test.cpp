// Formats, samples, mean colours, thresholds.
#include <gtest/gtest.h>

#include <set>

#include "core/cclabel/cclabel.hpp"
#include "core/error.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

TEST(Formats, NamesGoBothWays) {
  std::set<std::string_view> names;
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    EXPECT_EQ(layout_of(format).format, format);
    EXPECT_EQ(format_named(name_of(format)), format);
    EXPECT_TRUE(names.insert(name_of(format)).second);
  }
  EXPECT_THROW(format_named("NV21"), InputError);
  EXPECT_THROW(format_named(""), InputError);
  EXPECT_THROW(layout_of(static_cast<PixelFormat>(kPixelFormats)), InputError);
}

// Bytes of a 5 x 3 picture, from the formats' definitions (GStreamer's video format list).
TEST(Formats, OddSizesNeedTheBytesTheyShould) {
  struct Case {
    PixelFormat format;
    int plane;
    size_t row;
    int rows;
  };
  for (const auto& [format, plane, row, rows] : {Case{PixelFormat::gray8, 0, 5, 3},
                                                 {PixelFormat::gray16, 0, 10, 3},
                                                 {PixelFormat::nv12, 0, 5, 3},
                                                 {PixelFormat::nv12, 1, 6, 2},
                                                 {PixelFormat::i420, 1, 3, 2},
                                                 {PixelFormat::i420, 2, 3, 2},
                                                 {PixelFormat::p010, 0, 10, 3},
                                                 {PixelFormat::p010, 1, 12, 2},
                                                 {PixelFormat::yuy2, 0, 12, 3},
                                                 {PixelFormat::uyvy, 0, 12, 3},
                                                 {PixelFormat::rgba, 0, 20, 3},
                                                 {PixelFormat::bgrx, 0, 20, 3},
                                                 {PixelFormat::rgb, 0, 15, 3},
                                                 {PixelFormat::bgr, 0, 15, 3},
                                                 {PixelFormat::labels32, 0, 20, 3}}) {
    EXPECT_EQ(row_bytes(layout_of(format), plane, {5, 3}), row) << name_of(format);
    EXPECT_EQ(row_count(layout_of(format), plane, {5, 3}), rows) << name_of(format);
  }
}

// A format as its definition draws it: samples of each plane in the order of bytes, for the pixels
// that share the plane's least group. Letters are components, x is nothing.
struct Drawn {
  PixelFormat format;
  const char* components;           // in our order
  std::vector<std::string> planes;  // of a group
  int pixels, rows;                 // of a group
  int bytes = 1, depth = 8, low_bits = 0;
};
const Drawn kDrawn[] = {{PixelFormat::gray8, "Y", {"Y"}, 1, 1},
                        {PixelFormat::gray16, "Y", {"Y"}, 1, 1, 2, 16},
                        {PixelFormat::nv12, "YUV", {"YYYY", "UV"}, 2, 2},
                        {PixelFormat::i420, "YUV", {"YYYY", "U", "V"}, 2, 2},
                        {PixelFormat::p010, "YUV", {"YYYY", "UV"}, 2, 2, 2, 10, 6},
                        {PixelFormat::yuy2, "YUV", {"YUYV"}, 2, 1},
                        {PixelFormat::uyvy, "YUV", {"UYVY"}, 2, 1},
                        {PixelFormat::rgba, "RGBA", {"RGBA"}, 1, 1},
                        {PixelFormat::bgra, "RGBA", {"BGRA"}, 1, 1},
                        {PixelFormat::rgbx, "RGB", {"RGBx"}, 1, 1},
                        {PixelFormat::bgrx, "RGB", {"BGRx"}, 1, 1},
                        {PixelFormat::rgb, "RGB", {"RGB"}, 1, 1},
                        {PixelFormat::bgr, "RGB", {"BGR"}, 1, 1},
                        {PixelFormat::labels32, "L", {"L"}, 1, 1, 4, 32}};

TEST(Formats, AreAsTheirDefinitionsDrawThem) {
  constexpr int kWidth = 8, kHeight = 4;
  for (const Drawn& drawn : kDrawn) {
    SCOPED_TRACE(name_of(drawn.format));
    const Layout& layout = layout_of(drawn.format);
    const std::string components = drawn.components;
    EXPECT_EQ(layout.planes, drawn.planes.size());
    EXPECT_EQ(layout.sample_bytes, drawn.bytes);
    EXPECT_EQ(layout.depth, drawn.depth);
    EXPECT_EQ(layout.low_bits, drawn.low_bits);
    EXPECT_EQ(layout.alpha, components.ends_with('A'));
    EXPECT_EQ(layout.channels, static_cast<int>(components.size()) - layout.alpha);
    EXPECT_EQ(layout.model, components[0] == 'L'   ? ColorModel::labels
                            : components == "Y"    ? ColorModel::gray
                            : components[0] == 'Y' ? ColorModel::yuv
                                                   : ColorModel::rgb);
    GuardedFrame guarded(drawn.format, {kWidth, kHeight});
    const Frame frame = guarded.frame();
    for (size_t p = 0; p < drawn.planes.size(); ++p) {
      const std::string& group = drawn.planes[p];
      // Luma of planar formats fills its rows; what else a group has lies in one.
      const bool is_luma_plane = group == "YYYY";
      const int plane = static_cast<int>(p);
      const int down = is_luma_plane ? 1 : drawn.rows, across = is_luma_plane ? 1 : drawn.pixels;
      const std::string& samples = is_luma_plane ? "Y" : group;
      const size_t row =
          static_cast<size_t>(kWidth / across) * samples.size() * static_cast<size_t>(drawn.bytes);
      EXPECT_EQ(row_bytes(layout, plane, {kWidth, kHeight}), row);
      EXPECT_EQ(row_count(layout, plane, {kWidth, kHeight}), kHeight / down);
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          for (size_t c = 0; c < components.size(); ++c) {
            // The letter's place in the group; of several the one of this pixel.
            size_t at = samples.find(components[c]);
            if (at == samples.npos) continue;
            const size_t second = samples.find(components[c], at + 1);
            if (second != samples.npos && x % 2) at = second;
            const auto first = (static_cast<size_t>(x / across) * samples.size() + at) *
                               static_cast<size_t>(drawn.bytes);
            EXPECT_EQ(frame.at(static_cast<int>(c), x, y) - frame.plane[p],
                      y / down * frame.pitch[p] + static_cast<ptrdiff_t>(first))
                << components[c] << " of " << x << ", " << y;
          }
        }
      }
    }
    if (drawn.bytes == 4) continue;
    for (size_t c = 0; c < components.size(); ++c) {
      const int value = layout.max_value() / 3 + static_cast<int>(c);
      frame.set_sample(static_cast<int>(c), 5, 3, value);
      EXPECT_EQ(frame.sample(static_cast<int>(c), 5, 3), value);
    }
    EXPECT_TRUE(guarded.intact());
  }
}

TEST(Formats, SixteenBitsAreLittleEndianAndP010SitsHigh) {
  GuardedFrame gray(PixelFormat::gray16, {2, 1}), p010(PixelFormat::p010, {2, 1});
  gray.frame().set_sample(0, 1, 0, 0x1234);
  EXPECT_EQ(static_cast<int>(gray.frame().plane[0][2]), 0x34);
  EXPECT_EQ(gray.frame().sample(0, 1, 0), 0x1234);
  p010.frame().set_sample(0, 1, 0, 1023);
  EXPECT_EQ(static_cast<int>(p010.frame().plane[0][3]), 0xFF);
  EXPECT_EQ(static_cast<int>(p010.frame().plane[0][2]), 0xC0);
  EXPECT_EQ(p010.frame().sample(0, 1, 0), 1023);
}

TEST(Thresholds, FractionsOfBlackToWhite) {
  const Layout &gray = layout_of(PixelFormat::gray8), &deep = layout_of(PixelFormat::gray16);
  const Layout &nv12 = layout_of(PixelFormat::nv12), &p010 = layout_of(PixelFormat::p010);
  const Colorimetry full{YuvMatrix::bt601, true}, limited{YuvMatrix::bt601, false};
  EXPECT_EQ(foreground_level(0, gray, full), 0);
  EXPECT_EQ(foreground_level(0.5, gray, full), 128);
  EXPECT_EQ(foreground_level(1, gray, full), 255);
  EXPECT_EQ(foreground_level(0.5, gray, limited), 128);
  EXPECT_EQ(foreground_level(1, deep, full), 65535);
  EXPECT_EQ(foreground_level(0, nv12, limited), 0);
  EXPECT_EQ(foreground_level(0.5, nv12, limited), 126);
  EXPECT_EQ(foreground_level(1, nv12, limited), 235);
  EXPECT_EQ(foreground_level(1, p010, limited), 940);
  EXPECT_EQ(difference_level(0, gray), 0);
  EXPECT_EQ(difference_level(0.1, gray), 26);
  EXPECT_EQ(difference_level(3, layout_of(PixelFormat::rgb)), 765);
}

TEST(MeanColor, KnownColoursComeBack) {
  struct Case {
    PixelFormat format;
    Colorimetry color;
    int value[3];
    double red, green, blue;
  };
  // Primaries of BT.601 and BT.709 in limited range, from the Recommendations' tables.
  for (const auto& [format, color, value, red, green, blue] :
       {Case{PixelFormat::rgb, {}, {10, 200, 30}, 10, 200, 30},
        {PixelFormat::bgra, {}, {10, 200, 30}, 10, 200, 30},
        {PixelFormat::gray8, {}, {99, 0, 0}, 99, 99, 99},
        {PixelFormat::gray16, {}, {65535, 0, 0}, 255, 255, 255},
        {PixelFormat::nv12, {YuvMatrix::bt601, false}, {81, 90, 240}, 255, 0, 0},
        {PixelFormat::i420, {YuvMatrix::bt601, false}, {145, 54, 34}, 0, 255, 0},
        {PixelFormat::yuy2, {YuvMatrix::bt709, false}, {63, 102, 240}, 255, 0, 0},
        {PixelFormat::p010, {YuvMatrix::bt709, false}, {127, 960, 471}, 0, 0, 255},
        {PixelFormat::nv12, {YuvMatrix::bt601, true}, {76, 85, 255}, 255, 0, 0},
        {PixelFormat::nv12, {YuvMatrix::bt2020, false}, {235, 128, 128}, 255, 255, 255}}) {
    Region region;
    region.area = 7;
    for (int c = 0; c < 3; ++c) region.sum_value[c] = static_cast<uint64_t>(value[c]) * 7;
    const MeanColor mean = MeanColors(layout_of(format), color).of(region);
    EXPECT_NEAR(mean.red, red, 2.5) << name_of(format);
    EXPECT_NEAR(mean.green, green, 2.5) << name_of(format);
    EXPECT_NEAR(mean.blue, blue, 2.5) << name_of(format);
  }
  const MeanColor none = MeanColors(layout_of(PixelFormat::rgb), {}).of({});
  EXPECT_EQ(none.red + none.green + none.blue, 0);
}

}  // namespace
}  // namespace regions
