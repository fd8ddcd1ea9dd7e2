// Joins the tiles' components where runs of different tiles touch, and gives each its root, if that
// is asked for.
#include "gpu/chain.hpp"
#include "gpu/volumes/contacts.hpp"
#include "gpu/volumes/groups.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tile.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = SeamBlock::threads;
static_assert(kThreads >= CubeTile::words && kThreads >= FlatTile::words, "a row a thread");

// The slices of one class of one layer, as a Space (contacts.hpp).
template <Connectivity connectivity>
struct Slices {
  static constexpr bool kIsStraight = connectivity == Connectivity::six;
  const Volume& v;
  int cls, layer;

  __device__ bool holds(int y, int z) const {
    return y >= 0 && z >= 0 && y < v.stack.slice.height && z < v.stack.slices;
  }
  __device__ uint32_t row(int w, int y, int z) const {
    if (w < 0 || w >= v.words || !holds(y, z)) return 0;
    const int row = (layer * v.stack.slices + z) * v.stack.slice.height + y;
    const uint32_t bits = v.bits[static_cast<size_t>(row) * v.words + w];
    return cls == 0 ? bits : ~bits & inside(v, w);
  }
  __device__ uint32_t word(int w, int y, int z) const { return band_word(v, cls, layer, w, y, z); }
  __device__ uint32_t starts(uint32_t word) const { return v.starts[word]; }
  __device__ uint32_t node(uint32_t word, uint32_t starts, int b) const {
    return node_of(word, starts, b);
  }
  __device__ BandWords band(int w, int y, int z) const {
    BandWords words;
#pragma unroll
    for (int r = 0; r < kBandRows * slices_of_band(connectivity); ++r) {
      words.row[r] = row(w, y + r % kBandRows, z + r / kBandRows);
    }
    return words;
  }
  // Whether the node at the first column of a word goes on from the word before.
  __device__ bool goes_on(const Spot& spot) const {
    const BandWords here = band(spot.w, spot.y, spot.z), before = band(spot.w - 1, spot.y, spot.z);
    if (!(here.columns() & 1)) return false;
    BandWords left;
    for (int r = 0; r < 4; ++r) left.row[r] = before.row[r] >> 31;
    return here.linked_to(left, connectivity) & 1;
  }
};

// The contacts of a band's word, by one touch, with other tiles. In y and z, `in` says where the
// band lies in its tile.
template <class T, Connectivity connectivity>
__device__ Contacts seam_contacts(const Slices<connectivity>& slices, const Spot& spot,
                                  const Spot& in, const Touch& t) {
  const bool stays = in.y + t.far_y >= 0 && in.y + t.far_y < T::rows && in.z + t.far_z >= 0;
  if (stays) {
    if (!t.is_slanted()) return {};
    const RowPair rows(slices, t, spot.w, spot.y + t.near_y, spot.z + t.near_z);
    if (!(rows.joint() & 0x80000001u)) return {};  // no voxel at the word's sides
  }
  Contacts contacts(slices, spot, t);
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

// Joins two components for each lane that wants it. Whoever stops being a root takes its first
// voxel out of the regions'. The whole warp calls it.
__device__ void join(const Volume& v, uint64_t pair, bool wanted) {
  const uint32_t lost = cclabel::unite(v.parent, static_cast<uint32_t>(pair >> 32),
                                       static_cast<uint32_t>(pair), wanted);
  if (lost == kNone) return;
  atomicAnd(v.firsts + lost / 32, ~(1u << lost % 32));
  atomicSub(v.sums + lost / 32 / Firsts::kSumWords, 1u);  // sums have no order
}

// Counts the components of a thread's row among the regions that start there.
template <class T>
__device__ void count_parts(const Volume& v, const TilePlace& place) {
  const int i = static_cast<int>(threadIdx.x);
  const int y = place.y + i % T::rows, z = place.z + i / T::rows;
  const bool exists = i < T::words && y < v.stack.slice.height && z < v.stack.slices;
  const uint32_t word = exists ? v.id_of(place.layer, place.w, y, z, 0) / 32 : 0;
  const auto parts = static_cast<uint32_t>(exists ? __popc(v.parts[word]) : 0);
  for_each_key(parts ? word / Firsts::kSumWords + 1 : 0, [&](uint32_t common, bool joins) {
    const uint32_t sum = cclabel::warp_sum(joins ? parts : 0);
    if (is_first_lane()) atomicAdd(v.sums + common - 1, sum);
  });
}

// A block joins a tile and class to the tiles before: finds all contacts, a word and touch a
// thread, and then joins each pair of components once.
template <class T, Connectivity connectivity>
__global__ __launch_bounds__(kThreads, SeamBlock::blocks) void join_tiles_kernel(Volume v,
                                                                                 int touches) {
  __shared__ uint2 lists[kThreads / 32][32 * kPairs];
  __shared__ Pairs pairs;
  const TilePlace place(v);
  const auto cls = static_cast<int>(blockIdx.z);
  const Slices<connectivity> slices{v, cls, place.layer};
  pairs.clear();
  await_last();
  if (cls == 0) count_parts<T>(v, place);
  __syncthreads();  // nothing is seen
  using Space = Tile<T, connectivity>;
  for (int i = static_cast<int>(threadIdx.x); i < touches * Space::kBands; i += kThreads) {
    const int turn = i / Space::kBands;
    const Spot in = Space::spot(i % Space::kBands);
    const int y = place.y + in.y, z = place.z + in.z;
    Contacts contacts;
    if (slices.holds(y, z)) {
      const Spot spot{band_word(v, cls, place.layer, place.w, y, z), place.w, y, z};
      with_touch<connectivity>(
          turn, [&](const Touch& touch) { contacts = seam_contacts<T>(slices, spot, in, touch); });
      if (turn == 0 && spot.w > 0) {
        contacts.word = spot.word;
        contacts.goes_on = slices.goes_on(spot);
      }
    }
    for_each_contact(
        slices, contacts, lists[threadIdx.x / 32], [&](const uint2& nodes, bool exists) {
          const uint32_t a = exists ? v.node[nodes.x] : 0, b = exists ? v.node[nodes.y] : 0;
          const uint64_t pair = static_cast<uint64_t>(max(a, b)) << 32 | min(a, b);
          const uint32_t alike = __match_any_sync(cclabel::kAllLanes, pair);
          const bool leads =
              static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(alike)) - 1;
          const bool overflows = a != b && leads && !pairs.add(pair);
          if (__any_sync(cclabel::kAllLanes, overflows)) join(v, pair, overflows);
        });
  }
  __syncthreads();  // the list is complete
  const auto lane = threadIdx.x % 32;
  for (uint32_t start = threadIdx.x - lane; start < pairs.size(); start += kThreads) {
    const bool exists = start + lane < pairs.size();
    join(v, exists ? pairs.list[start + lane] : 0, exists);
  }
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
  const dim3 grid(v.tiles(), static_cast<unsigned>(v.stack.layers),
                  static_cast<unsigned>(v.classes));
  launch_chained(join_tiles_kernel<T, connectivity>, grid, kThreads, 0, stream, v, touches);
  if (v.sides_alone) return;
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
