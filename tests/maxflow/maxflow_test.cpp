// Minimum cuts on each backend against the oracle on small graphs, and against the CPU with one
// thread and the certificate on larger ones. The second part tests properties of the CPU's solver.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "core/maxflow/warm_start_tuner.hpp"
#include "tests/core/error_message.hpp"
#include "tests/maxflow/cutter.hpp"
#include "tests/maxflow/graphs.hpp"
#include "tests/maxflow/oracle.hpp"
#include "tests/pictures/backend_test.hpp"

namespace regions {
namespace {

constexpr CutLimits kWarm{0, 0, true};

Cutter on_cpu(Size size, Neighbours neighbours, int threads = 1) {
  const auto cpu = make_cpu_backend(threads);
  return Cutter(cpu, make_grid_cut<BackendKind::cpu>(cpu), size, neighbours);
}

class Maxflow : public BackendTest {
 protected:
  // `threads` is for the CPU.
  Cutter on_backend(Size size, Neighbours neighbours, int threads) {
#if REGIONS_CUDA
    if (is_cuda()) {
      return Cutter(backend_, make_grid_cut<BackendKind::cuda>(backend_), size, neighbours);
    }
#endif
    return on_cpu(size, neighbours, threads);
  }
  void expect_as_oracle(const OwnedGraph& owned, Neighbours neighbours,
                        std::initializer_list<int> threads) {
    const GridGraph graph = owned.graph(neighbours);
    const OracleCut oracle = oracle_cut(graph);
    for (const int n : threads) {
      SCOPED_TRACE(testing::Message()
                   << owned.size().width << "x" << owned.size().height << ", "
                   << static_cast<int>(neighbours) << " neighbours, " << n << " threads");
      Cutter cutter = on_backend(owned.size(), neighbours, n);
      for (int frame = 0; frame < 2; ++frame) {
        EXPECT_EQ(cutter.solve(graph).flow, oracle.flow);
        EXPECT_EQ(cutter.mask, oracle.foreground);
        expect_certified(cutter, graph);
      }
      if (is_cuda()) break;
    }
  }
};
TEST_ON_BACKENDS(Maxflow);

TEST_P(Maxflow, RandomGraphs_MaskAndFlowEqualReference) {
  constexpr int32_t kHuge = std::numeric_limits<int32_t>::max();
  constexpr int32_t kMax[] = {2, 9, 300, 3000, 40000, 200000000, kHuge};
  Dice dice(1);
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Size size{dice.roll(1, 14), seed % 3 == 0 ? dice.roll(30, 50) : dice.roll(1, 14)};
    const OwnedGraph graph = random_graph(size, kMax[seed % 7], dice.roll(0, 6), seed % 2, seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_as_oracle(graph, kBothNeighbours[seed / 7 % 2], {1 + static_cast<int>(seed / 14 % 3)});
    if (HasFailure()) break;
  }
}

TEST_P(Maxflow, LargestAndSmallestWeights_MaskAndFlowEqualReference) {
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
  for (const Neighbours neighbours : kBothNeighbours) expect_as_oracle(graph, neighbours, {2});
}

TEST_P(Maxflow, TypicalGraphs_MaskAndFlowEqualReference) {
  for (const Size size : {Size{47, 35}, Size{1, 70}, Size{70, 1}, Size{33, 64}}) {
    for (const Neighbours neighbours : kBothNeighbours) {
      expect_as_oracle(background_difference(size, 11), neighbours, {1, 2, 3});
      expect_as_oracle(grabcut(size, 12), neighbours, {1, 2, 3});
      expect_as_oracle(corridor(size), neighbours, {1, 2, 3});
      expect_as_oracle(checkerboard(size), neighbours, {1, 2, 3});
    }
  }
}

// Heights around multiples of 16, the number of rows per strip of the CPU and per tile of CUDA.
TEST_P(Maxflow, HeightsNearMultiplesOf16_MaskAndFlowEqualReference) {
  for (const int height : {1, 15, 16, 17, 31, 32, 33, 48, 129, 140}) {
    const Size size{5, height};
    const OwnedGraph graph = random_graph(size, 20, 1, false, static_cast<uint64_t>(height));
    for (const Neighbours neighbours : kBothNeighbours) {
      expect_as_oracle(graph, neighbours, {2, 5});
    }
  }
}

TEST_P(Maxflow, LargeGraphs_MasksEqualThoseOfOneCpuThread) {
  const Size size{203, 151};
  for (const Neighbours neighbours : kBothNeighbours) {
    for (const auto& owned : {background_difference(size, 1), grabcut(size, 2), corridor(size),
                              checkerboard(size), random_graph(size, 100, 2, false, 3)}) {
      const GridGraph graph = owned.graph(neighbours);
      Cutter one = on_cpu(size, neighbours);
      one.solve(graph);
      expect_certified(one, graph);
      for (const int threads : {2, 3, 7}) {
        Cutter other = on_backend(size, neighbours, threads);
        other.solve(graph);
        expect_certified(other, graph);
        EXPECT_EQ(one.mask, other.mask) << threads << " threads";
        if (is_cuda()) break;
      }
    }
  }
}

// The weights change completely now and then, also to numbers that require more bits.
TEST_P(Maxflow, WarmStart_ChangedGraph_MaskAndFlowEqualThoseOfAColdStart) {
  const Size size{90, 70};
  for (const Neighbours neighbours : kBothNeighbours) {
    for (const int threads : {1, 2}) {
      Cutter warm = on_backend(size, neighbours, threads);
      for (uint64_t frame = 0; frame < 12; ++frame) {
        const OwnedGraph owned = frame == 5   ? grabcut(size, frame)
                                 : frame == 8 ? random_graph(size, 100000, 1, false, frame)
                                              : background_difference(size, frame / 2);
        const GridGraph graph = owned.graph(neighbours);
        Cutter cold = on_cpu(size, neighbours, threads);
        cold.solve(graph);
        warm.solve(graph, kWarm);
        expect_certified(warm, graph);
        EXPECT_EQ(warm.report().flow, cold.report().flow);
        EXPECT_EQ(warm.mask, cold.mask) << "frame " << frame;
      }
    }
  }
}

// Sums of weights just below and above the largest 16-bit and 32-bit numbers. The next frame has
// small weights again.
TEST_P(Maxflow, WeightSumsNearIntegerLimits_GiveTheExactFlow) {
  const int64_t limits[] = {(1 << 15) - 1, int64_t{std::numeric_limits<int32_t>::max()}};
  for (const Neighbours neighbours : kBothNeighbours) {
    for (const int64_t limit : limits) {
      Cutter cutter = on_backend({1, 3}, neighbours, 1);
      for (int64_t most = limit - 40; most <= limit + 40; most += most < limit - 3 ? 9 : 1) {
        OwnedGraph graph({1, 3});
        const auto link = static_cast<int32_t>(most / 5);
        const auto terminal = static_cast<int32_t>(most - 2 * link);
        graph.array(0)(0, 0) = terminal;
        graph.array(0)(0, 1) = terminal;  // with its two links: `most`
        graph.array(0)(0, 2) = -terminal;
        for (int y = 0; y < 2; ++y) graph.array(2)(0, y) = link;
        for (const bool warm : {false, true}) {
          const CutResult report = cutter.solve(graph.graph(neighbours), {0, 0, warm});
          EXPECT_TRUE(report.exact);
          EXPECT_EQ(report.flow, link) << most << " of " << limit << ", warm " << warm;
          EXPECT_EQ(cutter.mask, (std::vector<uint8_t>{255, 255, 0}));
        }
      }
    }
  }
}

// ---- the CPU

TEST(WarmStartTuner, MeasuredTimesChange_MostCutsUseTheFasterStart) {
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

// A cut that stops early bounds the optimum from both sides. Warm calls continue up to the optimum.
TEST(CpuMaxflow, CutStoppedEarly_FlowAndGapBoundTheOptimumAndWarmStartsReachIt) {
  const Size size{120, 90};
  const OwnedGraph owned = grabcut(size, 3);
  for (const Neighbours neighbours : kBothNeighbours) {
    const GridGraph graph = owned.graph(neighbours);
    for (const int threads : {1, 2}) {
      Cutter exact = on_cpu(size, neighbours, threads);
      const int64_t optimum = exact.solve(graph).flow;
      Cutter cutter = on_cpu(size, neighbours, threads);
      const CutResult first = cutter.solve(graph, {2, 0, false});
      EXPECT_FALSE(first.exact);
      EXPECT_LE(first.flow, optimum);
      EXPECT_EQ(first.flow + first.gap, cutter.mask_value(graph));
      EXPECT_GE(first.flow + first.gap, optimum);
      CutResult last = first;
      // n passes reach paths of n links, so the limit must grow.
      for (int passes = 4; passes <= 4096 && !last.exact; passes *= 2) {
        const int64_t before = last.flow;
        last = cutter.solve(graph, {passes, 0, true});
        EXPECT_GE(last.flow, before);
      }
      EXPECT_TRUE(last.exact);
      EXPECT_EQ(last.flow, optimum);
      EXPECT_EQ(cutter.mask, exact.mask);
    }
  }
}

TEST(CpuMaxflow, TimeBudgetTooShort_CutIsInexactAndStatesItsGap) {
  const Size size{400, 300};
  const OwnedGraph owned = random_graph(size, 100, 0, false, 8);
  const GridGraph graph = owned.graph(Neighbours::eight);
  Cutter cutter = on_cpu(size, Neighbours::eight);
  const CutResult report = cutter.solve(graph, {0, 1, false});
  EXPECT_FALSE(report.exact);
  EXPECT_EQ(report.flow + report.gap, cutter.mask_value(graph));
}

TEST(CpuMaxflow, WarmStartAfterReset_HasAsManyIterationsAsAColdStart) {
  const Size size{64, 48};
  Cutter cutter = on_cpu(size, Neighbours::four);
  const OwnedGraph owned = grabcut(size, 4);
  const GridGraph graph = owned.graph(Neighbours::four);
  const CutResult cold = cutter.solve(graph);
  cutter.cut().reset();
  EXPECT_EQ(cutter.solve(graph, kWarm).iterations, cold.iterations);
  // A start from the solution of the same graph has nothing to do.
  EXPECT_LT(cutter.solve(graph, kWarm).iterations, cold.iterations);
}

// A graph may have fewer rows than configured. The number of rows changes from cut to cut.
TEST(CpuMaxflow, FewerRowsThanConfigured_MaskAndFlowEqualReference) {
  constexpr Size kMost{40, 90};
  for (const Neighbours neighbours : kBothNeighbours) {
    Cutter cutter = on_cpu(kMost, neighbours, 2);
    for (const int rows : {90, 1, 33, 90, 64, 64}) {
      const Size size{kMost.width, rows};
      const OwnedGraph owned = grabcut(size, static_cast<uint64_t>(rows));
      const OracleCut oracle = oracle_cut(owned.graph(neighbours));
      std::vector<uint8_t> pixels(size.area());
      CutResult report;
      cutter.cut().enqueue(owned.graph(neighbours),
                           {pixels.data(), size.width, size.height, size.width}, kWarm, &report, 0,
                           cutter.queue());
      cutter.queue().record();
      cutter.queue().wait();
      EXPECT_EQ(report.flow, oracle.flow) << rows;
      EXPECT_EQ(pixels, oracle.foreground) << rows;
    }
  }
}

TEST(CpuMaxflow, InvalidArguments_AreRefusedWithTheReason) {
  constexpr Size kSize{8, 6};
  Cutter cutter = on_cpu(kSize, Neighbours::eight);
  std::vector<uint8_t> pixels(kSize.area());
  const Image<uint8_t> mask{pixels.data(), kSize.width, kSize.height, kSize.width};
  const OwnedGraph good = random_graph(kSize, 10, 0, false, 1);
  CutResult report;
  const auto answer = [&](const GridGraph& weights, Image<uint8_t> foreground) {
    return error_message_of([&] {
      cutter.cut().enqueue(weights, foreground, {}, &report, 0, cutter.queue());
      cutter.queue().record();
      cutter.queue().wait();
    });
  };
  const GridGraph graph = good.graph(Neighbours::eight);
  EXPECT_EQ(answer(graph, mask), "");
  EXPECT_EQ(answer(good.graph(Neighbours::four), mask),
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
    EXPECT_EQ(answer(other, mask), refused);
    (other.*images[i].second) = {};
    EXPECT_EQ(answer(other, mask), refused);
    if (i == 0) continue;
    OwnedGraph negative = random_graph(kSize, 10, 0, false, 1);
    negative.array(i)(3, 3) = -1;
    EXPECT_EQ(answer(negative.graph(Neighbours::eight), mask),
              "a capacity between pixels is negative");
  }
  Image<uint8_t> narrow = mask;
  narrow.width = 7;
  EXPECT_EQ(answer(graph, narrow),
            "pixels of the foreground mask are missing or have the wrong size");
  EXPECT_EQ(answer(graph, {}), "pixels of the foreground mask are missing or have the wrong size");

  const auto configure = [&](Size size, int slots) {
    return error_message_of([&] { cutter.cut().configure(size, Neighbours::four, slots); });
  };
  for (const Size size : {Size{0, 4}, {4, 0}}) {
    EXPECT_EQ(configure(size, 1),
              "a cut requires a picture of at least 1x1 pixels and at least one slot");
  }
  EXPECT_EQ(configure(kSize, 0),
            "a cut requires a picture of at least 1x1 pixels and at least one slot");
  EXPECT_EQ(configure({65535, 65535}, 1),
            "pictures of more than 536870912 pixels are too large for an exact cut");
  // Tiles are wider than this picture, so its tiles have more pixels than an int32 can count.
  EXPECT_EQ(configure({1, 1 << 28}, 1),
            "pictures of 1x268435456 pixels are too large for an exact cut");
  cutter.solve(graph);
  expect_certified(cutter, graph);
}

// ---- capacities that a cut computes when it reads them

// Copies capacities from images and counts the pixels.
class ImageLinks final : public LinkSource {
 public:
  explicit ImageLinks(const GridGraph& graph) : graph_(graph) {}
  void write(int y, int first, int last, const LinkRow& row) const override {
    const auto copy = [&](const Image<const int32_t>& from, int32_t* to) {
      if (to && !from.empty()) std::copy(from.row(y) + first, from.row(y) + last, to);
    };
    copy(graph_.right, row.right);
    copy(graph_.down, row.down);
    copy(graph_.down_right, row.down_right);
    copy(graph_.down_left, row.down_left);
    written_ += last - first;
  }
  int64_t written() const { return written_; }

 private:
  const GridGraph graph_;
  mutable std::atomic<int64_t> written_ = 0;
};

GridGraph computed(const GridGraph& whole, const LinkSource& links) {
  GridGraph graph = {whole.terminal, {}, {}, {}, {}, whole.neighbours};
  graph.max_weight = 32000;
  graph.links = &links;
  return graph;
}

TEST(ComputedLinks, EqualCapacities_MaskAndFlowEqualThoseOfStoredLinks) {
  for (const Size size : {Size{1, 1}, {7, 9}, {8, 8}, {1, 40}, {40, 1}, {63, 70}, {203, 51}}) {
    for (const Neighbours neighbours : kBothNeighbours) {
      for (const int threads : {1, 3}) {
        Cutter whole = on_cpu(size, neighbours, threads), late = on_cpu(size, neighbours, threads);
        const OwnedGraph graphs[] = {random_graph(size, 900, 2, false, 5),
                                     background_difference(size, 3), corridor(size),
                                     background_difference(size, 4)};
        for (const bool warm : {false, true}) {
          for (const OwnedGraph& owned : graphs) {
            const GridGraph graph = owned.graph(neighbours);
            const ImageLinks links(graph);
            whole.solve(graph, {.warm_start = warm});
            late.solve(computed(graph, links), {.warm_start = warm});
            ASSERT_EQ(whole.mask, late.mask) << size.width << "x" << size.height << ", " << threads;
            ASSERT_EQ(whole.report().flow, late.report().flow);
            ASSERT_TRUE(late.report().exact);
          }
        }
      }
    }
  }
}

TEST(ComputedLinks, CutStoppedEarly_GapEqualsThatOfStoredLinks) {
  const Size size{90, 60};
  const OwnedGraph owned = random_graph(size, 900, 0, false, 8);
  for (const Neighbours neighbours : kBothNeighbours) {
    const GridGraph graph = owned.graph(neighbours);
    const ImageLinks links(graph);
    Cutter whole = on_cpu(size, neighbours), late = on_cpu(size, neighbours);
    whole.solve(graph, {.max_iterations = 1});
    late.solve(computed(graph, links), {.max_iterations = 1});
    EXPECT_EQ(whole.mask, late.mask);
    EXPECT_EQ(whole.report().gap, late.report().gap);
  }
}

TEST(ComputedLinks, SmallForeground_LinksOfLessThanATenthOfThePixelsAreComputed) {
  const Size size{320, 240};
  OwnedGraph owned(size);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      owned.array(0)(x, y) = x < 20 && y < 20 ? 50 : -50;
      for (int i = 1; i < 5; ++i) owned.array(i)(x, y) = 9;
    }
  }
  const GridGraph graph = owned.graph(Neighbours::four);
  const ImageLinks links(graph);
  Cutter cutter = on_cpu(size, Neighbours::four);
  cutter.solve(computed(graph, links));
  // The links along two sides of the square are the minimum cut.
  EXPECT_EQ(cutter.report().flow, 2 * 20 * 9);
  expect_certified(cutter, graph);
  EXPECT_GT(links.written(), 20 * 20);
  EXPECT_LT(links.written(), 320 * 240 / 10);
}

TEST(ComputedLinks, MaximumWeightMissing_IsRefused) {
  const OwnedGraph owned = random_graph({8, 8}, 9, 0, false, 1);
  const GridGraph graph = owned.graph(Neighbours::four);
  const ImageLinks links(graph);
  GridGraph unknown = computed(graph, links);
  unknown.max_weight = 0;
  Cutter cutter = on_cpu({8, 8}, Neighbours::four);
  EXPECT_EQ(error_message_of([&] { cutter.solve(unknown); }),
            "computed capacities require `most`, their maximum");
}

}  // namespace
}  // namespace regions
