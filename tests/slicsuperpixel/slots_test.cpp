// Frames of many kinds through the same slots, each as if it were alone; what is drawn; refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/faults.hpp"
#include "cpu/backend.hpp"
#include "cpu/drawing/drawing.hpp"
#include "tests/core/complaint.hpp"
#include "tests/slicsuperpixel/run.hpp"

namespace regions {
namespace {

constexpr Size kSize = {131, 87};

struct Outcome {
  std::vector<uint32_t> labels;
  std::vector<Region> records;
  std::vector<Moments> moments;
  std::vector<Border> borders;
  uint32_t total = 0, border_count = 0;
};

bool same(const Outcome& a, const Outcome& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0;
  };
  return a.total == b.total && a.border_count == b.border_count && equal(a.labels, b.labels) &&
         equal(a.records, b.records) && equal(a.moments, b.moments) && equal(a.borders, b.borders);
}

class SlicSlots : public testing::Test {
 protected:
  ~SlicSlots() override { inject_faults(nullptr); }

  std::unique_ptr<Algorithm<SlicParams>> configured(int slots, bool borders = true) {
    auto algorithm = make_algorithm<SlicParams, BackendKind::cpu>(backend_);
    regions::Setup setup{.in = layout_of(PixelFormat::rgb), .size = kSize, .slots = slots};
    setup.color = {YuvMatrix::bt709, false};
    setup.out = setup.in;
    setup.has_output = true;
    setup.max_regions = 300;
    setup.has_borders = borders;
    algorithm->configure(setup);
    return algorithm;
  }
  // A frame whose table holds `most` records.
  Outcome run(Algorithm<SlicParams>& algorithm, int slot, const ConstFrame& in, const Frame& out,
              const SlicParams& params, uint32_t most) {
    Outcome outcome;
    GuardedFrame labels(PixelFormat::labels32, kSize);
    outcome.records.resize(most);
    outcome.moments.resize(most);
    outcome.borders.resize(max_borders(most));
    FrameTask job{.slot = slot, .in = in, .out = out, .labels = labels.labels()};
    job.table = {outcome.records.data(), most,
                 &outcome.total,         outcome.moments.data(),
                 outcome.borders.data(), &outcome.border_count};
    algorithm.enqueue(job, params, *queue_);
    queue_->record();
    queue_->wait();
    const size_t known = std::min(outcome.total, most);
    outcome.records.resize(known);
    outcome.moments.resize(known);
    outcome.borders.resize(outcome.border_count);
    outcome.labels.assign(labels.labels().data, labels.labels().data + kSize.area());
    return outcome;
  }
  std::shared_ptr<Backend> backend_ = make_cpu_backend(3);
  std::unique_ptr<Queue> queue_ = backend_->make_queue();
};

TEST_F(SlicSlots, FramesKnowNothingOfThoseBefore) {
  const auto shared = configured(2);
  int number = 0;
  for (const SlicCase& task : small_cases()) {
    if (!(task.size == kSize) || task.format != PixelFormat::rgb) continue;
    SCOPED_TRACE(task.name());
    SlicParams params = task.params();
    params.output = number % 3 == 0 ? SlicOutput::mean : SlicOutput::overlay;
    params.style = 1 + static_cast<uint32_t>(number) % 15;
    const GuardedFrame in = task.frame(number % 4);
    GuardedFrame one(PixelFormat::rgb, kSize), other(PixelFormat::rgb, kSize);
    const uint32_t most = number % 5 == 0 ? 10 : 300;
    const auto alone = configured(1);
    const Outcome wanted = run(*alone, 0, in.frame(), one.frame(), params, most);
    EXPECT_TRUE(same(run(*shared, number % 2, in.frame(), other.frame(), params, most), wanted));
    if (most == 300 && wanted.total <= 300) {
      EXPECT_TRUE(other.same_pixels(one));
    }
    if (params.output == SlicOutput::overlay) {
      GuardedFrame drawn(PixelFormat::rgb, kSize);
      std::vector<uint32_t> memory(ink_bytes(kSize) / sizeof(uint32_t));
      const ConstLabelMap map{wanted.labels.data(), kSize.width, kSize.height, 4 * kSize.width};
      draw(in.frame(), drawn.frame(), map, wanted.records, params, ink_in(memory.data(), kSize),
           Workers(1));
      EXPECT_TRUE(other.same_pixels(drawn));
    }
    ++number;
  }
  EXPECT_GT(number, 60);
}

// Superpixels without a record keep their pixels; without a table the configured number is there.
TEST_F(SlicSlots, MeansOfThoseThatAreRecorded) {
  const GuardedFrame in = SlicCase{"scene", kSize}.frame();
  SlicParams params;
  params.output = SlicOutput::mean;
  params.region_size = 4;
  const auto algorithm = configured(1);
  GuardedFrame picture = SlicCase{"scene", kSize}.frame();
  const Outcome found = run(*algorithm, 0, picture.frame(), picture.frame(), params, 40);
  ASSERT_GT(found.total, 300u);
  GuardedFrame without_table = SlicCase{"scene", kSize}.frame();
  FrameTask job{.slot = 0, .in = without_table.frame(), .out = without_table.frame()};
  algorithm->enqueue(job, params, *queue_);
  queue_->record();
  queue_->wait();
  for (int y = 0; y < kSize.height; ++y) {
    for (int x = 0; x < kSize.width; ++x) {
      const uint32_t label = found.labels[static_cast<size_t>(y * kSize.width + x)];
      for (int c = 0; c < 3; ++c) {
        int wanted = in.frame().sample(c, x, y);
        if (label > 300) {
          ASSERT_EQ(without_table.frame().sample(c, x, y), wanted);
        }
        if (label <= 40) {
          const Region& r = found.records[label - 1];
          wanted = static_cast<int>(std::lround(r.mean(r.sum_value[c])));
          ASSERT_EQ(without_table.frame().sample(c, x, y), wanted);
        }
        ASSERT_EQ(picture.frame().sample(c, x, y), wanted) << label;
      }
    }
  }
  EXPECT_FALSE(without_table.same_pixels(picture)) << "more are painted where more are recorded";
}

// With warm-start a frame begins as the last one ended, or, after whatever makes that of no use, as
// if it were the first.
TEST_F(SlicSlots, WarmStartsBeginAfreshWhereTheyMust) {
  struct Change {
    const char* setting;  // of the second frame
    bool afresh;
  };
  const GuardedFrame in = SlicCase{"scene", kSize}.frame();
  const auto labels_of = [&](Algorithm<SlicParams>& algorithm, const SlicParams& params) {
    GuardedFrame out(PixelFormat::rgb, kSize);
    return run(algorithm, 0, in.frame(), out.frame(), params, 300).labels;
  };
  for (const auto& [setting, afresh] : {Change{"compactness=9", false},
                                        {"iterations=2", false},
                                        {"region-size=15", true},
                                        {"color-space=rgb", true},
                                        {"variant=slico", true}}) {
    SlicParams params;
    params.output = SlicOutput::none;
    params.warm_start = true;
    params.iterations = 1;
    const auto algorithm = configured(1), fresh = configured(1);
    labels_of(*algorithm, params);
    const std::string text = setting;
    const size_t equals = text.find('=');
    assign_text(find(fields_of(params), text.substr(0, equals)), &params, text.substr(equals + 1));
    const auto first = labels_of(*fresh, params);
    EXPECT_EQ(labels_of(*algorithm, params) == first, afresh) << setting;
    algorithm->reset();
    EXPECT_EQ(labels_of(*algorithm, params), first) << setting << ": reset() forgets";
    EXPECT_NE(labels_of(*algorithm, params), first) << setting << ": an iteration more";
    // Cold frames neither use what is known nor change it.
    const auto third = labels_of(*fresh, params);
    params.warm_start = false;
    EXPECT_EQ(labels_of(*fresh, params), first) << setting;
    params.warm_start = true;
    EXPECT_EQ(labels_of(*fresh, params), labels_of(*algorithm, params)) << setting;
    inject_faults("work=1");
    EXPECT_THROW(labels_of(*fresh, params), DeviceError);
    inject_faults(nullptr);
    EXPECT_EQ(labels_of(*fresh, params), first) << setting << ": nothing to start from";
    EXPECT_EQ(labels_of(*fresh, params), third) << setting;
  }
}

// Of a picture that stands still, iterations go on from frame to frame as if they were one frame's,
// as long as no cluster strays from its cell.
TEST_F(SlicSlots, WarmStartsGoOnWithTheIterations) {
  const GuardedFrame in = SlicCase{"scene", kSize}.frame();
  using Settings = std::vector<std::string>;
  for (Settings settings : {Settings{"region-size=16"},
                            {"region-size=33"},
                            {"color-space=rgb"},
                            {"color-space=luma"},
                            {"row-step=1"},
                            {"compactness=30"},
                            {"region-size=2", "compactness=200"},
                            {"region-size=3", "compactness=100"},
                            {"region-size=8", "compactness=100", "row-step=1"}}) {
    for (const char* variant : {"variant=slic", "variant=slico"}) {
      // Of the smallest cells slico's do stray: it does not heed so great a compactness.
      if (settings.size() == 2 && variant == std::string("variant=slico")) continue;
      settings.emplace_back(variant);
      const SlicCase task = {"scene", kSize, settings};
      SCOPED_TRACE(task.name());
      SlicParams params = task.params();
      const auto algorithm = configured(1);
      const auto labels_of = [&](bool warm, int64_t iterations) {
        GuardedFrame out(PixelFormat::rgb, kSize);
        params.warm_start = warm;
        params.iterations = iterations;
        return run(*algorithm, 0, in.frame(), out.frame(), params, 300).labels;
      };
      const int64_t first = 2 * params.row_step;  // so that the same rows take turns
      labels_of(true, first);
      EXPECT_TRUE(labels_of(true, 3) == labels_of(false, first + 3));
      settings.pop_back();
    }
  }
}

// Flat clusters have one piece each, so tracks are the clusters' numbers, each once.
TEST_F(SlicSlots, TracksOfFlatPicturesAreTheCells) {
  const GuardedFrame in = SlicCase{"empty", kSize}.frame();
  SlicParams params;
  params.output = SlicOutput::none;
  params.warm_start = true;
  const auto algorithm = configured(1);
  for (int frame = 0; frame < 3; ++frame) {
    GuardedFrame out(PixelFormat::rgb, kSize);
    const Outcome found = run(*algorithm, 0, in.frame(), out.frame(), params, 300);
    const auto cells = static_cast<uint32_t>(grid_of(kSize, params).cells());
    ASSERT_EQ(found.total, cells);
    std::vector<int> uses(cells);
    for (const Region& r : found.records) {
      ASSERT_LE(r.track, cells);
      EXPECT_EQ(++uses[r.track - 1], 1) << "track " << r.track;
    }
  }
}

TEST_F(SlicSlots, RefusalsNameWhatIsWrong) {
  const auto algorithm = configured(1, false);
  const GuardedFrame in(PixelFormat::rgb, kSize), gray(PixelFormat::gray8, kSize),
      narrow(PixelFormat::rgb, {kSize.width - 1, kSize.height});
  FrameTask job{.in = in.frame()};
  SlicParams params;
  params.output = SlicOutput::none;
  const auto answer = [&] {
    return complaint([&] {
      algorithm->enqueue(job, params, *queue_);
      queue_->record();
      queue_->wait();
    });
  };
  EXPECT_EQ(answer(), "");
  job.table.capacity = 300;
  EXPECT_EQ(answer(), "");
  job.table.capacity = 301;
  EXPECT_EQ(answer(), "the table has a larger capacity than configured");
  job.table.capacity = 300;
  Border border;
  job.table.borders = &border;
  EXPECT_EQ(answer(), "borders are requested but were not configured");
  job.table.borders = nullptr;
  params.method = SlicMethod::ece1782;
  EXPECT_EQ(answer(), "method=report runs on CUDA only; the CPU supports method=fused");
  params.method = SlicMethod::fused;
  for (const GuardedFrame* other : {&gray, &narrow}) {
    job.in = other->frame();
    EXPECT_EQ(answer(), "the frame differs from the configured size or format");
  }
}

}  // namespace
}  // namespace regions
