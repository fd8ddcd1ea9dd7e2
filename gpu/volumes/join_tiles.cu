// Joins the tiles' components where runs of different tiles touch, and gives each its root.
#include "gpu/cclabel/runs.hpp"
#include "gpu/volumes/contacts.hpp"
#include "gpu/volumes/phases.hpp"
#include "gpu/volumes/tuning.hpp"

namespace regions::volumes {
namespace {

constexpr int kThreads = SeamBlock::threads;

// The slices of one class of one layer, as a Space (contacts.hpp).
struct Slices {
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
  __device__ uint32_t band(uint32_t word) const { return v.band[word]; }
};

// The contacts of a thread's word, by one touch, with other tiles.
__device__ Contacts seam_contacts(const Slices& slices, const Spot& spot, const Touch& t) {
  const Volume& v = slices.v;
  const auto is_other = [](int from, int to, int side) { return from / side != to / side; };
  // Tiles begin with bands, so that rows tell in which tile a band is.
  const bool leaves = is_other(spot.y, max(spot.y + t.far_y, 0), v.tile_rows) ||
                      is_other(spot.z, max(spot.z + t.far_z, 0), v.tile_slices);
  if (!leaves && !t.slanted) return {};
  if (!leaves && !(slices.band(spot.word) & 0x80000001u)) return {};
  Contacts contacts(slices, spot, t);
  if (!leaves) contacts.keep_sideways();
  return contacts;
}

// Joins the components of the lanes' nodes, unless a lane before has the same two. Whoever stops
// being a root takes its first voxel out of the regions'. The whole warp calls it.
__device__ void join(const Volume& v, uint2 pair, bool wanted) {
  const uint32_t a = wanted ? v.node[pair.x] : 0, b = wanted ? v.node[pair.y] : 0;
  const uint64_t ids = a != b ? static_cast<uint64_t>(a) << 32 | b : ~0ull;
  const uint32_t alike = __match_any_sync(cclabel::kAllLanes, ids);
  const bool leads = static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(alike)) - 1;
  const uint32_t lost = cclabel::unite(v.parent, a, b, a != b && leads);
  if (lost != kNone) atomicAnd(v.firsts + lost / 32, ~(1u << lost % 32));
}

// A thread finds the contacts of a word by one touch; the warp shares them out to its lanes.
template <Connectivity connectivity>
__global__ __launch_bounds__(kThreads) void join_tiles_kernel(Volume v, int turns) {
  __shared__ uint2 lists[kThreads / 32][32 * kPairs];
  const uint32_t blocks = gridDim.x / static_cast<uint32_t>(turns);
  const int turn = static_cast<int>(blockIdx.x / blocks);
  const uint32_t in_slab = blockIdx.x % blocks * kThreads + threadIdx.x;
  const auto slab = static_cast<int>(blockIdx.y);
  const int k = slab / v.bands_z;
  const Slices slices{v, k / v.stack.layers, k % v.stack.layers};
  Contacts contacts;
  if (in_slab < v.slab_words()) {
    const auto words = static_cast<uint32_t>(v.words);
    const Spot spot{
        static_cast<uint32_t>(slab) * v.slab_words() + in_slab, static_cast<int>(in_slab % words),
        static_cast<int>(in_slab / words) * v.band_rows, slab % v.bands_z * v.band_slices};
    with_touch<connectivity>(
        turn, [&](const Touch& touch) { contacts = seam_contacts(slices, spot, touch); });
    if (turn == 0 && spot.w > 0 && (v.band[spot.word] & 1)) {
      contacts.word = spot.word;
      contacts.goes_on = v.band[spot.word - 1] >> 31;
    }
  }
  for_each_contact(slices, contacts, lists[threadIdx.x / 32],
                   [&](const uint2& pair, bool wanted) { join(v, pair, wanted); });
}

// Hangs every component that is no root directly below its root; counts regions, 1024 words a
// block.
__global__ __launch_bounds__(NumberBlock::threads) void settle_kernel(Volume v) {
  static_assert(NumberBlock::threads == Firsts::kSumWords);
  __shared__ uint32_t warp_sums[NumberBlock::threads / 32];
  const uint32_t word = blockIdx.x * NumberBlock::threads + threadIdx.x;
  const bool exists = word < v.row_words();
  const uint32_t firsts = exists ? v.firsts[word] : 0;
  uint32_t lost = exists ? v.parts[word] & ~firsts : 0;
  while (const uint32_t lanes = __ballot_sync(cclabel::kAllLanes, lost != 0)) {
    const bool has_one = lost != 0;
    const uint32_t own = word * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(lost)) - 1);
    const uint32_t spare = __shfl_sync(cclabel::kAllLanes, own, __ffs(static_cast<int>(lanes)) - 1);
    cclabel::flatten(v.parent, has_one ? own : spare, has_one);
    lost &= lost - 1;
  }
  uint32_t all;
  cclabel::sum_before<NumberBlock::threads>(static_cast<uint32_t>(__popc(firsts)), warp_sums, all);
  if (threadIdx.x == 0) v.sums[blockIdx.x] = all;
}

template <Connectivity connectivity>
void launch_joins(const Volume& v, cudaStream_t stream) {
  // A picture's neighbours are in its own slice: the first touch.
  const int turns = v.stack.slices == 1 ? 1 : Touches<connectivity>::count;
  const dim3 grid(blocks_for(v.slab_words(), kThreads) * static_cast<unsigned>(turns),
                  static_cast<unsigned>(v.classes * v.stack.layers * v.bands_z));
  launch(join_tiles_kernel<connectivity>, grid, kThreads, 0, stream, v, turns);
  launch(settle_kernel, blocks_for(v.row_words(), NumberBlock::threads), NumberBlock::threads, 0,
         stream, v);
}

}  // namespace

void join_tiles(const Volume& volume, cudaStream_t stream) {
  switch (volume.connectivity) {
    case Connectivity::four:
    case Connectivity::six:
      return launch_joins<Connectivity::six>(volume, stream);
    case Connectivity::eight:
    case Connectivity::eighteen:
      return launch_joins<Connectivity::eighteen>(volume, stream);
    default:
      return launch_joins<Connectivity::twenty_six>(volume, stream);
  }
}

}  // namespace regions::volumes
