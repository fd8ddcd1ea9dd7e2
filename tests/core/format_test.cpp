// Pixel formats: names, sizes, positions of samples, and invalid frames.
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "core/frame.hpp"
#include "tests/core/error_message.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

TEST(PixelFormats, FormatNamed_ReturnsTheFormatOfAKnownNameAndThrowsForOtherNames) {
  std::set<std::string_view> names;
  for (int f = 0; f < kPixelFormats; ++f) {
    const auto format = static_cast<PixelFormat>(f);
    EXPECT_EQ(layout_of(format).format, format);
    EXPECT_EQ(format_named(name_of(format)), format);
    EXPECT_TRUE(names.insert(name_of(format)).second);
  }
  EXPECT_THROW(format_named("NV21"), InputError);
  EXPECT_THROW(format_named(""), InputError);
}

// Bytes of a 5x3 picture, from the definitions of the formats (GStreamer's list of video formats).
TEST(PixelFormats, RowBytesAndRowCount_OddPictureSize_ChromaIsRoundedUp) {
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

// The definition of a format as text: the samples of each plane in the order of bytes, for the
// smallest group of pixels. Letters are components; x is padding.
struct Definition {
  PixelFormat format;
  const char* components;           // in our order
  std::vector<std::string> planes;  // of a group
  int pixels, rows;                 // of a group
  int bytes = 1, depth = 8, low_bits = 0;
};
const Definition kDefinitions[] = {{PixelFormat::gray8, "Y", {"Y"}, 1, 1},
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

TEST(PixelFormats, EveryFormat_SamplesAreAtTheDefinedOffsets) {
  constexpr int kWidth = 8, kHeight = 4;
  for (const Definition& definition : kDefinitions) {
    SCOPED_TRACE(name_of(definition.format));
    const Layout& layout = layout_of(definition.format);
    const std::string components = definition.components;
    EXPECT_EQ(layout.planes, definition.planes.size());
    EXPECT_EQ(layout.sample_bytes, definition.bytes);
    EXPECT_EQ(layout.sample_bits, definition.depth);
    EXPECT_EQ(layout.low_bits, definition.low_bits);
    EXPECT_EQ(layout.alpha, components.ends_with('A'));
    EXPECT_EQ(layout.channels, static_cast<int>(components.size()) - layout.alpha);
    EXPECT_EQ(layout.model, components[0] == 'L'   ? ColorModel::labels
                            : components == "Y"    ? ColorModel::gray
                            : components[0] == 'Y' ? ColorModel::yuv
                                                   : ColorModel::rgb);
    GuardedFrame guarded(definition.format, {kWidth, kHeight});
    const Frame frame = guarded.frame();
    for (size_t p = 0; p < definition.planes.size(); ++p) {
      const std::string& group = definition.planes[p];
      // A luma plane has samples for all pixels of the group, other planes one set per group.
      const bool is_luma_plane = group == "YYYY";
      const int plane = static_cast<int>(p);
      const int down = is_luma_plane ? 1 : definition.rows,
                across = is_luma_plane ? 1 : definition.pixels;
      const std::string& samples = is_luma_plane ? "Y" : group;
      const size_t row = static_cast<size_t>(kWidth / across) * samples.size() *
                         static_cast<size_t>(definition.bytes);
      EXPECT_EQ(row_bytes(layout, plane, {kWidth, kHeight}), row);
      EXPECT_EQ(row_count(layout, plane, {kWidth, kHeight}), kHeight / down);
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          for (size_t c = 0; c < components.size(); ++c) {
            // The position of the letter in the group; if there are two, the one of this pixel.
            size_t at = samples.find(components[c]);
            if (at == samples.npos) continue;
            const size_t second = samples.find(components[c], at + 1);
            if (second != samples.npos && x % 2) at = second;
            const auto first = (static_cast<size_t>(x / across) * samples.size() + at) *
                               static_cast<size_t>(definition.bytes);
            EXPECT_EQ(frame.at(static_cast<int>(c), x, y) - frame.plane[p],
                      y / down * frame.pitch[p] + static_cast<ptrdiff_t>(first))
                << components[c] << " of " << x << ", " << y;
          }
        }
      }
    }
    if (definition.bytes == 4) continue;
    for (size_t c = 0; c < components.size(); ++c) {
      const int value = layout.max_value() / 3 + static_cast<int>(c);
      frame.set_sample(static_cast<int>(c), 5, 3, value);
      EXPECT_EQ(frame.sample(static_cast<int>(c), 5, 3), value);
    }
    EXPECT_TRUE(guarded.intact());
  }
}

TEST(PixelFormats, SetSample_SixteenBitFormats_StoresLittleEndianAndP010InTheHighBits) {
  GuardedFrame gray(PixelFormat::gray16, {2, 1}), p010(PixelFormat::p010, {2, 1});
  gray.frame().set_sample(0, 1, 0, 0x1234);
  EXPECT_EQ(static_cast<int>(gray.frame().plane[0][2]), 0x34);
  EXPECT_EQ(gray.frame().sample(0, 1, 0), 0x1234);
  p010.frame().set_sample(0, 1, 0, 1023);
  EXPECT_EQ(static_cast<int>(p010.frame().plane[0][3]), 0xFF);
  EXPECT_EQ(static_cast<int>(p010.frame().plane[0][2]), 0xC0);
  EXPECT_EQ(p010.frame().sample(0, 1, 0), 1023);
}

TEST(PixelFormats, UnknownFormat_ErrorNamesIt) {
  EXPECT_EQ(error_message_of([] { layout_of(static_cast<PixelFormat>(14)); }),
            "unknown pixel format number 14");
  EXPECT_EQ(error_message_of([] { name_of(static_cast<PixelFormat>(255)); }),
            "unknown pixel format number 255");
  EXPECT_EQ(error_message_of([] { format_named("nv12"); }), "unknown pixel format: nv12");
  EXPECT_EQ(row_bytes(layout_of(PixelFormat::nv12), 2, {4, 4}), 0u);
  EXPECT_EQ(row_count(layout_of(PixelFormat::nv12), 2, {4, 4}), 0);
}

// Every plane of every format, with pitches at both limits.
TEST(FrameChecks, InvalidPlane_ErrorNamesThePlane) {
  for (int f = 0; f < kPixelFormats; ++f) {
    GuardedFrame guarded(static_cast<PixelFormat>(f), {6, 4});
    const ConstFrame good = std::as_const(guarded).frame();
    const int bytes = good.layout.sample_bytes;
    EXPECT_EQ(error_message_of([&] { expects_planes(good, "it"); }), "");
    EXPECT_EQ(error_message_of([&] { expects_aligned(good, "it"); }), "");
    for (int p = 0; p < good.layout.planes; ++p) {
      const std::string plane = "plane " + std::to_string(p) + " of it";
      const auto least = static_cast<ptrdiff_t>(row_bytes(good.layout, p, good.size()));
      const auto with_pitch = [&](ptrdiff_t pitch, int height = 4) {
        ConstFrame frame = good;
        frame.pitch[p] = pitch;
        frame.height = height;
        return error_message_of([&] { expects_planes(frame, "it"); });
      };
      const std::string far = "rows of " + plane + " are 2 GiB or more apart";
      const std::string overlap = "rows of " + plane + " overlap";
      EXPECT_EQ(with_pitch(least), "");
      EXPECT_EQ(with_pitch(-least), "");
      EXPECT_EQ(with_pitch(least - 1), overlap);
      EXPECT_EQ(with_pitch(1 - least), overlap);
      EXPECT_EQ(with_pitch(0), overlap);
      EXPECT_EQ(with_pitch(0, 1), "") << "one row overlaps nothing";
      EXPECT_EQ(with_pitch(INT32_MAX), "");
      EXPECT_EQ(with_pitch(-INT32_MAX), "");
      EXPECT_EQ(with_pitch(ptrdiff_t{INT32_MAX} + 1), far);
      EXPECT_EQ(with_pitch(-ptrdiff_t{INT32_MAX} - 1), far);
      ConstFrame missing = good;
      missing.plane[p] = nullptr;
      EXPECT_EQ(error_message_of([&] { expects_planes(missing, "it"); }), plane + " is missing");
      ConstFrame shifted = good;
      shifted.plane[p] += 1;
      ConstFrame odd = good;
      odd.pitch[p] += 2 * bytes - 1;
      const std::string refused = bytes == 1
                                      ? ""
                                      : "rows of " + plane + " must begin at multiples of " +
                                            std::to_string(bytes) + " bytes, the size of a sample";
      EXPECT_EQ(error_message_of([&] { expects_aligned(shifted, "it"); }), refused);
      EXPECT_EQ(error_message_of([&] { expects_aligned(odd, "it"); }), refused);
    }
  }
}

}  // namespace
}  // namespace regions
