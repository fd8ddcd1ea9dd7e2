// Capacities that a cut computes when it reads them. The cut is the same as with capacities in
// images, and capacities in most of a picture without flow are never computed.
#include <gtest/gtest.h>

#include <atomic>

#include "cpu/backend.hpp"
#include "tests/core/complaint.hpp"
#include "tests/maxflow/graphs.hpp"
#include "tests/maxflow/oracle.hpp"

namespace regions {
namespace {

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
    asked_ += last - first;
  }
  int64_t asked() const { return asked_; }

 private:
  const GridGraph graph_;
  mutable std::atomic<int64_t> asked_ = 0;
};

struct Cut {
  std::vector<uint8_t> mask;
  CutResult report;
};

class Solver {
 public:
  Solver(Size size, Neighbours neighbours, int threads)
      : backend_(make_cpu_backend(threads)),
        queue_(backend_->make_queue()),
        cut_(make_grid_cut<BackendKind::cpu>(backend_)),
        size_(size) {
    cut_->configure(size, neighbours, 1);
  }
  Cut solve(const GridGraph& graph, const CutLimits& limits) {
    Cut cut{std::vector<uint8_t>(size_.area()), {}};
    cut_->enqueue(graph, {cut.mask.data(), size_.width, size_.height, size_.width}, limits,
                  &cut.report, 0, *queue_);
    queue_->record();
    queue_->wait();
    return cut;
  }

 private:
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<GridCut> cut_;
  Size size_;
};

GridGraph computed(const GridGraph& whole, const LinkSource& links) {
  GridGraph graph = {whole.terminal, {}, {}, {}, {}, whole.neighbours};
  graph.max_weight = 32000;
  graph.links = &links;
  return graph;
}

TEST(MaxflowLinks, CutAsThoseInImages) {
  for (const Size size : {Size{1, 1}, {7, 9}, {8, 8}, {1, 40}, {40, 1}, {63, 70}, {203, 51}}) {
    for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
      for (const int threads : {1, 3}) {
        Solver whole(size, neighbours, threads), late(size, neighbours, threads);
        const OwnedGraph graphs[] = {random_graph(size, 900, 2, false, 5),
                                     background_difference(size, 3), maze(size),
                                     background_difference(size, 4)};
        for (const bool warm : {false, true}) {
          for (const OwnedGraph& owned : graphs) {
            const GridGraph graph = owned.graph(neighbours);
            const ImageLinks links(graph);
            const Cut a = whole.solve(graph, {.warm = warm});
            const Cut b = late.solve(computed(graph, links), {.warm = warm});
            ASSERT_EQ(a.mask, b.mask) << size.width << "x" << size.height << ", " << threads;
            ASSERT_EQ(a.report.flow, b.report.flow);
            ASSERT_TRUE(b.report.exact);
          }
        }
      }
    }
  }
}

TEST(MaxflowLinks, AStopLeavesTheGapOfAllTiles) {
  const Size size{90, 60};
  const OwnedGraph owned = random_graph(size, 900, 0, false, 8);
  for (const Neighbours neighbours : {Neighbours::four, Neighbours::eight}) {
    const GridGraph graph = owned.graph(neighbours);
    const ImageLinks links(graph);
    Solver whole(size, neighbours, 1), late(size, neighbours, 1);
    const Cut a = whole.solve(graph, {.max_iterations = 1});
    const Cut b = late.solve(computed(graph, links), {.max_iterations = 1});
    EXPECT_EQ(a.mask, b.mask);
    EXPECT_EQ(a.report.gap, b.report.gap);
  }
}

TEST(MaxflowLinks, AreNotAskedForWhereNoFlowComes) {
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
  Solver solver(size, Neighbours::four, 1);
  const Cut cut = solver.solve(computed(graph, links), {});
  // The links along two sides of the square are the minimum cut.
  EXPECT_EQ(cut.report.flow, 2 * 20 * 9);
  const Image<const uint8_t> mask{cut.mask.data(), size.width, size.height, size.width};
  EXPECT_EQ(cut.report.flow, cut_value(graph, mask));
  EXPECT_GT(links.asked(), 20 * 20);
  EXPECT_LT(links.asked(), 320 * 240 / 10);
}

TEST(MaxflowLinks, WantABound) {
  const OwnedGraph owned = random_graph({8, 8}, 9, 0, false, 1);
  const GridGraph graph = owned.graph(Neighbours::four);
  const ImageLinks links(graph);
  GridGraph unknown = computed(graph, links);
  unknown.max_weight = 0;
  Solver solver({8, 8}, Neighbours::four, 1);
  EXPECT_EQ(complaint([&] { solver.solve(unknown, {}); }),
            "computed capacities require `most`, their maximum");
}

}  // namespace
}  // namespace regions
