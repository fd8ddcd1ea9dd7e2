// Where the runs of a band touch those of earlier bands.
#pragma once

#include "gpu/volumes/volume.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// Rows `near` of a band (steps from its first row and slice, `rows` of `slices` put together)
// beside rows `far` of one earlier band. Slanted: columns beside each other are neighbours too.
struct Touch {
  int8_t near_y, near_z, far_y, far_z;
  int8_t rows, slices;
  bool slanted;
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
  static constexpr int count = 7;
  __device__ static constexpr Touch of(int k) {
    constexpr Touch all[] = {{0, 0, -1, 0, 1, 1, true},  {0, 0, 0, -1, 1, 1, true},
                             {1, 0, 1, -1, 1, 1, true},  {0, 0, 1, -1, 1, 1, false},
                             {1, 0, 0, -1, 1, 1, false}, {0, 0, -1, -1, 1, 1, false},
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

__device__ inline uint32_t joint_bits(const Volume& v, const BandPlace& place, const Touch& t,
                                      int w, int y, int z) {
  uint32_t bits = bits_at(v, place, w, place.y + y, place.z + z);
  if (t.slices == 2) bits |= bits_at(v, place, w, place.y + y, place.z + z + 1);
  if (t.rows == 2) bits |= bits_at(v, place, w, place.y + y + 1, place.z + z);
  return bits;
}

// The places where the runs of one word touch those of one other band. Where a pair of runs touches
// in consecutive places, the first one stands for all. A place is, straight, bit c; slanted, the
// corner left of it, 0..32.
struct Contacts {
  uint64_t places = 0;
  uint32_t word, own;                                          // of the band
  uint32_t other_word = 0, before = 0, other = 0, behind = 0;  // of the other, and beside it
  uint32_t far = 0;                                            // the other band's rows that matter
  bool slanted;

  __device__ Contacts(const Volume& v, const BandPlace& place, const Touch& t)
      : word(place.word), slanted(t.slanted) {
    own = v.band[word];
    const int y = place.y + t.far_y, z = place.z + t.far_z;
    if (own == 0 || y < 0 || z < 0 || y >= v.stack.slice.height) return;
    const uint32_t near = joint_bits(v, place, t, place.w, t.near_y, t.near_z);
    if (near == 0) return;
    far = joint_bits(v, place, t, place.w, t.far_y, t.far_z);
    const uint32_t band = place.first + (static_cast<uint32_t>(z >> (v.band_slices - 1)) *
                                             static_cast<uint32_t>(v.bands_y) +
                                         static_cast<uint32_t>(y >> (v.band_rows - 1))) *
                                            static_cast<uint32_t>(v.words);
    other_word = band + static_cast<uint32_t>(place.w);
    other = v.band[other_word];
    uint64_t touch;
    if (slanted) {
      if ((near & 1) && place.w > 0 &&
          joint_bits(v, place, t, place.w - 1, t.far_y, t.far_z) >> 31) {
        before = v.band[other_word - 1];
      }
      if (near >> 31 && place.w + 1 < v.words &&
          (joint_bits(v, place, t, place.w + 1, t.far_y, t.far_z) & 1)) {
        behind = v.band[other_word + 1];
      }
      const uint64_t corners = near | static_cast<uint64_t>(near) << 1;
      const uint64_t beside = far | static_cast<uint64_t>(far) << 1 |
                              static_cast<uint64_t>(before >> 31) |
                              static_cast<uint64_t>(behind & 1) << 32;
      touch = corners & beside;
    } else {
      touch = near & far;
    }
    if (t.near_y != t.far_y && t.near_z != t.far_z) touch &= ~between(v, place, t);
    // Nothing in this word tells whether the other band's next word begins a run.
    const uint64_t kept = static_cast<uint64_t>(behind & 1) << 32;
    places = touch & (~(touch << 1) | starts_of(own) | starts_of(other) | kept);
  }

  // The nodes that touch at the first place left, which is taken off.
  __device__ void take(uint32_t& node, uint32_t& other_node) {
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
  // Rows that touch across a corner of bands need not, where a voxel of the row that is beside both
  // does.
  __device__ uint64_t between(const Volume& v, const BandPlace& place, const Touch& t) const {
    const uint32_t middle = bits_at(v, place, place.w, place.y + t.far_y, place.z + t.near_z) |
                            bits_at(v, place, place.w, place.y + t.near_y, place.z + t.far_z);
    return slanted ? middle | static_cast<uint64_t>(middle) << 1 : middle;
  }
  __device__ static bool has(uint32_t bits, int c) { return c < 32 && bits >> c & 1; }
};

// The node that the run at the word's first bit goes on from in the word before, or kNone.
__device__ inline uint32_t node_before(const Volume& v, const BandPlace& place) {
  if (place.w == 0 || !(v.band[place.word] & 1)) return kNone;
  const uint32_t bits = v.band[place.word - 1];
  return bits >> 31 ? node_of(place.word - 1, bits, 31) : kNone;
}

}  // namespace regions::volumes

#endif
