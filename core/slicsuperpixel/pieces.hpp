// Connectivity of superpixels. A cluster's pixels may lie in several pieces, each 4-connected.
// Pieces of fewer than `least` pixels join a neighbour, in rounds: every small piece chooses the
// neighbour of the closest mean colour (ties: the one whose first pixel comes first in raster
// order), then all that chose each other, directly or along a chain, become one piece. In each
// round the smallest area at least doubles, so bit_width(least) rounds are enough; and no order of
// work changes the outcome. What is left is numbered in raster order of first pixels.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

struct Piece {
  uint32_t area = 0;
  uint32_t color[3] = {};  // sums of component + 128, modulo 2^32
};

// Mean colour in sixteenths, 0..4080.
struct PieceColor {
  int mean[3];
};
REGIONS_HD inline PieceColor color_of(const Piece& piece) {
  PieceColor color;
  for (int c = 0; c < 3; ++c) color.mean[c] = mean_of(piece.color[c], piece.area);
  return color;
}
REGIONS_HD inline uint32_t piece_distance(const PieceColor& a, const PieceColor& b,
                                          const SlicScale& scale) {
  uint32_t sum = 0;
  for (int c = 0; c < 3; ++c) {
    const int d = a.mean[c] - b.mean[c];
    sum += static_cast<uint32_t>(scale.weight[c] * d * d);  // at most 9 * 4080^2
  }
  return sum;
}
REGIONS_HD inline uint32_t piece_distance(const Piece& a, const Piece& b, const SlicScale& scale) {
  return piece_distance(color_of(a), color_of(b), scale);
}

// The least of these is a piece's choice; `other` is the neighbour's number.
REGIONS_HD inline uint64_t choice_of(uint32_t distance, uint32_t other) {
  return static_cast<uint64_t>(distance) << 32 | other;
}
inline constexpr uint64_t kNoChoice = UINT64_MAX;

// Pixels that a piece needs to stay by itself.
uint32_t least_area(const SlicGrid& grid, const SlicParams& params);

}  // namespace regions
