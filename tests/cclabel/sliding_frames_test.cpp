// Windows of pictures in colour: what is measured, drawn and written of the newest frame; other
// sources, resets and scenes begin other windows; what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/cclabel/runs_oracle.hpp"
#include "tests/cclabel/sliding_scene.hpp"
#include "tests/core/complaint.hpp"

namespace regions {
namespace {

constexpr Size kSize = {37, 22};
constexpr Colorimetry kColor = {YuvMatrix::bt709, false};
constexpr int kFrames = 10;
constexpr uint32_t kMax = 60, kMaxRuns = 90;

struct Outcome {
  std::vector<uint32_t> labels;
  std::vector<Region> records;
  std::vector<PixelRun> runs;
  uint32_t total = 0, total_runs = 0;
};

class SlidingFrames : public testing::Test {
 protected:
  SlidingFrames() {
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
  // Frame t; `mask` is that of the frame in another order.
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
  // What a window over pictures or masks is by definition; frames before `first` are not in it.
  Labelling wanted(int first, int t, const CcLabelParams& params) const {
    const bool is_mask = params.source == Source::mask;
    std::vector<ConstFrame> window;
    for (int i = first; i <= t; ++i) {
      window.push_back(pictures_[static_cast<size_t>(is_mask ? kFrames - 1 - i : i)].frame());
    }
    CcLabelParams plain = params;
    plain.source = Source::image;
    Labelling found = last_of_window_slowly(window, window.size() - 1, plain);
    for (Region& r : found.regions) std::fill_n(r.sum_value, 3, 0);
    const ConstFrame in = frames_[static_cast<size_t>(t)].frame();
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const uint32_t label = found.labels[static_cast<size_t>(y * kSize.width + x)];
        for (int c = 0; c < 3 && label > 0; ++c) {
          found.regions[label - 1].sum_value[c] += static_cast<uint64_t>(in.sample(c, x, y));
        }
      }
    }
    return found;
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

TEST_F(SlidingFrames, OutputsShowTheNewestFramesRegions) {
  for (const CcOutput output : {CcOutput::overlay, CcOutput::colors, CcOutput::mask}) {
    const PixelFormat format = output == CcOutput::overlay  ? PixelFormat::nv12
                               : output == CcOutput::colors ? PixelFormat::bgrx
                                                            : PixelFormat::gray8;
    const auto algorithm = configured(format);
    CcLabelParams params = sliding_params(3);
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

TEST_F(SlidingFrames, RecordsStopAtTheCapacity) {
  const auto algorithm = configured(PixelFormat::gray8);
  CcLabelParams params = sliding_params(3);
  params.output = CcOutput::none;
  for (int t = 0; t < kFrames; ++t) {
    const Labelling all = wanted(0, t, params);
    ASSERT_GT(all.regions.size(), 4u);
    expect_wanted(run(*algorithm, t, params, {}, 4), all, 4);
  }
}

TEST_F(SlidingFrames, AnotherSourceBeginsAnotherWindow) {
  const auto algorithm = configured(PixelFormat::gray8);
  CcLabelParams params = sliding_params(3);
  for (int t = 0; t < kFrames; ++t) {
    params.source = t >= 4 && t < 8 ? Source::mask : Source::image;
    const int first = t < 4 ? 0 : t < 8 ? 4 : 8;
    SCOPED_TRACE("frame " + std::to_string(t));
    expect_wanted(run(*algorithm, t, params), wanted(first, t, params));
  }
}

TEST_F(SlidingFrames, ResetsAndScenesBeginOtherWindows) {
  const auto algorithm = configured(PixelFormat::gray8);
  const CcLabelParams params = sliding_params(3);
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

TEST_F(SlidingFrames, RefusalsNameWhatIsWrong) {
  const auto algorithm = configured(PixelFormat::gray8);
  const auto answer = [&](void (*ask)(FrameTask & task, CcLabelParams & params)) {
    FrameTask task{.in = std::as_const(frames_[0]).frame()};
    task.mask = pictures_[0].frame();
    CcLabelParams params = sliding_params(3);
    ask(task, params);
    return complaint([&] {
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
  const auto configure = [&] { return complaint([&] { algorithm->configure(large); }); };
  large.max_regions = 65536;
  EXPECT_EQ(configure(), "settings: track=true supports max-regions up to 65535, not 65536");
  large.max_regions = kMax;
  large.size = {1, 65534};
  large.depth = 16400;  // 2 of which have more rows than an int counts
  EXPECT_EQ(configure(), "a window of 16400 frames has too many pixels");
}

}  // namespace
}  // namespace regions
