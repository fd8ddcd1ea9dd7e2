// Numbers regions 1..n in raster order: for every word of first-pixel bits, how many came before.
// No block waits for another: each adds up what lies before its own rows. The same launch gives
// every border component its root, so that the phases behind look up one parent and no path.
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/runs.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/runtime/chain.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = NumberBlock::threads;

// First pixels in four words.
struct FourWords {
  uint32_t count[4];

  __device__ FourWords(const uint32_t* firsts, size_t w, size_t end) {
    uint4 bits = {};
    if (w + 4 <= end) {
      bits = *reinterpret_cast<const uint4*>(firsts + w);
    } else {
      if (w < end) bits.x = firsts[w];
      if (w + 1 < end) bits.y = firsts[w + 1];
      if (w + 2 < end) bits.z = firsts[w + 2];
    }
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) count[k] = static_cast<uint32_t>(__popc(words[k]));
  }
  __device__ uint32_t sum() const { return count[0] + count[1] + count[2] + count[3]; }
};

// A block numbers a row of tiles. Tile heights are multiples of four, so that its words begin at
// one that is, too.
__device__ void number_rows(const Tiles& tiles, Count which, int tile_row) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  const int end_row = min((tile_row + 1) * tiles.height, tiles.size.height);
  const size_t words = static_cast<size_t>(tiles.stride / 32);
  const size_t begin = tile_row * tiles.height * words, end = end_row * words;

  uint32_t sum = 0;
  const size_t earlier_tiles = static_cast<size_t>(tile_row) * tiles.columns;
  for (size_t t = threadIdx.x; t < earlier_tiles; t += kThreads) sum += tiles.regions[t];
  uint32_t before;
  sum_before<kThreads>(sum, warp_sums, before);
  for (size_t start = begin; start < end; start += 4 * kThreads) {
    const size_t w = start + 4 * threadIdx.x;
    const FourWords four(tiles.firsts, w, end);
    __syncthreads();  // warp_sums may be used again
    uint32_t total;
    uint32_t rank = before + sum_before<kThreads>(four.sum(), warp_sums, total);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (w + k < end) tiles.before[w + k] = rank;
      rank += four.count[k];
    }
    before += total;
  }
  if (end_row != tiles.size.height || threadIdx.x != 0) return;
  if (which == Count::all) tiles.total[0] = before;
  tiles.total[1] = before;
}

// Some warps flatten the border components of a tile. What label_tiles wrote is read before the
// seams are joined.
__device__ void flatten_borders(const Tiles& tiles, int block) {
  constexpr int kWarps = NumberBlock::tile_warps;
  const int warp = block * (kThreads / 32) + static_cast<int>(threadIdx.x / 32);
  const int tile = min(warp / kWarps, tiles.columns * tiles.rows - 1);
  const int column = tile % tiles.columns, row = tile / tiles.columns;
  const TilePlace place{column, row, tile, column * tiles.width, row * tiles.height};
  const int border = warp / kWarps == tile ? tiles.count[tile].border : 0;
  const uint16_t* first = tiles.first + static_cast<size_t>(tile) * tiles.capacity;
  const int begin = warp % kWarps * 32, lane = static_cast<int>(threadIdx.x % 32);
  uint16_t next = first[begin + lane];
  wait_then_let_start();
  for (int start = begin; start < border; start += kWarps * 32) {
    const bool exists = start + lane < border;
    const uint32_t id = place.id(tiles, next), first_id = __shfl_sync(kAllLanes, id, 0);
    next = first[min(start + kWarps * 32 + lane, tiles.capacity - 1)];
    flatten(tiles.parent, exists ? id : first_id, exists);
  }
}

// Two jobs that need nothing of each other, each with its own blocks.
__global__ __launch_bounds__(kThreads) void number_regions_kernel(Tiles tiles, Count count,
                                                                  int number_blocks) {
  const int block = static_cast<int>(blockIdx.x);
  if (block >= number_blocks) return flatten_borders(tiles, block - number_blocks);
  wait_then_let_start();
  number_rows(tiles, count, block);
}

}  // namespace

void number_regions(const Tiles& tiles, Count count, cudaStream_t stream) {
  const auto number_blocks = static_cast<unsigned>(tiles.rows);
  const unsigned flatten_blocks =
      blocks_for(tiles.tiles() * NumberBlock::tile_warps, kThreads / 32);
  launch_chained(number_regions_kernel, number_blocks + flatten_blocks, kThreads, 0, stream, tiles,
                 count, static_cast<int>(number_blocks));
}

}  // namespace regions::cclabel
