// drop_value(): removes the regions whose pixels have a given value from a label map, and renumbers
// the remaining regions. Three steps: flag the labels that are kept, compute prefix sums of the
// flags, and replace each label by its sum.
#include <cub/device/device_scan.cuh>

#include "core/cclabel/cclabel.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = 256;

// The caller's scratch memory, divided into arrays.
struct ScanMemory {
  uint32_t* flags;  // [pixels + 1] by label: 1 if the label is kept
  uint32_t* sums;   // [pixels + 1] by label: number of kept labels up to this label
  void* scan;       // [scan_bytes] scratch memory of CUB's prefix sum
  size_t scan_bytes;

  ScanMemory(void* memory, size_t pixels) {
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
        "reading the size of a prefix sum's scratch memory");
    return bytes;
  }
};

// Calls visit(x, y) for each pixel. A thread processes one column x. Blocks process every
// gridDim.y-th row, from row blockIdx.y on.
template <class Visit>
__device__ void for_each_pixel(const LabelMap& labels, Visit visit) {
  const int x = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (x >= labels.width) return;
  for (int y = static_cast<int>(blockIdx.y); y < labels.height; y += static_cast<int>(gridDim.y)) {
    visit(x, y);
  }
}

__global__ __launch_bounds__(kThreads) void mark_kept_labels_kernel(ConstFrame frame,
                                                                    uint32_t value, LabelMap labels,
                                                                    uint32_t* flags) {
  for_each_pixel(labels, [&](int x, int y) {
    const uint32_t label = labels(x, y);
    if (x > 0 && labels(x - 1, y) == label) return;
    // All runs of a region write the same flag, so the order of threads does not matter.
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
  return 2 * (pixels + 1) * sizeof(uint32_t) + ScanMemory::bytes_of_scan(pixels);
}

void drop_value(const ConstFrame& frame, uint32_t value, const LabelMap& labels, void* memory,
                uint32_t* total, Queue& queue) {
  const cudaStream_t stream = stream_of(queue);
  const size_t pixels = labels.size().area();
  ScanMemory scan_memory(memory, pixels);
  check(cudaMemsetAsync(scan_memory.flags, 0, (pixels + 1) * sizeof(uint32_t), stream),
        "clearing flags");
  const dim3 grid(static_cast<unsigned>((labels.width + kThreads - 1) / kThreads),
                  static_cast<unsigned>(std::min(labels.height, 65535)));
  launch(mark_kept_labels_kernel, grid, kThreads, 0, stream, frame, value, labels,
         scan_memory.flags);
  check(cub::DeviceScan::InclusiveSum(scan_memory.scan, scan_memory.scan_bytes, scan_memory.flags,
                                      scan_memory.sums, static_cast<int64_t>(pixels + 1), stream),
        "counting labels");
  launch(renumber_kernel, grid, kThreads, 0, stream, labels, scan_memory.sums, total,
         static_cast<uint32_t>(pixels));
}

}  // namespace regions::cclabel
