// Numbers regions 1..n in raster order: for every word of first-pixel bits, how many came before.
// No block waits for another: each adds up what lies before its own rows. The same launch gives
// every border component its root, so that the phases behind look up one parent and no path, and
// clears the records.
#include "gpu/cclabel/phases.hpp"
#include "gpu/cclabel/runs.hpp"
#include "gpu/cclabel/tuning.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = NumberBlock::threads;

// Blocks that number the rows of one row of tiles.
REGIONS_HD int blocks_per_strip(const Tiles& tiles) { return tiles.height / NumberBlock::rows; }

// Sum over the block, in every thread.
__device__ uint32_t sum_of_block(uint32_t value, uint32_t (&warp_sums)[kThreads / 32]) {
  uint32_t total;
  sum_before<kThreads>(value, warp_sums, total);
  __syncthreads();  // warp_sums may be used again
  return total;
}

__device__ void number_rows(const Tiles& tiles, Count count, int block) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  const int strip = block / blocks_per_strip(tiles);
  const int first_row = strip * tiles.height;
  const int row = first_row + block % blocks_per_strip(tiles) * NumberBlock::rows;
  const int end_row = min(row + NumberBlock::rows, tiles.size.height);
  if (row >= tiles.size.height) return;  // the whole block
  const size_t words = static_cast<size_t>(tiles.stride / 32);

  uint32_t sum = 0;
  const size_t earlier_tiles = static_cast<size_t>(strip) * tiles.columns;
  for (size_t t = threadIdx.x; t < earlier_tiles; t += kThreads) sum += tiles.regions[t];
  for (size_t w = first_row * words + threadIdx.x; w < row * words; w += kThreads) {
    sum += static_cast<uint32_t>(__popc(tiles.firsts[w]));
  }
  uint32_t before = sum_of_block(sum, warp_sums);
  for (size_t start = row * words; start < end_row * words; start += kThreads) {
    const size_t w = start + threadIdx.x;
    const bool inside = w < end_row * words;
    const uint32_t begun = inside ? static_cast<uint32_t>(__popc(tiles.firsts[w])) : 0;
    uint32_t total;
    const uint32_t within = sum_before<kThreads>(begun, warp_sums, total);
    if (inside) tiles.before[w] = before + within;
    before += total;
    __syncthreads();  // warp_sums may be used again
  }
  if (end_row != tiles.size.height || threadIdx.x != 0) return;
  if (count == Count::all) tiles.total[0] = before;
  tiles.total[1] = before;
}

// A warp flattens the border components of a tile.
__device__ void flatten_borders(const Tiles& tiles, int block) {
  const int tile = block * (kThreads / 32) + static_cast<int>(threadIdx.x / 32);
  if (tile >= tiles.columns * tiles.rows) return;
  const int column = tile % tiles.columns, row = tile / tiles.columns;
  const TilePlace place{column, row, tile, column * tiles.width, row * tiles.height};
  const int border = tiles.count[tile].border;
  const uint16_t* first = tiles.first + static_cast<size_t>(tile) * tiles.capacity;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int start = 0; start < border; start += 32) {
    const bool exists = start + lane < border;
    const uint32_t id = place.id(tiles, first[exists ? start + lane : start]);
    const uint32_t root = roots_of(tiles.parent, id);
    // Only its own entry, and a root: other lanes may be walking through it.
    if (exists) atomicExch(tiles.parent + id, root);
  }
}

__device__ void clear_records(const Records& records, int block) {
  const uint32_t i = static_cast<uint32_t>(block) * kThreads + threadIdx.x;
  if (i >= records.capacity) return;
  Region region{};
  region.left = INT32_MAX;  // the others only grow
  records.region[i] = region;
}

// Three jobs that need nothing of each other, each with its own blocks.
__global__ __launch_bounds__(kThreads) void number_regions_kernel(Tiles tiles, Count count,
                                                                  Records records,
                                                                  int number_blocks,
                                                                  int flatten_blocks) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < number_blocks) {
    number_rows(tiles, count, block);
  } else if (block < number_blocks + flatten_blocks) {
    flatten_borders(tiles, block - number_blocks);
  } else {
    clear_records(records, block - number_blocks - flatten_blocks);
  }
}

}  // namespace

void number_regions(const Tiles& tiles, Count count, const Records& records, cudaStream_t stream) {
  const auto number_blocks = static_cast<unsigned>(tiles.rows * blocks_per_strip(tiles));
  const unsigned flatten_blocks = blocks_for(tiles.tiles(), kThreads / 32);
  const unsigned clear_blocks = blocks_for(records.capacity, kThreads);
  launch(number_regions_kernel, number_blocks + flatten_blocks + clear_blocks, kThreads, 0, stream,
         tiles, count, records, static_cast<int>(number_blocks), static_cast<int>(flatten_blocks));
}

}  // namespace regions::cclabel
