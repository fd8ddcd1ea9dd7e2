// What `color` of a picture says of its YUV: every matrix and range in every format, on drawn
// colours and on thresholds, against the formula of ITU-R BT.601, BT.709 and BT.2020.
#include <array>
#include <cmath>

#include "core/drawing/drawing.hpp"
#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

constexpr int kSide = 32;  // pixels
constexpr uint32_t kTrack = 5;

struct Named {
  RegionsColor color;
  double red, blue;  // Kr and Kb
  bool full;
};
constexpr Named kColors[] = {{REGIONS_COLOR_BT601, 0.299, 0.114, false},
                             {REGIONS_COLOR_BT709, 0.2126, 0.0722, false},
                             {REGIONS_COLOR_BT2020, 0.2627, 0.0593, false},
                             {REGIONS_COLOR_BT601_FULL, 0.299, 0.114, true},
                             {REGIONS_COLOR_BT709_FULL, 0.2126, 0.0722, true},
                             {REGIONS_COLOR_BT2020_FULL, 0.2627, 0.0593, true}};

// Y, U and V of `bits` bits that stand for a colour.
std::array<double, 3> yuv_of(Rgb rgb, const Named& how, int bits) {
  const double r = rgb.red / 255.0, g = rgb.green / 255.0, b = rgb.blue / 255.0;
  const double y = how.red * r + (1 - how.red - how.blue) * g + how.blue * b;
  const double u = (b - y) / (2 * (1 - how.blue)), v = (r - y) / (2 * (1 - how.red));
  const double unit = bits == 10 ? 4 : 1, most = bits == 10 ? 1023 : 255;
  if (how.full) return {y * most, u * most + 128 * unit, v * most + 128 * unit};
  return {(16 + 219 * y) * unit, (128 + 224 * u) * unit, (128 + 224 * v) * unit};
}

// A picture of one value of every byte, in any format, and its components.
class Plain {
 public:
  Plain(PixelFormat format, int height, uint8_t fill) : layout_(layout_of(format)) {
    picture_.format = name_of(format).data();
    picture_.width = kSide;
    picture_.height = height;
    for (int p = 0; p < layout_.planes; ++p) {
      const size_t row = row_bytes(layout_, p, {kSide, height});
      planes_.emplace_back(row * static_cast<size_t>(row_count(layout_, p, {kSide, height})), fill);
      picture_.plane[p] = planes_.back().data();
      picture_.pitch[p] = static_cast<ptrdiff_t>(row);
    }
  }
  RegionsPicture& get() { return picture_; }
  int depth() const { return layout_.depth; }
  int sample(int c, int x, int y) const {
    const Component& k = layout_.component[c];
    const uint8_t* p = planes_[k.plane].data() + (y >> k.y_shift) * picture_.pitch[k.plane] +
                       (x >> k.x_shift) * k.step + k.offset;
    return layout_.sample_bytes == 1 ? p[0] : (p[0] | p[1] << 8) >> layout_.low_bits;
  }

 private:
  const Layout& layout_;
  std::vector<std::vector<uint8_t>> planes_;
  RegionsPicture picture_ = {};
};

// A box whose sides are as thick as it is wide, drawn on a dark picture.
Plain drawn(const Filter& filter, PixelFormat format, int height, RegionsColor color) {
  Plain plain(format, height, 40);
  RegionsRegion region = {};
  region.id = 1;
  region.track = kTrack;
  region.left = region.top = 4;
  region.right = region.bottom = 27;
  RegionsFrame frame = REGIONS_FRAME_INIT;
  plain.get().color = color;
  frame.in = frame.out = plain.get();
  frame.attached = &region;
  frame.attached_count = 1;
  EXPECT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
  return plain;
}

Filter painter() {
  Filter filter = open("regionoverlay");
  EXPECT_EQ(regions_set(filter.get(), "style", "boxes"), REGIONS_OK);
  EXPECT_EQ(regions_set(filter.get(), "thickness", "16"), REGIONS_OK);
  return filter;
}

void expect_color(const Plain& plain, Rgb rgb, const Named& how, const std::string& where) {
  const std::array<double, 3> expected = yuv_of(rgb, how, plain.depth());
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(plain.sample(c, 12, 12), expected[static_cast<size_t>(c)],
                plain.depth() == 10 ? 4 : 1)
        << "component " << c << " of " << where;
  }
}

TEST(LibraryColors, DrawingSpeaksThePicturesYuv) {
  // One filter for all: what changes with the colour alone is noticed.
  const Filter filter = painter();
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::i420, PixelFormat::p010,
                                   PixelFormat::yuy2, PixelFormat::uyvy}) {
    for (const Named& how : kColors) {
      expect_color(
          drawn(filter, format, kSide, how.color), track_color(kTrack), how,
          std::string(name_of(format)) + " with RegionsColor " + std::to_string(how.color));
    }
  }
}

TEST(LibraryColors, TheDefaultAloneGoesByTheRows) {
  const Filter filter = painter();
  for (const Named& how : kColors) {
    expect_color(drawn(filter, PixelFormat::yuy2, 720, how.color), track_color(kTrack), how,
                 "720 rows with RegionsColor " + std::to_string(how.color));
  }
  for (const auto& [height, how] : {std::pair(32, kColors[0]), std::pair(719, kColors[0]),
                                    std::pair(720, kColors[1]), std::pair(721, kColors[1])}) {
    expect_color(drawn(filter, PixelFormat::yuy2, height, REGIONS_COLOR_DEFAULT),
                 track_color(kTrack), how, std::to_string(height) + " rows");
  }
}

// All is foreground, and its tint is opaque.
TEST(LibraryColors, TintsSpeakThePicturesYuv) {
  const Filter filter = open("graphcutbg");
  for (const auto& [name, value] :
       {std::pair("source", "mask"), std::pair("opacity", "1"), std::pair("color", "0xFFC86420")}) {
    ASSERT_EQ(regions_set(filter.get(), name, value), REGIONS_OK) << regions_error();
  }
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::p010, PixelFormat::uyvy}) {
    for (const Named& how : kColors) {
      Plain plain(format, kSide, 40);
      Plain mask(PixelFormat::gray8, kSide, 255);
      RegionsFrame frame = REGIONS_FRAME_INIT;
      plain.get().color = how.color;
      frame.in = frame.out = plain.get();
      frame.mask = mask.get();
      ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
      expect_color(
          plain, {0xC8, 0x64, 0x20}, how,
          std::string(name_of(format)) + " with RegionsColor " + std::to_string(how.color));
    }
  }
}

TEST(LibraryColors, GreyAndRgbHaveOneMeaning) {
  const Filter filter = painter();
  const Rgb rgb = track_color(kTrack);
  for (int color = REGIONS_COLOR_DEFAULT; color <= REGIONS_COLOR_BT2020_FULL; ++color) {
    const auto of = static_cast<RegionsColor>(color);
    const Plain picture = drawn(filter, PixelFormat::bgr, kSide, of);
    EXPECT_EQ(picture.sample(0, 12, 12), rgb.red) << color;
    EXPECT_EQ(picture.sample(1, 12, 12), rgb.green) << color;
    EXPECT_EQ(picture.sample(2, 12, 12), rgb.blue) << color;
    const Plain gray = drawn(filter, PixelFormat::gray8, kSide, of);
    EXPECT_NEAR(gray.sample(0, 12, 12), 0.299 * rgb.red + 0.587 * rgb.green + 0.114 * rgb.blue, 1)
        << color;
  }
}

// The least luma that threshold=0.25 takes as foreground.
TEST(LibraryColors, ThresholdsKnowTheRange) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "none"), REGIONS_OK);
  ASSERT_EQ(regions_set(filter.get(), "threshold", "0.25"), REGIONS_OK);
  for (const auto& [format, color, expected] :
       {std::tuple(PixelFormat::i420, REGIONS_COLOR_DEFAULT, 71),
        std::tuple(PixelFormat::i420, REGIONS_COLOR_BT601, 71),
        std::tuple(PixelFormat::i420, REGIONS_COLOR_BT601_FULL, 64),
        std::tuple(PixelFormat::i420, REGIONS_COLOR_BT709, 71),
        std::tuple(PixelFormat::i420, REGIONS_COLOR_BT709_FULL, 64),
        std::tuple(PixelFormat::i420, REGIONS_COLOR_BT2020, 71),
        std::tuple(PixelFormat::i420, REGIONS_COLOR_BT2020_FULL, 64),
        std::tuple(PixelFormat::gray8, REGIONS_COLOR_BT601, 64),
        std::tuple(PixelFormat::rgbx, REGIONS_COLOR_BT709, 64)}) {
    int least = 0;
    for (uint32_t total = 0; total == 0; ++least) {
      Plain plain(format, kSide, static_cast<uint8_t>(least));
      RegionsFrame frame = REGIONS_FRAME_INIT;
      frame.in = plain.get();
      frame.in.color = color;
      ASSERT_LT(least, 255);
      ASSERT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
      total = frame.total;
    }
    EXPECT_EQ(least - 1, expected) << name_of(format) << " with RegionsColor " << color;
  }
}

}  // namespace
}  // namespace regions::test
