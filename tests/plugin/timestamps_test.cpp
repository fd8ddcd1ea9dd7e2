// Timestamps: the times in messages, jumps that begin a new scene, and the times at which tracks
// were first seen.
#include <algorithm>

#include "plugin/stream/stream_times.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

constexpr GstClockTime kFrame = 40 * GST_MSECOND;

// ---- jumps

struct Frame {
  GstClockTime begin, duration;
  bool jumps;
};

// A jump is a gap of more than two seconds. Frames without a duration last 100 ms.
TEST(TimeJumps, TimestampGap_IsATimeJumpOnlyAboveTwoSeconds) {
  constexpr GstClockTime kMax = 2 * GST_SECOND, kUsual = 100 * GST_MSECOND,
                         kNone = GST_CLOCK_TIME_NONE;
  const GstClockTime start = 100 * GST_SECOND;
  const std::vector<std::vector<Frame>> streams = {
      {{start, kFrame, false}, {start + kFrame, kFrame, false}},
      {{start, kFrame, false}, {start + kFrame + kMax, kFrame, false}},
      {{start, kFrame, false}, {start + kFrame + kMax + 1, kFrame, true}},
      {{start, kNone, false}, {start + kUsual + kMax, kFrame, false}},
      {{start, kNone, false}, {start + kUsual + kMax + 1, kFrame, true}},
      // Backwards: from the begin of the earlier frame to the end of the later frame.
      {{start, kFrame, false}, {start - kFrame - kMax, kFrame, false}},
      {{start, kFrame, false}, {start - kFrame - kMax - 1, kFrame, true}},
      {{start, kFrame, false}, {start - kUsual - kMax, kNone, false}},
      {{start, kFrame, false}, {start - kUsual - kMax - 1, kNone, true}},
      // Equal times, and frames that overlap.
      {{start, kFrame, false}, {start, kFrame, false}},
      {{start, 9 * kMax, false}, {start + kMax + kFrame, kFrame, false}},
      // Frames without a time are ignored.
      {{start, kFrame, false}, {kNone, kFrame, false}, {start + 2 * kMax, kFrame, true}},
      {{start, kFrame, false}, {kNone, kFrame, false}, {start + kMax, kFrame, false}},
      {{0, kFrame, false},
       {start, kFrame, true},
       {start + kFrame, kFrame, false},
       {0, kFrame, true}},
  };
  for (size_t n = 0; n < streams.size(); ++n) {
    TimeJumps jumps;
    for (int time = 0; time < 2; ++time) {
      for (size_t i = 0; i < streams[n].size(); ++i) {
        const Frame& frame = streams[n][i];
        const BufferPtr buffer(gst_buffer_new());
        GST_BUFFER_PTS(buffer.get()) = frame.begin;
        GST_BUFFER_DURATION(buffer.get()) = frame.duration;
        EXPECT_EQ(jumps.is_jump(buffer.get(), kUsual, kMax), frame.jumps)
            << "stream " << n << ", frame " << i << ", time " << time;
      }
      jumps.reset();
    }
  }
}

// ---- tracks

std::vector<Region> tracks(uint32_t first, uint32_t count) {
  std::vector<Region> regions(count);
  for (uint32_t i = 0; i < count; ++i) regions[i].track = first + i;
  return regions;
}

TEST(TrackTimes, MoreThan4096Tracks_ForgetsThoseNotSeenForLongest) {
  using Times = std::vector<GstClockTime>;
  TrackTimes times;
  EXPECT_EQ(times.first_seen(tracks(1, 2), 10), (Times{10, 10}));
  EXPECT_EQ(times.first_seen(tracks(2, 2), 20), (Times{10, 20}));
  EXPECT_EQ(times.first_seen(tracks(1, 1), 30), (Times{10}));
  // From 4097 tracks on, the half that was not seen for longest is forgotten.
  for (uint32_t i = 0; i < 4; ++i) times.first_seen(tracks(1000 + 1000 * i, 1000), 100 + i);
  EXPECT_EQ(times.first_seen(tracks(1, 3), 200), (Times{10, 10, 20}));
  times.first_seen(tracks(5000, 93), 300);
  EXPECT_EQ(times.first_seen(tracks(2000, 1), 310), (Times{101})) << "4096 tracks are kept";
  times.first_seen(tracks(6000, 1), 320);
  EXPECT_EQ(times.first_seen(tracks(1000, 1), 400), (Times{400})) << "4097 tracks are too many";
  EXPECT_EQ(times.first_seen(tracks(2000, 2), 410), (Times{101, 410}));
  EXPECT_EQ(times.first_seen(tracks(3000, 1), 420), (Times{102}));
  EXPECT_EQ(times.first_seen(tracks(4000, 2), 430), (Times{103, 103}));
  EXPECT_EQ(times.first_seen(tracks(1, 3), 440), (Times{10, 10, 20}));
  times.clear();
  EXPECT_EQ(times.first_seen(tracks(1, 2), 800), (Times{800, 800}));
  // If frames have many regions, the regions of four frames are kept.
  times.clear();
  for (uint32_t i = 0; i < 4; ++i) times.first_seen(tracks(1 + 2000 * i, 2000), 900 + i);
  EXPECT_EQ(times.first_seen(tracks(1, 2000), 910), Times(2000, 900));
  times.first_seen(tracks(8001, 2000), 920);
  EXPECT_EQ(times.first_seen(tracks(2001, 1), 930), (Times{930}));
  EXPECT_EQ(times.first_seen(tracks(1, 1), 940), (Times{900}));
}

// ---- scenes: after a gap, tracks end and the background model is learned again

class TrackedElement : public ::testing::TestWithParam<const char*> {
 protected:
  TrackedElement() : h_(GetParam()) { h_.video("GRAY8", kWidth, kHeight); }
  std::string track_at(int index, guint flags = 0) {
    GstBuffer* frame = Harness::buffer(gray_with_square(), index);
    GST_BUFFER_FLAG_SET(frame, flags);
    EXPECT_EQ(gst_harness_push(h_.get(), frame), GST_FLOW_OK);
    return track_on(h_.pull());
  }
  Harness h_;
};

TEST_P(TrackedElement, LostFramesAndGapsBelowTheJumpLimit_TrackNumberIsKept) {
  EXPECT_EQ(track_at(0, GST_BUFFER_FLAG_DISCONT), "1");
  EXPECT_EQ(track_at(1), "1");
  EXPECT_EQ(track_at(3, GST_BUFFER_FLAG_DISCONT), "1");
  EXPECT_EQ(track_at(4, GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_RESYNC), "1");
  gst_harness_push_event(h_.get(), gst_event_new_gap(200 * GST_MSECOND, 400 * GST_MSECOND));
  EXPECT_EQ(track_at(15), "1");
  EXPECT_EQ(track_at(15 + 120), "1") << "4.76 s later";
  EXPECT_EQ(track_at(15), "1") << "and back";
}

TEST_P(TrackedElement, TimestampsJump_StartsATrackWithANewNumber) {
  EXPECT_EQ(track_at(1000), "1");
  EXPECT_EQ(track_at(1000 + 150), "2") << "5.96 s later";
  EXPECT_EQ(track_at(1000), "3");
  EXPECT_EQ(track_at(1001), "3");
  g_object_set(h_.element(), "max-gap", 100.0, nullptr);
  EXPECT_EQ(track_at(2000), "3");
}

TEST_P(TrackedElement, NewPictureSizeOrRectangle_RegionGetsANewTrackNumber) {
  EXPECT_EQ(track_at(0), "1");
  h_.video("GRAY8", kWidth / 2, kHeight * 2);
  EXPECT_EQ(h_.push(std::vector<uint8_t>(kWidth * kHeight, 200), 1), GST_FLOW_OK);
  EXPECT_EQ(track_on(h_.pull()), "2");
  h_.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(track_at(2), "3");
  g_object_set(h_.element(), "width", 40, nullptr);
  EXPECT_EQ(track_at(3), "4");
  g_object_set(h_.element(), "left", 4, nullptr);
  EXPECT_EQ(track_at(4), "5");
  EXPECT_FALSE(h_.has_error());
}

TEST_P(TrackedElement, Flush_TrackNumbersRestart) {
  EXPECT_EQ(track_at(0), "1");
  EXPECT_EQ(track_at(1000), "2");
  h_.flush();
  EXPECT_EQ(track_at(1001), "1");
}

INSTANTIATE_TEST_SUITE_P(All, TrackedElement,
                         ::testing::Values("cclabel output=none track=true",
                                           "cclabel output=none depth=2 sliding=true "
                                           "connectivity=6"));

// A square in front of a learned background is foreground. In the first frame of a model, nothing
// is.
TEST(LearnedBackground, TimestampsJump_IsLearnedAgain) {
  GrayHarness h("graphcutbg output=mask");
  const std::vector<uint8_t> empty(kWidth * kHeight, 10);
  const auto foreground = [&](const std::vector<uint8_t>& picture, int index) {
    GstBuffer* frame = Harness::buffer(picture, index);
    GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_DISCONT);
    EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
    const std::vector<uint8_t> mask = bytes_of(h.pull().get());
    return std::count_if(mask.begin(), mask.end(), [](uint8_t m) { return m > 127; });
  };
  for (int i = 0; i < 30; ++i) foreground(empty, i);
  EXPECT_GT(foreground(gray_with_square(), 30), 200);
  EXPECT_GT(foreground(gray_with_square(), 130), 200);
  EXPECT_EQ(foreground(gray_with_square(), 1130), 0) << "a new scene";
}

// ---- messages

// A segment at twice the speed: timestamp 1 s is stream time 10 s and running time 100 s.
void begin_shifted(Harness& h) {
  h.video("GRAY8", kWidth, kHeight);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = 2;
  segment.start = GST_SECOND;
  segment.time = 10 * GST_SECOND;
  segment.base = 100 * GST_SECOND;
  h.segment(segment);
}

guint64 number(const GstStructure* s, const char* name) {
  guint64 value = 0;
  EXPECT_TRUE(gst_structure_get_uint64(s, name, &value)) << name;
  return value;
}

TEST(RegionMessage, PostMessages_EachMessageHasTimesAndRegions) {
  Harness h("cclabel output=none post-messages=true");
  begin_shifted(h);
  for (int i = 25; i < 28; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  for (guint64 i = 0; i < 3; ++i) {
    ASSERT_TRUE(h.pull());
    const MessagePtr message = h.message(GST_MESSAGE_ELEMENT);
    ASSERT_TRUE(message);
    const GstStructure* s = gst_message_get_structure(message.get());
    EXPECT_TRUE(gst_structure_has_name(s, "cclabel"));
    EXPECT_EQ(GST_MESSAGE_SRC(message.get()), GST_OBJECT(h.element()));
    EXPECT_EQ(number(s, "timestamp"), GST_SECOND + i * kFrame);
    EXPECT_EQ(number(s, "stream-time"), 10 * GST_SECOND + i * kFrame);
    EXPECT_EQ(number(s, "running-time"), 100 * GST_SECOND + i * kFrame / 2);
    EXPECT_EQ(number(s, "duration"), kFrame);
    EXPECT_EQ(region_count(s), 1u);
    EXPECT_TRUE(gst_structure_has_field(s, "regions-total"));
    EXPECT_FALSE(gst_structure_has_field(s, "labels")) << "messages contain no label maps";
    EXPECT_FALSE(gst_structure_has_field(s, "labels-format"));
  }
  g_object_set(h.element(), "post-messages", FALSE, nullptr);
  ASSERT_EQ(h.push(gray_with_square(), 28), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_ELEMENT));
}

TEST(RegionMessage, SegmentInBytes_MessageHasNoTimes) {
  start_gstreamer();
  GstHarness* h = gst_harness_new_parse("cclabel output=none post-messages=true");
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(h->element, bus);
  gst_harness_play(h);
  const CapsPtr caps(
      gst_caps_from_string("video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1"));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  gst_pad_push_event(h->srcpad, gst_event_new_stream_start("bytes"));
  gst_pad_push_event(h->srcpad, gst_event_new_caps(caps.get()));
  gst_pad_push_event(h->srcpad, gst_event_new_segment(&segment));
  int criticals = 0;
  const guint handler = g_log_set_handler(
      "GStreamer", G_LOG_LEVEL_CRITICAL,
      [](const gchar*, GLogLevelFlags, const gchar*, gpointer count) {
        ++*static_cast<int*>(count);
      },
      &criticals);
  EXPECT_EQ(gst_pad_push(h->srcpad, Harness::buffer(gray_with_square())), GST_FLOW_OK);
  EXPECT_TRUE(BufferPtr(gst_harness_pull(h)));
  g_log_remove_handler("GStreamer", handler);
  EXPECT_EQ(criticals, 0);
  const MessagePtr message(gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_ELEMENT));
  for (const char* name : {"stream-time", "running-time"}) {
    EXPECT_EQ(number(gst_message_get_structure(message.get()), name), GST_CLOCK_TIME_NONE) << name;
  }
  gst_element_set_bus(h->element, nullptr);
  gst_object_unref(bus);
  gst_harness_teardown(h);
}

TEST(QosMessage, LateFrame_MessageHasRunningStreamTimestampAndDuration) {
  Harness h("cclabel output=none");
  begin_shifted(h);
  ASSERT_EQ(h.push(gray_with_square(), 25), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  // Frame 25 was 30 ms late. Frames of running times up to 100 s and 30 ms are late, too.
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.75, 30 * GST_MSECOND, 100 * GST_SECOND));
  ASSERT_EQ(h.push(gray_with_square(), 26), GST_FLOW_OK);
  const MessagePtr message = h.message(GST_MESSAGE_QOS);
  ASSERT_TRUE(message);
  gboolean live = TRUE;
  guint64 running_time = 0, stream_time = 0, timestamp = 0, duration = 0;
  gst_message_parse_qos(message.get(), &live, &running_time, &stream_time, &timestamp, &duration);
  EXPECT_FALSE(live);
  EXPECT_EQ(running_time, 100 * GST_SECOND + kFrame / 2);
  EXPECT_EQ(stream_time, 10 * GST_SECOND + kFrame);
  EXPECT_EQ(timestamp, GST_SECOND + kFrame);
  EXPECT_EQ(duration, kFrame);
  gint64 jitter = 0;
  gdouble proportion = 0;
  gint quality = 0;
  gst_message_parse_qos_values(message.get(), &jitter, &proportion, &quality);
  EXPECT_EQ(jitter, static_cast<gint64>(10 * GST_MSECOND));
  EXPECT_EQ(proportion, 1.75);
  EXPECT_EQ(quality, 1000000);
  GstFormat format = GST_FORMAT_UNDEFINED;
  guint64 processed = 0, dropped = 0;
  gst_message_parse_qos_stats(message.get(), &format, &processed, &dropped);
  EXPECT_EQ(processed, 1u);
  EXPECT_EQ(dropped, 1u);
}

}  // namespace
}  // namespace regions::test
