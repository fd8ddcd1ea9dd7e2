// Filling the holes of volumes and of many thresholds: regions of the background that touch no
// side.
#include <algorithm>

#include "gpu/cclabel/base/tuning.hpp"
#include "gpu/cclabel/volumes/phases.hpp"
#include "gpu/cclabel/volumes/readers.hpp"
#include "gpu/cclabel/volumes/rows.hpp"
#include "gpu/cclabel/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = cclabel::WordBlock::threads;

// Four voxels a thread; rows have room for whole words.
__global__ __launch_bounds__(kThreads) void rank_background_kernel(Subject subject, Ranks ranks,
                                                                   Image<uint8_t> voxels) {
  const auto fours = (static_cast<uint32_t>(voxels.width) + 3) / 4;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= fours * static_cast<uint32_t>(voxels.height)) return;
  const auto y = static_cast<int>(i / fours), x = static_cast<int>(i % fours) * 4;
  uint32_t four = 0;
  for (int k = 0; k < 4 && x + k < voxels.width; ++k) {
    const int value = value_of(subject, x + k, y);
    int rank = 0;
    while (rank < ranks.count && value >= ranks.level[rank]) ++rank;
    four |= static_cast<uint32_t>(ranks.count - rank) << 8 * k;
  }
  *reinterpret_cast<uint32_t*>(voxels.row(y) + x) = four;
}

// The id of the region of the run that has bit b.
__device__ uint32_t region_of(const Volume& v, const RowWord& row, int b) {
  return region_of_node(v, row.node_at(0, b));
}

// Regions at a side get an area above all. All threads write the same value.
__global__ __launch_bounds__(kThreads) void mark_sides_kernel(Volume v) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  if (word >= v.row_words()) return;
  const RowWord row(v, word);
  const auto is_end = [](int at, int count) { return at == 0 || at == count - 1; };
  const bool at_side = is_end(row.place.y, v.stack.slice.height) ||
                       (is_spatial(v.connectivity) && is_end(row.place.z, v.stack.slices));
  uint32_t sides = at_side ? 0xffffffffu : 0;
  if (row.w == 0) sides |= 1;
  if (row.w == v.words - 1) sides |= 1u << (v.stack.slice.width - 1) % 32;
  for (uint32_t left = row.bits & sides; left; left &= left - 1) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const bool begins = !(b > 0 && (row.bits & sides) >> (b - 1) & 1);  // one for each run
    if (begins) v.area[region_of(v, row, b)] = kNone;
  }
}

// The runs of small regions in a word of the background.
__device__ uint32_t holes_of(const Volume& v, const RowWord& row, uint32_t most) {
  uint32_t holes = 0;
  for (uint32_t left = row.bits; left;) {
    const int b = __ffs(static_cast<int>(left)) - 1;
    const uint32_t run = run_from(left, b);
    left &= ~run;
    if (v.area[region_of(v, row, b)] <= most) holes |= run;
  }
  return holes;
}

// A thread has a word's voxels, of all layers, in whatever order of ranks: the greatest counts.
__global__ __launch_bounds__(kThreads) void rank_filled_kernel(Volume v, Ranks ranks, uint32_t most,
                                                               Image<uint8_t> voxels) {
  constexpr uint32_t kOnes = 0x01010101u;
  const auto words = static_cast<uint32_t>(v.words);
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  if (word >= static_cast<uint32_t>(v.stack.volume_rows()) * words) return;
  const auto w = static_cast<int>(word % words), y = static_cast<int>(word / words);
  auto* memory = reinterpret_cast<uint4*>(voxels.row(y) + w * 32);
  const uint4 low = memory[0], high = memory[1];
  uint32_t fours[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  for (uint32_t& four : fours) four = __vsub4(static_cast<uint32_t>(ranks.count) * kOnes, four);
  for (int layer = 0; layer < v.stack.layers; ++layer) {
    const uint32_t holes = holes_of(v, RowWord(v, layer * v.stack.volume_rows() + y, w), most);
    const uint32_t rank = static_cast<uint32_t>(ranks.of_layer[layer]) * kOnes;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      // Four bits become four bytes of all ones.
      const uint32_t bytes = ((holes >> 4 * k & 15u) * 0x00204081u & kOnes) * 255u;
      fours[k] = __vmaxu4(fours[k], rank & bytes);
    }
  }
  memory[0] = make_uint4(fours[0], fours[1], fours[2], fours[3]);
  memory[1] = make_uint4(fours[4], fours[5], fours[6], fours[7]);
}

}  // namespace

Ranks::Ranks(const Levels& levels, int layers) {
  std::copy_n(levels.level, layers, level);
  std::sort(level, level + layers);
  count = static_cast<int>(std::unique(level, level + layers) - level);
  for (int layer = 0; layer < layers; ++layer) {
    const int* at = std::lower_bound(level, level + count, levels.level[layer]);
    of_layer[layer] = static_cast<int>(at - level) + 1;
  }
}

Levels Ranks::foreground(int layers) const {
  Levels levels{};
  std::copy_n(of_layer, layers, levels.level);
  return levels;
}

Levels Ranks::background(int layers) const {
  Levels levels{};
  for (int layer = 0; layer < layers; ++layer) levels.level[layer] = count + 1 - of_layer[layer];
  return levels;
}

void rank_background(const Subject& subject, const Ranks& ranks, const Image<uint8_t>& voxels,
                     cudaStream_t stream) {
  const size_t fours = (static_cast<size_t>(voxels.width) + 3) / 4;
  launch(rank_background_kernel, blocks_for(fours * static_cast<size_t>(voxels.height), kThreads),
         kThreads, 0, stream, subject, ranks, voxels);
}

void rank_filled(const Volume& background, const Ranks& ranks, uint32_t most,
                 const Image<uint8_t>& voxels, cudaStream_t stream) {
  launch(mark_sides_kernel, blocks_for(background.row_words(), kThreads), kThreads, 0, stream,
         background);
  const size_t words = static_cast<size_t>(voxels.height) * static_cast<size_t>(background.words);
  launch(rank_filled_kernel, blocks_for(words, kThreads), kThreads, 0, stream, background, ranks,
         most, voxels);
}

}  // namespace regions::volumes
