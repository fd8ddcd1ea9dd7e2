// The meaning of codes: pictures of every format and colorimetry through every element, compared
// with the formulas of ITU-R BT.601, BT.709 and BT.2020.
#include <array>
#include <cmath>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr guint kWidth = 16, kHeight = 8;

struct Meaning {
  const char* colorimetry;
  double kr, kb;
  bool limited;
};
const Meaning kMeanings[] = {
    {"bt601", 0.299, 0.114, true},    {"1:4:0:0", 0.299, 0.114, false},
    {"bt709", 0.2126, 0.0722, true},  {"1:3:5:1", 0.2126, 0.0722, false},
    {"bt2020", 0.2627, 0.0593, true}, {"1:6:0:0", 0.2627, 0.0593, false},
    {"2:2:0:0", 0.299, 0.114, true},  // a matrix that the plugin does not have
};
const char* const kYuv[] = {"NV12", "I420", "P010_10LE", "YUY2", "UYVY"};
const char* const kRgb[] = {"RGBA", "BGRA", "RGBx", "BGRx", "RGB", "BGR"};
const char* const kGray[] = {"GRAY8", "GRAY16_LE"};

using Color = std::array<double, 3>;  // R, G, B up to 255, or codes of a format's components

// A format and its colorimetry.
struct Kind {
  std::string format;
  Meaning meaning;

  GstVideoInfo info() const {
    GstVideoInfo info;
    gst_video_info_set_format(&info, gst_video_format_from_string(format.c_str()), kWidth, kHeight);
    return info;
  }
  bool is_yuv() const { return GST_VIDEO_FORMAT_INFO_IS_YUV(info().finfo); }
  bool is_gray() const { return GST_VIDEO_FORMAT_INFO_IS_GRAY(info().finfo); }
  double top() const { return std::pow(2, GST_VIDEO_FORMAT_INFO_DEPTH(info().finfo, 0)) - 1; }
  // One step of an 8-bit code, in codes of this format.
  double step() const { return (top() + 1) / 256; }
  double luma_range() const { return meaning.limited ? 219 * step() : top(); }
  double chroma_range() const { return meaning.limited ? 224 * step() : top(); }
  double black() const { return meaning.limited ? 16 * step() : 0; }

  Color color_of(const Color& codes) const {
    if (is_gray()) return {codes[0] * 255 / top(), codes[0] * 255 / top(), codes[0] * 255 / top()};
    if (!is_yuv()) return codes;
    const double y = (codes[0] - black()) / luma_range();
    const double u = (codes[1] - 128 * step()) / chroma_range();
    const double v = (codes[2] - 128 * step()) / chroma_range();
    const double r = y + 2 * (1 - meaning.kr) * v, b = y + 2 * (1 - meaning.kb) * u;
    const double g = (y - meaning.kr * r - meaning.kb * b) / (1 - meaning.kr - meaning.kb);
    const auto level = [](double share) { return std::fmin(std::fmax(255 * share, 0), 255); };
    return {level(r), level(g), level(b)};
  }
  Color codes_of(const Color& color) const {
    const auto [r, g, b] = Color{color[0] / 255, color[1] / 255, color[2] / 255};
    const double y = meaning.kr * r + (1 - meaning.kr - meaning.kb) * g + meaning.kb * b;
    if (is_gray()) return {y * top(), y * top(), y * top()};
    if (!is_yuv()) return color;
    return {black() + y * luma_range(),
            128 * step() + (b - y) / (2 - 2 * meaning.kb) * chroma_range(),
            128 * step() + (r - y) / (2 - 2 * meaning.kr) * chroma_range()};
  }
};

// Calls visit(pointer to the sample, component, x, y) for all samples except alpha.
template <class Visit>
void visit_samples(const GstVideoInfo& info, uint8_t* bytes, Visit visit) {
  const guint components = std::min(GST_VIDEO_INFO_N_COMPONENTS(&info), 3u);
  for (guint c = 0; c < components; ++c) {
    // In GStreamer 1.22, V of P010 begins one byte after U, although U has two bytes.
    const bool is_v = c == 2 && GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_P010_10LE;
    const size_t begin =
        is_v ? GST_VIDEO_INFO_COMP_OFFSET(&info, 1) + 2 : GST_VIDEO_INFO_COMP_OFFSET(&info, c);
    for (int y = 0; y < GST_VIDEO_INFO_COMP_HEIGHT(&info, c); ++y) {
      for (int x = 0; x < GST_VIDEO_INFO_COMP_WIDTH(&info, c); ++x) {
        visit(bytes + begin +
                  static_cast<size_t>(y * GST_VIDEO_INFO_COMP_STRIDE(&info, c) +
                                      x * GST_VIDEO_INFO_COMP_PSTRIDE(&info, c)),
              c, x, y);
      }
    }
  }
}

// A picture of one colour.
std::vector<uint8_t> flat(const Kind& kind, const Color& codes) {
  const GstVideoInfo info = kind.info();
  std::vector<uint8_t> bytes(GST_VIDEO_INFO_SIZE(&info), 255);
  visit_samples(info, bytes.data(), [&](uint8_t* at, guint c, int, int) {
    const auto code = static_cast<guint>(codes[c]) << info.finfo->shift[c];
    at[0] = static_cast<uint8_t>(code);
    if (kind.top() > 255) at[1] = static_cast<uint8_t>(code >> 8);
  });
  return bytes;
}

void expect_flat(const Kind& kind, std::vector<uint8_t> bytes, const Color& codes,
                 const std::string& where) {
  const GstVideoInfo info = kind.info();
  ASSERT_EQ(bytes.size(), GST_VIDEO_INFO_SIZE(&info)) << where;
  double worst = 0;
  std::string which;
  visit_samples(info, bytes.data(), [&](const uint8_t* at, guint c, int x, int y) {
    const int stored = kind.top() > 255 ? at[0] | at[1] << 8 : at[0];
    const double code = stored >> info.finfo->shift[c];
    const double off = std::fabs(code - codes[c]) / kind.step();
    if (off <= worst) return;
    worst = off;
    which = "component " + std::to_string(c) + " at " + std::to_string(x) + ", " +
            std::to_string(y) + " is " + std::to_string(code) + ", expected " +
            std::to_string(codes[c]);
  });
  EXPECT_LE(worst, 1.01) << where << ": " << which;
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const char* format : kYuv) {
    for (const Meaning& meaning : kMeanings) all.push_back({format, meaning});
  }
  for (const char* format : kRgb) all.push_back({format, {"sRGB", 0, 0, false}});
  for (const char* format : kGray) {
    for (const size_t i : {1u, 3u}) all.push_back({format, kMeanings[i]});
  }
  return all;
}

// The output frame of an element for one flat picture.
BufferPtr after(const std::string& line, const Kind& kind, const Color& codes,
                const std::string& sink = "") {
  Harness h(line, sink);
  h.video(kind.format, kWidth, kHeight, std::string(",colorimetry=") + kind.meaning.colorimetry);
  EXPECT_EQ(h.push(flat(kind, codes)), GST_FLOW_OK) << line << ": " << h.error_text();
  return h.pull();
}

// The codes of a colour that all colorimetries can represent.
Color some_codes(const Kind& kind) {
  const Color codes = kind.codes_of({200, 90, 120});
  return {std::round(codes[0]), std::round(codes[1]), std::round(codes[2])};
}

std::string name_of(const Kind& kind) { return kind.format + " " + kind.meaning.colorimetry; }

double number_in(GstBuffer* buffer, const char* field) {
  return g_ascii_strtod(region_field(regions_of(buffer), 0, field).c_str(), nullptr);
}

// CIELAB (CIE 15) of D65, from sRGB (IEC 61966-2-1).
Color lab_of(const Color& color) {
  Color linear;
  for (size_t i = 0; i < 3; ++i) {
    const double c = color[i] / 255;
    linear[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  const auto [r, g, b] = linear;
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const double y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const double z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

TEST(ElementColors, MeanColorsInMetadata_AnyFormat_AreRgbAndCielab) {
  for (const Kind& kind : kinds()) {
    const Color codes = some_codes(kind), color = kind.color_of(codes);
    for (const char* line :
         {"cclabel output=none threshold=0 device=cpu",
          "slicsuperpixel output=none superpixels=1 describe=structures device=cpu"}) {
      const BufferPtr out = after(line, kind, codes);
      ASSERT_TRUE(out);
      const std::string where = std::string(line) + " " + name_of(kind);
      EXPECT_NEAR(number_in(out.get(), "red"), color[0], 1e-6) << where;
      EXPECT_NEAR(number_in(out.get(), "green"), color[1], 1e-6) << where;
      EXPECT_NEAR(number_in(out.get(), "blue"), color[2], 1e-6) << where;
      if (line[0] == 'c') continue;
      const Color lab = lab_of(color);
      EXPECT_NEAR(number_in(out.get(), "lab-l"), lab[0], 1.5) << where;
      EXPECT_NEAR(number_in(out.get(), "lab-a"), lab[1], 2) << where;
      EXPECT_NEAR(number_in(out.get(), "lab-b"), lab[2], 2) << where;
    }
  }
}

// Drawings have the same colour in every format. The whole first frame is background, and one
// region.
TEST(ElementColors, DrawnColors_EveryFormat_HaveItsSampleValues) {
  const BufferPtr shown =
      after("cclabel output=colors threshold=0 device=cpu", {"RGB", {"sRGB", 0, 0, false}},
            {9, 9, 9}, "video/x-raw,format=RGB");
  ASSERT_TRUE(shown);
  const std::vector<uint8_t> rgb = bytes_of(shown.get());
  const Color first_label = {double(rgb[0]), double(rgb[1]), double(rgb[2])};
  const Color violet = {120, 70, 150};
  struct Case {
    const char* line;
    Color color;
  };
  for (const Kind& kind : kinds()) {
    for (const Case& c :
         {Case{"graphcutbg output=replace replace-with=color replace-color=0xff784696", violet},
          {"cclabel threshold=0 style=fill opacity=1", first_label},
          {"cclabel threshold=0 output=none ! regionoverlay style=fill opacity=1", first_label}}) {
      const BufferPtr out = after(c.line, kind, some_codes(kind));
      ASSERT_TRUE(out);
      expect_flat(kind, bytes_of(out.get()), kind.codes_of(c.color),
                  std::string(c.line) + " " + name_of(kind));
    }
  }
}

// A flat picture is its own mean. Its cutout is its RGB colour and a mask.
TEST(ElementColors, FlatPicture_OutputMeanAndOutputCutout_HaveItsColor) {
  for (const Kind& kind : kinds()) {
    const Color codes = some_codes(kind), color = kind.color_of(codes);
    const BufferPtr mean = after("slicsuperpixel output=mean device=cpu", kind, codes);
    ASSERT_TRUE(mean);
    expect_flat(kind, bytes_of(mean.get()), codes, "mean of " + name_of(kind));
    const BufferPtr cutout = after("graphcutbg output=cutout device=cpu", kind, codes);
    ASSERT_TRUE(cutout);
    const std::vector<uint8_t> pixels = bytes_of(cutout.get());
    ASSERT_EQ(pixels.size(), kWidth * kHeight * 4);
    for (size_t i = 0; i < pixels.size(); ++i) {
      const double expected = i % 4 < 3 ? color[i % 4] : 0;
      ASSERT_NEAR(pixels[i], expected, 1.01) << "cutout of " << name_of(kind) << ", byte " << i;
    }
  }
}

// Thresholds are between black and white, which are codes 16 and 235 in the limited range.
TEST(ElementColors, Threshold_EveryRange_IsRelativeToBlackAndWhite) {
  for (const Kind& kind : kinds()) {
    if (!kind.is_yuv() && kind.format != "RGB" && !kind.is_gray()) continue;
    for (const double threshold : {0.25, 0.6}) {
      const double black = kind.is_yuv() ? kind.black() : 0;
      const double least = black + threshold * (kind.is_yuv() ? kind.luma_range() : kind.top());
      for (const double code : {std::floor(least), std::ceil(least)}) {
        const double none = 128 * kind.step();
        const Color gray = kind.is_yuv() ? Color{code, none, none} : Color{code, code, code};
        const BufferPtr out = after(
            "cclabel output=mask device=cpu threshold=" + std::to_string(threshold), kind, gray);
        ASSERT_TRUE(out);
        EXPECT_EQ(bytes_of(out.get())[0], code >= least ? 255 : 0)
            << name_of(kind) << ", code " << code << ", threshold " << threshold;
      }
    }
  }
}

}  // namespace
}  // namespace regions::test
