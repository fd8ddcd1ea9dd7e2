// Pixel formats and colorimetry: every pair of formats, guarded memory, planes, and every YUV
// matrix against ITU-R BT.601, BT.709 and BT.2020.
#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <span>

#include "core/drawing/drawing.hpp"
#include "tests/algorithms.hpp"
#include "tests/library/library_case.hpp"

namespace regions::test {
namespace {

constexpr uint8_t kGuard = 0xA5;
constexpr size_t kGuardBytes = 256;

// Planes without padding, between guards.
class GuardedPicture {
 public:
  GuardedPicture(PixelFormat format, uint8_t fill) {
    const Layout& layout = layout_of(format);
    picture_.format = name_of(format).data();
    picture_.width = kWidth;
    picture_.height = kHeight;
    for (int p = 0; p < layout.planes; ++p) {
      const size_t row = row_bytes(layout, p, {kWidth, kHeight});
      const size_t bytes = row * static_cast<size_t>(row_count(layout, p, {kWidth, kHeight}));
      std::vector<uint8_t>& plane = planes_.emplace_back(bytes + 2 * kGuardBytes, kGuard);
      std::fill_n(plane.begin() + kGuardBytes, bytes, fill);
      picture_.plane[p] = plane.data() + kGuardBytes;
      picture_.pitch[p] = static_cast<ptrdiff_t>(row);
    }
  }
  RegionsPicture& get() { return picture_; }
  bool is_intact() const {
    const auto is_guard = [](uint8_t byte) { return byte == kGuard; };
    return std::ranges::all_of(planes_, [&](const std::vector<uint8_t>& plane) {
      return std::all_of(plane.begin(), plane.begin() + kGuardBytes, is_guard) &&
             std::all_of(plane.end() - kGuardBytes, plane.end(), is_guard);
    });
  }

 private:
  std::vector<std::vector<uint8_t>> planes_;
  RegionsPicture picture_ = {};
};

std::vector<std::string> choices_of(const KnownAlgorithm& algorithm, const char* name) {
  std::vector<std::string> names;
  for (const Field& field : algorithm.fields) {
    if (field.name != std::string(name)) continue;
    for (const Choice& choice : field.choices) names.emplace_back(choice.name);
  }
  return names;
}

bool fits(const std::string& output, PixelFormat in, PixelFormat out) {
  const Layout& layout = layout_of(out);
  if (in == PixelFormat::labels32 || output == "none") return false;
  if (output == "labels") return layout.model == ColorModel::gray || out == PixelFormat::labels32;
  if (output == "mask" || output == "boundaries") return out == PixelFormat::gray8;
  if (output == "colors") return layout.model == ColorModel::rgb;
  if (output == "cutout") return out == PixelFormat::rgba;
  return out == in;
}

TEST(CLibraryFormats, EveryPairOfFormats_IsRefusedUnlessTheOutputSupportsIt) {
  for (const KnownAlgorithm& algorithm : kAlgorithms) {
    std::vector<std::string> outputs = choices_of(algorithm, "output");
    if (outputs.empty()) outputs = {""};  // draws
    for (const std::string& output : outputs) {
      const Filter filter = open(algorithm.name);
      if (!output.empty()) {
        ASSERT_EQ(regions_set(filter.get(), "output", output.c_str()), REGIONS_OK);
      }
      for (int i = 0; i < kPixelFormats; ++i) {
        for (int o = 0; o < kPixelFormats; ++o) {
          const auto in_format = static_cast<PixelFormat>(i),
                     out_format = static_cast<PixelFormat>(o);
          GuardedPicture in(in_format, 90), out(out_format, 30);
          RegionsFrame frame = REGIONS_FRAME_INIT;
          frame.in = in.get();
          frame.out = out.get();
          const RegionsStatus status = regions_process(filter.get(), &frame);
          const std::string where = std::string(algorithm.name) + " output=" + output + " from " +
                                    frame.in.format + " to " + frame.out.format;
          EXPECT_EQ(status, fits(output, in_format, out_format) ? REGIONS_OK : REGIONS_ERROR_INPUT)
              << where << ": " << regions_error();
          EXPECT_TRUE(in.is_intact() && out.is_intact()) << where;
        }
      }
    }
  }
}

TEST(CLibraryFormats, MaskOfAnyFormat_OnlyGrayOrLabelsIsAccepted) {
  for (const auto& [algorithm, output] :
       {std::pair("cclabel", "mask"), std::pair("graphcutbg", "mask"),
        std::pair("regionoverlay", "")}) {
    const Filter filter = open(algorithm);
    if (*output) {
      ASSERT_EQ(regions_set(filter.get(), "output", output), REGIONS_OK);
      ASSERT_EQ(regions_set(filter.get(), "source", "mask"), REGIONS_OK);
    }
    for (int m = 0; m < kPixelFormats; ++m) {
      const auto format = static_cast<PixelFormat>(m);
      GuardedPicture in(PixelFormat::gray8, 90), out(PixelFormat::gray8, 30), mask(format, 255);
      RegionsFrame frame = REGIONS_FRAME_INIT;
      frame.in = in.get();
      frame.out = out.get();
      frame.mask = mask.get();
      const ColorModel model = layout_of(format).model;
      const bool is_mask = model == ColorModel::gray || model == ColorModel::labels;
      EXPECT_EQ(regions_process(filter.get(), &frame), is_mask ? REGIONS_OK : REGIONS_ERROR_INPUT)
          << algorithm << " with a mask of " << frame.mask.format << ": " << regions_error();
      EXPECT_TRUE(in.is_intact() && out.is_intact() && mask.is_intact());
    }
  }
}

// One invalid plane in each picture of a frame.
TEST(CLibraryFormats, InvalidPlane_ErrorNamesThePlane) {
  const Filter filter = open("cclabel");
  ASSERT_EQ(regions_set(filter.get(), "output", "labels"), REGIONS_OK);
  const auto text_of = [&](auto spoil) {
    GuardedPicture in(PixelFormat::nv12, 90), out(PixelFormat::gray16, 30),
        labels(PixelFormat::labels32, 30), mask(PixelFormat::labels32, 0);
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = in.get();
    frame.out = out.get();
    frame.labels = labels.get();
    frame.mask = mask.get();
    EXPECT_EQ(regions_process(filter.get(), &frame), REGIONS_OK) << regions_error();
    spoil(frame);
    EXPECT_EQ(regions_process(filter.get(), &frame), REGIONS_ERROR_INPUT);
    return std::string(regions_error());
  };
  const auto moved = [](void* plane) -> void* { return static_cast<uint8_t*>(plane) + 1; };
  using Frame = RegionsFrame&;
  EXPECT_EQ(text_of([](Frame f) { f.in.plane[1] = nullptr; }), "plane 1 of in is missing");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[1] = kWidth; }), "rows of plane 1 of in overlap");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[0] = 0; }), "rows of plane 0 of in overlap");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[0] = PTRDIFF_MAX; }),
            "rows of plane 0 of in are 2 GiB or more apart");
  EXPECT_EQ(text_of([](Frame f) { f.in.pitch[0] = PTRDIFF_MIN; }),
            "rows of plane 0 of in are 2 GiB or more apart");
  EXPECT_EQ(text_of([&](Frame f) { f.out.plane[0] = moved(f.out.plane[0]); }),
            "rows of plane 0 of out must begin at multiples of 2 bytes, the size of a sample");
  EXPECT_EQ(text_of([](Frame f) { f.out.pitch[0] += 1; }),
            "rows of plane 0 of out must begin at multiples of 2 bytes, the size of a sample");
  EXPECT_EQ(text_of([&](Frame f) { f.labels.plane[0] = moved(f.labels.plane[0]); }),
            "rows of plane 0 of labels must begin at multiples of 4 bytes, the size of a sample");
  EXPECT_EQ(text_of([](Frame f) { f.labels.pitch[0] += 2; }),
            "rows of plane 0 of labels must begin at multiples of 4 bytes, the size of a sample");
  EXPECT_EQ(text_of([](Frame f) { f.mask.pitch[0] += 2; }),
            "rows of plane 0 of mask must begin at multiples of 4 bytes, the size of a sample");
}

TEST(CLibraryFormats, InPlaceOutputWithOtherPlaneOrPitch_IsRefused) {
  const Filter filter = open("cclabel");
  const auto status_of = [&](auto spoil) {
    GuardedPicture in(PixelFormat::nv12, 90), other(PixelFormat::nv12, 90);
    RegionsFrame frame = REGIONS_FRAME_INIT;
    frame.in = frame.out = in.get();
    spoil(frame.out, other.get());
    return regions_process(filter.get(), &frame);
  };
  using Picture = RegionsPicture&;
  EXPECT_EQ(status_of([](Picture, Picture) {}), REGIONS_OK);
  EXPECT_EQ(status_of([](Picture out, Picture other) { out.plane[1] = other.plane[1]; }),
            REGIONS_ERROR_INPUT);
  EXPECT_EQ(status_of([](Picture out, Picture) { out.pitch[0] += 16; }), REGIONS_ERROR_INPUT);
}

// ---- colorimetry

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

// Returns Y, U and V with `bits` bits for a colour.
std::array<double, 3> yuv_of(Rgb rgb, const Named& how, int bits) {
  const double r = rgb.red / 255.0, g = rgb.green / 255.0, b = rgb.blue / 255.0;
  const double y = how.red * r + (1 - how.red - how.blue) * g + how.blue * b;
  const double u = (b - y) / (2 * (1 - how.blue)), v = (r - y) / (2 * (1 - how.red));
  const double unit = bits == 10 ? 4 : 1, most = bits == 10 ? 1023 : 255;
  if (how.full) return {y * most, u * most + 128 * unit, v * most + 128 * unit};
  return {(16 + 219 * y) * unit, (128 + 224 * u) * unit, (128 + 224 * v) * unit};
}

// A picture in any format whose bytes all have one value.
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
  int depth() const { return layout_.sample_bits; }
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

// Draws a filled box on a dark picture.
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

TEST(CLibraryColors, DrawnColor_HasMatrixAndRangeOfPicture) {
  // One filter for all pictures, so that it must notice changes of the colorimetry.
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

TEST(CLibraryColors, UnknownColorimetry_MatrixDependsOnHeight) {
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

TEST(CLibraryColors, GrayAndRgbPictures_MatrixIsIgnored) {
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

// The smallest luma that threshold=0.25 accepts as foreground.
TEST(CLibraryColors, Threshold_FullAndLimitedRange_IsRelativeToBlackAndWhite) {
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
