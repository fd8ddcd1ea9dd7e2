// The kernel of the plain solver, after one whose numbers were too short.
#include "gpu/maxflow/plain.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::maxflow {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    plain_kernel(const __grid_constant__ Problem problem, const PlainArrays arrays) {
  __shared__ GridBarrier::Words words;
  // Written by the kernel before, so all blocks agree.
  if (problem.progress->solved) return;
  Plain(problem, arrays, &words).run();
}

}  // namespace

void PlainSolver::reserve(Workspace& memory, Size size) {
  memory.reserve(arrays_.excess, size.area());
  memory.reserve(arrays_.height, size.area());
  memory.reserve(arrays_.busy, static_cast<size_t>((size.width + Plain::kSide - 1) / Plain::kSide) *
                                   ((size.height + Plain::kSide - 1) / Plain::kSide));
  blocks_ = std::min(blocks_for(size.area(), kThreads),
                     static_cast<unsigned>(resident_blocks(plain_kernel, kThreads)));
}

void PlainSolver::enqueue(const Problem& problem, cudaStream_t stream) const {
  launch_cooperative(plain_kernel, blocks_, kThreads, 0, stream, problem, arrays_);
}

}  // namespace regions::maxflow
