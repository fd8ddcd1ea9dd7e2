// What a block knows of a tile while small pieces make their first choices: its components, what is
// known of their pieces, and where these touch.
#pragma once

#include "gpu/primitives/bits.hpp"
#include "gpu/primitives/warp.hpp"
#include "gpu/slicsuperpixel/joining.hpp"

#ifdef __CUDACC__

namespace regions::slic {

inline constexpr int kChoicePixels = PieceTile::pixels / ChoiceTile::threads;  // of a thread
static_assert(kChoicePixels == 16 && PieceTile::width % kChoicePixels == 0);
inline constexpr int kChoiceThreads = PieceTile::width / kChoicePixels;  // a row of the tile

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

__device__ inline Known know_root(const Joining& joining, uint32_t root) {
  const Pieces& pieces = joining.pieces;
  const Piece piece = pieces.piece_of(root);
  const PieceColor color = color_of(piece);
  return {root, pieces.first[root],
          static_cast<uint32_t>(color.mean[0]) | static_cast<uint32_t>(color.mean[1]) << 16,
          static_cast<uint32_t>(color.mean[2]) | (piece.area < joining.least ? 1u << 16 : 0)};
}
// The last phase has left components directly below their root.
__device__ inline Known know(const Joining& joining, uint32_t id) {
  return know_root(joining, joining.pieces.parent[id]);
}

struct Neighbourhood {
  uint16_t component[PieceTile::rows][PieceTile::width];
  uint16_t small[PieceTile::rows][kChoiceThreads];  // bits: pixels of small pieces
  uint32_t small_number[PieceTile::pixels / 32];    // bits: numbers of components of small pieces
  uint32_t begins[PieceTile::pixels / 32];          // bits: of those that their piece is known by
  Known known[ChoiceTile::known];                   // by number
  // Contacts of small pieces: the pixel's place in the tile, with kBelow if not that on its right
  // is touched.
  static constexpr int kBelow = PieceTile::pixels;
  uint16_t contact[2 * PieceTile::pixels];
  uint32_t contacts;
  static constexpr uint32_t kNoPair = UINT32_MAX;
  uint32_t pair[ChoiceTile::pairs];  // a hash table of pairs of components that touch
  uint32_t across;                   // contacts across the tile's edges
  uint32_t edges, smalls;            // where they and small pieces go in the lists

  __device__ bool is_small(int number) const {
    return small_number[number / 32] >> number % 32 & 1;
  }
  // False if this pair of components has been here before; mostly, that is: one that finds no place
  // nearby counts again.
  __device__ bool is_new(uint32_t a, uint32_t b) {
    const uint32_t key = a < b ? a << 16 | b : b << 16 | a;
    uint32_t at = key * 0x9E3779B1u / (UINT32_MAX / ChoiceTile::pairs + 1);
    for (int probe = 0; probe < ChoiceTile::probes; ++probe) {
      const uint32_t seen = atomicCAS(pair + at, kNoPair, key);
      if (seen == kNoPair) return true;
      if (seen == key) return false;
      at = (at + 1) % ChoiceTile::pairs;
    }
    return true;
  }
  // Lists this lane's contacts: bits 0..15 as first + bit, the others as so much below that.
  __device__ void list(uint32_t bits, int first) {
    const auto mine = static_cast<uint32_t>(__popc(bits));
    const uint32_t up_to_own = warp_prefix_sum(mine);
    uint32_t start = 0;
    if (threadIdx.x % 32 == 31 && up_to_own > 0) start = atomicAdd(&contacts, up_to_own);
    uint32_t at = __shfl_sync(kAllLanes, start, 31) + up_to_own - mine;
    for (; bits != 0; bits &= bits - 1) {
      const int bit = __ffs(static_cast<int>(bits)) - 1;
      contact[at++] =
          static_cast<uint16_t>(first + bit % kChoicePixels + bit / kChoicePixels * kBelow);
    }
  }
};

// Bit k: numbers k of a and b differ.
using Row = uint32_t[kChoicePixels / 2];
__device__ inline uint32_t differ(const Row& a, const Row& b) {
  uint32_t bits = 0;
#pragma unroll
  for (int j = 0; j < kChoicePixels / 2; ++j) {
    const uint32_t both = __vcmpne2(a[j], b[j]);
    bits |= ((both & 1) | (both >> 15 & 2)) << 2 * j;
  }
  return bits;
}
// The numbers one further to the right; `beyond` follows the last.
__device__ inline void shift(const Row& row, uint32_t beyond, Row& to) {
#pragma unroll
  for (int j = 0; j < kChoicePixels / 2; ++j) {
    to[j] = row[j] >> 16 | (j + 1 < kChoicePixels / 2 ? row[j + 1] : beyond) << 16;
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
      for (int j = 0; j < kChoicePixels / 8; ++j) {
        const uint4 four = from[j];
        to[4 * j] = four.x, to[4 * j + 1] = four.y, to[4 * j + 2] = four.z, to[4 * j + 3] = four.w;
      }
      shift(to, x + kChoicePixels < PieceTile::width ? s.component[row][x + kChoicePixels] : 0,
            to_right);
    };
    const uint32_t here_inside = count >= kChoicePixels ? 0xffffu : (1u << count) - 1;
    // The last pixel of the picture or of the tile has none on its right.
    const bool goes_on = x + kChoicePixels < PieceTile::width && count > kChoicePixels;
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
    const uint32_t new_right = right & (below | below >> 1 | 1u << (kChoicePixels - 1));
    bits = new_right | new_below << 16;
  }
};

}  // namespace regions::slic

#endif
