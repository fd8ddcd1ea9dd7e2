// Finds kernels by their files, and has the driver load them.
#include "gpu/runtime/kernels.hpp"

#include <vector>

#include "gpu/runtime/driver_call.hpp"
#include "gpu/runtime/kernel_file.hpp"

namespace regions {
namespace {

constexpr unsigned kVersion = 12040;
template <class Function>
Function* call(const char* name) {
  return find_driver_call<Function>(name, kVersion);
}

// All kernels of the process, in the context in use. None where the driver lists none (before
// CUDA 12.4).
std::vector<CUfunction> all_kernels() {
  static auto* const module_of = call<decltype(cuFuncGetModule)>("cuFuncGetModule");
  static auto* const count_of =
      call<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount");
  static auto* const list =
      call<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions");
  std::vector<CUfunction> all;
  if (!module_of || !count_of || !list) return all;
  KernelFile::for_each([&](const void* kernel) {
    cudaFunction_t one = nullptr;
    CUmodule module = nullptr;
    unsigned count = 0;
    if (cudaGetFuncBySymbol(&one, kernel) != cudaSuccess) return void(cudaGetLastError());
    if (module_of(&module, one) != CUDA_SUCCESS) return;
    if (count_of(&count, module) != CUDA_SUCCESS) return;
    const size_t before = all.size();
    all.resize(before + count);
    if (list(all.data() + before, count, module) != CUDA_SUCCESS) all.resize(before);
  });
  return all;
}

}  // namespace

bool have_machine_code() {
  const int capability = device_attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                         device_attribute(cudaDevAttrComputeCapabilityMinor);
  return runs_on(capability, {REGIONS_ARCHITECTURES});
}

void load_kernels() {
  static auto* const load = call<decltype(cuFuncLoad)>("cuFuncLoad");
  if (!load || !have_machine_code()) return;
  // A kernel that cannot be loaded says so when it is launched.
  for (const CUfunction kernel : all_kernels()) load(kernel);
}

}  // namespace regions
