// Connectivity of superpixels. A cluster's pixels may lie in several pieces, each 4-connected.
// Pieces of fewer than `least` pixels join a neighbour, in rounds: every small piece chooses the
// neighbour of the closest mean colour (ties: the one whose first pixel comes first in raster
// order), then all that chose each other, directly or along a chain, become one piece. In each
// round there are at most half as many small pieces, so few rounds are enough; and no order of work
// changes the outcome. What is left is numbered in raster order of first pixels.
//
// Of a wanted number of superpixels there are more by then, mostly. All choose, and those stay that
// are large and stand out, as many as are wanted, see StayRule: all others join, in the same way,
// until what they are part of has one of those.
#pragma once

#include <bit>

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

struct Piece {
  static constexpr uint32_t kStays = 1u << 31;
  uint32_t area = 0;       // pixels, and kStays of one that stays whatever its size
  uint32_t color[3] = {};  // sums of component + 128, modulo 2^32

  REGIONS_HD uint32_t pixels() const { return area & ~kStays; }
};

// Mean colour in sixteenths, 0..4080.
struct PieceColor {
  int mean[3];
};
REGIONS_HD inline PieceColor color_of(const Piece& piece) {
  PieceColor color;
  for (int c = 0; c < 3; ++c) color.mean[c] = mean_of(piece.color[c], piece.pixels());
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

// Which pieces stay.
struct StayRule {
  // Pieces are ranked by what joining would cost, in steps of an eighth of an octave, those of one
  // step at random, as patterns have many that are alike.
  static constexpr uint32_t kSteps = 128, kClasses = 32, kRanks = kSteps * kClasses;
  uint32_t least = 0;    // pixels: smaller ones join first
  uint32_t wanted = 0;   // pieces that stay then; 0: all
  uint32_t certain = 0;  // pixels: those that have so many stay and make no choice
  uint32_t lowest = 0;   // eighths of octaves

  // `choice`: the piece's own, kNoChoice of one that makes none; `x`, `y`: its first pixel.
  REGIONS_HD uint32_t rank_of(uint32_t area, uint64_t choice, uint32_t x, uint32_t y) const {
    // A colour counts little: where all is alike, large pieces still keep the picture apart.
    const uint32_t cost =
        eighths_of_octaves(area) + eighths_of_octaves(static_cast<uint32_t>(choice >> 32)) / 8;
    const uint32_t above = cost > lowest ? cost - lowest : 0;
    uint32_t mix = x * 0x9E3779B1u + y * 0x85EBCA77u;
    mix = (mix ^ mix >> 15) * 0x2C1B3C6Du;
    return (above < kSteps ? above : kSteps - 1) * kClasses + (mix ^ mix >> 16) % kClasses;
  }
  // The least rank that stays. `rank`: the greatest that as many as are wanted have or exceed;
  // `of_step`: how many have or exceed the first of its step, which stays as well if few do.
  REGIONS_HD uint32_t bound(uint32_t rank, uint32_t of_step) const {
    return of_step <= wanted + wanted / 32 ? first_of_step(rank) : rank;
  }
  REGIONS_HD static uint32_t first_of_step(uint32_t rank) { return rank / kClasses * kClasses; }
  // Of logarithms to the base 2, linear within an octave as a float's bits are.
  REGIONS_HD static uint32_t eighths_of_octaves(uint32_t value) {
    return std::bit_cast<uint32_t>(static_cast<float>(value | 1)) >> 20;
  }
};
StayRule stay_rule(const SlicGrid& grid, const SlicParams& params);

}  // namespace regions
