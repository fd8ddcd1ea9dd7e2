// From cells that name any cell of their region to labels: finds the regions' first cells, by which
// they are numbered, measures regions and writes labels.
#include "gpu/cclabel/base/record_sums.hpp"
#include "gpu/cclabel/base/writers.hpp"
#include "gpu/cclabel/cells/phases.hpp"
#include "gpu/cclabel/cells/tuning.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cells {
namespace {

constexpr int kThreads = CellBlock::threads;
constexpr int kNumberThreads = NumberBlock::threads;
static_assert(kNumberThreads == cclabel::Firsts::kSumWords, "a block numbers what one sum counts");

// Cells whose left neighbour has the same label cannot be first.
__global__ __launch_bounds__(kThreads) void find_first_kernel(Cells cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  const uint32_t label = cells.label[cell];
  const auto width = static_cast<uint32_t>(cells.stack.slice.width);
  if (!label || (cell % width && cells.label[cell - 1] == label)) return;
  const volatile uint32_t* first = cells.first;
  if (cell < first[label - 1]) atomicMin(cells.first + label - 1, cell);
}

__global__ __launch_bounds__(kNumberThreads) void count_kernel(Cells cells) {
  __shared__ uint32_t warp_sums[kNumberThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t start = blockIdx.x * cclabel::Firsts::kSumWords;  // of the block's words
  uint32_t count = 0;
  for (uint32_t w = threadIdx.x / 32; w < cclabel::Firsts::kSumWords; w += kNumberThreads / 32) {
    if (start + w >= cells.words()) break;
    const uint32_t cell = (start + w) * 32 + static_cast<uint32_t>(lane);
    const uint32_t label = cell < cells.count() ? cells.label[cell] : 0;
    const bool is_first = label && cells.first[label - 1] == cell;
    const uint32_t firsts = __ballot_sync(kAllLanes, is_first);
    if (lane == 0) cells.firsts[start + w] = firsts;
    if (lane == 0) count += static_cast<uint32_t>(__popc(firsts));
  }
  uint32_t all;
  sum_before<kNumberThreads>(count, warp_sums, all);
  if (threadIdx.x == 0) cells.sums[blockIdx.x] = all;
}

// The number of a cell's region, 0 if it was filtered out.
__device__ uint32_t number_of(const Cells& cells, uint32_t cell) {
  const uint32_t label = cells.label[cell];
  if (!label) return 0;
  const uint32_t first = cells.first[label - 1];
  return cclabel::label_of_first(cells.firsts, cells.before, first / 32, first);
}

__global__ __launch_bounds__(kThreads) void sum_areas_kernel(Cells cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  for_each_key(cell < cells.count() ? cells.label[cell] : 0, [&](uint32_t label, bool joins) {
    const auto sum = static_cast<uint32_t>(__popc(__ballot_sync(kAllLanes, joins)));
    // Sums have no order.
    if (is_first_lane()) atomicAdd(cells.area + cells.first[label - 1], sum);
  });
}

__global__ __launch_bounds__(kThreads) void measure_kernel(Cells cells, ConstFrame frame,
                                                           Records records) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  uint32_t label = cell < cells.count() ? number_of(cells, cell) : 0;
  if (label > records.capacity) label = 0;
  cclabel::Piece piece;
  if (label) {
    const int width = cells.stack.slice.width, row = static_cast<int>(cell) / width;
    const Stack::Place place = cells.stack.place(row);
    piece.area = 1;
    piece.left = piece.right = static_cast<int>(cell) - row * width;
    piece.y = place.y;
    piece.z = place.z;
    for (int k = 0; k < frame.layout.channels; ++k) {
      piece.value[k] =
          static_cast<uint32_t>(frame.sample(k, piece.left, row % cells.stack.volume_rows()));
    }
  }
  for_each_key(label, [&](uint32_t common, bool joins) {
    cclabel::add_group(piece, joins, frame.layout.channels, records.region[common - 1]);
  });
}

template <cclabel::PixelWriter Writer>
__global__ __launch_bounds__(kThreads) void write_kernel(Cells cells, Writer writer) {
  const int width = cells.stack.slice.width, fours = (width + 3) / 4;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  const auto row = static_cast<int>(i / static_cast<uint32_t>(fours));
  if (row >= cells.stack.rows()) return;
  const int x = static_cast<int>(i % static_cast<uint32_t>(fours)) * 4;
  uint32_t labels[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    labels[k] = x + k < width ? number_of(cells, static_cast<uint32_t>(row * width + x + k)) : 0;
  }
  cclabel::write(writer, x, row, labels);
}

struct Launch {
  const Cells& cells;
  cudaStream_t stream;
  template <cclabel::PixelWriter Writer>
  void operator()(const Writer& writer) const {
    const auto fours = static_cast<size_t>((cells.stack.slice.width + 3) / 4);
    const size_t threads = fours * static_cast<size_t>(cells.stack.rows());
    launch(write_kernel<Writer>, blocks_for(threads, kThreads), kThreads, 0, stream, cells, writer);
  }
};

}  // namespace

void find_regions(const Cells& cells, cudaStream_t stream) {
  launch(find_first_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells);
  launch(count_kernel, blocks_for(cells.words(), cclabel::Firsts::kSumWords), kNumberThreads, 0,
         stream, cells);
}

void sum_areas(const Cells& cells, cudaStream_t stream) {
  clear_areas(cells.regions(), stream);
  launch(sum_areas_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells);
}

void measure_cells(const Cells& cells, const ConstFrame& frame, const Records& records,
                   cudaStream_t stream) {
  launch(measure_kernel, blocks_for(cells.count(), kThreads), kThreads, 0, stream, cells, frame,
         records);
}

void write_labels(const Cells& cells, LabelMap labels, cudaStream_t stream) {
  cclabel::with_label_writer(labels, 1, UINT32_MAX, Launch{cells, stream});
}

void write_labels(const Cells& cells, const Frame& out, uint32_t least, uint32_t limit,
                  cudaStream_t stream) {
  cclabel::with_label_writer(out, least, limit, Launch{cells, stream});
}

void write_colors(const Cells& cells, const Frame& out, cudaStream_t stream) {
  Launch{cells, stream}(cclabel::ColorWriter{out});
}

}  // namespace regions::cells
