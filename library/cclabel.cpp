// Makes the library's runner for cclabel.
#include "core/cclabel/cclabel.hpp"

#include "library/runner.hpp"

namespace regions {

std::unique_ptr<Runner> make_cclabel_runner(const std::shared_ptr<Backend>& backend);
std::unique_ptr<Runner> make_cclabel_runner(const std::shared_ptr<Backend>& backend) {
  return make_runner_of<CcLabelParams>(backend, {.regions = true, .runs = true});
}

}  // namespace regions
