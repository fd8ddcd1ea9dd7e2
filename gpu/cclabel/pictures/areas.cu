// Areas of all regions, and what depends on them: regions too small or too large lose their label,
// and those that no seed chose; holes small enough are filled.
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/cclabel/pictures/words.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = MeasureBlock::threads;
constexpr int kMaxComponents = BinaryTile::runs;
static_assert(kMaxComponents == LinkedTile::runs);

// The region of component `c`, also before number_regions has flattened the forest.
__device__ uint32_t region_of_component(const Tiles& tiles, const TilePlace& place, int c,
                                        int border) {
  uint32_t node = root_of_component(tiles, place, c, border);
  while (c < border && tiles.parent[node] != node) node = tiles.parent[node];
  return node;
}

// Whether component `c` holds its region's first pixel; `id` is its own.
__device__ bool is_region(const Tiles& tiles, int c, int border, uint32_t id) {
  return c >= border || tiles.parent[id] == id;
}

__device__ uint32_t id_of_component(const Tiles& tiles, const TilePlace& place, int c) {
  return place.id(tiles, tiles.first[static_cast<size_t>(place.tile) * tiles.capacity + c]);
}

template <class F>
__device__ void for_each_component(const TileCount& count, F f) {
  for (int c = static_cast<int>(threadIdx.x); c < count.components; c += kThreads) f(c);
}

__global__ void clear_areas_kernel(Tiles tiles, Areas areas) {
  if (!areas.wanted(tiles.total)) return;
  const TilePlace place = place_of_block(tiles);
  const TileCount count = tiles.count[place.tile];
  for_each_component(count, [&](int c) {
    const uint32_t id = id_of_component(tiles, place, c);
    if (is_region(tiles, c, count.border, id)) areas.of[id] = 0;
  });
}

__global__ __launch_bounds__(kThreads) void measure_areas_kernel(Tiles tiles, Areas areas) {
  __shared__ uint32_t area[kMaxComponents];
  if (!areas.wanted(tiles.total)) return;
  const TilePlace place = place_of_block(tiles);
  const TileCount count = tiles.count[place.tile];
  for_each_component(count, [&](int c) { area[c] = 0; });
  __syncthreads();  // areas are clear
  const int lane = static_cast<int>(threadIdx.x % 32);
  const uint16_t* component_of = tiles.component + static_cast<size_t>(place.tile) * tiles.capacity;
  for_each_word<kThreads>(tiles, place, [&](const Word& word, int, int) {
    if (!word.has(lane) || !word.ends_at(lane)) return;
    const auto length = static_cast<uint32_t>(lane - word.begin_of(lane) + 1);
    atomicAdd(&area[component_of[word.run_at(lane)]], length);
  });
  __syncthreads();  // areas are complete
  for_each_component(count, [&](int c) {
    atomicAdd(&areas.of[region_of_component(tiles, place, c, count.border)], area[c]);
  });
}

// Sets the area of the region of pixel (x, y), where there is one.
__device__ void set_area_at(const Tiles& tiles, const Areas& areas, int x, int y, uint32_t area) {
  const int column = x / tiles.width, row = y / tiles.height;
  const TilePlace place{column, row, row * tiles.columns + column, column * tiles.width,
                        row * tiles.height};
  const int bit = x % 32;
  const Word word =
      word_of(tiles, place.tile, (y - place.y) * (tiles.width / 32) + (x - place.x) / 32);
  if (!word.has(bit)) return;
  const size_t at = static_cast<size_t>(place.tile) * tiles.capacity + word.run_at(bit);
  const int c = tiles.component[at];
  areas.of[region_of_component(tiles, place, c, tiles.count[place.tile].border)] = area;
}

// A region with a pixel on the picture's edge encloses nothing: it gets an area beyond all.
__global__ void open_regions_kernel(Tiles tiles, Areas areas) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int width = tiles.size.width, height = tiles.size.height;
  if (i >= 2 * (width + height)) return;
  const int k = i < 2 * width ? i / 2 : (i - 2 * width) / 2;
  const int x = i < 2 * width ? k : i % 2 * (width - 1);
  const int y = i < 2 * width ? i % 2 * (height - 1) : k;
  set_area_at(tiles, areas, x, y, UINT32_MAX);
}

__global__ void choose_regions_kernel(Tiles tiles, Areas areas, Seeds seeds) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < seeds.count) set_area_at(tiles, areas, seeds.x[i], seeds.y[i], 1);
}

template <class Keep>
__global__ void drop_regions_kernel(Tiles tiles, Areas areas, Keep keep) {
  if (!areas.wanted(tiles.total)) return;
  const TilePlace place = place_of_block(tiles);
  const TileCount count = tiles.count[place.tile];
  for_each_component(count, [&](int c) {
    const uint32_t id = id_of_component(tiles, place, c);
    if (!is_region(tiles, c, count.border, id) || keep(id, areas.of[id])) return;
    // Every region is dropped by one thread, so the count is exact whatever the order; an earlier
    // rule may have dropped it before.
    const uint32_t bit = 1u << (id & 31);
    if (atomicAnd(tiles.firsts + (id >> 5), ~bit) & bit) atomicSub(tiles.regions + place.tile, 1u);
  });
}

struct AreaWithin {
  uint32_t least, most;
  __device__ bool operator()(uint32_t, uint32_t area) const {
    return area >= least && area <= most;
  }
};

struct AmongLargest {
  Areas areas;
  const Selection* selection;
  __device__ bool operator()(uint32_t id, uint32_t area) const {
    return key_of_region(areas, id, area) >= selection->least_key;
  }
};

// Foreground, and the regions of the complement that are small enough, as bits.
__global__ __launch_bounds__(kThreads) void fill_holes_kernel(Tiles tiles, Areas areas,
                                                              uint32_t most, uint32_t* bits) {
  __shared__ uint32_t filled[kMaxComponents];
  const TilePlace place = place_of_block(tiles);
  const TileCount count = tiles.count[place.tile];
  for_each_component(count, [&](int c) {
    filled[c] = areas.of[region_of_component(tiles, place, c, count.border)] <= most;
  });
  __syncthreads();  // what is filled is known
  const int lane = static_cast<int>(threadIdx.x % 32), words = tiles.width / 32;
  const uint16_t* component_of = tiles.component + static_cast<size_t>(place.tile) * tiles.capacity;
  const int warps = kThreads / 32;
  for (int w = static_cast<int>(threadIdx.x / 32); w < words * tiles.height; w += warps) {
    const int y = place.y + w / words;
    if (y >= tiles.size.height) break;
    const Word word = word_of(tiles, place.tile, w);  // of the complement
    const bool is_set = !word.has(lane) || filled[component_of[word.run_at(lane)]];
    const uint32_t set = __ballot_sync(kAllLanes, is_set);
    const size_t at = static_cast<size_t>(y) * (tiles.stride / 32) + place.x / 32 + w % words;
    if (lane == 0) bits[at] = set;
  }
}

dim3 grid_of(const Tiles& tiles) {
  return {static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows)};
}

}  // namespace

void measure_areas(const Tiles& tiles, const Areas& areas, cudaStream_t stream) {
  launch(clear_areas_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas);
  launch(measure_areas_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas);
}

void drop_by_area(const Tiles& tiles, const Areas& areas, uint32_t least, uint32_t most,
                  cudaStream_t stream) {
  launch(drop_regions_kernel<AreaWithin>, grid_of(tiles), kThreads, 0, stream, tiles, areas,
         AreaWithin{least, most});
}

void keep_chosen(const Tiles& tiles, const Areas& areas, const Seeds& seeds, cudaStream_t stream) {
  launch(clear_areas_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas);
  launch(choose_regions_kernel, 1, Seeds::kMax, 0, stream, tiles, areas, seeds);
  launch(drop_regions_kernel<AreaWithin>, grid_of(tiles), kThreads, 0, stream, tiles, areas,
         AreaWithin{1, UINT32_MAX});
}

void keep_largest(const Tiles& tiles, const Areas& areas, const Selection* selection,
                  cudaStream_t stream) {
  launch(drop_regions_kernel<AmongLargest>, grid_of(tiles), kThreads, 0, stream, tiles, areas,
         AmongLargest{areas, selection});
}

void fill_holes(const Tiles& tiles, const Areas& areas, uint32_t most, uint32_t* bits,
                cudaStream_t stream) {
  const size_t edge = 2 * (static_cast<size_t>(tiles.size.width) + tiles.size.height);
  launch(open_regions_kernel, blocks_for(edge, kThreads), kThreads, 0, stream, tiles, areas);
  launch(fill_holes_kernel, grid_of(tiles), kThreads, 0, stream, tiles, areas, most, bits);
}

}  // namespace regions::cclabel
