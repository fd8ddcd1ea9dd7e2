// Latency: the value that elements report, frames that are dropped because they are late (QoS), and
// frames that leave on the thread that pushed them.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "plugin/stream/stream_times.hpp"
#include "tests/plugin/moving_square.hpp"

namespace {

std::atomic<gint64> clock_offset{0};  // µs ahead of the real time

// GStreamer's clocks compute deadlines from g_get_monotonic_time() and sleep by the kernel's time.
// With an offset, all waits for a clock would be too long.
class ResetClockAfterEachTest : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override { clock_offset = 0; }
};
[[maybe_unused]] const bool is_listening = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new ResetClockAfterEachTest);
  return true;
}();

}  // namespace

// Replaces GLib's function, also in the elements.
extern "C" gint64 g_get_monotonic_time() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count() + clock_offset;
}

namespace regions::test {
namespace {

constexpr GstClockTime kFrame = 40 * GST_MSECOND;

// Advances the clock of this process until the test ends. Not for pipelines that use a clock.
void advance_clock(gint64 us) { clock_offset += us; }

// ---- the reported latency

TEST(Latency, ReportedLatency_GrowsWithMeasuredTimesUpToTheTimeOfAllFramesInFlight) {
  Latency latency;
  EXPECT_EQ(latency.reported(), 0u);
  EXPECT_FALSE(latency.configure(kFrame, 1, 4)) << "single frames do not wait";
  EXPECT_EQ(latency.reported(), 0u);
  // For single frames, both parts are measured. The reported value is 25 % more.
  EXPECT_TRUE(latency.record({2000, 6000}));
  EXPECT_EQ(latency.reported(), 10 * GST_MSECOND);
  EXPECT_FALSE(latency.record({0, 10000})) << "within the margin";
  EXPECT_EQ(latency.reported(), 10 * GST_MSECOND);
  EXPECT_TRUE(latency.record({0, 10001}));
  EXPECT_EQ(latency.reported(), 10001 * GST_USECOND * 5 / 4);
  EXPECT_TRUE(latency.record({0, 1000000}));
  EXPECT_EQ(latency.reported(), 4 * kFrame) << "at most all frames in flight";
  EXPECT_FALSE(latency.record({0, 2000000}));
  // At a lower rate the limit is higher.
  EXPECT_TRUE(latency.configure(2 * kFrame, 1, 4));
  EXPECT_EQ(latency.reported(), 8 * kFrame);
  EXPECT_TRUE(latency.configure(0, 1, 4)) << "without a rate, the latency has no limit";
  EXPECT_EQ(latency.reported(), 2500 * GST_MSECOND);
  EXPECT_TRUE(latency.reset());
  EXPECT_EQ(latency.reported(), 0u);
  EXPECT_FALSE(latency.reset());

  EXPECT_TRUE(latency.configure(kFrame, 8, 2));
  EXPECT_EQ(latency.reported(), 7 * kFrame) << "the first frame waits for seven more";
  EXPECT_TRUE(latency.record({900000, 4000}));
  EXPECT_EQ(latency.reported(), 7 * kFrame + 5 * GST_MSECOND)
      << "the time between frames is not measured";
  EXPECT_TRUE(latency.record({0, 1000000}));
  EXPECT_EQ(latency.reported(), 16 * kFrame);
  EXPECT_TRUE(latency.reset());
  EXPECT_EQ(latency.reported(), 7 * kFrame);
  EXPECT_FALSE(latency.configure(kFrame, 8, 3));
  // If the rate is unknown, volumes are measured.
  EXPECT_TRUE(latency.configure(0, 8, 2));
  EXPECT_TRUE(latency.record({100000, 60000}));
  EXPECT_EQ(latency.reported(), 200 * GST_MSECOND);
}

TEST(ReportedLatency, SingleFrames_LatencyIsPostedAboveZeroAndAtMostFourFrames) {
  GrayHarness h("cclabel output=none");
  h.push(gray_with_square());
  ASSERT_TRUE(h.pull());
  EXPECT_TRUE(h.message(GST_MESSAGE_LATENCY));
  const GstClockTime latency = gst_harness_query_latency(h.get());
  EXPECT_GT(latency, 0u);
  EXPECT_LE(latency, 4 * kFrame);
}

TEST(ReportedLatency, Volumes_LatencyBeforeTheFirstFrameIsDepthMinusOneFrames) {
  GrayHarness h("cclabel output=none depth=8 connectivity=26");
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

TEST(ReportedLatency, SlidingWindow_ReportsZero) {
  GrayHarness h("cclabel output=none depth=8 sliding=true connectivity=26");
  EXPECT_EQ(stat(h, "latency"), 0u);
}

// While downstream takes a second for the first frame, the other frames wait, although their work
// is done. This wait is not a latency of the element.
TEST(ReportedLatency, SlowSink_ReportedLatencyExcludesTheTimeOfTheSink) {
  constexpr int kFrames = 4;
  constexpr gulong kTimeForWork = 300000;  // µs; the frames are tiny
  Harness h("cclabel output=labels frames-in-flight=4", "video/x-raw,format=GRAY16_LE");
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=0/1");
  bool has_slept = false;
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo*, gpointer slept) {
        if (!std::exchange(*static_cast<bool*>(slept), true)) {
          g_usleep(kTimeForWork);
          advance_clock(G_USEC_PER_SEC);
        }
        return GST_PAD_PROBE_OK;
      },
      &has_slept, nullptr);
  for (int i = 0; i < kFrames; ++i) {
    ASSERT_EQ(gst_harness_push(h.get(), Harness::buffer(gray_with_square(i), i)), GST_FLOW_OK);
  }
  for (int i = 0; i < kFrames; ++i) ASSERT_TRUE(h.pull());
  gst_object_unref(pad);
  EXPECT_GT(stat(h, "latency"), 0u);
  EXPECT_LT(stat(h, "latency"), GST_SECOND);
}

TEST(LatencyQuery, UpstreamLiveOrNot_OnlyALiveUpstreamAddsItsLatencyToTheElements) {
  for (const GstClockTime most : {GstClockTime{90 * GST_MSECOND}, GST_CLOCK_TIME_NONE}) {
    for (const bool live : {true, false}) {
      Harness h("cclabel output=none depth=8 connectivity=26");
      struct Answer {
        gboolean live;
        GstClockTime most;
      } answer = {live, most};
      gst_pad_add_probe(
          h.get()->srcpad, GST_PAD_PROBE_TYPE_QUERY_UPSTREAM,
          [](GstPad*, GstPadProbeInfo* info, gpointer data) {
            GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
            if (GST_QUERY_TYPE(query) != GST_QUERY_LATENCY) return GST_PAD_PROBE_OK;
            const auto& a = *static_cast<const Answer*>(data);
            gst_query_set_latency(query, a.live, 30 * GST_MSECOND, a.most);
            return GST_PAD_PROBE_HANDLED;
          },
          &answer, nullptr);
      h.video("GRAY8", kWidth, kHeight);
      GstQuery* query = gst_query_new_latency();
      GstPad* source = gst_element_get_static_pad(h.element(), "src");
      ASSERT_TRUE(gst_pad_query(source, query));
      gst_object_unref(source);
      gboolean is_live = !live;
      GstClockTime min = 0, max = 0;
      gst_query_parse_latency(query, &is_live, &min, &max);
      gst_query_unref(query);
      EXPECT_EQ(is_live, live);
      EXPECT_EQ(min, (live ? 30 * GST_MSECOND : 0) + 7 * kFrame);
      EXPECT_EQ(max, live && most != GST_CLOCK_TIME_NONE ? most + 7 * kFrame : GST_CLOCK_TIME_NONE);
    }
  }
}

// The number of frames in flight limits the latency of live sources.
TEST(LatencyQuery, LiveUpstream_ElementKeepsOnlyOneFrameOrVolumeInFlight) {
  for (const bool live : {true, false}) {
    for (const int depth : {1, 3}) {
      Harness h("cclabel output=none device=cpu depth=" + std::to_string(depth) +
                (depth > 1 ? " connectivity=6" : ""));
      gst_harness_set_live(h.get(), live);
      h.video("GRAY8", kWidth, kHeight);
      guint held = 0;
      gst_query_parse_nth_allocation_pool(h.allocation().get(), 0, nullptr, nullptr, &held,
                                          nullptr);
      const int slots = live ? 1 : depth > 1 ? 2 : 4;
      EXPECT_EQ(held, static_cast<guint>(slots * depth + 1)) << live << " " << depth;
    }
  }
}

TEST(LatencyMessage, FrameRateChanges_LatencyMessageIsPosted) {
  GrayHarness h("cclabel output=none depth=4 connectivity=26");
  EXPECT_TRUE(h.message_so_far(GST_MESSAGE_LATENCY));
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_LATENCY));
  h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
  EXPECT_FALSE(h.message_so_far(GST_MESSAGE_LATENCY)) << "unchanged";
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=50/1");
  EXPECT_TRUE(h.message_so_far(GST_MESSAGE_LATENCY));
  EXPECT_EQ(stat(h, "latency"), 60 * GST_MSECOND);
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=50/3");
  EXPECT_EQ(stat(h, "latency"), 180 * GST_MSECOND);
  h.caps("video/x-raw,format=GRAY8,width=64,height=48,framerate=0/1");
  EXPECT_EQ(stat(h, "latency"), 0u);
}

// ---- QoS

// Downstream reports frame `index` as so late that all frames before time `until` are late.
void report_late(Harness& h, int index, int until) {
  gst_harness_push_upstream_event(
      h.get(),
      gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5,
                        (until - index) * static_cast<GstClockTimeDiff>(kFrame), time_of(index)));
}

struct QosStats {
  guint64 processed = 0, dropped = 0;
};
QosStats next_qos(Harness& h) {
  const MessagePtr message = h.message(GST_MESSAGE_QOS);
  QosStats stats;
  if (!message) return stats;
  GstFormat format = GST_FORMAT_UNDEFINED;
  gst_message_parse_qos_stats(message.get(), &format, &stats.processed, &stats.dropped);
  EXPECT_EQ(format, GST_FORMAT_BUFFERS);
  return stats;
}

// Pushes the frames, and returns the numbers of the frames that leave. A frame that follows dropped
// frames must be marked as discontinuous.
std::vector<int> numbers_out(Harness& h, int first, int last) {
  for (int i = first; i <= last; ++i) EXPECT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();
  std::vector<int> left;
  while (h.waiting() > 0) {
    const BufferPtr out = h.pull();
    left.push_back(static_cast<int>(GST_BUFFER_PTS(out.get()) / (40 * GST_MSECOND)));
    const bool is_next = left.back() == (left.size() > 1 ? left[left.size() - 2] + 1 : first);
    EXPECT_EQ(GST_BUFFER_IS_DISCONT(out.get()), !is_next) << "frame " << left.back();
  }
  return left;
}

TEST(Qos, LateFrames_AreDroppedAndReported) {
  for (const char* output : {"none", "overlay", "labels"}) {
    GrayHarness h(std::string("cclabel output=") + output);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
      ASSERT_TRUE(h.pull());
    }
    report_late(h, 2, 5);
    EXPECT_EQ(numbers_out(h, 3, 9), (std::vector<int>{6, 7, 8, 9})) << output;
    for (guint64 k = 1; k <= 3; ++k) {
      const QosStats stats = next_qos(h);
      EXPECT_EQ(stats.processed, 3u) << output;
      EXPECT_EQ(stats.dropped, k) << output;
    }
    EXPECT_EQ(stat(h, "frames-in"), 7u);
    EXPECT_EQ(stat(h, "frames-out"), 7u);
    EXPECT_EQ(stat(h, "frames-late"), 3u);
    EXPECT_EQ(stat(h, "frames-dropped"), 0u);
  }
}

TEST(Qos, QosFalseOrSlidingWindow_LateFramesAreNotDropped) {
  for (const char* line : {"cclabel output=none qos=false",
                           "cclabel output=none depth=3 sliding=true connectivity=6"}) {
    GrayHarness h(line);
    report_late(h, 0, 5);
    EXPECT_EQ(numbers_out(h, 0, 6), (std::vector<int>{0, 1, 2, 3, 4, 5, 6})) << line;
  }
}

TEST(Qos, Flush_AfterALateReport_NoFrameIsDropped) {
  GrayHarness h("cclabel output=none");
  report_late(h, 0, 1000);
  h.flush();
  EXPECT_EQ(numbers_out(h, 0, 2), (std::vector<int>{0, 1, 2}));
}

// All frames up to the reported time plus the delay are late. No frame is late after an early frame
// or a report without a time.
TEST(Qos, QosEvent_FramesUpToItsTimePlusDelayAreDropped) {
  struct Case {
    GstClockTime time;
    GstClockTimeDiff late;
    int left;  // of frames 0 to 4
  };
  const auto ms = [](int n) { return n * GstClockTimeDiff{GST_MSECOND}; };
  for (const auto& [time, late, left] : {Case{2 * kFrame, 0, 2},
                                         {2 * kFrame, ms(-1), 3},
                                         {kFrame, ms(40), 2},
                                         {kFrame, ms(79), 2},
                                         {kFrame, ms(80), 1},
                                         {GST_CLOCK_TIME_NONE, 0, 5}}) {
    GrayHarness h("cclabel output=none");
    gst_harness_push_upstream_event(h.get(),
                                    gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1, late, time));
    for (int i = 0; i < 5; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    h.eos();
    EXPECT_EQ(h.waiting(), static_cast<guint>(left)) << time << " and " << late;
    EXPECT_TRUE(gst_harness_upstream_events_received(h.get()) > 0);
  }
}

// A volume is dropped if its first frame is late: frames 4 to 7, but not frames 0 to 3.
TEST(Qos, LateVolume_IsDroppedAsAWhole) {
  GrayHarness h("cclabel output=none depth=4 connectivity=26");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  report_late(h, 0, 5);
  for (int i = 2; i < 4; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  for (int i = 0; i < 4; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_FALSE(GST_BUFFER_IS_DISCONT(out.get()));
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "depth"), "4");
  }
  EXPECT_EQ(numbers_out(h, 4, 12), (std::vector<int>{8, 9, 10, 11, 12}));
  EXPECT_EQ(stat(h, "frames-late"), 4u);
}

// Frames 0 and 1 begin a volume of four that is dropped. It ends as other volumes do.
TEST(Qos, LateVolume_CapsSegmentFlushOrTimeJump_EndsTheDropping) {
  for (const char* end : {"caps", "segment", "flush", "jump"}) {
    GrayHarness h("cclabel output=none depth=4 connectivity=26");
    report_late(h, 0, 0);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(h.push(gray_with_square(), i), GST_FLOW_OK);
    int first = 2;
    if (std::string(end) == "caps") h.video("GRAY8", kWidth, kHeight, ",pixel-aspect-ratio=2/1");
    if (std::string(end) == "segment") {
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      h.segment(segment);
    }
    if (std::string(end) == "flush") h.flush();
    if (std::string(end) == "jump") first = 1000;
    for (int i = 0; i < 3; ++i) ASSERT_EQ(h.push(gray_with_square(), first + i), GST_FLOW_OK);
    h.eos();
    EXPECT_EQ(h.waiting(), 3u) << end;
    EXPECT_EQ(stat(h, "frames-late"), 2u) << end;
  }
}

TEST(Qos, QosEvent_IsForwardedUpstreamOnce) {
  GrayHarness h("cclabel output=none");
  while (GstEvent* event = gst_harness_try_pull_upstream_event(h.get())) gst_event_unref(event);
  gst_harness_push_upstream_event(
      h.get(), gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 1.5, GST_SECOND, GST_SECOND));
  GstEvent* event = gst_harness_try_pull_upstream_event(h.get());
  ASSERT_TRUE(event);
  EXPECT_EQ(GST_EVENT_TYPE(event), GST_EVENT_QOS);
  GstClockTime time = 0;
  GstClockTimeDiff late = 0;
  gst_event_parse_qos(event, nullptr, nullptr, &late, &time);
  EXPECT_EQ(time, GST_SECOND);
  EXPECT_EQ(late, GstClockTimeDiff{GST_SECOND});
  gst_event_unref(event);
  EXPECT_FALSE(gst_harness_try_pull_upstream_event(h.get()));
}

// ---- frames after pauses, as from a camera: they are pushed on the thread that brought them

constexpr gint64 kPause = 10 * G_USEC_PER_SEC;

// Records the threads on which frames leave, and calls `take` for each frame.
class LeavingThreads {
 public:
  explicit LeavingThreads(
      Harness& h, std::function<void()> take = [] {})
      : take_(std::move(take)), pad_(gst_element_get_static_pad(h.element(), "src")) {
    gst_pad_add_probe(
        pad_, GST_PAD_PROBE_TYPE_BUFFER,
        [](GstPad*, GstPadProbeInfo*, gpointer self) {
          auto& mine = *static_cast<LeavingThreads*>(self);
          {
            const std::lock_guard lock(mine.mutex_);
            mine.threads_.push_back(std::this_thread::get_id());
          }
          mine.take_();
          return GST_PAD_PROBE_OK;
        },
        this, nullptr);
  }
  ~LeavingThreads() { gst_object_unref(pad_); }
  LeavingThreads(const LeavingThreads&) = delete;
  LeavingThreads& operator=(const LeavingThreads&) = delete;

  // For each frame, whether it left on the calling thread.
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

// Pushes frames one by one. Each follows a pause after the previous frame has left.
void push_with_pauses(Harness& h, int first, int count, gint64 pause = kPause) {
  for (int i = first; i < first + count; ++i) {
    advance_clock(pause);
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    ASSERT_TRUE(h.pull());
    // The event also waits until the push has returned.
    gst_harness_push_event(h.get(), gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM,
                                                         gst_structure_new_empty("pushed")));
  }
}

TEST(StreamingThread, FrameAfterAPause_IsPushedByTheInputThread) {
  for (const char* slots : {"0", "1", "4"}) {
    for (const char* output : {"none", "overlay", "labels", "mask"}) {
      GrayHarness h(std::string("cclabel frames-in-flight=") + slots + " output=" + output);
      LeavingThreads leaving(h);
      push_with_pauses(h, 0, 4);
      EXPECT_EQ(leaving.here(), (std::vector{false, true, true, true})) << slots << " " << output;
      h.flush();
      push_with_pauses(h, 4, 2);
      EXPECT_EQ(leaving.here(), (std::vector{false, true, true, true, false, true}));
      EXPECT_EQ(stat(h, "frames-in"), 6u);
      EXPECT_EQ(stat(h, "frames-out"), 6u);
    }
  }
}

TEST(StreamingThread, FrameAfterAPauseBelowThreeLatencies_IsPushedByTheElementsThread) {
  GrayHarness h("cclabel output=none");
  LeavingThreads leaving(h, [] { advance_clock(G_USEC_PER_SEC); });
  push_with_pauses(h, 0, 3, 2 * G_USEC_PER_SEC);
  EXPECT_EQ(leaving.here(), (std::vector{false, false, false}));
  push_with_pauses(h, 3, 2, 4 * G_USEC_PER_SEC);
  EXPECT_EQ(leaving.here(), (std::vector{false, false, false, true, true}));
}

TEST(StreamingThread, OneCpuThread_FramesArePushedByTheInputThread) {
  for (const char* slots : {"0", "1"}) {
    for (const char* output : {"none", "overlay", "labels", "mask"}) {
      GrayHarness h(std::string("cclabel device=cpu cpu-threads=1 frames-in-flight=") + slots +
                    " output=" + output);
      LeavingThreads leaving(h);
      for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
        const BufferPtr out(gst_harness_try_pull(h.get()));
        ASSERT_TRUE(out) << "it leaves before push() returns";
        EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
      }
      EXPECT_EQ(leaving.here(), std::vector<bool>(3, true)) << slots << " " << output;
    }
  }
}

TEST(StreamingThread, OneCpuThreadAndVolumes_ArePushedByTheInputThread) {
  GrayHarness h("cclabel device=cpu cpu-threads=1 output=none depth=2 connectivity=26");
  LeavingThreads leaving(h);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  h.eos();  // ends the third volume, which is not full
  EXPECT_EQ(leaving.here(), std::vector<bool>(5, true));
}

TEST(StreamingThread, OneCpuThreadAndSeveralFramesInFlight_FramesArePushedByTheElementsThread) {
  GrayHarness h("cclabel device=cpu cpu-threads=1 frames-in-flight=2 output=none");
  LeavingThreads leaving(h);
  ASSERT_EQ(h.push(gray_with_square(0), 0), GST_FLOW_OK);
  ASSERT_TRUE(h.pull());
  EXPECT_EQ(leaving.here(), std::vector<bool>{false});
}

// The next volume fills while the previous volume is processed.
TEST(StreamingThread, CompletedVolumes_ArePushedByTheElementsThread) {
  GrayHarness h("cclabel output=none depth=2 connectivity=26");
  LeavingThreads leaving(h);
  for (int i = 0; i < 6; ++i) {
    advance_clock(kPause);
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
    if (i % 2 == 0) continue;
    ASSERT_TRUE(h.pull());
    ASSERT_TRUE(h.pull());
  }
  EXPECT_EQ(leaving.here(), std::vector<bool>(6, false));
}

TEST(StreamingThread, PausesAndBursts_FramesLeaveInOrder) {
  constexpr int kFrames = 90;
  GrayHarness h("cclabel output=labels frames-in-flight=3", "video/x-raw,format=GRAY16_LE");
  for (int i = 0; i < kFrames; ++i) {
    if (i % 5 < 2) advance_clock(kPause);
    ASSERT_EQ(h.push(gray_with_square(i), i), GST_FLOW_OK);
  }
  h.eos();
  for (int i = 0; i < kFrames; ++i) {
    const BufferPtr out = h.pull();
    ASSERT_TRUE(out);
    EXPECT_EQ(GST_BUFFER_PTS(out.get()), time_of(i));
    EXPECT_EQ(region_field(regions_of(out.get()), 0, "x"), std::to_string(8 + i % 16));
  }
  EXPECT_EQ(h.waiting(), 0u);
}

TEST(StreamingThread, DownstreamError_IsReturnedForTheNextFrame) {
  GrayHarness h("cclabel output=none ! identity error-after=3");
  push_with_pauses(h, 0, 2);
  advance_clock(kPause);
  EXPECT_EQ(h.push(gray_with_square(), 2), GST_FLOW_OK);
  advance_clock(kPause);
  EXPECT_EQ(h.push(gray_with_square(), 3), GST_FLOW_ERROR);
}

TEST(StreamingThread, MoreRegionsThanGray8Holds_PostsAnError) {
  GrayHarness h("cclabel output=labels connectivity=4 overflow=error", "video/x-raw,format=GRAY8");
  push_with_pauses(h, 0, 2);
  advance_clock(kPause);
  EXPECT_EQ(h.push(dots(), 2), GST_FLOW_OK);
  EXPECT_NE(h.error_text(), "");
  EXPECT_EQ(h.push(gray_with_square(), 3), GST_FLOW_ERROR);
  EXPECT_EQ(h.waiting(), 0u);
  EXPECT_EQ(stat(h, "frames-dropped"), 1u);
}

TEST(StreamingThread, FlushWhileDownstreamBlocks_PushReturns) {
  GrayHarness h("cclabel output=none");
  push_with_pauses(h, 0, 2);
  GstPad* pad = gst_element_get_static_pad(h.element(), "src");
  std::promise<void> held;
  const gulong probe = gst_pad_add_probe(
      pad, static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BLOCK | GST_PAD_PROBE_TYPE_BUFFER),
      [](GstPad*, GstPadProbeInfo*, gpointer promise) {
        static_cast<std::promise<void>*>(promise)->set_value();
        return GST_PAD_PROBE_OK;
      },
      &held, nullptr);
  advance_clock(kPause);
  std::future<GstFlowReturn> pushed =
      std::async(std::launch::async, [&] { return h.push(gray_with_square(2), 2); });
  held.get_future().wait();
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  pushed.wait();
  gst_pad_remove_probe(pad, probe);
  gst_object_unref(pad);
  h.flush();
  push_with_pauses(h, 3, 3);
  EXPECT_EQ(h.waiting(), 0u);
}

TEST(StreamingThread, LivePipelineChangesStates_HasNoError) {
  const Pipeline pipeline(
      "videotestsrc is-live=true ! video/x-raw,width=64,height=48,framerate=1000/1 ! "
      "cclabel output=none ! regionoverlay ! fakesink name=sink sync=true signal-handoffs=true");
  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink");
  GstBus* bus = gst_element_get_bus(pipeline.get());
  g_signal_connect(
      sink, "handoff", G_CALLBACK(+[](GstElement*, GstBuffer*, GstPad*, GstBus* all) {
        gst_bus_post(all, gst_message_new_application(nullptr, gst_structure_new_empty("frame")));
      }),
      bus);
  const auto kinds = static_cast<GstMessageType>(GST_MESSAGE_APPLICATION | GST_MESSAGE_ERROR);
  for (const GstState state : {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_NULL,
                               GST_STATE_READY, GST_STATE_PAUSED}) {
    gst_bus_set_flushing(bus, TRUE);
    gst_bus_set_flushing(bus, FALSE);
    ASSERT_NE(gst_element_set_state(pipeline.get(), GST_STATE_PLAYING), GST_STATE_CHANGE_FAILURE);
    for (int i = 0; i < 5; ++i) {
      const MessagePtr message(gst_bus_timed_pop_filtered(bus, 20 * GST_SECOND, kinds));
      ASSERT_TRUE(message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_APPLICATION);
    }
    ASSERT_NE(gst_element_set_state(pipeline.get(), state), GST_STATE_CHANGE_FAILURE);
  }
  gst_object_unref(sink);
  gst_object_unref(bus);
}

}  // namespace
}  // namespace regions::test
