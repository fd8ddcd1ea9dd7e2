// What clusters of blocks (compute capability 9.0) need of a kernel before they are launched.
#pragma once

#include "gpu/runtime/launch.hpp"

namespace regions {

// Asks for clusters of so many blocks with so much shared memory each; whether the device has room
// for one. What launches with more shared memory were allowed stays so.
template <class Kernel>
bool allow_cluster(Kernel* kernel, unsigned blocks, unsigned threads, size_t shared_bytes) {
  const auto* function = reinterpret_cast<const void*>(kernel);
  const auto allow = [&](cudaFuncAttribute attribute, int value) {
    const cudaError_t error = cudaFuncSetAttribute(function, attribute, value);
    if (error != cudaSuccess) cudaGetLastError();  // the device has less
    return error == cudaSuccess;
  };
  cudaFuncAttributes has = {};
  check(cudaFuncGetAttributes(&has, function), "asking about a kernel");
  const int bytes = std::max(static_cast<int>(shared_bytes), has.maxDynamicSharedSizeBytes);
  if (!allow(cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) ||
      !allow(cudaFuncAttributeNonPortableClusterSizeAllowed, 1)) {
    return false;
  }
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, function, &config);
  if (error != cudaSuccess) cudaGetLastError();  // that many are refused
  return error == cudaSuccess && clusters > 0;
}

}  // namespace regions
