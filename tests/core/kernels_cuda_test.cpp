// Kernels are loaded when a backend is made, not when frames come.
#include <gtest/gtest.h>

#include <vector>

#include "gpu/runtime/cuda_backend.hpp"
#include "gpu/runtime/driver_function.hpp"
#include "gpu/runtime/kernel_loading.hpp"

namespace regions {
namespace {

TEST(KernelsCuda, MachineCodeRunsOnLaterDevicesOfItsMajorVersion) {
  EXPECT_TRUE(is_binary_compatible(90, {80, 90}));
  EXPECT_TRUE(is_binary_compatible(89, {80, 90}));
  EXPECT_TRUE(is_binary_compatible(121, {120}));
  EXPECT_FALSE(is_binary_compatible(75, {80, 90})) << "Turing";
  EXPECT_FALSE(is_binary_compatible(86, {89})) << "of a later minor version";
  EXPECT_FALSE(is_binary_compatible(120, {80, 90, 100})) << "Blackwell of another major version";
  EXPECT_FALSE(is_binary_compatible(90, {}));
}

template <class Function>
Function* call(const char* name) {
  return find_driver_function<Function>(name, 12040);
}

// What there is, is asked of the driver here, file by file: load_kernels() leaves out what it can't
// find.
TEST(KernelsCuda, AreLoadedWithTheBackend) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  auto* const module_of = call<decltype(cuFuncGetModule)>("cuFuncGetModule");
  auto* const count_of = call<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount");
  auto* const list = call<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions");
  auto* const ask = call<decltype(cuFuncIsLoaded)>("cuFuncIsLoaded");
  if (!ask) GTEST_SKIP() << "the driver does not tell which kernels are loaded";
  const auto backend = make_cuda_backend();
  const Backend::Entry entry(*backend);
  if (!has_machine_code()) GTEST_SKIP() << "kernels are translated when they are first launched";
  int files = 0, loaded = 0, others = 0;
  KernelRegistration::for_each([&](const void* kernel) {
    ++files;
    cudaFunction_t one = nullptr;
    CUmodule module = nullptr;
    unsigned count = 0;
    ASSERT_EQ(cudaGetFuncBySymbol(&one, kernel), cudaSuccess);
    ASSERT_EQ(module_of(&module, one), CUDA_SUCCESS);
    ASSERT_EQ(count_of(&count, module), CUDA_SUCCESS);
    std::vector<CUfunction> functions(count);
    ASSERT_EQ(list(functions.data(), count, module), CUDA_SUCCESS);
    for (const CUfunction function : functions) {
      CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
      ASSERT_EQ(ask(&state, function), CUDA_SUCCESS);
      ++(state == CU_FUNCTION_LOADING_STATE_LOADED ? loaded : others);
    }
  });
  EXPECT_GT(files, 0);
  EXPECT_GT(loaded, files) << "a file has one kernel more than its own";
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace regions
