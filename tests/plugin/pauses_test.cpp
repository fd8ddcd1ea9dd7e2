// Frames that come after pauses, as a camera's do: the thread that brought them sees them off.
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "tests/plugin/moving_square.hpp"
#include "tests/plugin/passing_time.hpp"

namespace regions::test {
namespace {

constexpr gint64 kPause = 10 * G_USEC_PER_SEC;

// Which threads frames left on, and what downstream does with them.
class Leaving {
 public:
  explicit Leaving(
      Harness& h, std::function<void()> take = [] {})
      : take_(std::move(take)), pad_(gst_element_get_static_pad(h.element(), "src")) {
    gst_pad_add_probe(
        pad_, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer self) {
          auto& mine = *static_cast<Leaving*>(self);
          {
            const std::lock_guard lock(mine.mutex_);
            mine.threads_.push_back(std::this_thread::get_id());
          }
          mine.take_();
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
  }
  ~Leaving() { gst_object_unref(pad_); }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

  // For each frame whether it left on the thread that asks.
  std::vector<bool> here() {
    const std::lock_guard lock(mutex_);
    std::vector<bool> on_this;
    for (const std::thread::id id : threads_) on_this.push_back(id == std::this_thread::get_id());
    return on_this;
  }

 private:
  const std::function<void()> take_;
  GstPad* const pad_;
  std::mutex mutex_;
  std::vector<std::thread::id> threads_;
};

// One after the other, each after the one before has left and a pause.
void push_seldom(Harness& h, int first, int count, gint64 pause = kPause) {
  for (int i = first; i < first + count; ++i) {
    let_pass(pause);
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
    // Waits for the push to have returned, too.
    gst_harness_push_event(h.get(), gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                                         gst_structure_new_empty("pushed")));
  }
}

TEST(Pauses, FramesBehindThemLeaveOnTheThreadThatBroughtThem) {
  for (const char* slots : {"0", "1", "4"}) {
    for (const char* output : {"none", "overlay", "labels", "mask"}) {
      Harness h(std::string("cclabel frames-in-flight=") + slots + " output=" + output);
      h.video("GRAY8", kWidth, kHeight);
      Leaving leaving(h);
      push_seldom(h, 0, 4);
      EXPECT_EQ(leaving.here(), (std::vector{false, true, true, true})) << slots << " " << output;
      h.flush();
      push_seldom(h, 4, 2);
      EXPECT_EQ(leaving.here(), (std::vector{false, true, true, true, false, true}));
      EXPECT_EQ(stat(h, "frames-in"), 6u);
      EXPECT_EQ(stat(h, "frames-out"), 6u);
    }
  }
}

TEST(Pauses, ShorterThanThreeTimesAFramesWayAreNone) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  Leaving leaving(h, [] { let_pass(G_USEC_PER_SEC); });
  push_seldom(h, 0, 3, 2 * G_USEC_PER_SEC);
  EXPECT_EQ(leaving.here(), (std::vector{false, false, false}));
  push_seldom(h, 3, 2, 4 * G_USEC_PER_SEC);
  EXPECT_EQ(leaving.here(), (std::vector{false, false, false, true, true}));
}

TEST(Pauses, VolumesAreWorkedOnWhileTheNextOneFills) {
  Harness h("cclabel output=none depth=2 connectivity=26");
  h.video("GRAY8", kWidth, kHeight);
  Leaving leaving(h);
  for (int i = 0; i < 6; ++i) {
    let_pass(kPause);
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    if (i % 2 == 0) continue;
    ASSERT_TRUE(h.pull());
    ASSERT_TRUE(h.pull());
  }
  EXPECT_EQ(leaving.here(), std::vector<bool>(6, false));
}

TEST(Pauses, OrderStaysWhereFramesComeInBursts) {
  constexpr int kFrames = 90;
  Harness h("cclabel output=labels frames-in-flight=3", "video/x-raw,format=GRAY16_LE");
  h.video("GRAY8", kWidth, kHeight);
  for (int i = 0; i < kFrames; ++i) {
    if (i % 5 < 2) let_pass(kPause);
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  }
  h.eos();
  for (int i = 0; i < kFrames; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), static_cast<GstClockTime>(i) * 40 * GST_MSECOND);
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), std::to_string(8 + i % 16));
  }
  EXPECT_EQ(h.waiting(), 0u);
}

TEST(Pauses, DownstreamsFlowReachesUpstreamWithTheNextFrame) {
  Harness h("cclabel output=none ! identity error-after=3");
  h.video("GRAY8", kWidth, kHeight);
  push_seldom(h, 0, 2);
  let_pass(kPause);
  EXPECT_EQ(h.push(gray_with_square(), 2), GST_FLOW_OK);
  let_pass(kPause);
  EXPECT_EQ(h.push(gray_with_square(), 3), GST_FLOW_ERROR);
}

// More regions than the output has labels for.
TEST(Pauses, WhatGoesWrongIsTold) {
  Harness h("cclabel output=labels connectivity=4 overflow=error", "video/x-raw,format=GRAY8");
  h.video("GRAY8", kWidth, kHeight);
  push_seldom(h, 0, 2);
  std::vector<uint8_t> checkered(kWidth * kHeight);
  for (size_t i = 0; i < checkered.size(); ++i) {
    checkered[i] = (i / kWidth + i % kWidth) % 2 ? 255 : 0;
  }
  let_pass(kPause);
  EXPECT_EQ(h.push(checkered, 2), GST_FLOW_OK);
  EXPECT_NE(h.error_text(), "");
  EXPECT_EQ(h.push(gray_with_square(), 3), GST_FLOW_ERROR);
  EXPECT_EQ(h.waiting(), 0u);
  EXPECT_EQ(stat(h, "frames-dropped"), 1u);
}

TEST(Pauses, AFlushReachesAFrameThatDownstreamHolds) {
  Harness h("cclabel output=none");
  h.video("GRAY8", kWidth, kHeight);
  push_seldom(h, 0, 2);
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  std::promise<void> held;
  const gulong probe = gst_pad_add_probe(
      pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      [](GstPad*, GstPadProbeInfo*, gpointer promise) {
        static_cast<std::promise<void>*>(promise)->set_value();
        return GST_PAD_PROBE_OK;
      },
      &held, nullptr);
  let_pass(kPause);
  std::future<GstFlowReturn> pushed =
      std::async(std::launch::async, [&] { return h.push(gray_with_square(2), 2); });
  held.get_future().wait();
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  pushed.wait();
  gst_pad_remove_probe(pad, probe);
  gst_object_unref(pad);
  h.flush();
  push_seldom(h, 3, 3);
  EXPECT_EQ(h.waiting(), 0u);
}

// Live pipelines go up and down while frames are on their way.
TEST(Pauses, StatesChangeWhileFramesAreSeenOff) {
  const Pipeline pipeline(
      "videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=200/1 ! "
      "cclabel output=none ! regionoverlay ! fakesink sync=true");
  for (int i = 0; i < 6; ++i) {
    const GstState state = i % 3 == 0   ? GST_STATE_NULL
                           : i % 3 == 1 ? GST_STATE_READY
                                        : GST_STATE_PAUSED;
    ASSERT_NE(gst_element_set_state(pipeline.get(), GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    GstBus* bus = gst_element_get_bus(pipeline.get());
    const MessagePtr error(gst_bus_timed_pop_filtered(bus, 60 * GST_MSECOND, GST_MESSAGE_ERROR));
    gst_object_unref(bus);
    ASSERT_FALSE(error);
    ASSERT_NE(gst_element_set_state(pipeline.get(), state), GST_STATE_CHANGE_FAILURE);
  }
}

}  // namespace
}  // namespace regions::test
