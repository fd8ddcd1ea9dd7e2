// Minimum cuts on the CPU against the oracle, and against the certificate: the cut of the mask is
// worth the flow, so both are optimal. Run one case alone with --gtest_filter.
#include <gtest/gtest.h>

#include <limits>

#include "core/maxflow/warm_start_tuner.hpp"
#include "cpu/backend.hpp"
#include "tests/core/complaint.hpp"
#include "tests/maxflow/graphs.hpp"
#include "tests/maxflow/oracle.hpp"

namespace regions {
namespace {

constexpr uint8_t kUntouched = 7;

// A solver, its queue, and the mask and report of the last frame.
class Cutter {
 public:
  Cutter(Size size, Neighbours neighbours, int threads)
      : backend_(make_cpu_backend(threads)),
        queue_(backend_->make_queue()),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)),
        size_(size),
        neighbours_(neighbours),
        mask_(static_cast<size_t>(pitch()) * static_cast<size_t>(size.height), kUntouched) {
    cut_->configure(size, neighbours, 1);
  }

  const CutResult& solve(const OwnedGraph& graph, const CutLimits& limits = {}) {
    report_ = {};
    cut_->enqueue(graph.graph(neighbours_), mask(), limits, &report_, 0, *queue_);
    queue_->record();
    queue_->wait();
    for (int y = 0; y < size_.height; ++y) {
      for (int x = size_.width; x < pitch(); ++x) EXPECT_EQ(mask().row(y)[x], kUntouched);
    }
    return report_;
  }

  Image<uint8_t> mask() { return {mask_.data(), size_.width, size_.height, pitch()}; }
  std::vector<uint8_t> pixels() {
    std::vector<uint8_t> tight;
    for (int y = 0; y < size_.height; ++y) {
      tight.insert(tight.end(), mask().row(y), mask().row(y) + size_.width);
    }
    return tight;
  }
  GridCut& cut() { return *cut_; }
  Queue& queue() { return *queue_; }

 private:
  int pitch() const { return size_.width + 5; }

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<GridCut> cut_;
  Size size_;
  Neighbours neighbours_;
  std::vector<uint8_t> mask_;
  CutResult report_;
};

constexpr Neighbours kBoth[] = {Neighbours::four, Neighbours::eight};

void expect_certified(Cutter& cutter, const OwnedGraph& graph, Neighbours neighbours) {
  const CutResult& report = cutter.solve(graph);
  EXPECT_TRUE(report.exact);
  EXPECT_EQ(report.gap, 0);
  EXPECT_EQ(report.flow, cut_value(graph.graph(neighbours), cutter.mask()));
}

void expect_as_oracle(const OwnedGraph& graph, Neighbours neighbours, int threads) {
  SCOPED_TRACE(testing::Message() << graph.size().width << "x" << graph.size().height << ", "
                                  << static_cast<int>(neighbours) << " neighbours, " << threads
                                  << " threads");
  Cutter cutter(graph.size(), neighbours, threads);
  expect_certified(cutter, graph, neighbours);
  const OracleCut oracle = oracle_cut(graph.graph(neighbours));
  EXPECT_EQ(cutter.solve(graph).flow, oracle.flow);
  EXPECT_EQ(cutter.pixels(), oracle.foreground);
}

TEST(CpuMaxflow, RandomGridsAsTheOracle) {
  constexpr int32_t kHuge = std::numeric_limits<int32_t>::max();
  constexpr int32_t kMax[] = {2, 9, 300, 3000, 40000, 200000000, kHuge};
  Dice dice(1);
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Size size{dice.roll(1, 14), seed % 3 == 0 ? dice.roll(30, 50) : dice.roll(1, 14)};
    const OwnedGraph graph = random_graph(size, kMax[seed % 7], dice.roll(0, 6), seed % 2, seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_as_oracle(graph, kBoth[seed / 7 % 2], 1 + static_cast<int>(seed / 14 % 3));
    if (HasFailure()) break;
  }
}

TEST(CpuMaxflow, ExtremeWeights) {
  constexpr int32_t kLow = std::numeric_limits<int32_t>::min();
  constexpr int32_t kHigh = std::numeric_limits<int32_t>::max();
  OwnedGraph graph({9, 40});
  Dice dice(5);
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 9; ++x) {
      graph.array(0)(x, y) = dice.roll(0, 1) ? kHigh : kLow;
      for (int i = 1; i < 5; ++i) graph.array(i)(x, y) = kHigh;
    }
  }
  for (const Neighbours neighbours : kBoth) expect_as_oracle(graph, neighbours, 2);
}

TEST(CpuMaxflow, EnergiesAsTheOracle) {
  for (const Size size : {Size{47, 35}, Size{1, 70}, Size{70, 1}, Size{33, 64}}) {
    for (const Neighbours neighbours : kBoth) {
      for (const int threads : {1, 2, 3}) {
        expect_as_oracle(background_difference(size, 11), neighbours, threads);
        expect_as_oracle(grabcut(size, 12), neighbours, threads);
        expect_as_oracle(maze(size), neighbours, threads);
        expect_as_oracle(checkerboard(size), neighbours, threads);
      }
    }
  }
}

// Larger ones, by the certificate; the mask does not depend on the threads.
TEST(CpuMaxflow, ThreadsAgree) {
  const Size size{203, 151};
  for (const Neighbours neighbours : kBoth) {
    for (const auto& graph : {background_difference(size, 1), grabcut(size, 2), maze(size),
                              checkerboard(size), random_graph(size, 100, 2, false, 3)}) {
      Cutter one(size, neighbours, 1);
      expect_certified(one, graph, neighbours);
      for (const int threads : {2, 3, 7}) {
        Cutter more(size, neighbours, threads);
        expect_certified(more, graph, neighbours);
        EXPECT_EQ(one.pixels(), more.pixels()) << threads << " threads";
      }
    }
  }
}

TEST(CpuMaxflow, WarmEqualsCold) {
  const Size size{90, 70};
  constexpr CutLimits kWarm{0, 0, true};
  for (const Neighbours neighbours : kBoth) {
    for (const int threads : {1, 2}) {
      Cutter warm(size, neighbours, threads);
      for (uint64_t frame = 0; frame < 12; ++frame) {
        // The energies change altogether now and then, also to other numbers' widths.
        const OwnedGraph graph = frame == 5   ? grabcut(size, frame)
                                 : frame == 8 ? random_graph(size, 100000, 1, false, frame)
                                              : background_difference(size, frame / 2);
        Cutter cold(size, neighbours, threads);
        expect_certified(cold, graph, neighbours);
        const CutResult& report = warm.solve(graph, kWarm);
        EXPECT_TRUE(report.exact);
        EXPECT_EQ(report.flow, cut_value(graph.graph(neighbours), cold.mask()));
        EXPECT_EQ(warm.pixels(), cold.pixels()) << "frame " << frame;
      }
    }
  }
}

TEST(CpuMaxflow, WarmStartsAreTakenWhereTheyAreFaster) {
  using std::chrono::milliseconds;
  maxflow::WarmStartTuner choice;
  const auto share_of_warm = [&](int cold, int warm) {
    int taken = 0;
    for (int i = 0; i < 640; ++i) {
      const bool is_warm = choice.use_warm_start();
      choice.record_time(is_warm, milliseconds(is_warm ? warm : cold));
      taken += is_warm;
    }
    return taken;
  };
  choice.record_time(false, milliseconds(1));  // an empty first frame
  EXPECT_GE(share_of_warm(30, 10), 540);
  EXPECT_LE(share_of_warm(10, 30), 80) << "the scene changed";
  EXPECT_GE(share_of_warm(30, 10), 580) << "and again";
  EXPECT_LE(share_of_warm(10, 10), 90) << "no difference: cold";
}

// A cut that stops early bounds the optimum from both sides, and warm calls get there.
TEST(CpuMaxflow, EarlyStopGoesOn) {
  const Size size{120, 90};
  const OwnedGraph graph = grabcut(size, 3);
  for (const Neighbours neighbours : kBoth) {
    for (const int threads : {1, 2}) {
      Cutter exact(size, neighbours, threads);
      const int64_t optimum = exact.solve(graph).flow;
      Cutter cutter(size, neighbours, threads);
      const CutResult first = cutter.solve(graph, {2, 0, false});
      EXPECT_FALSE(first.exact);
      EXPECT_LE(first.flow, optimum);
      EXPECT_EQ(first.flow + first.gap, cut_value(graph.graph(neighbours), cutter.mask()));
      EXPECT_GE(first.flow + first.gap, optimum);
      CutResult last = first;
      // n passes reach paths of n links: a limit that stays may stay short of the last ones.
      for (int passes = 4; passes <= 4096 && !last.exact; passes *= 2) {
        const int64_t before = last.flow;
        last = cutter.solve(graph, {passes, 0, true});
        EXPECT_GE(last.flow, before);
      }
      EXPECT_TRUE(last.exact);
      EXPECT_EQ(last.flow, optimum);
      EXPECT_EQ(cutter.pixels(), exact.pixels());
    }
  }
}

TEST(CpuMaxflow, TimeBudgetIsKept) {
  const Size size{400, 300};
  const OwnedGraph graph = random_graph(size, 100, 0, false, 8);
  Cutter cutter(size, Neighbours::eight, 1);
  const CutResult report = cutter.solve(graph, {0, 1, false});
  EXPECT_FALSE(report.exact);
  EXPECT_EQ(report.flow + report.gap, cut_value(graph.graph(Neighbours::eight), cutter.mask()));
}

TEST(CpuMaxflow, ResetForgets) {
  const Size size{64, 48};
  Cutter cutter(size, Neighbours::four, 1);
  const OwnedGraph graph = grabcut(size, 4);
  const CutResult cold = cutter.solve(graph);
  cutter.cut().reset();
  EXPECT_EQ(cutter.solve(graph, {0, 0, true}).iterations, cold.iterations);
  // Nothing is left to do from the same frame's own solution.
  EXPECT_LT(cutter.solve(graph, {0, 0, true}).iterations, cold.iterations);
}

// Weights as large as the numbers of each width hold, and one more; the next frame is small again.
TEST(CpuMaxflow, NumbersWidenAtTheirLimits) {
  const int64_t limits[] = {(1 << 15) - 1, int64_t{std::numeric_limits<int32_t>::max()}};
  for (const Neighbours neighbours : kBoth) {
    for (const int64_t limit : limits) {
      Cutter cutter({1, 3}, neighbours, 1);
      for (int64_t most = limit - 40; most <= limit + 40; most += most < limit - 3 ? 9 : 1) {
        OwnedGraph graph({1, 3});
        const auto link = static_cast<int32_t>(most / 5);
        const auto terminal = static_cast<int32_t>(most - 2 * link);
        graph.array(0)(0, 0) = terminal;
        graph.array(0)(0, 1) = terminal;  // with a link either way: `most`
        graph.array(0)(0, 2) = -terminal;
        for (int y = 0; y < 2; ++y) graph.array(2)(0, y) = link;
        for (const bool warm : {false, true}) {
          const CutResult report = cutter.solve(graph, {0, 0, warm});
          EXPECT_TRUE(report.exact);
          EXPECT_EQ(report.flow, link) << most << " of " << limit << ", warm " << warm;
          EXPECT_EQ(cutter.pixels(), (std::vector<uint8_t>{255, 255, 0}));
        }
      }
    }
  }
}

// Rows that no thread shares with another, one more and one less, and more strips than there can
// be.
TEST(CpuMaxflow, StripsOfAnyHeight) {
  for (const int height : {1, 15, 16, 17, 31, 32, 33, 48, 129, 140}) {
    const Size size{5, height};
    const OwnedGraph graph = random_graph(size, 20, 1, false, static_cast<uint64_t>(height));
    for (const Neighbours neighbours : kBoth) {
      for (const int threads : {2, 5}) expect_as_oracle(graph, neighbours, threads);
    }
  }
}

TEST(CpuMaxflow, RefusesBadInput) {
  constexpr Size kSize{8, 6};
  Cutter cutter(kSize, Neighbours::eight, 1);
  const OwnedGraph good = random_graph(kSize, 10, 0, false, 1), tall({8, 7});
  CutResult report;
  const auto answer = [&](const GridGraph& graph, Image<uint8_t> mask) {
    return complaint([&] {
      cutter.cut().enqueue(graph, mask, {}, &report, 0, cutter.queue());
      cutter.queue().record();
      cutter.queue().wait();
    });
  };
  const GridGraph graph = good.graph(Neighbours::eight);
  EXPECT_EQ(answer(graph, cutter.mask()), "");
  EXPECT_EQ(answer(good.graph(Neighbours::four), cutter.mask()),
            "neighbours differs from the configured value");
  const std::pair<const char*, Image<const int32_t> GridGraph::*> images[] = {
      {"terminal weights", &GridGraph::terminal},
      {"capacities to the right", &GridGraph::right},
      {"capacities down", &GridGraph::down},
      {"capacities down right", &GridGraph::down_right},
      {"capacities down left", &GridGraph::down_left}};
  for (int i = 0; i < 5; ++i) {
    const std::string refused =
        std::string(images[i].first) + " are missing or have the wrong size";
    GridGraph other = graph;
    (other.*images[i].second).width = 7;
    EXPECT_EQ(answer(other, cutter.mask()), refused);
    (other.*images[i].second) = {};
    EXPECT_EQ(answer(other, cutter.mask()), refused);
    if (i == 0) continue;
    // Capacities that no pixel has are not read; of the others none may be negative.
    OwnedGraph negative = random_graph(kSize, 10, 0, false, 1);
    negative.array(i)(3, 3) = -1;
    EXPECT_EQ(answer(negative.graph(Neighbours::eight), cutter.mask()),
              "a capacity between pixels is negative");
  }
  Image<uint8_t> narrow = cutter.mask();
  narrow.width = 7;
  EXPECT_EQ(answer(graph, narrow),
            "pixels of the foreground mask are missing or have the wrong size");
  EXPECT_EQ(answer(graph, {}), "pixels of the foreground mask are missing or have the wrong size");

  const auto configure = [&](Size size, int slots) {
    return complaint([&] { cutter.cut().configure(size, Neighbours::four, slots); });
  };
  for (const Size size : {Size{0, 4}, {4, 0}}) {
    EXPECT_EQ(configure(size, 1),
              "a cut requires a picture of at least 1x1 pixels and at least one slot");
  }
  EXPECT_EQ(configure(kSize, 0),
            "a cut requires a picture of at least 1x1 pixels and at least one slot");
  EXPECT_EQ(configure({65535, 65535}, 1),
            "pictures of more than 536870912 pixels are too large for an exact cut");
  // Few pixels, but more nodes than an int32 counts: tiles are wider than the picture.
  EXPECT_EQ(configure({1, 1 << 28}, 1),
            "pictures of 1x268435456 pixels are too large for an exact cut");
  expect_certified(cutter, good, Neighbours::eight);
}

}  // namespace
}  // namespace regions
