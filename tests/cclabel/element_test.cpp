// The element cclabel on single frames and windows: tracking, seeds, sliding windows, run lengths.
#include <algorithm>
#include <utility>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 40;

// A square that moves right. From frame 2 on, a second square is first in raster order.
std::vector<uint8_t> scene(int frame) {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  const auto square = [&](int x0, int y0, int side) {
    for (int y = y0; y < y0 + side; ++y) {
      for (int x = x0; x < x0 + side; ++x) bytes[static_cast<size_t>(y * kWidth + x)] = 255;
    }
  };
  square(5 + 4 * frame, 20, 8);
  if (frame >= 2) square(40, 2, 6);
  return bytes;
}

int64_t fact(GstBuffer* buffer, const char* name) {
  gint64 value = -1;
  gst_structure_get_int64(regions_of(buffer), name, &value);
  return value;
}

TEST(CcLabelElement, Track_SquareMoves_KeepsItsNumberInMetadataAndLabelMap) {
  Harness h("cclabel track=true label-values=track output=labels", "video/x-raw,format=GRAY16_LE");
  h.video("GRAY8", kWidth, kHeight);
  for (int frame = 0; frame < 5; ++frame) {
    ASSERT_EQ(h.push(scene(frame), frame), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const GstStructure* regions = regions_of(out.get());
    ASSERT_TRUE(regions);
    const guint walker = frame < 2 ? 0 : 1;
    ASSERT_EQ(region_count(regions), walker + 1) << frame;
    EXPECT_EQ(region_field(regions, walker, "track"), "1") << frame;
    EXPECT_EQ(region_field(regions, walker, "id"), frame < 2 ? "1" : "2");
    EXPECT_EQ(fact(out.get(), "births"), frame == 0 || frame == 2) << frame;
    EXPECT_EQ(fact(out.get(), "deaths"), 0);
    EXPECT_EQ(fact(out.get(), "last-track"), frame < 2 ? 1 : 2);
    const std::vector<uint8_t> labels = bytes_of(out.get());
    const auto at = static_cast<size_t>((24 * kWidth + 9 + 4 * frame) * 2);
    EXPECT_EQ(labels[at] + 256 * labels[at + 1], 1) << frame;
  }
}

TEST(CcLabelElement, Track_AfterFlush_NumbersRestart) {
  Harness h("cclabel track=true output=none");
  h.video("GRAY8", kWidth, kHeight);
  for (int time = 0; time < 2; ++time) {
    for (int frame = 0; frame < 3; ++frame) {
      ASSERT_EQ(h.push(scene(frame + 2), frame), GST_FLOW_OK);
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out);
      EXPECT_EQ(fact(out.get(), "last-track"), 2);
      EXPECT_EQ(fact(out.get(), "births"), frame == 0 ? 2 : 0);
    }
    h.flush();
  }
}

// The squares of scene(2): one at (13, 20), one at (40, 2).
TEST(CcLabelElement, ClickSeeds_MouseClicks_LeftSelectsARegionRightAddsOneMiddleClearsSeeds) {
  Harness h("cclabel output=mask click-seeds=true", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  int frame = 0;
  const auto shows = [&](bool first, bool second, const char* after) {
    ASSERT_EQ(h.push(scene(2), frame++), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const std::vector<uint8_t> mask = bytes_of(out.get());
    EXPECT_EQ(mask[24 * kWidth + 15] == 255, first) << after;
    EXPECT_EQ(mask[4 * kWidth + 42] == 255, second) << after;
  };
  const auto click = [&](int button, double x, double y) {
    gst_harness_push_upstream_event(h.get(),
                                    gst_navigation_event_new_mouse_button_press(button, x, y, {}));
  };
  shows(true, true, "no click");
  click(1, 15.7, 24.2);
  shows(true, false, "a left click");
  click(3, 42, 4);
  shows(true, true, "a right click");
  click(1, 42, 4);
  shows(false, true, "another left click");
  click(1, 1, 1);
  shows(false, false, "a click on background");
  click(2, 1, 1);
  shows(true, true, "a middle click");
  g_object_set(h.element(), "click-seeds", FALSE, nullptr);
  click(1, 42, 4);
  shows(true, true, "a click after click-seeds was disabled");
}

TEST(CcLabelElement, ClickSeeds_TouchDown_KeepsOnlyTheTouchedRegion) {
  Harness h("cclabel output=mask click-seeds=true", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  const auto send = [&](GstEvent* event) { gst_harness_push_upstream_event(h.get(), event); };
  send(gst_navigation_event_new_mouse_button_press(1, 15.7, 24.2, {}));
  send(gst_navigation_event_new_touch_down(7, 42, 4, 1, {}));
  send(gst_navigation_event_new_touch_motion(7, 15.7, 24.2, 1, {}));
  send(gst_navigation_event_new_touch_up(7, 15.7, 24.2, {}));
  ASSERT_EQ(h.push(scene(2)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  const std::vector<uint8_t> mask = bytes_of(out.get());
  EXPECT_EQ(mask[24 * kWidth + 15], 0);
  EXPECT_EQ(mask[4 * kWidth + 42], 255);
}

// The coordinates refer to the whole picture, whatever the work area.
TEST(CcLabelElement, Seeds_WithWorkArea_SelectByPictureCoordinates) {
  for (const char* more : {"", " process-scale=0.5", " left=8", " left=20",
                           " left=4 top=0 width=50"
                           " process-scale=0.5"}) {
    Harness h(std::string("cclabel output=mask seeds=\"<16,24>\"") + more,
              "video/x-raw,format=GRAY8");
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_EQ(h.push(scene(2)), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const std::vector<uint8_t> mask = bytes_of(out.get());
    const bool seen = std::string(more) != " left=20";  // the point is outside
    EXPECT_EQ(mask[24 * kWidth + 16] == 255, seen) << more;
    EXPECT_EQ(mask[4 * kWidth + 42], 0) << more;
  }
}

TEST(CcLabelElement, ClickSeeds_HundredClicks_RegionOfTheLastClickIsKept) {
  Harness h("cclabel output=mask click-seeds=true", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 100; ++i) {
    gst_harness_push_upstream_event(
        h.get(), gst_navigation_event_new_mouse_button_press(3, i < 99 ? i % 3 : 42, 4, {}));
  }
  ASSERT_EQ(h.push(scene(2)), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_EQ(bytes_of(out.get())[4 * kWidth + 42], 255);
}

// GRAY8 cannot show 300 ids. An id that does not fit is never shown as another id.
TEST(CcLabelElement,
     TrackLabels_TrackAbove255InGray8_DropSmallestShows0SaturateShows255ErrorIsPosted) {
  for (const std::string overflow : {"drop-smallest", "saturate", "error"}) {
    Harness h(
        "cclabel track=true track-memory=0 label-values=track output=labels overflow=" + overflow,
        "video/x-raw,format=GRAY8");
    h.video("GRAY8", kWidth, kHeight);
    const auto one = [](int place) {
      std::vector<uint8_t> bytes(kWidth * kHeight);
      bytes[static_cast<size_t>(place)] = 255;
      return bytes;
    };
    BufferPtr out;
    for (int frame = 0; frame < 300; ++frame) {  // every frame's only pixel is far from the last's
      if (h.push(one(frame % 2 ? 0 : kWidth * kHeight - 1), frame) != GST_FLOW_OK) break;
      if (overflow != "error") out = h.pull();
    }
    if (overflow == "error") {
      EXPECT_NE(h.error_text().find("256"), std::string::npos);
    } else {
      ASSERT_TRUE(out);
      EXPECT_EQ(bytes_of(out.get())[0], overflow == "saturate" ? 255 : 0);
    }
  }
}

TEST(CcLabelElement, RegionMetadata_DefaultProperties_HasNeitherBirthsNorRuns) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  h.push(scene(0));
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_FALSE(gst_structure_has_field(regions_of(out.get()), "births"));
  EXPECT_FALSE(gst_structure_has_field(regions_of(out.get()), "runs"));
}

// A square of 8 pixels. In odd frames a column divides it into two parts.
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

// Number of regions of the next frame; -1 without a frame.
int regions_of_next(Harness& h) {
  const BufferPtr out = h.pull();
  return out ? static_cast<int>(region_count(regions_of(out.get()))) : -1;
}

int pushed(Harness& h, int frame) {
  EXPECT_EQ(h.push(blinking(frame), frame), GST_FLOW_OK);
  return regions_of_next(h);
}

constexpr const char* kSliding =
    "cclabel device=cpu output=none depth=3 sliding=true connectivity=6";

TEST(CcLabelElement,
     SlidingWindow_RegionSplits_StaysOneRegionUntilItsLastWholeFrameLeavesTheWindow) {
  Harness h(kSliding);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(pushed(h, 1), 2);  // the first frame
  for (int frame = 2; frame < 9; ++frame) EXPECT_EQ(pushed(h, frame), 1) << frame;
  EXPECT_EQ(pushed(h, 9), 1);
  EXPECT_EQ(pushed(h, 11), 1);  // frame 8 is still in the window
  EXPECT_EQ(pushed(h, 13), 2);  // frame 8 has left the window
  h.eos();
  EXPECT_EQ(h.waiting(), 0u);
}

TEST(CcLabelElement, SlidingWindow_RegionSplitInOddFrames_AreaIsThatOfTheNewestFrameAndTrackStays) {
  Harness h(kSliding);
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

TEST(CcLabelElement, SlidingWindow_TwoRegionsMerge_OneRegionHasTheBoxOfBoth) {
  Harness h(kSliding);
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

// A flush and a jump in time start a new window. Gaps, lost frames, tags and caps with another
// pixel aspect ratio do not.
TEST(CcLabelElement, SlidingWindow_FlushOrTimeJump_ForgetsEarlierFrames) {
  Harness h(kSliding);
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
  h.flush();
  EXPECT_EQ(pushed(h, 7), 2);
}

TEST(CcLabelElement, SlidingWindow_VariousOutputsAndWorkAreas_SquareInAllFramesIsOneRegion) {
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

// The window contains label maps from upstream instead of pictures.
TEST(CcLabelElement,
     SlidingWindow_SourceMask_SplitRegionIsOneWhileTheWindowHasAMaskWhereItIsWhole) {
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

// Windows cannot drop their smallest regions, which would renumber them.
TEST(CcLabelElement, SlidingWindow_MoreRegionsThanGray8Holds_ErrorUnlessOverflowIsSaturate) {
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

// Noise: `share` of 16 pixels are 255.
std::vector<uint8_t> noise(uint32_t seed, uint32_t share) {
  std::vector<uint8_t> bytes(kWidth * kHeight);
  uint32_t state = seed * 2654435761u + 12345;
  for (uint8_t& value : bytes) {
    state = state * 1664525u + 1013904223u;
    value = (state >> 24 & 15) < share ? 255 : 0;
  }
  return bytes;
}

std::vector<uint32_t> words_in(const GstStructure* s, const char* name) {
  const GValue* value = gst_structure_get_value(s, name);
  if (!value) return {};
  const std::vector<uint8_t> bytes = bytes_of(gst_value_get_buffer(value));
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

bool truncated(const GstStructure* s) {
  gboolean value = FALSE;
  EXPECT_TRUE(gst_structure_get_boolean(s, "runs-truncated", &value));
  return value;
}

// The label map that the runs describe, with `layers` pictures below one another.
std::vector<uint32_t> painted(const GstStructure* s, int layers = 1) {
  std::vector<uint32_t> map(static_cast<size_t>(kWidth * kHeight * layers));
  const std::vector<uint32_t> runs = words_in(s, "runs");
  for (size_t i = 0; i + 3 < runs.size(); i += 4) {
    guint layer = 0;
    if (layers > 1) {
      for (guint k = 0; k < region_count(s); ++k) {
        if (region_field(s, k, "id") != std::to_string(runs[i])) continue;
        layer = static_cast<guint>(std::stoul(region_field(s, k, "layer")));
      }
    }
    for (uint32_t x = 0; x < runs[i + 3]; ++x) {
      map[(layer * kHeight + runs[i + 2]) * kWidth + runs[i + 1] + x] = runs[i];
    }
  }
  return map;
}

TEST(CcLabelElement, AttachRuns_AnySetting_PaintedRunsEqualTheLabelMap) {
  for (const char* more :
       {"", " connectivity=4 min-area=3", " criterion=equal", " track=true",
        " left=3 top=5 width=30 height=20", " process-scale=0.4 left=2 width=31"}) {
    Harness h(std::string("cclabel device=cpu output=none attach-runs=true") + more);
    h.video("GRAY8", kWidth, kHeight);
    for (uint32_t frame = 0; frame < 3; ++frame) {
      ASSERT_EQ(h.push(noise(frame, 6), static_cast<int>(frame)), GST_FLOW_OK);
      const BufferPtr out = h.pull();
      const GstStructure* s = regions_of(out.get());
      EXPECT_FALSE(truncated(s));
      EXPECT_FALSE(words_in(s, "runs").empty());
      EXPECT_EQ(painted(s), words_in(s, "labels")) << more;
    }
  }
}

TEST(CcLabelElement, AttachRuns_Volume_PaintedRunsOfEachFrameEqualItsLabelMap) {
  for (const auto& [more, layers] :
       {std::pair("connectivity=26", 1), std::pair("connectivity=6 thresholds=<0.5,0.9>", 2)}) {
    Harness h(std::string("cclabel device=cpu depth=3 output=none attach-runs=true ") + more);
    h.video("GRAY8", kWidth, kHeight);
    for (int z = 0; z < 3; ++z) {
      ASSERT_EQ(h.push(noise(static_cast<uint32_t>(z), 4), z), GST_FLOW_OK);
    }
    for (int z = 0; z < 3; ++z) {
      const BufferPtr out = h.pull();
      const GstStructure* s = regions_of(out.get());
      EXPECT_EQ(painted(s, layers), words_in(s, "labels")) << more;
    }
  }
}

TEST(CcLabelElement, AttachRuns_MoreThanMaxRuns_AttachesTheFirstAndSetsRunsTruncated) {
  Harness h("cclabel device=cpu output=none attach-runs=true max-runs=7");
  h.video("GRAY8", kWidth, kHeight);
  h.push(noise(1, 6));
  const BufferPtr out = h.pull();
  EXPECT_TRUE(truncated(regions_of(out.get())));
  const std::vector<uint32_t> labels = words_in(regions_of(out.get()), "labels");
  std::vector<uint32_t> first = painted(regions_of(out.get()));
  EXPECT_EQ(words_in(regions_of(out.get()), "runs").size(), 28u);
  size_t last = first.size();
  while (last > 0 && first[last - 1] == 0) --last;
  EXPECT_TRUE(
      std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(last), labels.begin()));
}

}  // namespace
}  // namespace regions::test
