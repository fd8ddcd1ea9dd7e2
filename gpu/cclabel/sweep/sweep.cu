// Sweeps (GTC 2015, "Binary Segmentation of Many 3D Cubes in CUDA"): the smallest label sweeps
// along y and z, there and back, with a scan along x in registers, until a pass changes nothing.
// One warp has a slice, or, along z, a row of each slice; a lane has 4 to 32 labels side by side.
//
// The top bit of a label is its class: cells are linked where it is the same. Labels only shrink
// and each row is written by one warp at a time, so that no atomics are needed; a row of a
// neighbouring warp read too early only means a later pass.
#include <cooperative_groups.h>

#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/sweep/sweep.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::sweep {
namespace {

constexpr int kThreads = 128;
constexpr uint32_t kOutside = 0xffffffffu;  // of cells that have no region
constexpr uint32_t kTag = 0x80000000u;      // of background

// Whether both are of one class, and of a region.
__device__ bool linked(uint32_t a, uint32_t b) {
  return ((a ^ b) & kTag) == 0 && a != kOutside && b != kOutside;
}
__device__ void relax(uint32_t& label, uint32_t other) {
  if (linked(label, other)) label = min(label, other);
}

// A row: lane l has cells l * K to l * K + K - 1.
template <int K>
struct Row {
  uint32_t label[K];

  __device__ void load(const uint32_t* row) {
    const auto* from = reinterpret_cast<const uint4*>(row) + threadIdx.x % 32 * (K / 4);
#pragma unroll
    for (int i = 0; i < K / 4; ++i) {
      const uint4 four = __ldcg(from + i);
      label[i * 4] = four.x, label[i * 4 + 1] = four.y;
      label[i * 4 + 2] = four.z, label[i * 4 + 3] = four.w;
    }
  }
  __device__ void store(uint32_t* row) const {
    auto* to = reinterpret_cast<uint4*>(row) + threadIdx.x % 32 * (K / 4);
#pragma unroll
    for (int i = 0; i < K / 4; ++i) {
      to[i] = {label[i * 4], label[i * 4 + 1], label[i * 4 + 2], label[i * 4 + 3]};
    }
  }

  // Takes what is smaller of the cells beside and of those diagonally beside.
  __device__ void relax_by(const Row& other) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    uint32_t before = __shfl_up_sync(kAllLanes, other.label[K - 1], 1);
    uint32_t behind = __shfl_down_sync(kAllLanes, other.label[0], 1);
    if (lane == 0) before = kOutside;
    if (lane == 31) behind = kOutside;
#pragma unroll
    for (int i = 0; i < K; ++i) {
      relax(label[i], i > 0 ? other.label[i > 0 ? i - 1 : 0] : before);
      relax(label[i], other.label[i]);
      relax(label[i], i + 1 < K ? other.label[i + 1 < K ? i + 1 : i] : behind);
    }
  }

  // Gives every run of the row its smallest label: a segmented scan, forth and back.
  __device__ void scan() {
    scan_lane();
    bool whole = true;  // the lane's cells are one run
#pragma unroll
    for (int i = 1; i < K; ++i) whole &= linked(label[i - 1], label[i]);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint32_t last_before = __shfl_up_sync(kAllLanes, label[K - 1], 1);
    const uint32_t first_behind = __shfl_down_sync(kAllLanes, label[0], 1);
    const bool linked_before = lane > 0 && linked(label[0], last_before);
    const bool linked_behind = lane < 31 && linked(label[K - 1], first_behind);
    const uint32_t from_before = carried(label[K - 1], whole && linked_before, -1);
    const uint32_t from_behind = carried(label[0], whole && linked_behind, 1);
    if (linked_before) label[0] = min(label[0], from_before);
    if (linked_behind) label[K - 1] = min(label[K - 1], from_behind);
    scan_lane();
  }

 private:
  __device__ void scan_lane() {
#pragma unroll
    for (int i = 1; i < K; ++i) relax(label[i], label[i - 1]);
#pragma unroll
    for (int i = K - 2; i >= 0; --i) relax(label[i], label[i + 1]);
  }
  // What comes from the lane on that side: the smallest of `end` over the lanes that hang together
  // there; `goes_on`: a lane hangs together with the next one on that side, and has but one run.
  __device__ static uint32_t carried(uint32_t end, bool goes_on, int side) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int from = lane + side * step;
      const uint32_t other = __shfl_sync(kAllLanes, end, from & 31);
      const bool other_goes_on = __shfl_sync(kAllLanes, goes_on, from & 31);
      if (goes_on) {
        end = min(end, other);
        goes_on = other_goes_on;
      }
    }
    return __shfl_sync(kAllLanes, end, (lane + side) & 31);
  }
};

// A warp's way along `count` rows, `step` apart, there and back. Each takes from the one before,
// and, along z, from that one's neighbours in y, which lie `beside` rows off.
template <int K>
__device__ bool sweep_rows(const Cells& cells, int first, int count, int step, bool has_above,
                           bool has_below) {
  bool changed = false;
  for (int way = 0; way < 2; ++way) {
    Row<K> before;
    for (int i = 0; i < count; ++i) {
      const int row = first + (way == 0 ? i : count - 1 - i) * step;
      uint32_t* const at = cells.swept + static_cast<size_t>(row) * cells.stride;
      Row<K> now;
      now.load(at);
      const Row<K> old = now;
      if (i > 0) {
        now.relax_by(before);
        const int previous = row - (way == 0 ? step : -step);
        for (int side = -1; side <= 1; side += 2) {
          if (side < 0 ? !has_above : !has_below) continue;
          Row<K> other;
          other.load(cells.swept + static_cast<size_t>(previous + side) * cells.stride);
          now.relax_by(other);
        }
      }
      now.scan();
      bool differs = false;
#pragma unroll
      for (int k = 0; k < K; ++k) differs |= now.label[k] != old.label[k];
      if (__any_sync(kAllLanes, differs)) {
        now.store(at);
        changed = true;
      }
      before = now;
    }
  }
  return changed;
}

template <int K>
__global__ __launch_bounds__(kThreads) void sweep_kernel(Cells cells) {
  const auto grid = cooperative_groups::this_grid();
  const auto warp = static_cast<int>((blockIdx.x * kThreads + threadIdx.x) / 32);
  const auto warps = static_cast<int>(gridDim.x * kThreads / 32);
  const Stack& stack = cells.stack;
  const int height = stack.slice.height;
  // Each pass but the last changes a label, and by one cell at least the smallest comes further.
  for (uint32_t pass = 0; pass <= cells.count(); ++pass) {
    uint32_t* changed = &cells.progress->changed[pass % 3];
    bool shrank = false;
    for (int k = warp; k < stack.depth(); k += warps) {
      shrank |= sweep_rows<K>(cells, k * height, height, 1, false, false);
    }
    grid.sync();
    for (int k = warp; k < stack.layers * height; k += warps) {
      const int layer = k / height, y = k % height;
      shrank |= sweep_rows<K>(cells, layer * stack.volume_rows() + y, stack.slices, height, y > 0,
                              y + 1 < height);
    }
    if (shrank && threadIdx.x % 32 == 0) *reinterpret_cast<volatile uint32_t*>(changed) = 1;
    if (warp == 0 && threadIdx.x == 0) {
      cells.progress->changed[(pass + 1) % 3] = 0;
      cells.progress->passes = pass + 1;
    }
    grid.sync();
    if (!__ldcg(changed)) return;
  }
}

// A thread has a cell of a filled-up row.
__global__ __launch_bounds__(kThreads) void begin_kernel(Source source, Cells cells) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) *cells.progress = {};
  const auto stride = static_cast<uint32_t>(cells.stride);
  const auto row = static_cast<int>(i / stride), x = static_cast<int>(i % stride);
  if (row >= cells.stack.rows()) return;
  uint32_t label = kOutside;
  if (x < cells.stack.slice.width) {
    const int value = cclabel::value_of(source.subject, x, row % cells.stack.volume_rows());
    const bool is_set = value >= source.levels.level[row / cells.stack.volume_rows()];
    const auto cell = static_cast<uint32_t>(row * cells.stack.slice.width + x);
    if (is_set) label = cell;
    if (!is_set && source.has_background) label = cell | kTag;
    cells.first[cell] = kNone;
  }
  cells.swept[static_cast<size_t>(row) * stride + x] = label;
}

__global__ __launch_bounds__(kThreads) void end_kernel(Cells cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  const auto width = static_cast<uint32_t>(cells.stack.slice.width);
  const uint32_t label =
      cells.swept[static_cast<size_t>(cell / width) * cells.stride + cell % width];
  cells.label[cell] = label == kOutside ? 0 : (label & ~kTag) + 1;
}

template <class Use>
void with_kernel(int stride, const Use& use) {
  switch (stride) {
    case 128:
      return use(sweep_kernel<4>);
    case 256:
      return use(sweep_kernel<8>);
    case 512:
      return use(sweep_kernel<16>);
    default:
      return use(sweep_kernel<32>);
  }
}

}  // namespace

int stride_for(int width) {
  int stride = 128;
  while (stride < width) stride *= 2;
  return stride;
}

int sweep_blocks(int width) {
  int blocks = 0;
  with_kernel(stride_for(width), [&](auto* kernel) { blocks = resident_blocks(kernel, kThreads); });
  return blocks;
}

void sweep(const Source& source, const Cells& cells, int blocks, cudaStream_t stream) {
  const size_t filled = static_cast<size_t>(cells.stride) * static_cast<size_t>(cells.stack.rows());
  launch(begin_kernel, blocks_for(filled, kThreads), kThreads, 0, stream, source, cells);
  with_kernel(cells.stride, [&](auto* kernel) {
    launch_cooperative(kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, cells);
  });
  launch(end_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells);
}

}  // namespace regions::sweep
