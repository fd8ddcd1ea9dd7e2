// Clustering of SLIC superpixels in integers: colours, distances and scores, seeds, warm start, and
// the adaptive variant SLICO. Both backends compute the same bits.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

// Tables for conversion from sRGB (IEC 61966-2-1) to CIELAB under D65. The red, green and blue
// levels each contribute a share of X/Xn, Y/Yn and Z/Zn, packed 21 bits apart into one word. 13
// bits of each sum are the index into the table of cube roots.
struct LabTables {
  static constexpr int kShare = 21;  // bits from X to Y and from Y to Z
  static constexpr int kDrop = 7;    // bits of a sum below the index
  static constexpr int kRoots = 1 << 13;
  static constexpr int kUnit = 1 << 14;  // f(1) = 1

  uint64_t share[3][256];  // [red, green, blue][level], packed shares of X, Y and Z
  uint16_t root[kRoots];   // f of CIE 15: the cube root, linear below 0.008856

  REGIONS_HD uint64_t share_of(int channel, int level) const { return share[channel][level]; }
  REGIONS_HD int f(uint64_t sums, int axis) const {
    return root[sums >> (axis * kShare + kDrop) & (kRoots - 1)];
  }
};
const LabTables& lab_tables();

// Packs three components of -128..127, the first one in the lowest byte. For lab they are 2 L -
// 100, a and b.
REGIONS_HD inline uint32_t packed_color(int first, int second, int third) {
  return (static_cast<uint32_t>(first) & 255) | (static_cast<uint32_t>(second) & 255) << 8 |
         (static_cast<uint32_t>(third) & 255) << 16;
}
REGIONS_HD inline int color_component(uint32_t color, int c) {
  return static_cast<int8_t>(color >> (8 * c));
}

// The lab components of a pixel in units of 1/65536. packed_color() uses bits 16 to 23 of each.
struct LabTerms {
  static constexpr int kBits = 16;
  int component[3];
};

// From f of X, Y and Z: L = 116 f(Y) - 16, a = 500 (f(X) - f(Y)), b = 200 (f(Y) - f(Z)). For sRGB,
// a and b are within -108..99.
REGIONS_HD inline LabTerms lab_terms(int fx, int fy, int fz) {
  constexpr int kOne = 1 << LabTerms::kBits, kScale = kOne / LabTables::kUnit, kHalf = kOne / 2;
  return {{232 * kScale * fy + kHalf - 132 * kOne, 500 * kScale * (fx - fy) + kHalf,
           200 * kScale * (fy - fz) + kHalf}};
}
// `Tables` may arrange the data of LabTables differently in memory.
template <class Tables>
REGIONS_HD LabTerms lab_terms(const Tables& tables, int red, int green, int blue) {
  const uint64_t sums =
      tables.share_of(0, red) + tables.share_of(1, green) + tables.share_of(2, blue);
  return lab_terms(tables.f(sums, 0), tables.f(sums, 1), tables.f(sums, 2));
}
template <class Tables>
REGIONS_HD uint32_t lab_of(const Tables& tables, int red, int green, int blue) {
  const LabTerms terms = lab_terms(tables, red, green, blue);
  return packed_color(terms.component[0] >> LabTerms::kBits, terms.component[1] >> LabTerms::kBits,
                      terms.component[2] >> LabTerms::kBits);
}

// Converts stored Y, U, V to 8-bit R, G, B, in fixed point.
struct YuvDecoder {
  static constexpr int kShift = 14;
  bool is_yuv = false;
  int drop = 0;   // bits per sample beyond 8
  int black = 0;  // luma value of black
  int32_t luma = 1 << kShift;
  int32_t red_v = 0, green_u = 0, green_v = 0, blue_u = 0;

  REGIONS_HD static int clamped(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
  // Converts a frame's first three components in place. Gray frames have only the first.
  REGIONS_HD void decode(int& first, int& second, int& third) const {
    if (!is_yuv) return;
    const int y = (first - black) * luma + (1 << (kShift - 1));
    const int u = second - 128, v = third - 128;
    first = clamped((y + red_v * v) >> kShift);
    second = clamped((y - green_u * u - green_v * v) >> kShift);
    third = clamped((y + blue_u * u) >> kShift);
  }
};

// Reads pixels of one format as colours of one colour space.
struct ColorReader {
  ColorSpace space = ColorSpace::lab;
  YuvDecoder decoder;

  // From 8-bit components; gray pixels repeat their value three times.
  template <class Tables>
  REGIONS_HD uint32_t color(const Tables& tables, int first, int second, int third) const {
    if (space == ColorSpace::luma && decoder.is_yuv) return packed_color(first - 128, 0, 0);
    decoder.decode(first, second, third);
    if (space == ColorSpace::lab) return lab_of(tables, first, second, third);
    if (space == ColorSpace::rgb) return packed_color(first - 128, second - 128, third - 128);
    return packed_color(((77 * first + 150 * second + 29 * third + 128) >> 8) - 128, 0, 0);
  }
  template <class Tables, class Byte>
  REGIONS_HD uint32_t at(const Tables& tables, const BasicFrame<Byte>& frame, int x, int y) const {
    const int first = frame.sample(0, x, y) >> decoder.drop;
    if (frame.layout.channels == 1) return color(tables, first, first, first);
    return color(tables, first, frame.sample(1, x, y) >> decoder.drop,
                 frame.sample(2, x, y) >> decoder.drop);
  }
};
ColorReader reader_of(const Layout& layout, const Colorimetry& color, ColorSpace space);

// The grid of cells. Cells at the right and bottom border may be cut off.
struct SlicGrid {
  Size size;  // size of the picture
  int width = 0;
  int height = 0;  // size of a cell, 1..512 pixels
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
// Maximum number of cells in a picture of this size, for any parameters.
size_t max_cells(Size size);

// A score is 16 times an integer plus the candidate's index 0..15, with a magnitude below 2^24. It
// is exact in a float, and the minimum identifies its candidate. Ties go to the first candidate in
// raster order.
inline constexpr int kCandidates = 9;
inline constexpr int kPatchRows = 16;  // rows that share the rounded slope of a candidate
inline constexpr int kMaxCell = 512;   // pixels: sums over nine cells of this side fit in 32 bits
inline constexpr int kMaxRowStep = 4;
inline constexpr int kNoScore =
    (1 << 24) - 32;  // of a candidate outside the grid or without pixels
inline constexpr int kOwnScore = (1 << 24) - 64;  // of the cell's own cluster if it has no pixels
inline constexpr int kColorBias = 128;            // sums contain component + 128

// Scales of a frame's distances. With channels of weight w, a score is
//
// 16 s = 16 scale (sum w (p - c)^2 + compactness^2 |(x, y) - (cx, cy)|^2 / cell area)
//
// minus the terms that all candidates of a pixel have in common.
struct SlicScale {
  float gain[3] = {};    // component's coefficient per 1/16 of a mean
  float square[3] = {};  // share of the score per squared coefficient
  float slope = 0;       // score per pixel, for a distance of 1/16 pixel
  float curvature = 0;   // score per squared distance of 1/256 square pixel
  int weight[3] = {};    // of components, when mean colours of fragments are compared
  // Only used by slico (see AdaptiveCandidate); 0 for slic.
  uint32_t reach = 0;  // initial reach of clusters
  float adaptive = 0;  // score of a colour distance equal to the cluster's reach
};
SlicScale scale_of(const SlicGrid& grid, const SlicParams& params);

// Sums over the pixels of a cluster. Coordinates start one cell to the left of and above its own
// cell, which no pixel of the cluster exceeds.
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

// Each multiplication by a real factor is a single IEEE operation whose result is converted to an
// integer at once. The compiler cannot fuse operations, so all machines give the same bits.
REGIONS_HD inline int scaled(int value, float factor) {
  return static_cast<int>(static_cast<float>(value) * factor);
}

// The mean in units of 1/16, rounded. The product is exact.
REGIONS_HD inline int mean_of(uint32_t sum, uint32_t count) {
  const float mean = static_cast<float>(sum) / static_cast<float>(count);
  return (static_cast<int>(32.0f * mean) + 1) >> 1;
}

// A cluster's centre in the form from which candidates are derived.
struct Center {
  int color[3];  // coefficients, -2047..2047
  int base;      // share of the colour in the score
  int x;         // position relative to the centre of the cluster's cell, 1/16 pixel
  int y;
  bool alive;
};

// Conversions of means: a component's coefficient, the coefficient's share of the score, and the
// offset from the centre of the cluster's own cell with side `side`.
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

// A cluster as a candidate for the pixels of one cell. The score of the pixel in column u and row v
// of patch q is (base + 16 q down + column u), rounded down to a multiple of 16, plus the
// candidate's index, plus 16 (color . pixel + row v).
struct Candidate {
  int color[3];
  int row;     // `down` / 16, rounded
  int down;    // score per row, before patches
  int column;  // score per column
  int base;

  REGIONS_HD int start(int u, int patch, int neighbour) const {
    return ((base + kPatchRows * patch * down + column * u) & ~15) | neighbour;
  }
};

// For a cluster with pixels, whose cell begins (dx, dy) pixels from this cell.
REGIONS_HD inline Candidate candidate_at(const Center& center, int dx, int dy, const SlicGrid& grid,
                                         const SlicScale& scale) {
  Candidate candidate = {};
  const int x = center.x + 16 * dx;
  const int y = center.y + 16 * dy;
  for (int c = 0; c < 3; ++c) candidate.color[c] = center.color[c];
  candidate.column = -scaled(x, scale.slope);
  candidate.down = -scaled(y, scale.slope);
  candidate.row = (candidate.down + 8) >> 4;
  candidate.base = center.base + scaled(x * x + y * y, scale.curvature) -
                   candidate.column * (grid.width / 2) - candidate.down * (grid.height / 2);
  return candidate;
}
// For a cluster without pixels, or one outside the grid (`inside` is false).
REGIONS_HD inline Candidate no_candidate(bool inside, int neighbour) {
  Candidate candidate = {};
  candidate.base = inside && neighbour == 4 ? kOwnScore : kNoScore;
  return candidate;
}
// `neighbour` 0..8 is the index in the cell's 3x3 neighbourhood, in raster order. `inside`: that
// cell is in the grid.
REGIONS_HD inline Candidate candidate_of(const Center& center, bool inside, int neighbour,
                                         const SlicGrid& grid, const SlicScale& scale) {
  if (!inside || !center.alive) return no_candidate(inside, neighbour);
  return candidate_at(center, (neighbour % 3 - 1) * grid.width, (neighbour / 3 - 1) * grid.height,
                      grid, scale);
}

// Warm start: clusters start from the centres of the previous frame. A cluster may do so if it has
// pixels and its centre is at most one cell away from the centre of the cluster's cell, so that
// every part of the picture keeps a nearby centre.
REGIONS_HD inline bool can_warm_start(const Center& center, const SlicGrid& grid) {
  const int reach_x = 16 * grid.width, reach_y = 16 * grid.height;
  return center.alive && center.x >= -reach_x && center.x <= reach_x && center.y >= -reach_y &&
         center.y <= reach_y;
}
// True if the new frame shows another colour at the cluster's centre: a scene cut or fast motion.
template <class ColorAt>
REGIONS_HD bool has_changed(const ClusterSums& sums, int column, int row, const SlicGrid& grid,
                            ColorAt color_at) {
  constexpr int kChange = 40;  // sum over components; 20 of L alone
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
// All clusters restart from the grid if more than a third cannot start warm or have changed.
REGIONS_HD inline bool is_scene_cut(uint32_t unfit, const SlicGrid& grid) {
  return static_cast<uint64_t>(unfit) * 3 > grid.cells();
}

// The rows of a patch that an iteration uses: v % step == phase. The last pass uses all rows, as do
// pictures that are lower than a patch.
struct RowSubset {
  int step = 1;
  int phase = 0;

  // Number of used rows among the first `all`.
  int rows(int all) const { return (all - phase + step - 1) / step; }
};
inline RowSubset rows_in_iteration(const SlicGrid& grid, const SlicParams& params, int iteration) {
  const int step = grid.size.height < kPatchRows || grid.height < kPatchRows
                       ? 1
                       : static_cast<int>(params.row_step);
  return {step, iteration % step};
}

// Distance that a centre moved, 1/16 pixel; 0 for clusters without pixels. Iterations end when the
// sum over all clusters is at most movement_limit().
REGIONS_HD inline int movement(const Center& before, const Center& after) {
  if (!before.alive || !after.alive) return 0;
  const int dx = after.x - before.x, dy = after.y - before.y;
  return (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}
uint64_t movement_limit(const SlicGrid& grid, const SlicParams& params);

// A four-bit code of a cluster. Clusters of touching pixels are at most three cells apart, so the
// code distinguishes them.
REGIONS_HD inline uint8_t cluster_code(int column, int row) {
  return static_cast<uint8_t>((column & 3) | (row & 3) << 2);
}

// The initial sums of cluster (column, row), from the single pixel (x, y).
REGIONS_HD inline ClusterSums seed_at(int x, int y, uint32_t color, int column, int row,
                                      const SlicGrid& grid) {
  ClusterSums sums;
  for (int c = 0; c < 3; ++c) {
    sums.color[c] = static_cast<uint32_t>(color_component(color, c) + kColorBias);
  }
  sums.x = static_cast<uint32_t>(x - (column - 1) * grid.width);
  sums.y = static_cast<uint32_t>(y - (row - 1) * grid.height);
  sums.count = 1;
  return sums;
}

// The candidates for the seed of a cluster (section 2, initialisation): the 3x3 pixels around the
// centre of its cell's visible part. The one with the smallest gradient is chosen, the first one of
// equals. Pixels outside the cell do not count. color_at(x, y) returns packed colours.
struct SeedCandidates {
  static constexpr int kCount = 9;
  static constexpr int kNone = INT32_MAX;
  SlicGrid grid;
  int column, row, x0, y0;

  REGIONS_HD SeedCandidates(int at_column, int at_row, const SlicGrid& of)
      : grid(of), column(at_column), row(at_row) {
    const auto smaller = [](int a, int b) { return a < b ? a : b; };
    x0 = column * grid.width + smaller(grid.width, grid.size.width - column * grid.width) / 2;
    y0 = row * grid.height + smaller(grid.height, grid.size.height - row * grid.height) / 2;
  }
  REGIONS_HD int x(int i) const { return x0 + i % 3 - 1; }
  REGIONS_HD int y(int i) const { return y0 + i / 3 - 1; }
  REGIONS_HD bool has(int i) const {
    const int dx = x(i) - column * grid.width, dy = y(i) - row * grid.height;
    return i < kCount && dx >= 0 && dy >= 0 && dx < grid.width && dy < grid.height &&
           x(i) < grid.size.width && y(i) < grid.size.height;
  }
  template <class ColorAt>
  REGIONS_HD int gradient(int i, const SlicScale& scale, ColorAt color_at) const {
    if (!has(i)) return kNone;
    const auto clamped = [](int v, int end) { return v < 0 ? 0 : v >= end ? end - 1 : v; };
    const int px = x(i), py = y(i);
    const uint32_t around[4] = {color_at(clamped(px + 1, grid.size.width), py),
                                color_at(clamped(px - 1, grid.size.width), py),
                                color_at(px, clamped(py + 1, grid.size.height)),
                                color_at(px, clamped(py - 1, grid.size.height))};
    int sum = 0;
    for (int c = 0; c < 3; ++c) {
      const int dx = color_component(around[0], c) - color_component(around[1], c);
      const int dy = color_component(around[2], c) - color_component(around[3], c);
      sum += scale.weight[c] * (dx * dx + dy * dy);  // all below 2^21
    }
    return sum;
  }
};
template <class ColorAt>
REGIONS_HD ClusterSums seed_of(int column, int row, const SlicGrid& grid, const SlicScale& scale,
                               ColorAt color_at) {
  const SeedCandidates candidates(column, row, grid);
  int best = SeedCandidates::kNone, chosen = 0;
  for (int p = 0; p < SeedCandidates::kCount; ++p) {
    const int gradient = candidates.gradient(p, scale, color_at);
    if (gradient >= best) continue;
    best = gradient;
    chosen = p;
  }
  const int x = candidates.x(chosen), y = candidates.y(chosen);
  return seed_at(x, y, color_at(x, y), column, row, grid);
}

// SLICO, the adaptive variant of Achanta et al. 2012, uses the size of cells as the maximum
// distance of positions. It divides a cluster's colour distances by its reach, the maximum colour
// distance of its pixels in the previous iteration. So textures do not split superpixels, and faint
// edges still count in smooth areas. ClusterColor is the mean colour and the reach of a cluster.
struct ClusterColor {
  int mean[3];     // component + 128, in quarters
  uint32_t reach;  // squared colour distance
};

// Squared colour distance, in quarters of a component: 64 per squared Lab unit, below 2^23.
REGIONS_HD inline int color_distance(const int (&quarters)[3], const ClusterColor& cluster,
                                     const SlicScale& scale) {
  int sum = 0;
  for (int c = 0; c < 3; ++c) {
    const int d = quarters[c] - cluster.mean[c];
    sum += scale.weight[c] * d * d;
  }
  return sum;
}

// One Lab unit: flat clusters must not react to noise.
inline constexpr uint32_t kMinReach = 64;
// Reach of all clusters in the first iteration.
REGIONS_HD inline uint32_t initial_reach(const SlicScale& scale) { return scale.reach; }

REGIONS_HD inline ClusterColor color_of(const ClusterSums& sums, uint32_t reach) {
  ClusterColor color = {};
  if (sums.count == 0) return color;
  for (int c = 0; c < 3; ++c) color.mean[c] = (mean_of(sums.color[c], sums.count) + 2) >> 2;
  color.reach = reach < kMinReach ? kMinReach : reach;
  return color;
}

// Score of the colour alone, converted to an integer at once (see scaled()). Above the maximum,
// positions decide.
inline constexpr float kMaxColorScore = 1 << 26;
REGIONS_HD inline int color_score(int distance, float factor) {
  const float score = static_cast<float>(distance) * factor;
  return static_cast<int>(score < kMaxColorScore ? score : kMaxColorScore);
}

// A cluster as an adaptive candidate for the pixels of one cell. The score is place.start() + 16
// (row v + colour score).
struct AdaptiveCandidate {
  Candidate place;  // with colour coefficients of zero
  ClusterColor color;
  float factor;  // score per colour distance
};

REGIONS_HD inline AdaptiveCandidate adaptive_candidate_of(Center center, const ClusterColor& color,
                                                          bool inside, int neighbour,
                                                          const SlicGrid& grid,
                                                          const SlicScale& scale) {
  const bool counts = inside && center.alive;
  for (int& coefficient : center.color) coefficient = 0;
  center.base = 0;
  AdaptiveCandidate candidate = {candidate_of(center, inside, neighbour, grid, scale), {}, 0};
  if (!counts) {
    candidate.place.base += (1 << 30) + (1 << 26);  // worse than any colour
    return candidate;
  }
  candidate.color = color;
  candidate.factor = scale.adaptive / static_cast<float>(color.reach);
  return candidate;
}

}  // namespace regions
