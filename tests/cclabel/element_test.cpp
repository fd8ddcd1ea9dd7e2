// The element cclabel where it follows regions: metadata and pictures over several frames.
#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 40;

// A square that goes right, and from frame 2 on one above it, which is first in raster order.
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

TEST(CcLabelTracking, MetadataAndLabelsKeepIds) {
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

TEST(CcLabelTracking, AFlushForgets) {
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
    gst_harness_push_event(h.get(), gst_event_new_flush_start());
    gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  }
}

TEST(CcLabelTracking, WithoutItNothingIsSaid) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  h.push(scene(0));
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_FALSE(gst_structure_has_field(regions_of(out.get()), "births"));
}

// The squares of scene(2): one at (13, 20), one at (40, 2).
TEST(CcLabelSeeds, ClicksChooseRegions) {
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
  shows(false, false, "a click beside all");
  click(2, 1, 1);
  shows(true, true, "a middle click");
  g_object_set(h.element(), "click-seeds", FALSE, nullptr);
  click(1, 42, 4);
  shows(true, true, "a click that is not followed");
}

TEST(CcLabelSeeds, ATouchIsALeftClick) {
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

// Also where another picture is worked on.
TEST(CcLabelSeeds, CountThePicturesPixels) {
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

TEST(CcLabelSeeds, ManyClicksKeepTheLast) {
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

// 300 ids do not fit into GRAY8: they are never shown as another's.
TEST(CcLabelTracking, IdsThatDoNotFit) {
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

}  // namespace
}  // namespace regions::test
