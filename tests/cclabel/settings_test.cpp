// What cclabel's settings come to: levels, seeds, outputs, and verdicts on too many regions.
#include <gtest/gtest.h>

#include "core/cclabel/cclabel.hpp"
#include "tests/core/complaint.hpp"

namespace regions {
namespace {

TEST(CcLabelVerdicts, MoreRegionsThanThePictureHolds) {
  struct Case {
    CcOutput output;
    PixelFormat format;
    uint32_t total;
    Overflow overflow;
    bool sliding;
    uint32_t kept;
    const char* text;  // a warning if something is kept
  };
  using enum Overflow;
  constexpr const char* kByte = "256 regions, but GRAY8 holds labels up to 255";
  constexpr PixelFormat kGray = PixelFormat::gray8, kDeep = PixelFormat::gray16;
  for (const auto& [output, format, total, overflow, sliding, kept, text] :
       {Case{CcOutput::labels, kGray, 255, error, false, 255, ""},
        {CcOutput::labels, kGray, 256, drop_smallest, false, 255, kByte},
        {CcOutput::labels, kGray, 256, saturate, false, 256, kByte},
        {CcOutput::labels, kGray, 256, error, false, 0, kByte},
        {CcOutput::labels, kGray, 256, saturate, true, 256, kByte},
        {CcOutput::labels, kGray, 256, drop_smallest, true, 0,
         "256 regions, but GRAY8 holds labels up to 255; sliding=true requires overflow=saturate "
         "or overflow=error"},
        {CcOutput::mask, kGray, 256, error, false, 256, ""},
        {CcOutput::labels, kDeep, 65535, error, false, 65535, ""},
        {CcOutput::labels, kDeep, 65536, saturate, false, 65536,
         "65536 regions, but GRAY16_LE holds labels up to 65535"},
        {CcOutput::labels, PixelFormat::labels32, 0xFFFFFFFF, error, false, 0xFFFFFFFF, ""}}) {
    CcLabelParams params;
    params.output = output;
    params.overflow = overflow;
    params.sliding = sliding;
    LabelCapacity verdict;
    const std::string thrown =
        complaint([&] { verdict = label_capacity(params, total, layout_of(format)); });
    EXPECT_EQ(verdict.labelled, kept) << text;
    EXPECT_EQ(thrown + verdict.warning, text);
    EXPECT_EQ(thrown.empty(), kept > 0) << text;
  }
}

// A sample is foreground where its fraction of the way from black to white reaches the threshold;
// neighbours are linked where their distance, of full scale, is less than the tolerance.
TEST(CcLabelLevels, AreTheLeastValuesThatReach) {
  for (int f = 0; f + 1 < kPixelFormats; ++f) {
    const Layout& layout = layout_of(static_cast<PixelFormat>(f));
    for (const bool full : {true, false}) {
      const bool limited = layout.model == ColorModel::yuv && !full;
      const double step = limited ? (layout.depth == 10 ? 4 : 1) : 0;
      const double black = 16 * step, white = limited ? 235 * step : layout.max_value();
      for (const double fraction : {0.0, 0.001, 0.1234, 1 / 3.0, 0.5, 0.87, 0.999, 1.0}) {
        int least = 0;
        while (fraction > 0 && (least - black) / (white - black) < fraction - 1e-12) ++least;
        EXPECT_EQ(foreground_level(fraction, layout, {YuvMatrix::bt601, full}), least)
            << name_of(layout.format) << " " << full << " " << fraction;
        int linked = 0;
        while (linked < 3 * fraction * layout.max_value() - 1e-9) ++linked;
        EXPECT_EQ(difference_level(3 * fraction, layout), linked) << name_of(layout.format);
      }
    }
  }
}

TEST(CcLabelSeeds, OutsideThePictureAreLeftOut) {
  CcLabelParams params;
  params.seeds = std::vector<double>{39, 29, 40, 3, 5, 30, 39.9, 0, 0, 29.5};
  const Seeds seeds = seeds_of(params, {40, 30});
  ASSERT_EQ(seeds.count, 3);
  EXPECT_EQ(seeds.x[0], 39);
  EXPECT_EQ(seeds.y[0], 29);
  EXPECT_EQ(seeds.x[1], 39);
  EXPECT_EQ(seeds.y[1], 0);
  EXPECT_EQ(seeds.x[2], 0);
  EXPECT_EQ(seeds.y[2], 29);
  params.seeds = std::vector<double>(128, 1.0);
  EXPECT_EQ(seeds_of(params, {40, 30}).count, 64);
}

TEST(CcLabelOutputs, AreWhatTheParametersSay) {
  const std::pair<CcOutput, Output> outputs[] = {{CcOutput::overlay, Output::drawn_on},
                                                 {CcOutput::labels, Output::labels},
                                                 {CcOutput::colors, Output::colors},
                                                 {CcOutput::mask, Output::mask},
                                                 {CcOutput::none, Output::untouched}};
  CcLabelParams params;
  for (const auto& [wanted, output] : outputs) {
    params.output = wanted;
    EXPECT_EQ(output_of(params), output) << static_cast<int>(wanted);
  }
  params.thresholds = std::vector<double>{0.25, 0.75};
  EXPECT_EQ(layers_of(params), 2);
  EXPECT_EQ(threshold_of(params, 1), 0.75);
  params.thresholds = {};
  params.threshold = 0.3;
  EXPECT_EQ(layers_of(params), 1);
  EXPECT_EQ(threshold_of(params, 0), 0.3);
}

}  // namespace
}  // namespace regions
