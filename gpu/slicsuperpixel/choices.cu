// The pieces that are too small, what they touch, and their first choices: a block lists the
// contacts of small pieces in its tile, so that all its threads have their share of them.
//
// Pixels side by side mostly belong to the same two components; a contact counts only where the
// pair is new along the row or goes no further below. Across the edges of tiles each tile looks out
// for its own small pieces alone.
#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/neighbourhood.hpp"

namespace regions::slic {
namespace {

using T = PieceTile;
constexpr int kThreads = ChoiceTile::threads;
constexpr int kSegment = kChoicePixels;

// Learns what there is to know of the tile's components. `root`: of the thread's first, if it is
// one. Returns whether this thread saw one of a small piece.
__device__ bool know_components(Neighbourhood& s, const Joining& joining, const TileOfBlock& tile,
                                uint32_t root) {
  bool found = false;
  for (uint32_t start = threadIdx.x / 32 * 32; start < tile.count; start += kThreads) {
    const uint32_t number = start + threadIdx.x % 32;
    Known own = {};
    bool begins = false;
    if (number < tile.count) {
      const uint32_t id = tile.id(joining.pieces, number);
      if (number >= kThreads) root = joining.pieces.parent[id];
      own = know_root(joining, root);
      begins = own.is_small() && own.root == id;
      if (number < ChoiceTile::known) s.known[number] = own;
    }
    const unsigned small = __ballot_sync(kAllLanes, own.is_small());
    const unsigned all_begin = __ballot_sync(kAllLanes, begins);
    if (threadIdx.x % 32 == 0) s.small_number[start / 32] = small, s.begins[start / 32] = all_begin;
    found |= small != 0;
  }
  return found;
}

// Lists the small pieces that are known by components of this tile, from `at` on.
__device__ void list_small(const Neighbourhood& s, const Pieces& pieces, const TileOfBlock& tile,
                           uint32_t at) {
  for (uint32_t word = 0; 32 * word < tile.count; ++word) {
    const uint32_t begin = s.begins[word];
    const auto lane = static_cast<int>(threadIdx.x % 32);
    if (begin >> lane & 1) {
      const auto place = at + static_cast<uint32_t>(__popc(begin & below(lane)));
      pieces.small[0][place] = tile.id(pieces, 32 * word + threadIdx.x);
    }
    at += static_cast<uint32_t>(__popc(begin));
  }
}

// Strikes out contacts of pairs that have been here before. All threads of the block.
__device__ void thin_out(Neighbourhood& s) {
  const uint32_t count = s.contacts;
  __syncthreads();  // all know the count
  if (threadIdx.x == 0) s.contacts = 0;
  for (uint32_t start = 0; start < count; start += kThreads) {
    const uint32_t i = start + threadIdx.x;
    const int contact = i < count ? s.contact[i] : 0, at = contact % s.kBelow;
    const int x = at % T::width, y = at / T::width, below = contact / s.kBelow;
    const bool stays =
        i < count && s.is_new(s.component[y][x], s.component[y + below][x + 1 - below]);
    __syncthreads();  // these have been read: the new ones, no more, may stand there
    const unsigned stay = __ballot_sync(kAllLanes, stays);
    const auto lane = static_cast<int>(threadIdx.x % 32);
    uint32_t to = 0;
    if (lane == 0 && stay != 0) {
      to = atomicAdd(&s.contacts, static_cast<uint32_t>(__popc(stay)));
    }
    to = __shfl_sync(kAllLanes, to, 0) + static_cast<uint32_t>(__popc(stay & regions::below(lane)));
    if (stays) s.contact[to] = static_cast<uint16_t>(contact);
  }
  __syncthreads();  // the list is complete
}

// Pieces `own` and `other` consider each other, `other` only if its tile does not look out for it.
__device__ void consider(const Joining& joining, const Known& own, const Known& other,
                         bool for_both, uint32_t edge) {
  const Pieces& pieces = joining.pieces;
  pieces.edges[0][edge] = {own.root, other.root};
  if (own.root == other.root) return;
  const uint32_t distance = piece_distance(own.mean(), other.mean(), joining.scale);
  unsigned long long* const choice = pieces.choice[0];
  if (own.is_small()) atomicMin(choice + own.root, choice_of(distance, other.first));
  if (for_both && other.is_small()) {
    atomicMin(choice + other.root, choice_of(distance, own.first));
  }
}

// Fetches the components of a thread's segment. Rows are as long as whole tiles.
__device__ void fetch_segment(Neighbourhood& s, const Pieces& pieces, const TileOfBlock& tile,
                              int x, int y) {
  const auto* const from = reinterpret_cast<const uint4*>(
      pieces.component + pieces.pixel_at(tile.left + x, tile.top + y));
  auto* const to = reinterpret_cast<uint4*>(&s.component[y][x]);
#pragma unroll
  for (int j = 0; j < kSegment / 8; ++j) to[j] = from[j];
}

// Which pixels of a segment are of small pieces.
__device__ uint32_t small_pixels(const Neighbourhood& s, const Contacts& contacts, int x, int y) {
  uint32_t small = 0;
  for (uint32_t starts = contacts.starts; starts != 0; starts &= starts - 1) {
    const int bit = __ffs(static_cast<int>(starts)) - 1;
    const uint32_t from_here = 0xffffu << bit & 0xffffu;
    small = s.is_small(s.component[y][x + bit]) ? small | from_here : small & ~from_here;
  }
  return small;
}

// Lists those contacts of a segment that have a small piece on a side. The small pixels of all
// segments are known.
__device__ void list_contacts(Neighbourhood& s, const Contacts& contacts, uint32_t small, int x,
                              int y) {
  const uint32_t next = x + kSegment < T::width ? s.small[y][x / kSegment + 1] : 0;
  const uint32_t under = y + 1 < T::rows ? s.small[y + 1][x / kSegment] : 0;
  const uint32_t to_right = (small | small >> 1 | next << (kSegment - 1)) & 0xffff;
  s.list(contacts.bits & (to_right | (small | under) << 16), y * T::width + x);
}

// A thread's contact across the tile's edge.
struct EdgeContact {
  bool considered;  // the tile's piece is small
  uint32_t index;   // among the tile's that are

  // The one before along the edge mostly has the same two components.
  __device__ EdgeContact(Neighbourhood& s, bool exists, uint32_t here, uint32_t beyond) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const uint64_t pair = static_cast<uint64_t>(here) << 32 | beyond;
    const uint64_t before = __shfl_up_sync(kAllLanes, pair, 1);
    const bool repeats = lane > 0 && before == pair;
    considered = exists && !repeats && s.is_small(static_cast<int>(here));
    const unsigned all = __ballot_sync(kAllLanes, considered);
    uint32_t first = 0;
    if (lane == 0 && all != 0) first = atomicAdd(&s.across, static_cast<uint32_t>(__popc(all)));
    index = __shfl_sync(kAllLanes, first, 0) + static_cast<uint32_t>(__popc(all & below(lane)));
  }
};

// Takes as much of the lists of edges and of small pieces as the tile needs.
__device__ void reserve(Neighbourhood& s, const Pieces& pieces, const TileOfBlock& tile) {
  if (threadIdx.x == 0) s.edges = atomicAdd(&pieces.counts->edges[0], s.contacts + s.across);
  if (threadIdx.x != 32) return;
  uint32_t begin = 0;
  for (uint32_t word = 0; 32 * word < tile.count; ++word) {
    begin += static_cast<uint32_t>(__popc(s.begins[word]));
  }
  if (begin > 0) s.smalls = atomicAdd(&pieces.counts->small[0], begin);
}

__global__ __launch_bounds__(kThreads) void choose_kernel(Joining joining) {
  __shared__ Neighbourhood s;
  const Pieces& pieces = joining.pieces;
  const TileOfBlock tile(pieces);
  // Fetched while the count is.
  static_assert(kThreads <= T::measured);
  const uint32_t root = pieces.parent[tile.id(pieces, threadIdx.x)];
  const int t = static_cast<int>(threadIdx.x);
  const int x = t % kChoiceThreads * kSegment, y = t / kChoiceThreads;
  static_assert(TileEdge::kSides * T::width == kThreads);
  const TileEdge edge(pieces, tile.column, tile.row, t / T::width, t % T::width);
  const uint32_t beyond = edge.exists ? *edge.other : 0;  // a component
  const Size inside = {pieces.size.width - tile.left, min(pieces.size.height - tile.top, T::rows)};
  if (y < inside.height) fetch_segment(s, pieces, tile, x, y);
  for (int w = t; w < ChoiceTile::pairs; w += kThreads) s.pair[w] = s.kNoPair;
  if (t == 0) s.contacts = s.across = 0;
  const bool found = know_components(s, joining, tile, root);
  if (!__syncthreads_or(found)) return;  // the tile is known
  const Contacts contacts(s, x, y, inside);
  const uint32_t small = small_pixels(s, contacts, x, y);
  s.small[y][x / kSegment] = static_cast<uint16_t>(small);
  __syncthreads();  // all pixels of small pieces are known
  list_contacts(s, contacts, small, x, y);
  const uint32_t here = edge.exists ? s.component[edge.y][edge.x] : 0;
  const EdgeContact across(s, edge.exists, here, beyond);
  const Known other = across.considered ? know(joining, beyond) : Known{};
  __syncthreads();  // the list is complete
  // Where nearly every pixel is a component, nearly every contact is a pair of its own.
  if (tile.count <= ChoiceTile::known) thin_out(s);
  const uint32_t count = s.contacts;
  reserve(s, pieces, tile);
  __syncthreads();  // the lists have places for them
  const auto known = [&](uint32_t number) {
    return number < ChoiceTile::known ? s.known[number] : know(joining, tile.id(pieces, number));
  };
  if (across.considered) {
    consider(joining, known(here), other, false, s.edges + count + across.index);
  }
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const int contact = s.contact[i], at = contact % s.kBelow, below = contact / s.kBelow;
    const int px = at % T::width, py = at / T::width;
    consider(joining, known(s.component[py][px]), known(s.component[py + below][px + 1 - below]),
             true, s.edges + i);
  }
  if (t < 32) list_small(s, pieces, tile, s.smalls);
}

}  // namespace

void make_first_choices(const Joining& joining, cudaStream_t stream) {
  launch(choose_kernel, tile_grid(joining.pieces), kThreads, 0, stream, joining);
}

}  // namespace regions::slic
