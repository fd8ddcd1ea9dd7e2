// What bench/maxflow times: the solvers of minimum cuts that this build and machine have.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/maxflow/maxflow.hpp"

namespace regions {

struct CutSolver {
  std::string name;
  std::function<std::shared_ptr<Backend>()> make_backend;
  std::function<std::unique_ptr<GridCut>(std::shared_ptr<Backend>)> make_cut;
};

// Empty in a build without CUDA, and where there is no GPU.
std::vector<CutSolver> cuda_cut_solvers();

}  // namespace regions
