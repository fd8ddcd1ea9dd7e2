// Setups that core refuses for all backends: the messages, and the nearest setups that are
// accepted.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/drawing/regionoverlay.hpp"
#include "core/slicsuperpixel/slicsuperpixel.hpp"
#include "tests/core/error_message.hpp"

namespace regions {
namespace {

TEST(OutputFormats, EachOutputKind_ListsItsFormatsInOrderOfPreference) {
  using enum PixelFormat;
  const std::pair<Output, std::vector<PixelFormat>> lists[] = {
      {Output::untouched, {}},
      {Output::drawn_on, {}},
      {Output::labels, {gray16, gray8, labels32}},
      {Output::mask, {gray8}},
      {Output::colors, {bgrx, rgbx, bgra, rgba, bgr, rgb}},
      {Output::cutout, {rgba}}};
  for (const auto& [output, formats] : lists) {
    const auto found = formats_of(output);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), formats.begin(), formats.end()))
        << static_cast<int>(output);
  }
}

TEST(OutputFormats, MissingOrUnsupportedOutputPicture_IsRefusedWithTheReason) {
  const char* const kNone =
      "`output` requires a picture, but `out` is not set; set it or use output=none";
  const std::pair<Output, std::string> lists[] = {
      {Output::labels, "GRAY16_LE, GRAY8, U32_LE"},
      {Output::mask, "GRAY8"},
      {Output::colors, "BGRx, RGBx, BGRA, RGBA, BGR, RGB"},
      {Output::cutout, "RGBA"}};
  regions::Setup setup{.in = layout_of(PixelFormat::nv12)};
  for (const auto& [output, names] : lists) {
    setup.has_output = true;
    for (int f = 0; f < kPixelFormats; ++f) {
      setup.out = layout_of(static_cast<PixelFormat>(f));
      const std::string name(name_of(setup.out.format));
      const bool taken = (", " + names + ",").find(", " + name + ",") != std::string::npos;
      EXPECT_EQ(error_message_of([&] { expects_output(setup, output); }),
                taken ? "" : "`output` supports " + names + "; the output format is " + name);
    }
    setup.has_output = false;
    EXPECT_EQ(error_message_of([&] { expects_output(setup, output); }), kNone);
  }
  EXPECT_EQ(error_message_of([&] { expects_output(setup, Output::drawn_on); }), kNone);
  EXPECT_EQ(error_message_of([&] { expects_output(setup, Output::untouched); }), "");
  setup.has_output = true;
  setup.out = setup.in;
  EXPECT_EQ(error_message_of([&] { expects_output(setup, Output::drawn_on); }), "");
  EXPECT_EQ(error_message_of([&] { expects_output(setup, Output::untouched); }),
            "output=none writes no picture, but `out` is set");
  setup.out = layout_of(PixelFormat::i420);
  EXPECT_EQ(error_message_of([&] { expects_output(setup, Output::drawn_on); }),
            "drawing keeps the pixel format; it cannot write I420 from NV12");
}

// Setups of drawing and of superpixels.
TEST(SetupChecks, InvalidSizeOrFormat_IsRefusedWithTheReason) {
  const auto drawable = [](const regions::Setup& s) {
    return error_message_of([&] { expects_drawable(s); });
  };
  const auto superpixels = [](const regions::Setup& s) {
    return error_message_of([&] { expects_superpixels(s); });
  };
  for (const Size size : {Size{0, 1}, {1, 0}, {65536, 1}, {1, 65536}, {-1, 5}}) {
    const std::string refused = "pictures must have sides of 1 to 65535 pixels, not " +
                                std::to_string(size.width) + "x" + std::to_string(size.height);
    EXPECT_EQ(drawable({.size = size}), refused);
    EXPECT_EQ(superpixels({.size = size}), refused);
  }
  for (const Size size : {Size{1, 1}, {65535, 1}, {1, 65535}}) {
    EXPECT_EQ(drawable({.size = size}), "");
    EXPECT_EQ(superpixels({.size = size}), "");
  }
  const Size size = {8, 8};
  const Layout &labels = layout_of(PixelFormat::labels32), &nv12 = layout_of(PixelFormat::nv12);
  EXPECT_EQ(drawable({.in = labels, .size = size}), "regions cannot be drawn on a label image");
  EXPECT_EQ(superpixels({.in = labels, .size = size}),
            "a label image has no colours for superpixels");
  EXPECT_EQ(drawable({.in = nv12, .size = size, .out = labels, .has_output = true}),
            "drawing keeps the pixel format; it cannot write U32_LE from NV12");
  EXPECT_EQ(drawable({.in = nv12, .size = size, .out = nv12, .has_output = true}), "");
  for (int f = 0; f < kPixelFormats; ++f) {
    const Layout& mask = layout_of(static_cast<PixelFormat>(f));
    const bool is_taken = mask.model == ColorModel::gray || mask.model == ColorModel::labels;
    EXPECT_EQ(drawable({.size = size, .mask = mask, .has_mask = true}),
              is_taken ? "" : "labels cannot be read from " + std::string(name_of(mask.format)));
    EXPECT_EQ(drawable({.size = size, .mask = mask}), "");
  }
}

TEST(Superpixels, LabelCapacity_MoreSuperpixelsThanGray8Holds_ErrorNamesBothNumbers) {
  SlicParams params;
  const Layout& gray = layout_of(PixelFormat::gray8);
  const auto answer = [&](uint32_t total) {
    LabelCapacity verdict;
    const std::string text =
        error_message_of([&] { verdict = label_capacity(params, total, gray); });
    EXPECT_EQ(verdict.labelled, text.empty() ? total : 0);
    EXPECT_EQ(verdict.warning, "");
    return text;
  };
  EXPECT_EQ(answer(256), "");
  params.output = SlicOutput::labels;
  EXPECT_EQ(answer(255), "");
  EXPECT_EQ(answer(256), "256 superpixels, but GRAY8 holds labels up to 255");
}

}  // namespace
}  // namespace regions
