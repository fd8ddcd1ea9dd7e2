// Areas and colours of pieces.
#include "gpu/slicsuperpixel/columns.hpp"
#include "gpu/slicsuperpixel/phases.hpp"

namespace regions::slic {
namespace {

constexpr int kThreads = PixelBlock::threads;
constexpr int kBlocks = 132;

__global__ __launch_bounds__(kThreads) void clear_kernel(Pieces pieces) {
  const uint32_t n = *pieces.count;
  const uint32_t first = blockIdx.x * kThreads + threadIdx.x;
  for (uint32_t label = first; label <= n; label += gridDim.x * kThreads) {
    pieces.piece[label] = {};
    pieces.parent[label] = label;
    pieces.choice[label] = kNoChoice;
  }
  if (first == 0) *pieces.edge_count = 0;
  if (first < 3) pieces.meeting->words[first] = 0;
}

// A piece as two numbers: area and first component, second and third. Before joining a piece lies
// within nine cells of at most 512 x 512 pixels, so no sum carries into the other.
__global__ __launch_bounds__(ColumnWalk::threads) void measure_kernel(Image<const uint32_t> colors,
                                                                      Pieces pieces) {
  uint32_t area = 0;
  uint32_t even = 0, odd = 0;  // components 0 and 2, 16 bits each: 32 rows of 255; component 1
  static_assert(ColumnWalk::rows * 255 < 1 << 16);
  walk(
      pieces.labels, [&](int x, int y) { return colors(x, y); },
      [&](uint32_t) { area = even = odd = 0; },
      [&](uint32_t color, int, int) {
        const uint32_t biased = color ^ 0x00808080u;  // + 128
        ++area;
        even += biased & 0x00ff00ffu;
        odd += biased >> 8 & 0xffu;
      },
      [&](uint32_t label) {
        auto* sums = reinterpret_cast<unsigned long long*>(pieces.piece + label);
        atomicAdd(sums, static_cast<unsigned long long>(even & 0xffff) << 32 | area);
        atomicAdd(sums + 1, static_cast<unsigned long long>(even >> 16) << 32 | odd);
      });
}

}  // namespace

void measure_pieces(const Clusters& clusters, const Pieces& pieces, cudaStream_t stream) {
  launch(clear_kernel, kBlocks, kThreads, 0, stream, pieces);
  launch(measure_kernel, column_grid(pieces.labels.size()), ColumnWalk::threads, 0, stream,
         clusters.colors, pieces);
}

}  // namespace regions::slic
