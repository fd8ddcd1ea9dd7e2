// Where the nodes of a tile touch those of the tiles before, face to face alone: all of them in one
// list, and only as far as that tells something new.
#pragma once

#include "gpu/cclabel/volumes/pieces.hpp"
#include "gpu/cclabel/volumes/seam.hpp"
#include "gpu/primitives/block_list.hpp"

#ifdef __CUDACC__

namespace regions::volumes {

// A Seam's contacts across one of its sides. Four voxels around an edge need three links: nodes of
// two tiles that touch beside voxels which do, in the same tiles, are joined by those.
template <class T, class Space>
struct StraightSeam {
  static constexpr int kBandsY = Space::Inner::kBandsY;
  static constexpr int kBands = Space::Inner::kBands;
  // Words that may touch a tile before: of all slices the first row, of the first slice all bands.
  static constexpr int kWords = T::slices + (T::slices > 1 ? kBandsY : 0);
  // A contact has no voxel right behind it that touches, and a row of a slice has every second one;
  // of two rows, nodes may change with every column. The first column of all bands, besides.
  static constexpr int kMax = T::slices * 16 + (kWords - T::slices) * 32 + kBands;

  struct Touching {
    uint32_t touching = 0;
    WordNodes near = {}, far = {};
  };

  const Space& s;

  __device__ WordNodes nodes(int w, int y, int z) const {
    const uint32_t word = Space::word(w, y, z);
    return {s.node_starts[word], s.first_node[word]};
  }

  // Of word i of those that may touch a tile before.
  __device__ Touching of_word(int i) const {
    const bool is_above = i < T::slices;
    const int z = is_above ? i : 0, y = is_above ? 0 : (i - T::slices) * kBandRows;
    const int far_y = is_above ? -1 : y, far_z = is_above ? z : -1;
    const uint32_t touch = s.row(0, y, z) & s.row(0, far_y, far_z);
    uint32_t known = 0, all = touch;
    if (is_above) {
      if (z > 0) known = touch & s.row(0, 0, z - 1) & s.row(0, -1, z - 1);
    } else {
      all |= s.row(0, y + 1, 0) & s.row(0, y + 1, -1);
      if (y > 0) known = touch & s.row(0, y - 1, 0) & s.row(0, y - 1, -1);
    }
    if (all == 0) return {};
    const WordNodes near = nodes(0, y, z), far = nodes(0, far_y, far_z);
    const uint32_t begins = near.starts | far.starts;
    return {ends_of_pieces(all, begins) & ~ends_of_pieces(known, begins), near, far};
  }

  // Whether band i's first column touches the word before where no band before it does.
  __device__ bool goes_on(int i) const {
    const Spot spot = Space::Inner::spot(i);
    const auto touches = [&](int y, int z) { return s.row(0, y, z) & s.row(-1, y, z) >> 31 & 1; };
    const uint32_t upper = touches(spot.y, spot.z), lower = touches(spot.y + 1, spot.z);
    uint32_t known = 0;
    if (spot.y > 0) known |= upper & touches(spot.y - 1, spot.z);
    if (spot.z > 0) {
      known |= (upper & touches(spot.y, spot.z - 1)) | (lower & touches(spot.y + 1, spot.z - 1));
    }
    return (upper | lower) & ~known & 1;
  }

  // Lists the nodes of all contacts; `count` is 0 before. The whole block calls it.
  __device__ void list(uint2 (&pairs)[kMax], uint32_t& count) const {
    const int warps = static_cast<int>(blockDim.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    // Words that have many contacts are shared out to the warps one by one.
    const int i = lane * warps + static_cast<int>(threadIdx.x) / 32;
    Touching found;
    if (i < kWords) found = of_word(i);
    uint32_t sides = 0;  // bit k: band k * threads + thread
    for (int k = 0, b = static_cast<int>(threadIdx.x); b < kBands; b += blockDim.x, ++k) {
      sides |= static_cast<uint32_t>(goes_on(b)) << k;
    }
    const auto mine = static_cast<uint32_t>(__popc(found.touching) + __popc(sides));
    uint2* to = pairs + reserve_entries(count, mine);
    for (uint32_t left = found.touching; left; left &= left - 1) {
      const uint32_t up_to = left ^ (left - 1);
      *to++ = {found.near.first + static_cast<uint32_t>(__popc(found.near.starts & up_to)) - 1,
               found.far.first + static_cast<uint32_t>(__popc(found.far.starts & up_to)) - 1};
    }
    for (; sides; sides &= sides - 1) {
      const int k = __ffs(static_cast<int>(sides)) - 1;
      const Spot spot =
          Space::Inner::spot(k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x));
      const WordNodes before = nodes(-1, spot.y, spot.z);
      *to++ = {nodes(0, spot.y, spot.z).first,
               before.first + static_cast<uint32_t>(__popc(before.starts)) - 1};
    }
  }
};

}  // namespace regions::volumes

#endif
