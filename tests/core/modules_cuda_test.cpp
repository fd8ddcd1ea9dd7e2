// Kernels are loaded before frames come.
#include <gtest/gtest.h>

#include "gpu/device/device.hpp"
#include "gpu/device/modules.hpp"

namespace regions {
namespace {

TEST(ModulesCuda, AreLoadedOnce) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  const auto backend = make_cuda_backend();
  const Backend::Entry entry(*backend);
  const int loaded = load_modules();
  if (loaded == 0) GTEST_SKIP() << "kernels of portable code, or all are loaded at the start";
  EXPECT_GT(loaded, 1) << "besides listed_kernel";
  EXPECT_EQ(load_modules(), 0);
}

}  // namespace
}  // namespace regions
