// Where the nodes of a tile touch those of the tiles before, slanted or across edges: words that
// face a tile before, and all words' first and last columns; only as far as that tells something
// new.
#pragma once

#include "gpu/cclabel/volumes/contacts.hpp"
#include "gpu/cclabel/volumes/seam.hpp"
#include "gpu/primitives/block_list.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// The columns of a row at a word's sides: of the word the first (bit 0) and the last (bit 2), and
// beside them the ones of the words before (bit 1) and behind (bit 3).
struct Sides {
  static constexpr uint32_t kInside = 5;  // bits of the word itself
  uint32_t bits;

  __device__ Sides(uint32_t bits_) : bits(bits_) {}
  template <BandSpace Space>
  __device__ Sides(const Space& s, int y, int z) {
    bits = (s.row(0, y, z) & 1) | s.row(-1, y, z) >> 31 << 1 | s.row(0, y, z) >> 31 << 2 |
           (s.row(1, y, z) & 1) << 3;
  }
  __device__ Sides operator|(Sides other) const { return bits | other.bits; }
  // At the word's columns: those, and those beside them.
  __device__ uint32_t inside() const { return bits; }
  __device__ uint32_t beside() const { return bits >> 1; }
  __device__ uint32_t any() const { return bits | bits >> 1; }
  // Whether both columns at the word's first side are there, of this and of another.
  __device__ bool has_both(Sides other) const { return (bits & other.bits & 3) == 3; }
};

// A thread's contacts of a Seam with tiles before.
template <class T, Connectivity connectivity, class Space>
struct SlantedSeam {
  static constexpr int kBandsY = Space::Inner::kBandsY, kBandsZ = Space::Inner::kBandsZ;
  static constexpr int kBands = Space::Inner::kBands;
  // A picture's neighbours are in its own slice: the first touch.
  static constexpr int kTouches = T::slices == 1 ? 1 : Touches<connectivity>::count;

  Contacts facing;
  // Of a band's word: bit 0, the node at the first column goes on from the word before; bits
  // 4 * touch + 4 and + 6, the node at the first or last column touches one in the word beside.
  uint32_t sides = 0;
  Spot spot;

  // A warp has one touch, a lane one of the words that face a tile before by it.
  __device__ explicit SlantedSeam(const Space& s) {
    constexpr int kWarps = Space::kThreads / 32;
    static_assert(kTouches <= kWarps && kBands <= Space::kThreads, "a thread has one of each");
    const int i = static_cast<int>(threadIdx.x), lane = i % 32;
    if (i < kBands) {
      spot = Space::Inner::spot(i);
      spot.word = Space::word(0, spot.y, spot.z);
      find_sides(s);
    }
    const int touch = kWarps - 1 - i / 32;
    if (touch >= kTouches) return;
    with_touch<connectivity>(touch, [&](const Touch& t) {
      const int slabs = t.far_y == t.near_y ? 0 : kBandsZ, bands = t.far_z == 0 ? 0 : kBandsY;
      // Slabs, at their first or last band; then the bands of the first slab that are left.
      const int edge = t.far_y < 0 ? 0 : kBandsY - 1;
      int y = edge, z = lane;
      if (lane >= slabs) {
        z = 0;
        y = lane - slabs + (slabs && edge == 0);
      }
      if (lane >= slabs + bands - (slabs && bands)) return;
      Spot word = {0, 0, y * kBandRows, z * Space::Inner::kBandSlices};
      word.word = Space::word(0, word.y, word.z);
      facing = Contacts(s, word, t);
    });
  }

  // What is known here: nodes that touch in a word's own columns are joined by those. What touches
  // beside it is told only where no other column around the corner is set, which would join both.
  __device__ void find_sides(const Space& s) {
    const int y = spot.y, z = spot.z;
    const Sides row0(s, y, z), row1(s, y + 1, z), row2(s, y, z + 1), row3(s, y + 1, z + 1);
    const Sides above1(s, y - 1, z), above3(s, y - 1, z + 1);
    const Sides before2(s, y, z - 1), before3(s, y + 1, z - 1);
    // Two rows beside two.
    const auto pair = [&](const Sides& a, const Sides& b, const Sides& far_a, const Sides& far_b) {
      const Sides near = a | b, far = far_a | far_b;
      const uint32_t free = ~far.inside() & ~near.beside() & Sides::kInside;
      if constexpr (connectivity == Connectivity::twenty_six) {
        return near.inside() & far.beside() & free;
      } else {
        return ((a.inside() & far_a.beside()) | (b.inside() & far_b.beside())) & free;
      }
    };
    sides = pair(row0, row2, above1, above3) << 4;
    if (kTouches > 1) sides |= pair(row0, row1, before2, before3) << 8;
    if constexpr (connectivity == Connectivity::twenty_six) {
      const auto one = [&](const Sides& near, const Sides& far, const Sides& middle) {
        return near.inside() & far.beside() & ~far.inside() & ~near.beside() & ~middle.any() &
               Sides::kInside;
      };
      sides |= one(row0, Sides(s, y - 1, z - 1), above1 | before2) << 12;
      sides |= one(row1, Sides(s, y + 2, z - 1), Sides(s, y + 2, z) | before3) << 16;
    }
    const bool is_known = (row0 | row2).has_both(above1 | above3) ||
                          (kTouches > 1 && (row0 | row1).has_both(before2 | before3));
    if (is_known) return;
    const auto of = [&](uint32_t bit) {
      const auto at = [&](const Sides& row) { return row.bits >> bit & 1; };
      return BandWords{{at(row0), at(row1), at(row2), at(row3)}};
    };
    sides |= of(0).linked_to(of(1), connectivity);
  }

  // Takes as many contacts as a list has room for, of which `count` are there; adds up all.
  template <uint32_t most>
  __device__ void take(const Space& s, uint2 (&list)[most], uint32_t& count) {
    const auto mine = static_cast<uint32_t>(facing.count() + __popc(sides));
    uint32_t at = reserve_entries(count, mine);
    const uint32_t stop = min(at + mine, most);
    for (; at < stop && facing.count(); ++at) list[at] = facing.take();
    for (; at < stop; ++at) list[at] = take_side(s);
  }

 private:
  __device__ uint2 take_side(const Space& s) {
    const int bit = __ffs(static_cast<int>(sides)) - 1;
    sides &= sides - 1;
    const auto last_of = [&](uint32_t word) {
      return s.first_of(word) + static_cast<uint32_t>(__popc(s.starts(word))) - 1;
    };
    const int touch = bit / 4;  // 0: goes on
    const int y = touch == 0 || touch == 2 ? 0 : touch == 4 ? kBandRows : -1;
    const uint32_t other = Space::word(0, spot.y + y, spot.z - (touch > 1));
    if (bit & 2) return {last_of(spot.word), s.first_of(other + 1)};
    return {s.first_of(spot.word), last_of(other - 1)};
  }
};

}  // namespace regions::volumes

#endif
