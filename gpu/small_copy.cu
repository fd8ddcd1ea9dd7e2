// Records come over as words.
#include <cstdint>

#include "gpu/launch.hpp"
#include "gpu/regionoverlay/records.hpp"

namespace regions::drawing {
namespace {

__global__ void bring_kernel(const uint64_t* from, uint64_t* to, size_t words) {
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < words) to[i] = from[i];
}

}  // namespace

void bring_records(const void* pinned, void* records, size_t bytes, cudaStream_t stream) {
  constexpr unsigned kThreads = 256;
  const size_t words = bytes / sizeof(uint64_t);
  launch(bring_kernel, blocks_for(words, kThreads), kThreads, 0, stream,
         static_cast<const uint64_t*>(pinned), static_cast<uint64_t*>(records), words);
}

}  // namespace regions::drawing
