// SLICO, superpixels that find their own compactness, on both backends bit for bit.
//
// The adaptive variant of Achanta et al. 2012 (see core/slicsuperpixel/slicsuperpixel.hpp), with
// the size of cells for the greatest distance of places: a cluster's colour distances count by the
// greatest that its pixels had in the iteration before, its reach. So textures do not tear
// superpixels apart, and faint edges still count where everything is smooth.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

// What a cluster's colour distances are compared with and measured by.
struct ClusterColor {
  int mean[3];     // of component + 128, in quarters
  uint32_t reach;  // a squared distance
};

// Squared distances of colours, in quarters of a component: 64 a squared Lab unit, below 2^23.
REGIONS_HD inline int color_distance(const int (&quarters)[3], const ClusterColor& cluster,
                                     const SlicScale& scale) {
  int sum = 0;
  for (int c = 0; c < 3; ++c) {
    const int d = quarters[c] - cluster.mean[c];
    sum += scale.weight[c] * d * d;
  }
  return sum;
}

// One Lab unit: a flat cluster must not tell noise apart.
inline constexpr uint32_t kMinReach = 64;
// Where all clusters begin.
REGIONS_HD inline uint32_t first_reach(const SlicScale& scale) { return scale.reach; }

REGIONS_HD inline ClusterColor color_of(const ClusterSums& sums, uint32_t reach) {
  ClusterColor color = {};
  if (sums.count == 0) return color;
  for (int c = 0; c < 3; ++c) color.mean[c] = (mean_of(sums.color[c], sums.count) + 2) >> 2;
  color.reach = reach < kMinReach ? kMinReach : reach;
  return color;
}

// The score of colours alone, an integer at once (see scaled()). Beyond the most, places decide.
inline constexpr float kMaxColorScore = 1 << 26;
REGIONS_HD inline int color_score(int distance, float factor) {
  const float score = static_cast<float>(distance) * factor;
  return static_cast<int>(score < kMaxColorScore ? score : kMaxColorScore);
}

// A cluster as the pixels of one cell see it. The score is place.start() + 16 (row v + colours').
struct AdaptiveCandidate {
  Candidate place;  // its colours count nothing
  ClusterColor color;
  float factor;  // from a distance to its score
};

REGIONS_HD inline AdaptiveCandidate adaptive_candidate_of(Center center, const ClusterColor& color,
                                                          bool inside, int place,
                                                          const SlicGrid& grid,
                                                          const SlicScale& scale) {
  const bool counts = inside && center.alive;
  for (int& coefficient : center.color) coefficient = 0;
  center.base = 0;
  AdaptiveCandidate candidate = {candidate_of(center, inside, place, grid, scale), {}, 0};
  if (!counts) {
    candidate.place.base += (1 << 30) + (1 << 26);  // worse than whatever colours
    return candidate;
  }
  candidate.color = color;
  candidate.factor = scale.adaptive / static_cast<float>(color.reach);
  return candidate;
}

}  // namespace regions
