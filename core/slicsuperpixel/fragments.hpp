// Fragments of superpixels: makes each superpixel connected, and gives track ids to superpixels if
// warm-start=true.
//
// A cluster's pixels may form several fragments, each 4-connected. Fragments below the minimum area
// merge into a neighbour, in rounds: each small fragment chooses the neighbouring fragment with the
// most similar mean colour. If several are equally similar, it chooses the fragment whose first
// pixel comes first in raster order. Then all fragments that are connected by choices become one
// fragment. Each round at least halves the number of small fragments, so a few rounds are
// sufficient. The result does not depend on the order of work. Finally, fragments are numbered in
// raster order of first pixels.
//
// If a number of superpixels is requested, there are usually more fragments than requested after
// these rounds. All fragments choose a neighbour. The requested number of fragments is retained, as
// RetentionRule decides: large fragments that differ clearly from their neighbours. All other
// fragments merge in the same way, until each is part of a retained fragment.
#pragma once

#include <bit>

#include "core/slicsuperpixel/clusters.hpp"

namespace regions {

struct Fragment {
  static constexpr uint32_t kRetained = 1u << 31;
  // Number of pixels, plus kRetained if the fragment is retained whatever its size.
  uint32_t area = 0;
  uint32_t color[3] = {};  // sums of component + 128 over the pixels, modulo 2^32

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
    sum += static_cast<uint32_t>(scale.weight[c] * d * d);  // the sum is at most 9 * 4080^2
  }
  return sum;
}
REGIONS_HD inline uint32_t fragment_distance(const Fragment& a, const Fragment& b,
                                             const SlicScale& scale) {
  return fragment_distance(color_of(a), color_of(b), scale);
}

// The key of a neighbour with index `other` at this colour distance. A fragment chooses the
// neighbour with the smallest key.
REGIONS_HD inline uint64_t choice_of(uint32_t distance, uint32_t other) {
  return static_cast<uint64_t>(distance) << 32 | other;
}
inline constexpr uint64_t kNoChoice = UINT64_MAX;

// Decides which fragments are retained.
struct RetentionRule {
  // Fragments are ranked by the cost of merging them. The cost is divided into logarithmic steps of
  // an eighth of an octave. Within a step, fragments are ranked pseudo-randomly into classes,
  // because regular patterns contain many equal fragments.
  static constexpr uint32_t kSteps = 128, kClasses = 32, kRanks = kSteps * kClasses;
  uint32_t min_size = 0;     // property `min-size`, in pixels: smaller fragments merge first
  uint32_t superpixels = 0;  // number of fragments to retain after these merges; 0: all
  // Fragments with at least this area (pixels) are always retained and choose no neighbour.
  uint32_t certain = 0;
  uint32_t lowest_cost = 0;  // cost at which the first step begins, eighths of octaves

  // The rank of a fragment; the highest ranks are retained. `choice` is the key that the fragment
  // chose, or kNoChoice. (x, y) is its first pixel.
  REGIONS_HD uint32_t rank_of(uint32_t area, uint64_t choice, uint32_t x, uint32_t y) const {
    // The colour difference has a low weight, so that large fragments are retained in uniform
    // areas, too.
    const uint32_t cost =
        eighths_of_octaves(area) + eighths_of_octaves(static_cast<uint32_t>(choice >> 32)) / 8;
    const uint32_t relative_cost = cost > lowest_cost ? cost - lowest_cost : 0;
    uint32_t hash = x * 0x9E3779B1u + y * 0x85EBCA77u;
    hash = (hash ^ hash >> 15) * 0x2C1B3C6Du;
    return (relative_cost < kSteps ? relative_cost : kSteps - 1) * kClasses +
           (hash ^ hash >> 16) % kClasses;
  }
  // Returns the smallest rank that is retained. At least the requested number of fragments have a
  // rank >= `rank`. `fragments_from_step` is the number of fragments with at least the first rank
  // of the step that contains `rank`. If this number is only a little higher than requested, the
  // whole step is retained.
  REGIONS_HD uint32_t bound(uint32_t rank, uint32_t fragments_from_step) const {
    return fragments_from_step <= superpixels + superpixels / 32 ? first_of_step(rank) : rank;
  }
  REGIONS_HD static uint32_t first_of_step(uint32_t rank) { return rank / kClasses * kClasses; }
  // Logarithm to base 2 in units of 1/8, plus a constant. It is linear within an octave, because it
  // uses the bits of a float.
  REGIONS_HD static uint32_t eighths_of_octaves(uint32_t value) {
    return std::bit_cast<uint32_t>(static_cast<float>(value | 1)) >> 20;
  }
};
RetentionRule retention_rule(const SlicGrid& grid, const SlicParams& params);

// If warm-start=true, the track id of a superpixel is the number of a cluster. Each cluster claims
// the superpixel that its largest fragment became or merged into. If several clusters claim the
// same superpixel, clusters whose largest fragment did not merge have priority, and then clusters
// with lower numbers. Some superpixels are not claimed. A cluster also has a spare superpixel: the
// first unclaimed superpixel whose first pixel belongs to the cluster. Its track id is a second
// number of the cluster. All other superpixels get higher numbers, which are valid for this frame
// only.
//
// The key of a fragment of a cluster. The largest key belongs to the largest fragment, and to the
// first of several equal fragments. 0 means no fragment. `first` identifies the first pixel of the
// fragment and increases in raster order.
REGIONS_HD inline uint64_t fragment_claim(uint32_t area, uint32_t first) {
  return static_cast<uint64_t>(area) << 32 | ~first;
}
REGIONS_HD inline uint32_t claimed_area(uint64_t claim) {
  return static_cast<uint32_t>(claim >> 32);
}
REGIONS_HD inline uint32_t claimed_first(uint64_t claim) { return ~static_cast<uint32_t>(claim); }
// Used instead of a key of a claim, for a superpixel that no cluster claims.
inline constexpr uint32_t kNoTrack = UINT32_MAX;
// Bit of a claim: the largest fragment of the cluster merged into another fragment.
inline constexpr uint32_t kMerged = 1u << 31;
// The key of a claim by the cluster with index `cell`. The smallest key wins. `stayed` is false if
// the fragment merged.
REGIONS_HD inline uint32_t claimed_by(size_t cell, bool stayed) {
  return (static_cast<uint32_t>(cell) + 1) | (stayed ? 0 : kMerged);
}
// Returns the index of the cluster that contains pixel (x, y). `code` is the cluster code of this
// pixel.
REGIONS_HD inline size_t cluster_at(uint8_t code, int x, int y, const SlicGrid& grid) {
  const auto nearest = [](int cell, int low_bits) {
    const int ahead = (low_bits - cell) & 3;
    return ahead == 3 ? cell - 1 : cell + ahead;
  };
  return grid.index(nearest(x / grid.width, code & 3), nearest(y / grid.height, code >> 2));
}
// Returns the track id of superpixel `id`. Its first pixel belongs to `cluster`, and `claimed` is
// the smallest key of its claims, or kNoTrack. `spare` is the smallest id of the unclaimed
// superpixels that begin in the same cluster.
REGIONS_HD inline uint32_t track_of(uint32_t claimed, uint32_t id, size_t cluster, uint32_t spare,
                                    const SlicGrid& grid) {
  if (claimed != kNoTrack) return claimed & ~kMerged;
  const auto cells = static_cast<uint32_t>(grid.cells());
  return spare == id ? cells + 1 + static_cast<uint32_t>(cluster) : 2 * cells + id;
}

}  // namespace regions
