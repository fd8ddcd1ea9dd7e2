// Makes the library's runner for regionoverlay.
#include "core/drawing/regionoverlay.hpp"

#include "library/runner.hpp"

namespace regions {

std::unique_ptr<Runner> make_regionoverlay_runner(const std::shared_ptr<Backend>& backend);
std::unique_ptr<Runner> make_regionoverlay_runner(const std::shared_ptr<Backend>& backend) {
  return make_runner_of<RegionOverlayParams>(backend, {});
}

}  // namespace regions
