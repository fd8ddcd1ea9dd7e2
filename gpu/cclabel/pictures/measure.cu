// Measures regions: sums of each component in shared memory, then one flush a tile and component;
// only components that reach another tile need global atomics. No atomic per pixel anywhere.
#include "gpu/cclabel/base/color_words.hpp"
#include "gpu/cclabel/base/picture_sums.hpp"
#include "gpu/cclabel/pictures/phases.hpp"
#include "gpu/cclabel/pictures/tuning.hpp"
#include "gpu/cclabel/pictures/words.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/runtime/chain.hpp"

namespace regions::cclabel {
namespace {

// Sums over a tile's pixels in its own coordinates: 2^15 pixels of 16 bits fit.
template <int kComponents>
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

// What a lane adds: some pixels of one row.
struct Piece {
  uint32_t area, x, y, left, right, bottom;
  uint32_t value[3];
};

// Integer sums, minima and maxima: the order of the additions does not matter.
template <class Sums>
__device__ void add(Sums& sums, int c, const Piece& piece, int channels) {
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

// Adds a piece of each lane (component < 0: none) after summing up, within the warp, those of the
// component that most lanes are likely to have; else they would all queue for its sums.
template <class Sums>
__device__ void add_together(Sums& sums, int component, const Piece& piece, int channels) {
  const uint32_t members = __ballot_sync(kAllLanes, component >= 0);
  if (!members) return;
  const int leader = __ffs(static_cast<int>(members)) - 1;
  const int common = __shfl_sync(kAllLanes, component, leader);
  const bool joins = component == common;
  if (__popc(__ballot_sync(kAllLanes, joins)) >= kMinJoined) {
    Piece joined;
    joined.area = warp_sum(joins ? piece.area : 0);
    joined.x = warp_sum(joins ? piece.x : 0);
    joined.y = warp_sum(joins ? piece.y : 0);
    joined.left = warp_min(joins ? piece.left : kNone);
    joined.right = warp_max(joins ? piece.right : 0);
    joined.bottom = warp_max(joins ? piece.bottom : 0);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      joined.value[k] = k < channels ? warp_sum(joins ? piece.value[k] : 0) : 0;
    }
    if (static_cast<int>(threadIdx.x % 32) == leader) add(sums, common, joined, channels);
    if (joins) component = -1;
  }
  if (component >= 0) add(sums, component, piece, channels);
  __syncwarp();
}

constexpr uint16_t kUnwanted = 0xffff;

// What the block keeps of its tile, of so many components at once.
template <int kComponents>
struct TileSums {
  ComponentSums<kComponents> sums;
  uint16_t component[BinaryTile::runs];  // of each run, from the first one that is summed now
};

// The word of a thread, if it has one, with its colours; or its half, if there are twice as many
// threads.
template <int kThreads, class Values>
struct OwnWord {
  Word word = {};
  typename Values::Word colors = {};
  int x = 0;  // of its first pixel, in the tile
  uint32_t row = 0;

  __device__ OwnWord(const Tiles& tiles, const TilePlace& place) {
    constexpr int kShares = kThreads / BinaryTile::all_words;
    static_assert(kShares >= 1 && kShares <= 2 && LinkedTile::all_words <= BinaryTile::all_words);
    const int words = tiles.width / 32, w = static_cast<int>(threadIdx.x) / kShares;
    if (w >= words * tiles.height) return;
    x = w % words * 32;
    row = static_cast<uint32_t>(w / words);
    word = word_of(tiles, place.tile, w);
    if (kShares == 2) word.foreground &= threadIdx.x % 2 ? 0xffff0000u : 0x0000ffffu;
  }
  __device__ void load_colors(const TilePlace& place, const Values& values) {
    if (word.foreground) colors = values.load(place.x + x, place.y + static_cast<int>(row));
  }
};

// Sums a word a lane, run by run.
template <int kComponents, int kThreads, class Values>
__device__ void sum_words(TileSums<kComponents>& s, const OwnWord<kThreads, Values>& own,
                          const TilePlace& place, const Values& values) {
  const int y = place.y + static_cast<int>(own.row);
  uint32_t left = own.word.foreground;
  while (__any_sync(kAllLanes, left != 0)) {
    int component = -1;
    Piece piece = {};
    if (left) {
      const int b = __ffs(static_cast<int>(left)) - 1;
      const uint32_t mask = own.word.rest_of_run(b);
      left &= ~mask;
      const uint16_t found = s.component[own.word.run_at(b)];
      if (found != kUnwanted) {
        component = found;
        piece.area = static_cast<uint32_t>(__popc(mask));
        piece.left = static_cast<uint32_t>(own.x + b);
        piece.right = piece.left + piece.area - 1;
        piece.x = (piece.left + piece.right) * piece.area / 2;
        piece.y = own.row * piece.area;
        piece.bottom = own.row;
        values.sum(own.colors, place.x + own.x, y, mask, piece.value);
      }
    }
    add_together(s.sums, component, piece, values.channels);
  }
}

// What a region's record says of its first pixel, if component `c` holds that.
__device__ void write_first(const Tiles& tiles, const TilePlace& place, int c, bool is_border,
                            uint32_t label, Region& record) {
  const int local = tiles.first[static_cast<size_t>(place.tile) * tiles.capacity + c];
  const uint32_t id = place.id(tiles, local);
  if (is_border && tiles.parent[id] != id) return;
  record.id = record.track = label;
  record.first_x = place.x + (local & (tiles.width - 1));
  record.first_y = record.top = place.y + (local >> tiles.width_bits);
}

// The sums of a component that lies in this tile alone are its region's.
template <class Sums>
__device__ void flush_inner(const Sums& sums, const TilePlace& place, int c, Region& record) {
  const uint64_t area = sums.area[c];
  record.left = place.x + static_cast<int>(sums.left[c]);
  record.right = place.x + static_cast<int>(sums.right[c]);
  record.bottom = place.y + static_cast<int>(sums.bottom[c]);
  record.area = area;
  record.sum_x = sums.x[c] + area * static_cast<uint32_t>(place.x);
  record.sum_y = sums.y[c] + area * static_cast<uint32_t>(place.y);
  for (int k = 0; k < 3; ++k) record.sum_value[k] = sums.value[k][c];
}

// Adds the sums of 32 components, a lane each, to the records of their labels (0: none). Those of
// one region are added up first: a maze has a hundred in a tile.
template <class Sums>
__device__ void flush_border(const Sums& sums, const TilePlace& place, int c, uint32_t label,
                             Region* records) {
  const auto px = static_cast<uint32_t>(place.x), py = static_cast<uint32_t>(place.y);
  uint32_t pending = __ballot_sync(kAllLanes, label != 0);
  while (pending) {
    const int leader = __ffs(static_cast<int>(pending)) - 1;
    const uint32_t common = __shfl_sync(kAllLanes, label, leader);
    const bool joins = label == common;
    pending &= ~__ballot_sync(kAllLanes, joins);
    const uint64_t area = warp_sum(joins ? sums.area[c] : 0);
    const uint32_t x = warp_sum(joins ? sums.x[c] : 0), y = warp_sum(joins ? sums.y[c] : 0);
    const uint32_t left = warp_min(joins ? sums.left[c] : kNone);
    const uint32_t right = warp_max(joins ? sums.right[c] : 0);
    const uint32_t bottom = warp_max(joins ? sums.bottom[c] : 0);
    uint32_t value[3];
    for (int k = 0; k < 3; ++k) value[k] = warp_sum(joins ? sums.value[k][c] : 0);
    if (static_cast<int>(threadIdx.x % 32) != leader) continue;
    const PictureSums of_region{area,
                                x + area * px,
                                y + area * py,
                                static_cast<int>(left + px),
                                static_cast<int>(right + px),
                                static_cast<int>(bottom + py),
                                {value[0], value[1], value[2]}};
    add(of_region, records[common - 1]);
  }
}

// Brings the sums of components first..first + count - 1 to their regions' records.
template <int kThreads, class Sums>
__device__ void flush(const Sums& sums, const Tiles& tiles, const TilePlace& place, int first,
                      int count, int border, Region* records) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int start = static_cast<int>(threadIdx.x) - lane; start < count; start += kThreads) {
    const int c = min(start + lane, count - 1);
    const bool is_border = first + c < border;
    const uint32_t label = start + lane < count ? sums.label[c] : 0;
    if (label) {
      Region& record = records[label - 1];
      write_first(tiles, place, first + c, is_border, label, record);
      if (!is_border) flush_inner(sums, place, c, record);
    }
    __syncwarp();
    flush_border(sums, place, c, is_border ? label : 0, records);
  }
}

template <class Block, class Values>
__global__ __launch_bounds__(Block::threads,
                             Block::together) void measure_kernel(Tiles tiles, Values values,
                                                                  Region* records,
                                                                  uint32_t capacity) {
  constexpr int kComponents = Block::components, kThreads = Block::threads;
  __shared__ TileSums<kComponents> s;
  const TilePlace place = place_of_block(tiles);
  // What label_tiles wrote is read while regions are numbered.
  const TileCount all = tiles.count[place.tile];
  const uint16_t* component_of = tiles.component + static_cast<size_t>(place.tile) * tiles.capacity;
  OwnWord<kThreads, Values> own(tiles, place);
  if (Block::loads_early) own.load_colors(place, values);
  const int me = static_cast<int>(threadIdx.x);
  wait_then_let_start();
  for (int first = 0; first < all.components; first += kComponents) {
    const int count = min(kComponents, all.components - first);
    bool any = false;
    for (int c = me; c < count; c += kThreads) {
      const uint32_t root = root_of_component(tiles, place, first + c, all.border);
      const uint32_t label = label_of_root(tiles, root);
      s.sums.label[c] = label <= capacity ? label : 0;
      s.sums.clear(c);
      any = any || s.sums.label[c];
    }
    if (!__syncthreads_or(any)) continue;  // the sums are clear, their labels known
    if (!Block::loads_early) own.load_colors(place, values);
    for (int r = me; r < all.runs; r += kThreads) {
      const int c = component_of[r] - first;
      const bool wanted = c >= 0 && c < count && s.sums.label[c];
      s.component[r] = wanted ? static_cast<uint16_t>(c) : kUnwanted;
    }
    __syncthreads();  // runs know their components
    sum_words(s, own, place, values);
    __syncthreads();  // the sums are complete
    flush<kThreads>(s.sums, tiles, place, first, count, all.border, records);
    __syncthreads();  // the sums may be cleared again
  }
}

}  // namespace

void measure_regions(const Tiles& tiles, const ConstFrame& frame, const Records& records,
                     cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(tiles.columns), static_cast<unsigned>(tiles.rows));
  const auto measure = [&]<class Values>(const Values& values, auto few, auto many) {
    const auto go = [&]<class Block>(Block) {
      launch_chained(measure_kernel<Block, Values>, grid, Block::threads, 0, stream, tiles, values,
                     records.region, records.capacity);
    };
    tiles.are_few() ? go(few) : go(many);
  };
  if (ByteValues::can_read(frame)) {
    measure(ByteValues(frame), MeasureBlock(), MeasureBlockOfMany());
  } else if (ColorWords::can_read(frame)) {
    measure(ColorWords(frame), MeasureBlock(), ColorBlockOfMany());
  } else {
    measure(SampleValues(frame), SampleBlock(), MeasureBlockOfMany());
  }
}

}  // namespace regions::cclabel
