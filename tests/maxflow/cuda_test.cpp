// The solvers of minimum cuts on CUDA: each gives the mask of the CPU, and `automatic` selects one.
// maxflow_test.cpp tests the interface that all backends share.
#include <gtest/gtest.h>

#include "gpu/maxflow/maxflow.hpp"
#include "gpu/maxflow/solver_selector.hpp"
#include "tests/maxflow/cutter.hpp"
#include "tests/maxflow/graphs.hpp"
#include "tests/pictures/backend_test.hpp"

namespace regions {
namespace {

class CudaMaxflow : public CudaTest {
 protected:
  Cutter on_gpu(Size size, Neighbours neighbours, CutTier tier) {
    return Cutter(plain_, make_cuda_grid_cut(plain_, tier), size, neighbours);
  }
  Cutter on_cpu(Size size, Neighbours neighbours) {
    return Cutter(cpu_, make_grid_cut<BackendKind::cpu>(cpu_), size, neighbours);
  }
  static void expect_optimum(const Cutter& cutter, const Cutter& expected, const GridGraph& graph,
                             const std::string& name) {
    SCOPED_TRACE(name);
    expect_certified(cutter, graph);
    EXPECT_EQ(cutter.report().flow, expected.report().flow);
    EXPECT_TRUE(cutter.mask == expected.mask) << "the mask differs from the CPU's";
  }

  std::shared_ptr<Backend> cpu_ = make_cpu_backend(1);
};

constexpr CutTier kTiers[] = {CutTier::resident, CutTier::sparse, CutTier::plain};

std::string named(Size size, int32_t most, Neighbours neighbours, CutTier tier) {
  return std::to_string(size.width) + "x" + std::to_string(size.height) + " up to " +
         std::to_string(most) + ", " + std::to_string(static_cast<int>(neighbours)) +
         " neighbours, tier " + std::to_string(static_cast<int>(tier));
}

// A cold start, a warm start from another frame, a cut that stops after one round, and its
// continuation.
TEST_F(CudaMaxflow, EverySolverAndIntegerWidth_MaskAndFlowEqualTheCpu) {
  unsigned seed = 1;
  for (const Size size :
       {Size{1, 1}, {1, 40}, {67, 1}, {31, 15}, {32, 16}, {33, 17}, {65, 49}, {130, 75}}) {
    for (const int32_t most : {2, 300, 3000, 20000, 100000, 2000000000}) {
      const OwnedGraph first_graph = sparse_graph(size, most, seed++),
                       second_graph = sparse_graph(size, most, seed++);
      for (const Neighbours neighbours : kBothNeighbours) {
        const GridGraph first = first_graph.graph(neighbours);
        const GridGraph second = second_graph.graph(neighbours);
        Cutter cpu = on_cpu(size, neighbours), cpu_second = on_cpu(size, neighbours);
        cpu.solve(first);
        cpu_second.solve(second);
        for (const CutTier tier : kTiers) {
          const std::string name = named(size, most, neighbours, tier);
          Cutter gpu = on_gpu(size, neighbours, tier);
          gpu.solve(first);
          expect_optimum(gpu, cpu, first, name);
          CutLimits limits;
          limits.warm_start = true;
          gpu.solve(second, limits);
          expect_optimum(gpu, cpu_second, second, name + ", warm");
          limits = {};
          limits.max_iterations = 1;
          gpu.solve(first, limits);
          EXPECT_EQ(gpu.report().gap, gpu.mask_value(first) - gpu.report().flow) << name;
          EXPECT_EQ(gpu.report().exact, gpu.report().gap == 0) << name;
          limits = {};
          limits.warm_start = true;
          gpu.solve(first, limits);
          expect_optimum(gpu, cpu, first, name + ", continued");
        }
      }
    }
  }
}

TEST_F(CudaMaxflow, GraphLargerThanSharedMemory_MaskAndFlowEqualTheCpu) {
  for (const Neighbours neighbours : kBothNeighbours) {
    const Size size = neighbours == Neighbours::four ? Size{2500, 1300} : Size{1500, 1000};
    const OwnedGraph owned = sparse_graph(size, 200, 7);
    const GridGraph graph = owned.graph(neighbours);
    Cutter cpu = on_cpu(size, neighbours), gpu = on_gpu(size, neighbours, CutTier::resident);
    cpu.solve(graph);
    gpu.solve(graph);
    expect_optimum(gpu, cpu, graph, "large");
  }
}

// Heights of the smaller corridor just fit into 16 bits; heights of the larger corridor do not.
TEST_F(CudaMaxflow, PathsLongerThan16BitDistances_MaskAndFlowEqualTheCpu) {
  for (const Size size : {Size{301, 399}, {401, 399}}) {
    const OwnedGraph owned = corridor(size);
    const GridGraph graph = owned.graph(Neighbours::four);
    Cutter cpu = on_cpu(size, Neighbours::four);
    cpu.solve(graph);
    for (const CutTier tier : {CutTier::resident, CutTier::sparse}) {
      Cutter gpu = on_gpu(size, Neighbours::four, tier);
      gpu.solve(graph);
      EXPECT_EQ(gpu.report().flow, 40);
      expect_optimum(gpu, cpu, graph, named(size, 70, Neighbours::four, tier));
    }
  }
}

// A moving object, with alternating warm and cold starts. Other cuts of the process come and go,
// which changes the solver of a frame. Each solver continues from the flow of the previous solver.
TEST_F(CudaMaxflow, WarmStartAfterOtherSolver_MaskAndFlowEqualTheCpu) {
  const Size size{423, 301};
  for (const Neighbours neighbours : kBothNeighbours) {
    for (const CutTier tier : {CutTier::sparse, CutTier::automatic}) {
      Cutter gpu = on_gpu(size, neighbours, tier);
      std::unique_ptr<GridCut> other;
      for (int frame = 0; frame < 12; ++frame) {
        other = frame % 3 == 1 ? make_cuda_grid_cut(plain_, CutTier::automatic) : std::move(other);
        if (frame % 3 == 0) other.reset();
        const int wide = frame >= 6 && frame < 9 ? 250 : size.width;
        const OwnedGraph owned = island(size, 40 + 21 * frame, 20 + 15 * frame, wide);
        const GridGraph graph = owned.graph(neighbours);
        Cutter cpu = on_cpu(size, neighbours);
        cpu.solve(graph);
        CutLimits limits;
        limits.warm_start = frame % 4 != 0;
        // Without a limit, the solver may ignore `warm`.
        limits.max_iterations = frame % 2 == 0 ? INT32_MAX : 0;
        gpu.solve(graph, limits);
        expect_optimum(gpu, cpu, graph,
                       named(size, 200, neighbours, tier) + ", frame " + std::to_string(frame));
      }
    }
  }
}

// The only cut of a process changes to the solver that was faster for its last frames.
TEST_F(CudaMaxflow, AutomaticSolver_OtherSolverIsFaster_ChangesToIt) {
  const Size size{200, 151};
  const OwnedGraph easy_graph = island(size, 60, 50, size.width), hard_graph = corridor(size);
  const GridGraph easy = easy_graph.graph(Neighbours::four);
  const GridGraph hard = hard_graph.graph(Neighbours::four);
  const auto rounds = [&](CutTier tier, const GridGraph& graph) {
    Cutter gpu = on_gpu(size, Neighbours::four, tier);
    gpu.solve(graph);
    return gpu.report().iterations;
  };
  struct Frame {
    const char* name;
    const GridGraph& graph;
    int rounds;
  };
  const int hard_by_lists = rounds(CutTier::sparse, hard);
  const int hard_on_device = rounds(CutTier::resident, hard);
  const int easy_by_lists = rounds(CutTier::sparse, easy);
  const int easy_on_device = rounds(CutTier::resident, easy);
  ASSERT_NE(hard_by_lists, hard_on_device);
  ASSERT_NE(easy_by_lists, easy_on_device);
  Cutter gpu = on_gpu(size, Neighbours::four, CutTier::automatic);
  Cutter cpu = on_cpu(size, Neighbours::four);
  for (const auto& [name, graph, wanted] :
       {Frame{"first", easy, easy_by_lists}, Frame{"harder", hard, hard_by_lists},
        Frame{"hard", hard, hard_on_device}, Frame{"easier", easy, easy_on_device},
        Frame{"easy", easy, easy_by_lists}}) {
    gpu.solve(graph);
    cpu.solve(graph);
    EXPECT_EQ(gpu.report().iterations, wanted) << name;
    expect_optimum(gpu, cpu, graph, name);
  }
}

TEST_F(CudaMaxflow, TimeBudgetTooShort_StopsAfterOneIterationAndStatesItsGap) {
  const Size size{1280, 720};
  const OwnedGraph owned = sparse_graph(size, 3000, 5);
  const GridGraph graph = owned.graph(Neighbours::four);
  for (const CutTier tier : {CutTier::resident, CutTier::sparse}) {
    Cutter gpu = on_gpu(size, Neighbours::four, tier);
    CutLimits limits;
    limits.time_budget = 1;
    gpu.solve(graph, limits);
    EXPECT_EQ(gpu.report().iterations, 1);
    EXPECT_FALSE(gpu.report().exact);
    EXPECT_EQ(gpu.report().gap, gpu.mask_value(graph) - gpu.report().flow);
  }
}

// Each cut fills the device with a kernel whose blocks wait for each other.
TEST_F(CudaMaxflow, ConcurrentCuts_MasksAndFlowsEqualTheCpu) {
  const Size size{640, 480};
  const OwnedGraph owned = sparse_graph(size, 300, 3);
  const GridGraph graph = owned.graph(Neighbours::eight);
  Cutter cpu = on_cpu(size, Neighbours::eight);
  cpu.solve(graph);
  std::vector<Cutter> cutters;
  for (int i = 0; i < 4; ++i) {
    cutters.push_back(on_gpu(size, Neighbours::eight, i % 2 ? CutTier::sparse : CutTier::resident));
  }
  for (int frame = 0; frame < 20; ++frame) {
    for (Cutter& cutter : cutters) cutter.enqueue(graph);
    for (Cutter& cutter : cutters) {
      cutter.wait();
      expect_optimum(cutter, cpu, graph, "frame " + std::to_string(frame));
    }
  }
}

}  // namespace

namespace maxflow {
namespace {

// Kernels report the time of every cut or of every third cut. Requires no GPU.
TEST(WarmStartSelector, MeasuredCutTimes_MostCutsUseTheWarmStartOnlyIfItIsClearlyFaster) {
  for (const int period : {1, 3}) {
    CutStatistics statistics{};
    WarmStartSelector starts;
    starts.start(&statistics);
    auto share_of_warm = [&, cut = 0u](uint32_t cold, uint32_t warm) mutable {
      int taken = 0;
      for (int i = 0; i < 640; ++i) {
        const bool is_warm = starts.use_warm_start();
        taken += is_warm;
        if (++cut % period == 0) statistics.time[is_warm] = cut_time(cut, is_warm ? warm : cold);
      }
      return taken;
    };
    EXPECT_GE(share_of_warm(600'000, 300'000), 500) << period;
    EXPECT_LE(share_of_warm(500'000, 510'000), 140) << period;
    EXPECT_LE(share_of_warm(500'000, 490'000), 140) << period << ": about as fast";
  }
  EXPECT_EQ(nanoseconds_of(cut_time(7, int64_t{1} << 40)), UINT32_MAX);
  EXPECT_EQ(cut_of(cut_time(7, 5)), 7u);
}

}  // namespace
}  // namespace maxflow
}  // namespace regions
