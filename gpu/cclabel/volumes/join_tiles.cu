// Joins the tiles' components where nodes of different tiles touch, and gives each its root, if
// that is asked for.
#include "gpu/cclabel/base/divide_memory.hpp"
#include "gpu/cclabel/base/tuning.hpp"
#include "gpu/cclabel/volumes/phases.hpp"
#include "gpu/cclabel/volumes/rows.hpp"
#include "gpu/cclabel/volumes/seam.hpp"
#include "gpu/cclabel/volumes/slanted_seam.hpp"
#include "gpu/cclabel/volumes/straight_seam.hpp"
#include "gpu/cclabel/volumes/tuning.hpp"
#include "gpu/primitives/warp.hpp"

namespace regions::volumes {
namespace {

// Pairs of components that a tile touches at, each once as far as there is room to know it.
template <class Block>
struct Pairs {
  static constexpr uint32_t kMax = Block::pairs;
  static constexpr uint64_t kFree = ~0ull;
  unsigned long long seen[kMax];  // by hash
  unsigned long long list[kMax];
  uint32_t count;

  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < kMax; i += Block::threads) seen[i] = kFree;
    if (threadIdx.x == 0) count = 0;
  }
  // False if the list is full. The first pair to come gets the place; other pairs are listed
  // without one, at worst more than once.
  __device__ bool add(uint64_t pair) {
    const auto hash = static_cast<uint32_t>((pair ^ pair >> 29) * 0x9e3779b97f4a7c15ull >> 40);
    if (atomicCAS(&seen[hash % kMax], kFree, pair) == pair) return true;
    const uint32_t place = atomicAdd(&count, 1u);
    if (place < kMax) list[place] = pair;
    return place < kMax;
  }
  __device__ uint32_t size() const { return min(count, kMax); }
};

// How a tile changes the counts of regions, put together: neighbours share counts, and would queue
// for them. Sums have no order.
template <class Block>
struct Changes {
  static constexpr uint32_t kSums = Block::sums;  // the last ones up to the tile's
  uint32_t of_sum[kSums];
  uint32_t begin;

  // The whole block calls it, and meets before anything is added.
  __device__ void clear(const Volume& v, const TilePlace& place) {
    const int last = min(place.z + v.tile_slices, v.stack.slices) - 1;
    const uint32_t end = v.id_of(place.layer, v.words - 1, v.stack.slice.height - 1, last, 0) / 32 /
                         Firsts::kSumWords;
    if (threadIdx.x == 0) begin = end < kSums ? 0 : end - kSums + 1;
    for (uint32_t i = threadIdx.x; i < kSums; i += Block::threads) of_sum[i] = 0;
  }
  __device__ void add(const Volume& v, uint32_t word, uint32_t change) {
    const uint32_t sum = word / Firsts::kSumWords;
    atomicAdd(sum - begin < kSums ? of_sum + (sum - begin) : v.sums + sum, change);
  }
  // The whole block calls it.
  __device__ void flush(const Volume& v) const {
    __syncthreads();  // all is added
    for (uint32_t i = threadIdx.x; i < kSums; i += Block::threads) {
      if (of_sum[i]) atomicAdd(v.sums + begin + i, of_sum[i]);
    }
  }
};

// Joins two components, by their places, for each lane that wants it. A root that is lost
// takes its first voxel out of the regions'. The whole warp calls it.
template <class Block>
__device__ void join(const Volume& v, uint64_t pair, bool wanted, Changes<Block>& changes) {
  const Entry lost =
      unite(v.forest, static_cast<uint32_t>(pair >> 32), static_cast<uint32_t>(pair), wanted);
  if (lost == kNoEntry) return;
  const uint32_t id = id_of_entry(lost);
  atomicAnd(v.firsts + v.index_of_word(id / 32), ~(1u << id % 32));
  changes.add(v, id / 32, ~0u);
}

// The first voxels of components in a thread's rows, counted among the regions that start there.
template <class T, class Block>
struct BegunParts {
  static constexpr int threads = Block::threads, kTurns = T::words / threads;
  static_assert(T::words % threads == 0, "all threads have as many rows");
  uint32_t word[kTurns];  // of the rows
  uint32_t parts[kTurns];

  __device__ BegunParts(const Volume& v, const TilePlace& place) {
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
      const int i = k * threads + static_cast<int>(threadIdx.x);
      const int y = place.y + i % T::rows, z = place.z + i / T::rows;
      const bool exists = place.cls == 0 && y < v.stack.slice.height && z < v.stack.slices;
      word[k] = v.id_of(place.layer, place.w, y, z, 0) / 32;
      parts[k] = exists ? v.parts[v.index_of(v.stack.row({y, z, place.layer}), place.w)] : 0;
    }
  }
  __device__ void count(const Volume& v, Changes<Block>& changes) const {
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
      if (parts[k]) changes.add(v, word[k], static_cast<uint32_t>(__popc(parts[k])));
    }
  }
};

// Calls add(nodes, exists) by whole warps for all contacts of the tile with tiles before: lists
// them, as many at a time as there is room, so that a warp that looks them up waits once.
template <class T, Connectivity connectivity, class Block, class Space, class Add>
__device__ void find_contacts(const Space& space, uint32_t& count, const Add& add) {
  constexpr uint32_t kMax = Block::contacts;
  __shared__ uint2 list[kMax];
  const uint32_t lane = threadIdx.x % 32;
  SlantedSeam<T, connectivity, Space> seam(space);
  while (true) {
    seam.take(space, list, count);
    __syncthreads();  // the list is complete
    const uint32_t all = count, listed = min(all, kMax);
    for (uint32_t start = threadIdx.x - lane; start < listed; start += Block::threads) {
      const bool exists = start + lane < listed;
      add(exists ? list[start + lane] : uint2{}, exists);
    }
    if (all <= kMax) return;
    __syncthreads();  // no thread needs the list any more
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
  }
}

// The same where touches are straight.
template <class T, class Space, class Add>
__device__ void find_straight_contacts(const Space& space, uint32_t& count, const Add& add) {
  using Sides = StraightSeam<T, Space>;
  __shared__ uint2 list[Sides::kMax];
  Sides{space}.list(list, count);
  __syncthreads();  // the list is complete
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < count; start += blockDim.x) {
    const bool exists = start + lane < count;
    add(exists ? list[start + lane] : uint2{}, exists);
  }
}

// A block joins a tile and class to the tiles before: finds all contacts, and then joins each pair
// of components once.
template <class T, Connectivity connectivity, class Block>
__global__ __launch_bounds__(Block::threads, Block::blocks)  //
    void join_tiles_kernel(Volume v) {
  constexpr int kThreads = Block::threads;
  __shared__ Pairs<Block> pairs;
  __shared__ Changes<Block> changes;
  __shared__ uint32_t contacts;  // as far as counted
  using Space = Seam<T, connectivity, kThreads>;
  __shared__ Space space;
  const TilePlace place(v);
  pairs.clear();
  changes.clear(v, place);
  if (threadIdx.x == 0) contacts = 0;
  await_last();
  const BegunParts<T, Block> begun(v, place);  // on its way with the rest
  space.fetch(v, place);
  __syncthreads();  // nothing is seen or changed, the tile is there
  begun.count(v, changes);
  const auto lane = threadIdx.x % 32;
  const auto add = [&](const uint2& nodes, bool exists) {
    const uint32_t a = exists ? entry_of_node(v, nodes.x) : 0;
    const uint32_t b = exists ? entry_of_node(v, nodes.y) : 0;
    const uint64_t pair = static_cast<uint64_t>(max(a, b)) << 32 | min(a, b);
    const uint32_t alike = __match_any_sync(kAllLanes, pair);
    const bool leads = static_cast<int>(lane) == __ffs(static_cast<int>(alike)) - 1;
    const bool overflows = a != b && leads && !pairs.add(pair);
    if (__any_sync(kAllLanes, overflows)) join(v, pair, overflows, changes);
  };
  if constexpr (Space::kIsStraight) {
    find_straight_contacts<T>(space, contacts, add);
  } else {
    find_contacts<T, connectivity, Block>(space, contacts, add);
  }
  __syncthreads();  // the list is complete
  for (uint32_t start = threadIdx.x - lane; start < pairs.size(); start += kThreads) {
    const bool exists = start + lane < pairs.size();
    join(v, exists ? pairs.list[start + lane] : 0, exists, changes);
  }
  changes.flush(v);
}

// Hangs every component that is no root directly below its root.
__global__ __launch_bounds__(cclabel::WordBlock::threads) void settle_kernel(Volume v) {
  const uint32_t word = blockIdx.x * cclabel::WordBlock::threads + threadIdx.x;
  const bool exists = word < v.row_words();
  const RowWord row(v, exists ? word : 0);
  uint32_t lost = exists ? v.parts[row.at] & ~v.firsts[row.at] : 0;
  while (const uint32_t lanes = __ballot_sync(kAllLanes, lost != 0)) {
    const bool has_one = lost != 0;
    uint32_t place = 0;
    if (has_one) {
      const int b = __ffs(static_cast<int>(lost)) - 1;
      place = entry_of_node(v, row.node_at(row.bits >> b & 1 ? 0 : 1, b));
    }
    const uint32_t spare = __shfl_sync(kAllLanes, place, __ffs(static_cast<int>(lanes)) - 1);
    flatten(v.forest, has_one ? place : spare, has_one);
    lost &= lost - 1;
  }
}

template <class T, Connectivity connectivity, class Block>
void launch_blocks(const Volume& v, cudaStream_t stream) {
  cclabel::divide_memory(join_tiles_kernel<T, connectivity, Block>, v.all_tiles());
  launch_chained(join_tiles_kernel<T, connectivity, Block>, tile_grid(v, v.classes), Block::threads,
                 0, stream, v);
}

template <class T, Connectivity connectivity>
void launch_joins(const Volume& v, cudaStream_t stream) {
  if (v.all_tiles() <= cclabel::kFewTiles) {
    launch_blocks<T, connectivity, LargeSeam>(v, stream);
  } else {
    launch_blocks<T, connectivity, SmallSeam>(v, stream);
  }
  if (v.unsettled) return;
  launch(settle_kernel, blocks_for(v.row_words(), cclabel::WordBlock::threads),
         cclabel::WordBlock::threads, 0, stream, v);
}

}  // namespace

void join_tiles(const Volume& volume, cudaStream_t stream) {
  switch (volume.connectivity) {
    case Connectivity::four:
      return launch_joins<FlatTile, Connectivity::six>(volume, stream);
    case Connectivity::eight:
      return launch_joins<FlatTile, Connectivity::eighteen>(volume, stream);
    case Connectivity::six:
      return launch_joins<CubeTile, Connectivity::six>(volume, stream);
    case Connectivity::eighteen:
      return launch_joins<CubeTile, Connectivity::eighteen>(volume, stream);
    default:
      return launch_joins<CubeTile, Connectivity::twenty_six>(volume, stream);
  }
}

}  // namespace regions::volumes
