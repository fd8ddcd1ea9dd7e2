// What elements do with streams, pools and caps by what the libgstcuda of the machine knows.
#include <algorithm>

#include "tests/plugin/fake_gpu/producer.hpp"

namespace regions::test {
namespace {

bool needs_sync(GstBuffer* buffer) {
  return GST_MEMORY_FLAG_IS_SET(gst_buffer_peek_memory(buffer, 0), kNeedSync);
}

GstBuffer* unfinished(const Producer& producer) {
  GstBuffer* buffer = producer.frame(0, squares(1));
  producer.begin_work(buffer);
  return buffer;
}

TEST(Streams, WorkBeginsBehindTheProducersAndNoHostWaits) {
  NEEDS_STREAMS();
  for (const char* line : {"cclabel output=none", "cclabel output=overlay",
                           "cclabel output=none ! cclabel output=none"}) {
    const Producer producer(0);
    Harness h(line);
    h.caps(kCudaCaps);
    GstBuffer* buffer = unfinished(producer);
    GstMapInfo map;
    const auto on_device = static_cast<GstMapFlags>(GST_MAP_READ | kMapCuda);
    ASSERT_TRUE(gst_buffer_map(buffer, &map, on_device));
    auto* data = const_cast<guint8*>(map.data);  // `map` says nothing any more once unmapped
    gst_buffer_unmap(buffer, &map);
    ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
    const auto late = squares(5);
    std::copy(late.begin(), late.end(), data);
    producer.stream().end();
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out) << h.error_text();
    EXPECT_EQ(total_of(out.get()), 5u) << line;
    EXPECT_EQ(producer.stream().followed, 1) << line;
    EXPECT_EQ(producer.stream().synced, 0) << line;
    EXPECT_FALSE(needs_sync(out.get())) << line << ": what is behind it would wait again";
  }
}

TEST(Streams, AnotherContextOfTheDeviceIsWaitedFor) {
  NEEDS_STREAMS();
  int other = 0;
  const Producer producer(0, &other);
  Harness h("cclabel output=none cuda-device-id=0");
  h.caps(kCudaCaps);
  GstBuffer* buffer = unfinished(producer);
  producer.stream().end();
  ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
  const BufferPtr out = h.pull();
  ASSERT_TRUE(out) << h.error_text();
  EXPECT_EQ(producer.stream().followed, 0);
  EXPECT_EQ(producer.stream().synced, 1);
}

TEST(Streams, PoolsForUpstreamCarryOneWhereTheLibraryKnowsThem) {
  NEEDS_LIBRARY();
  for (const bool replaces : {false, true}) {
    Harness h(std::string("cclabel output=") + (replaces ? "mask" : "overlay"));
    h.caps(kCudaCaps);
    const std::unique_ptr<GstCaps, Unref> caps(gst_caps_from_string(kCudaCaps));
    GstQuery* query = gst_query_new_allocation(caps.get(), TRUE);
    ASSERT_TRUE(gst_pad_peer_query(h.get()->srcpad, query));
    GstBufferPool* pool = nullptr;
    ASSERT_EQ(gst_query_get_n_allocation_pools(query), 1u);
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, nullptr, nullptr);
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gboolean ordered = FALSE;
    const bool says = gst_structure_get_boolean(config, "cuda-stream-ordered-alloc", &ordered);
    EXPECT_EQ(gst_structure_has_field(config, "cuda-stream"), library_is("streams"));
    EXPECT_EQ(says, library_is("streams"));
    EXPECT_EQ(ordered, says && replaces) << "encoders cannot take such memory";
    gst_structure_free(config);
    gst_object_unref(pool);
    gst_query_unref(query);
  }
}

TEST(Priority, IsThatOfQueuesAndAlgorithms) {
  for (const int priority : {3, 0, 5}) {
    Harness h("graphcutbg output=none priority=" + std::to_string(priority));
    h.video("RGBA", kWidth, kHeight);
    ASSERT_EQ(h.push(squares(1)), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
    EXPECT_EQ(fake::priorities().queue, priority);
    EXPECT_EQ(fake::priorities().algorithm, priority);
  }
}

TEST(PinnedRoom, IsThereBeforeTheCaps) {
  constexpr size_t kOfFrame = size_t{1} << 20;
  for (const char* name : {"cclabel", "slicsuperpixel", "regionoverlay"}) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    for (const int frames : {0, 1, 3}) {
      g_object_set(element, "frames-in-flight", frames, nullptr);
      ASSERT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
      EXPECT_EQ(fake::pinned_room(), static_cast<size_t>(std::max(frames, 1)) * kOfFrame) << name;
      gst_element_set_state(element, GST_STATE_NULL);
      EXPECT_EQ(fake::pinned_room(), 0u) << name;
    }
    gst_object_unref(element);
  }
}

TEST(Library, WithoutItNoCudaMemoryIsPromised) {
  Harness h("cclabel output=none");
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake");
  GstPad* pad = gst_element_get_static_pad(h.element(), "sink");
  const std::unique_ptr<GstCaps, Unref> caps(gst_pad_query_caps(pad, nullptr));
  const std::unique_ptr<GstCaps, Unref> cuda(gst_caps_from_string(kCudaCaps));
  EXPECT_EQ(gst_caps_can_intersect(caps.get(), cuda.get()), !library_is("empty"));
  gst_object_unref(pad);
  h.video("RGBA", kWidth, kHeight);
  ASSERT_EQ(h.push(squares(3)), GST_FLOW_OK);
  expect_frame(h, 0, 3);
}

}  // namespace
}  // namespace regions::test
