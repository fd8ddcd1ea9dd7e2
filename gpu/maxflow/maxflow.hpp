// Minimum cuts on CUDA with a choice that tests and benchmarks make; make_grid_cut() takes the
// first.
#pragma once

#include "core/maxflow/maxflow.hpp"

namespace regions {

// Where the residual graph lies: `resident`, in tiles that stay in shared memory, which falls back
// to `sparse` where the frame does not fit, in tiles in memory of which those with work are worked
// on; `plain`, in arrays. All but `plain` hold 16 bits a number and leave frames that need more to
// it. `automatic`: sparse, but for the only cut of a process resident where that is faster. An
// iteration is a round of pushes. Capacities below zero count as zero.
enum class CutTier { automatic, resident, sparse, plain };

std::unique_ptr<GridCut> make_cuda_grid_cut(std::shared_ptr<Backend> backend, CutTier tier);

}  // namespace regions
