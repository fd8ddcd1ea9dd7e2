// Buffer pools that are small: elements announce how many frames they hold, and nothing stands
// still where a pool has fewer.
#include <future>
#include <thread>

#include "tests/plugin/harness.hpp"

namespace regions::test {
namespace {

constexpr int kWidth = 64, kHeight = 48;
constexpr guint kBytes = kWidth * kHeight;

struct Pool {
  guint min = 0, max = 0;
  bool is_offered = false;  // or only counted
};

GstBufferPool* make_pool(GstCaps* caps, guint bytes, guint min, guint max) {
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, bytes, min, max);
  EXPECT_TRUE(gst_buffer_pool_set_config(pool, config));
  return pool;
}

// The pad answers allocation queries with this pool from now on.
void offer(GstPad* pad, const Pool& offered) {
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
        if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
        const auto& answer = *static_cast<const Pool*>(data);
        GstCaps* caps = nullptr;
        gst_query_parse_allocation(query, &caps, nullptr);
        GstVideoInfo video;
        EXPECT_TRUE(gst_video_info_from_caps(&video, caps));
        const auto bytes = static_cast<guint>(GST_VIDEO_INFO_SIZE(&video));
        GstBufferPool* pool =
            answer.is_offered ? make_pool(caps, bytes, answer.min, answer.max) : nullptr;
        gst_query_add_allocation_pool(query, pool, bytes, answer.min, answer.max);
        gst_clear_object(&pool);
        return GST_PAD_PROBE_HANDLED;
      },
      new Pool(offered), [](gpointer data) { delete static_cast<Pool*>(data); });
}

// What the element answers upstream; all 0 if it names no pool.
Pool answer_of(Harness& h) {
  GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  EXPECT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
  Pool answer;
  if (gst_query_get_n_allocation_pools(query) > 0) {
    GstBufferPool* pool = nullptr;
    guint bytes = 0;
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &bytes, &answer.min, &answer.max);
    EXPECT_EQ(bytes, kBytes);
    answer.is_offered = pool != nullptr;
    gst_clear_object(&pool);
  }
  gst_query_unref(query);
  gst_caps_unref(caps);
  return answer;
}

// What the element announces above a downstream that answers so.
Pool announced(const std::string& line, const Pool& downstream) {
  Harness h(line);
  if (downstream.min > 0) offer(h.get()->sinkpad, downstream);
  h.video("GRAY8", kWidth, kHeight);
  return answer_of(h);
}

TEST(Pools, HeldFramesAreAnnounced) {
  EXPECT_EQ(announced("cclabel output=none frames-in-flight=3", {}).min, 4u);
  EXPECT_EQ(announced("cclabel output=overlay frames-in-flight=3", {}).min, 4u);
  EXPECT_EQ(announced("cclabel output=labels frames-in-flight=3", {}).min, 4u);
  EXPECT_EQ(announced("regionoverlay frames-in-flight=5", {}).min, 6u);
  const std::string volumes = "cclabel depth=8 connectivity=26 frames-in-flight=2 output=";
  EXPECT_EQ(announced(volumes + "none", {}).min, 17u);
  EXPECT_EQ(announced(volumes + "labels", {}).min, 17u);
}

TEST(Pools, DownstreamsNeedsAreAdded) {
  for (const bool is_offered : {false, true}) {
    const Pool unbounded = {3, 0, is_offered};
    for (const char* output : {"none", "overlay"}) {
      const Pool answer =
          announced(std::string("cclabel frames-in-flight=3 output=") + output, unbounded);
      EXPECT_EQ(answer.min, 7u) << output;
      EXPECT_EQ(answer.max, 0u) << output;
    }
    // What is replaced does not go on.
    EXPECT_EQ(announced("cclabel output=mask frames-in-flight=3", unbounded).min, 4u);
  }
}

TEST(Pools, APoolThatIsLargeEnoughPassesUpstream) {
  const Pool answer = announced("cclabel output=none frames-in-flight=3", {2, 6, true});
  EXPECT_TRUE(answer.is_offered);
  EXPECT_EQ(answer.min, 6u);
  EXPECT_EQ(answer.max, 6u);
}

// Frames leave without later ones, if fewer at once.
TEST(Pools, ASmallPoolPassesUpstreamWhole) {
  const Pool answer = announced("cclabel output=none frames-in-flight=3", {2, 5, true});
  EXPECT_TRUE(answer.is_offered);
  EXPECT_EQ(answer.min, 5u);
  EXPECT_EQ(answer.max, 5u);
}

TEST(Pools, APoolThatCannotHoldAVolumeIsNotOffered) {
  const std::string line = "cclabel output=none depth=4 connectivity=6 frames-in-flight=1";
  EXPECT_TRUE(announced(line, {2, 7, true}).is_offered);
  const Pool answer = announced(line, {2, 6, true});
  EXPECT_TRUE(!answer.is_offered || have_cuda());
  EXPECT_EQ(answer.min, 7u);
  EXPECT_EQ(answer.max, 0u);
}

// ---- pipelines

// Whether `work` ends; if not, its thread is left behind.
template <class Work>
bool ends(Work work) {
  std::promise<void> ended;
  std::future<void> end = ended.get_future();
  std::thread([work, ended = std::move(ended)]() mutable {
    work();
    ended.set_value();
  }).detach();
  return end.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
}

// A pipeline whose last element, `sink`, offers four buffers and no more.
GstElement* pipeline_before_four_buffers(const std::string& line) {
  start_gstreamer();
  GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
  EXPECT_TRUE(pipeline) << line;
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
  GstPad* pad = gst_element_get_static_pad(sink, "sink");
  offer(pad, {4, 4, true});
  gst_object_unref(pad);
  gst_object_unref(sink);
  return pipeline;
}

class FourBuffers : public ::testing::TestWithParam<const char*> {
 protected:
  std::string line(int frames) const {
    return "videotestsrc num-buffers=" + std::to_string(frames) +
           " ! video/x-raw,format=GRAY8,width=64,height=48 ! " + GetParam() +
           " ! fakesink name=sink sync=false";
  }
};

TEST_P(FourBuffers, EndsOfStreamArrive) {
  GstElement* pipeline = pipeline_before_four_buffers(line(20));
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  const MessagePtr message(gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  gst_object_unref(bus);
  ASSERT_TRUE(message) << GetParam();  // stopping may hang, too
  EXPECT_EQ(GST_MESSAGE_TYPE(message.get()), GST_MESSAGE_EOS) << GetParam();
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

TEST_P(FourBuffers, SeeksAndStopsWhilePaused) {
  GstElement* pipeline = pipeline_before_four_buffers(line(-1));
  gst_element_set_state(pipeline, GST_STATE_PAUSED);
  ASSERT_EQ(gst_element_get_state(pipeline, nullptr, nullptr, 20 * GST_SECOND),
            GST_STATE_CHANGE_SUCCESS);
  ASSERT_TRUE(ends([pipeline] {
    for (int i = 0; i < 10; ++i) {
      gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, i * GST_SECOND);
      gst_element_get_state(pipeline, nullptr, nullptr, 20 * GST_SECOND);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
  })) << GetParam();
  gst_object_unref(pipeline);
}

INSTANTIATE_TEST_SUITE_P(
    Elements, FourBuffers,
    ::testing::Values(
        "cclabel output=none depth=8 connectivity=26", "cclabel output=mask depth=8 connectivity=6",
        "identity ! cclabel output=none depth=8 connectivity=26",
        "videoconvert ! video/x-raw,format=RGB ! cclabel output=none frames-in-flight=8",
        "cclabel output=none frames-in-flight=8", "cclabel output=overlay frames-in-flight=8",
        "cclabel output=mask frames-in-flight=8",
        "cclabel output=none frames-in-flight=4 ! regionoverlay frames-in-flight=4"));

// ---- sources that keep to their own pool, whatever is announced, as cameras do

struct OwnPool {
  explicit OwnPool(Harness& h, guint buffers) {
    GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
    pool = make_pool(caps, kBytes, buffers, buffers);
    gst_caps_unref(caps);
    EXPECT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  }
  ~OwnPool() {
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
  }
  // The next buffer, with the numbered picture; null where all are in use.
  GstBuffer* next(int index) const {
    GstBufferPoolAcquireParams params = {};
    params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
    GstBuffer* buffer = nullptr;
    if (gst_buffer_pool_acquire_buffer(pool, &buffer, &params) != GST_FLOW_OK) return nullptr;
    gst_buffer_memset(buffer, 0, static_cast<guint8>(index), kBytes);
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(index) * 40 * GST_MSECOND;
    return buffer;
  }
  GstBufferPool* pool = nullptr;
};

class OwnPools : public ::testing::TestWithParam<int> {};

TEST_P(OwnPools, AVolumeFillsFromAShortPool) {
  const int buffers = GetParam();
  for (const char* output : {"none", "mask"}) {
    Harness h(std::string("cclabel depth=8 connectivity=26 threshold=0 output=") + output);
    h.video("GRAY8", kWidth, kHeight);
    const OwnPool own(h, static_cast<guint>(buffers));
    for (int i = 0; i < 8; ++i) {
      GstBuffer* buffer = own.next(i);
      ASSERT_TRUE(buffer) << "no buffer left for frame " << i << " of " << buffers << " " << output;
      ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
    }
    for (int i = 0; i < 8; ++i) {
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << output;
      EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
      const bool is_mask = strcmp(output, "mask") == 0;
      EXPECT_EQ(bytes_of(out.get()),
                std::vector<uint8_t>(kBytes, static_cast<uint8_t>(is_mask ? 255 : i)))
          << output << " " << i;
    }
  }
}

// Also where the buffer itself is a shallow copy that keeps the pool's alive.
TEST_P(OwnPools, ASharedBufferCountsAsItsParent) {
  Harness h("cclabel depth=8 connectivity=26 output=none");
  h.video("GRAY8", kWidth, kHeight);
  const OwnPool own(h, static_cast<guint>(GetParam()));
  for (int i = 0; i < 8; ++i) {
    const BufferPtr buffer(own.next(i));
    ASSERT_TRUE(buffer) << i;
    GstBuffer* part = gst_buffer_copy(buffer.get());
    gst_buffer_add_parent_buffer_meta(part, buffer.get());
    ASSERT_EQ(gst_harness_push(h.get(), part), GST_FLOW_OK);
  }
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(h.pull());
}

INSTANTIATE_TEST_SUITE_P(Sizes, OwnPools, ::testing::Values(1, 2, 4, 8));

// Frames stay in their pool's memory as long as upstream has a buffer to fill and downstream what
// it needs besides.
TEST(Pools, FramesAreCopiedWherePoolsRunShort) {
  for (const guint needs : {0u, 1u, 3u}) {
    for (guint buffers = 1; buffers < 10; ++buffers) {
      Harness h("cclabel output=none depth=4 connectivity=26 frames-in-flight=1");
      if (needs > 0) offer(h.get()->sinkpad, {needs, 0, false});
      h.video("GRAY8", kWidth, kHeight);
      answer_of(h);
      const OwnPool own(h, buffers);
      std::vector<GstMemory*> memories;
      for (int i = 0; i < 4; ++i) {
        GstBuffer* buffer = own.next(i);
        ASSERT_TRUE(buffer) << "frame " << i << " of " << buffers;
        memories.push_back(gst_buffer_peek_memory(buffer, 0));
        gst_harness_push(h.get(), buffer);
      }
      const guint elsewhere = 1 + std::max(needs, 1u);
      for (guint i = 0; i < 4; ++i) {
        EXPECT_EQ(gst_buffer_peek_memory(h.pull().get(), 0) == memories[i], buffers > i + elsewhere)
            << "frame " << i << " of " << buffers << ", downstream needs " << needs;
      }
    }
  }
}

}  // namespace
}  // namespace regions::test
