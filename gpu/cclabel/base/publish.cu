// The table of regions, from the device to the host.
#include "gpu/cclabel/base/publish.hpp"
#include "gpu/runtime/chain.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = 256;

__global__ void publish_kernel(const uint32_t* total, const Region* records, RegionTable table) {
  wait_then_let_start();
  publish_words(total[0], total[1], records, table,
                static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                static_cast<size_t>(gridDim.x) * blockDim.x);
}

}  // namespace

void publish_table(const uint32_t* total, const Records& records, const RegionTable& table,
                   cudaStream_t stream) {
  const size_t words = static_cast<size_t>(table.capacity) * (sizeof(Region) / sizeof(uint64_t));
  launch_chained(publish_kernel, blocks_for(words, kThreads), kThreads, 0, stream, total,
                 records.region, table);
}

}  // namespace regions::cclabel
