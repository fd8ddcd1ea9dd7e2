// Frames of many kinds in the same slots, unsuitable frames and failed frames.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/faults.hpp"
#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "tests/cclabel/run.hpp"
#include "tests/core/error_message.hpp"
#include "tests/pictures/pictures.hpp"

namespace regions {
namespace {

constexpr Size kSize{93, 77};
constexpr uint32_t kMax = 200, kMaxRuns = 500;

struct Outcome {
  std::vector<uint32_t> labels;
  std::vector<Region> records;
  std::vector<PixelRun> runs;
  uint32_t total = 0, total_runs = 0;
};

template <class T>
bool same_bytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

class CcLabelSlots : public testing::Test {
 protected:
  ~CcLabelSlots() override { inject_faults(nullptr); }

  static regions::Setup setup_for(PixelFormat out, bool tracks = false) {
    regions::Setup setup{.in = layout_of(PixelFormat::rgba), .size = kSize, .slots = 2};
    setup.mask = layout_of(PixelFormat::gray8);
    setup.has_mask = setup.has_output = true;
    setup.out = layout_of(out);
    setup.max_regions = kMax;
    setup.max_runs = kMaxRuns;
    setup.tracks = tracks;
    return setup;
  }
  std::unique_ptr<Algorithm<CcLabelParams>> configured(PixelFormat out, bool tracks = false) {
    auto algorithm = make_algorithm<CcLabelParams, BackendKind::cpu>(backend_);
    algorithm->configure(setup_for(out, tracks));
    return algorithm;
  }
  Outcome run(Algorithm<CcLabelParams>& algorithm, FrameTask task, const CcLabelParams& params,
              bool wants_runs = true) {
    Outcome outcome;
    GuardedFrame labels(PixelFormat::labels32, kSize);
    outcome.records.resize(kMax);
    outcome.runs.resize(kMaxRuns);
    task.labels = labels.labels();
    task.table = {.regions = outcome.records.data(), .capacity = kMax, .total = &outcome.total};
    if (wants_runs) {
      task.table.runs = outcome.runs.data();
      task.table.run_capacity = kMaxRuns;
      task.table.run_total = &outcome.total_runs;
    }
    algorithm.enqueue(task, params, *queue_);
    queue_->record();
    queue_->wait();
    outcome.records.resize(std::min(outcome.total, kMax));
    outcome.runs.resize(std::min(outcome.total_runs, kMaxRuns));
    outcome.labels.assign(labels.labels().data, labels.labels().data + kSize.area());
    return outcome;
  }
  std::shared_ptr<Backend> backend_ = make_cpu_backend(3);
  std::unique_ptr<Queue> queue_ = backend_->make_queue();
};

// Settings of a frame, chosen by its number.
CcLabelParams params_of(uint32_t number) {
  const auto one_in = [&](uint32_t n, uint32_t what) { return hash(number, what) % n == 0; };
  CcLabelParams params;
  params.criterion = static_cast<Criterion>(hash(number, 1) % 3);
  params.source = static_cast<Source>(hash(number, 2) % 3);
  params.connectivity = one_in(2, 3) ? Connectivity::four : Connectivity::eight;
  params.threshold = 0.45;
  params.tolerance = 0.02;
  params.fill_holes = one_in(3, 4) ? 20 : 0;
  params.min_area = one_in(4, 5) ? 5 : 0;
  params.max_area = one_in(4, 6) ? 300 : 0;
  if (one_in(4, 7)) params.seeds = std::vector<double>{10, 10, 40, 60, 92, 76};
  params.style = 1 + hash(number, 8) % 15;
  return params;
}

TEST_F(CcLabelSlots, SlotReusedForOtherFrames_ResultsEqualThoseOfANewAlgorithm) {
  struct Kind {
    CcOutput output;
    PixelFormat out;
  };
  for (const auto& [output, out] : {Kind{CcOutput::overlay, PixelFormat::rgba},
                                    {CcOutput::labels, PixelFormat::gray8},
                                    {CcOutput::colors, PixelFormat::bgr},
                                    {CcOutput::mask, PixelFormat::gray8}}) {
    const auto shared = configured(out);
    for (uint32_t number = 0; number < 40; ++number) {
      CcLabelParams params = params_of(number);
      params.output = output;
      SCOPED_TRACE("frame " + std::to_string(number) + " " + to_text(params));
      const auto content = contents()[number % 21];
      const GuardedFrame in =
          convert(make_picture("clouds", kSize).frame(), PixelFormat::rgba, {}, 3, Tint::noise);
      const Picture mask = make_picture(content, kSize);
      GuardedFrame one(out, kSize), other(out, kSize);
      FrameTask task{.in = in.frame(), .mask = mask.frame(), .out = one.frame()};
      const bool wants_runs = number % 3 > 0;
      const auto alone = configured(out);
      const Outcome wanted = run(*alone, task, params, wants_runs);
      task.out = other.frame();
      task.slot = static_cast<int>(number % 2);
      const Outcome found = run(*shared, task, params, wants_runs);
      EXPECT_EQ(found.total, wanted.total);
      EXPECT_EQ(found.total_runs, wanted.total_runs);
      EXPECT_TRUE(same_bytes(found.labels, wanted.labels));
      EXPECT_TRUE(same_bytes(found.records, wanted.records));
      EXPECT_TRUE(same_bytes(found.runs, wanted.runs));
      EXPECT_TRUE(other.same_pixels(one));
      EXPECT_TRUE(other.intact());
      if (output != CcOutput::overlay) continue;
      GuardedFrame drawn(out, kSize);
      std::vector<uint32_t> memory(ink_bytes(kSize) / sizeof(uint32_t));
      const ConstLabelMap map{wanted.labels.data(), kSize.width, kSize.height, 4 * kSize.width};
      draw(in.frame(), drawn.frame(), map, wanted.records, params, ink_in(memory.data(), kSize),
           Workers(1));
      EXPECT_TRUE(other.same_pixels(drawn));
    }
  }
}

// Complete and incomplete volumes, alternating between pictures and masks.
TEST_F(CcLabelSlots, SlotReusedForOtherVolumes_ResultsEqualThoseOfANewAlgorithm) {
  const auto shared = make_algorithm<CcLabelParams, BackendKind::cpu>(backend_);
  regions::Setup setup{.in = layout_of(PixelFormat::gray8), .size = {40, 22}, .slots = 2};
  setup.mask = layout_of(PixelFormat::gray8);
  setup.has_mask = true;
  setup.depth = 4;
  shared->configure(setup);
  for (int number = 0; number < 24; ++number) {
    CcLabelParams params = params_of(static_cast<uint32_t>(number));
    params.seeds = {};
    params.connectivity = number % 2 ? Connectivity::six : Connectivity::twenty_six;
    if (params.source == Source::alpha) params.source = Source::image;
    params.depth = 4;
    params.output = CcOutput::none;
    const int slices = 1 + number * 7 % 4;
    const Picture in = make_picture("clouds", {40, 22 * slices});
    const Picture mask = make_picture("rand_g4_d50", {40, 22 * slices});
    const RunResult wanted =
        run_on_cpu(2, in.frame(), mask.frame(), params, {.slices = slices, .depth = 4});
    GuardedFrame labels(PixelFormat::labels32, {40, 22 * slices});
    uint32_t total = 0;
    FrameTask task{.slot = number % 2, .slices = slices, .in = in.frame(), .mask = mask.frame()};
    task.labels = labels.labels();
    task.table.total = &total;
    shared->enqueue(task, params, *queue_);
    queue_->record();
    queue_->wait();
    EXPECT_EQ(total, wanted.total) << number;
    EXPECT_TRUE(std::equal(wanted.labelling.labels.begin(), wanted.labelling.labels.end(),
                           labels.labels().data))
        << number << ": " << to_text(params);
    EXPECT_TRUE(labels.intact());
  }
}

TEST_F(CcLabelSlots, Enqueue_InvalidFrame_ThrowsTheReason) {
  const GuardedFrame in(PixelFormat::rgba, kSize), narrow(PixelFormat::gray8, {92, 77});
  const GuardedFrame nv12(PixelFormat::nv12, kSize);
  const auto algorithm = configured(PixelFormat::gray8);
  struct Case {
    const char* text;
    void (*ask)(FrameTask& task, CcLabelParams& params);
  };
  FrameTask good{.in = in.frame()};
  const auto answer = [&](Algorithm<CcLabelParams>& asked, const FrameTask& task,
                          const CcLabelParams& params) {
    return error_message_of([&] {
      asked.enqueue(task, params, *queue_);
      queue_->record();
      queue_->wait();
    });
  };
  for (const auto& [text, ask] :
       {Case{"", [](FrameTask&, CcLabelParams&) {}},
        {"", [](FrameTask&task, CcLabelParams&) { task.slot = 1; }},
        {"there is no slot 2", [](FrameTask&task, CcLabelParams&) { task.slot = 2; }},
        {"there is no slot -1", [](FrameTask&task, CcLabelParams&) { task.slot = -1; }},
        {"source=mask, but no mask of the frame's size is attached to the frame",
         [](FrameTask&, CcLabelParams&params) { params.source = Source::mask; }},
        {"the table has a larger capacity than configured",
         [](FrameTask&task, CcLabelParams&) { task.table.capacity = kMax + 1; }},
        {"", [](FrameTask&task, CcLabelParams&) { task.table.capacity = kMax; }},
        {"", [](FrameTask&, CcLabelParams&params) { params.source = Source::alpha; }},
        {"track=true, but tracking was not configured",
         [](FrameTask&, CcLabelParams&params) { params.track = true; }},
        {"settings: method=sweep runs on CUDA only; the CPU supports method=union-find",
         [](FrameTask&, CcLabelParams&params) { params.method = Method::sweep; }}}) {
    FrameTask task = good;
    CcLabelParams params;
    params.output = CcOutput::none;
    ask(task, params);
    EXPECT_EQ(answer(*algorithm, task, params), text);
  }
  CcLabelParams params;
  params.source = Source::mask;
  good.mask = narrow.frame();
  EXPECT_EQ(answer(*algorithm, good, params),
            "source=mask, but no mask of the frame's size is attached to the frame");
  const auto opaque = make_algorithm<CcLabelParams, BackendKind::cpu>(backend_);
  opaque->configure({.in = layout_of(PixelFormat::nv12), .size = kSize});
  params.source = Source::alpha;
  EXPECT_EQ(answer(*opaque, {.in = nv12.frame()}, params),
            "source=alpha, but NV12 has no alpha channel");
}

// A frame whose work fails does not change the tracks, but a pending reset or new scene takes
// effect.
TEST_F(CcLabelSlots, FailedFrame_NextFrameContinuesTracksUnlessResetOrNewSceneWasRequested) {
  const auto block = [](int left) {
    GuardedFrame picture(PixelFormat::rgba, kSize);
    for (int y = 0; y < kSize.height; ++y) {
      for (int x = 0; x < kSize.width; ++x) {
        const bool inside = x >= left && x < left + 20 && y >= 20 && y < 50;
        for (int c = 0; c < 4; ++c) picture.frame().set_sample(c, x, y, inside ? 255 : 0);
      }
    }
    return picture;
  };
  CcLabelParams params;
  params.output = CcOutput::none;
  params.track = true;
  const auto algorithm = configured(PixelFormat::gray8, true);
  const auto id_of = [&](int left) {
    const GuardedFrame picture = block(left);
    const Outcome outcome = run(*algorithm, {.in = picture.frame()}, params);
    EXPECT_EQ(outcome.total, 1u);
    return outcome.records.at(0).track;
  };
  const auto fail = [&] {
    inject_faults("work=1");
    EXPECT_THROW(id_of(5), DeviceError);
    inject_faults(nullptr);
  };
  EXPECT_EQ(id_of(3), 1u);
  fail();
  EXPECT_EQ(id_of(6), 1u) << "a frame that failed in between loses no track";
  algorithm->begin_scene();
  fail();
  EXPECT_EQ(id_of(6), 2u) << "the scene that the failed frame began is another";
  algorithm->reset();
  fail();
  EXPECT_EQ(id_of(6), 1u) << "ids begin again where the failed frame was the first";
  params.track = false;
  EXPECT_EQ(id_of(6), 1u) << "the label";
  params.track = true;
  EXPECT_EQ(id_of(6), 2u) << "tracks end where none are followed, and ids go on";
  algorithm->configure(setup_for(PixelFormat::gray8, true));
  EXPECT_EQ(id_of(6), 3u) << "so they do with another setup";
  algorithm->reset();
  algorithm->configure(setup_for(PixelFormat::gray8, true));
  EXPECT_EQ(id_of(6), 1u) << "but not where that follows a reset";
}

// The frames of three slots are executed at the same time; the parameters change in every round.
using CcLabelConcurrentSlots = BackendTest;
TEST_ON_BACKENDS(CcLabelConcurrentSlots);

TEST_P(CcLabelConcurrentSlots, EachFrameHasOtherParameters_LabelsEqualReference) {
  constexpr Size kLarge = {501, 333};
  const auto algorithm = make_algorithm_on<CcLabelParams>(backend_);
  const Layout& gray = layout_of(PixelFormat::gray8);
  algorithm->configure({.in = gray, .size = kLarge, .slots = 3, .max_regions = 100});
  std::vector<std::unique_ptr<Queue>> queues;
  for (int s = 0; s < 3; ++s) queues.push_back(backend_->make_queue());
  for (int round = 0; round < 5; ++round) {
    std::vector<Picture> pictures;
    std::vector<DeviceFrame> inputs, outputs;
    std::vector<CcLabelParams> params(3);
    const Block totals = backend_->allocate_pinned(3 * sizeof(uint32_t));
    auto* total = totals.as<uint32_t>();
    for (int s = 0; s < 3; ++s) {
      pictures.push_back(make_picture(contents()[static_cast<size_t>(round * 3 + s)], kLarge));
      inputs.emplace_back(*backend_, *queues[s], PixelFormat::gray8, kLarge, 0);
      inputs.back().upload(pictures[s].frame());
      outputs.emplace_back(*backend_, *queues[s], PixelFormat::labels32, kLarge, 0);
      params[s].criterion = static_cast<Criterion>((round + s) % 3);
      params[s].fill_holes = round % 2 * 9;
    }
    for (int s = 0; s < 3; ++s) {
      FrameTask task{.slot = s, .in = inputs[s].frame()};
      task.labels = outputs[s].frame().plane_as<uint32_t>(0, kLarge.width, kLarge.height);
      task.table.total = &total[s];
      algorithm->enqueue(task, params[s], *queues[s]);
      queues[s]->record();
    }
    for (int s = 0; s < 3; ++s) {
      queues[s]->wait();
      const Labelling expected = label_slowly(pictures[s].frame(), {}, params[s]);
      EXPECT_EQ(total[s], expected.regions.size());
      bool intact = false;
      GuardedFrame map = outputs[s].download(&intact);
      const uint32_t* first = map.labels().data;
      EXPECT_TRUE(intact && std::equal(expected.labels.begin(), expected.labels.end(), first));
    }
  }
}

}  // namespace
}  // namespace regions
