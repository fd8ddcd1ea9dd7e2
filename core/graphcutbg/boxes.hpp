// source=boxes: the colours of the object in a box and of its surroundings, as Gaussian mixtures,
// and the weights of the cut that separates them (Rother, Kolmogorov and Blake, "GrabCut", 2004).
//
// The mixtures are found on samples of each box, at most kSampleSide along each axis: all samples
// of a box are separated by a cut, the mixtures are fitted to both sides, and so on. Then one cut
// of the frame separates all pixels. All numbers are integers, so all backends compute the same
// bits.
#pragma once

#include <vector>

#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/scene_statistics.hpp"

namespace regions::graphcutbg {

// Number of cuts of the samples. Mean intersection over union of 130 composed objects with 2, 3 and
// 5 cuts: .825, .826, .827 (2026-11-29, also the numbers below). On photographs, 3 are better
// than 2.
inline constexpr int kSampleCuts = 3;
inline constexpr int kSampleSide = 64;  // maximum number of samples of a box along an axis
inline constexpr size_t kBoxSamples = size_t{kSampleSide} * kSampleSide;
inline constexpr int kMixtureParts = 5;  // Gaussians of a mixture
inline constexpr int kFits = 5;          // number of fits before the first cut
inline constexpr int kMixtures = 2;
enum Mixture : int { kSurroundings, kObject };

// Numbers 0..2^32 - 1 whose square is at most `square`.
REGIONS_HD inline int64_t square_root(int64_t square) {
  uint64_t rest = square > 0 ? static_cast<uint64_t>(square) : 0, root = 0;
  for (uint64_t bit = uint64_t{1} << 62; bit > 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return static_cast<int64_t>(root);
}

// A box of FrameTask::attached, clipped to the frame, and the window around it in which colours are
// sampled. A box without pixels has no samples.
struct ObjectBox {
  int32_t left = 0, top = 0, right = -1, bottom = -1;  // inclusive
  uint32_t track = 0;
  // Index of the box with the same track in the last frame, or kNew.
  static constexpr int32_t kNew = -1;
  int32_t before = kNew;
  // Factors of squared distances from the centre along both axes, see distance().
  uint64_t across = 0, down = 0;
  int32_t window_left = 0, window_top = 0, window_width = 0, window_height = 0;  // pixels
  int32_t columns = 0, rows = 0;                                                 // of samples

  static ObjectBox of(const Region& box, Size frame);

  REGIONS_HD bool is_tracked() const { return before != kNew; }
  // Number of cuts of the samples.
  REGIONS_HD int sample_cuts() const { return is_tracked() ? 1 : kSampleCuts; }
  REGIONS_HD bool contains(int x, int y) const {
    return x >= left && x <= right && y >= top && y <= bottom;
  }
  // Squared distance of a pixel of the box from the centre: 65536 in the middle of each side.
  REGIONS_HD uint32_t distance(int x, int y) const {
    const auto square = [](int64_t d, uint64_t factor) {
      return static_cast<uint32_t>(static_cast<uint64_t>(d * d) * factor >> 32);
    };
    return square(int64_t{2} * x - left - right, across) +
           square(int64_t{2} * y - top - bottom, down);
  }
  // The pixel of a sample.
  REGIONS_HD int x_of(int column) const {
    return window_left + (2 * column + 1) * window_width / (2 * columns);
  }
  REGIONS_HD int y_of(int row) const {
    return window_top + (2 * row + 1) * window_height / (2 * rows);
  }
};

// Reads the boxes of consecutive frames, and finds the boxes of one track.
class BoxTracks {
 public:
  // The only function that allocates.
  void reserve() { tracks_.reserve(kMaxBoxes); }
  // Forgets the last frame.
  void clear() { tracks_.clear(); }
  // Writes the boxes of a frame, clipped to its picture, to `boxes`. Returns their number, at most
  // kMaxBoxes.
  uint32_t read(const FrameTask& task, Size frame, ObjectBox* boxes);
  // Number of cuts of the samples that the boxes of the last read() need.
  int sample_cuts() const { return sample_cuts_; }
  // Which of two arrays receives the models of the last read(); the other one has the models
  // before.
  size_t half() const { return half_; }

 private:
  std::vector<uint32_t> tracks_;  // of the last frame's boxes; 0 for boxes without pixels
  int sample_cuts_ = 0;
  size_t half_ = 0;
};

// A sample of a box: its colour and, in the upper byte, its state.
struct BoxSample {
  static constexpr uint32_t kUsed = 1u << 24;      // mixtures are fitted to it
  static constexpr uint32_t kOwned = 1u << 25;     // in the box's own pixels
  static constexpr uint32_t kOfObject = 1u << 26;  // the last cut assigns it to the object

  REGIONS_HD static int mixture_of(uint32_t sample) {
    return sample & kOfObject ? kObject : kSurroundings;
  }
  // True for the samples that are in the object or in its surroundings, not in other boxes.
  REGIONS_HD static bool is_described(uint32_t sample) { return sample & (kUsed | kOwned); }
  REGIONS_HD static bool is_outside(uint32_t sample) {
    return (sample & (kUsed | kOwned)) == kUsed;
  }
  // The sample after a cut.
  REGIONS_HD static uint32_t after_cut(uint32_t sample, bool is_object) {
    if (!(sample & kOwned)) return sample;
    return (sample & ~kOfObject) | kUsed | (is_object ? kOfObject : 0);
  }
};

// Sums over the colours of samples. They fit in 32 bits, because a box has at most kBoxSamples.
struct SampleSums {
  uint32_t count = 0;
  uint32_t sum[3] = {};
  uint32_t product[6] = {};  // of components 00, 10, 11, 20, 21, 22
  static_assert(kBoxSamples * 255 * 255 < uint64_t{1} << 32);

  // Calls add(address, number) for each sum.
  template <class Add>
  REGIONS_HD void add_color(const Color& color, Add add) {
    add(&count, 1u);
    REGIONS_UNROLL
    for (int i = 0; i < 3; ++i) {
      add(&sum[i], static_cast<uint32_t>(color[i]));
      for (int j = 0; j <= i; ++j) {
        add(&product[i * (i + 1) / 2 + j], static_cast<uint32_t>(color[i] * color[j]));
      }
    }
  }
  // The covariance of components i >= j, 1/256 squared levels.
  REGIONS_HD int64_t covariance(int i, int j) const {
    const auto n = static_cast<int64_t>(count);
    const int64_t spread = n * static_cast<int64_t>(product[i * (i + 1) / 2 + j]) -
                           static_cast<int64_t>(sum[i]) * static_cast<int64_t>(sum[j]);
    return (spread << 8) / (n * n);
  }
};

// Sums over pairs of neighbours, for the mean contrast.
struct ContrastSums {
  // Links become weak at half the mean contrast. In GrabCut they become weak at the mean contrast,
  // and then the smoothness that texture requires cuts off thin parts of objects. Intersection over
  // union with sharpness 1, 2 and 4: .786, .818, .826 (without the minimum kMinLinkFraction).
  static constexpr uint32_t kSharpness = 4;
  uint32_t pairs = 0;
  uint32_t squares = 0;

  REGIONS_HD ContrastScale scale(int32_t given) const {
    constexpr uint32_t kMax = 65536 * kLinkSteps;
    if (given > 0) return ContrastScale::scaled(static_cast<uint32_t>(given));
    const uint64_t top = static_cast<uint64_t>(pairs) * (kMax / 2) * kSharpness;
    const uint64_t scale = squares > 0 ? top / squares : kMax;
    return ContrastScale::scaled(scale > kMax ? kMax : static_cast<uint32_t>(scale));
  }
};

// One Gaussian of a mixture. The distance of a colour is the length of W c - offset, where W is the
// inverse of the covariance's Cholesky factor.
struct ColorGaussian {
  static constexpr int kWhitenBits = 16;       // fraction bits of `whiten` and `offset`
  static constexpr int kLengthBits = 4;        // fraction bits of lengths
  static constexpr int kMaxLength = 1 << 10;   // 64 standard deviations
  static constexpr int32_t kAbsent = 1 << 24;  // cost of a Gaussian without samples
  static constexpr int kMinSamples = 4;
  // Added to all variances (1/256 squared levels): noise, and colours between two levels.
  static constexpr int kMinVariance = 2 * 256;

  int32_t whiten[6] = {};  // rows of the lower triangle
  int32_t offset[3] = {};
  int32_t penalty = kAbsent;  // units of 1 / kUnitsPerNat

  // The negative logarithm of the density, up to a constant, in units of 1 / kUnitsPerNat nats.
  REGIONS_HD int32_t cost(int32_t y, int32_t u, int32_t v) const {
    constexpr int kShift = kWhitenBits - kLengthBits;
    const auto square = [](int32_t length) {
      const int32_t limited = clamp<int32_t>(length >> kShift, -kMaxLength, kMaxLength);
      return limited * limited;
    };
    const int32_t sum = square(whiten[0] * y - offset[0]) +
                        square(whiten[1] * y + whiten[2] * u - offset[1]) +
                        square(whiten[3] * y + whiten[4] * u + whiten[5] * v - offset[2]);
    static_assert(kUnitsPerNat == 1 << (2 * kLengthBits - 2));
    return (sum >> 3) + penalty;
  }
  // Fits the Gaussian to samples, which are a part of `total` samples.
  REGIONS_HD static ColorGaussian fitted(const SampleSums& sums, uint32_t total);
};

REGIONS_HD inline ColorGaussian ColorGaussian::fitted(const SampleSums& sums, uint32_t total) {
  ColorGaussian part;
  if (sums.count < kMinSamples) return part;
  // The Cholesky factor, 12 fraction bits.
  const auto variance = [&](int i) { return (sums.covariance(i, i) + kMinVariance) << 16; };
  const auto covariance = [&](int i, int j) { return sums.covariance(i, j) * 65536; };
  const auto root = [](int64_t square) {
    constexpr int64_t kMinSquare = int64_t{kMinVariance} << 15;  // guards against rounding
    return square_root(square > kMinSquare ? square : kMinSquare);
  };
  const int64_t l0 = root(variance(0));
  const int64_t l1 = covariance(1, 0) / l0, l2 = root(variance(1) - l1 * l1);
  const int64_t l3 = covariance(2, 0) / l0, l4 = (covariance(2, 1) - l3 * l1) / l2;
  const int64_t l5 = root(variance(2) - l3 * l3 - l4 * l4);
  constexpr int64_t kOne = int64_t{1} << (kWhitenBits + 12);
  const int64_t w0 = kOne / l0, w2 = kOne / l2, w5 = kOne / l5;
  const int64_t w1 = -l1 * w0 / l2, w4 = -l4 * w2 / l5, w3 = -(l3 * w0 + l4 * w1) / l5;
  const int64_t rows[3][3] = {{w0, 0, 0}, {w1, w2, 0}, {w3, w4, w5}};
  for (int i = 0; i < 3; ++i) {
    int64_t offset = 0;
    for (int j = 0; j <= i; ++j) {
      part.whiten[i * (i + 1) / 2 + j] = static_cast<int32_t>(rows[i][j]);
      offset += rows[i][j] * static_cast<int64_t>(sums.sum[j]);
    }
    part.offset[i] = static_cast<int32_t>(offset / static_cast<int64_t>(sums.count));
  }
  const auto log_of = [](int64_t x) { return log_units(static_cast<uint32_t>(x > 0 ? x : 1)); };
  part.penalty = log_of(total) - log_of(sums.count) - log_of(w0) - log_of(w2) - log_of(w5) +
                 3 * log_of(int64_t{1} << kWhitenBits);
  return part;
}

// Divides samples into kMixtureParts parts along the direction in which their colours differ most.
struct ColorSplit {
  int32_t axis[3] = {1, 0, 0};
  int32_t limits[kMixtureParts - 1] = {};

  REGIONS_HD int part_of(const Color& color) const {
    const int32_t along = axis[0] * color.y + axis[1] * color.u + axis[2] * color.v;
    int part = 0;
    for (const int32_t limit : limits) part += along >= limit;
    return part;
  }
  REGIONS_HD static ColorSplit of(const SampleSums& sums);
};

REGIONS_HD inline ColorSplit ColorSplit::of(const SampleSums& sums) {
  ColorSplit split;
  if (sums.count == 0) return split;
  int64_t covariance[3][3];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j <= i; ++j) covariance[i][j] = covariance[j][i] = sums.covariance(i, j);
  }
  // Power iteration for the first principal component, from the component that varies most.
  int widest = 0;
  for (int i = 1; i < 3; ++i) {
    if (covariance[i][i] > covariance[widest][widest]) widest = i;
  }
  int64_t axis[3] = {};
  axis[widest] = 1 << 14;
  const auto product = [&](int i) {
    return covariance[i][0] * axis[0] + covariance[i][1] * axis[1] + covariance[i][2] * axis[2];
  };
  constexpr int kIterations = 8;
  for (int k = 0; k < kIterations; ++k) {
    int64_t next[3] = {product(0), product(1), product(2)}, largest = 0;
    for (const int64_t part : next)
      largest = part > largest ? part : -part > largest ? -part : largest;
    if (largest == 0) break;  // all samples have one colour
    for (int i = 0; i < 3; ++i) axis[i] = next[i] * (1 << 14) / largest;
  }
  int64_t variance = 0, mean = 0;
  for (int i = 0; i < 3; ++i) {
    variance += product(i) * axis[i] >> 8;
    mean += axis[i] * static_cast<int64_t>(sums.sum[i]);
    split.axis[i] = static_cast<int32_t>(axis[i]);
  }
  mean /= static_cast<int64_t>(sums.count);
  const int64_t deviation = square_root(variance);
  // Fifths of a normal distribution, 1/256 standard deviations.
  constexpr int kLimits[kMixtureParts - 1] = {-215, -65, 65, 215};
  for (int i = 0; i < kMixtureParts - 1; ++i) {
    split.limits[i] = static_cast<int32_t>(mean + deviation * kLimits[i] / 256);
  }
  return split;
}

// Limit of the evidence of a colour, so that the shape decides about rare colours.
inline constexpr int kMaxBoxEvidence = 6 * kUnitsPerNat;
// Limit of the cost of a colour in the object: the object may have parts of any colour. 16 nats are
// about the cost of one of 2^24 equally likely colours.
inline constexpr int kMaxObjectCost = 16 * kUnitsPerNat;
// The terminal weight of a pixel, for its costs in both mixtures.
REGIONS_HD inline int32_t box_evidence(int32_t surroundings, int32_t object) {
  const int32_t difference = surroundings - smaller(object, kMaxObjectCost);
  const int32_t limited = clamp<int32_t>(difference, -kMaxBoxEvidence, kMaxBoxEvidence);
  return limited * 3 / 2;  // relative to the property `lambda`
}

// The sum of the costs of samples.
struct CostSum {
  uint32_t count = 0;
  uint32_t sum = 0;

  REGIONS_HD int32_t mean() const { return count > 0 ? static_cast<int32_t>(sum / count) : 0; }
};

// The mixtures of a box.
struct BoxModel {
  ColorGaussian parts[kMixtures][kMixtureParts];
  ContrastScale contrasts, sample_contrasts;  // of neighbouring pixels, and of samples

  // Mean of least_cost() over the samples of the box, for boxes with a track.
  int32_t mean_cost = 0;

  // The mixtures of a track's last box are the start for its next box if they describe the samples
  // of that box nearly as well: their mean cost rises by at most kMaxRise. In composed clips it
  // rose by up to .3 nats between frames, and by .7 nats or more in 95 % of the cases in which the
  // track changed to another object (2026-11-29).
  static constexpr int32_t kMaxRise = kUnitsPerNat / 2;
  REGIONS_HD bool fits(const CostSum& samples) const {
    return samples.mean() <= mean_cost + kMaxRise;
  }
  // True if there are Gaussians of the object and of the surroundings.
  REGIONS_HD bool is_complete() const { return has_parts(kSurroundings) && has_parts(kObject); }
  // Cost of a colour in the mixture that describes it better, limited.
  REGIONS_HD int32_t least_cost(const Color& color) const {
    const int32_t least = smaller(cost(kSurroundings, color), cost(kObject, color));
    return smaller(least, kMaxObjectCost);
  }

  // Index of the Gaussian to which a colour belongs.
  REGIONS_HD int part_of(int mixture, const Color& color) const {
    int nearest = 0;
    int32_t least = parts[mixture][0].cost(color.y, color.u, color.v);
    for (int k = 1; k < kMixtureParts; ++k) {
      const int32_t cost = parts[mixture][k].cost(color.y, color.u, color.v);
      if (cost < least) {
        least = cost;
        nearest = k;
      }
    }
    return nearest;
  }
  // The terminal weight of a colour.
  REGIONS_HD int32_t evidence(const Color& color) const {
    return box_evidence(cost(kSurroundings, color), cost(kObject, color));
  }

 private:
  REGIONS_HD bool has_parts(int mixture) const {
    for (const ColorGaussian& part : parts[mixture]) {
      if (part.penalty < ColorGaussian::kAbsent) return true;
    }
    return false;
  }
  // Lowest cost of a colour in a mixture.
  REGIONS_HD int32_t cost(int mixture, const Color& color) const {
    int32_t least = parts[mixture][0].cost(color.y, color.u, color.v);
    for (int k = 1; k < kMixtureParts; ++k) {
      least = smaller(least, parts[mixture][k].cost(color.y, color.u, color.v));
    }
    return least;
  }
};

// True for samples that are in the object before the first cut, for their distance from the centre.
// A larger ellipse is better for composed objects (.846 for 50000), but in photographs the
// background of slim objects then becomes their colour.
REGIONS_HD constexpr bool starts_in_object(uint32_t distance) { return distance < 32768; }

// Views of the memory for boxes. Arrays of samples have the shape [box][kSampleSide][kSampleSide];
// all boxes together are one picture of kSampleSide columns, which one cut separates.
struct BoxArrays {
  int width = 0, height = 0;  // of the frame
  uint32_t count = 0;         // number of boxes
  const ObjectBox* boxes = nullptr;
  BoxModel* models = nullptr;               // [count]
  const BoxModel* models_before = nullptr;  // [kMaxBoxes], of the last frame
  const uint32_t* current = nullptr;        // [height][width], packed colours of the frame
  // [height][width], not 0 at pixels that the exclusion picture marks as background; may be null
  const uint8_t* excluded = nullptr;
  uint16_t* owner = nullptr;    // [height][width], number of the box of a pixel, or 0
  int32_t* terminal = nullptr;  // [height][width]
  uint32_t* samples = nullptr;  // see BoxSample
  int32_t* sample_terminal = nullptr;
  int32_t *sample_right = nullptr, *sample_down = nullptr;
  int32_t *sample_down_right = nullptr, *sample_down_left = nullptr;  // null for 4 neighbours
  const uint8_t* sample_mask = nullptr;

  REGIONS_HD size_t at(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
  REGIONS_HD static size_t sample_at(uint32_t box, int column, int row) {
    return box * kBoxSamples + static_cast<size_t>(row * kSampleSide + column);
  }
  REGIONS_HD bool is_excluded(int x, int y) const { return excluded && excluded[at(x, y)]; }
  REGIONS_HD Color color_at(int x, int y) const { return Color::load(current + at(x, y)); }
};

// The number of the box to which pixel (x, y) belongs, or 0. `owner` is its box among the boxes
// 1..number - 1. Boxes are added in the order of their numbers.
REGIONS_HD inline uint16_t owner_with(const BoxArrays& arrays, uint16_t owner, uint32_t number,
                                      int x, int y) {
  const ObjectBox& box = arrays.boxes[number - 1];
  if (!box.contains(x, y)) return owner;
  const bool is_nearer = owner == 0 || box.distance(x, y) < arrays.boxes[owner - 1].distance(x, y);
  return is_nearer ? static_cast<uint16_t>(number) : owner;
}

// Reads a sample of box `box`, and calls add(address, number) for the sums over its contrasts to
// the neighbours in the frame. Requires the owners of all pixels. Entries outside the window are 0.
template <class Add>
REGIONS_HD uint32_t read_sample(const BoxArrays& arrays, uint32_t box, int column, int row,
                                ContrastSums& sums, Add add) {
  const ObjectBox& place = arrays.boxes[box];
  if (column >= place.columns || row >= place.rows) return 0;
  const int x = place.x_of(column), y = place.y_of(row);
  const Color color = arrays.color_at(x, y);
  const auto compare = [&](int x2, int y2) {
    if (x2 >= arrays.width || y2 >= arrays.height) return;
    add(&sums.pairs, 1u);
    add(&sums.squares, static_cast<uint32_t>(squared_contrast(color, arrays.color_at(x2, y2))));
  };
  compare(x + 1, y);
  compare(x, y + 1);
  const uint16_t owner = arrays.owner[arrays.at(x, y)];
  const auto word = static_cast<uint32_t>(color.packed());
  if (owner == 0) return word | BoxSample::kUsed;
  if (owner != box + 1) return word;
  const bool is_object = starts_in_object(place.distance(x, y));
  return word | BoxSample::kOwned | (is_object ? BoxSample::kUsed | BoxSample::kOfObject : 0);
}

// Before the first cut, it is not known where pixels near the border of the box belong. If there
// are fewer samples outside all boxes, these pixels count as surroundings.
inline constexpr uint32_t kMinSurroundings = 32;

// Calls add(address, number) for the sums over the contrasts of a sample to its neighbours, if
// there is a sample.
template <class Add>
REGIONS_HD void compare_sample(const BoxArrays& arrays, uint32_t box, int column, int row,
                               ContrastSums& sums, Add add) {
  const ObjectBox& place = arrays.boxes[box];
  if (column >= place.columns || row >= place.rows) return;
  const uint32_t* sample = arrays.samples + BoxArrays::sample_at(box, column, row);
  const auto compare = [&](const uint32_t* other) {
    add(&sums.pairs, 1u);
    add(&sums.squares,
        static_cast<uint32_t>(squared_contrast(Color::load(sample), Color::load(other))));
  };
  if (column + 1 < place.columns) compare(sample + 1);
  if (row + 1 < place.rows) compare(sample + kSampleSide);
}

// Capacity of the link between two neighbours of one box.
REGIONS_HD inline int32_t box_link(const EnergyPlan& plan, const ContrastScale& contrasts,
                                   const Color& a, const Color& b, bool is_diagonal) {
  return plan.link_for(contrasts.step_of(squared_contrast(a, b)), is_diagonal);
}

// Writes the capacities of a sample's links. A link is 0 if one end is outside the box's own
// pixels, or if an entry has no sample.
REGIONS_HD inline void compute_sample_links(const BoxArrays& arrays, const EnergyPlan& plan,
                                            uint32_t box, int column, int row) {
  const size_t i = BoxArrays::sample_at(box, column, row);
  const uint32_t* sample = arrays.samples + i;
  const auto link_to = [&](int dx, int dy) {
    if (column + dx < 0 || column + dx >= kSampleSide || row + dy >= kSampleSide) return 0;
    const uint32_t* other = sample + dy * kSampleSide + dx;
    if (!(*sample & *other & BoxSample::kOwned)) return 0;
    return box_link(plan, arrays.models[box].sample_contrasts, Color::load(sample),
                    Color::load(other), dx != 0 && dy != 0);
  };
  arrays.sample_right[i] = link_to(1, 0);
  arrays.sample_down[i] = link_to(0, 1);
  if (!arrays.sample_down_right) return;
  arrays.sample_down_right[i] = link_to(1, 1);
  arrays.sample_down_left[i] = link_to(-1, 1);
}

// Terminal weight of pixels and samples outside all boxes.
inline constexpr int32_t kOutsideBoxes = -1;

// Capacity of the link from pixel (x, y) to the pixel `dx` and `dy` further.
REGIONS_HD inline int32_t pixel_link(const BoxArrays& arrays, const EnergyPlan& plan, int x, int y,
                                     int dx, int dy) {
  const int x2 = x + dx, y2 = y + dy;
  const uint16_t owner = arrays.owner[arrays.at(x, y)];
  if (owner == 0 || x2 < 0 || x2 >= arrays.width || y2 >= arrays.height) return 0;
  if (arrays.owner[arrays.at(x2, y2)] != owner) return 0;
  return box_link(plan, arrays.models[owner - 1].contrasts, arrays.color_at(x, y),
                  arrays.color_at(x2, y2), dx != 0 && dy != 0);
}

}  // namespace regions::graphcutbg
