// Kernels are loaded when a backend is made, not when frames come.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/device/device.hpp"
#include "gpu/device/kernels.hpp"
#include "gpu/kernel_file.hpp"

namespace regions {
namespace {

TEST(KernelsCuda, MachineCodeRunsOnLaterDevicesOfItsMajorVersion) {
  EXPECT_TRUE(runs_on(90, {80, 90}));
  EXPECT_TRUE(runs_on(89, {80, 90}));
  EXPECT_TRUE(runs_on(121, {120}));
  EXPECT_FALSE(runs_on(75, {80, 90})) << "Turing";
  EXPECT_FALSE(runs_on(86, {89})) << "of a later minor version";
  EXPECT_FALSE(runs_on(120, {80, 90, 100})) << "Blackwell of another major version";
  EXPECT_FALSE(runs_on(90, {}));
}

TEST(KernelsCuda, AreLoadedWithTheBackend) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  auto* const ask = find_driver_call<decltype(cuFuncIsLoaded)>("cuFuncIsLoaded", 12040);
  if (!ask) GTEST_SKIP() << "the driver does not tell which kernels are loaded";
  const auto backend = make_cuda_backend();
  const Backend::Entry entry(*backend);
  if (!have_machine_code()) GTEST_SKIP() << "kernels are translated when they are first launched";
  ptrdiff_t files = 0;
  KernelFile::for_each([&](const void*) { ++files; });
  const auto kernels = all_kernels();
  const auto loaded = std::count_if(kernels.begin(), kernels.end(), [&](CUfunction kernel) {
    auto state = CU_FUNCTION_LOADING_STATE_UNLOADED;
    return ask(&state, kernel) == CUDA_SUCCESS && state == CU_FUNCTION_LOADING_STATE_LOADED;
  });
  EXPECT_GT(files, 0);
  EXPECT_GT(loaded, files) << "a file has one kernel more than its own";
  EXPECT_EQ(loaded, std::ssize(kernels));
}

}  // namespace
}  // namespace regions
