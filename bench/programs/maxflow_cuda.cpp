// CUDA's solvers of minimum cuts.
#include "bench/maxflow.hpp"
#include "gpu/device/device.hpp"
#include "gpu/maxflow/maxflow.hpp"

namespace regions {

std::vector<CutSolver> cuda_cut_solvers() {
  std::vector<CutSolver> solvers;
  if (cuda_device_count() == 0) return solvers;
  constexpr std::pair<const char*, CutTier> kTiers[] = {{"cuda resident", CutTier::resident},
                                                        {"cuda streamed", CutTier::streamed},
                                                        {"cuda plain", CutTier::plain}};
  for (const auto& [name, tier] : kTiers) {
    solvers.push_back({name, [] { return make_cuda_backend(); },
                       [tier = tier](std::shared_ptr<Backend> backend) {
                         return make_cuda_grid_cut(std::move(backend), tier);
                       }});
  }
  return solvers;
}

}  // namespace regions
