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
  void enqueue(Problem& problem, bool alone, cudaStream_t stream) {
    const bool resident = is_fixed_ || (alone && has_resident_);
    if (resident) {
      resident_.enqueue(problem, stream);
    } else {
      sparse_.enqueue(problem, !was_resident_, alone, stream);
    }
    was_resident_ = resident;
  }

 private:
  ResidentSolver<kNeighbours> resident_;
  SparseSolver<kNeighbours> sparse_;
  bool has_resident_ = false;  // the picture fits into shared memory
  bool is_fixed_ = false;      // and is always to be there
  bool was_resident_ = true;   // the last frame; or there was none
};

// One frame at a time is solved, whatever queue it comes on: each may start from the last one's
// flows, and fills the device anyway. So there is one workspace for all slots.
class GridCutCuda : public GridCut {
 public:
  GridCutCuda(std::shared_ptr<Backend> backend, CutTier tier)
      : backend_(std::move(backend)), tier_(tier) {
    Backend::Entry entry(*backend_);
    check(cudaEventCreateWithFlags(&solved_, cudaEventDisableTiming), "creating an event");
    ++cuts_at_work_;
  }
  ~GridCutCuda() override {
    Backend::Entry entry(*backend_);
    cudaEventDestroy(solved_);
    --cuts_at_work_;
  }
  GridCutCuda(const GridCutCuda&) = delete;
  GridCutCuda& operator=(const GridCutCuda&) = delete;

  void configure(Size size, Neighbours neighbours, int) override {
    expects(
        size.width > 0 && size.height > 0 && size.width <= 65535 && size.height <= 65535,
        "a cut of " + std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels");
    size_ = size;
    neighbours_ = neighbours;
    solvers_.template emplace<std::monostate>();
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
    memory_.reserve(progress_, 1);
    memory_.allocate(*backend_);
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
                       .progress = progress_,
                       .max_iterations = limits.max_iterations,
                       .budget_ns = limits.time_budget_us * 1000,
                       .warm = limits.warm && solved_before_,
                       .flowless = nullptr,
                       .tiles = 0};
    check(cudaStreamWaitEvent(stream, solved_), "waiting for the last cut");
    check(cudaMemsetAsync(progress_, 0, sizeof(Progress), stream), "clearing the progress");
    const bool alone = tier_ != CutTier::sparse && cuts_at_work_ == 1;
    if (auto* four = std::get_if<TileSolvers<4>>(&solvers_)) four->enqueue(problem, alone, stream);
    if (auto* eight = std::get_if<TileSolvers<8>>(&solvers_)) {
      eight->enqueue(problem, alone, stream);
    }
    plain_.enqueue(problem, alone || problem.flowless == nullptr, stream);
    if (report) queue.copy_bytes(&progress_->report, report, sizeof(CutReport));
    check(cudaEventRecord(solved_, stream), "recording the end of a cut");
    solved_before_ = true;
  }

  void reset() override { solved_before_ = false; }

 private:
  static inline std::atomic<int> cuts_at_work_ = 0;  // objects of the process

  std::shared_ptr<Backend> backend_;
  const CutTier tier_;
  cudaEvent_t solved_ = nullptr;  // the end of the last frame's work
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  std::variant<std::monostate, TileSolvers<4>, TileSolvers<8>> solvers_;
  PlainSolver plain_;
  Workspace memory_;
  int32_t* kept_ = nullptr;       // [links][height][width]
  Progress* progress_ = nullptr;  // [1]
  bool solved_before_ = false;    // kept_ holds the flows of a frame of this size
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
