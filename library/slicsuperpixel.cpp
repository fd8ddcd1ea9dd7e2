// Makes the library's runner for slicsuperpixel.
#include "core/slicsuperpixel/slicsuperpixel.hpp"

#include "library/runner.hpp"

namespace regions {

std::unique_ptr<Runner> make_slicsuperpixel_runner(const std::shared_ptr<Backend>& backend);
std::unique_ptr<Runner> make_slicsuperpixel_runner(const std::shared_ptr<Backend>& backend) {
  return make_runner_of<SlicParams>(backend, {.regions = true, .moments = true});
}

}  // namespace regions
