// Where the runs of a band touch those of earlier bands: in a tile by itself, or across tiles.
#pragma once

#include "gpu/cclabel/warp.hpp"
#include "gpu/volumes/volume.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// Rows `near` of a band (steps from its first row and slice, `rows` of `slices` put together)
// beside rows `far` of one earlier band. Slanted: columns beside each other are neighbours too.
// Crossed: two rows beside two, slanted to the one at the same place and straight to the other one.
struct Touch {
  int8_t near_y, near_z, far_y, far_z;
  int8_t rows, slices;
  bool slanted;
  bool crossed = false;
};

// The touches by connectivity. That of runs in neighbouring words of a band comes before all.
template <Connectivity connectivity>
struct Touches;
template <>
struct Touches<Connectivity::six> {
  static constexpr int count = 2;
  __device__ static constexpr Touch of(int k) {
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 1, false}, {0, 0, 0, -1, 1, 1, false}};
    return all[k];
  }
};
template <>
struct Touches<Connectivity::eighteen> {
  static constexpr int count = 4;
  __device__ static constexpr Touch of(int k) {
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 1, true},
                             {0, 0, 0, -1, 2, 1, true, true},
                             {0, 0, -1, -1, 1, 1, false},
                             {1, 0, 2, -1, 1, 1, false}};
    return all[k];
  }
};
template <>
struct Touches<Connectivity::twenty_six> {
  static constexpr int count = 4;
  __device__ static constexpr Touch of(int k) {
    // Two rows or two slices put together, as all their voxels are neighbours of the others'.
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 2, true},
                             {0, 0, 0, -1, 2, 1, true},
                             {0, 0, -1, -1, 1, 1, true},
                             {1, 0, 2, -1, 1, 1, true}};
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
//   row(w, y, z)   the word w of a row; 0 outside
//   holds(y, z)    whether there is such a row
//   word(w, y, z)  the number of the band's word that holds it
//   band(word)     that word
struct Spot {
  uint32_t word;
  int w, y, z;
};

template <class Space>
__device__ uint32_t joint_bits(const Space& s, const Touch& t, int w, int y, int z) {
  uint32_t bits = s.row(w, y, z);
  if (t.slices == 2) bits |= s.row(w, y, z + 1);
  if (t.rows == 2) bits |= s.row(w, y + 1, z);
  return bits;
}

// The corners at which voxels of a row touch those of another, whose last voxel before the word and
// first one behind it are given. Corner c, 0..32, lies left of column c.
__device__ inline uint64_t touching_corners(uint32_t near, uint32_t far, uint32_t before,
                                            uint32_t behind) {
  const uint64_t beside = far | static_cast<uint64_t>(far) << 1 | (before & 1) |
                          static_cast<uint64_t>(behind & 1) << 32;
  return (near | static_cast<uint64_t>(near) << 1) & beside;
}

// The places where the runs of one word touch those of one other band. Where a pair of runs touches
// in consecutive places, the first one stands for all. A place is, straight, bit c; slanted, the
// corner left of it, 0..32.
struct Contacts {
  uint64_t places = 0;
  uint32_t word = 0, own = 0;                                  // of the band
  uint32_t other_word = 0, before = 0, other = 0, behind = 0;  // of the other, and beside it
  uint32_t far = 0;                                            // the other band's rows that matter
  // Besides, the run at the word's first bit goes on from the word before.
  bool goes_on = false;

  Contacts() = default;
  template <class Space>
  __device__ Contacts(const Space& s, const Spot& spot, const Touch& t) : word(spot.word) {
    own = s.band(word);
    const int y = spot.y + t.far_y, z = spot.z + t.far_z;
    if (own == 0 || !s.holds(y, z)) return;
    const uint32_t near = joint_bits(s, t, spot.w, spot.y + t.near_y, spot.z + t.near_z);
    if (near == 0) return;
    far = joint_bits(s, t, spot.w, y, z);
    other_word = s.word(spot.w, y, z);
    other = s.band(other_word);
    uint64_t touch = 0;
    // A pair of rows or of joint rows.
    const auto add_corners = [&](uint32_t row, uint32_t facing, uint32_t left, uint32_t right) {
      const uint32_t enters = row & left >> 31, leaves = row >> 31 & right;
      if (enters & 1) before = s.band(other_word - 1);
      if (leaves & 1) behind = s.band(other_word + 1);
      touch |= touching_corners(row, facing, enters, leaves);
    };
    if (t.crossed) {
      uint32_t rows[2], facing[2];
      for (int k = 0; k < 2; ++k) {
        rows[k] = s.row(spot.w, spot.y + k, spot.z);
        facing[k] = s.row(spot.w, y + k, z);
        add_corners(rows[k], facing[k], s.row(spot.w - 1, y + k, z), s.row(spot.w + 1, y + k, z));
      }
      // Column c stands for the corner left of it, as both runs have it.
      touch |= (rows[0] & facing[1]) | (rows[1] & facing[0]);
    } else if (t.slanted) {
      add_corners(near, far, joint_bits(s, t, spot.w - 1, y, z),
                  joint_bits(s, t, spot.w + 1, y, z));
    } else {
      touch = near & far;
    }
    // Rows that touch across a corner of bands need not, where a voxel of the row that is beside
    // both does.
    if (t.near_y != t.far_y && t.near_z != t.far_z) {
      const uint32_t middle =
          s.row(spot.w, y, spot.z + t.near_z) | s.row(spot.w, spot.y + t.near_y, z);
      touch &= ~(t.slanted ? middle | static_cast<uint64_t>(middle) << 1 : middle);
    }
    // Nothing in this word tells whether the other band's next word begins a run.
    const uint64_t kept = static_cast<uint64_t>(behind & 1) << 32;
    places = touch & (~(touch << 1) | starts_of(own) | starts_of(other) | kept);
  }

  // Keeps those that leave the word to its left or right.
  __device__ void keep_sideways() {
    const uint64_t left = before >> 31 & ~far & 1, right = behind & ~(far >> 31) & 1;
    places &= left | right << 32;
  }

  __device__ int count() const { return __popcll(places) + goes_on; }

  // The nodes of a contact that is left, which is taken off.
  template <class Space>
  __device__ void take(const Space& s, uint32_t& node, uint32_t& other_node) {
    if (goes_on) {
      goes_on = false;
      node = word * 16;
      other_node = node_of(word - 1, s.band(word - 1), 31);
      return;
    }
    const int c = __ffsll(static_cast<long long>(places)) - 1;
    places &= places - 1;
    node = node_of(word, own, has(own, c) ? c : c - 1);
    if (has(far, c)) {
      other_node = node_of(other_word, other, c);
    } else if (c == 0) {
      other_node = node_of(other_word - 1, before, 31);
    } else if (c == 32 && !has(far, 31)) {
      other_node = node_of(other_word + 1, behind, 0);
    } else {
      other_node = node_of(other_word, other, c - 1);
    }
  }

 private:
  __device__ static bool has(uint32_t bits, int c) { return c < 32 && bits >> c & 1; }
};

// Calls visit(pair, exists) by the whole warp for the contacts of all its lanes, shared out evenly;
// `list` has room for kPairs of each lane.
inline constexpr int kPairs = 4;
template <class Space, class Visit>
__device__ void for_each_contact(const Space& s, Contacts& contacts, uint2 (&list)[32 * kPairs],
                                 const Visit& visit) {
  const uint32_t lane = threadIdx.x % 32;
  while (__any_sync(cclabel::kAllLanes, contacts.count() != 0)) {
    const auto mine = static_cast<uint32_t>(min(contacts.count(), kPairs));
    const uint32_t end = cclabel::warp_prefix_sum(mine);
    for (uint32_t at = end - mine; at < end; ++at) contacts.take(s, list[at].x, list[at].y);
    const uint32_t all = __shfl_sync(cclabel::kAllLanes, end, 31);
    __syncwarp();  // the list is complete
    for (uint32_t at = 0; at < all; at += 32) {
      const bool exists = at + lane < all;
      visit(exists ? list[at + lane] : uint2{}, exists);
    }
    __syncwarp();  // the list may be used again
  }
}

}  // namespace regions::volumes

#endif
