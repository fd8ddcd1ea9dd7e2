// Clustering of SLIC superpixels in integers: colours, distances and scores, seeds, warm start, and
// the adaptive variant SLICO. Both backends compute the same bits.
#pragma once

#include "core/slicsuperpixel/slicsuperpixel.hpp"

namespace regions {

// Tables for conversion from sRGB (IEC 61966-2-1) to CIELAB under D65. Each of the red, green and
// blue levels contributes a share to X/Xn, Y/Yn and Z/Zn. The three shares are packed into one
// word, 21 bits apart. The upper 13 bits of each sum are the index into the table of cube roots.
struct LabTables {
  static constexpr int kShare = 21;  // distance from X to Y and from Y to Z in a packed word, bits
  static constexpr int kDrop = 7;    // number of low bits of a sum that are not part of the index
  static constexpr int kRoots = 1 << 13;
  static constexpr int kUnit = 1 << 14;  // value in `root` that represents 1

  uint64_t share[3][256];  // [red, green, blue][level], packed shares of X, Y and Z
  uint16_t root[kRoots];   // the function f of CIE 15: the cube root, but linear below 0.008856

  REGIONS_HD uint64_t share_of(int channel, int level) const { return share[channel][level]; }
  REGIONS_HD int f(uint64_t sums, int axis) const {
    return root[sums >> (axis * kShare + kDrop) & (kRoots - 1)];
  }
};
const LabTables& lab_tables();

// Packs three components in -128..127 into one word, the first component in the lowest byte. For
// CIELAB, they are 2 L - 100, a and b.
REGIONS_HD inline uint32_t packed_color(int first, int second, int third) {
  return (static_cast<uint32_t>(first) & 255) | (static_cast<uint32_t>(second) & 255) << 8 |
         (static_cast<uint32_t>(third) & 255) << 16;
}
REGIONS_HD inline int color_component(uint32_t color, int c) {
  return static_cast<int8_t>(color >> (8 * c));
}

// The CIELAB components of a pixel (2 L - 100, a and b), in units of 1/65536.
struct LabTerms {
  static constexpr int kBits = 16;
  int component[3];
};

// Computes L = 116 f(Y) - 16, a = 500 (f(X) - f(Y)) and b = 200 (f(Y) - f(Z)) from f of X, Y and Z.
// For sRGB colours, a and b are within -108..99.
REGIONS_HD inline LabTerms lab_terms(int fx, int fy, int fz) {
  constexpr int kOne = 1 << LabTerms::kBits, kScale = kOne / LabTables::kUnit, kHalf = kOne / 2;
  return {{232 * kScale * fy + kHalf - 132 * kOne, 500 * kScale * (fx - fy) + kHalf,
           200 * kScale * (fy - fz) + kHalf}};
}
// `Tables` is LabTables or a class with the same functions and another arrangement in memory.
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
  int drop = 0;   // number of bits per sample beyond 8
  int black = 0;  // luma value of black
  // Weights of Y, U and V in R, G and B, in units of 1 / (1 << kShift).
  int32_t luma = 1 << kShift;
  int32_t red_v = 0, green_u = 0, green_v = 0, blue_u = 0;

  REGIONS_HD static int clamped(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
  // Converts the three 8-bit components of a pixel in place. Does nothing unless the format is YUV.
  REGIONS_HD void decode(int& first, int& second, int& third) const {
    if (!is_yuv) return;
    const int y = (first - black) * luma + (1 << (kShift - 1));
    const int u = second - 128, v = third - 128;
    first = clamped((y + red_v * v) >> kShift);
    second = clamped((y - green_u * u - green_v * v) >> kShift);
    third = clamped((y + blue_u * u) >> kShift);
  }
};

// Converts pixels of one format to packed colours of one colour space.
struct ColorReader {
  ColorSpace color_space = ColorSpace::lab;
  YuvDecoder decoder;

  // Converts 8-bit components. For gray pixels, all three components are the gray value.
  template <class Tables>
  REGIONS_HD uint32_t color(const Tables& tables, int first, int second, int third) const {
    if (color_space == ColorSpace::luma && decoder.is_yuv) return packed_color(first - 128, 0, 0);
    decoder.decode(first, second, third);
    if (color_space == ColorSpace::lab) return lab_of(tables, first, second, third);
    if (color_space == ColorSpace::rgb) return packed_color(first - 128, second - 128, third - 128);
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
ColorReader reader_of(const Layout& layout, const Colorimetry& color, ColorSpace color_space);

// The grid of cells. Cells at the right and bottom border may be cut off.
struct SlicGrid {
  Size size;        // size of the picture
  int width = 0;    // width of a cell, 1..512 pixels
  int height = 0;   // height of a cell, 1..512 pixels
  int columns = 0;  // number of cells per row
  int rows = 0;     // number of rows of cells

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

// A score says how badly a candidate fits a pixel. It is 16 times an integer plus the candidate's
// index 0..8, so the minimum identifies its candidate, and ties go to the first candidate in raster
// order. Its magnitude is below 2^24, so a float stores it exactly.
inline constexpr int kCandidates = 9;
// Height of a patch, pixels. A patch consists of consecutive rows of a cell. Within a patch, the
// score of a candidate changes by the same rounded amount from row to row.
inline constexpr int kPatchRows = 16;
// Maximum side of a cell, pixels; sums over nine such cells fit in 32 bits.
inline constexpr int kMaxCell = 512;
inline constexpr int kMaxRowStep = 4;
// Score of a candidate that is outside the grid or has no pixels.
inline constexpr int kNoScore = (1 << 24) - 32;
// Score of the cluster of the pixel's own cell if this cluster has no pixels.
inline constexpr int kOwnScore = (1 << 24) - 64;
inline constexpr int kColorBias = 128;  // added to each component before summation

// Factors that convert squared distances to scores. Let w be the weights of the components, p the
// colour and (x, y) the position of a pixel, c the colour and (cx, cy) the position of a cluster.
// Then
//
//   score = 16 scale (sum w (p - c)^2 + compactness^2 |(x, y) - (cx, cy)|^2 / cell area)
//
// without the terms that are equal for all candidates of the pixel. The coefficients of a cluster
// are the factors of the pixel's components p in this score, divided by 16: -2 scale w c.
struct SlicScale {
  float gain[3] = {};    // size of a coefficient per 1/16 of the component's mean
  float square[3] = {};  // contribution to the score per squared coefficient
  float slope = 0;       // change of the score per pixel, per 1/16 pixel of distance to the cluster
  float curvature = 0;   // score per 1/256 square pixel of squared distance
  int weight[3] = {};    // weights of components when mean colours of fragments are compared
  // Only used by slico (see AdaptiveCandidate); 0 for slic.
  // Value of ClusterColor::max_distance of all clusters in the first iteration.
  uint32_t initial_max_distance = 0;
  float adaptive = 0;  // score of a colour distance equal to the cluster's max_distance
};
SlicScale scale_of(const SlicGrid& grid, const SlicParams& params);

// Sums over the pixels of a cluster. Coordinates are relative to the top left corner of the upper
// left neighbour of the cluster's cell, so they are never negative.
struct ClusterSums {
  uint32_t color[3] = {};  // sums of component + kColorBias
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

// Multiplies by a real factor with a single IEEE operation, and converts the result to an integer
// at once. The compiler cannot fuse this operation with another one, so all machines compute the
// same bits.
REGIONS_HD inline int scaled(int value, float factor) {
  return static_cast<int>(static_cast<float>(value) * factor);
}

// Returns the mean in units of 1/16, rounded. The multiplication by 32 is exact.
REGIONS_HD inline int mean_of(uint32_t sum, uint32_t count) {
  const float mean = static_cast<float>(sum) / static_cast<float>(count);
  return (static_cast<int>(32.0f * mean) + 1) >> 1;
}

// The centre of a cluster, in the form that candidate_of() needs.
struct Center {
  int color[3];  // coefficients of the colour, -2047..2047
  int base;      // contribution of the colour to the score
  int x;         // horizontal position relative to the centre of the cluster's cell, 1/16 pixel
  int y;         // vertical position relative to the centre of the cluster's cell, 1/16 pixel
  bool alive;    // false: the cluster has no pixels
};

// Conversions of means. coefficient_of() returns the coefficient of a component, color_share() the
// contribution of a coefficient to the score, and offset_of() the offset of a position from the
// centre of the cluster's cell, whose side is `side` pixels.
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

// A cluster as a candidate for the pixels of one cell. The score of the pixel in column u and in
// row v of patch q is the sum of three terms: base + 16 q down + column u, rounded down to a
// multiple of 16; the candidate's index; and 16 (color . pixel + row v), with the dot product of
// the colours.
struct Candidate {
  int color[3];  // coefficients of the colour
  int row;       // `down` / 16, rounded
  int down;      // score per row, before rounding
  int column;    // score per column
  int base;      // part of the score that is equal for all pixels of the cell

  // The first two terms of the score.
  REGIONS_HD int start(int u, int patch, int neighbour) const {
    return ((base + kPatchRows * patch * down + column * u) & ~15) | neighbour;
  }
};

// The candidate for a cluster with pixels. The cell of the cluster begins (dx, dy) pixels from the
// cell of the pixels.
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
// The candidate for a cluster without pixels, or for a position outside the grid (`inside` is
// false).
REGIONS_HD inline Candidate no_candidate(bool inside, int neighbour) {
  Candidate candidate = {};
  candidate.base = inside && neighbour == 4 ? kOwnScore : kNoScore;
  return candidate;
}
// The candidate for any cluster. `neighbour` is the index 0..8 of its cell in the 3x3
// neighbourhood, in raster order. `inside` says whether this cell is in the grid.
REGIONS_HD inline Candidate candidate_of(const Center& center, bool inside, int neighbour,
                                         const SlicGrid& grid, const SlicScale& scale) {
  if (!inside || !center.alive) return no_candidate(inside, neighbour);
  return candidate_at(center, (neighbour % 3 - 1) * grid.width, (neighbour / 3 - 1) * grid.height,
                      grid, scale);
}

// Warm start: clusters start from the centres of the previous frame. A cluster can do so if it has
// pixels and its centre is at most one cell away from the centre of its cell. This limit ensures
// that every part of the picture has a nearby centre.
REGIONS_HD inline bool can_warm_start(const Center& center, const SlicGrid& grid) {
  const int max_x = 16 * grid.width, max_y = 16 * grid.height;
  return center.alive && center.x >= -max_x && center.x <= max_x && center.y >= -max_y &&
         center.y <= max_y;
}
// True if the colour of the new frame at the centre of the cluster differs clearly from the
// cluster's mean colour, because of a scene cut or fast motion.
template <class ColorAt>
REGIONS_HD bool has_changed(const ClusterSums& sums, int column, int row, const SlicGrid& grid,
                            ColorAt color_at) {
  constexpr int kChange = 40;  // sum of differences over the components; equals 20 units of L
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
// True if all clusters must restart from the grid, because more than a third of the clusters cannot
// start warm or have changed. `unfit` is the number of these clusters.
REGIONS_HD inline bool is_scene_cut(uint32_t unfit, const SlicGrid& grid) {
  return static_cast<uint64_t>(unfit) * 3 > grid.cells();
}

// The rows of a patch that an iteration uses: rows v with v % row_step == phase. The final
// assignment uses all rows. Pictures and cells with fewer rows than a patch always use all rows.
struct RowSubset {
  int row_step = 1;  // distance between used rows
  int phase = 0;     // first used row

  // Number of used rows among the first `all` rows of a patch.
  int rows(int all) const { return (all - phase + row_step - 1) / row_step; }
};
inline RowSubset rows_in_iteration(const SlicGrid& grid, const SlicParams& params, int iteration) {
  const int step = grid.size.height < kPatchRows || grid.height < kPatchRows ? 1 : params.row_step;
  return {step, iteration % step};
}

// The distance by which a centre moved, in 1/16 pixel; 0 for clusters without pixels. Iterations
// end when the sum over all clusters is at most movement_tolerance().
REGIONS_HD inline int movement(const Center& before, const Center& after) {
  if (!before.alive || !after.alive) return 0;
  const int dx = after.x - before.x, dy = after.y - before.y;
  return (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}
uint64_t movement_tolerance(const SlicGrid& grid, const SlicParams& params);

// A four-bit code of the cluster of cell (column, row). The clusters of touching pixels are at most
// three cells apart, so they have different codes.
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

// The pixels from which the seed of a cluster is chosen (SLIC, section 2, initialisation): the 3x3
// pixels around the centre of the visible part of its cell. The seed is the pixel with the smallest
// gradient, and the first of several equal pixels. Pixels outside the cell are not used.
// color_at(x, y) returns packed colours.
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
      sum += scale.weight[c] * (dx * dx + dy * dy);  // the sum stays below 2^21
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

// SLICO, the adaptive variant of Achanta et al. 2012, divides position distances by the size of a
// cell. It divides the colour distances of a cluster by max_distance, the maximum colour distance
// of the cluster's pixels in the previous iteration. So textures do not split superpixels, and weak
// edges still count in smooth areas. ClusterColor contains the mean colour and max_distance of a
// cluster.
struct ClusterColor {
  int mean[3];            // component + 128, in units of 1/4
  uint32_t max_distance;  // maximum squared colour distance, in the units of color_distance()
};

// Squared colour distance of components in units of 1/4. A distance of one Lab unit gives 64. The
// result is below 2^23.
REGIONS_HD inline int color_distance(const int (&quarters)[3], const ClusterColor& cluster,
                                     const SlicScale& scale) {
  int sum = 0;
  for (int c = 0; c < 3; ++c) {
    const int d = quarters[c] - cluster.mean[c];
    sum += scale.weight[c] * d * d;
  }
  return sum;
}

// Minimum of max_distance: one Lab unit. It keeps clusters of uniform colour from reacting to
// noise.
inline constexpr uint32_t kMinMaxDistance = 64;

REGIONS_HD inline ClusterColor color_of(const ClusterSums& sums, uint32_t max_distance) {
  ClusterColor color = {};
  if (sums.count == 0) return color;
  for (int c = 0; c < 3; ++c) color.mean[c] = (mean_of(sums.color[c], sums.count) + 2) >> 2;
  color.max_distance = max_distance < kMinMaxDistance ? kMinMaxDistance : max_distance;
  return color;
}

// Score of the colour alone, converted to an integer at once (see scaled()). It is limited, so that
// positions decide between candidates with very different colours.
inline constexpr float kMaxColorScore = 1 << 26;
REGIONS_HD inline int color_score(int distance, float factor) {
  const float score = static_cast<float>(distance) * factor;
  return static_cast<int>(score < kMaxColorScore ? score : kMaxColorScore);
}

// A candidate of SLICO for the pixels of one cell. The score of a pixel in row v of a patch is
// place.start() + 16 (place.row v + colour score).
struct AdaptiveCandidate {
  Candidate place;  // the score of the position; the colour coefficients are zero
  ClusterColor color;
  float factor;  // score per squared colour distance
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
    candidate.place.base += (1 << 30) + (1 << 26);  // higher than any colour score
    return candidate;
  }
  candidate.color = color;
  candidate.factor = scale.adaptive / static_cast<float>(color.max_distance);
  return candidate;
}

}  // namespace regions
