// What elements say of how long they keep frames.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/passing_time.hpp"

namespace regions::test {
namespace {

constexpr guint64 kFrame = 40 * GST_MSECOND;

TEST(Latency, IsMeasuredAndReported) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  h.push(gray_with_square());
  ASSERT_TRUE(h.pull());
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  const GstClockTime latency = gst_harness_query_latency(h.get());
  EXPECT_GT(latency, 0u);
  EXPECT_LE(latency, 4 * kFrame);
}

TEST(Latency, OfVolumesIsKnownByTheCaps) {
  Harness h("cclabel output=none depth=8 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  EXPECT_EQ(stat(h, "latency"), 7 * kFrame);
  EXPECT_EQ(gst_harness_query_latency(h.get()), 7 * kFrame);
  for (int i = 0; i < 8; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(h.pull());
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  EXPECT_GT(stat(h, "latency"), 7 * kFrame);
  EXPECT_LE(stat(h, "latency"), 2 * 8 * kFrame);

  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=5/1");
  EXPECT_GE(stat(h, "latency"), 7 * 200 * GST_MSECOND);
}

TEST(Latency, WindowsKeepNothing) {
  Harness h("cclabel output=none depth=8 sliding=true connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  EXPECT_EQ(stat(h, "latency"), 0u);
}

// Frames whose work is done wait in the element while downstream takes a second for one of them.
class SlowSink {
 public:
  SlowSink(Harness& h, int frames) : h_(h), frames_(frames) {
    pad_ = gst_element_get_static_pad(h.element(), "src");
    gst_pad_add_probe(
        pad_, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer self) {
          static_cast<SlowSink*>(self)->take();
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
  }
  ~SlowSink() { gst_object_unref(pad_); }
  SlowSink(const SlowSink&) = delete;
  SlowSink& operator=(const SlowSink&) = delete;

  // An input frame that tells when it is worked on: where the picture is replaced, it goes then.
  GstBuffer* frame(int index) {
    GstBuffer* b = Harness::buffer(gray_with_square(index), index);
    gst_mini_object_weak_ref(
        GST_MINI_OBJECT(b),
        [](gpointer self, GstMiniObject*) { static_cast<SlowSink*>(self)->count_done(); }, this);
    return b;
  }
  // Of all frames but the last.
  guint64 latency_before_the_last() const { return latency_; }

 private:
  void count_done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
  void take() {
    ++taken_;
    if (taken_ == 1) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_ == frames_; });
      let_pass(G_USEC_PER_SEC);
    }
    // The last one's input goes a moment before its work counts as done.
    if (taken_ == frames_ - 1) latency_ = stat(h_, "latency");
  }

  Harness& h_;
  const int frames_;
  GstPad* pad_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  int done_ = 0;
  int taken_ = 0;
  std::atomic<guint64> latency_{0};
};

TEST(Latency, ASlowSinkIsNoneOfTheElements) {
  constexpr int kFrames = 4;
  Harness h("cclabel output=labels frames-in-flight=4", "video/x-raw,format=GRAY16_LE");
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=0/1");
  SlowSink sink(h, kFrames);
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_EQ(gst_harness_push(h.get(), sink.frame(i)), GST_FLOW_OK);
  }
  for (int i = 0; i < kFrames; ++i) ASSERT_TRUE(h.pull());
  EXPECT_GT(sink.latency_before_the_last(), 0u);
  EXPECT_LT(sink.latency_before_the_last(), GST_SECOND);
}

}  // namespace
}  // namespace regions::test
