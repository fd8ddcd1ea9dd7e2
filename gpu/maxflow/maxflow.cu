// Minimum cuts on CUDA: what a frame asks for, solver by solver.
#include <atomic>
#include <optional>
#include <variant>

#include "gpu/launch.hpp"
#include "gpu/maxflow/maxflow.hpp"
#include "gpu/maxflow/phases.hpp"

namespace regions {
namespace maxflow {
namespace {

Boxes boxes_of(Size size) {
  Boxes boxes{};
  boxes.columns = (size.width + kTileWidth - 1) / kTileWidth;
  boxes.rows = (size.height + kTileHeight - 1) / kTileHeight;
  return boxes;
}

// Which solver a cut takes that has the device for itself. With 4 neighbours tiles in shared memory
// pay for cuts of many rounds alone; on an H200 (2026-11-26), rounds and milliseconds by lists of
// tiles and in shared memory: bgdiff_vga 11 and 48, .28 and .38; bgdiff_1080 20 and 49, .51 and
// .62; grab_vga 72 and 161, 2.5 and 1.9; grab_1080 110 and 294, 6.1 and 5.2. With 8 they always do,
// by a fifth to a half. What counts is the last frame of which the host knows.
class LoneSolver {
 public:
  void allocate(Backend& backend, Neighbours neighbours) {
    neighbours_ = neighbours;
    rounds_ = backend.allocate_pinned(2 * sizeof(int32_t));
    choose(false);
  }
  bool takes_device() {
    if (neighbours_ == Neighbours::eight) return true;
    constexpr int kHardForLists = 45, kHardForDevice = 110;
    const int rounds = *static_cast<const volatile int32_t*>(told(takes_device_));
    const bool hard = rounds > (takes_device_ ? kHardForDevice : kHardForLists);
    if (hard != takes_device_) choose(hard);
    return hard;
  }
  // Where the kernels of either solver tell their rounds.
  int32_t* told(bool device) const { return rounds_.as<int32_t>() + device; }

 private:
  // Until a frame of that solver has told its rounds, it stays.
  void choose(bool device) {
    takes_device_ = device;
    *told(device) = device ? INT32_MAX : 0;
  }

  Block rounds_;
  Neighbours neighbours_ = Neighbours::four;
  bool takes_device_ = false;
};

// The solvers in tiles: one for a cut that has the device for itself, one for any.
template <int kNeighbours>
class TileSolvers {
 public:
  void reserve(Workspace& memory, const Boxes& boxes, CutTier tier) {
    if (tier != CutTier::sparse) {
      has_resident_ = resident_.reserve(memory, boxes);
      is_fixed_ = tier == CutTier::resident && has_resident_;
    }
    if (!is_fixed_) sparse_.reserve(memory, boxes);
  }
  // Whether a frame goes to the solver that fills the device, if it is to.
  bool takes_device(bool wanted) const { return is_fixed_ || (wanted && has_resident_); }
  ResidentSolver<kNeighbours>& resident() { return resident_; }
  SparseSolver<kNeighbours>& sparse() { return sparse_; }

 private:
  ResidentSolver<kNeighbours> resident_;
  SparseSolver<kNeighbours> sparse_;
  bool has_resident_ = false;  // the picture fits into shared memory
  bool is_fixed_ = false;      // and is always to be there
};

// Each frame may start from the last one's flows: there is one workspace for all slots.
class GridCutCuda : public GridCut {
 public:
  GridCutCuda(std::shared_ptr<Backend> backend, CutTier tier)
      : backend_(std::move(backend)), tier_(tier) {
    ++cuts_at_work_;
  }
  ~GridCutCuda() override { --cuts_at_work_; }
  GridCutCuda(const GridCutCuda&) = delete;
  GridCutCuda& operator=(const GridCutCuda&) = delete;

  void configure(Size size, Neighbours neighbours, int) override {
    expects(
        size.width > 0 && size.height > 0 && size.width <= 65535 && size.height <= 65535,
        "a cut of " + std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels");
    size_ = size;
    neighbours_ = neighbours;
    solvers_.template emplace<std::monostate>();
    was_sparse_ = false;
    memory_ = {};
    const Boxes boxes = boxes_of(size);
    if (tier_ != CutTier::plain) {
      if (neighbours == Neighbours::four) {
        solvers_.template emplace<TileSolvers<4>>().reserve(memory_, boxes, tier_);
      } else {
        solvers_.template emplace<TileSolvers<8>>().reserve(memory_, boxes, tier_);
      }
    }
    plain_.reserve(memory_, size);
    memory_.reserve(kept_, size.area() * (static_cast<size_t>(neighbours) / 2));
    memory_.reserve(progress_, 2);
    memory_.allocate(*backend_);
    lone_.allocate(*backend_, neighbours);
    reset();
  }

  void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
               CutReport* report, int, Queue& queue) override {
    expects(graph.terminal.size() == size_ && foreground.size() == size_ &&
                graph.neighbours == neighbours_,
            "a cut of another size or neighbourhood than configured");
    expects(!graph.links, "capacities that are computed where they are read are for the CPU");
    const cudaStream_t stream = stream_of(queue);
    Problem problem = {.graph = graph,
                       .foreground = foreground,
                       .kept = kept_,
                       .progress = progress_ + frames_ % 2,
                       .report = report,
                       .rounds = nullptr,
                       .max_iterations = limits.max_iterations,
                       .budget_ns = limits.time_budget_us * 1000,
                       .warm = limits.warm && solved_before_,
                       .flowless = nullptr,
                       .tiles = 0};
    const bool alone = tier_ != CutTier::sparse && cuts_at_work_ == 1;
    const bool after_sparse = std::exchange(was_sparse_, false);
    if (!after_sparse) {
      check(cudaMemsetAsync(problem.progress, 0, sizeof(Progress), stream),
            "clearing the progress");
    }
    was_sparse_ = std::visit(
        [&](auto& solvers) { return enqueue_on(solvers, problem, alone, after_sparse, stream); },
        solvers_);
    ++frames_;
    solved_before_ = true;
  }

  void reset() override { solved_before_ = false; }

 private:
  // Each returns whether the frame went to the sparse solver.
  bool enqueue_on(std::monostate, const Problem& problem, bool, bool, cudaStream_t stream) {
    plain_.enqueue(problem, stream);
    return false;
  }
  template <int kNeighbours>
  bool enqueue_on(TileSolvers<kNeighbours>& solvers, Problem& problem, bool alone,
                  bool after_sparse, cudaStream_t stream) {
    if (solvers.takes_device(alone && lone_.takes_device())) {
      problem.rounds = lone_.told(true);
      solvers.resident().enqueue(problem, stream);
      plain_.enqueue(problem, stream);
      return false;
    }
    problem.rounds = lone_.told(false);
    solvers.sparse().enqueue(problem, plain_.arrays(), progress_ + (frames_ + 1) % 2, after_sparse,
                             alone, stream);
    return true;
  }

  static inline std::atomic<int> cuts_at_work_ = 0;  // objects of the process

  std::shared_ptr<Backend> backend_;
  const CutTier tier_;
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  std::variant<std::monostate, TileSolvers<4>, TileSolvers<8>> solvers_;
  PlainSolver plain_;
  LoneSolver lone_;
  Workspace memory_;
  int32_t* kept_ = nullptr;       // [links][height][width]
  Progress* progress_ = nullptr;  // [2], of frames by turns
  unsigned frames_ = 0;
  bool was_sparse_ = false;     // the last frame, whose kernels cleared this one's progress
  bool solved_before_ = false;  // kept_ holds the flows of a frame of this size
};

}  // namespace
}  // namespace maxflow

std::unique_ptr<GridCut> make_cuda_grid_cut(std::shared_ptr<Backend> backend, CutTier tier) {
  return std::make_unique<maxflow::GridCutCuda>(std::move(backend), tier);
}

template <>
std::unique_ptr<GridCut> make_grid_cut<BackendKind::cuda>(std::shared_ptr<Backend> backend) {
  return make_cuda_grid_cut(std::move(backend), CutTier::automatic);
}

}  // namespace regions
