// Final labels: pieces that are left, counted by their first pixels in raster order. No block waits
// for another: each adds up the rows of the picture.
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/phases.hpp"
#include "gpu/slicsuperpixel/tuning.hpp"

namespace regions::slic {
namespace {

using T = PieceTile;
constexpr int kThreads = ComponentBlock::threads;

// Hangs components below their representatives, and marks and counts first pixels. How many
// components there are was known before joining began, whose first kernel is not in the chain.
__global__ __launch_bounds__(kThreads) void mark_kernel(Pieces pieces) {
  let_next_start();
  const TileOfBlock tile(pieces);
  wait_for_earlier();
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < tile.count; start += kThreads) {
    __syncwarp();  // ways up differ: lanes left to themselves would read one by one from then on
    if (start + lane >= tile.count) continue;
    const uint32_t id = tile.id(pieces, start + lane);
    const uint32_t first = pieces.first[id];  // while the root is looked for
    const uint32_t root = pieces.find(id);
    if (root != id) {
      pieces.parent[id] = root;  // others only come to the same end sooner
      continue;
    }
    const auto stride = static_cast<uint32_t>(pieces.stride);
    const uint32_t y = first / stride, column = first % stride / T::width;
    atomicOr(pieces.firsts + first / 32, 1u << first % 32);
    atomicAdd(pieces.tile_firsts + (y * pieces.firsts_pitch() + column) / 4,
              1u << 8 * (column % 4));
    atomicAdd(pieces.row_firsts + y, 1u);
  }
}

// The number of first pixels before `first` in its row.
__device__ uint32_t before_in_row(const Pieces& pieces, uint32_t first, uint32_t y) {
  const uint32_t x = first - y * static_cast<uint32_t>(pieces.stride);
  const uint2 words = *reinterpret_cast<const uint2*>(pieces.firsts + (first - x % T::width) / 32);
  const uint32_t mask = below(static_cast<int>(x % 32));
  auto count = static_cast<uint32_t>(x % T::width < 32 ? __popc(words.x & mask)
                                                       : __popc(words.x) + __popc(words.y & mask));
  const uint32_t* const tiles = pieces.tile_firsts + y * pieces.firsts_pitch() / 4;
  const uint32_t column = x / T::width;
  for (uint32_t word = 0; word <= column / 4; word += 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(tiles + word);
    const uint32_t counts[] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (uint32_t j = 0; j < 4; ++j) {
      const uint32_t at = 4 * (word + j);  // of the word's first tile
      const uint32_t kept = at >= column       ? 0
                            : column - at >= 4 ? counts[j]
                                               : counts[j] & ((1u << 8 * (column - at)) - 1);
      count = __dp4a(kept, 0x01010101u, count);
    }
  }
  return count;
}

// First pixels in earlier rows of the picture, for every (1 << shift)th row: as many as shared
// memory has room for.
struct EarlierRows {
  static constexpr int kMax = 4096, kBatch = 8;
  uint32_t* before;        // of rows, those in a thread's share alone
  uint32_t* before_batch;  // of threads' shares
  int shift;

  __device__ EarlierRows(const Pieces& pieces, uint32_t* room)
      : before(room + kMax / kBatch), before_batch(room), shift(shift_for(pieces)) {}
  static REGIONS_HD int shift_for(const Pieces& pieces) {
    int shift = 0;
    while (pieces.size.height > kMax << shift) ++shift;
    return shift;
  }
  static size_t bytes(const Pieces& pieces) {
    return ((static_cast<size_t>(pieces.size.height) >> shift_for(pieces)) + 1 + kMax / kBatch) *
           sizeof(uint32_t);
  }
  __device__ uint32_t before_row(const Pieces& pieces, uint32_t y) const {
    uint32_t sum = before[y >> shift] + before_batch[(y >> shift) / kBatch];
    for (uint32_t row = y >> shift << shift; row < y; ++row) sum += pieces.row_firsts[row];
    return sum;
  }
  // First pixels in the rows of `entry` and the ones after it.
  template <int kCount>
  __device__ void fetch(const Pieces& pieces, int entry, uint32_t (&count)[kCount]) const {
    const int height = pieces.size.height;
#pragma unroll
    for (int k = 0; k < kCount; k += 4) {
      if (shift == 0 && entry + k < height) {  // there is room for a multiple of four
        const uint4 four = *reinterpret_cast<const uint4*>(pieces.row_firsts + entry + k);
        const uint32_t counts[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) count[k + j] = entry + k + j < height ? counts[j] : 0;
      }
    }
    if (shift == 0) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      for (int row = (entry + k) << shift; row < min((entry + k + 1) << shift, height); ++row) {
        count[k] += pieces.row_firsts[row];
      }
    }
  }
  // All threads of the block, each a share of the rows. Ends with a barrier. Calls meanwhile() when
  // rows have been fetched, for what waits for memory, too.
  template <class Meanwhile>
  __device__ void add_up(const Pieces& pieces, uint32_t (&warp_firsts)[T::threads / 32],
                         Meanwhile meanwhile) {
    constexpr int kWarps = T::threads / 32;
    const int height = pieces.size.height, warp = static_cast<int>(threadIdx.x / 32);
    uint32_t earlier = 0;
    for (int start = 0; start << shift < height; start += kBatch * T::threads) {
      const int entry = start + kBatch * static_cast<int>(threadIdx.x);
      uint32_t own = 0;
      {
        uint32_t count[kBatch] = {};
        fetch(pieces, entry, count);
#pragma unroll
        for (int k = 0; k < kBatch; ++k) {
          if ((entry + k) << shift < height) before[entry + k] = own;
          own += count[k];
        }
      }
      if (start == 0) meanwhile();
      const uint32_t up_to_own = warp_prefix_sum(own);
      if (start > 0) __syncthreads();  // the last sums are read
      if (threadIdx.x % 32 == 31) warp_firsts[warp] = up_to_own;
      __syncthreads();  // all warps have left theirs
      uint32_t sum = earlier + up_to_own - own;
#pragma unroll
      for (int w = 0; w < kWarps; ++w) {
        if (w < warp) sum += warp_firsts[w];
        earlier += warp_firsts[w];
      }
      if (entry << shift < height) before_batch[entry / kBatch] = sum;
    }
    __syncthreads();  // all rows are known
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *pieces.total = earlier;
  }
};

// The pieces of a tile of many components, as noise has: each is looked up once.
struct Roots {
  static constexpr uint32_t kPlaces = 512, kProbes = 8, kNone = UINT32_MAX;  // kNone is no id
  uint32_t key[kPlaces];
  uint32_t label[kPlaces];

  // Writes the place of each component's root to place[]. False if there are too many. All threads
  // of the block.
  template <class RootOf>
  __device__ bool list(uint32_t count, RootOf root_of, uint32_t* place) {
    for (uint32_t i = threadIdx.x; i < kPlaces; i += T::threads) key[i] = kNone;
    __syncthreads();  // all places are free
    bool is_full = false;
    for (uint32_t i = threadIdx.x; i < count && !is_full; i += T::threads) {
      const uint32_t root = root_of(i);
      uint32_t at = root * 0x9E3779B1u / (UINT32_MAX / kPlaces + 1), probe = 0;
      for (; probe < kProbes; ++probe, at = (at + 1) % kPlaces) {
        const uint32_t seen = atomicCAS(key + at, kNone, root);
        if (seen == kNone || seen == root) break;
      }
      is_full = probe == kProbes;
      place[i] = at;
    }
    return !__syncthreads_or(is_full);
  }
  template <class LabelOf>
  __device__ void look_up(LabelOf label_of) {
    for (uint32_t i = threadIdx.x; i < kPlaces; i += T::threads) {
      if (key[i] != kNone) label[i] = label_of(key[i]);
    }
    __syncthreads();  // all labels are known
  }
};

// Writes the labels of four pixels in a row, as far as they are inside.
__device__ void write_four(const LabelMap& to, bool aligned, int x, int y,
                           const uint32_t (&label)[T::pixels], const ushort4& component) {
  if (x >= to.width || y >= to.height) return;
  if (aligned && x + 4 <= to.width) {
    *reinterpret_cast<uint4*>(to.row(y) + x) = {label[component.x], label[component.y],
                                                label[component.z], label[component.w]};
    return;
  }
  const uint16_t inside[4] = {component.x, component.y, component.z, component.w};
  for (int j = 0; j < 4 && x + j < to.width; ++j) to(x + j, y) = label[inside[j]];
}

// Reads components while first pixels are still being marked.
__global__ __launch_bounds__(T::threads) void write_kernel(Pieces pieces, LabelMap to,
                                                           bool aligned) {
  __shared__ uint32_t label[T::pixels];  // of components
  __shared__ uint32_t warp_firsts[T::threads / 32];
  __shared__ Roots roots;
  extern __shared__ uint32_t before[];
  let_next_start();
  const TileOfBlock tile(pieces);
  // Four pixels at a time; rows begin at multiples of 64, so the components are aligned.
  constexpr int kFours = T::pixels / 4 / T::threads;
  const int own = static_cast<int>(threadIdx.x);
  static_assert(T::threads % (T::width / 4) == 0);
  const int x = tile.left + own % (T::width / 4) * 4;
  const auto y_of = [&](int k) { return tile.top + (k * T::threads + own) / (T::width / 4); };
  ushort4 four[kFours];
#pragma unroll
  for (int k = 0; k < kFours; ++k) {
    if (y_of(k) >= to.height) continue;
    four[k] = *reinterpret_cast<const ushort4*>(pieces.component + pieces.pixel_at(x, y_of(k)));
  }
  wait_for_earlier();
  const auto root_of = [&](uint32_t i) { return pieces.parent[tile.id(pieces, i)]; };
  const bool is_small = tile.count <= T::threads;
  // Of the piece of the component of this thread's number: the first pixel's row, and the label
  // counted from there.
  uint32_t first_row = 0, in_row = 0;
  const bool has_own = is_small && threadIdx.x < tile.count;
  const uint32_t root = has_own ? root_of(threadIdx.x) : 0;
  EarlierRows rows(pieces, before);
  rows.add_up(pieces, warp_firsts, [&] {
    if (!has_own) return;
    const uint32_t first = pieces.first[root];
    first_row = first / static_cast<uint32_t>(pieces.stride);
    in_row = before_in_row(pieces, first, first_row) + 1;
  });
  const auto label_of = [&](uint32_t first) {
    const uint32_t y = first / static_cast<uint32_t>(pieces.stride);
    return rows.before_row(pieces, y) + before_in_row(pieces, first, y) + 1;
  };
  if (is_small) {
    if (threadIdx.x < tile.count) {
      label[threadIdx.x] = rows.before_row(pieces, first_row) + in_row;
    }
  } else if (!roots.list(tile.count, root_of, label)) {
    for (uint32_t i = threadIdx.x; i < tile.count; i += T::threads) {
      label[i] = label_of(pieces.first[root_of(i)]);
    }
  } else {
    roots.look_up([&](uint32_t root) { return label_of(pieces.first[root]); });
    for (uint32_t i = threadIdx.x; i < tile.count; i += T::threads)
      label[i] = roots.label[label[i]];
  }
  __syncthreads();  // all components have their labels
#pragma unroll
  for (int k = 0; k < kFours; ++k) write_four(to, aligned, x, y_of(k), label, four[k]);
}

}  // namespace

void number_labels(const Pieces& pieces, LabelMap labels, cudaStream_t stream) {
  launch_chained(mark_kernel, tile_grid(pieces), kThreads, 0, stream, pieces);
  const auto address = reinterpret_cast<uintptr_t>(labels.data);
  const bool aligned = (address | static_cast<uintptr_t>(labels.pitch)) % 16 == 0;
  launch_chained(write_kernel, tile_grid(pieces), T::threads, EarlierRows::bytes(pieces), stream,
                 pieces, labels, aligned);
}

}  // namespace regions::slic
