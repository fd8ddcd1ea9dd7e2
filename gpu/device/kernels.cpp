// Finds kernels by their files, and has the driver load them.
#include "gpu/device/kernels.hpp"

#include <vector>

#include "gpu/device/driver_call.hpp"
#include "gpu/kernel_file.hpp"

namespace regions {
namespace {

constexpr unsigned kVersion = 12040;
template <class Function>
Function* call(const char* name) {
  return find_driver_call<Function>(name, kVersion);
}

}  // namespace

void load_kernels() {
  static auto* const module_of = call<decltype(cuFuncGetModule)>("cuFuncGetModule");
  static auto* const count_of =
      call<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount");
  static auto* const list =
      call<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions");
  static auto* const load = call<decltype(cuFuncLoad)>("cuFuncLoad");
  if (!module_of || !count_of || !list || !load) return;
  // A kernel that cannot be loaded says so when it is launched.
  KernelFile::for_each([](const void* kernel) {
    cudaFunction_t one = nullptr;
    CUmodule module = nullptr;
    unsigned count = 0;
    if (cudaGetFuncBySymbol(&one, kernel) != cudaSuccess) return void(cudaGetLastError());
    if (module_of(&module, one) != CUDA_SUCCESS) return;
    if (count_of(&count, module) != CUDA_SUCCESS) return;
    std::vector<CUfunction> functions(count);
    if (list(functions.data(), count, module) != CUDA_SUCCESS) return;
    for (const CUfunction function : functions) load(function);
  });
}

}  // namespace regions
