// Joins the tiles' components where runs of different tiles touch, and gives each its root, if that
// is asked for.
#include "gpu/volumes/launch.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/seam.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = SeamBlock::threads;
static_assert(kThreads >= CubeTile::words && kThreads >= FlatTile::words, "a row a thread");

// The contacts of a band's word, by one touch, with other tiles. `spot` counts from the tile's
// first.
template <class T, class Space>
__device__ Contacts seam_contacts(const Space& space, const Spot& spot, const Touch& t) {
  const bool stays = spot.y + t.far_y >= 0 && spot.y + t.far_y < T::rows && spot.z + t.far_z >= 0;
  if (stays) {
    if (!t.is_slanted()) return {};
    const RowPair rows(space, t, 0, spot.y + t.near_y, spot.z + t.near_z);
    if (!(rows.joint() & 0x80000001u)) return {};  // no voxel at the word's sides
  }
  Contacts contacts(space, spot, t);
  if (stays) contacts.keep_sideways();
  return contacts;
}

// Pairs of components that a tile touches at, each once as far as there is room to know it.
struct Pairs {
  static constexpr uint32_t kMost = SeamBlock::pairs;
  static constexpr uint64_t kFree = ~0ull;
  unsigned long long seen[kMost];  // by hash
  unsigned long long list[kMost];
  uint32_t count;

  __device__ void clear() {
    for (uint32_t i = threadIdx.x; i < kMost; i += kThreads) seen[i] = kFree;
    if (threadIdx.x == 0) count = 0;
  }
  // False if the list is full. Whoever comes first gets the place; others than its pair are listed
  // without one, at worst more than once.
  __device__ bool add(uint64_t pair) {
    const auto hash = static_cast<uint32_t>((pair ^ pair >> 29) * 0x9e3779b97f4a7c15ull >> 40);
    if (atomicCAS(&seen[hash % kMost], kFree, pair) == pair) return true;
    const uint32_t place = atomicAdd(&count, 1u);
    if (place < kMost) list[place] = pair;
    return place < kMost;
  }
  __device__ uint32_t size() const { return min(count, kMost); }
};

// How a tile changes the counts of regions, put together: neighbours share counts, and would queue
// for them. Sums have no order.
struct Changes {
  static constexpr uint32_t kSums = SeamBlock::sums;  // the last ones up to the tile's
  uint32_t of_sum[kSums];
  uint32_t begin;

  // The whole block calls it, and meets before anything is added.
  __device__ void clear(const Volume& v, const TilePlace& place) {
    const int last = min(place.z + v.tile_slices, v.stack.slices) - 1;
    const uint32_t end = v.id_of(place.layer, v.words - 1, v.stack.slice.height - 1, last, 0) / 32 /
                         Firsts::kSumWords;
    if (threadIdx.x == 0) begin = end < kSums ? 0 : end - kSums + 1;
    for (uint32_t i = threadIdx.x; i < kSums; i += kThreads) of_sum[i] = 0;
  }
  __device__ void add(const Volume& v, uint32_t word, uint32_t change) {
    const uint32_t sum = word / Firsts::kSumWords;
    atomicAdd(sum - begin < kSums ? of_sum + (sum - begin) : v.sums + sum, change);
  }
  // The whole block calls it.
  __device__ void flush(const Volume& v) const {
    __syncthreads();  // all is added
    for (uint32_t i = threadIdx.x; i < kSums; i += kThreads) {
      if (of_sum[i]) atomicAdd(v.sums + begin + i, of_sum[i]);
    }
  }
};

// Joins two components for each lane that wants it. Whoever stops being a root takes its first
// voxel out of the regions'. The whole warp calls it.
__device__ void join(const Volume& v, uint64_t pair, bool wanted, Changes& changes) {
  const auto larger = static_cast<uint32_t>(pair >> 32), smaller = static_cast<uint32_t>(pair);
  // Most are still roots: a link needs no search then.
  const uint32_t seen = wanted ? atomicCAS(v.parent + larger, larger, smaller) : larger;
  const bool is_linked = wanted && seen == larger;
  const uint32_t later = cclabel::unite(v.parent, seen, smaller, wanted && !is_linked);
  const uint32_t lost = is_linked ? larger : later;
  if (lost == kNone) return;
  atomicAnd(v.firsts + lost / 32, ~(1u << lost % 32));
  changes.add(v, lost / 32, ~0u);
}

// Counts the components of a thread's row among the regions that start there.
template <class T>
__device__ void count_parts(const Volume& v, const TilePlace& place, uint32_t parts,
                            Changes& changes) {
  const int i = static_cast<int>(threadIdx.x);
  if (parts == 0) return;
  const uint32_t word =
      v.id_of(place.layer, place.w, place.y + i % T::rows, place.z + i / T::rows, 0) / 32;
  changes.add(v, word, static_cast<uint32_t>(__popc(parts)));
}

// The first voxels of components in a thread's row.
template <class T>
__device__ uint32_t parts_of_row(const Volume& v, const TilePlace& place) {
  const int i = static_cast<int>(threadIdx.x);
  const int y = place.y + i % T::rows, z = place.z + i / T::rows;
  const bool exists = i < T::words && y < v.stack.slice.height && z < v.stack.slices;
  return exists ? v.parts[v.id_of(place.layer, place.w, y, z, 0) / 32] : 0;
}

// A block joins a tile and class to the tiles before: finds all contacts, a word and touch a
// thread, and then joins each pair of components once.
template <class T, Connectivity connectivity>
__global__ __launch_bounds__(kThreads, SeamBlock::blocks) void join_tiles_kernel(Volume v,
                                                                                 int touches) {
  __shared__ uint2 lists[kThreads / 32][32 * kPairs];
  __shared__ Pairs pairs;
  __shared__ Changes changes;
  using Space = Seam<T, connectivity, kThreads>;
  __shared__ Space space;
  const TilePlace place(v);
  pairs.clear();
  changes.clear(v, place);
  await_last();
  const uint32_t parts =
      place.cls == 0 ? parts_of_row<T>(v, place) : 0;  // on its way with the rest
  space.fetch(v, place);
  __syncthreads();  // nothing is seen or changed, the tile is there
  count_parts<T>(v, place, parts, changes);
  const auto lane = threadIdx.x % 32;
  const auto add = [&](const uint2& nodes, bool exists) {
    const uint32_t a = exists ? v.node[nodes.x] : 0, b = exists ? v.node[nodes.y] : 0;
    const uint64_t pair = static_cast<uint64_t>(max(a, b)) << 32 | min(a, b);
    const uint32_t alike = __match_any_sync(cclabel::kAllLanes, pair);
    const bool leads = static_cast<int>(lane) == __ffs(static_cast<int>(alike)) - 1;
    const bool overflows = a != b && leads && !pairs.add(pair);
    if (__any_sync(cclabel::kAllLanes, overflows)) join(v, pair, overflows, changes);
  };
  constexpr int kBands = Space::Inner::kBands;
  for (int i = static_cast<int>(threadIdx.x); i < touches * kBands; i += kThreads) {
    const int turn = i / kBands;
    Spot spot = Space::Inner::spot(i % kBands);
    spot.word = Space::word(0, spot.y, spot.z);
    Contacts contacts;
    with_touch<connectivity>(
        turn, [&](const Touch& touch) { contacts = seam_contacts<T>(space, spot, touch); });
    if (turn == 0) {
      contacts.word = spot.word;
      contacts.goes_on = space.goes_on(spot);
    }
    for_each_contact(space, contacts, lists[threadIdx.x / 32], add);
  }
  __syncthreads();  // the list is complete
  for (uint32_t start = threadIdx.x - lane; start < pairs.size(); start += kThreads) {
    const bool exists = start + lane < pairs.size();
    join(v, exists ? pairs.list[start + lane] : 0, exists, changes);
  }
  changes.flush(v);
}

// Hangs every component that is no root directly below its root.
__global__ __launch_bounds__(RowBlock::threads) void settle_kernel(Volume v) {
  const uint32_t word = blockIdx.x * RowBlock::threads + threadIdx.x;
  uint32_t lost = word < v.row_words() ? v.parts[word] & ~v.firsts[word] : 0;
  while (const uint32_t lanes = __ballot_sync(cclabel::kAllLanes, lost != 0)) {
    const bool has_one = lost != 0;
    const uint32_t own = word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(lost)) - 1);
    const uint32_t spare = __shfl_sync(cclabel::kAllLanes, own, __ffs(static_cast<int>(lanes)) - 1);
    cclabel::flatten(v.parent, has_one ? own : spare, has_one);
    lost &= lost - 1;
  }
}

template <class T, Connectivity connectivity>
void launch_joins(const Volume& v, cudaStream_t stream) {
  // A picture's neighbours are in its own slice: the first touch.
  const int touches = v.stack.slices == 1 ? 1 : Touches<connectivity>::count;
  const dim3 grid = tile_grid(v, v.classes);
  divide_memory(join_tiles_kernel<T, connectivity>, v.all_tiles());
  launch_chained(join_tiles_kernel<T, connectivity>, grid, kThreads, 0, stream, v, touches);
  if (v.unsettled) return;
  launch(settle_kernel, blocks_for(v.row_words(), RowBlock::threads), RowBlock::threads, 0, stream,
         v);
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
