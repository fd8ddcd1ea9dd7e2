// The table of regions, from the device to the host.
#include "gpu/cclabel/base/records.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = 256;

// Straight into pinned host memory: as many records as there are, which only the device knows.
__global__ void publish_kernel(const uint32_t* total, const Region* records, RegionTable table) {
  static_assert(sizeof(Region) % sizeof(uint64_t) == 0);
  constexpr size_t kWords = sizeof(Region) / sizeof(uint64_t);
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i == 0) *table.total = total[0];
  if (i >= min(total[1], table.capacity) * kWords) return;
  reinterpret_cast<uint64_t*>(table.regions)[i] = reinterpret_cast<const uint64_t*>(records)[i];
}

}  // namespace

void publish_table(const uint32_t* total, const Records& records, const RegionTable& table,
                   cudaStream_t stream) {
  const size_t words = static_cast<size_t>(table.capacity) * (sizeof(Region) / sizeof(uint64_t));
  launch(publish_kernel, blocks_for(words, kThreads), kThreads, 0, stream, total, records.region,
         table);
}

}  // namespace regions::cclabel
