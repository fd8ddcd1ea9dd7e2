// Pass 5 for images: measures the regions. A block sums the pixels of each component of a tile in
// shared memory, by one set of atomics per run. Then it adds the sums of each component to the
// record of its region. Only components that touch another tile need global atomics.
#include "gpu/cclabel/color_sums.hpp"
#include "gpu/cclabel/labelling_passes.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/launch.hpp"

namespace regions::cclabel {
namespace {

// Block shape of this pass. A block sums at most `components` components of a tile at a time. 1024
// components are enough for sparse noise, which has 650 components per tile. For images with many
// tiles, 512 components are better, because more blocks fit on a multiprocessor. Each thread sums
// 32 pixels, or 16 pixels with 512 threads. If `loads_early`, the block loads colours while regions
// are still being numbered. Otherwise it loads colours later, and only if the tile contains a
// region that has a record; this is better for colour images with many tiles.
template <int threads_, int components_, bool loads_early_, int min_blocks_ = 1>
struct MeasureBlock {
  static constexpr int threads = threads_, components = components_;
  static constexpr int min_blocks = min_blocks_;  // number of resident blocks per multiprocessor
  static constexpr bool loads_early = loads_early_;
};
using FewTilesBlock = MeasureBlock<256, 1024, true>;
using FewTilesSampleBlock = MeasureBlock<512, 1024, true>;
using ManyTilesBlock = MeasureBlock<256, 512, true>;
using ManyTilesColorBlock = MeasureBlock<256, 512, false, 4>;

// Sums over the pixels of each component of a tile, in coordinates relative to the tile. The sums
// fit in 32 bits because a tile has at most 2^15 pixels of 16 bits.
template <int kComponents>
struct ComponentSums {
  uint32_t label[kComponents];  // label of the component's region; 0: the region has no record
  uint32_t area[kComponents];
  uint32_t x[kComponents];
  uint32_t y[kComponents];
  uint32_t left[kComponents];
  uint32_t right[kComponents];
  uint32_t bottom[kComponents];
  uint32_t value[3][kComponents];

  __device__ void clear(int c) {
    area[c] = x[c] = y[c] = right[c] = bottom[c] = 0;
    left[c] = kNone;
    for (auto& channel : value) channel[c] = 0;
  }
};

// Sums over consecutive pixels of one row. Each lane of a warp has its own sums.
struct RunSums {
  uint32_t area, x, y, left, right, bottom;
  uint32_t value[3];
};

// Adds the sums of a run to component `c`. The order of the atomics does not matter: they are sums,
// minima and maxima of integers.
template <class Sums>
__device__ void add(Sums& sums, int c, const RunSums& run, int channels) {
  atomicAdd(&sums.area[c], run.area);
  atomicAdd(&sums.x[c], run.x);
  atomicAdd(&sums.y[c], run.y);
  if (run.left < sums.left[c]) atomicMin(&sums.left[c], run.left);
  if (run.right > sums.right[c]) atomicMax(&sums.right[c], run.right);
  if (run.bottom > sums.bottom[c]) atomicMax(&sums.bottom[c], run.bottom);
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    if (k < channels) atomicAdd(&sums.value[k][c], run.value[k]);
  }
}

// Adds the sums of each lane to the lane's component; lanes with component < 0 have no sums. If
// many lanes have the component of the first such lane, the warp sums them first, because otherwise
// they would all wait for the same atomics.
template <class Sums>
__device__ void add_lanes(Sums& sums, int component, const RunSums& run, int channels) {
  const uint32_t members = __ballot_sync(kAllLanes, component >= 0);
  if (!members) return;
  const int leader = __ffs(static_cast<int>(members)) - 1;
  const int common = __shfl_sync(kAllLanes, component, leader);
  const bool takes_part = component == common;
  if (__popc(__ballot_sync(kAllLanes, takes_part)) >= kMinLanesPerSum) {
    RunSums common_sums;
    common_sums.area = warp_sum(takes_part ? run.area : 0);
    common_sums.x = warp_sum(takes_part ? run.x : 0);
    common_sums.y = warp_sum(takes_part ? run.y : 0);
    common_sums.left = warp_min(takes_part ? run.left : kNone);
    common_sums.right = warp_max(takes_part ? run.right : 0);
    common_sums.bottom = warp_max(takes_part ? run.bottom : 0);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      common_sums.value[k] = k < channels ? warp_sum(takes_part ? run.value[k] : 0) : 0;
    }
    if (static_cast<int>(threadIdx.x % 32) == leader) add(sums, common, common_sums, channels);
    if (takes_part) component = -1;
  }
  if (component >= 0) add(sums, component, run, channels);
  __syncwarp();
}

constexpr uint16_t kNoRecord = 0xffff;

// Shared memory of a block.
template <int kComponents>
struct TileSums {
  ComponentSums<kComponents> sums;
  // [run] index in `sums` of the run's component; kNoRecord: the run is not summed now.
  uint16_t component[BinaryTile::max_runs];
};

// The word of a tile that a thread sums, and the colours of its pixels. If there are twice as many
// threads as words, each thread sums half a word.
template <int kThreads, class Values>
struct ThreadWord {
  RunWord word = {};
  typename Values::Word colors = {};
  int x = 0;  // column of the word's first pixel in the tile
  uint32_t row = 0;

  __device__ ThreadWord(const ImageTiles& tiles, const TilePosition& position) {
    constexpr int kThreadsPerWord = kThreads / BinaryTile::all_words;
    static_assert(kThreadsPerWord >= 1 && kThreadsPerWord <= 2 &&
                  LinkedTile::all_words <= BinaryTile::all_words);
    const int words = tiles.tile_width / 32, w = static_cast<int>(threadIdx.x) / kThreadsPerWord;
    if (w >= words * tiles.tile_height) return;
    x = w % words * 32;
    row = static_cast<uint32_t>(w / words);
    word = load_run_word(tiles, position.tile_index, w);
    if (kThreadsPerWord == 2) word.foreground &= threadIdx.x % 2 ? 0xffff0000u : 0x0000ffffu;
  }
  __device__ void load_colors(const TilePosition& position, const Values& values) {
    if (word.foreground) colors = values.load(position.x + x, position.y + static_cast<int>(row));
  }
};

// Adds the pixels of the lanes' words to the sums of their components. In each step, each lane adds
// one run.
template <int kComponents, int kThreads, class Values>
__device__ void sum_words(TileSums<kComponents>& shared, const ThreadWord<kThreads, Values>& thread,
                          const TilePosition& position, const Values& values) {
  const int y = position.y + static_cast<int>(thread.row);
  uint32_t remaining = thread.word.foreground;
  while (__any_sync(kAllLanes, remaining != 0)) {
    int component = -1;
    RunSums run = {};
    if (remaining) {
      const int b = __ffs(static_cast<int>(remaining)) - 1;
      const uint32_t mask = thread.word.rest_of_run(b);
      remaining &= ~mask;
      const uint16_t stored = shared.component[thread.word.run_at(b)];
      if (stored != kNoRecord) {
        component = stored;
        run.area = static_cast<uint32_t>(__popc(mask));
        run.left = static_cast<uint32_t>(thread.x + b);
        run.right = run.left + run.area - 1;
        run.x = (run.left + run.right) * run.area / 2;
        run.y = thread.row * run.area;
        run.bottom = thread.row;
        values.sum(thread.colors, position.x + thread.x, y, mask, run.value);
      }
    }
    add_lanes(shared.sums, component, run, values.channels);
  }
}

// Writes the members of a region's record that depend on the region's first pixel, if component `c`
// contains this pixel.
__device__ void write_first_pixel(const ImageTiles& tiles, const TilePosition& position, int c,
                                  bool is_border, uint32_t label, Region& record) {
  const int index_in_tile =
      tiles.first_pixel[static_cast<size_t>(position.tile_index) * tiles.max_tile_runs + c];
  const uint32_t id = position.id(tiles, index_in_tile);
  if (is_border && tiles.parent[id] != id) return;
  record.id = record.track = label;
  record.first_x = position.x + (index_in_tile & (tiles.tile_width - 1));
  record.first_y = record.top = position.y + (index_in_tile >> tiles.tile_width_bits);
}

// Writes the record of a region that consists of one component, which touches no other tile.
template <class Sums>
__device__ void write_inner_component(const Sums& sums, const TilePosition& position, int c,
                                      Region& record) {
  const uint64_t area = sums.area[c];
  record.left = position.x + static_cast<int>(sums.left[c]);
  record.right = position.x + static_cast<int>(sums.right[c]);
  record.bottom = position.y + static_cast<int>(sums.bottom[c]);
  record.area = area;
  record.sum_x = sums.x[c] + area * static_cast<uint32_t>(position.x);
  record.sum_y = sums.y[c] + area * static_cast<uint32_t>(position.y);
  for (int k = 0; k < 3; ++k) record.sum_value[k] = sums.value[k][c];
}

// Adds the sums of 32 border components, one per lane, to the records of their labels. Lanes with
// label 0 have no component. The warp first sums the components of the same region, because a
// region may have many components in a tile (about 100 in an image of a maze).
template <class Sums>
__device__ void add_border_components(const Sums& sums, const TilePosition& position, int c,
                                      uint32_t label, Region* records) {
  const auto px = static_cast<uint32_t>(position.x), py = static_cast<uint32_t>(position.y);
  uint32_t pending = __ballot_sync(kAllLanes, label != 0);
  while (pending) {
    const int leader = __ffs(static_cast<int>(pending)) - 1;
    const uint32_t common = __shfl_sync(kAllLanes, label, leader);
    const bool takes_part = label == common;
    pending &= ~__ballot_sync(kAllLanes, takes_part);
    const uint64_t area = warp_sum(takes_part ? sums.area[c] : 0);
    const uint32_t x = warp_sum(takes_part ? sums.x[c] : 0),
                   y = warp_sum(takes_part ? sums.y[c] : 0);
    const uint32_t left = warp_min(takes_part ? sums.left[c] : kNone);
    const uint32_t right = warp_max(takes_part ? sums.right[c] : 0);
    const uint32_t bottom = warp_max(takes_part ? sums.bottom[c] : 0);
    uint32_t value[3];
    for (int k = 0; k < 3; ++k) value[k] = warp_sum(takes_part ? sums.value[k][c] : 0);
    if (static_cast<int>(threadIdx.x % 32) != leader) continue;
    const PixelSums region_sums{area,
                                x + area * px,
                                y + area * py,
                                static_cast<int>(left + px),
                                static_cast<int>(right + px),
                                static_cast<int>(bottom + py),
                                {value[0], value[1], value[2]}};
    add_to_record(region_sums, records[common - 1]);
  }
}

// Adds the sums of components first..first + count - 1 to the records of their regions. `border`:
// TileCounts::border of the tile.
template <int kThreads, class Sums>
__device__ void add_to_records(const Sums& sums, const ImageTiles& tiles,
                               const TilePosition& position, int first, int count, int border,
                               Region* records) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int start = static_cast<int>(threadIdx.x) - lane; start < count; start += kThreads) {
    const int c = min(start + lane, count - 1);
    const bool is_border = first + c < border;
    const uint32_t label = start + lane < count ? sums.label[c] : 0;
    if (label) {
      Region& record = records[label - 1];
      write_first_pixel(tiles, position, first + c, is_border, label, record);
      if (!is_border) write_inner_component(sums, position, c, record);
    }
    __syncwarp();
    add_border_components(sums, position, c, is_border ? label : 0, records);
  }
}

template <class Block, class Values>
__global__ __launch_bounds__(Block::threads,
                             Block::min_blocks) void measure_kernel(ImageTiles tiles, Values values,
                                                                    Region* records,
                                                                    uint32_t capacity) {
  constexpr int kComponents = Block::components, kThreads = Block::threads;
  __shared__ TileSums<kComponents> shared;
  const TilePosition position = tile_of_block(tiles);
  // The results of label_tiles() are read before pdl_wait(), while number_regions() may still run.
  const TileCounts counts = tiles.counts[position.tile_index];
  const uint16_t* component_of =
      tiles.component_of_run + static_cast<size_t>(position.tile_index) * tiles.max_tile_runs;
  ThreadWord<kThreads, Values> thread(tiles, position);
  if (Block::loads_early) thread.load_colors(position, values);
  const int thread_index = static_cast<int>(threadIdx.x);
  pdl_wait_and_trigger();
  for (int first = 0; first < counts.components; first += kComponents) {
    const int count = min(kComponents, counts.components - first);
    bool has_any_record = false;
    for (int c = thread_index; c < count; c += kThreads) {
      const uint32_t root = root_of_component(tiles, position, first + c, counts.border);
      const uint32_t label = label_of_root(tiles, root);
      shared.sums.label[c] = label <= capacity ? label : 0;
      shared.sums.clear(c);
      has_any_record = has_any_record || shared.sums.label[c];
    }
    if (!__syncthreads_or(has_any_record)) continue;  // the sums are 0 and their labels are written
    if (!Block::loads_early) thread.load_colors(position, values);
    for (int r = thread_index; r < counts.runs; r += kThreads) {
      const int c = component_of[r] - first;
      const bool has_record = c >= 0 && c < count && shared.sums.label[c];
      shared.component[r] = has_record ? static_cast<uint16_t>(c) : kNoRecord;
    }
    __syncthreads();  // shared.component is complete
    sum_words(shared, thread, position, values);
    __syncthreads();  // the sums are complete
    add_to_records<kThreads>(shared.sums, tiles, position, first, count, counts.border, records);
    __syncthreads();  // all threads have read the sums; the next round may clear them
  }
}

}  // namespace

void measure_regions(const ImageTiles& tiles, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.tile_columns),
                  static_cast<unsigned>(tiles.tile_rows));
  const auto measure = [&]<class Values>(const Values& values, auto few_tiles_block,
                                         auto many_tiles_block) {
    const auto launch_kernel = [&]<class Block>(Block) {
      launch_pdl(measure_kernel<Block, Values>, grid, Block::threads, 0, stream, tiles, values,
                 records.region, records.capacity);
    };
    tiles.are_few() ? launch_kernel(few_tiles_block) : launch_kernel(many_tiles_block);
  };
  if (ByteValues::can_read(frame)) {
    measure(ByteValues(frame), FewTilesBlock(), ManyTilesBlock());
  } else if (ColorWords::can_read(frame)) {
    measure(ColorWords(frame), FewTilesBlock(), ManyTilesColorBlock());
  } else {
    measure(SampleValues(frame), FewTilesSampleBlock(), ManyTilesBlock());
  }
}

}  // namespace regions::cclabel
