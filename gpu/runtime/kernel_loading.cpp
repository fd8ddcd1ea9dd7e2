// Lists the kernels of all registered source files and makes the driver load them.
#include "gpu/runtime/kernel_loading.hpp"

#include <vector>

#include "gpu/runtime/driver_function.hpp"

namespace regions {
namespace {

constexpr unsigned kVersion = 12040;  // of the driver interface, CUDA 12.4
template <class Function>
Function* find(const char* name) {
  return find_driver_function<Function>(name, kVersion);
}

// All kernels of the process in the current context. Empty if the driver cannot list kernels
// (before CUDA 12.4).
std::vector<CUfunction> all_kernels() {
  static auto* const module_of = find<decltype(cuFuncGetModule)>("cuFuncGetModule");
  static auto* const count_of =
      find<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount");
  static auto* const list =
      find<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions");
  std::vector<CUfunction> all;
  if (!module_of || !count_of || !list) return all;
  KernelRegistration::for_each([&](const void* kernel) {
    cudaFunction_t function = nullptr;
    CUmodule module = nullptr;
    unsigned count = 0;
    if (cudaGetFuncBySymbol(&function, kernel) != cudaSuccess) return void(cudaGetLastError());
    if (module_of(&module, function) != CUDA_SUCCESS) return;
    if (count_of(&count, module) != CUDA_SUCCESS) return;
    const size_t before = all.size();
    all.resize(before + count);
    if (list(all.data() + before, count, module) != CUDA_SUCCESS) all.resize(before);
  });
  return all;
}

}  // namespace

bool has_machine_code() {
  const int capability = device_attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                         device_attribute(cudaDevAttrComputeCapabilityMinor);
  return is_binary_compatible(capability, {REGIONS_ARCHITECTURES});
}

void load_kernels() {
  static auto* const load = find<decltype(cuFuncLoad)>("cuFuncLoad");
  if (!load || !has_machine_code()) return;
  // Errors are ignored here: a kernel that cannot be loaded reports its error at its launch.
  for (const CUfunction kernel : all_kernels()) load(kernel);
}

}  // namespace regions
