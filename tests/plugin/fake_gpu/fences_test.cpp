// Frames that leave an element of ours while their work is under way: to another one alone, and
// what comes out is the same.
#include <thread>

#include "tests/plugin/fake_gpu/producer.hpp"

namespace regions::test {
namespace {

constexpr const char* kDirect =
    "graphcutbg output=none ! cclabel source=mask output=none name=next";
constexpr auto kWork = std::chrono::milliseconds(5);    // of the producer
constexpr auto kPause = std::chrono::milliseconds(50);  // a frame after it has the chain to itself

// Pushes one frame, whose producer is still at work when it comes.
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

// What the chain says of five frames, a square more in each.
std::vector<std::string> told_by(Harness& h, const Producer& producer) {
  std::vector<std::string> told;
  h.caps(kCudaCaps);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(push_unfinished(h, producer, producer.frame(i, squares(i))), GST_FLOW_OK);
    const BufferPtr out = h.pull();
    const GstStructure* regions = out ? regions_of(out.get()) : nullptr;
    EXPECT_TRUE(regions) << i << ": " << h.error_text();
    if (!regions) return {};
    told.push_back(taken(gst_value_serialize(gst_structure_get_value(regions, "regions"))));
    EXPECT_EQ(total_of(out.get()), static_cast<guint>(i));
  }
  return told;
}

// Counts the frames that say so, by a probe on the first element's pad.
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

TEST(Fences, TheNextOfOurElementsGoesOnWithoutAWaitOfTheHost) {
  NEEDS_STREAMS();
  const Producer producer(0);
  Harness direct(kDirect);
  const int before = fake::leads();
  const auto told = told_by(direct, producer);
  EXPECT_EQ(fake::leads() - before, 4);  // the first frame begins a stream
  Harness seen(kDirect);
  int exact = 0;
  count_exact(seen, exact);
  EXPECT_EQ(told, told_by(seen, producer));
  EXPECT_EQ(exact, 5) << "probes see what the element says of the frame";
  EXPECT_EQ(fake::leads() - before, 4);
}

TEST(Fences, OthersGetFramesThatAreWhole) {
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

TEST(Fences, AFrameThatIsRefusedKeepsItsMemoryUntilItsWorkIsDone) {
  NEEDS_STREAMS();
  const Producer producer(0);
  Harness h(kDirect);
  told_by(h, producer);
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
  std::this_thread::sleep_for(kWork);  // the frame has been refused, its work waits
  GstBuffer* other = producer.frame(6, squares(0));
  EXPECT_NE(gst_buffer_peek_memory(other, 0), memory);
  gst_buffer_unref(other);
  producer.stream().end();
  pusher.join();
  EXPECT_EQ(fake::leads(), leads);
}

}  // namespace
}  // namespace regions::test
