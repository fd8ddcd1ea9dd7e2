// Messages of the debug category `regions`.
#include "tests/plugin/log.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

// A frame that leaves, a frame that a flush drops, a late frame, and a frame whose time jumps.
void run_short_stream() {
  Harness h("cclabel output=none device=cpu depth=2 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(h.pull());
  EXPECT_EQ(h.push(gray_with_square(2), 2), GST_FLOW_OK);
  h.flush();
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5, 40 * GST_MSECOND, 80 * GST_MSECOND));
  EXPECT_EQ(h.push(gray_with_square(3), 3), GST_FLOW_OK);
  EXPECT_EQ(h.push(gray_with_square(4), 4), GST_FLOW_OK);
  EXPECT_EQ(h.push(gray_with_square(1000), 1000), GST_FLOW_OK);
  EXPECT_EQ(h.push({}, 1001), GST_FLOW_OK);
  h.eos();
}

TEST(Debug, TheCategoryTellsWhatHappens) {
  const Log log(GST_LEVEL_LOG);
  run_short_stream();
  for (const char* line :
       {"caps in video/x-raw", "all goes on with these caps", "runs on cpu", "pool for label maps",
        "latency is now", "frames dropped by a flush, a stop or an error: 1",
        "left out: too late (QoS)", "a new scene begins: flushed",
        "a new scene begins: time jumps to 0:00:40.000000000", "of 0 bytes holds no picture",
        "frame at 0:00:00.000000000: 1 regions, worked on for 0:00:0"}) {
    EXPECT_TRUE(log.has(line)) << line << "\nnot in\n" << testing::PrintToString(log.all());
  }
  EXPECT_EQ(log.strays(), std::vector<std::string>());
}

TEST(Debug, PoolsAreToldOfWithTheirSizes) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=labels device=cpu frames-in-flight=3");
  gst_pad_add_probe(
      h.get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer) {
        GstQuery* asked = GST_PAD_PROBE_INFO_QUERY(info);
        if (GST_QUERY_TYPE(asked) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
        gst_query_add_allocation_pool(asked, nullptr, 2 * kWidth * kHeight, 2, 0);
        return GST_PAD_PROBE_HANDLED;
      },
      nullptr, nullptr);
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
  EXPECT_TRUE(h.pull());
  GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  EXPECT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
  gst_query_unref(query);
  gst_caps_unref(caps);
  for (const char* line : {"proposes pool", "of 3072 bytes a buffer, at least 4 held here and 0",
                           "pool of the output", "of 6144 bytes, "}) {
    EXPECT_TRUE(log.has(line)) << line << "\nnot in\n" << testing::PrintToString(log.all());
  }
  EXPECT_EQ(log.strays(), std::vector<std::string>());
}

TEST(Debug, TheCategoryIsDescribed) {
  start_gstreamer();
  gst_object_unref(gst_element_factory_make("cclabel", nullptr));
  GstDebugCategory* category = _gst_debug_get_category("regions");
  ASSERT_TRUE(category);
  EXPECT_STREQ(gst_debug_category_get_description(category), "gst-regions elements");
}

// GStreamer reports that a pool has no memory, but not the reason.
TEST(Debug, WhyMemoryLacksIsToldOf) {
  const Log log(GST_LEVEL_ERROR);
  for (int n = 1; n < 40; ++n) {
    g_setenv("REGIONS_FAULTS", ("allocation=" + std::to_string(n)).c_str(), TRUE);
    Harness h("cclabel output=none frames-in-flight=1");
    h.video("GRAY8", kWidth, kHeight);
    h.push(gray_with_square());
    g_unsetenv("REGIONS_FAULTS");
  }
  EXPECT_TRUE(log.has("injected failure")) << testing::PrintToString(log.all());
  const Harness works("cclabel");
}

TEST(Debug, PoolsOfOthersAreToldOf) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=none frames-in-flight=1 depth=3 connectivity=6");
  GstBufferPool* pool = gst_buffer_pool_new();
  gst_pad_add_probe(
      h.get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer offered) {
        GstQuery* asked = GST_PAD_PROBE_INFO_QUERY(info);
        if (GST_QUERY_TYPE(asked) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
        gst_query_add_allocation_pool(asked, GST_BUFFER_POOL(offered), kWidth * kHeight, 2, 0);
        return GST_PAD_PROBE_HANDLED;
      },
      pool, nullptr);
  h.video("GRAY8", kWidth, kHeight);
  GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  EXPECT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
  gst_query_unref(query);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, kWidth * kHeight, 1, 1);
  gst_caps_unref(caps);
  gst_buffer_pool_set_config(pool, config);
  gst_buffer_pool_set_active(pool, TRUE);
  GstBuffer* frame = nullptr;
  EXPECT_EQ(gst_buffer_pool_acquire_buffer(pool, &frame, nullptr), GST_FLOW_OK);
  GST_BUFFER_PTS(frame) = 40 * GST_MSECOND;
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
  for (const char* line : {"passes on the pool of downstream, with 4 buffers more",
                           "frame at 0:00:00.040000000 is copied: its pool is short"}) {
    EXPECT_TRUE(log.has(line)) << line << "\nnot in\n" << testing::PrintToString(log.all());
  }
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

TEST(Debug, ChangesAreToldOf) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=none frames-in-flight=3 width=40 process-scale=0.5");
  h.video("GRAY8", kWidth, kHeight);
  const auto after = [&](const char* property, const char* value, const char* says) {
    if (property) gst_util_set_object_arg(G_OBJECT(h.element()), property, value);
    EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
    EXPECT_TRUE(h.pull());
    EXPECT_TRUE(log.has(says)) << says << "\nnot in\n" << testing::PrintToString(log.all());
  };
  after(nullptr, nullptr, "starts with 3 frames in flight, 1 at once, pictures of 20x24");
  after("left", "8", "a new scene begins: the rectangle moved");
  after("width", "48", "restarts: another size of the rectangle");
  after("output", "mask", "goes on with caps out video/x-raw");
  EXPECT_EQ(log.has("running on the CPU: no CUDA device"), !have_cuda());
  EXPECT_TRUE(log.has("pool for label maps: 3 of 12288 bytes"));
  EXPECT_EQ(log.strays(), std::vector<std::string>());
}

TEST(Debug, FramesAreToldOfOnlyByLog) {
  const Log log(GST_LEVEL_DEBUG);
  run_short_stream();
  EXPECT_TRUE(log.has("caps in video/x-raw"));
  EXPECT_FALSE(log.has("worked on for"));
}

}  // namespace
}  // namespace regions::test
