// Where the nodes of a band touch those of earlier bands: in a tile by itself, or across tiles.
#pragma once

#include <concepts>

#include "gpu/cclabel/volumes/pieces.hpp"
#include "gpu/cclabel/volumes/volume.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// Contacts that lists have room for, a thread.
inline constexpr int kPairs = 4;

// How rows touch that lie beside each other.
enum class Reach : uint8_t {
  straight,  // equal columns of one row each
  slanted,   // columns beside each other, too; rows put together
  crossed,   // of two rows beside two: slanted to the one at its place, straight to the other one
};

// Rows `near` of a band (steps from its first row and slice, `rows` of `slices` of them) beside
// rows `far` of one earlier band.
struct Touch {
  int8_t near_y, near_z, far_y, far_z;
  int8_t rows, slices;
  Reach reach;
  __device__ constexpr bool is_slanted() const { return reach != Reach::straight; }
};

// The touches by connectivity, where that is more than face to face (straight.hpp).
template <Connectivity connectivity>
struct Touches;
template <>
struct Touches<Connectivity::eighteen> {
  static constexpr int count = 4;
  __device__ static constexpr Touch of(int k) {
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 2, Reach::crossed},
                             {0, 0, 0, -1, 2, 1, Reach::crossed},
                             {0, 0, -1, -1, 1, 1, Reach::straight},
                             {1, 0, 2, -1, 1, 1, Reach::straight}};
    return all[k];
  }
};
template <>
struct Touches<Connectivity::twenty_six> {
  static constexpr int count = 4;
  __device__ static constexpr Touch of(int k) {
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 2, Reach::slanted},
                             {0, 0, 0, -1, 2, 1, Reach::slanted},
                             {0, 0, -1, -1, 1, 1, Reach::slanted},
                             {1, 0, 2, -1, 1, 1, Reach::slanted}};
    return all[k];
  }
};

// Calls use(touch) for touch k, which a warp has in common: each is compiled by itself.
template <Connectivity connectivity, int k = 0, class Use>
__device__ void with_touch(int wanted, const Use& use) {
  if constexpr (k < Touches<connectivity>::count) {
    if (wanted == k) {
      constexpr Touch touch = Touches<connectivity>::of(k);
      use(touch);
    } else {
      with_touch<connectivity, k + 1>(wanted, use);
    }
  }
}

// Rows and bands in shared memory, of a tile by itself or with what lies around it:
//   row(w, y, z)          the word w of a row; 0 outside
//   word(w, y, z)         the number of the band's word that holds it
//   starts(word)          the first columns of that word's nodes
//   first_of(word)        the number of the first of them
template <class S>
concept BandSpace = requires(const S& s, int i, uint32_t word) {
  { s.row(i, i, i) } -> std::convertible_to<uint32_t>;
  { s.word(i, i, i) } -> std::convertible_to<uint32_t>;
  { s.starts(word) } -> std::convertible_to<uint32_t>;
  { s.first_of(word) } -> std::convertible_to<uint32_t>;
};

// A band's word of a BandSpace, and its first row and slice there.
struct Spot {
  uint32_t word;
  int w, y, z;
};

// The two rows of a touch, at one place; the second one is 0 where it has one only.
struct RowPair {
  uint32_t row[2];

  template <BandSpace Space>
  __device__ RowPair(const Space& s, const Touch& t, int w, int y, int z)
      : row{s.row(w, y, z), t.rows == 2     ? s.row(w, y + 1, z)
                            : t.slices == 2 ? s.row(w, y, z + 1)
                                            : 0} {}
  __device__ uint32_t joint() const { return row[0] | row[1]; }
};

// The lowest bit of each piece of `bits`, whose pieces begin at the bits of `begins`. A carry runs
// up from where a piece begins to its first bit, or to its end.
__device__ inline uint32_t first_of_pieces(uint32_t bits, uint32_t begins) {
  return ((~bits & ~(begins >> 1)) + begins) & bits;
}

// The corners of a row's voxels; corner c lies left of column c.
__device__ inline uint32_t corners_of(uint32_t row) { return row | row << 1; }

// Where the nodes of one word touch those of one other band, a bit for each pair of nodes as far as
// pairs follow each other: the last one, gaps included, of a pair. A bit is of a column, or of the
// corner left of it; then the column to its right counts where a row that matters has it, else the
// one to its left. Corner 32 is not needed: what touches there does so at 31.
struct Contacts {
  uint32_t touching = 0;
  uint32_t near = 0, starts = 0, first = 0;             // of the band: rows that matter, nodes
  uint32_t far = 0, other_starts = 0, other_first = 0;  // the same of the other

  Contacts() = default;
  template <BandSpace Space>
  __device__ Contacts(const Space& s, const Spot& spot, const Touch& t) {
    const int near_y = spot.y + t.near_y, near_z = spot.z + t.near_z;
    const int far_y = spot.y + t.far_y, far_z = spot.z + t.far_z;
    const RowPair rows(s, t, 0, near_y, near_z), facing(s, t, 0, far_y, far_z);
    near = rows.joint();
    far = facing.joint();
    uint32_t touch, known = 0;
    switch (t.reach) {
      case Reach::slanted:
        touch = corners_of(near) & corners_of(far);
        break;
      case Reach::crossed:
        touch = (corners_of(rows.row[0]) & corners_of(facing.row[0])) |
                (corners_of(rows.row[1]) & corners_of(facing.row[1])) |
                // both nodes have the column right of the corner
                (rows.row[0] & facing.row[1]) | (rows.row[1] & facing.row[0]);
        break;
      default:
        touch = near & far;
    }
    if (t.near_y != t.far_y && t.near_z != t.far_z) {
      // Across an edge: a voxel beside both that touches both joins them.
      const uint32_t middle = s.row(0, far_y, near_z) | s.row(0, near_y, far_z);
      known = corners_of(middle) | (t.is_slanted() ? 0 : middle >> 1);
    } else if (t.near_z != t.far_z) {
      // Four voxels around an edge need three links: nodes of the slice before are joined by the
      // rows above, where those touch.
      known = corners_of(rows.row[0]) & corners_of(facing.row[0]) &
              corners_of(s.row(0, near_y - 1, near_z)) & corners_of(s.row(0, near_y - 1, far_z));
    }
    if (!t.is_slanted()) touch &= ~known;
    if (touch == 0) return;
    const uint32_t other = s.word(0, far_y, far_z);
    starts = s.starts(spot.word);
    first = s.first_of(spot.word);
    other_starts = s.starts(other);
    other_first = s.first_of(other);
    if (!t.is_slanted()) {
      // Nodes are counted by columns alone. Bits are so few that some may tell the same, but for
      // those beside each other.
      near = far = ~0u;
      touching = touch & ~(touch << 1 & ~(starts | other_starts));
      return;
    }
    const uint32_t begins = begins_of(starts, near) | begins_of(other_starts, far);
    touching = ends_of_pieces(touch, begins) & ~ends_of_pieces(touch & known, begins);
  }

  // Calls visit(node, other) for the first contact of each node, which is taken off.
  template <class Visit>
  __device__ void take_firsts(const Visit& visit) {
    if (touching == 0) return;
    Contacts firsts = *this;
    firsts.touching = first_of_pieces(touching, begins_of(starts, near) | 1);
    touching &= ~firsts.touching;
#pragma unroll 1  // they are few
    while (firsts.touching) {
      const uint2 nodes = firsts.take();
      visit(nodes.x, nodes.y);
    }
  }

  __device__ int count() const { return __popc(touching); }

  // The nodes of a contact that is left, which is taken off.
  __device__ uint2 take() {
    const uint32_t beyond = touching & (touching - 1), bit = touching ^ beyond;
    touching = beyond;
    // Nodes are counted by the columns up to their own.
    const uint32_t before = bit - 1;
    const auto node = [&](uint32_t begin, uint32_t columns, uint32_t rows_columns) {
      return begin + static_cast<uint32_t>(__popc(columns & (before | (rows_columns & bit)))) - 1;
    };
    return {node(first, starts, near), node(other_first, other_starts, far)};
  }

 private:
  // From which columns or corners on nodes count: from their first columns, or one later, where no
  // row that matters has that column.
  __device__ static uint32_t begins_of(uint32_t columns, uint32_t rows_columns) {
    return (columns & rows_columns) | (columns & ~rows_columns) << 1;
  }
};

}  // namespace regions::volumes

#endif
