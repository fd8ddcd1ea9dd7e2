// Sweeps (GTC 2015, "Binary Segmentation of Many 3D Cubes in CUDA"). They label only binary volumes
// with connectivity=26 and rows of at most 1024 voxels. A sweep carries the smallest label of
// linked cells from row to row, forwards and backwards, and scans each row along x in registers.
// Each pass sweeps along y and then along z. Passes repeat until none changes a label. For the
// sweep along y, a warp has one slice; for the sweep along z, it has the rows of all slices that
// have the same y. A lane has 4 to 32 adjacent cells of a row.
//
// The highest bit of a label is the class of the cell: foreground (0) or background (1). Neighbours
// of the same class are linked. No atomics are needed: labels only become smaller, only one warp at
// a time writes a row, and reading an old row of another warp only causes another pass.
#include <cooperative_groups.h>

#include "gpu/cclabel/propagation/cell_arrays.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::propagation {
namespace {

constexpr int kThreads = 128;
constexpr uint32_t kNoRegion = 0xffffffffu;    // label of cells that belong to no region
constexpr uint32_t kBackground = 0x80000000u;  // bit of a label that is set for background

// Returns whether two cells with these labels are linked: they have the same class, and belong to
// regions.
__device__ bool are_linked(uint32_t a, uint32_t b) {
  return ((a ^ b) & kBackground) == 0 && a != kNoRegion && b != kNoRegion;
}
__device__ void take_smaller(uint32_t& label, uint32_t other) {
  if (are_linked(label, other)) label = min(label, other);
}

// A row of cells in the registers of a warp. Each lane has kCells adjacent cells.
template <int kCells>
struct WarpRow {
  uint32_t label[kCells];

  __device__ void load(const uint32_t* row) {
    const auto* from = reinterpret_cast<const uint4*>(row) + threadIdx.x % 32 * (kCells / 4);
#pragma unroll
    for (int i = 0; i < kCells / 4; ++i) {
      const uint4 four = __ldcg(from + i);
      label[i * 4] = four.x, label[i * 4 + 1] = four.y;
      label[i * 4 + 2] = four.z, label[i * 4 + 3] = four.w;
    }
  }
  __device__ void store(uint32_t* row) const {
    auto* to = reinterpret_cast<uint4*>(row) + threadIdx.x % 32 * (kCells / 4);
#pragma unroll
    for (int i = 0; i < kCells / 4; ++i) {
      to[i] = {label[i * 4], label[i * 4 + 1], label[i * 4 + 2], label[i * 4 + 3]};
    }
  }

  // Each cell takes the smallest label of itself and the linked cells among the three nearest cells
  // of an adjacent row.
  __device__ void take_from_row(const WarpRow& other) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    uint32_t before = __shfl_up_sync(kAllLanes, other.label[kCells - 1], 1);
    uint32_t after = __shfl_down_sync(kAllLanes, other.label[0], 1);
    if (lane == 0) before = kNoRegion;
    if (lane == 31) after = kNoRegion;
#pragma unroll
    for (int i = 0; i < kCells; ++i) {
      take_smaller(label[i], i > 0 ? other.label[i > 0 ? i - 1 : 0] : before);
      take_smaller(label[i], other.label[i]);
      take_smaller(label[i], i + 1 < kCells ? other.label[i + 1 < kCells ? i + 1 : i] : after);
    }
  }

  // Sets the label of each cell to the smallest label of its run of linked cells in the row, by a
  // segmented scan in both directions.
  __device__ void scan() {
    scan_lane();
    bool is_one_run = true;  // whether all cells of the lane are linked to each other
#pragma unroll
    for (int i = 1; i < kCells; ++i) is_one_run &= are_linked(label[i - 1], label[i]);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint32_t last_before = __shfl_up_sync(kAllLanes, label[kCells - 1], 1);
    const uint32_t first_after = __shfl_down_sync(kAllLanes, label[0], 1);
    const bool linked_before = lane > 0 && are_linked(label[0], last_before);
    const bool linked_after = lane < 31 && are_linked(label[kCells - 1], first_after);
    const uint32_t from_before = min_of_lanes(label[kCells - 1], is_one_run && linked_before, -1);
    const uint32_t from_after = min_of_lanes(label[0], is_one_run && linked_after, 1);
    if (linked_before) label[0] = min(label[0], from_before);
    if (linked_after) label[kCells - 1] = min(label[kCells - 1], from_after);
    scan_lane();
  }

 private:
  __device__ void scan_lane() {
#pragma unroll
    for (int i = 1; i < kCells; ++i) take_smaller(label[i], label[i - 1]);
#pragma unroll
    for (int i = kCells - 2; i >= 0; --i) take_smaller(label[i], label[i + 1]);
  }
  // Returns the smallest `end` of the next lane in direction `side` (1 or -1) and of all further
  // lanes that are linked to it without a gap. `continues`: all cells of the lane are linked to
  // each other and to the next lane in this direction.
  __device__ static uint32_t min_of_lanes(uint32_t end, bool continues, int side) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int from = lane + side * step;
      const uint32_t other = __shfl_sync(kAllLanes, end, from & 31);
      const bool other_continues = __shfl_sync(kAllLanes, continues, from & 31);
      if (continues) {
        end = min(end, other);
        continues = other_continues;
      }
    }
    return __shfl_sync(kAllLanes, end, (lane + side) & 31);
  }
};

// The warp sweeps over `count` rows at intervals of `step` rows, forwards and backwards. Each row
// takes labels from the previous row of the sweep. In sweeps along z, it also takes labels from the
// rows above and below the previous row, if has_above and has_below. Returns whether a label
// changed.
template <int kCells>
__device__ bool sweep_rows(const CellArrays& cells, int first, int count, int step, bool has_above,
                           bool has_below) {
  bool changed = false;
  for (int direction = 0; direction < 2; ++direction) {
    WarpRow<kCells> before;
    for (int i = 0; i < count; ++i) {
      const int row = first + (direction == 0 ? i : count - 1 - i) * step;
      uint32_t* const memory = cells.sweep_labels + static_cast<size_t>(row) * cells.stride;
      WarpRow<kCells> now;
      now.load(memory);
      const WarpRow<kCells> old = now;
      if (i > 0) {
        now.take_from_row(before);
        const int previous = row - (direction == 0 ? step : -step);
        for (int side = -1; side <= 1; side += 2) {
          if (side < 0 ? !has_above : !has_below) continue;
          WarpRow<kCells> other;
          other.load(cells.sweep_labels + static_cast<size_t>(previous + side) * cells.stride);
          now.take_from_row(other);
        }
      }
      now.scan();
      bool differs = false;
#pragma unroll
      for (int k = 0; k < kCells; ++k) differs |= now.label[k] != old.label[k];
      if (__any_sync(kAllLanes, differs)) {
        now.store(memory);
        changed = true;
      }
      before = now;
    }
  }
  return changed;
}

template <int kCells>
__global__ __launch_bounds__(kThreads) void sweep_kernel(CellArrays cells) {
  const auto grid = cooperative_groups::this_grid();
  const auto warp = static_cast<int>((blockIdx.x * kThreads + threadIdx.x) / 32);
  const auto warps = static_cast<int>(gridDim.x * kThreads / 32);
  const VolumeLayout& layout = cells.layout;
  const int height = layout.slice.height;
  // The loop ends, because each pass except the last changes a label. The smallest label of a
  // region spreads by at least one cell per pass.
  for (uint32_t pass = 0; pass <= cells.count(); ++pass) {
    uint32_t* changed = &cells.progress->changed[pass % 3];
    bool shrank = false;
    for (int k = warp; k < layout.total_slices(); k += warps) {
      shrank |= sweep_rows<kCells>(cells, k * height, height, 1, false, false);
    }
    grid.sync();  // all sweeps along y are complete
    for (int k = warp; k < layout.layers * height; k += warps) {
      const int layer = k / height, y = k % height;
      shrank |= sweep_rows<kCells>(cells, layer * layout.volume_rows() + y, layout.slices, height,
                                   y > 0, y + 1 < height);
    }
    // All warps write the same value, so their order does not matter.
    if (shrank && threadIdx.x % 32 == 0) *reinterpret_cast<volatile uint32_t*>(changed) = 1;
    if (warp == 0 && threadIdx.x == 0) {
      // There are three flags so that the flag of the next pass can be cleared while slow blocks
      // still read the flag of the previous pass.
      cells.progress->changed[(pass + 1) % 3] = 0;
      cells.progress->passes = pass + 1;
    }
    grid.sync();  // labels and the flag of this pass are complete
    if (!__ldcg(changed)) return;
  }
}

// Writes the initial labels. Each thread has one cell of a padded row.
__global__ __launch_bounds__(kThreads) void begin_kernel(CellInput input, CellArrays cells) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) *cells.progress = {};
  const auto stride = static_cast<uint32_t>(cells.stride);
  const auto row = static_cast<int>(i / stride), x = static_cast<int>(i % stride);
  if (row >= cells.layout.rows()) return;
  uint32_t label = kNoRegion;
  if (x < cells.layout.slice.width) {
    const int value = cclabel::compared_value(input.image, x, row % cells.layout.volume_rows());
    const bool is_set = value >= input.thresholds.level[row / cells.layout.volume_rows()];
    const auto cell = static_cast<uint32_t>(row * cells.layout.slice.width + x);
    if (is_set) label = cell;
    if (!is_set && input.label_background) label = cell | kBackground;
    cells.first_cell[cell] = kNone;
  }
  cells.sweep_labels[static_cast<size_t>(row) * stride + x] = label;
}

// Converts sweep_labels to the encoding of CellArrays::label.
__global__ __launch_bounds__(kThreads) void end_kernel(CellArrays cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  const auto width = static_cast<uint32_t>(cells.layout.slice.width);
  const uint32_t label =
      cells.sweep_labels[static_cast<size_t>(cell / width) * cells.stride + cell % width];
  cells.label[cell] = label == kNoRegion ? 0 : (label & ~kBackground) + 1;
}

// Calls use(kernel) with the kernel for rows of this stride.
template <class Use>
void with_sweep_kernel(int stride, const Use& use) {
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

int sweep_stride(int width) {
  int stride = 128;
  while (stride < width) stride *= 2;
  return stride;
}

int sweep_blocks(int width) {
  int blocks = 0;
  with_sweep_kernel(sweep_stride(width),
                    [&](auto* kernel) { blocks = resident_blocks(kernel, kThreads); });
  return blocks;
}

void sweep(const CellInput& input, const CellArrays& cells, int blocks, cudaStream_t stream) {
  const size_t padded =
      static_cast<size_t>(cells.stride) * static_cast<size_t>(cells.layout.rows());
  launch(begin_kernel, blocks_for(padded, kThreads), kThreads, 0, stream, input, cells);
  with_sweep_kernel(cells.stride, [&](auto* kernel) {
    launch_cooperative(kernel, static_cast<unsigned>(blocks), kThreads, 0, stream, cells);
  });
  launch(end_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells);
}

}  // namespace regions::propagation
