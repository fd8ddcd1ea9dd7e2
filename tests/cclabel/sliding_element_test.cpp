// The element cclabel with sliding=true: every frame leaves at once, and what ends a window.
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 40;

// A square of 8 pixels in every second frame; in the others it is cut in two by a column.
std::vector<uint8_t> blinking(int frame) {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  for (int y = 20; y < 28; ++y) {
    for (int x = 10; x < 18; ++x) {
      const bool is_cut = frame % 2 == 1 && x == 14;
      bytes[static_cast<size_t>(y * kWidth + x)] = is_cut ? 0 : 255;
    }
  }
  return bytes;
}

// How many regions the next frame has; -1 without one.
int regions_of_next(Harness& h) {
  const BufferPtr out = h.pull();
  return out ? static_cast<int>(region_count(regions_of(out.get()))) : -1;
}

int pushed(Harness& h, int frame) {
  EXPECT_EQ(h.push(blinking(frame), frame), GST_FLOW_OK);
  return regions_of_next(h);
}

constexpr const char* kLine = "cclabel device=cpu output=none depth=3 sliding=true connectivity=6";

TEST(CcLabelSlidingElement, FramesLeaveAtOnceAndAreConnectedThroughEarlierOnes) {
  Harness h(kLine);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(pushed(h, 1), 2);  // nothing was before
  for (int frame = 2; frame < 9; ++frame) EXPECT_EQ(pushed(h, frame), 1) << frame;
  EXPECT_EQ(pushed(h, 9), 1);
  EXPECT_EQ(pushed(h, 11), 1);  // frame 8 is still in the window
  EXPECT_EQ(pushed(h, 13), 2);  // no more
  h.eos();
  EXPECT_EQ(h.waiting(), 0u);
}

TEST(CcLabelSlidingElement, BoxesAreTheFramesAndTracksStay) {
  Harness h(kLine);
  h.video("GRAY8", kWidth, kHeight);
  std::string track;
  for (int frame = 0; frame < 6; ++frame) {
    ASSERT_EQ(h.push(blinking(frame), frame), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* s = regions_of(out.get());
    ASSERT_EQ(region_count(s), 1u);
    EXPECT_EQ(region_field(s, 0, "x"), "10");
    EXPECT_EQ(region_field(s, 0, "width"), "8");
    EXPECT_EQ(region_field(s, 0, "area"), frame % 2 ? "56" : "64");
    if (frame == 0) track = region_field(s, 0, "track");
    EXPECT_EQ(region_field(s, 0, "track"), track);
    EXPECT_FALSE(gst_structure_has_field(s, "slice"));
    EXPECT_TRUE(gst_structure_has_field(s, "births"));
  }
}

// Two squares that a bar joins in the last frame.
std::vector<uint8_t> joining(int frame) {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  for (int y = 20; y < 28; ++y) {
    for (int x = 10; x < 38; ++x) {
      const bool is_bar = x >= 18 && x < 30;
      if (!is_bar || (frame == 6 && y < 24)) bytes[static_cast<size_t>(y * kWidth + x)] = 255;
    }
  }
  return bytes;
}

TEST(CcLabelSlidingElement, RegionsThatJoinHaveTheBoxOfAll) {
  Harness h(kLine);
  h.video("GRAY8", kWidth, kHeight);
  for (int frame = 0; frame < 7; ++frame) {
    ASSERT_EQ(h.push(joining(frame), frame), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* s = regions_of(out.get());
    ASSERT_EQ(region_count(s), frame < 6 ? 2u : 1u);
    EXPECT_EQ(region_field(s, 0, "x"), "10");
    EXPECT_EQ(region_field(s, 0, "width"), frame < 6 ? "8" : "28");
  }
}

// A flush and a jump in time begin another window; gaps, lost frames, tags and caps of another
// pixel shape do not.
TEST(CcLabelSlidingElement, WhatEndsAWindow) {
  Harness h(kLine);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(pushed(h, 0), 1);
  gst_harness_push_event(h.get(), gst_event_new_gap(40 * GST_MSECOND, 40 * GST_MSECOND));
  gst_harness_push_event(h.get(), gst_event_new_tag(gst_tag_list_new_empty()));
  EXPECT_EQ(pushed(h, 1), 1);
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  EXPECT_EQ(pushed(h, 3), 1);

  EXPECT_EQ(pushed(h, 4), 1);
  GstBuffer* late = Harness::buffer(blinking(5), 5);
  GST_BUFFER_FLAG_SET(late, GST_BUFFER_FLAG_DISCONT);
  ASSERT_EQ(gst_harness_push(h.get(), late), GST_FLOW_OK);
  EXPECT_EQ(regions_of_next(h), 1);
  EXPECT_EQ(pushed(h, 5001), 2);

  EXPECT_EQ(pushed(h, 6), 1);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(pushed(h, 7), 2);
}

TEST(CcLabelSlidingElement, OverlaysAndSmallerPicturesWorkToo) {
  for (const char* more : {"output=overlay", "output=none left=4 width=40",
                           "output=none process-scale=0.5", "output=labels label-values=track"}) {
    Harness h(std::string("cclabel device=cpu depth=3 sliding=true connectivity=6 ") + more);
    h.video("GRAY8", kWidth, kHeight);
    for (int frame = 0; frame < 4; ++frame) {
      ASSERT_EQ(h.push(blinking(0), frame), GST_FLOW_OK);
      EXPECT_EQ(regions_of_next(h), 1) << more;
    }
  }
}

// A label map from upstream takes the picture's place in the window.
TEST(CcLabelSlidingElement, MasksMakeWindowsToo) {
  Harness h(
      "cclabel name=first device=cpu output=none connectivity=4 ! "
      "cclabel name=cclabel device=cpu source=mask output=none depth=3 sliding=true "
      "connectivity=6");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(pushed(h, 1), 2);
  EXPECT_EQ(pushed(h, 2), 1);
  EXPECT_EQ(pushed(h, 3), 1);
  EXPECT_EQ(pushed(h, 5), 1);
  EXPECT_EQ(pushed(h, 7), 2);
}

TEST(CcLabelSlidingElement, WhatDoesNotGoTogetherIsAnError) {
  struct Case {
    const char *line, *says;
  };
  for (const Case& c :
       {Case{"sliding=true", "depth of at least 2"}, Case{"sliding=true depth=3", "6, 18 or 26"},
        Case{"sliding=true depth=3 connectivity=6 thresholds=<0.1,0.2>", "no thresholds"},
        Case{"sliding=true depth=3 connectivity=6 label-background=true", "label-background"}}) {
    Harness h("cclabel device=cpu output=none " + std::string(c.line));
    h.video("GRAY8", kWidth, kHeight);
    h.push(blinking(0));
    EXPECT_NE(h.error_text().find(c.says), std::string::npos) << c.line;
  }
}

// Dropping the smallest of a window's regions would need another numbering; nothing is dropped
// silently.
TEST(CcLabelSlidingElement, MoreRegionsThanTheFormatHolds) {
  std::vector<uint8_t> dots(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; y += 2) {
    for (size_t x = 0; x < kWidth; x += 2) dots[y * kWidth + x] = 255;
  }
  const std::string line = "cclabel device=cpu output=labels depth=2 sliding=true connectivity=6";
  Harness refuses(line, "video/x-raw,format=GRAY8");
  refuses.video("GRAY8", kWidth, kHeight);
  refuses.push(dots);
  EXPECT_NE(refuses.error_text().find("overflow=saturate"), std::string::npos);
  Harness saturates(line + " overflow=saturate", "video/x-raw,format=GRAY8");
  saturates.video("GRAY8", kWidth, kHeight);
  ASSERT_EQ(saturates.push(dots), GST_FLOW_OK);
  const std::vector<uint8_t> labels = bytes_of(saturates.pull().get());
  EXPECT_EQ(labels[2 * 3], 4);
  EXPECT_EQ(labels[38 * kWidth + 62], 255);
}

}  // namespace
}  // namespace regions::test
