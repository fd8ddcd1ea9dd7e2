// Frames that come too late: which are left out, and what is said of them.
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// Downstream got frame `index` so late that the frames up to `until` come late, too.
void call_late(Harness& h, int index, int until) {
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5,
                                 (until - index) * 40 * GstClockTimeDiff{GST_MSECOND},
                                 static_cast<GstClockTime>(index) * 40 * GST_MSECOND));
}

struct QosStats {
  guint64 processed = 0, dropped = 0;
};
QosStats next_qos(Harness& h) {
  const MessagePtr message = h.message(GST_MESSAGE_QOS);
  QosStats stats;
  if (!message) return stats;
  GstFormat format = GST_FORMAT_UNDEFINED;
  gst_message_parse_qos_stats(message.get(), &format, &stats.processed, &stats.dropped);
  EXPECT_EQ(format, GST_FORMAT_BUFFERS);
  return stats;
}

// Pushes frames first .. last and gives the numbers of those that leave; a frame behind others that
// were left out must say so.
std::vector<int> those_that_leave(Harness& h, int first, int last) {
  for (int i = first; i <= last; ++i) EXPECT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();
  std::vector<int> left;
  while (h.waiting() > 0) {
    const BufferPtr out = h.pull();
    left.push_back(static_cast<int>(GST_BUFFER_PTS(out.get()) / (40 * GST_MSECOND)));
    const bool follows = left.back() == (left.size() > 1 ? left[left.size() - 2] + 1 : first);
    EXPECT_EQ(GST_BUFFER_IS_DISCONT(out.get()), !follows) << "frame " << left.back();
  }
  return left;
}

TEST(Qos, LateFramesAreLeftOutAndSaidToBe) {
  for (const char* output : {"none", "overlay", "labels"}) {
    Harness h(std::string("cclabel output=") + output);
    h.video("GRAY8", kWidth, kHeight);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
      ASSERT_TRUE(h.pull());
    }
    call_late(h, 2, 5);
    EXPECT_EQ(those_that_leave(h, 3, 9), (std::vector<int>{6, 7, 8, 9})) << output;
    for (guint64 k = 1; k <= 3; ++k) {
      const QosStats stats = next_qos(h);
      EXPECT_EQ(stats.processed, 3u) << output;
      EXPECT_EQ(stats.dropped, k) << output;
    }
    EXPECT_EQ(stat(h, "frames-in"), 7u);
    EXPECT_EQ(stat(h, "frames-out"), 7u);
    EXPECT_EQ(stat(h, "frames-late"), 3u);
  }
}

TEST(Qos, ItCanBeSwitchedOff) {
  Harness h("cclabel output=none qos=false");
  h.video("GRAY8", kWidth, kHeight);
  call_late(h, 0, 5);
  EXPECT_EQ(those_that_leave(h, 0, 3), (std::vector<int>{0, 1, 2, 3}));
}

TEST(Qos, AFlushForgetsWhatWasLate) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  call_late(h, 0, 1000);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(those_that_leave(h, 0, 2), (std::vector<int>{0, 1, 2}));
}

// A window needs every frame.
TEST(Qos, WindowsAreKeptWhole) {
  Harness h("cclabel output=none depth=3 sliding=true connectivity=6");
  h.video("GRAY8", kWidth, kHeight);
  call_late(h, 0, 5);
  EXPECT_EQ(those_that_leave(h, 0, 6), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
}

// Frame 2 is late, but its volume has begun; frame 4 is, so its volume is left out, frame 7 too.
TEST(Qos, VolumesAreLeftOutWholeOrNotAtAll) {
  Harness h("cclabel output=none depth=4 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  call_late(h, 0, 5);
  for (int i = 2; i < 4; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  for (int i = 0; i < 4; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_FALSE(GST_BUFFER_IS_DISCONT(out.get()));
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "depth"), "4");
  }
  EXPECT_EQ(those_that_leave(h, 4, 12), (std::vector<int>{8, 9, 10, 11, 12}));
  EXPECT_EQ(stat(h, "frames-late"), 4u);
}

}  // namespace
}  // namespace regions::test
