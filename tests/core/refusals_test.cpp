// Pictures and parameters that core refuses for all backends, the messages, and the nearest values
// that it accepts.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/drawing/regionoverlay.hpp"
#include "core/slicsuperpixel/slicsuperpixel.hpp"
#include "core/work_area.hpp"
#include "tests/core/complaint.hpp"
#include "tests/pictures/guarded.hpp"

namespace regions {
namespace {

TEST(Outputs, HaveTheirFormatsBestFirst) {
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

TEST(Outputs, AreRefusedInOtherFormats) {
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
      EXPECT_EQ(complaint([&] { expects_output(setup, output); }),
                taken ? "" : "`output` supports " + names + "; the output format is " + name);
    }
    setup.has_output = false;
    EXPECT_EQ(complaint([&] { expects_output(setup, output); }), kNone);
  }
  EXPECT_EQ(complaint([&] { expects_output(setup, Output::drawn_on); }), kNone);
  EXPECT_EQ(complaint([&] { expects_output(setup, Output::untouched); }), "");
  setup.has_output = true;
  setup.out = setup.in;
  EXPECT_EQ(complaint([&] { expects_output(setup, Output::drawn_on); }), "");
  EXPECT_EQ(complaint([&] { expects_output(setup, Output::untouched); }),
            "output=none writes no picture, but `out` is set");
  setup.out = layout_of(PixelFormat::i420);
  EXPECT_EQ(complaint([&] { expects_output(setup, Output::drawn_on); }),
            "drawing keeps the pixel format; it cannot write I420 from NV12");
}

TEST(Formats, RefusalsNameThem) {
  EXPECT_EQ(complaint([] { layout_of(static_cast<PixelFormat>(14)); }),
            "unknown pixel format number 14");
  EXPECT_EQ(complaint([] { name_of(static_cast<PixelFormat>(255)); }),
            "unknown pixel format number 255");
  EXPECT_EQ(complaint([] { format_named("nv12"); }), "unknown pixel format: nv12");
  EXPECT_EQ(row_bytes(layout_of(PixelFormat::nv12), 2, {4, 4}), 0u);
  EXPECT_EQ(row_count(layout_of(PixelFormat::nv12), 2, {4, 4}), 0);
}

// Every plane of every format, with pitches at their limits either way.
TEST(Frames, PlanesThatCannotBeAreNamed) {
  for (int f = 0; f < kPixelFormats; ++f) {
    GuardedFrame guarded(static_cast<PixelFormat>(f), {6, 4});
    const ConstFrame good = std::as_const(guarded).frame();
    const int bytes = good.layout.sample_bytes;
    EXPECT_EQ(complaint([&] { expects_planes(good, "it"); }), "");
    EXPECT_EQ(complaint([&] { expects_aligned(good, "it"); }), "");
    for (int p = 0; p < good.layout.planes; ++p) {
      const std::string plane = "plane " + std::to_string(p) + " of it";
      const auto least = static_cast<ptrdiff_t>(row_bytes(good.layout, p, good.size()));
      const auto with_pitch = [&](ptrdiff_t pitch, int height = 4) {
        ConstFrame frame = good;
        frame.pitch[p] = pitch;
        frame.height = height;
        return complaint([&] { expects_planes(frame, "it"); });
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
      EXPECT_EQ(complaint([&] { expects_planes(missing, "it"); }), plane + " is missing");
      ConstFrame shifted = good;
      shifted.plane[p] += 1;
      ConstFrame odd = good;
      odd.pitch[p] += 2 * bytes - 1;
      const std::string refused = bytes == 1
                                      ? ""
                                      : "rows of " + plane + " must begin at multiples of " +
                                            std::to_string(bytes) + " bytes, the size of a sample";
      EXPECT_EQ(complaint([&] { expects_aligned(shifted, "it"); }), refused);
      EXPECT_EQ(complaint([&] { expects_aligned(odd, "it"); }), refused);
    }
  }
}

// Elements that draw, and elements that compare colours, each require certain pictures.
TEST(Setups, SizesAndFormatsAreNamed) {
  const auto drawable = [](const regions::Setup& s) {
    return complaint([&] { expects_drawable(s); });
  };
  const auto superpixels = [](const regions::Setup& s) {
    return complaint([&] { expects_superpixels(s); });
  };
  for (const Size size : {Size{0, 1}, {1, 0}, {65536, 1}, {1, 65536}, {-1, 5}}) {
    const std::string refused = "pictures must have sides of 1 to 65535 pixels; this one has " +
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

TEST(Superpixels, MoreThanThePictureHoldsAreRefused) {
  SlicParams params;
  const Layout& gray = layout_of(PixelFormat::gray8);
  const auto answer = [&](uint32_t total) {
    LabelCapacity verdict;
    const std::string text = complaint([&] { verdict = label_capacity(params, total, gray); });
    EXPECT_EQ(verdict.labelled, text.empty() ? total : 0);
    EXPECT_EQ(verdict.warning, "");
    return text;
  };
  EXPECT_EQ(answer(256), "");
  params.output = SlicOutput::labels;
  EXPECT_EQ(answer(255), "");
  EXPECT_EQ(answer(256), "256 superpixels, but GRAY8 holds labels up to 255");
}

TEST(Superpixels, OutputsAreWhatTheParametersSay) {
  const std::pair<SlicOutput, Output> outputs[] = {{SlicOutput::overlay, Output::drawn_on},
                                                   {SlicOutput::labels, Output::labels},
                                                   {SlicOutput::boundaries, Output::mask},
                                                   {SlicOutput::mean, Output::drawn_on},
                                                   {SlicOutput::none, Output::untouched}};
  for (const auto& [wanted, output] : outputs) {
    SlicParams params;
    params.output = wanted;
    EXPECT_EQ(output_of(params), output) << static_cast<int>(wanted);
  }
  EXPECT_EQ(output_of(RegionOverlayParams()), Output::drawn_on);
}

TEST(WorkArea, RectanglesOutsideThePictureAreNamed) {
  const Layout& gray = layout_of(PixelFormat::gray8);
  const auto answer = [&](int left, int top) {
    return complaint([&] { work_area_of({left, top, 0, 0, 1}, gray, {21, 13}); });
  };
  EXPECT_EQ(answer(20, 12), "");
  EXPECT_EQ(answer(21, 0),
            "settings: the rectangle's left edge is at 21; the picture ends at 21 pixels");
  EXPECT_EQ(answer(0, 14),
            "settings: the rectangle's upper edge is at 14; the picture ends at 13 pixels");
}

}  // namespace
}  // namespace regions
