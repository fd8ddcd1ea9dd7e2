// What elements say of how long they keep frames.
#include <utility>

#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/passing_time.hpp"

namespace regions::test {
namespace {

constexpr guint64 kFrame = 40 * GST_MSECOND;

TEST(Latency, IsMeasuredAndReported) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  h.push(gray_with_square());
  ASSERT_TRUE(h.pull());
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  const GstClockTime latency = gst_harness_query_latency(h.get());
  EXPECT_GT(latency, 0u);
  EXPECT_LE(latency, 4 * kFrame);
}

TEST(Latency, OfVolumesIsKnownByTheCaps) {
  Harness h("cclabel output=none depth=8 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  EXPECT_EQ(stat(h, "latency"), 7 * kFrame);
  EXPECT_EQ(gst_harness_query_latency(h.get()), 7 * kFrame);
  for (int i = 0; i < 8; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(h.pull());
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  EXPECT_GT(stat(h, "latency"), 7 * kFrame);
  EXPECT_LE(stat(h, "latency"), 2 * 8 * kFrame);

  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=5/1");
  EXPECT_GE(stat(h, "latency"), 7 * 200 * GST_MSECOND);
}

TEST(Latency, WindowsKeepNothing) {
  Harness h("cclabel output=none depth=8 sliding=true connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(stat(h, "latency"), 0u);
}

// While downstream takes a second for the first frame, the other frames wait, although their work
// is done. That is no latency of the element.
TEST(Latency, SlowSink_FramesWaitForPush_WaitIsNotCounted) {
  constexpr int kFrames = 4;
  constexpr gulong kTimeForWork = 300000;  // µs; the frames are tiny
  Harness h("cclabel output=labels frames-in-flight=4", "video/x-raw,format=GRAY16_LE");
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=0/1");
  bool has_slept = false;
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo*, gpointer slept) {
        if (!std::exchange(*static_cast<bool*>(slept), true)) {
          g_usleep(kTimeForWork);
          let_pass(G_USEC_PER_SEC);
        }
        return GST_PAD_PROBE_OK;
      },
      &has_slept, nullptr);
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_EQ(gst_harness_push(h.get(), Harness::buffer(gray_with_square(i), i)), GST_FLOW_OK);
  }
  for (int i = 0; i < kFrames; ++i) ASSERT_TRUE(h.pull());
  gst_object_unref(pad);
  EXPECT_GT(stat(h, "latency"), 0u);
  EXPECT_LT(stat(h, "latency"), GST_SECOND);
}

}  // namespace
}  // namespace regions::test
