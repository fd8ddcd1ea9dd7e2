// Which labels stay is noted for each, counted through, and looked up.
#include <cub/device/device_scan.cuh>

#include "core/cclabel/drop_value.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = 256;

// Words behind each other: of each label whether it stays, and then how many up to it do.
struct Kept {
  uint32_t* flags;  // [pixels + 1]
  uint32_t* sums;   // [pixels + 1]
  void* scan;
  size_t scan_bytes;

  Kept(void* memory, size_t pixels) {
    flags = static_cast<uint32_t*>(memory);
    sums = flags + pixels + 1;
    scan = sums + pixels + 1;
    scan_bytes = bytes_of_scan(pixels);
  }
  static size_t bytes_of_scan(size_t pixels) {
    size_t bytes = 0;
    uint32_t* none = nullptr;
    check(
        cub::DeviceScan::InclusiveSum(nullptr, bytes, none, none, static_cast<int64_t>(pixels + 1)),
        "asking what a sum needs");
    return bytes;
  }
};

// A thread a pixel of row blockIdx.y, or of rows gridDim.y apart.
template <class Work>
__device__ void for_each_pixel(const LabelMap& labels, Work work) {
  const int x = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (x >= labels.width) return;
  for (int y = static_cast<int>(blockIdx.y); y < labels.height; y += static_cast<int>(gridDim.y)) {
    work(x, y);
  }
}

__global__ __launch_bounds__(kThreads) void flag_kernel(ConstFrame frame, uint32_t value,
                                                        LabelMap labels, uint32_t* flags) {
  for_each_pixel(labels, [&](int x, int y) {
    const uint32_t label = labels(x, y);
    if (x > 0 && labels(x - 1, y) == label) return;
    // Every run of a region writes the same.
    if (label) flags[label] = static_cast<uint32_t>(frame.sample(0, x, y)) != value;
  });
}

__global__ __launch_bounds__(kThreads) void renumber_kernel(LabelMap labels, const uint32_t* sums,
                                                            uint32_t* total, uint32_t last) {
  for_each_pixel(labels, [&](int x, int y) {
    const uint32_t label = labels(x, y);
    if (!label) return;
    const uint32_t sum = sums[label];
    labels(x, y) = sum != sums[label - 1] ? sum : 0;
  });
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *total = sums[last];
}

}  // namespace

size_t drop_value_bytes(size_t pixels) {
  return 2 * (pixels + 1) * sizeof(uint32_t) + Kept::bytes_of_scan(pixels);
}

void drop_value(const ConstFrame& frame, uint32_t value, const LabelMap& labels, void* memory,
                uint32_t* total, Queue& queue) {
  const cudaStream_t stream = stream_of(queue);
  const size_t pixels = labels.size().area();
  Kept kept(memory, pixels);
  check(cudaMemsetAsync(kept.flags, 0, (pixels + 1) * sizeof(uint32_t), stream), "clearing flags");
  const dim3 grid(static_cast<unsigned>((labels.width + kThreads - 1) / kThreads),
                  static_cast<unsigned>(std::min(labels.height, 65535)));
  launch(flag_kernel, grid, kThreads, 0, stream, frame, value, labels, kept.flags);
  check(cub::DeviceScan::InclusiveSum(kept.scan, kept.scan_bytes, kept.flags, kept.sums,
                                      static_cast<int64_t>(pixels + 1), stream),
        "counting labels");
  launch(renumber_kernel, grid, kThreads, 0, stream, labels, kept.sums, total,
         static_cast<uint32_t>(pixels));
}

}  // namespace regions::cclabel
