// The passes after propagation or sweeps. At this point, the label of a cell is 1 + the number of
// the representative cell of its region. These passes find the first cell of each region, measure
// the regions and write the outputs.
#include "gpu/cclabel/device_records.hpp"
#include "gpu/cclabel/pixel_writers.hpp"
#include "gpu/cclabel/propagation/cell_arrays.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::propagation {
namespace {

struct CountBlock {
  static constexpr int threads = 1024;  // one word per thread
};
constexpr int kThreads = CellBlock::threads;
constexpr int kCountThreads = CountBlock::threads;
static_assert(kCountThreads == cclabel::FirstPixelBitmap::kWordsPerCount,
              "a block counts one group of words");

// Writes first_cell. Skips cells whose left neighbour has the same label, because they are not the
// first cell of their region.
__global__ __launch_bounds__(kThreads) void find_first_kernel(CellArrays cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  const uint32_t label = cells.label[cell];
  const auto width = static_cast<uint32_t>(cells.layout.slice.width);
  if (!label || (cell % width && cells.label[cell - 1] == label)) return;
  const volatile uint32_t* first_cell = cells.first_cell;
  // The order of the atomics does not matter, because they compute a minimum.
  if (cell < first_cell[label - 1]) atomicMin(cells.first_cell + label - 1, cell);
}

__global__ __launch_bounds__(kCountThreads) void count_kernel(CellArrays cells) {
  __shared__ uint32_t warp_sums[kCountThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  // Index of the first word that the block counts.
  const uint32_t start = blockIdx.x * cclabel::FirstPixelBitmap::kWordsPerCount;
  uint32_t count = 0;
  for (uint32_t w = threadIdx.x / 32; w < cclabel::FirstPixelBitmap::kWordsPerCount;
       w += kCountThreads / 32) {
    if (start + w >= cells.words()) break;
    const uint32_t cell = (start + w) * 32 + static_cast<uint32_t>(lane);
    const uint32_t label = cell < cells.count() ? cells.label[cell] : 0;
    const bool is_first = label && cells.first_cell[label - 1] == cell;
    const uint32_t firsts = __ballot_sync(kAllLanes, is_first);
    if (lane == 0) cells.region_starts[start + w] = firsts;
    if (lane == 0) count += static_cast<uint32_t>(__popc(firsts));
  }
  uint32_t all;
  block_exclusive_sum<kCountThreads>(count, warp_sums, all);
  if (threadIdx.x == 0) cells.region_counts[blockIdx.x] = all;
}

// Returns the final label of a cell; 0 if the cell is in no region or a filter removed its region.
__device__ uint32_t region_number(const CellArrays& cells, uint32_t cell) {
  const uint32_t label = cells.label[cell];
  if (!label) return 0;
  const uint32_t first = cells.first_cell[label - 1];
  return cclabel::label_at_first_pixel(cells.region_starts, cells.regions_before, first / 32,
                                       first);
}

__global__ __launch_bounds__(kThreads) void sum_areas_kernel(CellArrays cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  for_each_key(cell < cells.count() ? cells.label[cell] : 0, [&](uint32_t label, bool takes_part) {
    const auto sum = static_cast<uint32_t>(__popc(__ballot_sync(kAllLanes, takes_part)));
    // The order of the atomics does not matter, because they compute a sum.
    if (is_first_lane()) atomicAdd(cells.area + cells.first_cell[label - 1], sum);
  });
}

__global__ __launch_bounds__(kThreads) void measure_kernel(CellArrays cells, ConstFrame frame,
                                                           Records records) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  uint32_t label = cell < cells.count() ? region_number(cells, cell) : 0;
  if (label > records.capacity) label = 0;
  cclabel::VoxelSums cell_sums;
  if (label) {
    const int width = cells.layout.slice.width, row = static_cast<int>(cell) / width;
    const VolumeLayout& volume_layout = cells.layout;
    const VolumeLayout::Position position = volume_layout.position(row);
    cell_sums.area = 1;
    cell_sums.left = cell_sums.right = static_cast<int>(cell) - row * width;
    cell_sums.y = position.y;
    cell_sums.z = position.z;
    for (int k = 0; k < frame.layout.channels; ++k) {
      cell_sums.value[k] =
          static_cast<uint32_t>(frame.sample(k, cell_sums.left, row % cells.layout.volume_rows()));
    }
  }
  for_each_key(label, [&](uint32_t common_key, bool takes_part) {
    cclabel::add_warp_sums(cell_sums, takes_part, frame.layout.channels,
                           records.region[common_key - 1]);
  });
}

// A thread writes four cells of a row.
template <cclabel::PixelWriter Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(CellArrays cells, Writer writer) {
  const int width = cells.layout.slice.width, quads_per_row = (width + 3) / 4;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  const auto row = static_cast<int>(i / static_cast<uint32_t>(quads_per_row));
  if (row >= cells.layout.rows()) return;
  const int x = static_cast<int>(i % static_cast<uint32_t>(quads_per_row)) * 4;
  uint32_t labels[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    labels[k] =
        x + k < width ? region_number(cells, static_cast<uint32_t>(row * width + x + k)) : 0;
  }
  cclabel::write_four_pixels(writer, x, row, labels);
}

// Launches write_kernel() with a writer.
struct WriteLaunch {
  const CellArrays& cells;
  cudaStream_t stream;
  template <cclabel::PixelWriter Writer>
  void operator()(const Writer& writer) const {
    const auto quads_per_row = static_cast<size_t>((cells.layout.slice.width + 3) / 4);
    const size_t threads = quads_per_row * static_cast<size_t>(cells.layout.rows());
    launch(write_kernel<Writer>, blocks_for(threads, kThreads), kThreads, 0, stream, cells, writer);
  }
};

}  // namespace

void find_first_cells(const CellArrays& cells, cudaStream_t stream) {
  launch(find_first_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells);
  launch(count_kernel, blocks_for(cells.words(), cclabel::FirstPixelBitmap::kWordsPerCount),
         kCountThreads, 0, stream, cells);
}

void sum_areas(const CellArrays& cells, cudaStream_t stream) {
  clear_areas(cells.regions(), stream);
  launch(sum_areas_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells);
}

void measure_regions(const CellArrays& cells, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  launch(measure_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells, frame,
         records);
}

void write_labels(const CellArrays& cells, LabelMap labels, cudaStream_t stream) {
  cclabel::with_label_writer(labels, 1, UINT32_MAX, WriteLaunch{cells, stream});
}

void write_labels(const CellArrays& cells, const Frame& out, uint32_t min_value, uint32_t limit,
                  cudaStream_t stream) {
  cclabel::with_label_writer(out, min_value, limit, WriteLaunch{cells, stream});
}

void write_colors(const CellArrays& cells, const Frame& out, cudaStream_t stream) {
  WriteLaunch{cells, stream}(cclabel::ColorWriter{out});
}

}  // namespace regions::propagation
