// Kernels are loaded before frames come.
#include <gtest/gtest.h>

#include "gpu/device/device.hpp"
#include "gpu/device/modules.hpp"

namespace regions {
namespace {

TEST(ModulesCuda, AreLoaded) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  const auto backend = make_cuda_backend();
  const Backend::Entry entry(*backend);
  const int loaded = load_modules();
  if (loaded == 0) GTEST_SKIP() << "kernels of portable code, or a driver of before CUDA 12.5";
  EXPECT_GT(loaded, 3) << "resampling has three, and listed_kernel";
}

}  // namespace
}  // namespace regions
