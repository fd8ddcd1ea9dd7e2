// What is made of times: stated latencies, jumps, when tracks were first seen; and the times that
// messages tell.
#include "plugin/stream/stream_times.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

constexpr GstClockTime kFrame = 40 * GST_MSECOND;

TEST(LatencyOf, FramesAndVolumes) {
  Latency latency;
  EXPECT_EQ(latency.reported(), 0u);
  EXPECT_FALSE(latency.configure(kFrame, 1, 4)) << "a frame is not waited for";
  EXPECT_EQ(latency.reported(), 0u);
  // Of single frames both parts are measured, with a quarter more.
  EXPECT_TRUE(latency.record({2000, 6000}));
  EXPECT_EQ(latency.reported(), 10 * GST_MSECOND);
  EXPECT_FALSE(latency.record({0, 10000})) << "within the margin";
  EXPECT_EQ(latency.reported(), 10 * GST_MSECOND);
  EXPECT_TRUE(latency.record({0, 10001}));
  EXPECT_EQ(latency.reported(), 10001 * GST_USECOND * 5 / 4);
  EXPECT_TRUE(latency.record({0, 1000000}));
  EXPECT_EQ(latency.reported(), 4 * kFrame) << "at most all that is under way";
  EXPECT_FALSE(latency.record({0, 2000000}));
  // Another rate shows more of what was measured.
  EXPECT_TRUE(latency.configure(2 * kFrame, 1, 4));
  EXPECT_EQ(latency.reported(), 8 * kFrame);
  EXPECT_TRUE(latency.configure(0, 1, 4)) << "without a rate there is no limit";
  EXPECT_EQ(latency.reported(), 2500 * GST_MSECOND);
  EXPECT_TRUE(latency.reset());
  EXPECT_EQ(latency.reported(), 0u);
  EXPECT_FALSE(latency.reset());

  EXPECT_TRUE(latency.configure(kFrame, 8, 2));
  EXPECT_EQ(latency.reported(), 7 * kFrame) << "the first frame waits for seven more";
  EXPECT_TRUE(latency.record({900000, 4000}));
  EXPECT_EQ(latency.reported(), 7 * kFrame + 5 * GST_MSECOND) << "how they came is not measured";
  EXPECT_TRUE(latency.record({0, 1000000}));
  EXPECT_EQ(latency.reported(), 16 * kFrame);
  EXPECT_TRUE(latency.reset());
  EXPECT_EQ(latency.reported(), 7 * kFrame);
  EXPECT_FALSE(latency.configure(kFrame, 8, 3));
  // Volumes of an unknown rate are measured.
  EXPECT_TRUE(latency.configure(0, 8, 2));
  EXPECT_TRUE(latency.record({100000, 60000}));
  EXPECT_EQ(latency.reported(), 200 * GST_MSECOND);
}

struct Frame {
  GstClockTime begin, duration;
  bool jumps;
};

// Frames of 40 ms or, without a duration, of 100 ms; two seconds are no jump.
TEST(Jumps, AreLongerThanTheMost) {
  constexpr GstClockTime kMax = 2 * GST_SECOND, kUsual = 100 * GST_MSECOND,
                         kNone = GST_CLOCK_TIME_NONE;
  const GstClockTime start = 100 * GST_SECOND;
  const std::vector<std::vector<Frame>> streams = {
      {{start, kFrame, false}, {start + kFrame, kFrame, false}},
      {{start, kFrame, false}, {start + kFrame + kMax, kFrame, false}},
      {{start, kFrame, false}, {start + kFrame + kMax + 1, kFrame, true}},
      {{start, kNone, false}, {start + kUsual + kMax, kFrame, false}},
      {{start, kNone, false}, {start + kUsual + kMax + 1, kFrame, true}},
      // Backwards, from the begin of the one to the end of the other.
      {{start, kFrame, false}, {start - kFrame - kMax, kFrame, false}},
      {{start, kFrame, false}, {start - kFrame - kMax - 1, kFrame, true}},
      {{start, kFrame, false}, {start - kUsual - kMax, kNone, false}},
      {{start, kFrame, false}, {start - kUsual - kMax - 1, kNone, true}},
      // The same time again, and long frames that overlap.
      {{start, kFrame, false}, {start, kFrame, false}},
      {{start, 9 * kMax, false}, {start + kMax + kFrame, kFrame, false}},
      // A frame without a time tells nothing, and hides nothing.
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

std::vector<Region> tracks(uint32_t first, uint32_t count) {
  std::vector<Region> regions(count);
  for (uint32_t i = 0; i < count; ++i) regions[i].track = first + i;
  return regions;
}

TEST(TracksSeen, AreRememberedUntilManyOthersCame) {
  using Times = std::vector<GstClockTime>;
  TrackTimes times;
  EXPECT_EQ(times.first_seen(tracks(1, 2), 10), (Times{10, 10}));
  EXPECT_EQ(times.first_seen(tracks(2, 2), 20), (Times{10, 20}));
  EXPECT_EQ(times.first_seen(tracks(1, 1), 30), (Times{10}));
  // 4096 are remembered; of more the half that was not seen for longest is forgotten.
  for (uint32_t i = 0; i < 4; ++i) times.first_seen(tracks(1000 + 1000 * i, 1000), 100 + i);
  EXPECT_EQ(times.first_seen(tracks(1, 3), 200), (Times{10, 10, 20}));
  times.first_seen(tracks(5000, 93), 300);
  EXPECT_EQ(times.first_seen(tracks(2000, 1), 310), (Times{101})) << "of 4096 none is forgotten";
  times.first_seen(tracks(6000, 1), 320);
  EXPECT_EQ(times.first_seen(tracks(1000, 1), 400), (Times{400})) << "of 4097 half are";
  EXPECT_EQ(times.first_seen(tracks(2000, 2), 410), (Times{101, 410}));
  EXPECT_EQ(times.first_seen(tracks(3000, 1), 420), (Times{102}));
  EXPECT_EQ(times.first_seen(tracks(4000, 2), 430), (Times{103, 103}));
  EXPECT_EQ(times.first_seen(tracks(1, 3), 440), (Times{10, 10, 20}));
  times.clear();
  EXPECT_EQ(times.first_seen(tracks(1, 2), 800), (Times{800, 800}));
  // Of large frames four are.
  times.clear();
  for (uint32_t i = 0; i < 4; ++i) times.first_seen(tracks(1 + 2000 * i, 2000), 900 + i);
  EXPECT_EQ(times.first_seen(tracks(1, 2000), 910), Times(2000, 900));
  times.first_seen(tracks(8001, 2000), 920);
  EXPECT_EQ(times.first_seen(tracks(2001, 1), 930), (Times{930}));
  EXPECT_EQ(times.first_seen(tracks(1, 1), 940), (Times{900}));
}

// ---- messages

// A stream that begins at timestamp 1 s, stream time 10 s, running time 100 s, at twice the speed.
void begin_shifted(Harness& h) {
  h.video("GRAY8", kWidth, kHeight);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.rate = 2;
  segment.start = GST_SECOND;
  segment.time = 10 * GST_SECOND;
  segment.base = 100 * GST_SECOND;
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
}

guint64 number(const GstStructure* s, const char* name) {
  guint64 value = 0;
  EXPECT_TRUE(gst_structure_get_uint64(s, name, &value)) << name;
  return value;
}

TEST(Messages, TellTheFramesTimes) {
  Harness h("cclabel output=none post-messages=true");
  begin_shifted(h);
  for (int i = 25; i < 28; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  for (guint64 i = 0; i < 3; ++i) {
    ASSERT_TRUE(h.pull());
    const MessagePtr message = h.message(GST_MESSAGE_ELEMENT);
    ASSERT_TRUE(message);
    const GstStructure* s = gst_message_get_structure(message.get());
    EXPECT_EQ(GST_MESSAGE_SRC(message.get()), GST_OBJECT(h.element()));
    EXPECT_EQ(number(s, "timestamp"), GST_SECOND + i * kFrame);
    EXPECT_EQ(number(s, "stream-time"), 10 * GST_SECOND + i * kFrame);
    EXPECT_EQ(number(s, "running-time"), 100 * GST_SECOND + i * kFrame / 2);
    EXPECT_EQ(number(s, "duration"), kFrame);
    EXPECT_TRUE(gst_structure_has_field(s, "regions-total"));
    EXPECT_FALSE(gst_structure_has_field(s, "labels")) << "maps are no matter of messages";
    EXPECT_FALSE(gst_structure_has_field(s, "labels-format"));
  }
  g_object_set(h.element(), "post-messages", FALSE, nullptr);
  ASSERT_EQ(h.push(gray_with_square(), 28), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_ELEMENT));
}

TEST(Messages, TellOfLateFrames) {
  Harness h("cclabel output=none");
  begin_shifted(h);
  ASSERT_EQ(h.push(gray_with_square(), 25), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  // Frame 25 came 30 ms late; what is to run up to 100 s and 30 ms is late, too.
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

// Which frames are late is told by what downstream says: the time up to which all are, itself
// late; before the stream's begin, or at no time, none is.
TEST(Late, IsUpToTheTimeDownstreamNames) {
  struct Case {
    GstClockTime time;
    GstClockTimeDiff late;
    int left;  // of frames 0 to 4
  };
  const auto ms = [](int n) { return n * GstClockTimeDiff{GST_MSECOND}; };
  for (const auto& [time, late, left] : {Case{2 * kFrame, 0, 2},
                                         {2 * kFrame, ms(-1), 3},
                                         {kFrame, ms(40), 2},
                                         {kFrame, ms(79), 2},
                                         {kFrame, ms(80), 1},

                                         {GST_CLOCK_TIME_NONE, 0, 5}}) {
    Harness h("cclabel output=none");
    h.video("GRAY8", kWidth, kHeight);
    gst_harness_push_upstream_event(h.get(),
                                    gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1, late, time));
    for (int i = 0; i < 5; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    h.eos();
    EXPECT_EQ(h.waiting(), static_cast<guint>(left)) << time << " and " << late;
    EXPECT_TRUE(gst_harness_upstream_events_received(h.get()) > 0);
  }
}

// What is stated adds to what comes before, at the most as at the least.
TEST(LatencyQuery, AddsToUpstreams) {
  for (const GstClockTime most : {GstClockTime{90 * GST_MSECOND}, GST_CLOCK_TIME_NONE}) {
    for (const bool live : {true, false}) {
      Harness h("cclabel output=none depth=8 connectivity=26");
      struct Answer {
        gboolean live;
        GstClockTime most;
      } answer = {live, most};
      gst_pad_add_probe(
          h.get()->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM,
          [](GstPad*, GstPadProbeInfo* info, gpointer data) {
            GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
            if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return GST_PAD_PROBE_OK;
            const auto& a = *static_cast<const Answer*>(data);
            gst_query_set_latency(query, a.live, 30 * GST_MSECOND, a.most);
            return GST_PAD_PROBE_HANDLED;
          },
          &answer, nullptr);
      h.video("GRAY8", kWidth, kHeight);
      GstQuery* query = gst_query_new_latency();
      GstPad* source = gst_element_get_static_pad(h.element(), "src");
      ASSERT_TRUE(gst_pad_query(source, query));
      gst_object_unref(source);
      gboolean is_live = !live;
      GstClockTime min = 0, max = 0;
      gst_query_parse_latency(query, &is_live, &min, &max);
      gst_query_unref(query);
      EXPECT_EQ(is_live, live);
      // Of what is not live nothing is late.
      EXPECT_EQ(min, (live ? 30 * GST_MSECOND : 0) + 7 * kFrame);
      EXPECT_EQ(max, live && most != GST_CLOCK_TIME_NONE ? most + 7 * kFrame : GST_CLOCK_TIME_NONE);
    }
  }
}

// How many frames are worked on at once, by the latency that all of them together may have.
TEST(LatencyQuery, LiveFramesAreWorkedOnOneByOne) {
  for (const bool live : {true, false}) {
    for (const int depth : {1, 3}) {
      Harness h("cclabel output=none device=cpu depth=" + std::to_string(depth) +
                (depth > 1 ? " connectivity=6" : ""));
      gst_harness_set_live(h.get(), live);
      h.video("GRAY8", kWidth, kHeight);
      GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
      GstQuery* query = gst_query_new_allocation(caps, TRUE);
      ASSERT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
      guint held = 0;
      gst_query_parse_nth_allocation_pool(query, 0, nullptr, nullptr, &held, nullptr);
      gst_query_unref(query);
      gst_caps_unref(caps);
      const int slots = live ? 1 : depth > 1 ? 2 : 4;
      EXPECT_EQ(held, static_cast<guint>(slots * depth + 1)) << live << " " << depth;
    }
  }
}

TEST(LatencyMessages, ComeWhereItChanges) {
  Harness h("cclabel output=none depth=4 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_TRUE(h.message_so_far(GST_MESSAGE_LATENCY));
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_LATENCY));
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_LATENCY)) << "as it was";
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=50/1");
  EXPECT_TRUE(h.message_so_far(GST_MESSAGE_LATENCY));
  EXPECT_EQ(stat(h, "latency"), 60 * GST_MSECOND);
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=50/3");
  EXPECT_EQ(stat(h, "latency"), 180 * GST_MSECOND);
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=0/1");
  EXPECT_EQ(stat(h, "latency"), 0u);
}

}  // namespace
}  // namespace regions::test
