// Fills the holes of volumes, at several thresholds at once. A hole is a small background region
// that touches no side of the volume. See ThresholdRanks in volume.hpp for the method.
#include <algorithm>

#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/volume/volume.hpp"

namespace regions::volume {
namespace {

constexpr int kThreads = cclabel::BitmapBlock::threads;

// Each thread computes the background ranks of four voxels. Rows are padded to whole words.
__global__ __launch_bounds__(kThreads) void rank_background_kernel(LabelInput input,
                                                                   ThresholdRanks ranks,
                                                                   Image<uint8_t> voxels) {
  const auto quads_per_row = (static_cast<uint32_t>(voxels.width) + 3) / 4;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= quads_per_row * static_cast<uint32_t>(voxels.height)) return;
  const auto y = static_cast<int>(i / quads_per_row), x = static_cast<int>(i % quads_per_row) * 4;
  uint32_t packed = 0;
  for (int k = 0; k < 4 && x + k < voxels.width; ++k) {
    const int value = compared_value(input, x + k, y);
    int rank = 0;
    while (rank < ranks.count && value >= ranks.level[rank]) ++rank;
    packed |= static_cast<uint32_t>(ranks.count - rank) << 8 * k;
  }
  *reinterpret_cast<uint32_t*>(voxels.row(y) + x) = packed;
}

// Returns the id of the region that contains the foreground voxel at bit b.
__device__ uint32_t region_of(const VolumeArrays& v, const RowWord& row, int b) {
  return region_of_node(v, row.node_at(0, b));
}

// Sets the area of each region that touches a side of the volume to the maximum, so that the region
// is not a hole. Each thread has one word. All threads write the same value, so their order does
// not matter.
__global__ __launch_bounds__(kThreads) void mark_sides_kernel(VolumeArrays v) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  if (word >= v.all_words()) return;
  const RowWord row(v, word);
  const auto is_end = [](int i, int count) { return i == 0 || i == count - 1; };
  const bool is_side_row = is_end(row.position.y, v.layout.slice.height) ||
                           (is_spatial(v.connectivity) && is_end(row.position.z, v.layout.slices));
  uint32_t sides = is_side_row ? 0xffffffffu : 0;
  if (row.w == 0) sides |= 1;
  if (row.w == v.words - 1) sides |= 1u << (v.layout.slice.width - 1) % 32;
  for (uint32_t remaining = row.bits & sides; remaining; remaining &= remaining - 1) {
    const int b = __ffs(static_cast<int>(remaining)) - 1;
    const bool begins_run = !(b > 0 && (row.bits & sides) >> (b - 1) & 1);
    if (begins_run) v.area[region_of(v, row, b)] = kNone;
  }
}

// Returns the voxels of a word that belong to small regions. `v` and `row` describe the background.
__device__ uint32_t holes_of(const VolumeArrays& v, const RowWord& row, uint32_t max_hole_area) {
  uint32_t holes = 0;
  for (uint32_t remaining = row.bits; remaining;) {
    const int b = __ffs(static_cast<int>(remaining)) - 1;
    const uint32_t run = run_from(remaining, b);
    remaining &= ~run;
    if (v.area[region_of(v, row, b)] <= max_hole_area) holes |= run;
  }
  return holes;
}

// Each thread processes the 32 voxels of one word in all layers. A voxel gets the highest rank over
// all layers, so the order of layers does not matter.
__global__ __launch_bounds__(kThreads) void fill_ranks_kernel(VolumeArrays v, ThresholdRanks ranks,
                                                              uint32_t max_hole_area,
                                                              Image<uint8_t> voxels) {
  constexpr uint32_t kOnes = 0x01010101u;
  const auto words = static_cast<uint32_t>(v.words);
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  if (word >= static_cast<uint32_t>(v.layout.volume_rows()) * words) return;
  const auto w = static_cast<int>(word % words), y = static_cast<int>(word / words);
  auto* memory = reinterpret_cast<uint4*>(voxels.row(y) + w * 32);
  const uint4 low = memory[0], high = memory[1];
  uint32_t packed_ranks[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  // Converts background ranks to foreground ranks, four at a time.
  for (uint32_t& packed : packed_ranks)
    packed = __vsub4(static_cast<uint32_t>(ranks.count) * kOnes, packed);
  for (int layer = 0; layer < v.layout.layers; ++layer) {
    const uint32_t holes =
        holes_of(v, RowWord(v, layer * v.layout.volume_rows() + y, w), max_hole_area);
    const uint32_t rank = static_cast<uint32_t>(ranks.of_layer[layer]) * kOnes;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      // Expands four bits to four bytes of 0 or 255.
      const uint32_t bytes = ((holes >> 4 * k & 15u) * 0x00204081u & kOnes) * 255u;
      packed_ranks[k] = __vmaxu4(packed_ranks[k], rank & bytes);
    }
  }
  memory[0] = make_uint4(packed_ranks[0], packed_ranks[1], packed_ranks[2], packed_ranks[3]);
  memory[1] = make_uint4(packed_ranks[4], packed_ranks[5], packed_ranks[6], packed_ranks[7]);
}

}  // namespace

ThresholdRanks::ThresholdRanks(const ThresholdLevels& thresholds, int layers) {
  std::copy_n(thresholds.level, layers, level);
  std::sort(level, level + layers);
  count = static_cast<int>(std::unique(level, level + layers) - level);
  for (int layer = 0; layer < layers; ++layer) {
    const int* position = std::lower_bound(level, level + count, thresholds.level[layer]);
    of_layer[layer] = static_cast<int>(position - level) + 1;
  }
}

ThresholdLevels ThresholdRanks::foreground(int layers) const {
  ThresholdLevels thresholds{};
  std::copy_n(of_layer, layers, thresholds.level);
  return thresholds;
}

ThresholdLevels ThresholdRanks::background(int layers) const {
  ThresholdLevels thresholds{};
  for (int layer = 0; layer < layers; ++layer)
    thresholds.level[layer] = count + 1 - of_layer[layer];
  return thresholds;
}

void rank_background_voxels(const LabelInput& input, const ThresholdRanks& ranks,
                            const Image<uint8_t>& voxels, cudaStream_t stream) {
  const size_t quads_per_row = (static_cast<size_t>(voxels.width) + 3) / 4;
  launch(rank_background_kernel,
         blocks_for(quads_per_row * static_cast<size_t>(voxels.height), kThreads), kThreads, 0,
         stream, input, ranks, voxels);
}

void fill_ranks(const VolumeArrays& background, const ThresholdRanks& ranks, uint32_t max_hole_area,
                const Image<uint8_t>& voxels, cudaStream_t stream) {
  launch(mark_sides_kernel, blocks_for(background.all_words(), kThreads), kThreads, 0, stream,
         background);
  const size_t words = static_cast<size_t>(voxels.height) * static_cast<size_t>(background.words);
  launch(fill_ranks_kernel, blocks_for(words, kThreads), kThreads, 0, stream, background, ranks,
         max_hole_area, voxels);
}

}  // namespace regions::volume
