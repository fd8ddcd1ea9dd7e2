// Makes the library's runner for graphcutbg.
#include "core/graphcutbg/graphcutbg.hpp"

#include "library/runner.hpp"

namespace regions {

std::unique_ptr<Runner> make_graphcutbg_runner(const std::shared_ptr<Backend>& backend);
std::unique_ptr<Runner> make_graphcutbg_runner(const std::shared_ptr<Backend>& backend) {
  return make_runner_of<GraphCutBgParams>(backend, {.foreground = true});
}

}  // namespace regions
