// Minimum cuts on CUDA against the CPU's, bit for bit, and against a certificate of their own: the
// mask's cut, computed from the weights, is worth the flow. Run one case alone with --gtest_filter.
#include <gtest/gtest.h>

#include <array>

#include "cpu/backend.hpp"
#include "gpu/maxflow/maxflow.hpp"
#include "gpu/runtime/cuda_backend.hpp"
#include "tests/maxflow/grids.hpp"

namespace regions {
namespace {

// A solver with its queue, and the last frame that it was given.
class Cutter {
 public:
  Cutter(std::shared_ptr<Backend> backend, std::unique_ptr<GridCut> cut, Size size,
         Neighbours neighbours)
      : backend_(std::move(backend)),
        cut_(std::move(cut)),
        size_(size),
        neighbours_(neighbours),
        pitch_(static_cast<size_t>(size.width) + kPadding) {
    Backend::Entry entry(*backend_);
    queue_ = backend_->make_queue();
    for (Block& block : weights_) block = backend_->allocate(size.area() * sizeof(int32_t));
    mask_ = backend_->allocate(pitch_ * static_cast<size_t>(size.height));
    report_ = backend_->allocate_pinned(sizeof(CutResult));
    cut_->configure(size, neighbours, 1);
  }

  void enqueue(const Grid& grid, const CutLimits& limits = {}) {
    Backend::Entry entry(*backend_);
    const auto view = [&](size_t k) {
      queue_->copy_bytes(grid.weights[k].data(), weights_[k].data(),
                         size_.area() * sizeof(int32_t));
      return Image<const int32_t>{weights_[k].as<int32_t>(), size_.width, size_.height,
                                  static_cast<ptrdiff_t>(sizeof(int32_t)) * size_.width};
    };
    GridGraph graph{view(0), view(1), view(2), {}, {}, neighbours_};
    if (neighbours_ == Neighbours::eight) {
      graph.down_right = view(3);
      graph.down_left = view(4);
    }
    padded_.assign(mask_.bytes(), kUntouched);
    queue_->copy_bytes(padded_.data(), mask_.data(), mask_.bytes());
    cut_->enqueue(graph,
                  {mask_.as<uint8_t>(), size_.width, size_.height, static_cast<ptrdiff_t>(pitch_)},
                  limits, report_.as<CutResult>(), 0, *queue_);
    queue_->copy_bytes(mask_.data(), padded_.data(), mask_.bytes());
    queue_->record();
  }
  void wait() {
    Backend::Entry entry(*backend_);
    queue_->wait();
    mask.clear();
    for (size_t y = 0; y < static_cast<size_t>(size_.height); ++y) {
      const auto row = padded_.begin() + static_cast<ptrdiff_t>(y * pitch_);
      mask.insert(mask.end(), row, row + size_.width);
      for (size_t x = pitch_ - kPadding; x < pitch_; ++x) {
        EXPECT_EQ(row[static_cast<ptrdiff_t>(x)], kUntouched) << "written beside the mask";
      }
    }
  }
  void run(const Grid& grid, const CutLimits& limits = {}) {
    enqueue(grid, limits);
    wait();
  }
  const CutResult& report() const { return *report_.as<CutResult>(); }

  std::vector<uint8_t> mask;

 private:
  static constexpr size_t kPadding = 5;
  static constexpr uint8_t kUntouched = 0x5a;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<GridCut> cut_;
  Size size_;
  Neighbours neighbours_;
  size_t pitch_;
  std::unique_ptr<Queue> queue_;
  std::array<Block, 5> weights_;
  Block mask_, report_;
  std::vector<uint8_t> padded_;
};

class MaxflowCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
    gpu_ = make_cuda_backend();
    cpu_ = make_cpu_backend(1);
  }
  Cutter on_gpu(Size size, Neighbours neighbours, CutTier tier) {
    return Cutter(gpu_, make_cuda_grid_cut(gpu_, tier), size, neighbours);
  }
  Cutter on_cpu(Size size, Neighbours neighbours) {
    return Cutter(cpu_, make_grid_cut<BackendKind::cpu>(cpu_), size, neighbours);
  }
  static void expect_optimum(const Cutter& cutter, const Cutter& expected, const Grid& grid,
                             Neighbours neighbours, const std::string& name) {
    EXPECT_TRUE(cutter.report().exact) << name;
    EXPECT_EQ(cutter.report().gap, 0) << name;
    EXPECT_EQ(cutter.report().flow, expected.report().flow) << name;
    EXPECT_EQ(cutter.report().flow, cut_value(grid, neighbours, cutter.mask)) << name;
    EXPECT_TRUE(cutter.mask == expected.mask) << name << ": another mask than the CPU's";
  }

  std::shared_ptr<Backend> gpu_, cpu_;
};

constexpr Neighbours kBoth[] = {Neighbours::four, Neighbours::eight};
constexpr CutTier kTiers[] = {CutTier::resident, CutTier::sparse, CutTier::plain};

std::string named(Size size, int32_t most, Neighbours neighbours, CutTier tier) {
  return std::to_string(size.width) + "x" + std::to_string(size.height) + " up to " +
         std::to_string(most) + ", " + std::to_string(static_cast<int>(neighbours)) +
         " neighbours, tier " + std::to_string(static_cast<int>(tier));
}

// Cold, warm from another frame, stopped after a round and gone on from there.
TEST_F(MaxflowCuda, RandomGridsOfAllWidthsOfNumbers) {
  unsigned seed = 1;
  for (const Size size :
       {Size{1, 1}, {1, 40}, {67, 1}, {31, 15}, {32, 16}, {33, 17}, {65, 49}, {130, 75}}) {
    for (const int32_t most : {2, 300, 3000, 20000, 100000, 2000000000}) {
      const Grid first = random_grid(size, most, seed++), second = random_grid(size, most, seed++);
      for (const Neighbours neighbours : kBoth) {
        Cutter cpu = on_cpu(size, neighbours), cpu_second = on_cpu(size, neighbours);
        cpu.run(first);
        cpu_second.run(second);
        for (const CutTier tier : kTiers) {
          const std::string name = named(size, most, neighbours, tier);
          Cutter gpu = on_gpu(size, neighbours, tier);
          gpu.run(first);
          expect_optimum(gpu, cpu, first, neighbours, name);
          CutLimits limits;
          limits.warm = true;
          gpu.run(second, limits);
          expect_optimum(gpu, cpu_second, second, neighbours, name + ", warm");
          limits = {};
          limits.max_iterations = 1;
          gpu.run(first, limits);
          EXPECT_EQ(gpu.report().gap, cut_value(first, neighbours, gpu.mask) - gpu.report().flow)
              << name;
          EXPECT_EQ(gpu.report().exact, gpu.report().gap == 0) << name;
          limits = {};
          limits.warm = true;
          gpu.run(first, limits);
          expect_optimum(gpu, cpu, first, neighbours, name + ", gone on");
        }
      }
    }
  }
}

TEST_F(MaxflowCuda, FramesLargerThanSharedMemory) {
  for (const Neighbours neighbours : kBoth) {
    const Size size = neighbours == Neighbours::four ? Size{2500, 1300} : Size{1500, 1000};
    const Grid grid = random_grid(size, 200, 7);
    Cutter cpu = on_cpu(size, neighbours), gpu = on_gpu(size, neighbours, CutTier::resident);
    cpu.run(grid);
    gpu.run(grid);
    expect_optimum(gpu, cpu, grid, neighbours, "large");
  }
}

// The shorter one fits 16-bit heights by a little, the longer one does not.
TEST_F(MaxflowCuda, WaysLongerThanHeightsOf16Bits) {
  for (const Size size : {Size{301, 399}, {401, 399}}) {
    const Grid grid = corridor(size);
    Cutter cpu = on_cpu(size, Neighbours::four);
    cpu.run(grid);
    for (const CutTier tier : {CutTier::resident, CutTier::sparse}) {
      Cutter gpu = on_gpu(size, Neighbours::four, tier);
      gpu.run(grid);
      EXPECT_EQ(gpu.report().flow, 40);
      expect_optimum(gpu, cpu, grid, Neighbours::four, named(size, 70, Neighbours::four, tier));
    }
  }
}

// Objects that move before a background, warm and cold by turns. Other cuts of the process come and
// go, by which a frame's solver is chosen: each goes on from the flows that another one kept.
TEST_F(MaxflowCuda, FlowsGoOnThroughSolversAndTiles) {
  const Size size{423, 301};
  for (const Neighbours neighbours : kBoth) {
    for (const CutTier tier : {CutTier::sparse, CutTier::automatic}) {
      Cutter gpu = on_gpu(size, neighbours, tier);
      std::unique_ptr<GridCut> other;
      for (int frame = 0; frame < 12; ++frame) {
        other = frame % 3 == 1 ? make_cuda_grid_cut(gpu_, CutTier::automatic) : std::move(other);
        if (frame % 3 == 0) other.reset();
        const int wide = frame >= 6 && frame < 9 ? 250 : size.width;
        const Grid grid = island(size, 40 + 21 * frame, 20 + 15 * frame, wide);
        Cutter cpu = on_cpu(size, neighbours);
        cpu.run(grid);
        CutLimits limits;
        limits.warm = frame % 4 != 0;
        // Without a limit warm is a choice.
        limits.max_iterations = frame % 2 == 0 ? INT32_MAX : 0;
        gpu.run(grid, limits);
        expect_optimum(gpu, cpu, grid, neighbours,
                       named(size, 200, neighbours, tier) + ", frame " + std::to_string(frame));
      }
    }
  }
}

// A cut that has the device for itself goes to the solver that its last frames were fit for.
TEST_F(MaxflowCuda, ALoneCutChangesItsSolver) {
  const Size size{200, 151};
  const Grid easy = island(size, 60, 50, size.width), hard = corridor(size);
  const auto rounds = [&](CutTier tier, const Grid& grid) {
    Cutter gpu = on_gpu(size, Neighbours::four, tier);
    gpu.run(grid);
    return gpu.report().iterations;
  };
  struct Frame {
    const char* name;
    const Grid& grid;
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
  for (const auto& [name, grid, wanted] :
       {Frame{"first", easy, easy_by_lists}, Frame{"harder", hard, hard_by_lists},
        Frame{"hard", hard, hard_on_device}, Frame{"easier", easy, easy_on_device},
        Frame{"easy", easy, easy_by_lists}}) {
    gpu.run(grid);
    cpu.run(grid);
    EXPECT_EQ(gpu.report().iterations, wanted) << name;
    expect_optimum(gpu, cpu, grid, Neighbours::four, name);
  }
}

TEST_F(MaxflowCuda, StopsWhenTimeIsUp) {
  const Size size{1280, 720};
  const Grid grid = random_grid(size, 3000, 5);
  for (const CutTier tier : {CutTier::resident, CutTier::sparse}) {
    Cutter gpu = on_gpu(size, Neighbours::four, tier);
    CutLimits limits;
    limits.time_budget_us = 1;
    gpu.run(grid, limits);
    EXPECT_EQ(gpu.report().iterations, 1);
    EXPECT_FALSE(gpu.report().exact);
    EXPECT_EQ(gpu.report().gap, cut_value(grid, Neighbours::four, gpu.mask) - gpu.report().flow);
  }
}

// Each fills the device with a kernel whose blocks wait for each other.
TEST_F(MaxflowCuda, SeveralAtOnce) {
  const Size size{640, 480};
  const Grid grid = random_grid(size, 300, 3);
  Cutter cpu = on_cpu(size, Neighbours::eight);
  cpu.run(grid);
  std::vector<Cutter> cutters;
  for (int i = 0; i < 4; ++i) {
    cutters.push_back(on_gpu(size, Neighbours::eight, i % 2 ? CutTier::sparse : CutTier::resident));
  }
  for (int frame = 0; frame < 20; ++frame) {
    for (Cutter& cutter : cutters) cutter.enqueue(grid);
    for (Cutter& cutter : cutters) {
      cutter.wait();
      expect_optimum(cutter, cpu, grid, Neighbours::eight, "frame " + std::to_string(frame));
    }
  }
}

}  // namespace
}  // namespace regions
