// The flow of buffers: all frames leave in order with their metadata, also around events, queries,
// state changes, seeks and frames without a whole picture.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "tests/plugin/error_details.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// ---- any number of frames in flight

class FramesInFlight : public ::testing::TestWithParam<int> {
 protected:
  std::string line(const std::string& more) const {
    return "cclabel frames-in-flight=" + std::to_string(GetParam()) + " " + more;
  }
};

TEST_P(FramesInFlight, SeveralFrames_LeaveInOrderWithTheirTimestamps) {
  GrayHarness h(line("output=labels"), "video/x-raw,format=GRAY16_LE");
  for (int i = 0; i < 40; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 40; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
    EXPECT_EQ(GST_BUFFER_DURATION(out.get()), time_of(1));
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), std::to_string(8 + i % 16));
  }
  EXPECT_EQ(h.waiting(), 0u);
}

TEST_P(FramesInFlight, EightFrames_WorkTimeInStatsIsAtMostEightTimesTheElapsedTime) {
  GrayHarness h(line("output=none"));
  EXPECT_EQ(stat(h, "work-time"), 0u);
  const gint64 begin = g_get_monotonic_time();
  for (int i = 0; i < 8; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(h.pull());
  const auto took = static_cast<guint64>(g_get_monotonic_time() - begin) * GST_USECOND;
  EXPECT_GT(stat(h, "work-time"), 8 * GST_USECOND);
  EXPECT_LT(stat(h, "work-time"), took * 8);
}

TEST_P(FramesInFlight, EachFrame_LeavesBeforeTheNextFrameArrives) {
  GrayHarness h(line("output=none"));
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
  }
}

TEST_P(FramesInFlight, DownstreamBlocks_ElementStillAcceptsAsManyFramesAsSlots) {
  GrayHarness h(line("output=none"));
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  const gulong probe = gst_pad_add_probe(
      pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      [](GstPad*, GstPadProbeInfo*, gpointer) { return GST_PAD_PROBE_OK; }, nullptr, nullptr);
  std::future<int> taken = std::async(std::launch::async, [&] {
    int count = 0;
    GstFlowReturn flow = GST_FLOW_OK;
    while (count < GetParam() && flow == GST_FLOW_OK) {
      GstBuffer* b = Harness::buffer(gray_with_square(count), count);
      // Sources mark their first buffer. The mark must not apply to later frames.
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

TEST_P(FramesInFlight, EosWhileFramesAreInFlight_LeavesAfterTheLastFrame) {
  GrayHarness h(line("output=none"));
  for (int i = 0; i < 3; ++i) h.push(gray_with_square(), i);
  h.eos();
  EXPECT_EQ(h.waiting(), 3u);
}

TEST_P(FramesInFlight, CapsChange_NoFrameIsLost) {
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

TEST_P(FramesInFlight, Flush_FramesAfterItLeaveAndStatsCountAllFrames) {
  GrayHarness h(line("output=none"));
  for (int i = 0; i < 4; ++i) h.push(gray_with_square(), i);
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_FLUSHING);
  h.flush();
  while (h.waiting() > 0) h.pull();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(h.push(gray_with_square(), 100 + i), GST_FLOW_OK);
  h.eos();
  ASSERT_EQ(h.waiting(), 4u);
  EXPECT_EQ(GST_BUFFER_PTS(h.pull().get()), 4 * GST_SECOND);
  EXPECT_EQ(stat(h, "frames-in"), 8u);
  EXPECT_EQ(stat(h, "frames-out") + stat(h, "frames-dropped"), 8u);
}

INSTANTIATE_TEST_SUITE_P(All, FramesInFlight, ::testing::Values(0, 1, 2, 3, 8));

// ---- one stream

TEST(StreamFlow, EosBeforeTheFirstFrame_NoFrameLeavesAndNoErrorIsPosted) {
  GrayHarness h("cclabel");
  h.eos();
  EXPECT_EQ(h.waiting(), 0u);
  EXPECT_FALSE(h.has_error());
}

TEST(StreamFlow, OutputNone_PassesTheSameMemory) {
  GrayHarness h("cclabel output=none");
  GstBuffer* in = Harness::buffer(gray_with_square());
  GstMemory* memory = gst_buffer_peek_memory(in, 0);
  gst_harness_push(h.get(), in);
  const BufferPtr out = h.pull();
  EXPECT_EQ(gst_buffer_peek_memory(out.get(), 0), memory);
  EXPECT_EQ(bytes_of(out.get()), gray_with_square());
}

TEST(StreamFlow, SharedInputBuffer_IsNotDrawnOn) {
  GrayHarness h("cclabel output=overlay");
  GstBuffer* in = Harness::buffer(gray_with_square());
  const BufferPtr kept(gst_buffer_ref(in));
  gst_harness_push(h.get(), in);
  const BufferPtr out = h.pull();
  EXPECT_EQ(bytes_of(kept.get()), gray_with_square());
  EXPECT_NE(bytes_of(out.get()), gray_with_square());
}

// Metas that describe the bytes of the input are kept only if the bytes are.
TEST(StreamFlow, EveryOutput_KeepsMetasAndFlags) {
  for (const char* output : {"none", "overlay", "labels", "mask", "colors"}) {
    Harness h(std::string("cclabel output=") + output);
    h.video("RGB", kWidth, kHeight);
    GstBuffer* in = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 3, 250));
    gst_buffer_add_video_region_of_interest_meta(in, "face", 1, 2, 3, 4);
    gst_buffer_add_video_meta(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, kWidth, kHeight);
    const CapsPtr reference(gst_caps_new_empty_simple("timestamp/x-test"));
    gst_buffer_add_reference_timestamp_meta(in, reference.get(), 77, GST_CLOCK_TIME_NONE);
    GST_BUFFER_FLAG_SET(in, GST_BUFFER_FLAG_CORRUPTED);
    GST_BUFFER_OFFSET(in) = 1234;
    gst_harness_push(h.get(), in);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << output;
    EXPECT_TRUE(gst_buffer_get_reference_timestamp_meta(out.get(), nullptr)) << output;
    EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_CORRUPTED)) << output;
    EXPECT_EQ(GST_BUFFER_OFFSET(out.get()), 1234u) << output;
    EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 2u)
        << output << ": the face and a white region";
    const GstVideoMeta* video = gst_buffer_get_video_meta(out.get());
    const bool keeps_bytes = output[0] == 'n' || output[0] == 'o';
    EXPECT_TRUE(video || !keeps_bytes) << output;
    EXPECT_TRUE(!video || (video->format == GST_VIDEO_FORMAT_RGB) == keeps_bytes) << output;
  }
}

TEST(StreamFlow, PropertiesSetByAnotherThread_NoFrameIsLost) {
  GrayHarness h("cclabel output=none frames-in-flight=3");
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (int i = 0; !stop; ++i) {
      g_object_set(h.element(), "threshold", (i % 10) / 10.0, "connectivity", i % 2 ? 4 : 8,
                   "min-area", static_cast<gint64>(i % 7), nullptr);
    }
  });
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
  }
  stop = true;
  changer.join();
  EXPECT_FALSE(h.has_error());
}

TEST(StreamFlow, PlayingReadyPausedNullRepeated_NoStateChangeFails) {
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

TEST(StreamFlow, TenSeeksWhilePlayingOrPaused_NoStateChangeFails) {
  const Pipeline pipeline(
      "videotestsrc num-buffers=2000 ! video/x-raw,width=160,height=120,framerate=100/1 ! "
      "cclabel frames-in-flight=4 ! fakesink");
  GstElement* element = pipeline.get();
  gst_element_set_state(element, GST_STATE_PAUSED);
  gst_element_get_state(element, nullptr, nullptr, 20 * GST_SECOND);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(gst_element_seek_simple(element, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                        static_cast<gint64>(i) * GST_SECOND));
    gst_element_set_state(element, i % 2 ? GST_STATE_PAUSED : GST_STATE_PLAYING);
    ASSERT_NE(gst_element_get_state(element, nullptr, nullptr, 20 * GST_SECOND),
              GST_STATE_CHANGE_FAILURE);
  }
}

TEST(StreamFlow, DownstreamError_ReachesUpstream) {
  GrayHarness h("cclabel output=none ! identity error-after=2");
  GstFlowReturn flow = GST_FLOW_OK;
  for (int i = 0; i < 50 && flow == GST_FLOW_OK; ++i) flow = h.push(gray_with_square(), i);
  EXPECT_EQ(flow, GST_FLOW_ERROR);
}

// After the end of the stream, downstream's refusals are reported as an error.
TEST(StreamFlow, DownstreamReturnsNotLinkedOrNotNegotiated_ErrorIsPostedAtTheEnd) {
  struct Refusal {
    GstFlowReturn flow;
    int code;  // of the stream error at the end; 0: none
  };
  for (const auto& [flow, code] : {Refusal{GST_FLOW_NOT_LINKED, GST_STREAM_ERROR_FAILED},
                                   {GST_FLOW_NOT_NEGOTIATED, GST_STREAM_ERROR_FAILED},
                                   {GST_FLOW_EOS, 0},
                                   {GST_FLOW_ERROR, 0}}) {
    Harness h("cclabel output=none frames-in-flight=1");
    GstFlowReturn answer = flow;
    gst_pad_add_probe(
        h.get()->sinkpad, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo* info, gpointer data) {
          gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
          GST_PAD_PROBE_INFO_FLOW_RETURN(info) = *static_cast<GstFlowReturn*>(data);
          return GST_PAD_PROBE_HANDLED;
        },
        &answer, nullptr);
    h.video("GRAY8", kWidth, kHeight);
    EXPECT_EQ(h.push(gray_with_square(), 0), GST_FLOW_OK);
    h.eos();
    const ErrorDetails error = error_details(h.error_so_far());
    EXPECT_EQ(error.domain, code ? GST_STREAM_ERROR : 0u) << gst_flow_get_name(flow);
    EXPECT_EQ(error.code, code) << gst_flow_get_name(flow);
    EXPECT_EQ(h.push(gray_with_square(), 1), GST_FLOW_EOS) << "after the end";
  }
}

// ---- events

struct EventCase {
  const char* name;
  GstEvent* (*make)();
  bool overtakes;  // the frames that wait in an incomplete volume
};

GstEvent* custom(GstEventType type) {
  return gst_event_new_custom(type, gst_structure_new_empty("something"));
}

const EventCase kEvents[] = {
    {"tag", [] { return gst_event_new_tag(gst_tag_list_new_empty()); }, true},
    {"toc",
     [] {
       GstToc* toc = gst_toc_new(GST_TOC_SCOPE_GLOBAL);
       gst_toc_append_entry(toc, gst_toc_entry_new(GST_TOC_ENTRY_TYPE_TITLE, "one"));
       GstEvent* event = gst_event_new_toc(toc, FALSE);
       gst_toc_unref(toc);
       return event;
     },
     true},
    {"sink message",
     [] {
       GstMessage* message = gst_message_new_application(nullptr, gst_structure_new_empty("hello"));
       GstEvent* event = gst_event_new_sink_message("hello", message);
       gst_message_unref(message);
       return event;
     },
     true},
    {"custom", [] { return custom(GST_EVENT_CUSTOM_DOWNSTREAM); }, true},
    {"sticky custom", [] { return custom(GST_EVENT_CUSTOM_DOWNSTREAM_STICKY); }, false},
    {"gap", [] { return gst_event_new_gap(GST_SECOND, GST_SECOND); }, false},
    {"segment",
     [] {
       GstSegment segment;
       gst_segment_init(&segment, GST_FORMAT_TIME);
       segment.start = 1;
       return gst_event_new_segment(&segment);
     },
     false},
    {"eos", [] { return gst_event_new_eos(); }, false},
    {"out of band", [] { return custom(GST_EVENT_CUSTOM_DOWNSTREAM_OOB); }, true},
};

TEST(StreamEvents, EventDuringAVolume_TagsAndMessagesOvertakeTheVolumeAndGapSegmentEosPushItOut) {
  for (const EventCase& c : kEvents) {
    GrayHarness h("cclabel output=none depth=4 connectivity=26");
    for (int i = 0; i < 2; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    EXPECT_EQ(h.waiting(), 0u);
    GstEvent* event = c.make();
    const GstEventType type = GST_EVENT_TYPE(event);
    const guint events = gst_harness_events_received(h.get());
    gst_harness_push_event(h.get(), event);
    EXPECT_EQ(h.waiting(), c.overtakes ? 0u : 2u) << c.name;
    EXPECT_EQ(gst_harness_events_received(h.get()), events + 1) << c.name;
    while (GstEvent* received = gst_harness_try_pull_event(h.get())) {
      const bool is_last = gst_harness_events_in_queue(h.get()) == 0;
      if (is_last) {
        EXPECT_EQ(GST_EVENT_TYPE(received), type) << c.name;
      }
      gst_event_unref(received);
    }
    if (type == GST_EVENT_EOS) continue;
    for (int i = 2; i < 4; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    h.eos();
    EXPECT_EQ(h.waiting(), 4u) << c.name;
    gint slices = 0;
    gst_structure_get_int(regions_of(h.pull().get()), "slices", &slices);
    EXPECT_EQ(slices, c.overtakes ? 4 : 2) << c.name;
  }
}

TEST(StreamEvents, SerializedEventAfterSingleFrames_FollowsThemAll) {
  for (const EventCase& c : kEvents) {
    if (std::string(c.name) == "out of band") continue;
    GrayHarness h("cclabel output=none frames-in-flight=8");
    for (int i = 0; i < 6; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    gst_harness_push_event(h.get(), c.make());
    EXPECT_EQ(h.waiting(), 6u) << c.name;
  }
}

TEST(StreamEvents, DrainQuery_PushesAnIncompleteVolumeOut) {
  GrayHarness h("cclabel output=none depth=4 connectivity=26");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  const QueryPtr query(gst_query_new_drain());
  gst_pad_peer_query(h.get()->srcpad, query.get());
  EXPECT_EQ(h.waiting(), 3u);
}

// ---- frames with less than a picture: they pass in order, and the stream continues

GstBuffer* short_frame(int index, size_t bytes, guint flags = 0) {
  GstBuffer* b = Harness::buffer(std::vector<uint8_t>(bytes), index);
  if (bytes == 0) gst_buffer_remove_all_memory(b);
  GST_BUFFER_FLAG_SET(b, flags);
  return b;
}

void expect_whole(GstBuffer* out, int index) {
  ASSERT_TRUE(out);
  EXPECT_EQ(GST_BUFFER_PTS(out), time_of(index));
  EXPECT_FALSE(GST_BUFFER_FLAG_IS_SET(out, GST_BUFFER_FLAG_GAP));
  ASSERT_TRUE(regions_of(out));
  EXPECT_EQ(region_count(regions_of(out)), 1u);
}

class ShortFrame : public ::testing::TestWithParam<const char*> {};

TEST_P(ShortFrame, OutputKeepsThePicture_ShortFramePassesUnchanged) {
  for (const char* output : {"none", "overlay"}) {
    GrayHarness h(std::string(GetParam()) + " output=" + output);
    ASSERT_EQ(h.push(gray_with_square(), 0), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(h.get(), short_frame(1, 0, GST_BUFFER_FLAG_GAP)), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(h.get(), short_frame(2, 100)), GST_FLOW_OK);
    ASSERT_EQ(gst_harness_push(h.get(), short_frame(3, 0)), GST_FLOW_OK);
    ASSERT_EQ(h.push(gray_with_square(), 4), GST_FLOW_OK);
    h.eos();
    for (int i = 0; i < 5; ++i) {
      const BufferPtr out = h.pull();
      if (i == 0 || i == 4) {
        expect_whole(out.get(), i);
        continue;
      }
      ASSERT_TRUE(out);
      EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
      EXPECT_EQ(gst_buffer_get_size(out.get()), i == 2 ? 100u : 0u);
      EXPECT_EQ(bool(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP)), i == 1);
      EXPECT_FALSE(regions_of(out.get()));
    }
    EXPECT_EQ(h.waiting(), 0u);
    EXPECT_EQ(stat(h, "frames-in"), 5u);
    EXPECT_EQ(stat(h, "frames-out"), 5u);
    EXPECT_PRED2(contains, error_details(h.message(GST_MESSAGE_WARNING)).text, "100 bytes");
    EXPECT_FALSE(h.has_warning()) << "one warning per stream";
    EXPECT_FALSE(h.has_error());
  }
}

TEST_P(ShortFrame, OutputReplacesThePicture_ShortFrameBecomesAZeroPictureMarkedAsGap) {
  for (const char* output : {"labels", "mask", "colors"}) {
    GrayHarness h(std::string(GetParam()) + " output=" + output);
    for (int i = 0; i < 4; ++i) {
      GstBuffer* in = i % 2 ? short_frame(i, i == 1 ? 0 : 100, i == 1 ? GST_BUFFER_FLAG_GAP : 0)
                            : Harness::buffer(gray_with_square(), i);
      ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
    }
    h.eos();
    size_t bytes = 0;
    for (int i = 0; i < 4; ++i) {
      const BufferPtr out = h.pull();
      if (i % 2 == 0) {
        expect_whole(out.get(), i);
        bytes = gst_buffer_get_size(out.get());
        continue;
      }
      ASSERT_TRUE(out);
      EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP)) << output;
      EXPECT_EQ(bytes_of(out.get()), std::vector<uint8_t>(bytes)) << output;
      EXPECT_FALSE(regions_of(out.get()));
    }
    EXPECT_FALSE(h.has_error());
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShortFrame,
                         ::testing::Values("cclabel", "cclabel frames-in-flight=1",
                                           "cclabel width=40"));

TEST(ShortFrame, FrameOfAVolume_EndsTheVolume) {
  GrayHarness h("cclabel output=labels depth=3 connectivity=6", "video/x-raw,format=GRAY16_LE");
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(
        i == 2 ? gst_harness_push(h.get(), short_frame(i, 100)) : h.push(gray_with_square(), i),
        GST_FLOW_OK);
  }
  h.eos();
  const int slices[] = {2, 2, 0, 3, 3, 3, 2, 2};
  for (int i = 0; i < 8; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
    int found = 0;
    if (regions_of(out.get())) gst_structure_get_int(regions_of(out.get()), "slices", &found);
    EXPECT_EQ(found, slices[i]) << "frame " << i;
  }
  EXPECT_FALSE(h.has_error());
}

TEST(ShortFrame, TooFewBytesForItsVideoMeta_PassesWithoutRegionsAndWarns) {
  GrayHarness h("cclabel output=none");
  GstBuffer* in = short_frame(0, 100);
  gst_buffer_add_video_meta(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out);
  EXPECT_FALSE(regions_of(out.get()));
  EXPECT_TRUE(h.has_warning());
}

// Rows with a GstVideoMeta may be closer together than in the default layout.
TEST(UnpaddedRows, UnpaddedFrame_IsReadIfWholeAndPassesWithAWarningIfOneByteIsMissing) {
  struct Case {
    const char* format;
    std::vector<int> rows;    // bytes per row of each plane
    std::vector<int> counts;  // rows of each plane
  };
  for (const Case& c : {Case{"GRAY8", {41}, {30}},
                        {"RGB", {41 * 3}, {30}},
                        {"NV12", {41, 42}, {30, 15}},
                        {"I420", {41, 21, 21}, {30, 15, 15}},
                        {"YUY2", {84}, {30}}}) {
    gsize offset[GST_VIDEO_MAX_PLANES] = {}, bytes = 0;
    gint stride[GST_VIDEO_MAX_PLANES] = {};
    for (size_t p = 0; p < c.rows.size(); ++p) {
      offset[p] = bytes;
      stride[p] = c.rows[p];
      bytes += static_cast<gsize>(c.rows[p] * c.counts[p]);
    }
    for (const int lacking : {0, 1}) {
      Harness h("cclabel output=none threshold=0");
      h.video(c.format, 41, 30);
      GstBuffer* in =
          Harness::buffer(std::vector<uint8_t>(bytes - static_cast<size_t>(lacking), 130));
      gst_buffer_add_video_meta_full(in, GST_VIDEO_FRAME_FLAG_NONE,
                                     gst_video_format_from_string(c.format), 41, 30,
                                     static_cast<guint>(c.rows.size()), offset, stride);
      ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK) << c.format << h.error_text();
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << c.format << h.error_text();
      EXPECT_EQ(regions_of(out.get()) != nullptr, lacking == 0) << c.format;
      EXPECT_EQ(h.has_warning(), lacking == 1) << c.format;
      if (lacking == 0) {
        EXPECT_EQ(region_field(regions_of(out.get()), 0, "area"), "1230") << c.format;
      }
    }
  }
}

}  // namespace
}  // namespace regions::test
