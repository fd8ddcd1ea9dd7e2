// Minimum cuts on CUDA: the class that selects and enqueues the solvers of a frame, and the kernel
// of the plain solver.
#include <atomic>
#include <cstring>
#include <optional>
#include <variant>

#include "gpu/maxflow/maxflow.hpp"
#include "gpu/maxflow/plain.hpp"
#include "gpu/maxflow/solver_selector.hpp"
#include "gpu/maxflow/solvers.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions {
namespace maxflow {
namespace {

// ---- the plain solver

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    plain_kernel(const __grid_constant__ Problem problem, const PlainArrays arrays) {
  __shared__ GridBarrier::SharedWords words;
  // No block of this kernel writes is_solved before all blocks have read it, so all blocks take the
  // same branch.
  if (problem.progress->is_solved) return;
  PlainPushRelabel(problem, arrays, &words).run();
}

}  // namespace

void PlainSolver::reserve(Workspace& memory, Size size) {
  memory.reserve(arrays_.excess, size.area());
  memory.reserve(arrays_.height, size.area());
  memory.reserve(arrays_.busy, static_cast<size_t>((size.width + PlainPushRelabel::kTileSide - 1) /
                                                   PlainPushRelabel::kTileSide) *
                                   ((size.height + PlainPushRelabel::kTileSide - 1) /
                                    PlainPushRelabel::kTileSide));
  blocks_ = std::min(blocks_for(size.area(), kThreads),
                     static_cast<unsigned>(resident_blocks(plain_kernel, kThreads)));
}

void PlainSolver::enqueue(const Problem& problem, cudaStream_t stream) const {
  launch_cooperative(plain_kernel, blocks_, kThreads, 0, stream, problem, arrays_);
}

// ---- selection of the solver

namespace {

// Returns halo buffers whose numbers of tile columns and rows are set. Their memory is not
// allocated yet.
HaloBuffers tile_layout(Size size) {
  HaloBuffers halos{};
  halos.columns = (size.width + kTileWidth - 1) / kTileWidth;
  halos.rows = (size.height + kTileHeight - 1) / kTileHeight;
  return halos;
}

// The two solvers that work on tiles: resident and sparse.
template <int kNeighbours>
class TileSolvers {
 public:
  void reserve(Workspace& memory, const HaloBuffers& halos, CutTier tier) {
    if (tier != CutTier::sparse) {
      has_resident_ = resident_solver_.reserve(memory, halos);
      is_always_resident_ = tier == CutTier::resident && has_resident_;
    }
    if (!is_always_resident_) sparse_solver_.reserve(memory, halos);
  }
  // Whether a frame uses the resident solver. `prefers_resident` is the choice of the selector.
  bool uses_resident(bool prefers_resident) const {
    return is_always_resident_ || (prefers_resident && has_resident_);
  }
  ResidentSolver<kNeighbours>& resident() { return resident_solver_; }
  SparseSolver<kNeighbours>& sparse() { return sparse_solver_; }

 private:
  ResidentSolver<kNeighbours> resident_solver_;
  SparseSolver<kNeighbours> sparse_solver_;
  bool has_resident_ = false;        // whether the picture fits into shared memory
  bool is_always_resident_ = false;  // whether every frame uses the resident solver
};

// Minimum cuts on a CUDA backend. A frame may start from the flows of the previous frame, so all
// in-flight frames share one workspace.
class GridCutCuda : public GridCut {
 public:
  GridCutCuda(std::shared_ptr<Backend> backend, CutTier tier, bool is_companion = false)
      : backend_(std::move(backend)), tier_(tier), count_(is_companion ? 0 : 1) {
    concurrent_cuts_ += count_;
  }
  ~GridCutCuda() override { concurrent_cuts_ -= count_; }
  GridCutCuda(const GridCutCuda&) = delete;
  GridCutCuda& operator=(const GridCutCuda&) = delete;

  std::unique_ptr<GridCut> make_companion() const override {
    return std::make_unique<GridCutCuda>(backend_, tier_, true);
  }

  void configure(Size size, Neighbours neighbours, int) override {
    expects(
        size.width > 0 && size.height > 0 && size.width <= 65535 && size.height <= 65535,
        "a cut of " + std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels");
    size_ = size;
    neighbours_ = neighbours;
    solvers_.template emplace<std::monostate>();
    previous_was_sparse_ = false;
    memory_ = {};
    const HaloBuffers halos = tile_layout(size);
    if (tier_ != CutTier::plain) {
      if (neighbours == Neighbours::four) {
        solvers_.template emplace<TileSolvers<4>>().reserve(memory_, halos, tier_);
      } else {
        solvers_.template emplace<TileSolvers<8>>().reserve(memory_, halos, tier_);
      }
    }
    plain_solver_.reserve(memory_, size);
    memory_.reserve(link_flow_, size.area() * (static_cast<size_t>(neighbours) / 2));
    memory_.reserve(progress_, 2);
    memory_.allocate(*backend_);
    statistics_ = backend_->allocate_pinned(2 * sizeof(CutStatistics));
    std::memset(statistics_.data(), 0, statistics_.bytes());
    selector_.start(neighbours, statistics_.as<CutStatistics>());
    for (const bool resident : {false, true}) warm_starts_[resident].start(statistics(resident));
    reset();
  }

  void enqueue(const GridGraph& graph, Image<uint8_t> foreground, const CutLimits& limits,
               CutResult* result, int, Queue& queue) override {
    expects(graph.terminal.size() == size_ && foreground.size() == size_ &&
                graph.neighbours == neighbours_,
            "the cut differs from the configured size or neighbours");
    expects(!graph.links, "computed capacities are supported on the CPU only");
    const cudaStream_t stream = stream_of(queue);
    ++cut_count_;
    Problem problem = {.graph = graph,
                       .foreground = foreground,
                       .link_flow = link_flow_,
                       .progress = progress_of(cut_count_),
                       .result = result,
                       .statistics = nullptr,
                       .cut = cut_count_,
                       .max_iterations = limits.max_iterations,
                       .time_budget_ns = limits.time_budget * 1000,
                       .warm_start = limits.warm_start && has_link_flow_,
                       .has_no_flow = nullptr,
                       .tiles = 0};
    const bool is_exclusive = tier_ != CutTier::sparse && concurrent_cuts_ == 1;
    const bool follows_sparse = std::exchange(previous_was_sparse_, false);
    if (!follows_sparse) {
      check(cudaMemsetAsync(problem.progress, 0, sizeof(Progress), stream),
            "clearing the progress");
    }
    previous_was_sparse_ = std::visit(
        [&](auto& solvers) {
          return enqueue_on(solvers, problem, is_exclusive, follows_sparse, stream);
        },
        solvers_);
    has_link_flow_ = true;
  }

  void reset() override { has_link_flow_ = false; }

 private:
  // Enqueues the frame's solvers. Returns whether the sparse solver processes the frame.
  bool enqueue_on(std::monostate, const Problem& problem, bool, bool, cudaStream_t stream) {
    plain_solver_.enqueue(problem, stream);
    return false;
  }
  template <int kNeighbours>
  bool enqueue_on(TileSolvers<kNeighbours>& solvers, Problem& problem, bool is_exclusive,
                  bool follows_sparse, cudaStream_t stream) {
    if (solvers.uses_resident(is_exclusive && selector_.choose_resident())) {
      choose_warm_start(true, problem);
      solvers.resident().enqueue(problem, stream);
      plain_solver_.enqueue(problem, stream);
      return false;
    }
    choose_warm_start(false, problem);
    solvers.sparse().enqueue(problem, plain_solver_.arrays(), progress_of(cut_count_ + 1),
                             follows_sparse, is_exclusive, stream);
    return true;
  }
  // Chooses a warm or cold start for the resident or the sparse solver. Also sets the address at
  // which the kernels write the solver's statistics.
  void choose_warm_start(bool resident, Problem& problem) {
    problem.statistics = statistics(resident);
    // If a cut may stop early, a warm start must continue where the last cut stopped.
    const bool can_choose_start = problem.warm_start && !problem.may_stop_early();
    if (can_choose_start) problem.warm_start = warm_starts_[resident].use_warm_start();
  }
  CutStatistics* statistics(bool resident) const {
    return statistics_.as<CutStatistics>() + resident;
  }
  Progress* progress_of(uint32_t cut) const { return progress_ + cut % 2; }

  // Number of cuts in the process that may run at the same time.
  static inline std::atomic<int> concurrent_cuts_ = 0;

  std::shared_ptr<Backend> backend_;
  const CutTier tier_;
  const int count_;  // this cut's part of concurrent_cuts_
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  std::variant<std::monostate, TileSolvers<4>, TileSolvers<8>> solvers_;
  PlainSolver plain_solver_;
  SolverSelector selector_;
  WarmStartSelector warm_starts_[2];  // for the sparse and the resident solver
  Block statistics_;                  // CutStatistics [2], for the sparse and the resident solver
  Workspace memory_;
  int32_t* link_flow_ = nullptr;  // [links][height][width], flow along each link
  Progress* progress_ = nullptr;  // [2], for even and odd cuts
  uint32_t cut_count_ = 0;        // number of cuts so far
  // Whether the sparse solver processed the previous frame. If so, the sparse solver's kernels have
  // already cleared the progress of this frame.
  bool previous_was_sparse_ = false;
  bool has_link_flow_ = false;  // whether link_flow_ contains the flows of a frame of this size
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
