// Buffer memory: the answers to allocation queries, pools that are smaller than a stream needs, and
// that each mapped buffer is unmapped and released.
#include <future>
#include <thread>

#include "tests/plugin/counted_memory.hpp"
#include "tests/plugin/elements.hpp"
#include "tests/plugin/masked_frame.hpp"
#include "tests/plugin/moving_square.hpp"

namespace regions::test {
namespace {

constexpr guint kBytes = kWidth * kHeight;

// ---- answers to allocation queries

int video_metas(GstQuery* query) {
  int count = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_metas(query); ++i) {
    count += gst_query_parse_nth_allocation_meta(query, i, nullptr) == GST_VIDEO_META_API_TYPE;
  }
  return count;
}

// Pictures that pass must also suit downstream.
TEST(AllocationQuery, VideoMeta_IsOfferedUpstreamIfAcceptedDownstreamOrIfThePictureIsReplaced) {
  for (const std::string& line :
       with_all_elements({"cclabel output=none", "cclabel output=overlay", "cclabel output=labels",
                          "graphcutbg output=mask", "slicsuperpixel output=mean"})) {
    for (const bool accepted : {false, true}) {
      Harness h(line);
      h.answer_allocation([accepted](GstQuery* query) {
        if (accepted) gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
      });
      h.video("GRAY8", kWidth, kHeight);
      ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
      const bool replaced = contains(line, "labels") || contains(line, "mask");
      EXPECT_EQ(video_metas(h.allocation().get()), replaced || accepted ? 1 : 0)
          << line << ", accepted downstream: " << accepted;
    }
  }
}

GstBufferPool* make_pool(GstCaps* caps, guint bytes, guint min, guint max) {
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, bytes, min, max);
  EXPECT_TRUE(gst_buffer_pool_set_config(pool, config));
  return pool;
}

struct Pool {
  guint min = 0, max = 0;
  bool is_offered = false;  // or only its size is announced
};

// The pad answers allocation queries with this pool from now on.
void offer(GstPad* pad, const Pool& offered) {
  Harness::answer_allocation(pad, [offered](GstQuery* query) {
    GstCaps* caps = nullptr;
    gst_query_parse_allocation(query, &caps, nullptr);
    GstVideoInfo video;
    EXPECT_TRUE(gst_video_info_from_caps(&video, caps));
    const auto bytes = static_cast<guint>(GST_VIDEO_INFO_SIZE(&video));
    GstBufferPool* pool =
        offered.is_offered ? make_pool(caps, bytes, offered.min, offered.max) : nullptr;
    gst_query_add_allocation_pool(query, pool, bytes, offered.min, offered.max);
    gst_clear_object(&pool);
  });
}

// The pool that the element announces to upstream if downstream announces `downstream`; all 0 if it
// announces none.
Pool announced(const std::string& line, const Pool& downstream = {}) {
  Harness h(line);
  if (downstream.min > 0) offer(h.get()->sinkpad, downstream);
  h.video("GRAY8", kWidth, kHeight);
  const QueryPtr query = h.allocation();
  Pool answer;
  if (gst_query_get_n_allocation_pools(query.get()) > 0) {
    GstBufferPool* pool = nullptr;
    guint bytes = 0;
    gst_query_parse_nth_allocation_pool(query.get(), 0, &pool, &bytes, &answer.min, &answer.max);
    EXPECT_EQ(bytes, kBytes);
    answer.is_offered = pool != nullptr;
    gst_clear_object(&pool);
  }
  return answer;
}

TEST(AllocationQuery, AnyFramesInFlightAndDepth_PoolMinimumIsHeldFramesPlusOne) {
  for (const auto& [line, min] :
       {std::pair{"cclabel output=none frames-in-flight=3", 4u},
        {"cclabel output=overlay frames-in-flight=3", 4u},
        {"cclabel output=labels frames-in-flight=3", 4u},
        {"regionoverlay frames-in-flight=5", 6u},
        {"cclabel depth=8 connectivity=26 frames-in-flight=2 output=none", 17u},
        {"cclabel depth=8 connectivity=26 frames-in-flight=2 output=labels", 17u}}) {
    EXPECT_EQ(announced(line).min, min) << line;
  }
}

TEST(AllocationQuery, InputBufferIsPassedOn_PoolMinimumIncludesThatOfDownstream) {
  for (const bool is_offered : {false, true}) {
    const Pool unbounded = {3, 0, is_offered};
    for (const char* output : {"none", "overlay"}) {
      const Pool answer =
          announced(std::string("cclabel frames-in-flight=3 output=") + output, unbounded);
      EXPECT_EQ(answer.min, 7u) << output;
      EXPECT_EQ(answer.max, 0u) << output;
    }
    EXPECT_EQ(announced("cclabel output=mask frames-in-flight=3", unbounded).min, 4u);
  }
}

// With fewer buffers, fewer frames are in flight. Each frame leaves without a later frame.
TEST(AllocationQuery, DownstreamPoolWithAMaximumNumberOfBuffers_IsOfferedUpstream) {
  for (const guint max : {6u, 5u}) {
    const Pool answer = announced("cclabel output=none frames-in-flight=3", {2, max, true});
    EXPECT_TRUE(answer.is_offered);
    EXPECT_EQ(answer.min, max);
    EXPECT_EQ(answer.max, max);
  }
}

TEST(AllocationQuery, PoolSmallerThanAVolume_IsNotPassedUpstream) {
  const std::string line = "cclabel output=none depth=4 connectivity=6 frames-in-flight=1";
  EXPECT_TRUE(announced(line, {2, 7, true}).is_offered);
  const Pool answer = announced(line, {2, 6, true});
  EXPECT_TRUE(!answer.is_offered || have_cuda());
  EXPECT_EQ(answer.min, 7u);
  EXPECT_EQ(answer.max, 0u);
}

TEST(AllocationQuery, CudaDevice_OffersPinnedMemoryUpstream) {
  SKIP_WITHOUT_CUDA();
  for (const char* output : {"none", "overlay", "labels"}) {
    for (const guint min : {0u, 3u}) {
      Harness h(std::string("cclabel device=cuda frames-in-flight=3 output=") + output);
      if (min > 0) offer(h.get()->sinkpad, {min, 0, false});
      h.video("GRAY8", kWidth, kHeight);
      const QueryPtr query = h.allocation();
      ASSERT_EQ(gst_query_get_n_allocation_pools(query.get()), 1u);
      GstBufferPool* pool = nullptr;
      guint bytes = 0, least = 0, most = 9;
      gst_query_parse_nth_allocation_pool(query.get(), 0, &pool, &bytes, &least, &most);
      ASSERT_TRUE(pool) << output;
      EXPECT_EQ(bytes, kBytes) << output;
      EXPECT_EQ(least, 4 + (strcmp(output, "labels") != 0 ? min : 0)) << output;
      EXPECT_EQ(most, 0u) << output;
      // Base classes set this allocator on the pool. Without it they would remove the pool's own.
      ASSERT_EQ(gst_query_get_n_allocation_params(query.get()), 1u);
      GstAllocator* allocator = nullptr;
      gst_query_parse_nth_allocation_param(query.get(), 0, &allocator, nullptr);
      ASSERT_TRUE(allocator);
      EXPECT_STREQ(allocator->mem_type, "RegionsPinnedMemory");
      gst_object_unref(allocator);
      ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
      GstBuffer* buffer = nullptr;
      ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
      EXPECT_TRUE(gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), "RegionsPinnedMemory"));
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

TEST(OutputMemory, DeviceCuda_OnlyReplacedPicturesAreInPinnedMemory) {
  SKIP_WITHOUT_CUDA();
  for (const auto& [output, pinned] : {std::pair{"labels", true},
                                       {"mask", true},
                                       {"colors", true},
                                       {"none", false},
                                       {"overlay", false}}) {
    GrayHarness h(std::string("cclabel device=cuda output=") + output);
    ASSERT_EQ(h.push(gray_with_square()), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    GstMemory* memory = gst_buffer_peek_memory(out.get(), 0);
    EXPECT_EQ(gst_memory_is_type(memory, "RegionsPinnedMemory") == TRUE, pinned) << output;
  }
}

// ---- pipelines whose sink offers only four buffers

// Whether `work` ends within 20 s. If not, its thread stays.
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

class SmallDownstreamPool : public ::testing::TestWithParam<const char*> {
 protected:
  // The tests unreference the pipeline only if it can stop.
  GstElement* pipeline(int frames) const {
    start_gstreamer();
    const std::string line = "videotestsrc num-buffers=" + std::to_string(frames) +
                             " ! video/x-raw,format=GRAY8,width=64,height=48 ! " + GetParam() +
                             " ! fakesink name=sink sync=false";
    GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
    EXPECT_TRUE(pipeline) << line;
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    GstPad* pad = gst_element_get_static_pad(sink, "sink");
    offer(pad, {4, 4, true});
    gst_object_unref(pad);
    gst_object_unref(sink);
    return pipeline;
  }
};

TEST_P(SmallDownstreamPool, PoolOfFourBuffers_StreamReachesItsEnd) {
  GstElement* pipeline = this->pipeline(20);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  const MessagePtr message(gst_bus_timed_pop_filtered(
      bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  gst_object_unref(bus);
  ASSERT_TRUE(message) << GetParam();
  EXPECT_EQ(GST_MESSAGE_TYPE(message.get()), GST_MESSAGE_EOS) << GetParam();
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

TEST_P(SmallDownstreamPool, PoolOfFourBuffers_SeekWhilePausedCompletes) {
  GstElement* pipeline = this->pipeline(-1);
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
    Elements, SmallDownstreamPool,
    ::testing::Values(
        "cclabel output=none depth=8 connectivity=26", "cclabel output=mask depth=8 connectivity=6",
        "identity ! cclabel output=none depth=8 connectivity=26",
        "videoconvert ! video/x-raw,format=RGB ! cclabel output=none frames-in-flight=8",
        "cclabel output=none frames-in-flight=8", "cclabel output=overlay frames-in-flight=8",
        "cclabel output=mask frames-in-flight=8",
        "cclabel output=none frames-in-flight=4 ! regionoverlay frames-in-flight=4"));

// ---- sources that use only their own pool, like cameras

struct UpstreamPool {
  UpstreamPool(const Harness& h, guint buffers) {
    const CapsPtr caps(gst_pad_get_current_caps(h.get()->srcpad));
    pool = make_pool(caps.get(), kBytes, buffers, buffers);
    EXPECT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  }
  ~UpstreamPool() {
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
  }
  // A buffer with the picture of that number; null if all buffers are in use.
  GstBuffer* next(int index) const {
    GstBufferPoolAcquireParams params = {};
    params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
    GstBuffer* buffer = nullptr;
    if (gst_buffer_pool_acquire_buffer(pool, &buffer, &params) != GST_FLOW_OK) return nullptr;
    gst_buffer_memset(buffer, 0, static_cast<guint8>(index), kBytes);
    GST_BUFFER_PTS(buffer) = time_of(index);
    return buffer;
  }
  GstBufferPool* pool = nullptr;
};

class UpstreamPoolOfSize : public ::testing::TestWithParam<int> {};

TEST_P(UpstreamPoolOfSize, PoolNoLargerThanAVolume_AllFramesOfTheVolumeLeave) {
  for (const char* output : {"none", "mask"}) {
    GrayHarness h(std::string("cclabel depth=8 connectivity=26 threshold=0 output=") + output);
    const UpstreamPool own(h, static_cast<guint>(GetParam()));
    for (int i = 0; i < 8; ++i) {
      GstBuffer* buffer = own.next(i);
      ASSERT_TRUE(buffer) << "no buffer is free for frame " << i << ", " << output;
      ASSERT_EQ(gst_harness_push(h.get(), buffer), GST_FLOW_OK);
    }
    const bool is_mask = strcmp(output, "mask") == 0;
    for (int i = 0; i < 8; ++i) {
      const BufferPtr out = h.pull();
      ASSERT_TRUE(out) << output;
      EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
      EXPECT_EQ(bytes_of(out.get()),
                std::vector<uint8_t>(kBytes, static_cast<uint8_t>(is_mask ? 255 : i)))
          << output << " " << i;
    }
  }
}

// A shallow copy keeps the pool's buffer in use.
TEST_P(UpstreamPoolOfSize, CopiesThatShareMemoryOfPoolBuffers_AllFramesOfTheVolumeLeave) {
  GrayHarness h("cclabel depth=8 connectivity=26 output=none");
  const UpstreamPool own(h, static_cast<guint>(GetParam()));
  for (int i = 0; i < 8; ++i) {
    const BufferPtr buffer(own.next(i));
    ASSERT_TRUE(buffer) << i;
    GstBuffer* part = gst_buffer_copy(buffer.get());
    gst_buffer_add_parent_buffer_meta(part, buffer.get());
    ASSERT_EQ(gst_harness_push(h.get(), part), GST_FLOW_OK);
  }
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(h.pull());
}

INSTANTIATE_TEST_SUITE_P(Sizes, UpstreamPoolOfSize, ::testing::Values(1, 2, 4, 8));

// A frame keeps its memory if upstream then still has a buffer to fill and downstream as many as it
// needs.
TEST(UpstreamPool, TooFewFreeBuffers_FramesAreCopied) {
  for (const guint needs : {0u, 1u, 3u}) {
    for (guint buffers = 1; buffers < 10; ++buffers) {
      Harness h("cclabel output=none depth=4 connectivity=26 frames-in-flight=1");
      if (needs > 0) offer(h.get()->sinkpad, {needs, 0, false});
      h.video("GRAY8", kWidth, kHeight);
      h.allocation();
      const UpstreamPool own(h, buffers);
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

// ---- each map is undone, and each buffer is released

struct MappedCase {
  std::string line;
  const char* sink = "";       // output caps
  const char* mask = nullptr;  // format of the mask that frames carry
};

const std::vector<MappedCase> kCases = {
    {"cclabel output=none"},
    {"cclabel output=overlay"},
    {"cclabel output=overlay process-scale=0.5"},
    {"cclabel output=labels", "video/x-raw,format=GRAY16_LE"},
    {"cclabel output=labels", "video/x-region-labels"},
    {"cclabel output=labels left=8", "video/x-region-labels"},
    {"cclabel output=none depth=3 connectivity=26"},
    {"cclabel output=labels depth=3 connectivity=26", "video/x-region-labels"},
    {"cclabel output=colors depth=3 connectivity=26"},
    {"cclabel output=mask source=mask", "", "GRAY8"},
    {"cclabel output=none source=mask", "", "U32_LE"},
    {"cclabel output=labels source=mask depth=3 connectivity=26", "video/x-region-labels",
     "U32_LE"},
    {"cclabel output=none source=mask depth=3 connectivity=26", "", "GRAY8"},
    {"graphcutbg output=cutout"},
    {"graphcutbg output=mask source=both process-scale=0.5", "", "GRAY8"},
    {"slicsuperpixel output=mean"},
    {"slicsuperpixel output=labels", "video/x-region-labels"},
    {"regionoverlay style=fill", "", "U32_LE"},
};

GstBuffer* frame(const MappedCase& c, int index) {
  const std::vector<uint8_t> picture(kBytes, static_cast<uint8_t>(60 * index));
  GstBuffer* buffer = CountedMemory::buffer(picture);
  GST_BUFFER_PTS(buffer) = time_of(index);
  if (!c.mask) return buffer;
  const size_t sample = std::string(c.mask) == "GRAY8" ? 1 : 4;
  return with_mask(buffer, CountedMemory::buffer(std::vector<uint8_t>(picture.size() * sample, 1)),
                   c.mask, kWidth, kHeight);
}

// A frame that the element must refuse.
GstBuffer* bad_frame(const MappedCase& c, int index) {
  GstBuffer* buffer = frame(c, index);
  if (c.mask && contains(c.line, "source=mask")) {
    gst_buffer_remove_meta(buffer, &gst_buffer_get_custom_meta(buffer, "regions")->meta);
  } else {
    gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12, kWidth,
                              kHeight / 2);
  }
  return buffer;
}

enum class End { eos, flush, error };

// A stream of five frames. In a volume of three, the last two frames wait for a third.
void run(const MappedCase& c, End end) {
  Harness h(c.line + " device=cpu frames-in-flight=2", c.sink);
  CountedMemory::offer(h.get()->sinkpad);
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(gst_harness_push(h.get(), frame(c, i)), GST_FLOW_OK);
  GstFlowReturn flow = gst_harness_push(h.get(), end == End::error ? bad_frame(c, 4) : frame(c, 4));
  if (end == End::error) {
    for (int i = 5; i < 8 && flow == GST_FLOW_OK; ++i)
      flow = gst_harness_push(h.get(), frame(c, i));
    EXPECT_EQ(flow, GST_FLOW_ERROR);
    EXPECT_TRUE(h.has_error());
  }
  if (end == End::flush) {
    h.flush();
    ASSERT_EQ(gst_harness_push(h.get(), frame(c, 9)), GST_FLOW_OK);
  }
  h.eos();
  if (end == End::eos) {
    EXPECT_EQ(h.waiting(), 5u);
  }
  EXPECT_EQ(CountedMemory::maps(), 0) << "while the element is idle";
  EXPECT_GT(CountedMemory::most_maps(), 0);
}

TEST(MappedBuffers, EosFlushOrError_UnmapsAllBuffers) {
  std::vector<MappedCase> cases = kCases;
  std::vector<std::string> lines;
  for (const MappedCase& c : kCases) lines.push_back(c.line);
  lines = with_all_elements(lines);
  for (size_t i = cases.size(); i < lines.size(); ++i) cases.push_back({lines[i]});
  for (const MappedCase& c : cases) {
    for (const auto& [end, name] :
         {std::pair{End::eos, "eos"}, {End::flush, "flush"}, {End::error, "error"}}) {
      SCOPED_TRACE(c.line + " " + c.sink + ", " + name);
      CountedMemory::reset();
      run(c, end);
      EXPECT_EQ(CountedMemory::maps(), 0);
      EXPECT_EQ(CountedMemory::blocks(), 0) << "buffers are leaked";
    }
  }
}

}  // namespace
}  // namespace regions::test
