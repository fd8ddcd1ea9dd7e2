// Events and queries beside frames: which wait for the frames before them, which end a volume, and
// what reaches the neighbours.
#include <algorithm>

#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

struct Case {
  const char* name;
  GstEvent* (*make)();
  bool passes;  // frames that a volume waits with
};

GstEvent* custom(GstEventType type) {
  return gst_event_new_custom(type, gst_structure_new_empty("something"));
}

const Case kEvents[] = {
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
    {"end", [] { return gst_event_new_eos(); }, false},
    {"out of order", [] { return custom(GST_EVENT_CUSTOM_DOWNSTREAM_OOB); }, true},
};

TEST(Events, EndAVolumeOrPassIt) {
  for (const Case& c : kEvents) {
    Harness h("cclabel output=none depth=4 connectivity=26");
    h.video("GRAY8", kWidth, kHeight);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    EXPECT_EQ(h.waiting(), 0u);
    GstEvent* event = c.make();
    const GstEventType type = GST_EVENT_TYPE(event);
    const guint events = gst_harness_events_received(h.get());
    gst_harness_push_event(h.get(), event);
    EXPECT_EQ(h.waiting(), c.passes ? 0u : 2u) << c.name;
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
    EXPECT_EQ(slices, c.passes ? 4 : 2) << c.name;
  }
}

// Of single frames every event waits for all before it.
TEST(Events, StayBehindTheirFrames) {
  for (const Case& c : kEvents) {
    if (std::string(c.name) == "out of order") continue;
    Harness h("cclabel output=none frames-in-flight=8");
    h.video("GRAY8", kWidth, kHeight);
    for (int i = 0; i < 6; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    gst_harness_push_event(h.get(), c.make());
    EXPECT_EQ(h.waiting(), 6u) << c.name;
  }
}

TEST(Events, ADrainQueryEndsAVolume) {
  Harness h("cclabel output=none depth=4 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
  GstQuery* query = gst_query_new_drain();
  gst_pad_peer_query(h.get()->srcpad, query);
  gst_query_unref(query);
  EXPECT_EQ(h.waiting(), 3u);
}

// Upstream hears of late frames once, as downstream told.
TEST(Events, QosGoesUpstream) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  while (GstEvent* event = gst_harness_try_pull_upstream_event(h.get())) gst_event_unref(event);
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, GST_SECOND));
  GstEvent* event = gst_harness_try_pull_upstream_event(h.get());
  ASSERT_TRUE(event);
  EXPECT_EQ(GST_EVENT_TYPE(event), GST_EVENT_QOS);
  GstClockTime time = 0;
  GstClockTimeDiff late = 0;
  gst_event_parse_qos(event, nullptr, nullptr, &late, &time);
  EXPECT_EQ(time, GST_SECOND);
  EXPECT_EQ(late, GstClockTimeDiff{GST_SECOND});
  gst_event_unref(event);
  EXPECT_FALSE(gst_harness_try_pull_upstream_event(h.get()));
}

// ---- volumes that are left out

void call_late(Harness& h, int until) {
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1, 0,
                                 static_cast<GstClockTime>(until) * 40 * GST_MSECOND));
}

// Frames 0 and 1 are, of a volume of four; what ends a volume ends that, too, and the next frame is
// in time.
TEST(LeftOut, VolumesEndAsOthersDo) {
  for (const char* end : {"caps", "segment", "flush", "jump"}) {
    Harness h("cclabel output=none depth=4 connectivity=26");
    h.video("GRAY8", kWidth, kHeight);
    call_late(h, 0);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    int first = 2;
    if (std::string(end) == "caps") h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
    if (std::string(end) == "segment") {
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
    }
    if (std::string(end) == "flush") h.flush();
    if (std::string(end) == "jump") first = 1000;
    for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), first + i), GST_FLOW_OK);
    h.eos();
    EXPECT_EQ(h.waiting(), 3u) << end;
    EXPECT_EQ(stat(h, "frames-late"), 2u) << end;
  }
}

// ---- metas

// What describes the bytes of a picture goes where these go.
TEST(Metas, OfABuffersBytesStayWithThem) {
  for (const char* output : {"none", "overlay", "labels", "mask", "colors"}) {
    Harness h(std::string("cclabel output=") + output);
    h.video("RGB", kWidth, kHeight);
    GstBuffer* in = Harness::buffer(std::vector<uint8_t>(kWidth * kHeight * 3, 200));
    gst_buffer_add_video_meta(in, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_RGB, kWidth, kHeight);
    ASSERT_EQ(gst_harness_push(h.get(), in), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const GstVideoMeta* meta = gst_buffer_get_video_meta(out.get());
    const bool stays = std::string(output) == "none" || std::string(output) == "overlay";
    if (stays) {
      ASSERT_TRUE(meta) << output;
    }
    if (meta) {
      EXPECT_EQ(meta->format == GST_VIDEO_FORMAT_RGB, stays) << output;
    }
  }
}

}  // namespace
}  // namespace regions::test
