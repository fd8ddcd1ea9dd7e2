// The pieces that are too small, what they touch, and their first choices: a block lists the
// contacts of small pieces in its tile, so that all its threads have their share of them.
//
// Pixels side by side mostly belong to the same two components; a contact counts only where the
// pair is new along the row or goes no further below. Across the edges of tiles each tile looks out
// for its own small pieces alone.
#include "gpu/slicsuperpixel/joining.hpp"

namespace regions::slic {
namespace {

using cclabel::kAllLanes;
using T = PieceTile;
constexpr int kThreads = ChoiceTile::threads;
constexpr int kSegment = T::pixels / kThreads;  // pixels of a thread
static_assert(kSegment == 16 && T::width % kSegment == 0);
constexpr int kEach = T::width / kSegment;  // threads a row

// What is to be known of a component's piece.
struct alignas(16) Known {
  uint32_t root;
  uint32_t first;
  uint32_t color;        // the first two means, 16 bits each
  uint32_t color_small;  // the third, and whether the piece is small

  __device__ bool is_small() const { return color_small >> 16 != 0; }
  __device__ PieceColor mean() const {
    return {{static_cast<int>(color & 0xffff), static_cast<int>(color >> 16),
             static_cast<int>(color_small & 0xffff)}};
  }
};

__device__ Known know(const Joining& joining, uint32_t id) {
  const Pieces& pieces = joining.pieces;
  const uint32_t root = pieces.find(id);
  const Piece piece = pieces.piece_of(root);
  const PieceColor color = color_of(piece);
  return {root, pieces.first[root],
          static_cast<uint32_t>(color.mean[0]) | static_cast<uint32_t>(color.mean[1]) << 16,
          static_cast<uint32_t>(color.mean[2]) | (piece.area < joining.least ? 1u << 16 : 0)};
}

struct Neighbourhood {
  uint16_t component[T::rows][T::width];
  uint16_t small[T::rows][kEach];         // bits: pixels of small pieces
  uint32_t small_number[T::pixels / 32];  // bits: numbers of components of small pieces
  Known known[ChoiceTile::known];         // by number
  // Contacts of small pieces: the pixel's place in the tile, with kBelow if not that on its right
  // is touched; or kAcross and the place along the tile's edge.
  static constexpr int kBelow = T::pixels, kAcross = 2 * T::pixels;
  uint16_t contact[2 * T::pixels + TileEdge::kSides * T::width];
  uint32_t contacts;
  uint32_t edges;  // where they go in the list

  __device__ bool is_small(int number) const {
    return small_number[number / 32] >> number % 32 & 1;
  }
  // Lists this lane's contacts: bits 0..15 as first + bit, the others as so much below that.
  __device__ void list(uint32_t bits, int first) {
    const auto mine = static_cast<uint32_t>(__popc(bits));
    const uint32_t up_to_own = cclabel::warp_prefix_sum(mine);
    uint32_t start = 0;
    if (threadIdx.x % 32 == 31 && up_to_own > 0) start = atomicAdd(&contacts, up_to_own);
    uint32_t at = __shfl_sync(kAllLanes, start, 31) + up_to_own - mine;
    for (; bits != 0; bits &= bits - 1) {
      const int bit = __ffs(static_cast<int>(bits)) - 1;
      contact[at++] = static_cast<uint16_t>(first + bit % kSegment + bit / kSegment * kBelow);
    }
  }
};

// Bit k: numbers k of a and b differ.
using Row = uint32_t[kSegment / 2];
__device__ uint32_t differ(const Row& a, const Row& b) {
  uint32_t bits = 0;
#pragma unroll
  for (int j = 0; j < kSegment / 2; ++j) {
    const uint32_t both = __vcmpne2(a[j], b[j]);
    bits |= ((both & 1) | (both >> 15 & 2)) << 2 * j;
  }
  return bits;
}
// The numbers one further to the right; `beyond` follows the last.
__device__ void shift(const Row& row, uint32_t beyond, Row& to) {
#pragma unroll
  for (int j = 0; j < kSegment / 2; ++j) {
    to[j] = row[j] >> 16 | (j + 1 < kSegment / 2 ? row[j + 1] : beyond) << 16;
  }
}

// This thread's pixels, as bits: where the right neighbour (bits 0..15) and that below (16..31) is
// of another component, and which start a run of one component.
struct Contacts {
  uint32_t bits = 0;
  uint32_t starts = 0;

  __device__ Contacts(const Neighbourhood& s, int x, int y, Size inside) {
    const int count = inside.width - x;
    if (count <= 0 || y >= inside.height) return;
    const auto load = [&](int row, Row& to, Row& to_right) {
      const auto* const from = reinterpret_cast<const uint4*>(&s.component[row][x]);
#pragma unroll
      for (int j = 0; j < kSegment / 8; ++j) {
        const uint4 four = from[j];
        to[4 * j] = four.x, to[4 * j + 1] = four.y, to[4 * j + 2] = four.z, to[4 * j + 3] = four.w;
      }
      shift(to, x + kSegment < T::width ? s.component[row][x + kSegment] : 0, to_right);
    };
    const uint32_t here_inside = count >= kSegment ? 0xffffu : (1u << count) - 1;
    // The last pixel of the picture or of the tile has none on its right.
    const bool goes_on = x + kSegment < T::width && count > kSegment;
    Row here, here_right;
    load(y, here, here_right);
    const uint32_t right = differ(here, here_right) & (goes_on ? 0xffffu : here_inside >> 1);
    bits = right;
    starts = (right << 1 | 1) & here_inside;
    if (y + 1 >= inside.height) return;
    Row under, under_right;
    load(y + 1, under, under_right);
    const uint32_t below = differ(here, under) & here_inside;
    const uint32_t right_of_under = differ(under, under_right);
    const uint32_t new_below = below & ((right | right_of_under) << 1 | 1);
    const uint32_t new_right = right & (below | below >> 1 | 1u << (kSegment - 1));
    bits = new_right | new_below << 16;
  }
};

// Learns what there is to know of the tile's components, and lists the small pieces that begin
// here. Returns whether this thread saw a small one.
__device__ bool know_components(Neighbourhood& s, const Joining& joining, const TileOfBlock& tile) {
  const Pieces& pieces = joining.pieces;
  bool found = false;
  for (uint32_t start = threadIdx.x / 32 * 32; start < tile.count; start += kThreads) {
    const uint32_t number = start + threadIdx.x % 32;
    bool listed = false;
    uint32_t id = 0;
    if (number < tile.count) {
      id = tile.id(pieces, number);
      const Known own = know(joining, id);
      if (own.is_small()) {
        found = true;
        listed = own.root == id;
        atomicOr(&s.small_number[number / 32], 1u << number % 32);
      }
      if (number < ChoiceTile::known) s.known[number] = own;
    }
    if (!__any_sync(kAllLanes, listed)) continue;
    const uint32_t at = room_for(listed ? 1 : 0, &pieces.counts->small);
    if (listed) pieces.small[at] = id;
  }
  return found;
}

__global__ __launch_bounds__(kThreads) void choose_kernel(Joining joining) {
  __shared__ Neighbourhood s;
  const Pieces& pieces = joining.pieces;
  const TileOfBlock tile(pieces);
  const int t = static_cast<int>(threadIdx.x);
  const int x = t % kEach * kSegment, y = t / kEach;
  const Size inside = {pieces.size.width - tile.left, min(pieces.size.height - tile.top, T::rows)};
  if (y < inside.height) {
    // Rows are as long as whole tiles.
    const auto* const from = reinterpret_cast<const uint4*>(
        pieces.component + pieces.pixel_at(tile.left + x, tile.top + y));
    auto* const to = reinterpret_cast<uint4*>(&s.component[y][x]);
#pragma unroll
    for (int j = 0; j < kSegment / 8; ++j) to[j] = from[j];
  }
  for (int w = t; w < T::pixels / 32; w += kThreads) s.small_number[w] = 0;
  if (t == 0) s.contacts = 0;
  __syncthreads();  // nothing is known as small
  const bool found = know_components(s, joining, tile);
  const Contacts contacts(s, x, y, inside);  // most warps have had no component
  if (!__syncthreads_or(found)) return;      // the tile is known
  uint32_t small = 0;
  for (uint32_t starts = contacts.starts; starts != 0; starts &= starts - 1) {
    const int bit = __ffs(static_cast<int>(starts)) - 1;
    const uint32_t from_here = 0xffffu << bit & 0xffffu;
    small = s.is_small(s.component[y][x + bit]) ? small | from_here : small & ~from_here;
  }
  s.small[y][x / kSegment] = static_cast<uint16_t>(small);
  __syncthreads();  // all pixels of small pieces are known
  const uint32_t next = x + kSegment < T::width ? s.small[y][x / kSegment + 1] : 0;
  const uint32_t under = y + 1 < T::rows ? s.small[y + 1][x / kSegment] : 0;
  const uint32_t to_right = (small | small >> 1 | next << (kSegment - 1)) & 0xffff;
  s.list(contacts.bits & (to_right | (small | under) << 16), y * T::width + x);
  static_assert(TileEdge::kSides * T::width == kThreads);
  const TileEdge edge(pieces, tile.column, tile.row, t / T::width, t % T::width);
  const bool looks_out =
      edge.exists && (s.small[edge.y][edge.x / kSegment] >> edge.x % kSegment & 1);
  s.list(looks_out ? 1 : 0, s.kAcross + t);
  __syncthreads();  // the list is complete
  const uint32_t count = s.contacts;
  if (t == 0) s.edges = atomicAdd(&pieces.counts->edges, count);
  __syncthreads();  // there is room for them
  const auto known = [&](uint32_t number) {
    return number < ChoiceTile::known ? s.known[number] : know(joining, tile.id(pieces, number));
  };
  unsigned long long* const choice = pieces.choice[0];
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const int contact = s.contact[i], at = contact % s.kBelow;
    const bool across = contact >= s.kAcross;
    Known own, other;
    if (across) {
      const TileEdge there(pieces, tile.column, tile.row, at / T::width, at % T::width);
      own = known(s.component[there.y][there.x]);
      other = know(joining, *there.other);
    } else {
      const int px = at % T::width, py = at / T::width;
      own = known(s.component[py][px]);
      other = known(contact >= s.kBelow ? s.component[py + 1][px] : s.component[py][px + 1]);
    }
    pieces.edges[s.edges + i] = {own.root, other.root};
    if (own.root == other.root) continue;
    const uint32_t distance = piece_distance(own.mean(), other.mean(), joining.scale);
    if (own.is_small()) atomicMin(choice + own.root, choice_of(distance, other.first));
    // The tile across looks out for its own.
    if (!across && other.is_small()) atomicMin(choice + other.root, choice_of(distance, own.first));
  }
}

}  // namespace

void make_first_choices(const Joining& joining, cudaStream_t stream) {
  launch(choose_kernel, tile_grid(joining.pieces), kThreads, 0, stream, joining);
}

}  // namespace regions::slic
