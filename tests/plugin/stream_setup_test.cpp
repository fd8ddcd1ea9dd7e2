// setup_of(): what a stream's caps and pictures make of an algorithm's Setup.
#include "plugin/stream/stream_setup.hpp"

#include <gtest/gtest.h>

namespace regions {
namespace {

StreamSetup stream_of(PixelFormat in, PixelFormat out, Output picture) {
  StreamSetup stream;
  stream.in.layout = layout_of(in);
  stream.in.size = {320, 240};
  stream.in.color = {YuvMatrix::bt2020, true};
  stream.out.layout = layout_of(out);
  stream.output = picture;
  stream.work_area = {.picture = {320, 240}, .left = 16, .area = {200, 100}, .work = {50, 25}};
  stream.priority = 3;
  return stream;
}

TEST(SetupOf, TellsOfThePictureThatIsWorkedOn) {
  const auto setup = setup_of(stream_of(PixelFormat::nv12, PixelFormat::gray16, Output::labels),
                              RegionDetails{}, false, 4);
  EXPECT_EQ(setup.in.format, PixelFormat::nv12);
  EXPECT_EQ(setup.size, (Size{50, 25})) << "the working picture's, not the caps'";
  EXPECT_EQ(setup.color.matrix, YuvMatrix::bt2020);
  EXPECT_TRUE(setup.color.full_range);
  EXPECT_TRUE(setup.has_output);
  EXPECT_EQ(setup.out.format, PixelFormat::gray16);
  EXPECT_EQ(setup.slots, 4);
  EXPECT_EQ(setup.priority, 3);
}

TEST(SetupOf, AsksForNothingThatIsNotWanted) {
  const auto setup = setup_of(stream_of(PixelFormat::rgba, PixelFormat::rgba, Output::untouched),
                              RegionDetails{}, false, 1);
  EXPECT_FALSE(setup.has_output);
  EXPECT_FALSE(setup.has_mask);
  EXPECT_FALSE(setup.has_borders);
  EXPECT_EQ(setup.max_runs, 0U);
}

TEST(SetupOf, AsksForDetailsAndMasks) {
  const auto setup = setup_of(stream_of(PixelFormat::rgba, PixelFormat::rgba, Output::drawn_on),
                              RegionDetails{.borders = true, .runs = 77}, true, 1);
  EXPECT_TRUE(setup.has_output);
  EXPECT_TRUE(setup.has_mask);
  EXPECT_EQ(setup.mask.format, PixelFormat::labels32);
  EXPECT_TRUE(setup.has_borders);
  EXPECT_EQ(setup.max_runs, 77U);
}

}  // namespace
}  // namespace regions
