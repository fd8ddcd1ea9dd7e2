// One pass over the pixels of a row of cells: every pixel finds its cluster, and the clusters'
// sums or the pixels' codes are written.
#pragma once

#include "core/image.hpp"
#include "cpu/slicsuperpixel/centers.hpp"

namespace regions {

// The colours of a picture, a component a plane. Rows are readable kPlaneSlack pixels beyond the
// width.
inline constexpr int kPlaneSlack = 576;  // a cell that begins in the picture, and a vector
struct ColorPlanes {
  Image<int8_t> plane[3];

  uint32_t at(int x, int y) const {
    return packed_color(plane[0](x, y), plane[1](x, y), plane[2](x, y));
  }
};

// What a pass reads.
struct AssignInput {
  ColorPlanes colors;
  CellInput cells;
};

// ClusterSums as a vector holds them.
struct alignas(32) PackedSums {
  uint32_t part[8];  // components, x, y, count

  ClusterSums unpacked() const { return {{part[0], part[1], part[2]}, part[3], part[4], part[5]}; }
};

// Where the pixels of a row of cells are added: to [place / 3][column + place % 3 - 1], which has
// one entry more at either end.
struct RowSums {
  PackedSums* sums[3];
  uint32_t* reach[3];  // the greatest colour distances, of slico
};

// Adds the pixels of cell row `row` that take part, and notes each one's place.
void sum_clusters(const AssignInput& input, int row, RowChoice choice, Image<uint8_t> places,
                  const RowSums& sums);

// The same where `sums` and `places` are what an earlier pass made of these rows: pixels that are
// in another place now are moved from sum to sum. Not for slico.
void move_pixels(const AssignInput& input, int row, RowChoice choice, Image<uint8_t> places,
                 const RowSums& sums);

// Writes each pixel's cluster_code.
void write_codes(const AssignInput& input, int row, Image<uint8_t> codes);

// The same of slico.
void sum_adaptive_clusters(const AssignInput& input, int row, RowChoice choice,
                           const RowSums& sums);
void write_adaptive_codes(const AssignInput& input, int row, Image<uint8_t> codes);

}  // namespace regions
