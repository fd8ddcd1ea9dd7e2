// Measures the newest frame's regions by its labels, a warp 32 pixels of a row.
#include "gpu/sliding/phases.hpp"
#include "gpu/volumes/records.hpp"

namespace regions::sliding {
namespace {

constexpr int kThreads = 256;

__global__ __launch_bounds__(kThreads) void begin_kernel(WindowFrame frame) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) frame.total[0] = 0;
  if (i >= frame.capacity) return;
  frame.records[i] = volumes::begun_record(i + 1, 0, {});
  frame.first[i] = UINT32_MAX;
}

// Sums, minima and maxima: no order matters.
__global__ __launch_bounds__(kThreads) void measure_kernel(ConstLabelMap labels, ConstFrame in,
                                                           WindowFrame frame) {
  const auto in_row = (static_cast<uint32_t>(labels.width) + 31) / 32;
  const uint32_t word = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  if (word >= in_row * static_cast<uint32_t>(labels.height)) return;  // whole warps
  const auto y = static_cast<int>(word / in_row);
  const int x = static_cast<int>(word % in_row * 32 + threadIdx.x % 32);
  const uint32_t label = x < labels.width ? labels(x, y) : 0;
  const uint32_t most = cclabel::warp_max(label);
  if (volumes::is_first_lane() && most > *static_cast<volatile uint32_t*>(frame.total)) {
    atomicMax(frame.total, most);
  }
  const int channels = in.layout.channels;
  const uint32_t recorded = label <= frame.capacity ? label : 0;
  volumes::Piece piece;
  if (recorded) {
    piece.area = 1;
    piece.left = piece.right = x;
    piece.y = y;
    for (int c = 0; c < channels; ++c) piece.value[c] = static_cast<uint32_t>(in.sample(c, x, y));
  }
  volumes::for_each_key(recorded, [&](uint32_t common, bool joins) {
    volumes::add_group(piece, joins, channels, frame.records[common - 1]);
    const uint32_t lanes = __ballot_sync(cclabel::kAllLanes, joins);
    if (!volumes::is_first_lane()) return;
    const uint32_t place = static_cast<uint32_t>(y) * static_cast<uint32_t>(labels.width) +
                           word % in_row * 32 +
                           static_cast<uint32_t>(__ffs(static_cast<int>(lanes)) - 1);
    uint32_t* first = frame.first + common - 1;
    if (place < *static_cast<volatile uint32_t*>(first)) atomicMin(first, place);
  });
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
  const size_t words = (static_cast<size_t>(labels.width) + 31) / 32;
  launch(begin_kernel, blocks, kThreads, 0, stream, frame);
  launch(measure_kernel, blocks_for(words * static_cast<size_t>(labels.height), kThreads / 32),
         kThreads, 0, stream, labels, in, frame);
  launch(settle_kernel, blocks, kThreads, 0, stream, frame, static_cast<uint32_t>(labels.width));
}

}  // namespace regions::sliding
