// Where the nodes of a tile's word touch those of the bands before, face to face alone: whole words
// at a time, and only as far as that tells something new.
#pragma once

#include "gpu/cclabel/volumes/pieces.hpp"
#include "gpu/cclabel/volumes/tile.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// The nodes of one band before.
struct FacingNodes {
  uint32_t touching = 0;            // a column for each pair of nodes that touch
  uint32_t starts = 0, before = 0;  // as a tile has them

  // The node that has a column, by that column and all before it.
  __device__ uint32_t node(uint32_t up_to) const {
    return before + static_cast<uint32_t>(__popc(starts & up_to)) - 1;
  }
};

// Of a word, every kParts-th node. A pair of nodes is known by the last column that both have, gaps
// of theirs included: where neither band begins another one behind it.
template <TileNodes Space>
struct StraightContacts {
  FacingNodes facing[2];  // the band before in the slice, the one in the slice before
  uint32_t row[2];
  uint32_t word, first_voxel;  // of the band

  __device__ StraightContacts(const Space& s, const Spot& spot) {
    word = spot.word;
    row[0] = s.row(0, spot.y, spot.z);
    row[1] = s.row(0, spot.y + 1, spot.z);
    first_voxel = static_cast<uint32_t>(spot.z * Space::kRows + spot.y) * 32;
    const uint32_t starts = s.node_starts[spot.word];
    const uint32_t above = s.row(0, spot.y - 1, spot.z);
    const uint32_t touch_above = row[0] & above;
    if (touch_above) {
      FacingNodes& f = facing[0];
      f.starts = s.node_starts[spot.word - 1];
      f.before = s.nodes_before[spot.word - 1];
      f.touching = ends_of_pieces(touch_above, starts | f.starts);
    }
    if (Space::kSlices == 1 || spot.z == 0) return;
    const uint32_t touch = row[0] & s.row(0, spot.y, spot.z - 1);
    const uint32_t touch_behind = touch | (row[1] & s.row(0, spot.y + 1, spot.z - 1));
    // Four voxels around an edge need three links: nodes that touch beside rows which do are joined
    // by those.
    const uint32_t known = touch_above & touch & s.row(0, spot.y - 1, spot.z - 1);
    FacingNodes& f = facing[1];
    f.starts = s.node_starts[spot.word - Space::kBandsY];
    f.before = s.nodes_before[spot.word - Space::kBandsY];
    const uint32_t begins = starts | f.starts;
    f.touching = ends_of_pieces(touch_behind, begins) & ~ends_of_pieces(known, begins);
  }

  // Calls visit(node, first voxel, parent) for all nodes of the thread: hangs each below one that
  // it touches. The contacts with others are left, and those of other threads' nodes taken off.
  template <class Visit>
  __device__ void take_firsts(const Space& s, const Visit& visit) {
    uint32_t left_above = 0, left_behind = 0;
    for_each_node(s, word, [&](uint32_t node, uint32_t columns) {
      const uint32_t here = row[0] & columns, below = row[1] & columns;
      const uint32_t voxel = static_cast<uint32_t>(here ? __ffs(static_cast<int>(here)) - 1
                                                        : __ffs(static_cast<int>(below)) + 31);
      // Lanes differ in which band faces, if any does: each chooses, and none waits.
      const uint32_t above = facing[0].touching & columns, behind = facing[1].touching & columns;
      const FacingNodes first = {above ? above : behind,
                                 above ? facing[0].starts : facing[1].starts,
                                 above ? facing[0].before : facing[1].before};
      left_above |= above & (above - 1);
      left_behind |= above ? behind : behind & (behind - 1);
      const uint32_t parent = first.node(first.touching ^ (first.touching - 1));
      visit(node, first_voxel + voxel, first.touching ? parent : node);
    });
    facing[0].touching = left_above;
    facing[1].touching = left_behind;
  }

  __device__ int count() const { return __popc(facing[0].touching) + __popc(facing[1].touching); }

  // A contact that is left, which is taken off: its word, which band that faces, and the column.
  __device__ ushort2 take() {
    const bool is_behind = facing[0].touching == 0;
    const uint32_t touching = is_behind ? facing[1].touching : facing[0].touching;
    const auto column = static_cast<uint32_t>(__ffs(static_cast<int>(touching)) - 1);
    const uint32_t left = touching & (touching - 1);
    facing[0].touching = is_behind ? 0 : left;
    if (is_behind) facing[1].touching = left;
    return make_ushort2(static_cast<uint16_t>(word << 6 | (is_behind ? 32u : 0u) | column), 0);
  }
  // Its nodes: found by the thread that joins them, as threads have few contacts or many.
  __device__ static ushort2 nodes(const Space& s, ushort2 contact) {
    const uint32_t up_to = regions::up_to(static_cast<int>(contact.x & 31u));
    const uint32_t here = contact.x >> 6, there = here - (contact.x & 32u ? Space::kBandsY : 1);
    const auto node = [&](uint32_t word) {
      return static_cast<uint16_t>(s.nodes_before[word] + __popc(s.node_starts[word] & up_to) - 1);
    };
    return make_ushort2(node(here), node(there));
  }
};

}  // namespace regions::volumes

#endif
