// Measures regions: sums of each component in shared memory, then one flush a tile and component;
// only components that reach another tile need global atomics. No atomic per pixel anywhere.
#include "gpu/cclabel/phases.hpp"
#include "gpu/cclabel/tuning.hpp"
#include "gpu/cclabel/warp.hpp"
#include "gpu/cclabel/words.hpp"

namespace regions::cclabel {
namespace {

constexpr int kThreads = MeasureBlock::threads;
constexpr int kComponents = MeasureBlock::components;

// Sums over a tile's pixels in its own coordinates: 2^15 pixels of 16 bits fit.
struct ComponentSums {
  uint32_t label[kComponents];  // 0: no record wanted
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

struct Piece {
  uint32_t area, x, y, left, right, bottom;
  uint32_t value[3];
};

// Integer sums, minima and maxima: the order of the additions does not matter.
__device__ void add(ComponentSums& sums, int c, const Piece& piece, int channels) {
  atomicAdd(&sums.area[c], piece.area);
  atomicAdd(&sums.x[c], piece.x);
  atomicAdd(&sums.y[c], piece.y);
  if (piece.left < sums.left[c]) atomicMin(&sums.left[c], piece.left);
  if (piece.right > sums.right[c]) atomicMax(&sums.right[c], piece.right);
  if (piece.bottom > sums.bottom[c]) atomicMax(&sums.bottom[c], piece.bottom);
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    if (k < channels) atomicAdd(&sums.value[k][c], piece.value[k]);
  }
}

// The colour of the pixel that a lane has in a column of words.
struct ColumnReader {
  const ConstFrame& frame;
  int x;

  __device__ uint32_t operator()(int channel, int y) const {
    return static_cast<uint32_t>(frame.sample(channel, x, y));
  }
};

// Words whose pixels all belong to one component, summed by each lane for itself until another
// component comes.
struct HeldSums {
  int component = -1;
  uint32_t rows = 0, y = 0, bottom = 0;
  uint32_t value[3] = {};

  __device__ void flush(ComponentSums& sums, uint32_t x, int channels) {
    if (component < 0) return;
    Piece piece;
    piece.area = warp_sum(rows);
    piece.x = warp_sum(rows * x);
    piece.y = warp_sum(y);
    piece.left = warp_min(rows ? x : kNone);
    piece.right = warp_max(rows ? x : 0);
    piece.bottom = bottom;
#pragma unroll
    for (int k = 0; k < 3; ++k) piece.value[k] = k < channels ? warp_sum(value[k]) : 0;
    if (threadIdx.x % 32 == 0) add(sums, component, piece, channels);
    *this = {};
  }
};

// A word with several components: its runs are summed by differences of a prefix sum.
__device__ void add_runs(ComponentSums& sums, const Word& word, int component, uint32_t x,
                         uint32_t y, const uint32_t (&value)[3], int channels) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int begin = word.begin_of(lane);
  Piece piece;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    if (k >= channels) continue;
    const uint32_t prefix = warp_prefix_sum(value[k]);
    const uint32_t earlier = __shfl_sync(kAllLanes, prefix, begin > 0 ? begin - 1 : 0);
    piece.value[k] = prefix - (begin > 0 ? earlier : 0);
  }
  if (component < 0 || !word.ends_at(lane)) return;
  const auto length = static_cast<uint32_t>(lane - begin + 1);
  piece.area = length;
  piece.left = x - (length - 1);
  piece.right = x;
  piece.x = (piece.left + piece.right) * length / 2;
  piece.y = y * length;
  piece.bottom = y;
  add(sums, component, piece, channels);
}

// Sums the components first..first + count - 1 of the tile.
__device__ void sum_words(ComponentSums& sums, const Tiles& tiles, const TilePlace& place,
                          const ConstFrame& frame, int first, int count) {
  const int lane = static_cast<int>(threadIdx.x % 32), channels = frame.layout.channels;
  const uint16_t* component_of = tiles.component + static_cast<size_t>(place.tile) * tiles.capacity;
  HeldSums held;
  uint32_t held_x = 0;
  for_each_word<kThreads>(tiles, place, [&](const Word& word, int column, int row) {
    const auto x = static_cast<uint32_t>(column * 32 + lane);
    held_x = x;  // one column a warp
    int component = word.has(lane) ? component_of[word.run_at(lane)] - first : -1;
    if (component >= count || component < 0 || !sums.label[component]) component = -1;
    const uint32_t members = __ballot_sync(kAllLanes, component >= 0);
    if (!members) return;
    uint32_t value[3];
    const ColumnReader color{frame, place.x + static_cast<int>(x)};
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      value[k] = k < channels && component >= 0 ? color(k, place.y + row) : 0;
    }
    const int leader = __shfl_sync(kAllLanes, component, __ffs(static_cast<int>(members)) - 1);
    if (__ballot_sync(kAllLanes, component == leader) != members) {
      add_runs(sums, word, component, x, static_cast<uint32_t>(row), value, channels);
      return;
    }
    if (held.component != leader) held.flush(sums, x, channels);
    held.component = leader;
    if (component >= 0) {
      held.rows += 1;
      held.y += static_cast<uint32_t>(row);
    }
    held.bottom = static_cast<uint32_t>(row);
#pragma unroll
    for (int k = 0; k < 3; ++k) held.value[k] += value[k];
  });
  held.flush(sums, held_x, channels);
}

__device__ void add64(uint64_t& sum, uint64_t value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&sum), static_cast<unsigned long long>(value));
}

// Brings a component's sums to its region's record.
__device__ void flush(const ComponentSums& sums, const Tiles& tiles, const TilePlace& place, int c,
                      int component, bool is_border, Region* records) {
  Region& record = records[sums.label[c] - 1];
  const auto px = static_cast<uint32_t>(place.x), py = static_cast<uint32_t>(place.y);
  const uint64_t area = sums.area[c];
  const uint64_t sum_x = sums.x[c] + area * px, sum_y = sums.y[c] + area * py;
  const auto left = static_cast<int>(sums.left[c] + px);
  const auto right = static_cast<int>(sums.right[c] + px);
  const auto bottom = static_cast<int>(sums.bottom[c] + py);
  const size_t at = static_cast<size_t>(place.tile) * tiles.capacity + component;
  const int local = tiles.first[at];
  const uint32_t id = place.id(tiles, local);
  if (!is_border || tiles.parent[id] == id) {  // the region's first pixel is here
    record.id = record.track = sums.label[c];
    record.first_x = place.x + local % tiles.width;
    record.first_y = record.top = place.y + local / tiles.width;
  }
  if (!is_border) {
    record.left = left;
    record.right = right;
    record.bottom = bottom;
    record.area = area;
    record.sum_x = sum_x;
    record.sum_y = sum_y;
    for (int k = 0; k < 3; ++k) record.sum_value[k] = sums.value[k][c];
    return;
  }
  atomicMin(&record.left, left);
  atomicMax(&record.right, right);
  atomicMax(&record.bottom, bottom);
  add64(record.area, area);
  add64(record.sum_x, sum_x);
  add64(record.sum_y, sum_y);
  for (int k = 0; k < 3; ++k) {
    if (sums.value[k][c]) add64(record.sum_value[k], sums.value[k][c]);
  }
}

__global__ __launch_bounds__(kThreads) void measure_kernel(Tiles tiles, ConstFrame frame,
                                                           Region* records, uint32_t capacity) {
  __shared__ ComponentSums sums;
  const TilePlace place = place_of_block(tiles);
  const TileCount all = tiles.count[place.tile];
  for (int first = 0; first < all.components; first += kComponents) {
    const int count = min(kComponents, all.components - first);
    bool any = false;
    for (int c = static_cast<int>(threadIdx.x); c < count; c += kThreads) {
      const uint32_t root = root_of_component(tiles, place, first + c, all.border);
      const uint32_t label = label_of_root(tiles, root);
      sums.label[c] = label <= capacity ? label : 0;
      sums.clear(c);
      any = any || sums.label[c];
    }
    if (!__syncthreads_or(any)) continue;  // the sums are clear
    sum_words(sums, tiles, place, frame, first, count);
    __syncthreads();  // the sums are complete
    for (int c = static_cast<int>(threadIdx.x); c < count; c += kThreads) {
      if (sums.label[c]) flush(sums, tiles, place, c, first + c, first + c < all.border, records);
    }
    __syncthreads();  // the sums may be cleared again
  }
}

__global__ void clear_records_kernel(Region* records, uint32_t capacity) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= capacity) return;
  Region region{};
  region.left = INT32_MAX;
  records[i] = region;
}

// Straight into pinned host memory: as many records as there are, which only the device knows.
__global__ void publish_kernel(Tiles tiles, const Region* records, RegionTable table) {
  static_assert(sizeof(Region) % sizeof(uint64_t) == 0);
  constexpr size_t kWords = sizeof(Region) / sizeof(uint64_t);
  const size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i == 0) *table.total = tiles.total[0];
  if (i >= min(tiles.total[1], table.capacity) * kWords) return;
  reinterpret_cast<uint64_t*>(table.regions)[i] = reinterpret_cast<const uint64_t*>(records)[i];
}

}  // namespace

void measure_regions(const Tiles& tiles, const ConstFrame& frame, Region* records,
                     uint32_t capacity, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  launch(clear_records_kernel, blocks_for(capacity, kThreads), kThreads, 0, stream, records,
         capacity);
  launch(measure_kernel, grid, kThreads, 0, stream, tiles, frame, records, capacity);
}

void publish_table(const Tiles& tiles, const Region* records, const RegionTable& table,
                   cudaStream_t stream) {
  const size_t words = static_cast<size_t>(table.capacity) * (sizeof(Region) / sizeof(uint64_t));
  launch(publish_kernel, blocks_for(words, kThreads), kThreads, 0, stream, tiles, records, table);
}

}  // namespace regions::cclabel
