// Filters of regions, for images (pass 3) and for FirstPixelBitmap: remove regions by area, regions
// without a seed, or all except the largest regions. Also fills small holes of the foreground.
#include <bit>

#include "gpu/cclabel/first_pixels.hpp"
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = 256;

// The following kernels find the areas.limit largest regions by a radix select on keys that consist
// of area and id, from the highest digit to the lowest. They return at once if there are at most
// areas.limit regions.

// Block shape of the radix select.
struct SelectBlock {
  static constexpr int threads = 256;
  // Few blocks, because each block adds its counts of all digits to global memory.
  static unsigned blocks() { return multiprocessors(); }
};
// Returns the key of a region. A key is larger for a larger area and, among equal areas, for an
// earlier first pixel. All keys differ.
__device__ uint64_t key_of_region(const RegionAreas& areas, uint32_t id, uint32_t area) {
  const uint64_t last_id = (uint64_t{1} << areas.id_bits) - 1;
  return static_cast<uint64_t>(area) << areas.id_bits | (last_id - id);
}

constexpr int kDigitBits = LargestSelection::kDigitBits;
constexpr int kDigits = LargestSelection::kDigits;

__global__ void begin_selection_kernel(RegionAreas areas, LargestSelection* selection) {
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += SelectBlock::threads)
    selection->count[d] = 0;
  if (threadIdx.x != 0) return;
  selection->min_key = 0;
  selection->rank = areas.limit;
  selection->arrived_blocks = 0;
}

// Counts the digits at bit `shift` of all keys whose higher digits equal the digits of `selected`.
__device__ void count_digits(const uint32_t* bits, size_t words, const RegionAreas& areas,
                             uint64_t selected, int shift, uint32_t (&count)[kDigits]) {
  const size_t step = static_cast<size_t>(gridDim.x) * SelectBlock::threads;
  for (size_t w = blockIdx.x * SelectBlock::threads + threadIdx.x; w < words; w += step) {
    for (uint32_t remaining = bits[w]; remaining; remaining &= remaining - 1) {
      const uint32_t id = static_cast<uint32_t>(w) * 32 +
                          static_cast<uint32_t>(__ffs(static_cast<int>(remaining)) - 1);
      const uint64_t key = key_of_region(areas, id, areas.area[id]);
      if ((key ^ selected) >> shift >> kDigitBits) continue;
      atomicAdd(&count[key >> shift & (kDigits - 1)], 1u);
    }
  }
}

// Executed by the last block that arrives. Searches the digit values from high to low for the value
// at which the number of keys reaches selection->rank, and appends this digit to
// selection->min_key.
__device__ void pick_digit(LargestSelection* selection, int shift) {
  __shared__ uint32_t warp_sums[SelectBlock::threads / 32];
  constexpr int kDigitsPerThread = kDigits / SelectBlock::threads;
  uint32_t count[kDigitsPerThread], sum = 0;
  const int highest_digit = kDigits - 1 - static_cast<int>(threadIdx.x) * kDigitsPerThread;
  for (int i = 0; i < kDigitsPerThread; ++i) {
    // Clears the count for the next digit.
    count[i] = atomicExch(&selection->count[highest_digit - i], 0u);
    sum += count[i];
  }
  const uint32_t rank = selection->rank;
  uint32_t total;
  // The barrier inside this sum ensures that all threads have read selection->rank.
  uint32_t larger_keys = block_exclusive_sum<SelectBlock::threads>(sum, warp_sums, total);
  if (rank <= larger_keys || rank > larger_keys + sum) return;
  int i = 0;
  while (rank > larger_keys + count[i]) larger_keys += count[i++];
  selection->min_key |= static_cast<uint64_t>(highest_digit - i) << shift;
  selection->rank = rank - larger_keys;
  selection->arrived_blocks = 0;
}

__global__ __launch_bounds__(SelectBlock::threads) void select_digit_kernel(
    const uint32_t* bits, size_t words, const uint32_t* total, RegionAreas areas,
    LargestSelection* selection, int shift) {
  if (!areas.are_needed(total)) return;
  __shared__ uint32_t count[kDigits];
  __shared__ bool is_last;
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += SelectBlock::threads) count[d] = 0;
  __syncthreads();  // the counts are 0
  count_digits(bits, words, areas, selection->min_key, shift, count);
  __syncthreads();  // the counts are complete
  for (int d = static_cast<int>(threadIdx.x); d < kDigits; d += SelectBlock::threads) {
    if (count[d]) atomicAdd(&selection->count[d], count[d]);
  }
  __threadfence();
  __syncthreads();  // this block's counts are visible to every block that sees its arrival
  if (threadIdx.x == 0) is_last = atomicAdd(&selection->arrived_blocks, 1u) == gridDim.x - 1;
  __syncthreads();  // is_last is written
  if (is_last) pick_digit(selection, shift);
}

void select_largest(const uint32_t* bits, size_t words, const uint32_t* total,
                    const RegionAreas& areas, LargestSelection* selection, cudaStream_t stream) {
  launch(begin_selection_kernel, 1, SelectBlock::threads, 0, stream, areas, selection);
  const int digits = (2 * areas.id_bits + kDigitBits - 1) / kDigitBits;
  for (int digit = digits - 1; digit >= 0; --digit) {
    launch(select_digit_kernel, SelectBlock::blocks(), SelectBlock::threads, 0, stream, bits, words,
           total, areas, selection, digit * kDigitBits);
  }
}

constexpr int kMaxComponents = BinaryTile::max_runs;
static_assert(kMaxComponents == LinkedTile::max_runs);

// Returns the id of the region of component `c`. Also valid before number_regions() has made the
// forest flat.
__device__ uint32_t region_of_component(const ImageTiles& tiles, const TilePosition& position,
                                        int c, int border) {
  uint32_t node = root_of_component(tiles, position, c, border);
  while (c < border && tiles.parent[node] != node) node = tiles.parent[node];
  return node;
}

// Returns whether component `c` with this id contains the first pixel of its region.
__device__ bool is_region(const ImageTiles& tiles, int c, int border, uint32_t id) {
  return c >= border || tiles.parent[id] == id;
}

__device__ uint32_t id_of_component(const ImageTiles& tiles, const TilePosition& position, int c) {
  return position.id(
      tiles, tiles.first_pixel[static_cast<size_t>(position.tile_index) * tiles.max_tile_runs + c]);
}

template <class F>
__device__ void for_each_component(const TileCounts& count, F f) {
  for (int c = static_cast<int>(threadIdx.x); c < count.components; c += kThreads) f(c);
}

__global__ void clear_areas_kernel(ImageTiles tiles, RegionAreas areas) {
  if (!areas.are_needed(tiles.total)) return;
  const TilePosition position = tile_of_block(tiles);
  const TileCounts count = tiles.counts[position.tile_index];
  for_each_component(count, [&](int c) {
    const uint32_t id = id_of_component(tiles, position, c);
    if (is_region(tiles, c, count.border, id)) areas.area[id] = 0;
  });
}

__global__ __launch_bounds__(kThreads) void measure_areas_kernel(ImageTiles tiles,
                                                                 RegionAreas areas) {
  __shared__ uint32_t area[kMaxComponents];
  if (!areas.are_needed(tiles.total)) return;
  const TilePosition position = tile_of_block(tiles);
  const TileCounts count = tiles.counts[position.tile_index];
  for_each_component(count, [&](int c) { area[c] = 0; });
  __syncthreads();  // the areas are 0
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint16_t* component_of =
      tiles.component_of_run + static_cast<size_t>(position.tile_index) * tiles.max_tile_runs;
  for_each_run_word<kThreads>(tiles, position, [&](const RunWord& word, int, int) {
    if (!word.is_foreground(lane) || !word.is_last_of_run(lane)) return;
    const auto length = static_cast<uint32_t>(lane - word.run_begin(lane) + 1);
    atomicAdd(&area[component_of[word.run_at(lane)]], length);
  });
  __syncthreads();  // the areas are complete
  for_each_component(count, [&](int c) {
    atomicAdd(&areas.area[region_of_component(tiles, position, c, count.border)], area[c]);
  });
}

// Sets the area of the region that contains pixel (x, y), if the pixel is in a region.
__device__ void set_area_at(const ImageTiles& tiles, const RegionAreas& areas, int x, int y,
                            uint32_t area) {
  const int column = x / tiles.tile_width, row = y / tiles.tile_height;
  const TilePosition position{column, row, row * tiles.tile_columns + column,
                              column * tiles.tile_width, row * tiles.tile_height};
  const int bit = x % 32;
  const RunWord word =
      load_run_word(tiles, position.tile_index,
                    (y - position.y) * (tiles.tile_width / 32) + (x - position.x) / 32);
  if (!word.is_foreground(bit)) return;
  const size_t run_index =
      static_cast<size_t>(position.tile_index) * tiles.max_tile_runs + word.run_at(bit);
  const int c = tiles.component_of_run[run_index];
  areas.area[region_of_component(tiles, position, c, tiles.counts[position.tile_index].border)] =
      area;
}

// Background regions that touch the edge of the image are not holes. This kernel sets their area to
// the maximum.
__global__ void mark_edge_regions_kernel(ImageTiles tiles, RegionAreas areas) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int width = tiles.size.width, height = tiles.size.height;
  if (i >= 2 * (width + height)) return;
  const int k = i < 2 * width ? i / 2 : (i - 2 * width) / 2;
  const int x = i < 2 * width ? k : i % 2 * (width - 1);
  const int y = i < 2 * width ? i % 2 * (height - 1) : k;
  set_area_at(tiles, areas, x, y, UINT32_MAX);
}

__global__ void mark_seeded_regions_kernel(ImageTiles tiles, RegionAreas areas, Seeds seeds) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < seeds.count) set_area_at(tiles, areas, seeds.x[i], seeds.y[i], 1);
}

template <class IsKept>
__global__ void drop_regions_kernel(ImageTiles tiles, RegionAreas areas, IsKept is_kept) {
  if (!areas.are_needed(tiles.total)) return;
  const TilePosition position = tile_of_block(tiles);
  const TileCounts count = tiles.counts[position.tile_index];
  for_each_component(count, [&](int c) {
    const uint32_t id = id_of_component(tiles, position, c);
    if (!is_region(tiles, c, count.border, id) || is_kept(id, areas.area[id])) return;
    // Only one thread handles each region, so the count is exact in any order of the atomics. An
    // earlier filter may already have removed the region.
    const uint32_t bit = 1u << (id & 31);
    if (atomicAnd(tiles.region_starts + (id >> 5), ~bit) & bit)
      atomicSub(tiles.region_count + position.tile_index, 1u);
  });
}

struct AreaWithin {
  AreaBounds bounds;
  __device__ bool operator()(uint32_t, uint32_t area) const { return bounds.contain(area); }
};

struct AmongLargest {
  RegionAreas areas;
  const LargestSelection* selection;
  __device__ bool operator()(uint32_t id, uint32_t area) const {
    return key_of_region(areas, id, area) >= selection->min_key;
  }
};

// Writes one bit per pixel: set for foreground and for background regions with at most
// `max_hole_area` pixels.
__global__ __launch_bounds__(kThreads) void fill_holes_kernel(ImageTiles tiles, RegionAreas areas,
                                                              uint32_t max_hole_area,
                                                              uint32_t* bits) {
  __shared__ uint32_t filled[kMaxComponents];
  const TilePosition position = tile_of_block(tiles);
  const TileCounts count = tiles.counts[position.tile_index];
  for_each_component(count, [&](int c) {
    filled[c] = areas.area[region_of_component(tiles, position, c, count.border)] <= max_hole_area;
  });
  __syncthreads();  // `filled` is complete
  const int lane = static_cast<int>(threadIdx.x % 32), words = tiles.tile_width / 32;
  const uint16_t* component_of =
      tiles.component_of_run + static_cast<size_t>(position.tile_index) * tiles.max_tile_runs;
  const int warps = kThreads / 32;
  for (int w = static_cast<int>(threadIdx.x / 32); w < words * tiles.tile_height; w += warps) {
    const int y = position.y + w / words;
    if (y >= tiles.size.height) break;
    // The foreground bits of these tiles are the background of the image.
    const RunWord word = load_run_word(tiles, position.tile_index, w);
    const bool is_set = !word.is_foreground(lane) || filled[component_of[word.run_at(lane)]];
    const uint32_t set = __ballot_sync(kAllLanes, is_set);
    const size_t at = static_cast<size_t>(y) * (tiles.stride / 32) + position.x / 32 + w % words;
    if (lane == 0) bits[at] = set;
  }
}

dim3 grid_of(const ImageTiles& tiles) {
  return {static_cast<unsigned>(tiles.tile_columns), static_cast<unsigned>(tiles.tile_rows)};
}

// Calls visit(id) for each region whose first voxel is in the thread's word.
template <class Visit>
__device__ void for_each_region(const FirstPixelBitmap& bitmap, Visit visit) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  if (word >= bitmap.words) return;
  for (uint32_t bits = bitmap.region_starts[bitmap.index_of(word)]; bits; bits &= bits - 1) {
    visit(word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(bits)) - 1));
  }
}

__device__ void drop(const FirstPixelBitmap& bitmap, uint32_t region) {
  // Needs no atomic operation, because only this thread writes the word.
  bitmap.region_starts[bitmap.index_of(region / 32)] &= ~(1u << region % 32);
  atomicSub(bitmap.region_counts + region / 32 / FirstPixelBitmap::kWordsPerCount, 1u);
}

__global__ __launch_bounds__(kThreads) void clear_bitmap_areas_kernel(FirstPixelBitmap bitmap) {
  for_each_region(bitmap, [&](uint32_t region) { bitmap.area[region] = 0; });
}

__global__ __launch_bounds__(kThreads) void drop_from_bitmap_kernel(FirstPixelBitmap bitmap,
                                                                    AreaBounds bounds) {
  for_each_region(bitmap, [&](uint32_t region) {
    if (!bounds.contain(bitmap.area[region])) drop(bitmap, region);
  });
}

__global__ __launch_bounds__(kThreads) void drop_smallest_kernel(
    FirstPixelBitmap bitmap, RegionAreas areas, const LargestSelection* selection) {
  if (*bitmap.total <= areas.limit) return;
  for_each_region(bitmap, [&](uint32_t region) {
    if (key_of_region(areas, region, bitmap.area[region]) < selection->min_key)
      drop(bitmap, region);
  });
}

// Copies the bits to regions_before, with words in raster order. number_first_pixels() overwrites
// the copy later.
__global__ __launch_bounds__(kThreads) void sort_words_kernel(FirstPixelBitmap bitmap) {
  const uint32_t word = blockIdx.x * kThreads + threadIdx.x;
  if (word < bitmap.words)
    bitmap.regions_before[word] = bitmap.region_starts[bitmap.index_of(word)];
}

}  // namespace

void measure_areas(const ImageTiles& tiles, const RegionAreas& areas, cudaStream_t stream) {
  launch(clear_areas_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas);
  launch(measure_areas_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas);
}

void drop_by_area(const ImageTiles& tiles, const RegionAreas& areas, const AreaBounds& bounds,
                  cudaStream_t stream) {
  launch(drop_regions_kernel<AreaWithin>, grid_of(tiles), kThreads, 0, stream, tiles, areas,
         AreaWithin{bounds});
}

void keep_seeded(const ImageTiles& tiles, const RegionAreas& areas, const Seeds& seeds,
                 cudaStream_t stream) {
  launch(clear_areas_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas);
  launch(mark_seeded_regions_kernel, 1, Seeds::kMax, 0, stream, tiles, areas, seeds);
  launch(drop_regions_kernel<AreaWithin>, grid_of(tiles), kThreads, 0, stream, tiles, areas,
         AreaWithin{{.min_area = 1}});
}

void keep_largest(const ImageTiles& tiles, const RegionAreas& areas, LargestSelection* selection,
                  cudaStream_t stream) {
  select_largest(tiles.region_starts, tiles.words(), tiles.total, areas, selection, stream);
  launch(drop_regions_kernel<AmongLargest>, grid_of(tiles), kThreads, 0, stream, tiles, areas,
         AmongLargest{areas, selection});
}

void fill_holes(const ImageTiles& tiles, const RegionAreas& areas, uint32_t max_hole_area,
                uint32_t* bits, cudaStream_t stream) {
  const size_t edge = 2 * (static_cast<size_t>(tiles.size.width) + tiles.size.height);
  launch(mark_edge_regions_kernel, blocks_for(edge, kThreads), kThreads, 0, stream, tiles, areas);
  launch(fill_holes_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas, max_hole_area, bits);
}

void clear_areas(const FirstPixelBitmap& bitmap, cudaStream_t stream) {
  launch(clear_bitmap_areas_kernel, blocks_for(bitmap.words, kThreads), kThreads, 0, stream,
         bitmap);
}

void drop_by_area(const FirstPixelBitmap& bitmap, const AreaBounds& bounds, cudaStream_t stream) {
  launch(drop_from_bitmap_kernel, blocks_for(bitmap.words, kThreads), kThreads, 0, stream, bitmap,
         bounds);
}

void drop_smallest(const FirstPixelBitmap& bitmap, uint32_t limit, LargestSelection* selection,
                   cudaStream_t stream) {
  const int id_bits = std::bit_width(uint64_t{bitmap.words} * 32);
  const RegionAreas areas{bitmap.area, id_bits, limit};
  launch(sort_words_kernel, blocks_for(bitmap.words, kThreads), kThreads, 0, stream, bitmap);
  // regions_before now contains the bits in raster order.
  select_largest(bitmap.regions_before, bitmap.words, bitmap.total, areas, selection, stream);
  launch(drop_smallest_kernel, blocks_for(bitmap.words, kThreads), kThreads, 0, stream, bitmap,
         areas, selection);
}

}  // namespace regions::cclabel
