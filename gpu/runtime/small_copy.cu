// Few bytes, as words by a kernel.
#include "gpu/runtime/chain.hpp"
#include "gpu/runtime/small_copy.hpp"

namespace regions {
namespace {

__global__ void copy_kernel(const uint64_t* from, uint64_t* to, size_t words) {
  await_last();
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < words) to[i] = from[i];
}

}  // namespace

void small_copy(const void* from, void* to, size_t bytes, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const size_t words = bytes / sizeof(uint64_t);
  launch_chained(copy_kernel, blocks_for(words, kThreads), kThreads, 0, stream,
                 static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to), words);
}

}  // namespace regions
