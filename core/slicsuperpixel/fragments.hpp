// Fragments of superpixels: enforcement of connectivity, and track ids under warm start.
//
// A cluster's pixels may form several fragments, each 4-connected. Fragments below the minimum area
// merge into a neighbour, in rounds: every small fragment chooses the neighbour with the closest
// mean colour (of equals, the one whose first pixel comes first in raster order). Then all
// fragments that chose each other, directly or along a chain, become one. Each round at least
// halves the number of small fragments, so a few rounds are sufficient. The result does not depend
// on the order of work. Finally, fragments are numbered in raster order of first pixels.
//
// If a number of superpixels is requested, there are usually more fragments at this point. All of
// them choose a neighbour. The requested number is retained: large fragments that differ clearly
// (see RetentionRule). All others merge in the same way, until each is part of a retained one.
#pragma once

#include <bit>

#include "core/slicsuperpixel/clusters.hpp"

namespace regions {

struct Fragment {
  static constexpr uint32_t kRetained = 1u << 31;
  uint32_t area = 0;       // pixels, plus kRetained if it is retained at any size
  uint32_t color[3] = {};  // sums of component + 128, modulo 2^32

  REGIONS_HD uint32_t pixels() const { return area & ~kRetained; }
};

// Mean colour in units of 1/16, 0..4080.
struct FragmentColor {
  int mean[3];
};
REGIONS_HD inline FragmentColor color_of(const Fragment& fragment) {
  FragmentColor color;
  for (int c = 0; c < 3; ++c) color.mean[c] = mean_of(fragment.color[c], fragment.pixels());
  return color;
}
REGIONS_HD inline uint32_t fragment_distance(const FragmentColor& a, const FragmentColor& b,
                                             const SlicScale& scale) {
  uint32_t sum = 0;
  for (int c = 0; c < 3; ++c) {
    const int d = a.mean[c] - b.mean[c];
    sum += static_cast<uint32_t>(scale.weight[c] * d * d);  // at most 9 * 4080^2
  }
  return sum;
}
REGIONS_HD inline uint32_t fragment_distance(const Fragment& a, const Fragment& b,
                                             const SlicScale& scale) {
  return fragment_distance(color_of(a), color_of(b), scale);
}

// A fragment chooses the minimum of these keys; `other` is the neighbour's index.
REGIONS_HD inline uint64_t choice_of(uint32_t distance, uint32_t other) {
  return static_cast<uint64_t>(distance) << 32 | other;
}
inline constexpr uint64_t kNoChoice = UINT64_MAX;

// Decides which fragments are retained.
struct RetentionRule {
  // Fragments are ranked by the cost of merging them, in steps of an eighth of an octave. Within a
  // step the order is pseudo-random, because patterns contain many equal fragments.
  static constexpr uint32_t kSteps = 128, kClasses = 32, kRanks = kSteps * kClasses;
  uint32_t min_area = 0;   // pixels: smaller fragments merge first
  uint32_t requested = 0;  // number of fragments to retain after that; 0: all
  uint32_t certain = 0;  // pixels: fragments of at least this area are retained and make no choice
  uint32_t lowest = 0;   // eighths of octaves

  // `choice` is the fragment's own, kNoChoice if it makes none; (x, y) is its first pixel.
  REGIONS_HD uint32_t rank_of(uint32_t area, uint64_t choice, uint32_t x, uint32_t y) const {
    // Colour has a low weight: in uniform areas, large fragments still subdivide the picture.
    const uint32_t cost =
        eighths_of_octaves(area) + eighths_of_octaves(static_cast<uint32_t>(choice >> 32)) / 8;
    const uint32_t above = cost > lowest ? cost - lowest : 0;
    uint32_t hash = x * 0x9E3779B1u + y * 0x85EBCA77u;
    hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
    return (above < kSteps ? above : kSteps - 1) * kClasses + (hash ^ hash >> 16) % kClasses;
  }
  // The smallest retained rank. At least the requested number of fragments have a rank >= `rank`.
  // `fragments_from_step` fragments have a rank >= the first rank of its step; if they are few, the
  // whole step is retained.
  REGIONS_HD uint32_t bound(uint32_t rank, uint32_t fragments_from_step) const {
    return fragments_from_step <= requested + requested / 32 ? first_of_step(rank) : rank;
  }
  REGIONS_HD static uint32_t first_of_step(uint32_t rank) { return rank / kClasses * kClasses; }
  // Logarithm to base 2, linear within an octave because it uses the bits of a float.
  REGIONS_HD static uint32_t eighths_of_octaves(uint32_t value) {
    return std::bit_cast<uint32_t>(static_cast<float>(value | 1)) >> 20;
  }
};
RetentionRule retention_rule(const SlicGrid& grid, const SlicParams& params);

// Under warm start, the track of a superpixel is the number of a cluster. Each cluster claims the
// superpixel that its largest fragment became or merged into. Clusters whose fragment did not have
// to merge have precedence, then lower numbers. Of the superpixels without a claim, the first one
// that begins with a pixel of a cluster becomes that cluster's spare, which has its own number. The
// others get numbers above these, for this frame only.
//
// The maximum of these keys is a cluster's largest fragment, the first one of equals; 0 means none.
// `first` identifies the fragment's first pixel and increases in raster order.
REGIONS_HD inline uint64_t fragment_claim(uint32_t area, uint32_t first) {
  return static_cast<uint64_t>(area) << 32 | ~first;
}
REGIONS_HD inline uint32_t claimed_area(uint64_t claim) {
  return static_cast<uint32_t>(claim >> 32);
}
REGIONS_HD inline uint32_t claimed_first(uint64_t claim) { return ~static_cast<uint32_t>(claim); }
inline constexpr uint32_t kNoTrack = UINT32_MAX;
inline constexpr uint32_t kMerged = 1u << 31;  // the cluster's largest fragment had to merge
// The minimum of these keys wins. `cell` is the index of the cluster.
REGIONS_HD inline uint32_t claimed_by(size_t cell, bool stayed) {
  return (static_cast<uint32_t>(cell) + 1) | (stayed ? 0 : kMerged);
}
// Index of the cluster that contains pixel (x, y), from the pixel's code.
REGIONS_HD inline size_t cluster_at(uint8_t code, int x, int y, const SlicGrid& grid) {
  const auto nearest = [](int cell, int low_bits) {
    const int ahead = (low_bits - cell) & 3;
    return ahead == 3 ? cell - 1 : cell + ahead;
  };
  return grid.index(nearest(x / grid.width, code & 3), nearest(y / grid.height, code >> 2));
}
// The track of superpixel `id`. It begins in `cluster` and has the claim `claimed`. `spare` is the
// smallest id of the superpixels without a claim that begin there.
REGIONS_HD inline uint32_t track_of(uint32_t claimed, uint32_t id, size_t cluster, uint32_t spare,
                                    const SlicGrid& grid) {
  if (claimed != kNoTrack) return claimed & ~kMerged;
  const auto cells = static_cast<uint32_t>(grid.cells());
  return spare == id ? cells + 1 + static_cast<uint32_t>(cluster) : 2 * cells + id;
}

}  // namespace regions
