// Messages of the debug category `regions`.
#include "tests/plugin/log.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

void expect_logged(const Log& log, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_TRUE(log.has(part)) << part << "\nis not in\n" << testing::PrintToString(log.all());
  }
  EXPECT_EQ(log.strays(), std::vector<std::string>()) << "messages without a category";
}

// A frame that leaves, a frame that a flush drops, a late frame, a jump and a frame without
// picture.
void run_short_stream() {
  GrayHarness h("cclabel output=none device=cpu depth=2 connectivity=26");
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

TEST(LogMessages, LevelLog_ContainsFramesCapsPoolsFlushesAndTimeJumps) {
  const Log log(GST_LEVEL_LOG);
  run_short_stream();
  expect_logged(
      log,
      {"caps in video/x-raw", "all goes on with these caps", "runs on cpu", "pool for label maps",
       "latency is now", "frames dropped by a flush, a stop or an error: 1",
       "left out: too late (QoS)", "a new scene begins: flushed",
       "a new scene begins: time jumps to 0:00:40.000000000", "of 0 bytes holds no picture",
       "frame at 0:00:00.000000000: 1 regions, worked on for 0:00:0"});
}

TEST(LogMessages, LevelDebug_ContainsCapsButNoSingleFrame) {
  const Log log(GST_LEVEL_DEBUG);
  run_short_stream();
  expect_logged(log, {"caps in video/x-raw"});
  EXPECT_FALSE(log.has("worked on for"));
}

TEST(LogMessages, LevelDebug_ContainsProposedAndOutputPoolsWithTheirSizes) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=labels device=cpu frames-in-flight=3");
  h.answer_allocation([](GstQuery* query) {
    gst_query_add_allocation_pool(query, nullptr, 2 * kWidth * kHeight, 2, 0);
  });
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
  EXPECT_TRUE(h.pull());
  h.allocation();
  expect_logged(log, {"proposes pool", "of 3072 bytes a buffer, at least 4 held here and 0",
                      "pool of the output", "of 6144 bytes, "});
}

TEST(LogMessages, LevelDebug_ContainsDownstreamPoolAndWhyAFrameIsCopied) {
  const Log log(GST_LEVEL_DEBUG);
  Harness h("cclabel output=none frames-in-flight=1 depth=3 connectivity=6");
  GstBufferPool* pool = gst_buffer_pool_new();
  h.answer_allocation([pool](GstQuery* query) {
    gst_query_add_allocation_pool(query, pool, kWidth * kHeight, 2, 0);
  });
  h.video("GRAY8", kWidth, kHeight);
  h.allocation();
  const CapsPtr caps(gst_pad_get_current_caps(h.get()->srcpad));
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps.get(), kWidth * kHeight, 1, 1);
  gst_buffer_pool_set_config(pool, config);
  gst_buffer_pool_set_active(pool, TRUE);
  GstBuffer* frame = nullptr;
  EXPECT_EQ(gst_buffer_pool_acquire_buffer(pool, &frame, nullptr), GST_FLOW_OK);
  GST_BUFFER_PTS(frame) = time_of(1);
  EXPECT_EQ(gst_harness_push(h.get(), frame), GST_FLOW_OK);
  expect_logged(log, {"passes on the pool of downstream, with 4 buffers more",
                      "frame at 0:00:00.040000000 is copied: its pool is short"});
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

// GStreamer reports that a pool has no memory, but not the reason.
TEST(LogMessages, LevelError_OutOfMemory_ContainsTheReason) {
  const Log log(GST_LEVEL_ERROR);
  for (int n = 1; n < 40; ++n) {
    const Fault fault("allocation=" + std::to_string(n));
    GrayHarness h("cclabel output=none frames-in-flight=1");
    h.push(gray_with_square());
  }
  EXPECT_TRUE(log.has("injected failure")) << testing::PrintToString(log.all());
  const Harness works("cclabel");  // removes the fault from this process
}

TEST(LogMessages, LevelDebug_ContainsTheEffectOfEachChangedSetting) {
  const Log log(GST_LEVEL_DEBUG);
  GrayHarness h("cclabel output=none frames-in-flight=3 width=40 process-scale=0.5");
  const auto push = [&] {
    EXPECT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
    EXPECT_TRUE(h.pull());
  };
  push();
  for (const auto& [property, value] :
       {std::pair{"left", "8"}, {"width", "48"}, {"output", "mask"}}) {
    h.set(property, value);
    push();
  }
  expect_logged(
      log, {"starts with 3 frames in flight, 1 at once, pictures of 20x24",
            "a new scene begins: the rectangle moved", "restarts: another size of the rectangle",
            "goes on with caps out video/x-raw", "pool for label maps: 3 of 12288 bytes"});
  EXPECT_EQ(log.has("running on the CPU: no CUDA device"), !have_cuda());
}

}  // namespace
}  // namespace regions::test
