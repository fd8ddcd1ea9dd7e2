// Windows (sliding=true): each frame is labelled as the last slice of a volume, and ids stay with
// the regions.
#include <algorithm>
#include <cstring>

#include "core/cclabel/sliding_window.hpp"
#include "cpu/drawing/drawing.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/scenes.hpp"
#include "tests/core/error_message.hpp"

namespace regions {
namespace {

Labelling without_tracks(Labelling labelling) {
  for (Region& r : labelling.regions) r.track = r.id;
  return labelling;
}

class CcLabelWindow : public BackendTest {
 protected:
  static std::vector<StreamFrame> run_on(const std::shared_ptr<Backend>& backend,
                                         const std::vector<ConstFrame>& frames,
                                         const CcLabelParams& params,
                                         const StreamOptions& options) {
    return CcLabelStream(backend, frames[0].layout, frames[0].size(), params, options)
        .run(frames, params);
  }
  // Compares the CPU with the oracle, and CUDA with the CPU.
  std::vector<StreamFrame> check(const std::vector<Picture>& pictures, const CcLabelParams& params,
                                 const StreamOptions& options = {}) {
    SCOPED_TRACE(to_text(params) + " slots=" + std::to_string(options.slots));
    const std::vector<ConstFrame> frames = frames_of(pictures);
    const std::vector<StreamFrame> found = run_on(backend_, frames, params, options);
    if (is_cuda()) {
      StreamOptions one = options;
      one.slots = 1;
      const auto expected = run_on(make_cpu_backend(2), frames, params, one);
      EXPECT_EQ(difference(found, expected, frames[0].width), "");
      return found;
    }
    EXPECT_EQ(found.size(), frames.size());
    for (size_t t = 0; t < found.size(); ++t) {
      SCOPED_TRACE("frame " + std::to_string(t));
      const auto& labelled = options.masks.empty() ? frames : options.masks;
      Labelling expected = label_window_slowly(labelled, t, params, frames[t]);
      EXPECT_EQ(found[t].total, expected.regions.size());
      expected.regions.resize(std::min<size_t>(expected.regions.size(), options.capacity));
      EXPECT_EQ(difference(without_tracks(found[t].labelling), expected, frames[t].width), "");
      const SlowRuns runs =
          runs_slowly(expected.labels, frames[t].width, options.capacity, options.most_runs);
      EXPECT_EQ(difference(found[t].runs, runs.runs), "");
    }
    return found;
  }
};
TEST_ON_BACKENDS(CcLabelWindow);

TEST_P(CcLabelWindow, VariousDepthsAndFilters_LabelsEqualTheLastSliceOfTheFramesAsAVolume) {
  for (const WindowCase& one : window_cases()) {
    check(one.pictures, one.params, {.slots = one.slots});
  }
  for (const int depth : {2, 3, 7}) {
    for (const Connectivity connectivity : kSpatial) {
      CcLabelParams params = window_params(depth);
      params.connectivity = connectivity;
      check(noise_pictures({137, 41}, 17, 0.8), params, {.most_runs = 5000});
      check(noise_pictures({33, 20}, 17, 0.5), params, {.slots = 3});
      check(meeting_pictures(), params, {.slots = 3, .most_runs = 100});
    }
  }
}

TEST_P(CcLabelWindow, SourceMask_LabelsAndRecordsEqualReference) {
  CcLabelParams params = window_params(3);
  params.source = Source::mask;
  const std::vector<Picture> masks = noise_pictures({77, 31}, 9, 0.9);
  check(noise_pictures({77, 31}, 9, 0), params, {.slots = 2, .masks = frames_of(masks)});
}

// More regions than records; large frames that are labelled while others are in flight.
TEST_P(CcLabelWindow, LargeFramesWithFewRecords_LabelsEqualTheLastSliceOfTheFramesAsAVolume) {
  const CcLabelParams params = window_params(5);
  const bool is_large = is_cuda();
  check(noise_pictures(is_large ? Size{320, 180} : Size{160, 90}, 12, 0.9), params,
        {.slots = 4, .capacity = 100});
  if (is_large) check(noise_pictures({1280, 720}, 8, 0.97), params, {.slots = 4});
}

// While the window contains a frame in which the squares touch, they are one region. Before and
// after, both have their own ids.
TEST_P(CcLabelWindow, TwoSquaresTouchAndPart_KeepTheirTracks) {
  const CcLabelParams params = window_params(4);
  const std::vector<StreamFrame> found = check(meeting_pictures(), params);
  for (int t = 0; t < kMeetingFrames; ++t) {
    SCOPED_TRACE("frame " + std::to_string(t));
    const std::vector<Region>& regions = found[t].labelling.regions;
    const bool touched = t >= kMeetingTouches && t < kMeetingParts + params.depth - 1;
    ASSERT_EQ(regions.size(), touched ? 1u : 2u);
    EXPECT_EQ(regions[0].track, 1u);
    if (touched) continue;
    EXPECT_EQ(regions[1].track, 2u);
    EXPECT_EQ(regions[0].left, meeting_left(t));
    EXPECT_EQ(regions[1].left, meeting_right(t));
  }
  EXPECT_EQ(found[kMeetingTouches].events.merges, 1u);
}

TEST_P(CcLabelWindow, OutputLabels_LabelValuesDenseShowsLabelsAndTrackShowsTrackNumbers) {
  for (const CcOutput output :
       {CcOutput::labels, CcOutput::mask, CcOutput::colors, CcOutput::overlay}) {
    for (const LabelValues values : {LabelValues::dense, LabelValues::track}) {
      CcLabelParams params = window_params(3);
      params.output = output;
      params.label_values = values;
      params.overflow = Overflow::saturate;
      const auto format = output == CcOutput::colors ? PixelFormat::rgba : PixelFormat::gray8;
      for (const StreamFrame& frame :
           check(noise_pictures({77, 31}, 8, 0.8), params, {.out = format})) {
        if (output != CcOutput::labels) continue;
        for (size_t i = 0; i < frame.out.size(); ++i) {
          const uint32_t label = frame.labelling.labels[i];
          const bool dense = values == LabelValues::dense || label == 0;
          // A piece shows the track of its object.
          const uint32_t expected =
              dense ? label
                    : frame.labelling.regions[label - 1].track + frame.states[label - 1].part_of;
          ASSERT_EQ(frame.out[i], std::min(expected, 255u));
        }
      }
    }
  }
}

TEST_P(CcLabelWindow, Reset_SameFramesAgain_ResultsEqualThoseOfTheFirstTime) {
  const std::vector<Picture> pictures = noise_pictures({37, 21}, 6, 0.7);
  const CcLabelParams params = window_params(4);
  CcLabelStream stream(backend_, layout_of(PixelFormat::gray8), {37, 21}, params);
  const auto first = stream.run(frames_of(pictures), params);
  stream.reset();
  EXPECT_EQ(difference(stream.run(frames_of(pictures), params), first, 37), "");
}

// The window stores its frames in a ring with two copies. Each frame keeps its position.
TEST(WindowPositions, AnyWindowLength_MemoryHasTheLatestFramesNewestFirst) {
  for (const int depth : {2, 3, 5}) {
    WindowPositions places(depth);
    std::vector<int> memory(static_cast<size_t>(2 * depth), -1);
    for (int t = 0; t < 40; ++t) {
      const WindowPositions::Step step = places.next();
      for (int k = 0; k < step.moved; ++k) memory.at(step.moved_to + k) = memory.at(k);
      memory.at(step.position) = t;
      ASSERT_EQ(step.slices, std::min(t + 1, depth));
      for (int k = 0; k < step.slices; ++k) ASSERT_EQ(memory.at(step.position + k), t - k);
    }
  }
}

// Windows of NV12 pictures with masks, on the CPU.
constexpr Size kSize = {37, 22}, kSmall = {5, 3};
constexpr Colorimetry kColor = {YuvMatrix::bt709, false};
constexpr int kFrames = 10;
constexpr uint32_t kMax = 60, kMaxRuns = 90;

struct Outcome {
  std::vector<uint32_t> labels;
  std::vector<Region> records;
  std::vector<PixelRun> runs;
  uint32_t total = 0, total_runs = 0;
};

class CcLabelNv12Window : public testing::Test {
 protected:
  CcLabelNv12Window() {
    for (int t = 0; t < kFrames; ++t) {
      frames_.push_back(
          convert(pictures_[static_cast<size_t>(t)].frame(), PixelFormat::nv12, kColor, 3));
    }
  }
  static regions::Setup setup(PixelFormat out) {
    regions::Setup setup{.in = layout_of(PixelFormat::nv12), .size = kSize, .color = kColor};
    setup.out = layout_of(out);
    setup.mask = layout_of(PixelFormat::gray8);
    setup.has_output = setup.has_mask = true;
    setup.slots = 2;
    setup.depth = 3;
    setup.slides = setup.tracks = true;
    setup.max_regions = kMax;
    setup.max_runs = kMaxRuns;
    return setup;
  }
  std::unique_ptr<CcLabel> configured(PixelFormat out) {
    auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend_);
    algorithm->configure(setup(out));
    return std::unique_ptr<CcLabel>(static_cast<CcLabel*>(algorithm.release()));
  }
  // Frame t, with the pictures in reverse order as masks.
  Outcome run(CcLabel& algorithm, int t, const CcLabelParams& params, const Frame& out = {},
              uint32_t most = kMax) {
    Outcome outcome;
    outcome.records.resize(most);
    outcome.runs.resize(kMaxRuns);
    GuardedFrame labels(PixelFormat::labels32, kSize, 8);
    const auto at = static_cast<size_t>(t);
    FrameTask task{.slot = t % 2, .in = std::as_const(frames_[at]).frame(), .out = out};
    task.mask = pictures_[kFrames - 1 - at].frame();
    task.labels = labels.labels();
    task.table = {.regions = outcome.records.data(), .capacity = most, .total = &outcome.total};
    task.table.runs = outcome.runs.data();
    task.table.run_capacity = kMaxRuns;
    task.table.run_total = &outcome.total_runs;
    algorithm.enqueue(task, params, *queue_);
    queue_->record();
    queue_->wait();
    outcome.records.resize(std::min(outcome.total, most));
    outcome.runs.resize(std::min(outcome.total_runs, kMaxRuns));
    for (int y = 0; y < kSize.height; ++y) {
      const uint32_t* row = labels.labels().row(y);
      outcome.labels.insert(outcome.labels.end(), row, row + kSize.width);
    }
    EXPECT_TRUE(labels.intact());
    return outcome;
  }
  // The window that began with frame `first`.
  Labelling wanted(int first, int t, const CcLabelParams& params) const {
    std::vector<ConstFrame> window;
    for (int i = first; i <= t; ++i) {
      const int at = params.source == Source::mask ? kFrames - 1 - i : i;
      window.push_back(pictures_[static_cast<size_t>(at)].frame());
    }
    return label_window_slowly(window, window.size() - 1, params,
                               frames_[static_cast<size_t>(t)].frame());
  }
  void expect_wanted(const Outcome& found, const Labelling& expected, uint32_t most = kMax) {
    EXPECT_EQ(found.total, expected.regions.size());
    Labelling known = expected;
    known.regions.resize(std::min<size_t>(known.regions.size(), most));
    EXPECT_EQ(difference(without_tracks({found.labels, found.records}), known, kSize.width), "");
    const auto runs = runs_slowly(expected.labels, kSize.width, most, kMaxRuns);
    EXPECT_EQ(difference(found.runs, runs.runs), "");
  }

  const std::vector<Picture> pictures_ = noise_pictures(kSize, kFrames, 0.88);
  std::vector<GuardedFrame> frames_;
  std::shared_ptr<Backend> backend_ = make_cpu_backend(3);
  std::unique_ptr<Queue> queue_ = backend_->make_queue();
};

TEST_F(CcLabelNv12Window, EveryOutput_ShowsTheRegionsOfTheNewestFrame) {
  for (const CcOutput output : {CcOutput::overlay, CcOutput::colors, CcOutput::mask}) {
    const PixelFormat format = output == CcOutput::overlay  ? PixelFormat::nv12
                               : output == CcOutput::colors ? PixelFormat::bgrx
                                                            : PixelFormat::gray8;
    const auto algorithm = configured(format);
    CcLabelParams params = window_params(3);
    params.output = output;
    for (int t = 0; t < kFrames; ++t) {
      SCOPED_TRACE("output " + std::to_string(static_cast<int>(output)) + ", frame " +
                   std::to_string(t));
      GuardedFrame out(format, kSize, 4, kColor), drawn(format, kSize, 4, kColor);
      const Outcome found = run(*algorithm, t, params, out.frame());
      expect_wanted(found, wanted(0, t, params));
      EXPECT_TRUE(out.intact());
      EXPECT_GT(algorithm->track_events(t % 2).last_id, 0u);
      if (output == CcOutput::overlay) {
        std::vector<uint32_t> memory(ink_bytes(kSize) / sizeof(uint32_t));
        const ConstLabelMap map{found.labels.data(), kSize.width, kSize.height, 4 * kSize.width};
        draw(std::as_const(frames_[static_cast<size_t>(t)]).frame(), drawn.frame(), map,
             found.records, params, ink_in(memory.data(), kSize), Workers(1));
        EXPECT_TRUE(out.same_pixels(drawn));
        continue;
      }
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 0; x < kSize.width; ++x) {
          const uint32_t label = found.labels[static_cast<size_t>(y * kSize.width + x)];
          if (output == CcOutput::mask) {
            ASSERT_EQ(out.frame().sample(0, x, y), label ? 255 : 0);
            continue;
          }
          Rgb color;
          // Regions without a record are not tracked, so they have no colour.
          if (label - 1 < found.records.size()) color = track_color(found.records[label - 1].track);
          ASSERT_EQ(out.frame().sample(0, x, y), color.red);
          ASSERT_EQ(out.frame().sample(1, x, y), color.green);
          ASSERT_EQ(out.frame().sample(2, x, y), color.blue);
        }
      }
    }
  }
}

TEST_F(CcLabelNv12Window, MoreRegionsThanRecords_RecordsStopAtTheCapacity) {
  const auto algorithm = configured(PixelFormat::gray8);
  CcLabelParams params = window_params(3);
  params.output = CcOutput::none;
  for (int t = 0; t < kFrames; ++t) {
    const Labelling all = wanted(0, t, params);
    ASSERT_GT(all.regions.size(), 4u);
    expect_wanted(run(*algorithm, t, params, {}, 4), all, 4);
  }
}

TEST_F(CcLabelNv12Window, SourcePropertyChanges_WindowForgetsEarlierFrames) {
  const auto algorithm = configured(PixelFormat::gray8);
  CcLabelParams params = window_params(3);
  for (int t = 0; t < kFrames; ++t) {
    params.source = t >= 4 && t < 8 ? Source::mask : Source::image;
    const int first = t < 4 ? 0 : t < 8 ? 4 : 8;
    SCOPED_TRACE("frame " + std::to_string(t));
    expect_wanted(run(*algorithm, t, params), wanted(first, t, params));
  }
}

TEST_F(CcLabelNv12Window, ResetAndBeginScene_WindowForgetsEarlierFramesAndOnlyResetRestartsTracks) {
  const auto algorithm = configured(PixelFormat::gray8);
  const CcLabelParams params = window_params(3);
  const auto least_track = [](const Outcome& outcome) {
    uint32_t least = UINT32_MAX;
    for (const Region& r : outcome.records) least = std::min(least, r.track);
    return least;
  };
  uint32_t most = 0;
  for (int t = 0; t < kFrames; ++t) {
    SCOPED_TRACE("frame " + std::to_string(t));
    const int first = t < 4 ? 0 : t < 7 ? 4 : 7;
    if (t == 4) algorithm->begin_scene();
    if (t == 7) algorithm->reset();
    const Outcome found = run(*algorithm, t, params);
    expect_wanted(found, wanted(first, t, params));
    if (t == 4) {
      EXPECT_EQ(least_track(found), most + 1) << "ids go on";
    }
    if (t == 7) {
      EXPECT_EQ(least_track(found), 1u) << "ids begin again";
    }
    most = algorithm->track_events(t % 2).last_id;
  }
}

TEST_F(CcLabelNv12Window, InvalidFrameOrSetup_IsRefusedWithTheReason) {
  const auto algorithm = configured(PixelFormat::gray8);
  const auto answer = [&](void (*ask)(FrameTask & task, CcLabelParams & params)) {
    FrameTask task{.in = std::as_const(frames_[0]).frame()};
    task.mask = pictures_[0].frame();
    CcLabelParams params = window_params(3);
    ask(task, params);
    return error_message_of([&] {
      algorithm->enqueue(task, params, *queue_);
      queue_->record();
      queue_->wait();
    });
  };
  const char* const no_mask =
      "source=mask, but no mask of the frame's size is attached to the frame";
  EXPECT_EQ(answer([](FrameTask&, CcLabelParams&) {}), "");
  EXPECT_EQ(answer([](FrameTask& task, CcLabelParams&) { task.table.capacity = kMax; }), "");
  EXPECT_EQ(answer([](FrameTask& task, CcLabelParams&) { task.table.capacity = kMax + 1; }),
            "the table has a larger capacity than configured");
  EXPECT_EQ(answer([](FrameTask&, CcLabelParams& params) { params.source = Source::mask; }), "");
  EXPECT_EQ(answer([](FrameTask& task, CcLabelParams& params) {
              params.source = Source::mask, task.mask = {};
            }),
            no_mask);
  EXPECT_EQ(answer([](FrameTask& task, CcLabelParams& params) {
              params.source = Source::mask, task.mask.width = 36;
            }),
            no_mask);
  EXPECT_EQ(answer([](FrameTask& task, CcLabelParams&) { task.mask = {}; }), "");
  EXPECT_EQ(answer([](FrameTask&, CcLabelParams& params) { params.sliding = false; }),
            "sliding differs from the configured value");
  EXPECT_EQ(answer([](FrameTask& task, CcLabelParams&) { task.slices = 2; }),
            "a volume of 2 slices; configured for 3");

  regions::Setup large = setup(PixelFormat::gray8);
  const auto configure = [&] { return error_message_of([&] { algorithm->configure(large); }); };
  large.max_regions = 65536;
  EXPECT_EQ(configure(), "settings: track=true supports max-regions up to 65535, not 65536");
  large.max_regions = kMax;
  large.size = {1, 65534};
  large.depth = 16400;  // two copies have more rows than an int counts
  EXPECT_EQ(configure(), "a window of 16400 frames has too many pixels");
}

// Stores the tasks instead of executing them.
class Recorder final : public CcLabel {
 public:
  explicit Recorder(std::vector<FrameTask>& tasks) : tasks_(tasks) {}
  void configure(const Setup&) override {}
  void enqueue(const FrameTask& task, const CcLabelParams&, Queue&) override {
    tasks_.push_back(task);
  }
  TrackEvents track_events(int) const override { return {}; }
  uint32_t passes(int) const override { return 0; }

 private:
  std::vector<FrameTask>& tasks_;
};

class Window final : public SlidingWindow {
 public:
  Window(std::shared_ptr<Backend> backend, std::vector<FrameTask>& tasks)
      : SlidingWindow(std::move(backend), std::make_unique<Recorder>(tasks)) {}
  const WindowLabels& last() const { return last_; }

 private:
  void allocate(const Setup&) override {}
  void slide(const FrameTask& task, const CcLabelParams& params, Queue& queue) override {
    last_ = label_window(task, params, queue);
  }
  void forget(IdNumbering) override {}
  TrackEvents window_events(int) const override { return {}; }
  WindowLabels last_;
};

TEST(SlidingWindow, EachFrame_IsEnqueuedAsAVolumeOfAllFramesInTheWindow) {
  const auto backend = make_cpu_backend(1);
  const auto queue = make_immediate_queue(*backend);
  std::vector<FrameTask> tasks;
  Window window(backend, tasks);
  regions::Setup setup;
  setup.in = layout_of(PixelFormat::gray8);
  setup.size = kSmall;
  setup.depth = 3;
  setup.slides = true;
  window.configure(setup);
  CcLabelParams params;
  params.depth = 3;
  params.connectivity = Connectivity::six;
  params.sliding = true;
  params.output = CcOutput::none;
  const uint32_t* before = nullptr;
  for (int i = 0; i < 2 * 3; ++i) {
    std::vector<std::byte> bytes(packed_bytes(setup.in, kSmall), static_cast<std::byte>(i));
    FrameTask task;
    task.in = packed_frame(setup.in, kSmall, {}, Memory::host, bytes.data());
    window.enqueue(task, params, *queue);
    const int slices = std::min(i + 1, 3);
    ASSERT_EQ(tasks.size(), static_cast<size_t>(i) + 1);
    const FrameTask& volume = tasks.back();
    EXPECT_EQ(volume.slices, slices);
    EXPECT_EQ(volume.in.size(), (Size{kSmall.width, slices * kSmall.height}));
    EXPECT_EQ(volume.labels.width, kSmall.width);
    EXPECT_EQ(volume.labels.height, slices * kSmall.height);
    for (int z = 0; z < slices; ++z) {
      EXPECT_EQ(volume.in.sample(0, 0, z * kSmall.height), i - z) << "slice " << z;
    }
    const WindowLabels& labels = window.last();
    EXPECT_EQ(labels.now.height, slices * kSmall.height);
    EXPECT_EQ(labels.before.height, slices * kSmall.height);
    EXPECT_EQ(labels.newest().height, kSmall.height);
    EXPECT_EQ(labels.shared, slices - 1);
    EXPECT_EQ(labels.now.data, volume.labels.data);
    if (i > 0) {
      EXPECT_EQ(labels.before.data, before);
    }
    before = labels.now.data;
  }
}

}  // namespace
}  // namespace regions
