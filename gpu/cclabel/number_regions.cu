// Numbers regions 1..n in raster order, for images (pass 4) and for FirstPixelBitmap. For each word
// of first-pixel bits, writes the number of regions that start in earlier words. Blocks do not wait
// for each other: each block sums the counts of all earlier blocks itself.
#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

struct NumberBlock {
  static constexpr int threads = 512;
  static constexpr int tile_warps = 4;  // number of warps that flatten one tile
};
constexpr int kThreads = NumberBlock::threads;

// Loads four words of first-pixel bits and counts the first pixels in each.
struct FourWordCounts {
  uint32_t count[4];

  __device__ FourWordCounts(const uint32_t* region_starts, size_t w, size_t end) {
    uint4 bits = {};
    if (w + 4 <= end) {
      bits = *reinterpret_cast<const uint4*>(region_starts + w);
    } else {
      if (w < end) bits.x = region_starts[w];
      if (w + 1 < end) bits.y = region_starts[w + 1];
      if (w + 2 < end) bits.z = region_starts[w + 2];
    }
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) count[k] = static_cast<uint32_t>(__popc(words[k]));
  }
  __device__ uint32_t sum() const { return count[0] + count[1] + count[2] + count[3]; }
};

// Numbers the regions that start in one row of tiles. Called by one block per row of tiles. Tile
// heights are multiples of four, so the block's first word has an index that is a multiple of four.
// The 16-byte loads require this.
__device__ void number_rows(const ImageTiles& tiles, Totals totals, int tile_row) {
  __shared__ uint32_t warp_sums[kThreads / 32];
  const int end_row = min((tile_row + 1) * tiles.tile_height, tiles.size.height);
  const size_t words = static_cast<size_t>(tiles.stride / 32);
  const size_t begin = tile_row * tiles.tile_height * words, end = end_row * words;

  uint32_t sum = 0;
  const size_t earlier_tiles = static_cast<size_t>(tile_row) * tiles.tile_columns;
  for (size_t t = threadIdx.x; t < earlier_tiles; t += kThreads) sum += tiles.region_count[t];
  uint32_t before;
  block_exclusive_sum<kThreads>(sum, warp_sums, before);
  for (size_t start = begin; start < end; start += 4 * kThreads) {
    const size_t w = start + 4 * threadIdx.x;
    const FourWordCounts word_counts(tiles.region_starts, w, end);
    __syncthreads();  // all threads have read warp_sums; it may be overwritten
    uint32_t total;
    uint32_t rank = before + block_exclusive_sum<kThreads>(word_counts.sum(), warp_sums, total);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (w + k < end) tiles.regions_before[w + k] = rank;
      rank += word_counts.count[k];
    }
    before += total;
  }
  if (end_row != tiles.size.height || threadIdx.x != 0) return;
  if (totals == Totals::both) tiles.total[0] = before;
  tiles.total[1] = before;
}

// Sets the parent of each border component to its root, so that later passes look up one parent
// instead of following a path. `tile_warps` warps process one tile. Reads results of label_tiles()
// before pdl_wait(), while merge_tiles() may still run.
__device__ void flatten_borders(const ImageTiles& tiles, int block) {
  constexpr int kWarps = NumberBlock::tile_warps;
  const int warp = block * (kThreads / 32) + static_cast<int>(threadIdx.x / 32);
  const int tile = min(warp / kWarps, tiles.tile_columns * tiles.tile_rows - 1);
  const int column = tile % tiles.tile_columns, row = tile / tiles.tile_columns;
  const TilePosition position{column, row, tile, column * tiles.tile_width,
                              row * tiles.tile_height};
  const int border = warp / kWarps == tile ? tiles.counts[tile].border : 0;
  const uint16_t* first = tiles.first_pixel + static_cast<size_t>(tile) * tiles.max_tile_runs;
  const int begin = warp % kWarps * 32, lane = static_cast<int>(threadIdx.x % 32);
  uint16_t next = first[begin + lane];
  pdl_wait_and_trigger();
  for (int start = begin; start < border; start += kWarps * 32) {
    const bool exists = start + lane < border;
    const uint32_t id = position.id(tiles, next), first_id = __shfl_sync(kAllLanes, id, 0);
    next = first[min(start + kWarps * 32 + lane, tiles.max_tile_runs - 1)];
    flatten(tiles.parent, exists ? id : first_id, exists);
  }
}

// A block either numbers the regions of one row of tiles or flattens border components. The two
// tasks are independent.
__global__ __launch_bounds__(kThreads) void number_regions_kernel(ImageTiles tiles, Totals totals,
                                                                  int number_blocks) {
  const int block = static_cast<int>(blockIdx.x);
  if (block >= number_blocks) return flatten_borders(tiles, block - number_blocks);
  pdl_wait_and_trigger();
  number_rows(tiles, totals, block);
}

constexpr int kBitmapThreads = 1024;     // each thread numbers one word
constexpr uint32_t kWordsPerTile = 256;  // words in a tile of a volume
static_assert(kBitmapThreads == FirstPixelBitmap::kWordsPerCount,
              "a block numbers the words of one count");

__global__ __launch_bounds__(kBitmapThreads) void number_bitmap_kernel(FirstPixelBitmap bitmap,
                                                                       Totals totals,
                                                                       Records records) {
  __shared__ uint32_t warp_sums[kBitmapThreads / 32];
  pdl_wait();
  const uint32_t word = blockIdx.x * kBitmapThreads + threadIdx.x;
  const uint32_t index = bitmap.index_of(word);
  // This load overlaps with the loads of region_counts below.
  const uint32_t starts = word < bitmap.words ? bitmap.region_starts[index] : 0;
  uint32_t earlier = 0;
  for (uint32_t k = threadIdx.x; k < blockIdx.x; k += kBitmapThreads)
    earlier += bitmap.region_counts[k];
  uint32_t regions_before_block;
  block_exclusive_sum<kBitmapThreads>(earlier, warp_sums, regions_before_block);
  const auto count = static_cast<uint32_t>(__popc(starts));
  __syncthreads();  // all threads have read warp_sums; it may be overwritten
  uint32_t block_regions;
  uint32_t label =
      regions_before_block + block_exclusive_sum<kBitmapThreads>(count, warp_sums, block_regions);
  if (blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) {
    if (totals == Totals::both) bitmap.total[0] = regions_before_block + block_regions;
    bitmap.total[1] = regions_before_block + block_regions;
  }
  // pdl_trigger() is not called earlier. Otherwise most blocks of the next kernel would start on
  // the few multiprocessors that this kernel leaves idle, which costs 1.2 µs of 29 µs for a volume
  // of 128^3 voxels (H200, 2026-11-21).
  pdl_trigger();
  if (word >= bitmap.words) return;
  bitmap.regions_before[index] = label;
  for (uint32_t bits = starts; bits && label < records.capacity; bits &= bits - 1) {
    const uint32_t id = word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(bits)) - 1);
    ++label;
    records.region[label - 1] =
        initial_record(label, static_cast<int>(id % bitmap.pitch),
                       bitmap.volume_layout.position(static_cast<int>(id / bitmap.pitch)));
  }
}

}  // namespace

void number_regions(const ImageTiles& tiles, Totals totals, cudaStream_t stream) {
  const auto number_blocks = static_cast<unsigned>(tiles.tile_rows);
  const unsigned flatten_blocks =
      blocks_for(tiles.tiles() * NumberBlock::tile_warps, kThreads / 32);
  launch_pdl(number_regions_kernel, number_blocks + flatten_blocks, kThreads, 0, stream, tiles,
             totals, static_cast<int>(number_blocks));
}

void number_first_pixels(const FirstPixelBitmap& bitmap, Totals totals, const Records& records,
                         cudaStream_t stream) {
  const dim3 grid = blocks_for(bitmap.words, FirstPixelBitmap::kWordsPerCount);
  set_carveout(number_bitmap_kernel, bitmap.words / kWordsPerTile);
  launch_pdl(number_bitmap_kernel, grid, kBitmapThreads, 0, stream, bitmap, totals, records);
}

}  // namespace regions::cclabel
