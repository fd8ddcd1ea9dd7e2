// Superpixels: parameters, and the arithmetic of clustering that both backends share bit for bit.
//
// Achanta et al., "SLIC superpixels compared to state-of-the-art superpixel methods", IEEE TPAMI
// 34(11), 2012. The picture is cut into equal cells; each has one cluster, and a pixel chooses
// among the clusters of its cell and the eight around it. Clusters are known by integer sums alone,
// so neither threads nor their order change a label.
#pragma once

#include "core/drawing/drawing.hpp"
#include "core/lab.hpp"
#include "core/output.hpp"
#include "core/verdict.hpp"

namespace regions {

enum class SlicMethod : uint8_t { fused, report };
enum class SlicVariant : uint8_t { slic, slico };
enum class SlicOutput : uint8_t { overlay, labels, boundaries, mean, none };

struct SlicParams : DrawingParams {
  SlicParams() {
    style = static_cast<uint32_t>(Style::outlines);
    thickness = 1;
  }
  int64_t region_size = 16;
  int64_t superpixels = 0;
  double compactness = 8;
  SlicVariant variant = SlicVariant::slic;
  SlicMethod method = SlicMethod::fused;
  int64_t report_step = 7;
  int64_t iterations = 10;
  int64_t row_step = 2;
  double tolerance = 0;
  ColorSpace color_space = ColorSpace::lab;
  double min_size = 0.25;
  bool warm_start = false;
  int64_t max_regions = 1 << 16;
  bool attach_covariance = false;
  bool attach_adjacency = false;
  SlicOutput output = SlicOutput::overlay;
};

namespace slicsuperpixel {
using Params = SlicParams;  // by the name that stands in meson.build's list
}

std::span<const Field> fields_of(const SlicParams&);
Output output_of(const SlicParams& params);
// What the parameters make of a setup.
void plan(const SlicParams& params, Setup& setup);

// Of a frame with so many superpixels; `out` is its picture, if it has one. Throws InputError if
// that is to hold their labels and cannot.
Verdict verdict_of(const SlicParams& params, uint32_t total, const Layout& out);

// Throws InputError unless pictures of this setup can be cut into superpixels.
void expects_superpixels(const Setup& setup);

// The cells. Those at the right and lower border may be cut off.
struct SlicGrid {
  Size size;  // of the picture
  int width = 0;
  int height = 0;  // of a cell, 1..512 pixels
  int columns = 0;
  int rows = 0;

  REGIONS_HD size_t cells() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(rows);
  }
  REGIONS_HD size_t index(int column, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(column);
  }
  bool operator==(const SlicGrid&) const = default;
};
SlicGrid grid_of(Size size, const SlicParams& params);
// The greatest numbers of cells that a frame of this size can have, whatever the parameters.
size_t most_cells(Size size);

// A score is 16 times an integer plus the candidate's place 0..15, below 2^24 in size: exact in a
// float, and the least one names its candidate. Ties go to the first candidate in raster order.
inline constexpr int kCandidates = 9;
inline constexpr int kPatchRows = 16;  // rows that share a candidate's rounded slope
inline constexpr int kMaxRowStep = 4;
inline constexpr int kNoScore = (1 << 24) - 32;   // of a place outside the grid, or lost clusters
inline constexpr int kOwnScore = (1 << 24) - 64;  // of the cell's own cluster if it is lost
inline constexpr int kColorBias = 128;            // sums are of component + 128

// What a frame's parameters make of distances. With C channels of weight w,
//   16 s = 16 scale (sum w (p - c)^2 + compactness^2 |(x, y) - (cx, cy)|^2 / cell area)
// less what all candidates of a pixel have in common.
struct SlicScale {
  float gain[3] = {};    // a component's coefficient for a mean of 1 / 16
  float square[3] = {};  // from a squared coefficient to its share of the score
  float slope = 0;       // score a pixel for a distance of 1 / 16 pixel
  float bow = 0;         // score for a squared distance of 1 / 256 square pixel
  int weight[3] = {};    // of components, when mean colours of pieces are compared
  // Of slico, see core/slicsuperpixel/slico.hpp; 0 of slic.
  uint32_t reach = 0;  // that clusters begin with
  float adaptive = 0;  // score of a colour distance that equals the cluster's reach
};
SlicScale scale_of(const SlicGrid& grid, const SlicParams& params);

// Sums over a cluster's pixels. Places count from one cell left of and above its own cell, which
// no pixel of it can pass.
struct ClusterSums {
  uint32_t color[3] = {};
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t count = 0;

  REGIONS_HD void add(const ClusterSums& more) {
    for (int c = 0; c < 3; ++c) color[c] += more.color[c];
    x += more.x;
    y += more.y;
    count += more.count;
  }
};

// Real factors act by one IEEE operation at a time, each made an integer at once: so nothing can be
// fused, and all machines agree.
REGIONS_HD inline int scaled(int value, float factor) {
  return static_cast<int>(static_cast<float>(value) * factor);
}

// The mean in sixteenths, rounded; the product is exact.
REGIONS_HD inline int mean_of(uint32_t sum, uint32_t count) {
  const float mean = static_cast<float>(sum) / static_cast<float>(count);
  return (static_cast<int>(32.0f * mean) + 1) >> 1;
}

// A cluster as candidates are made from it.
struct Center {
  int color[3];  // coefficients, -2047..2047
  int base;      // the colour's share of the score
  int x;         // sixteenths of a pixel from the middle of its own cell
  int y;
  bool alive;
};

// What means stand for: a component's coefficient, that coefficient's share of the score, and a
// place from the middle of the cluster's own cell, whose width or height is `side`.
REGIONS_HD inline int coefficient_of(int mean, float gain) {
  const int k = -scaled(mean - 16 * kColorBias, gain);
  return k < -2047 ? -2047 : k > 2047 ? 2047 : k;
}
REGIONS_HD inline int color_share(int coefficient, float square) {
  return scaled(coefficient * coefficient, square);
}
REGIONS_HD inline int offset_of(int mean, int side) { return mean - 16 * (side + side / 2); }

REGIONS_HD inline Center center_of(const ClusterSums& sums, const SlicGrid& grid,
                                   const SlicScale& scale) {
  Center center = {};
  if (sums.count == 0) return center;
  center.alive = true;
  for (int c = 0; c < 3; ++c) {
    center.color[c] = coefficient_of(mean_of(sums.color[c], sums.count), scale.gain[c]);
    center.base += color_share(center.color[c], scale.square[c]);
  }
  center.x = offset_of(mean_of(sums.x, sums.count), grid.width);
  center.y = offset_of(mean_of(sums.y, sums.count), grid.height);
  return center;
}

// A cluster as the pixels of one cell see it: the score of the pixel in column u, row v of patch q
// of the cell is (base + 16 q down + column u) rounded down to a multiple of 16, plus the place,
// plus 16 (color . pixel + row v).
struct Candidate {
  int color[3];
  int row;     // 1/16 of `down`, rounded
  int down;    // score a row, before patches
  int column;  // score a column
  int base;

  REGIONS_HD int start(int u, int patch, int place) const {
    return ((base + kPatchRows * patch * down + column * u) & ~15) | place;
  }
};

// Of a cluster that has pixels, whose cell begins (dx, dy) pixels from this one's.
REGIONS_HD inline Candidate candidate_at(const Center& center, int dx, int dy, const SlicGrid& grid,
                                         const SlicScale& scale) {
  Candidate candidate = {};
  const int x = center.x + 16 * dx;
  const int y = center.y + 16 * dy;
  for (int c = 0; c < 3; ++c) candidate.color[c] = center.color[c];
  candidate.column = -scaled(x, scale.slope);
  candidate.down = -scaled(y, scale.slope);
  candidate.row = (candidate.down + 8) >> 4;
  candidate.base = center.base + scaled(x * x + y * y, scale.bow) -
                   candidate.column * (grid.width / 2) - candidate.down * (grid.height / 2);
  return candidate;
}
// Of one without pixels, or outside the grid (else `inside`).
REGIONS_HD inline Candidate no_candidate(bool inside, int place) {
  Candidate candidate = {};
  candidate.base = inside && place == 4 ? kOwnScore : kNoScore;
  return candidate;
}
// `place` 0..8 counts the cell's neighbourhood in raster order; `inside`: it is in the grid.
REGIONS_HD inline Candidate candidate_of(const Center& center, bool inside, int place,
                                         const SlicGrid& grid, const SlicScale& scale) {
  if (!inside || !center.alive) return no_candidate(inside, place);
  return candidate_at(center, (place % 3 - 1) * grid.width, (place / 3 - 1) * grid.height, grid,
                      scale);
}

// Warm start: clusters begin as the last frame left them.
//
// Whether a cluster may: it has pixels, and its centre is at most a cell away from its own cell's
// middle, so that no place is left without a centre.
REGIONS_HD inline bool may_stay(const Center& center, const SlicGrid& grid) {
  const int reach_x = 16 * grid.width, reach_y = 16 * grid.height;
  return center.alive && center.x >= -reach_x && center.x <= reach_x && center.y >= -reach_y &&
         center.y <= reach_y;
}
// Whether the new frame shows something else where the cluster was: a cut, or fast motion.
template <class ColorAt>
REGIONS_HD bool has_changed(const ClusterSums& sums, int column, int row, const SlicGrid& grid,
                            ColorAt color_at) {
  constexpr int kChange = 40;  // summed over components: 20 of L alone
  const auto clamped = [](int v, int end) { return v < 0 ? 0 : v >= end ? end - 1 : v; };
  const int x = (column - 1) * grid.width + mean_of(sums.x, sums.count) / 16;
  const int y = (row - 1) * grid.height + mean_of(sums.y, sums.count) / 16;
  const uint32_t color = color_at(clamped(x, grid.size.width), clamped(y, grid.size.height));
  int change = 0;
  for (int c = 0; c < 3; ++c) {
    const int d = color_component(color, c) + kColorBias - mean_of(sums.color[c], sums.count) / 16;
    change += d < 0 ? -d : d;
  }
  return change > kChange;
}
// All begin afresh when more than a third cannot stay or have changed.
REGIONS_HD inline bool is_cut(uint32_t unfit, const SlicGrid& grid) {
  return static_cast<uint64_t>(unfit) * 3 > grid.cells();
}

// Which rows of a patch take part in an iteration: v % step == phase. All do in the last pass, and
// in pictures lower than a patch.
struct RowChoice {
  int step = 1;
  int phase = 0;

  // How many do of the first `all`.
  int rows(int all) const { return (all - phase + step - 1) / step; }
};
inline RowChoice rows_of(const SlicGrid& grid, const SlicParams& params, int iteration) {
  const int step = grid.size.height < kPatchRows || grid.height < kPatchRows
                       ? 1
                       : static_cast<int>(params.row_step);
  return {step, iteration % step};
}

// How far a centre went, in sixteenths of a pixel; lost clusters stand still. Iterations end when
// the sum over all is at most movement_limit().
REGIONS_HD inline int movement(const Center& before, const Center& after) {
  if (!before.alive || !after.alive) return 0;
  const int dx = after.x - before.x, dy = after.y - before.y;
  return (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}
uint64_t movement_limit(const SlicGrid& grid, const SlicParams& params);

// Pixels of neighbouring cells can only be in clusters whose cells are at most three apart, so four
// bits tell the clusters of touching pixels apart.
REGIONS_HD inline uint8_t cluster_code(int column, int row) {
  return static_cast<uint8_t>((column & 3) | (row & 3) << 2);
}

}  // namespace regions
