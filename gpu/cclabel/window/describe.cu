// Measures the newest frame's regions by its labels, a warp 32 columns of some rows.
#include "gpu/cclabel/base/color_sums.hpp"
#include "gpu/cclabel/base/record_sums.hpp"
#include "gpu/cclabel/window/phases.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::sliding {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 16;   // of a column
constexpr int kAtOnce = 4;  // of them asked for together

__global__ __launch_bounds__(kThreads) void begin_kernel(WindowFrame frame) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) frame.total[0] = 0;
  if (i >= frame.capacity) return;
  frame.records[i] = cclabel::begun_record(i + 1, 0, {});
  frame.records[i].front = 0;  // a frame has one slice
  frame.first[i] = UINT32_MAX;
}

// Pixels of one label below each other.
struct Column {
  uint32_t label = 0;
  uint32_t area = 0, sum_y = 0, value[3] = {};
  int top = 0;

  __device__ int bottom() const { return top + static_cast<int>(area) - 1; }
};

// Adds the columns of the lanes whose key is their label, not 0, to the records; the whole warp
// calls it. Sums, minima and maxima: no order matters.
__device__ void add_columns(const Column& column, uint32_t key, int x, int width, int channels,
                            const WindowFrame& frame) {
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  // Sides are below 2^16, and a column has at most 16 pixels, so that sums over a warp fit.
  for_each_key(key, [&](uint32_t common, bool joins) {
    const uint32_t area = warp_sum(joins ? column.area : 0);
    const uint32_t sum_x = warp_sum(joins ? column.area * u(x) : 0);
    const uint32_t sum_y = warp_sum(joins ? column.sum_y : 0);
    const int left = static_cast<int>(warp_min(joins ? u(x) : UINT32_MAX));
    const int right = static_cast<int>(warp_max(joins ? u(x) : 0));
    const int top = static_cast<int>(warp_min(joins ? u(column.top) : UINT32_MAX));
    const int bottom = static_cast<int>(warp_max(joins ? u(column.bottom()) : 0));
    const uint32_t first = warp_min(joins ? u(column.top) * u(width) + u(x) : UINT32_MAX);
    uint32_t value[3] = {};
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (c < channels) value[c] = warp_sum(joins ? column.value[c] : 0);
    }
    if (!is_first_lane()) return;
    Region& record = frame.records[common - 1];
    // Most see at once that theirs is not.
    uint32_t* const known = frame.first + common - 1;
    if (left < record.left) atomicMin(&record.left, left);
    if (top < record.top) atomicMin(&record.top, top);
    if (right > record.right) atomicMax(&record.right, right);
    if (bottom > record.bottom) atomicMax(&record.bottom, bottom);
    if (first < *known) atomicMin(known, first);
    add64(record.area, area);
    add64(record.sum_x, sum_x);
    add64(record.sum_y, sum_y);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
      if (c < channels) add64(record.sum_value[c], value[c]);
    }
  });
}

// What is asked for before it is needed.
struct Pixel {
  uint32_t label = 0;      // 0: not in a region, or not in the picture
  uint32_t value[3] = {};  // where there is a label

  __device__ void load(const ConstLabelMap& labels, int x, int y, int end) {
    label = x < labels.width && y < end ? labels(x, y) : 0;
  }
  __device__ void load_values(const cclabel::SampleValues& in, int x, int y) {
    if (label != 0) in.sum({}, x, y, 1, value);
  }
};

// A lane goes down a column, as far as its label goes.
__global__ __launch_bounds__(kThreads) void measure_kernel(ConstLabelMap labels,
                                                           cclabel::SampleValues in,
                                                           WindowFrame frame) {
  const int x = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  const int begin = static_cast<int>(blockIdx.y * (kThreads / 32) + threadIdx.x / 32) * kRows;
  const int end = min(begin + kRows, labels.height), channels = in.channels;
  uint32_t most = 0;
  Column column;
  Pixel ahead[kAtOnce];
  for (int y = begin; y < end; ++y) {  // whole warps
    if ((y - begin) % kAtOnce == 0) {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) ahead[k].load(labels, x, y + k, end);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) ahead[k].load_values(in, x, y + k);
    }
    const Pixel pixel = ahead[0];
#pragma unroll
    for (int k = 1; k < kAtOnce; ++k) ahead[k - 1] = ahead[k];
    most = max(most, pixel.label);
    const uint32_t recorded = pixel.label <= frame.capacity ? pixel.label : 0;
    const bool changes = recorded != column.label;
    const uint32_t done = changes ? column.label : 0;
    if (__any_sync(kAllLanes, done != 0)) {
      add_columns(column, done, x, labels.width, channels, frame);
    }
    if (changes) {
      column = {};
      column.label = recorded;
      column.top = y;
    }
    if (recorded == 0) continue;
    ++column.area;
    column.sum_y += static_cast<uint32_t>(y);
    for (int c = 0; c < 3; ++c) column.value[c] += pixel.value[c];
  }
  add_columns(column, column.label, x, labels.width, channels, frame);
  most = warp_max(most);
  if (is_first_lane()) atomicMax(frame.total, most);
}

__global__ __launch_bounds__(kThreads) void settle_kernel(WindowFrame frame, uint32_t width) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) frame.total[1] = frame.total[0];
  if (i >= min(frame.total[0], frame.capacity)) return;
  frame.records[i].first_x = static_cast<int>(frame.first[i] % width);
  frame.records[i].first_y = static_cast<int>(frame.first[i] / width);
}

}  // namespace

void describe(ConstLabelMap labels, const ConstFrame& in, const WindowFrame& frame,
              cudaStream_t stream) {
  const unsigned blocks = blocks_for(size_t{frame.capacity} + 1, kThreads);
  launch(begin_kernel, blocks, kThreads, 0, stream, frame);
  const dim3 strips(blocks_for(static_cast<size_t>(labels.width), 32),
                    blocks_for(static_cast<size_t>(labels.height), kThreads / 32 * kRows));
  launch(measure_kernel, strips, kThreads, 0, stream, labels, cclabel::SampleValues(in), frame);
  launch(settle_kernel, blocks, kThreads, 0, stream, frame, static_cast<uint32_t>(labels.width));
}

}  // namespace regions::sliding
