// Minimum cuts on CUDA: what a frame asks for, solver by solver.
#include <atomic>
#include <cstring>
#include <optional>
#include <variant>

#include "gpu/maxflow/choices.hpp"
#include "gpu/maxflow/maxflow.hpp"
#include "gpu/maxflow/phases.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace maxflow {
namespace {

Boxes boxes_of(Size size) {
  Boxes boxes{};
  boxes.columns = (size.width + kTileWidth - 1) / kTileWidth;
  boxes.rows = (size.height + kTileHeight - 1) / kTileHeight;
  return boxes;
}

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
    told_ = backend_->allocate_pinned(2 * sizeof(Told));
    std::memset(told_.data(), 0, told_.bytes());
    lone_.start(neighbours, told_.as<Told>());
    for (const bool device : {false, true}) warm_starts_[device].start(told(device));
    reset();
  }

  void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
               CutReport* report, int, Queue& queue) override {
    expects(graph.terminal.size() == size_ && foreground.size() == size_ &&
                graph.neighbours == neighbours_,
            "the cut differs from the configured size or neighbours");
    expects(!graph.links, "computed capacities are supported on the CPU only");
    const cudaStream_t stream = stream_of(queue);
    ++cuts_;
    Problem problem = {.graph = graph,
                       .foreground = foreground,
                       .kept = kept_,
                       .progress = progress_of(cuts_),
                       .report = report,
                       .told = nullptr,
                       .cut = cuts_,
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
      let_choose(true, problem);
      solvers.resident().enqueue(problem, stream);
      plain_.enqueue(problem, stream);
      return false;
    }
    let_choose(false, problem);
    solvers.sparse().enqueue(problem, plain_.arrays(), progress_of(cuts_ + 1), after_sparse, alone,
                             stream);
    return true;
  }
  // For a solver: whether the cut starts warm, and where it tells what that took.
  void let_choose(bool device, Problem& problem) {
    problem.told = told(device);
    // A warm cut that may stop early goes on from where the last one stopped.
    const bool may_choose = problem.warm && !problem.may_stop();
    if (may_choose) problem.warm = warm_starts_[device].takes_warm();
  }
  Told* told(bool device) const { return told_.as<Told>() + device; }
  Progress* progress_of(uint32_t cut) const { return progress_ + cut % 2; }

  static inline std::atomic<int> cuts_at_work_ = 0;  // objects of the process

  std::shared_ptr<Backend> backend_;
  const CutTier tier_;
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  std::variant<std::monostate, TileSolvers<4>, TileSolvers<8>> solvers_;
  PlainSolver plain_;
  LoneSolver lone_;
  WarmStarts warm_starts_[2];  // of cuts by lists of tiles, and by the whole device
  Block told_;                 // [2], likewise
  Workspace memory_;
  int32_t* kept_ = nullptr;       // [links][height][width]
  Progress* progress_ = nullptr;  // [2], of frames by turns
  uint32_t cuts_ = 0;
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
