// Bands: rows put together so that those of their voxels that have a column in common are
// connected. What is left to join inside a band is one column to the next.
#pragma once

#include "core/cclabel/cclabel.hpp"

namespace regions::volumes {

inline constexpr int kBandRows = 2;
REGIONS_HD constexpr int slices_of_band(Connectivity c) {
  return c == Connectivity::eighteen || c == Connectivity::twenty_six ? 2 : 1;
}
// Most nodes of a word. Columns beside each other may be two, but not where all are linked.
REGIONS_HD constexpr int nodes_of_word(Connectivity c) {
  return c == Connectivity::twenty_six ? 16 : 32;
}

#ifdef __CUDACC__

// The words of a band's rows: of its first slice, then of its second; 0 where there is none.
struct BandWords {
  uint32_t row[4] = {};

  __device__ uint32_t columns() const { return row[0] | row[1] | row[2] | row[3]; }
  // The columns that have a link to the column before, whose voxels are `left`.
  __device__ uint32_t linked_to(const BandWords& left, Connectivity connectivity) const {
    const uint32_t(&l)[4] = left.row;
    switch (connectivity) {
      case Connectivity::four:
      case Connectivity::six:
        return (row[0] & l[0]) | (row[1] & l[1]);
      case Connectivity::eight:
      case Connectivity::eighteen:  // not to the row across
        return (row[0] & (l[0] | l[1] | l[2])) | (row[1] & (l[0] | l[1] | l[3])) |
               (row[2] & (l[0] | l[2] | l[3])) | (row[3] & (l[1] | l[2] | l[3]));
      default:
        return columns() & left.columns();
    }
  }
  // The first columns of nodes in these words.
  __device__ uint32_t starts(Connectivity connectivity) const {
    return columns() &
           ~linked_to({{row[0] << 1, row[1] << 1, row[2] << 1, row[3] << 1}}, connectivity);
  }
};

#endif

}  // namespace regions::volumes
