// Minimum cuts on CUDA: what a frame asks for, solver by solver.
#include <optional>

#include "gpu/launch.hpp"
#include "gpu/maxflow/maxflow.hpp"
#include "gpu/maxflow/phases.hpp"

namespace regions {
namespace maxflow {
namespace {

// One frame at a time is solved, whatever queue it comes on: each may start from the last one's
// flows, and fills the device anyway. So there is one workspace for all slots.
class GridCutCuda : public GridCut {
 public:
  GridCutCuda(std::shared_ptr<Backend> backend, CutTier tier)
      : backend_(std::move(backend)), tier_(tier) {
    Backend::Entry entry(*backend_);
    check(cudaEventCreateWithFlags(&solved_, cudaEventDisableTiming), "creating an event");
  }
  ~GridCutCuda() override {
    Backend::Entry entry(*backend_);
    cudaEventDestroy(solved_);
  }
  GridCutCuda(const GridCutCuda&) = delete;
  GridCutCuda& operator=(const GridCutCuda&) = delete;

  void configure(Size size, Neighbours neighbours, int) override {
    expects(
        size.width > 0 && size.height > 0 && size.width <= 65535 && size.height <= 65535,
        "a cut of " + std::to_string(size.width) + "x" + std::to_string(size.height) + " pixels");
    size_ = size;
    neighbours_ = neighbours;
    four_.reset();
    eight_.reset();
    memory_ = {};
    if (tier_ != CutTier::plain) {
      const bool may_reside = tier_ == CutTier::resident;
      if (neighbours == Neighbours::four) {
        four_.emplace().reserve(memory_, size, may_reside);
      } else {
        eight_.emplace().reserve(memory_, size, may_reside);
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
    const cudaStream_t stream = stream_of(queue);
    const Problem problem = {graph,
                             foreground,
                             kept_,
                             progress_,
                             limits.max_iterations,
                             limits.time_budget_us * 1000,
                             limits.warm && solved_before_};
    check(cudaStreamWaitEvent(stream, solved_), "waiting for the last cut");
    check(cudaMemsetAsync(progress_, 0, sizeof(Progress), stream), "clearing the progress");
    if (four_) four_->enqueue(problem, stream);
    if (eight_) eight_->enqueue(problem, stream);
    plain_.enqueue(problem, stream);
    if (report) queue.copy_bytes(&progress_->report, report, sizeof(CutReport));
    check(cudaEventRecord(solved_, stream), "recording the end of a cut");
    solved_before_ = true;
  }

  void reset() override { solved_before_ = false; }

 private:
  std::shared_ptr<Backend> backend_;
  const CutTier tier_;
  cudaEvent_t solved_ = nullptr;  // the end of the last frame's work
  Size size_;
  Neighbours neighbours_ = Neighbours::four;
  std::optional<TileSolver<4>> four_;
  std::optional<TileSolver<8>> eight_;
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
  return make_cuda_grid_cut(std::move(backend), CutTier::resident);
}

}  // namespace regions
