// Links of cells, by any criterion, and the farthest linked cells by pointer doubling.
#include "gpu/cclabel/base/subject.hpp"
#include "gpu/cclabel/cells/tuning.hpp"
#include "gpu/cclabel/propagation/phases.hpp"

namespace regions::propagation {
namespace {

constexpr int kThreads = cells::CellBlock::threads;

// `binary`: foreground, and background where that has regions too.
struct Classes {
  Source source;

  explicit Classes(const Source& s) : source(s) {}
  __device__ uint32_t value(int x, int row, int layer) const {
    return cclabel::value_of(source.subject, x, row) >= source.levels.level[layer];
  }
  __device__ bool has_region(uint32_t value) const { return value || source.has_background; }
  __device__ bool linked(uint32_t a, uint32_t b) const { return a == b && has_region(a); }
};
// `equal` and `difference`.
template <class Links>
struct Colors {
  Links links;

  explicit Colors(const Source& source) : links(source.subject) {}
  __device__ uint32_t value(int x, int row, int) const { return links.color(x, row); }
  __device__ bool has_region(uint32_t) const { return true; }
  __device__ bool linked(uint32_t a, uint32_t b) const { return links(a, b); }
};

template <class Values>
__global__ __launch_bounds__(kThreads) void link_kernel(Values values, Cells cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell == 0) *cells.progress = {};
  if (cell >= cells.count()) return;
  const int width = cells.stack.slice.width;
  const int row = static_cast<int>(cell / static_cast<uint32_t>(width));
  const int x = static_cast<int>(cell) - row * width;
  const Stack::Place place = cells.stack.place(row);
  const int source_row = row % cells.stack.volume_rows();
  const uint32_t own = values.value(x, source_row, place.layer);
  uint32_t links = 0;
  if (values.has_region(own)) {
    for (uint32_t left = neighbours_of(cells.connectivity); left; left &= left - 1) {
      const int k = __ffs(static_cast<int>(left)) - 1;
      const int dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;
      if (x + dx < 0 || x + dx >= width || place.y + dy < 0 || place.z + dz < 0) continue;
      if (place.y + dy >= cells.stack.slice.height || place.z + dz >= cells.stack.slices) continue;
      const int other = source_row + dy + dz * cells.stack.slice.height;
      if (values.linked(own, values.value(x + dx, other, place.layer))) links |= 1u << k;
    }
  }
  cells.links[cell] = links;
  cells.label[cell] = values.has_region(own) ? cell + 1 : 0;
  cells.first[cell] = kNone;
}

__global__ __launch_bounds__(kThreads) void begin_far_kernel(Cells cells) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  const uint32_t links = cells.links[cell];
  for (int axis = 0; axis < kAxes; ++axis) {
    const size_t at = static_cast<size_t>(axis) * cells.count() + cell;
    cells.far[0][at] = static_cast<uint16_t>(links >> neighbour_along(axis) & 1);
  }
}

// From `length` steps to twice as many: a cell that reaches so far goes on from there.
__global__ __launch_bounds__(kThreads) void double_far_kernel(Cells cells, int length,
                                                              const uint16_t* from, uint16_t* to) {
  const uint32_t cell = blockIdx.x * kThreads + threadIdx.x;
  if (cell >= cells.count()) return;
  for (int axis = 0; axis < kAxes; ++axis) {
    const size_t start = static_cast<size_t>(axis) * cells.count();
    const int steps = from[start + cell];
    const int beyond = static_cast<int>(cell) + cells.step(neighbour_along(axis)) * steps;
    const int more = steps == length ? from[start + static_cast<size_t>(beyond)] : 0;
    to[start + cell] = static_cast<uint16_t>(steps + more);
  }
}

}  // namespace

void link_cells(const Source& source, const Cells& cells, cudaStream_t stream) {
  const unsigned blocks = blocks_for(cells.count(), kThreads);
  const auto run = [&]<class Values>(const Values& values) {
    launch(link_kernel<Values>, blocks, kThreads, 0, stream, values, cells);
  };
  if (source.subject.criterion == Criterion::binary) {
    run(Classes(source));
  } else if (source.subject.frame.layout.sample_bytes == 1) {
    run(Colors<cclabel::ByteLinks>(source));
  } else {
    run(Colors<cclabel::NumberLinks>(source));
  }
}

void find_far(const Cells& cells, int length, cudaStream_t stream) {
  const unsigned blocks = blocks_for(cells.count(), kThreads);
  launch(begin_far_kernel, blocks, kThreads, 0, stream, cells);
  // An even number of steps leaves the answer where the first was.
  int side = cells.stack.slice.width;
  if (cells.stack.slice.height > side) side = cells.stack.slice.height;
  if (cells.stack.slices > side) side = cells.stack.slices;
  if (length > 0 && length < side) side = length;
  int step = 1, turn = 0;
  for (; step < side; step *= 2, turn ^= 1) {
    launch(double_far_kernel, blocks, kThreads, 0, stream, cells, step, cells.far[turn],
           cells.far[turn ^ 1]);
  }
  if (turn == 0) return;
  const size_t bytes = static_cast<size_t>(kAxes) * cells.count() * sizeof(uint16_t);
  check(cudaMemcpyAsync(cells.far[0], cells.far[1], bytes, cudaMemcpyDeviceToDevice, stream),
        "copying the farthest cells");
}

}  // namespace regions::propagation
