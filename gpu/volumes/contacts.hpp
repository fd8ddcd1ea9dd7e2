// Where the nodes of a band touch those of earlier bands: in a tile by itself, or across tiles.
#pragma once

#include "gpu/cclabel/warp.hpp"
#include "gpu/volumes/volume.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// How rows touch that lie beside each other.
enum class Reach : uint8_t {
  straight,  // equal columns; of two rows beside two, each to the one at its place
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

// The touches by connectivity. That of nodes in neighbouring words of a band comes before all.
template <Connectivity connectivity>
struct Touches;
template <>
struct Touches<Connectivity::six> {
  static constexpr int count = 2;
  __device__ static constexpr Touch of(int k) {
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 1, Reach::straight},
                             {0, 0, 0, -1, 2, 1, Reach::straight}};
    return all[k];
  }
};
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

// A band's word of a Space, and its first row and slice there. A Space has
//   row(w, y, z)          the word w of a row; 0 outside
//   holds(y, z)           whether there is such a row
//   word(w, y, z)         the number of the band's word that holds it
//   starts(word)          the first columns of that word's nodes
//   first_of(word)        the number of the first of them
//   kIsStraight           whether all touches are straight
//   kIsAlone              whether there is no word beside another
struct Spot {
  uint32_t word;
  int w, y, z;
};

// The two rows of a touch, at one place; the second one is 0 where it has one only.
struct RowPair {
  uint32_t row[2];

  template <class Space>
  __device__ RowPair(const Space& s, const Touch& t, int w, int y, int z)
      : row{s.row(w, y, z), t.rows == 2     ? s.row(w, y + 1, z)
                            : t.slices == 2 ? s.row(w, y, z + 1)
                                            : 0} {}
  __device__ uint32_t joint() const { return row[0] | row[1]; }
};

// The corners at which voxels of a row touch those of another, whose last voxel before the word and
// first one behind it are given. Corner c, 0..32, lies left of column c.
__device__ inline uint64_t touching_corners(uint32_t near, uint32_t far, uint32_t before,
                                            uint32_t behind) {
  const uint64_t beside =
      far | static_cast<uint64_t>(far) << 1 | before | static_cast<uint64_t>(behind) << 32;
  return (near | static_cast<uint64_t>(near) << 1) & beside;
}

// The lowest bit of each piece of `bits`, whose pieces begin at the bits of `begins`. A carry runs
// up from where a piece begins to its first bit, or to its end.
template <class Bits>
__device__ Bits first_of_pieces(Bits bits, Bits begins) {
  return ((~bits & ~(begins >> 1)) + begins) & bits;
}

// The places where the nodes of one word touch those of one other band, one for each pair of nodes
// as far as pairs follow each other. A place is a column, or, slanted, the corner left of it,
// 0..32; then the column to its right counts where a row that matters has it, else the one to its
// left.
struct Contacts {
  uint64_t places = 0;
  uint32_t word = 0, near = 0, starts = 0;             // of the band: rows that matter, nodes
  uint32_t other_word = 0, far = 0, other_starts = 0;  // the same of the other
  uint32_t first = 0, other_first = 0;                 // nodes of the words
  bool enters = false, leaves = false;  // place 0, 32 touches the other's word before, behind
  // Besides, the node at the word's first column goes on from the word before.
  bool goes_on = false;

  Contacts() = default;
  template <class Space>
  __device__ Contacts(const Space& s, const Spot& spot, const Touch& t) : word(spot.word) {
    const int y = spot.y + t.far_y, z = spot.z + t.far_z;
    if (!s.holds(y, z)) return;
    const RowPair rows(s, t, spot.w, spot.y + t.near_y, spot.z + t.near_z);
    near = rows.joint();
    if (near == 0) return;
    const RowPair facing(s, t, spot.w, y, z);
    far = facing.joint();
    uint64_t touch = 0;
    if (t.is_slanted()) {
      const RowPair left(s, t, spot.w - 1, y, z), right(s, t, spot.w + 1, y, z);
      const auto add = [&](uint32_t row, uint32_t other, uint32_t before, uint32_t behind) {
        const uint32_t in = row & before >> 31, out = row >> 31 & behind;
        enters |= in & 1;
        leaves |= out & 1;
        touch |= touching_corners(row, other, in & 1, out & 1);
      };
      if (t.reach == Reach::slanted) {
        add(near, far, left.joint(), right.joint());
      } else {
        for (int k = 0; k < 2; ++k) add(rows.row[k], facing.row[k], left.row[k], right.row[k]);
        // Both nodes have the column right of the corner.
        touch |= (rows.row[0] & facing.row[1]) | (rows.row[1] & facing.row[0]);
      }
    } else {
      touch = (rows.row[0] & facing.row[0]) | (rows.row[1] & facing.row[1]);
    }
    // Rows that touch across a corner of bands need not, where a voxel of the row that is beside
    // both does.
    if (t.near_y != t.far_y && t.near_z != t.far_z) {
      const uint32_t middle =
          s.row(spot.w, y, spot.z + t.near_z) | s.row(spot.w, spot.y + t.near_y, z);
      touch &= ~(t.is_slanted() ? middle | static_cast<uint64_t>(middle) << 1 : middle);
    }
    if (touch == 0) return;
    other_word = s.word(spot.w, y, z);
    starts = s.starts(word);
    first = s.first_of(word);
    other_starts = s.starts(other_word);
    other_first = s.first_of(other_word);
    // A node may count from its first column on, or one place later, where no row that matters has
    // that column. Nothing in this word tells where the other band's next word begins a node.
    const auto later = [](uint32_t columns, uint32_t rows_columns) {
      return columns | static_cast<uint64_t>(columns & ~rows_columns) << 1;
    };
    const uint64_t begins = later(starts, near) | later(other_starts, far) | (touch & 1) |
                            static_cast<uint64_t>(leaves) << 32;
    if (Space::kIsAlone) {  // what touches at corner 32 does so at 31
      places = first_of_pieces(static_cast<uint32_t>(touch), static_cast<uint32_t>(begins));
    } else {
      places = first_of_pieces(touch, begins);
    }
  }

  // Keeps those that leave the word to its left or right.
  __device__ void keep_sideways() {
    const uint64_t left = enters & ~far & 1, right = leaves & ~(far >> 31) & 1;
    places &= left | right << 32;
  }

  __device__ int count() const { return __popcll(places) + goes_on; }

  // The nodes of a contact that is left, which is taken off.
  template <class Space>
  __device__ void take(const Space& s, uint32_t& node, uint32_t& other_node) {
    if (!Space::kIsAlone && goes_on) {
      goes_on = false;
      node = s.first_of(word);
      other_node = last_of(s, word - 1);
      return;
    }
    const uint64_t beyond = places & (places - 1);
    const auto bit = static_cast<uint32_t>(places ^ beyond);  // none: corner 32
    places = beyond;
    // Nodes are counted by the columns up to their own.
    const uint32_t before = bit - 1;
    node = first + static_cast<uint32_t>(__popc(starts & (before | (near & bit)))) - 1;
    other_node =
        other_first + static_cast<uint32_t>(__popc(other_starts & (before | (far & bit)))) - 1;
    if (Space::kIsAlone) return;
    if (bit == 1 && !(far & 1)) other_node = last_of(s, other_word - 1);
    if (bit == 0 && !(far >> 31)) other_node = s.first_of(other_word + 1);
  }

 private:
  template <class Space>
  __device__ static uint32_t last_of(const Space& s, uint32_t word) {
    return s.first_of(word) + static_cast<uint32_t>(__popc(s.starts(word))) - 1;
  }
};

// Calls visit(pair, exists) by the whole warp for the contacts of all its lanes, shared out evenly;
// `list` has room for kPairs of each lane.
inline constexpr int kPairs = 4;
template <class Space, class Contacts, class Pair, class Visit>
__device__ void for_each_contact(const Space& s, Contacts& contacts, Pair (&list)[32 * kPairs],
                                 const Visit& visit) {
  const uint32_t lane = threadIdx.x % 32;
  while (__any_sync(cclabel::kAllLanes, contacts.count() != 0)) {
    const auto mine = static_cast<uint32_t>(min(contacts.count(), kPairs));
    const uint32_t end = cclabel::warp_prefix_sum(mine);
    for (uint32_t at = end - mine; at < end; ++at) {
      uint32_t node, other;
      contacts.take(s, node, other);
      list[at].x = node;  // as narrow as the Space's nodes
      list[at].y = other;
    }
    const uint32_t all = __shfl_sync(cclabel::kAllLanes, end, 31);
    __syncwarp();  // the list is complete
    for (uint32_t at = 0; at < all; at += 32) {
      const bool exists = at + lane < all;
      visit(exists ? list[at + lane] : Pair{}, exists);
    }
    __syncwarp();  // the list may be used again
  }
}

}  // namespace regions::volumes

#endif
