// Frames through cclabel: all of them, in order, with what they carried, whatever happens between.
#include <atomic>
#include <future>
#include <thread>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

class InFlight : public ::testing::TestWithParam<int> {
 protected:
  std::string line(const std::string& more) const {
    return "cclabel frames-in-flight=" + std::to_string(GetParam()) + " " + more;
  }
};

TEST_P(InFlight, FramesLeaveInOrderWithTheirTimes) {
  Harness h(line("output=labels"), "video/x-raw,format=GRAY16_LE");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 40; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
    EXPECT_EQ(GST_BUFFER_DURATION(out.get()), 40 * GST_MSECOND);
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), std::to_string(8 + i % 16));
  }
  EXPECT_EQ(h.waiting(), 0u);
}

TEST_P(InFlight, StatsTellHowLongTheDeviceWorked) {
  Harness h(line("output=none"));
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(stat(h, "work-time"), 0u);
  const gint64 begin = g_get_monotonic_time();
  for (int i = 0; i < 8; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(h.pull());
  const auto took = static_cast<guint64>(g_get_monotonic_time() - begin) * GST_USECOND;
  EXPECT_GT(stat(h, "work-time"), 8 * GST_USECOND);
  EXPECT_LT(stat(h, "work-time"), took * 8);
}

TEST_P(InFlight, AFrameLeavesWithoutALaterOne) {
  Harness h(line("output=none"));
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
  }
}

// As many frames as there are slots are taken in while none of them can leave.
TEST_P(InFlight, SlotsFillWhileDownstreamIsBusy) {
  Harness h(line("output=none"));
  h.video("GRAY8", kWidth, kHeight);
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  const gulong probe = gst_pad_add_probe(
      pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      [](GstPad*, GstPadProbeInfo*, gpointer) { return GST_PAD_PROBE_OK; }, nullptr, nullptr);
  std::future<int> taken = std::async(std::launch::async, [&] {
    int count = 0;
    GstFlowReturn flow = GST_FLOW_OK;
    while (count < GetParam() && flow == GST_FLOW_OK) {
      GstBuffer* b = Harness::buffer(gray_with_square(count), count);
      // As the first buffer of every source: it must not count for those after it.
      if (count == 0) GST_BUFFER_FLAG_SET(b, GST_BUFFER_FLAG_DISCONT);
      flow = gst_harness_push(h.get(), b);
      ++count;
    }
    return count;
  });
  EXPECT_EQ(taken.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(h.waiting(), 0u);
  gst_pad_remove_probe(pad, probe);
  EXPECT_EQ(taken.get(), GetParam());
  for (int i = 0; i < GetParam(); ++i) EXPECT_TRUE(h.pull());
  gst_object_unref(pad);
}

TEST_P(InFlight, EosComesAfterTheLastFrame) {
  Harness h(line("output=none"));
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) h.push(gray_with_square(), i);
  h.eos();
  EXPECT_EQ(h.waiting(), 3u);  // pushing EOS returned, so nothing was left behind
}

TEST_P(InFlight, CapsChangeLosesNoFrame) {
  Harness h(line("output=labels"), "video/x-raw,format=GRAY16_LE");
  for (int round = 0; round < 3; ++round) {
    const int scale = 1 + round % 2;
    h.video("GRAY8", kWidth * scale, kHeight * scale);
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(
          h.push(std::vector<uint8_t>(static_cast<size_t>(kWidth * kHeight * scale * scale), 255)),
          GST_FLOW_OK);
    }
  }
  h.eos();
  for (int i = 0; i < 15; ++i) {
    const BufferPtr out = h.pull();
    const size_t scale = i >= 5 && i < 10 ? 2 : 1;
    EXPECT_EQ(gst_buffer_get_size(out.get()), kWidth * kHeight * 2 * scale * scale)
        << "frame " << i;
  }
}

TEST_P(InFlight, FlushDropsAndGoesOn) {
  Harness h(line("output=none"));
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 4; ++i) h.push(gray_with_square(), i);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_FLUSHING);
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  while (h.waiting() > 0) h.pull();
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(h.push(gray_with_square(), 100 + i), GST_FLOW_OK);
  h.eos();
  ASSERT_EQ(h.waiting(), 4u);
  EXPECT_EQ(GST_BUFFER_PTS(h.pull().get()), 4 * GST_SECOND);
  EXPECT_EQ(stat(h, "frames-in"), 8u);
  EXPECT_EQ(stat(h, "frames-out") + stat(h, "frames-dropped"), 8u);
}

INSTANTIATE_TEST_SUITE_P(All, InFlight, ::testing::Values(0, 1, 2, 3, 8));

TEST(Flow, EosBeforeTheFirstFrame) {
  Harness h("cclabel");
  h.video("GRAY8", kWidth, kHeight);
  h.eos();
  EXPECT_EQ(h.waiting(), 0u);
  EXPECT_FALSE(h.has_error());
}

TEST(Flow, OutputNonePassesTheSameMemory) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  GstBuffer* in = Harness::buffer(gray_with_square());
  GstMemory* memory = gst_buffer_peek_memory(in, 0);
  gst_harness_push(h.get(), in);
  const BufferPtr out = h.pull();
  EXPECT_EQ(gst_buffer_peek_memory(out.get(), 0), memory);
  EXPECT_EQ(bytes_of(out.get()), gray_with_square());
}

TEST(Flow, SharedInputIsNotDrawnOn) {
  Harness h("cclabel output=overlay");
  h.video("GRAY8", kWidth, kHeight);
  GstBuffer* in = Harness::buffer(gray_with_square());
  const BufferPtr kept(gst_buffer_ref(in));
  gst_harness_push(h.get(), in);
  const BufferPtr out = h.pull();
  EXPECT_EQ(bytes_of(kept.get()), gray_with_square());
  EXPECT_NE(bytes_of(out.get()), gray_with_square());
}

TEST(Flow, MetasAndFlagsAreKept) {
  for (const char* output : {"none", "overlay", "labels", "mask", "colors"}) {
    Harness h(std::string("cclabel output=") + output);
    h.video("RGB", 64, 48);
    GstBuffer* in = Harness::buffer(std::vector<uint8_t>(64 * 48 * 3, 250));
    gst_buffer_add_video_region_of_interest_meta(in, "face", 1, 2, 3, 4);
    GstCaps* reference = gst_caps_new_empty_simple("timestamp/x-test");
    gst_buffer_add_reference_timestamp_meta(in, reference, 77, GST_CLOCK_TIME_NONE);
    gst_caps_unref(reference);
    GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_CORRUPTED);
    GST_BUFFER_OFFSET(in) = 1234;
    gst_harness_push(h.get(), in);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << output;
    EXPECT_TRUE(gst_buffer_get_reference_timestamp_meta(out.get(), nullptr)) << output;
    EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_CORRUPTED)) << output;
    EXPECT_EQ(GST_BUFFER_OFFSET(out.get()), 1234u) << output;
    // The face and the one white region.
    EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 2u)
        << output;
  }
}

TEST(Flow, PropertiesChangeFromAnotherThread) {
  Harness h("cclabel output=none frames-in-flight=3");
  h.video("GRAY8", kWidth, kHeight);
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (int i = 0; !stop; ++i) {
      g_object_set(h.element(), "threshold", (i % 10) / 10.0, "connectivity", i % 2 ? 4 : 8,
                   "min-area", static_cast<gint64>(i % 7), nullptr);
    }
  });
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
  }
  stop = true;
  changer.join();
  EXPECT_FALSE(h.has_error());
}

TEST(Flow, StatesUpAndDownAgain) {
  const Pipeline pipeline(
      "videotestsrc num-buffers=200 ! video/x-raw,width=160,height=120 ! cclabel output=none ! "
      "regionoverlay ! fakesink");
  for (const GstState state : {GST_STATE_PLAYING, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_NULL,
                               GST_STATE_PLAYING, GST_STATE_NULL}) {
    ASSERT_NE(gst_element_set_state(pipeline.get(), state), GST_STATE_CHANGE_FAILURE);
    ASSERT_NE(gst_element_get_state(pipeline.get(), nullptr, nullptr, 20 * GST_SECOND),
              GST_STATE_CHANGE_FAILURE);
  }
}

TEST(Flow, SeekWhilePlaying) {
  start_gstreamer();
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=2000 ! video/x-raw,width=160,height=120,framerate=100/1 ! "
      "cclabel frames-in-flight=4 ! fakesink name=sink",
      nullptr);
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  gst_element_get_state(pipeline, nullptr, nullptr, 20 * GST_SECOND);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                        static_cast<gint64>(i) * GST_SECOND));
    gst_element_set_state(pipeline, i % 2 ? GST_STATE_PAUSED : GST_STATE_PLAYING);
    ASSERT_NE(gst_element_get_state(pipeline, nullptr, nullptr, 20 * GST_SECOND),
              GST_STATE_CHANGE_FAILURE);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

TEST(Flow, DownstreamErrorReachesUpstream) {
  Harness h("cclabel output=none ! identity error-after=2");
  h.video("GRAY8", kWidth, kHeight);
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 0; i < 50 && flow == GST_FLOW_OK; ++i) flow = h.push(gray_with_square(), i);
  EXPECT_EQ(flow, GST_FLOW_ERROR);
}

TEST(Flow, StatsCountEveryFrameOnce) {
  Harness h("cclabel output=none frames-in-flight=2");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(h.pull());
  // Downstream got the last frame 10 s late: what comes next is left out, and said to be.
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 0.5, 10 * static_cast<gint64>(GST_SECOND),
                                 80 * GST_MSECOND));
  ASSERT_EQ(h.push(gray_with_square(), 3), GST_FLOW_OK);
  ASSERT_EQ(h.push(gray_with_square(), 1000), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  EXPECT_EQ(stat(h, "frames-in"), 4u);
  EXPECT_EQ(stat(h, "frames-out"), 4u);
  EXPECT_EQ(stat(h, "frames-late"), 1u);
  EXPECT_EQ(stat(h, "frames-dropped"), 0u);
  EXPECT_GT(stat(h, "latency"), 0u);
  EXPECT_TRUE(h.message(GST_MESSAGE_QOS));
}

TEST(Flow, SegmentsInBytesHaveNoTimes) {
  start_gstreamer();
  GstHarness* h = gst_harness_new_parse("cclabel output=none post-messages=true");
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(h->element, bus);
  gst_harness_play(h);
  GstCaps* caps =
      gst_caps_from_string("video/x-raw,format=GRAY8,width=64,height=48,framerate=25/1");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  gst_pad_push_event(h->srcpad, gst_event_new_stream_start("bytes"));
  gst_pad_push_event(h->srcpad, gst_event_new_caps(caps));
  gst_pad_push_event(h->srcpad, gst_event_new_segment(&segment));
  gst_caps_unref(caps);
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
  guint64 time = 0;
  for (const char* name : {"stream-time", "running-time"}) {
    ASSERT_TRUE(gst_structure_get_uint64(gst_message_get_structure(message.get()), name, &time));
    EXPECT_EQ(time, GST_CLOCK_TIME_NONE) << name;
  }
  gst_element_set_bus(h->element, nullptr);
  gst_object_unref(bus);
  gst_harness_teardown(h);
}

}  // namespace
}  // namespace regions::test
