// Lists the kernels of all registered source files and makes the driver load them.
#include "gpu/runtime/kernel_loading.hpp"

#include <vector>

#include "gpu/runtime/driver_function.hpp"

namespace regions {
namespace {

constexpr unsigned kDriverVersion = 12040;  // version of the driver interface: CUDA 12.4
template <class Function>
Function* find_in_driver(const char* name) {
  return find_driver_function<Function>(name, kDriverVersion);
}

// Returns all kernels of the process in the current context. The list is empty if the driver cannot
// list kernels (before CUDA 12.4).
std::vector<CUfunction> all_kernels() {
  static auto* const get_module = find_in_driver<decltype(cuFuncGetModule)>("cuFuncGetModule");
  static auto* const get_kernel_count =
      find_in_driver<decltype(cuModuleGetFunctionCount)>("cuModuleGetFunctionCount");
  static auto* const list_kernels =
      find_in_driver<decltype(cuModuleEnumerateFunctions)>("cuModuleEnumerateFunctions");
  std::vector<CUfunction> all;
  if (!get_module || !get_kernel_count || !list_kernels) return all;
  KernelRegistration::for_each([&](const void* kernel) {
    cudaFunction_t function = nullptr;
    CUmodule module = nullptr;
    unsigned count = 0;
    if (cudaGetFuncBySymbol(&function, kernel) != cudaSuccess) return void(cudaGetLastError());
    if (get_module(&module, function) != CUDA_SUCCESS) return;
    if (get_kernel_count(&count, module) != CUDA_SUCCESS) return;
    const size_t previous_count = all.size();
    all.resize(previous_count + count);
    if (list_kernels(all.data() + previous_count, count, module) != CUDA_SUCCESS)
      all.resize(previous_count);
  });
  return all;
}

}  // namespace

bool has_machine_code() {
  if (imitates_old_gpu()) return false;
  const int capability = device_attribute(cudaDevAttrComputeCapabilityMajor) * 10 +
                         device_attribute(cudaDevAttrComputeCapabilityMinor);
  return is_binary_compatible(capability, {REGIONS_ARCHITECTURES});
}

void load_kernels() {
  static auto* const load_kernel = find_in_driver<decltype(cuFuncLoad)>("cuFuncLoad");
  if (!load_kernel || !has_machine_code()) return;
  // Errors are ignored here. If a kernel cannot be loaded, its launch reports the error.
  for (const CUfunction kernel : all_kernels()) load_kernel(kernel);
}

}  // namespace regions
