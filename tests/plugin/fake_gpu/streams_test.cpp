// CUDA memory and CUDA streams on fake devices: elements wait on the device, not on the host, and
// adapt to the functions that the installed libgstcuda has.
#include <algorithm>
#include <thread>

#include "tests/plugin/cropped_picture.hpp"
#include "tests/plugin/fake_gpu/producer.hpp"

namespace regions::test {
namespace {

// ---- streams

bool needs_sync(GstBuffer* buffer) {
  return GST_MEMORY_FLAG_IS_SET(gst_buffer_peek_memory(buffer, 0), kNeedSync);
}

// A frame that its producer still writes.
GstBuffer* unfinished(const Producer& producer) {
  GstBuffer* buffer = producer.frame(0, squares(1));
  producer.begin_work(buffer);
  return buffer;
}

TEST(CudaStream, UpstreamStillWritesTheFrame_DeviceWaitsForItAndTheHostDoesNot) {
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
    auto* data = const_cast<guint8*>(map.data);  // valid until the buffer is unmapped
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
    EXPECT_FALSE(needs_sync(out.get())) << line << ": elements downstream would wait again";
  }
}

TEST(CudaStream, ProducerInAnotherCudaContext_HostWaits) {
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

// Encoders cannot use memory that was allocated in stream order.
TEST(CudaStream, PoolOfferedUpstream_HasACudaStreamIfGstCudaSupportsIt) {
  NEEDS_LIBRARY();
  for (const bool replaces : {false, true}) {
    Harness h(std::string("cclabel output=") + (replaces ? "mask" : "overlay"));
    h.caps(kCudaCaps);
    const QueryPtr query = h.allocation();
    GstBufferPool* pool = nullptr;
    ASSERT_EQ(gst_query_get_n_allocation_pools(query.get()), 1u);
    gst_query_parse_nth_allocation_pool(query.get(), 0, &pool, nullptr, nullptr, nullptr);
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gboolean ordered = FALSE;
    const bool says = gst_structure_get_boolean(config, "cuda-stream-ordered-alloc", &ordered);
    EXPECT_EQ(gst_structure_has_field(config, "cuda-stream"), library_is("streams"));
    EXPECT_EQ(says, library_is("streams"));
    EXPECT_EQ(ordered, says && replaces);
    gst_structure_free(config);
    gst_object_unref(pool);
  }
}

TEST(CudaLibrary, CudaMemory_GstCudaLibraryFoundOrMissing_IsInTheCapsOnlyIfFound) {
  Harness h("cclabel output=none");
  EXPECT_EQ(device_of(h.element()), "cuda:0 fake");
  GstPad* pad = gst_element_get_static_pad(h.element(), "sink");
  const CapsPtr caps(gst_pad_query_caps(pad, nullptr));
  const CapsPtr cuda(gst_caps_from_string(kCudaCaps));
  EXPECT_EQ(gst_caps_can_intersect(caps.get(), cuda.get()), !library_is("empty"));
  gst_object_unref(pad);
  h.video("RGBA", kWidth, kHeight);
  ASSERT_EQ(h.push(squares(3)), GST_FLOW_OK);
  expect_frame(h, 0, 3);
}

TEST(PriorityProperty, Set_QueuesAndAlgorithmsHaveThisPriority) {
  for (const int priority : {3, 0, 5}) {
    Harness h("graphcutbg output=none priority=" + std::to_string(priority));
    h.video("RGBA", kWidth, kHeight);
    ASSERT_EQ(h.push(squares(1)), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
    EXPECT_EQ(fake::priorities().queue, priority);
    EXPECT_EQ(fake::priorities().algorithm, priority);
  }
}

TEST(PinnedMemory, StateReady_ReservesMemoryBeforeTheCaps) {
  constexpr size_t kPerFrame = size_t{1} << 20;
  for (const char* name : {"cclabel", "slicsuperpixel", "regionoverlay"}) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    for (const int frames : {0, 1, 3}) {
      g_object_set(element, "frames-in-flight", frames, nullptr);
      ASSERT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
      EXPECT_EQ(fake::pinned_room(), static_cast<size_t>(std::max(frames, 1)) * kPerFrame) << name;
      gst_element_set_state(element, GST_STATE_NULL);
      EXPECT_EQ(fake::pinned_room(), 0u) << name;
    }
    gst_object_unref(element);
  }
}

// ---- fences: frames leave for the next element of this plugin while their work is in progress

constexpr const char* kDirect =
    "graphcutbg output=none ! cclabel source=mask output=none name=next";
constexpr auto kWork = std::chrono::milliseconds(2);  // of the producer
// After a pause of more than three times the duration of a frame, the next frame is alone in the
// chain. This pause is long enough for an emulator, too.
constexpr auto kPause = std::chrono::milliseconds(100);

// Pushes one frame while its producer still writes it.
GstFlowReturn push_unfinished(Harness& h, const Producer& producer, GstBuffer* buffer) {
  std::this_thread::sleep_for(kPause);
  producer.begin_work(buffer);
  std::thread later([&] {
    std::this_thread::sleep_for(kWork);
    producer.stream().end();
  });
  const GstFlowReturn flow = gst_harness_push(h.get(), buffer);
  later.join();
  return flow;
}

// The regions of five frames. Each frame has one more square than the previous frame.
std::vector<std::string> regions_of_five(Harness& h, const Producer& producer) {
  std::vector<std::string> all;
  h.caps(kCudaCaps);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(push_unfinished(h, producer, producer.frame(i, squares(i))), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* regions = out ? regions_of(out.get()) : nullptr;
    EXPECT_TRUE(regions) << i << ": " << h.error_text();
    if (!regions) return {};
    all.push_back(field_of(regions, "regions") + field_of(regions, "scene-change"));
    EXPECT_EQ(total_of(out.get()), static_cast<guint>(i));
  }
  return all;
}

// Counts the frames whose metadata says that the cut is exact, at the first element's source pad.
void count_exact(Harness& h, int& count) {
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer counter) {
        gboolean is_exact = FALSE;
        const GstStructure* regions = regions_of(GST_PAD_PROBE_INFO_BUFFER(info));
        gst_structure_get_boolean(regions, "exact", &is_exact);
        *static_cast<int*>(counter) += is_exact;
        return GST_PAD_PROBE_OK;
      },
      &count, nullptr);
  gst_object_unref(pad);
}

TEST(Fence, NextElementOfThisPlugin_GetsUnfinishedFramesWithoutHostWait) {
  NEEDS_STREAMS();
  const Producer producer(0);
  Harness direct(kDirect);
  const int before = fake::leads();
  const auto regions = regions_of_five(direct, producer);
  EXPECT_EQ(fake::leads() - before, 4);  // not for the first frame of a stream
  Harness seen(kDirect);
  int exact = 0;
  count_exact(seen, exact);
  EXPECT_EQ(regions, regions_of_five(seen, producer));
  EXPECT_EQ(exact, 5) << "probes see complete metadata";
  EXPECT_EQ(fake::leads() - before, 4);
}

TEST(Fence, NextElementNeedsFinishedResults_FramesLeaveOnlyWhenFinished) {
  NEEDS_STREAMS();
  const Producer producer(0);
  for (const char* line :
       {"graphcutbg output=none", "graphcutbg output=none ! regionoverlay",
        "graphcutbg output=overlay attach-labels=always ! cclabel source=mask output=none",
        "graphcutbg output=none post-messages=true ! cclabel output=none",
        "cclabel output=none ! cclabel output=none"}) {
    Harness h(line);
    h.caps(kCudaCaps);
    const int before = fake::leads();
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(push_unfinished(h, producer, producer.frame(i, squares(i))), GST_FLOW_OK) << line;
      ASSERT_TRUE(h.pull()) << line << h.error_text();
    }
    EXPECT_EQ(fake::leads(), before) << line;
  }
}

TEST(Fence, FrameRefusedDownstream_KeepsItsMemoryUntilItsWorkIsDone) {
  NEEDS_STREAMS();
  const Producer producer(0);
  Harness h(kDirect);
  regions_of_five(h, producer);
  GstElement* next = gst_bin_get_by_name(GST_BIN(GST_OBJECT_PARENT(h.element())), "next");
  GstPad* pad = gst_element_get_static_pad(next, "sink");
  gst_pad_send_event(pad, gst_event_new_flush_start());
  gst_object_unref(pad);
  gst_object_unref(next);

  const int leads = fake::leads(), followed = producer.stream().followed;
  GstBuffer* buffer = producer.frame(5, squares(5));
  const GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
  std::this_thread::sleep_for(kPause);
  producer.begin_work(buffer);
  std::thread pusher([&] { gst_harness_push(h.get(), buffer); });
  while (producer.stream().followed == followed) std::this_thread::sleep_for(kWork);
  std::this_thread::sleep_for(kWork);  // the frame has been refused while its work waits
  GstBuffer* other = producer.frame(6, squares(0));
  EXPECT_NE(gst_buffer_peek_memory(other, 0), memory);
  gst_buffer_unref(other);
  producer.stream().end();
  pusher.join();
  EXPECT_EQ(fake::leads(), leads);
}

// ---- frames with a crop rectangle

TEST(Crop, CudaMemoryWithACropMeta_OutputEqualsThatOfACroppedCopy) {
  NEEDS_LIBRARY();
  const Rectangle rectangle = {13, 7, 45, 37};
  const GstVideoInfo info = info_of("RGBA", kWidth, kHeight);
  for (const char* line :
       {"cclabel output=none attach-labels=always", "cclabel output=overlay", "cclabel output=mask",
        "cclabel output=none depth=2 connectivity=6", "graphcutbg output=overlay",
        "graphcutbg output=cutout", "slicsuperpixel output=mean",
        "cclabel output=none ! regionoverlay style=boxes"}) {
    const Producer producer(0);
    Harness cropped(line), copied(line);
    cropped.caps("video/x-raw(memory:CUDAMemory),format=RGBA,width=45,height=37,framerate=25/1");
    copied.video("RGBA", 45, 37);
    for (int i = 0; i < 4; ++i) {
      GstBuffer* frame = producer.frame(i, noise(info, i));
      show_only(frame, info, rectangle);
      ASSERT_EQ(gst_harness_push(cropped.get(), frame), GST_FLOW_OK)
          << line << ": " << cropped.error_text();
      ASSERT_EQ(copied.push(cut_out(noise(info, i), info, rectangle), i), GST_FLOW_OK) << line;
    }
    cropped.eos();
    copied.eos();
    expect_same_frames(cropped, copied, 4, line);
  }
}

}  // namespace
}  // namespace regions::test
