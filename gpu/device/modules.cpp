#include "gpu/device/modules.hpp"

#include <vector>

#include "gpu/device/driver.hpp"
#include "gpu/launch.hpp"

namespace regions {
namespace {

std::vector<const void*>& modules() {
  static std::vector<const void*> listed;
  return listed;
}

struct Calls {
  decltype(&cuKernelGetLibrary) library =
      driver_call<decltype(cuKernelGetLibrary)>("cuKernelGetLibrary", 12050);
  decltype(&cuLibraryGetKernelCount) count =
      driver_call<decltype(cuLibraryGetKernelCount)>("cuLibraryGetKernelCount", 12040);
  decltype(&cuLibraryEnumerateKernels) kernels =
      driver_call<decltype(cuLibraryEnumerateKernels)>("cuLibraryEnumerateKernels", 12040);
  decltype(&cuKernelGetFunction) function =
      driver_call<decltype(cuKernelGetFunction)>("cuKernelGetFunction", 12000);
  decltype(&cuFuncIsLoaded) is_loaded =
      driver_call<decltype(cuFuncIsLoaded)>("cuFuncIsLoaded", 12040);
  decltype(&cuFuncLoad) load = driver_call<decltype(cuFuncLoad)>("cuFuncLoad", 12040);

  bool all() const { return library && count && kernels && function && is_loaded && load; }
};

bool is_machine_code(const void* kernel) {
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking about a kernel");
  return attributes.binaryVersion == attributes.ptxVersion;
}

// Whether the kernel is loaded then.
bool load(const Calls& calls, CUkernel kernel) {
  CUfunction function = nullptr;
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_UNLOADED;
  return calls.function(&function, kernel) == CUDA_SUCCESS &&
         calls.load(function) == CUDA_SUCCESS &&
         calls.is_loaded(&state, function) == CUDA_SUCCESS &&
         state == CU_FUNCTION_LOADING_STATE_LOADED;
}

}  // namespace

bool list_module(const void* kernel) {
  modules().push_back(kernel);
  return true;
}

int load_modules() {
  const Calls calls;
  if (!calls.all()) return 0;
  int loaded = 0;
  for (const void* listed : modules()) {
    if (!is_machine_code(listed)) return loaded;
    cudaKernel_t kernel = nullptr;
    check(cudaGetKernel(&kernel, listed), "asking for a kernel");
    CUlibrary library = nullptr;
    unsigned count = 0;
    if (calls.library(&library, kernel) != CUDA_SUCCESS) continue;
    if (calls.count(&count, library) != CUDA_SUCCESS) continue;
    std::vector<CUkernel> kernels(count);
    if (calls.kernels(kernels.data(), count, library) != CUDA_SUCCESS) continue;
    for (const CUkernel each : kernels) loaded += load(calls, each);
  }
  return loaded;
}

}  // namespace regions
