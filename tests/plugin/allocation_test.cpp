// What elements answer to allocation queries besides how many buffers they hold: how rows may lie,
// and on a device the memory that copies to it are fast from.
#include "tests/plugin/elements.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

struct Unquery {
  void operator()(GstQuery* q) const { gst_query_unref(q); }
};
using QueryPtr = std::unique_ptr<GstQuery, Unquery>;

// Downstream takes rows at any distance, or offers so many buffers.
struct Downstream {
  bool rows_free = false;
  guint min = 0;
};

void answer_below(Harness& h, const Downstream& downstream) {
  gst_pad_add_probe(
      h.get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
        if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
        const auto& below = *static_cast<const Downstream*>(data);
        if (below.rows_free) {
          gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
        }
        if (below.min > 0) {
          gst_query_add_allocation_pool(query, nullptr, kWidth * kHeight, below.min, 0);
        }
        return GST_PAD_PROBE_HANDLED;
      },
      const_cast<Downstream*>(&downstream), nullptr);
}

QueryPtr asked(Harness& h) {
  GstCaps* caps = gst_pad_get_current_caps(h.get()->srcpad);
  QueryPtr query(gst_query_new_allocation(caps, TRUE));
  gst_caps_unref(caps);
  EXPECT_TRUE(gst_pad_peer_query(h.get()->srcpad, query.get()));
  return query;
}

int video_metas(GstQuery* query) {
  int count = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_metas(query); ++i) {
    count += gst_query_parse_nth_allocation_meta(query, i, nullptr) == GST_VIDEO_META_API_TYPE;
  }
  return count;
}

// Rows may lie anywhere, but where the picture goes on they must suit downstream, too.
TEST(Allocation, RowsAreFreeWhereDownstreamLeavesThem) {
  for (const std::string& line :
       with_all_elements({"cclabel output=none", "cclabel output=overlay", "cclabel output=labels",
                          "graphcutbg output=mask", "slicsuperpixel output=mean"})) {
    for (const bool rows_free : {false, true}) {
      const Downstream downstream = {rows_free, 0};
      Harness h(line);
      answer_below(h, downstream);
      h.video("GRAY8", kWidth, kHeight);
      ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
      const std::string text = line;
      const bool replaced = text.find("labels") != text.npos || text.find("mask") != text.npos;
      EXPECT_EQ(video_metas(asked(h).get()), replaced || rows_free ? 1 : 0)
          << line << (rows_free ? ", free below" : "");
    }
  }
}

TEST(Allocation, OnADeviceUpstreamGetsPinnedMemory) {
  if (!have_cuda()) GTEST_SKIP() << "no CUDA device here";
  for (const char* output : {"none", "overlay", "labels"}) {
    for (const guint min : {0u, 3u}) {
      const Downstream downstream = {false, min};
      Harness h(std::string("cclabel device=cuda frames-in-flight=3 output=") + output);
      answer_below(h, downstream);
      h.video("GRAY8", kWidth, kHeight);
      const QueryPtr query = asked(h);
      ASSERT_EQ(gst_query_get_n_allocation_pools(query.get()), 1u);
      GstBufferPool* pool = nullptr;
      guint bytes = 0, least = 0, most = 9;
      gst_query_parse_nth_allocation_pool(query.get(), 0, &pool, &bytes, &least, &most);
      ASSERT_TRUE(pool) << output;
      const bool goes_on = std::string(output) != "labels";
      EXPECT_EQ(bytes, guint{kWidth * kHeight}) << output;
      EXPECT_EQ(least, 4 + (goes_on ? min : 0)) << output;
      EXPECT_EQ(most, 0u) << output;
      GstStructure* config = gst_buffer_pool_get_config(pool);
      GstCaps *caps = nullptr, *of_frames = gst_pad_get_current_caps(h.get()->srcpad);
      guint size = 0, fewest = 0;
      GstAllocator* allocator = nullptr;
      gst_buffer_pool_config_get_params(config, &caps, &size, &fewest, &most);
      gst_buffer_pool_config_get_allocator(config, &allocator, nullptr);
      EXPECT_TRUE(gst_caps_is_equal(caps, of_frames));
      EXPECT_EQ(size, bytes);
      EXPECT_EQ(fewest, least);
      EXPECT_EQ(most, 0u);
      EXPECT_STREQ(allocator->mem_type, "RegionsPinnedMemory");
      gst_structure_free(config);
      gst_caps_unref(of_frames);
      ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
      GstBuffer* buffer = nullptr;
      ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
      EXPECT_EQ(gst_buffer_get_size(buffer), bytes);
      gst_buffer_fill(buffer, 0, gray_with_square().data(), bytes);
      ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out);
      EXPECT_EQ(region_field(regions_of(out.get()), 0, "area"), "320");
      gst_buffer_pool_set_active(pool, FALSE);
      gst_object_unref(pool);
    }
  }
}

TEST(Allocation, OnADeviceReplacedPicturesArePinned) {
  if (!have_cuda()) GTEST_SKIP() << "no CUDA device here";
  for (const char* output : {"labels", "mask", "colors", "none", "overlay"}) {
    Harness h(std::string("cclabel device=cuda output=") + output);
    h.video("GRAY8", kWidth, kHeight);
    ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    const bool goes_on = out && (output[0] == 'n' || output[0] == 'o');
    EXPECT_EQ(
        gst_memory_is_type(gst_buffer_peek_memory(out.get(), 0), "RegionsPinnedMemory") == TRUE,
        !goes_on)
        << output;
  }
}

}  // namespace
}  // namespace regions::test
