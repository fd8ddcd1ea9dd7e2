// Statistics of a whole frame: colour histograms, contrast, and changes of light. They are measured
// before the evidence of pixels is computed. All sums are integers, so the order of additions does
// not matter. ModelArrays contains the arrays of a model.
#pragma once

#include <algorithm>
#include <utility>

#include "core/graphcutbg/background_model.hpp"
#include "core/maxflow/maxflow.hpp"

namespace regions::graphcutbg {

// Histograms of the foreground and background colours in the whole picture, in which old frames
// fade. Colours that are typical of the foreground or the background get additional evidence, as in
// GrabCut (Rother et al. 2004), but with histograms instead of mixtures. All values are initially
// zero.
struct ColorHistograms {
  static constexpr int kBins = 4096;
  static constexpr uint32_t kMin = 16 * 256;     // a histogram with a smaller total is not used
  static constexpr int kMax = 2 * kUnitsPerNat;  // maximum additional evidence of a colour, units

  // [background, foreground][bin], counts of the last frame that updated the model.
  uint32_t fresh[2][kBins];
  // [background, foreground][bin], counts of earlier frames, times 16; they lose 1/16 per frame.
  uint32_t count[2][kBins];
  uint32_t total[2];        // [background, foreground], sums of `count`
  uint32_t fresh_total[2];  // [background, foreground], sums of `fresh`
  int32_t bias[kBins];      // [bin], additional evidence, units

  // The index of the bin of a colour: 16 steps of luma, and 16 steps for the middle half of the
  // range of each chroma component.
  template <class Int>
  REGIONS_LANES static Int bin_of(const BasicColor<Int>& color) {
    const auto chroma = [](const Int& value) { return clamp<Int>((value - 64) >> 3, 0, 15); };
    return (color.y >> 4) << 8 | chroma(color.u) << 4 | chroma(color.v);
  }
};

// Natural logarithm of x > 0 in units of 1 / kUnitsPerNat nats, interpolated linearly between
// powers of two.
REGIONS_HD inline int log_units(uint32_t x) {
  int power = 0;
  for (uint32_t higher = x; higher > 1; higher >>= 1) ++power;
  const auto part = static_cast<int>((static_cast<uint64_t>(x) << 6 >> power) - 64);
  return (power * 64 + part) * 45426 >> 16;  // 45426 / 2^16 = ln 2
}

// Adds the counts of the last frame to a sum in which old frames fade.
REGIONS_HD inline void fade(uint32_t& count, uint32_t& fresh) {
  count += fresh * 16 - count / 16;
  fresh = 0;
}

// These functions compute the additional evidence of each bin after a frame. finalize_totals() must
// be called once before finalize_bin() is called for each bin.
REGIONS_HD inline void finalize_totals(ColorHistograms& colors) {
  for (int k = 0; k < 2; ++k) fade(colors.total[k], colors.fresh_total[k]);
}
REGIONS_HD inline void finalize_bin(ColorHistograms& colors, int bin) {
  constexpr uint32_t kSmoothing = 64;
  int score[2];
  for (int k = 0; k < 2; ++k) {
    fade(colors.count[k][bin], colors.fresh[k][bin]);
    score[k] = log_units(colors.count[k][bin] + kSmoothing) -
               log_units(colors.total[k] + kSmoothing * (ColorHistograms::kBins / 64));
  }
  const int bias = score[1] - score[0];
  const bool known =
      colors.total[0] >= ColorHistograms::kMin && colors.total[1] >= ColorHistograms::kMin;
  colors.bias[bin] = !known                          ? 0
                     : bias < -ColorHistograms::kMax ? -ColorHistograms::kMax
                     : bias > ColorHistograms::kMax  ? ColorHistograms::kMax
                                                     : bias;
}

// Sums of contrast along the outline of foreground that rests, see label_history.hpp.
struct OutlineSums {
  uint32_t in_picture = 0;  // sum of squared contrasts in the picture
  uint32_t in_model = 0;    // sum of squared contrasts in the model
};

// Divides a picture into square cells.
struct PictureCells {
  static constexpr int kMax = 64;  // maximum number of columns and rows
  int shift = 3;                   // binary logarithm of the side of a cell, in pixels
  int columns = 0, rows = 0;

  static PictureCells of(Size picture) {
    PictureCells cells;
    while ((std::max(picture.width, picture.height) - 1) >> cells.shift >= kMax) ++cells.shift;
    cells.columns = ((picture.width - 1) >> cells.shift) + 1;
    cells.rows = ((picture.height - 1) >> cells.shift) + 1;
    return cells;
  }
  REGIONS_HD size_t count() const {
    return static_cast<size_t>(columns) * static_cast<size_t>(rows);
  }
  REGIONS_HD int index_of(int x, int y) const { return (y >> shift) * columns + (x >> shift); }
};

// The arrays of one model and of the current frame. They have the frame's size, without padding.
struct ModelArrays {
  int width = 0, height = 0;
  // [height][width], colours of the frame (Color::packed), the match cache and the history
  // of labels.
  uint32_t* current = nullptr;
  // [height][width], colours of the model's heaviest modes, and the history of labels.
  uint32_t* background = nullptr;
  uint32_t* model = nullptr;    // [Model::kWords][model_plane()], see Model
  int32_t* terminal = nullptr;  // [height][width], terminal weights, see GridGraph
  int32_t* right = nullptr;     // [height][width], link capacities, see GridGraph
  int32_t* down = nullptr;
  int32_t* down_right = nullptr;  // link capacities; null for four neighbours
  int32_t* down_left = nullptr;
  ColorHistograms* colors = nullptr;
  // [height][width], nonzero for pixels that are always background. Null: no pixel is excluded.
  const uint8_t* excluded = nullptr;
  PictureCells cells;
  OutlineSums* outline = nullptr;  // [cells.rows][cells.columns]
  // [cells.rows][cells.columns] of even and odd frames, see count_spark(). Sums modulo 2^32.
  uint32_t* sparks[2] = {};
  // [cells.rows][cells.columns] of even and odd frames, see count_excused().
  uint32_t* excused[2] = {};
  // [cells.rows][cells.columns], see advance_cell().
  int32_t *sparkle = nullptr, *calm = nullptr;

  // Number of pixels of the frame.
  REGIONS_HD size_t plane() const {
    return static_cast<size_t>(width) * static_cast<size_t>(height);
  }
  // Number of words from the start of one plane of the model to the start of the next. Without the
  // padding, most picture sizes would give distances that are multiples of 4096 bytes; planes would
  // then share a few sets of the cache and evict each other.
  REGIONS_HD static size_t plane_stride(size_t pixels) {
    return (pixels + 1023) / 1024 * 1024 + 144;
  }
  LinkRow links_of_row(int y) const {
    const size_t i = at(0, y);
    if (!down_right) return {right + i, down + i};
    return {right + i, down + i, down_right + i, down_left + i};
  }
  REGIONS_HD size_t model_plane() const { return plane_stride(plane()); }
  REGIONS_HD size_t at(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
};

// Sums over the pixels that a survey reads.
struct SurveySums {
  static constexpr int kHalves = 2;  // the dark and the bright half of the background

  uint64_t squared_contrast = 0;  // sum of squared contrasts over pairs of neighbours
  uint32_t pairs = 0;             // number of pairs
  uint32_t count[kHalves] = {};   // [half], number of pixels that are used to measure light
  uint32_t luma[kHalves] = {};    // [half], sum of the background's luma at the pixels in `count`
  uint32_t pixels = 0;            // number of pixels
  uint32_t chroma[2] = {};        // sums of u and of v over the pixels
  uint64_t squared_chroma = 0;    // sum of u * u + v * v over the pixels
  uint64_t digest = 0;            // two frames with the same digest are equal, see digest_of()

  // Adds the sums over other pixels.
  REGIONS_HD void add(const SurveySums& other) {
    squared_contrast += other.squared_contrast;
    pairs += other.pairs;
    pixels += other.pixels;
    squared_chroma += other.squared_chroma;
    digest += other.digest;
    for (int c = 0; c < 2; ++c) chroma[c] += other.chroma[c];
    for (int half = 0; half < kHalves; ++half) {
      count[half] += other.count[half];
      luma[half] += other.luma[half];
    }
  }
};

// Sums of luma over the surveyed pixels of columns and of rows, in the frame and in the background.
struct Profiles {
  static constexpr int kBins = 128;
  static constexpr int kAxes = 2;  // bins along a row, and bins along a column

  uint32_t frame[kAxes][kBins] = {};
  uint32_t background[kAxes][kBins] = {};

  void add(const Profiles& other) {
    for (int axis = 0; axis < kAxes; ++axis) {
      for (int i = 0; i < kBins; ++i) {
        frame[axis][i] += other.frame[axis][i];
        background[axis][i] += other.background[axis][i];
      }
    }
  }
};

// Sums over the pixels of a zone of the picture, in the frame and in the background.
struct ZoneSums {
  static constexpr int kMaxNoise = 4;  // levels; smaller or equal differences count as zero

  // Edges between pixels and their right neighbours, levels of luma. `shared_edges` are the edges
  // that frame and background have in common.
  uint32_t frame_edges = 0, background_edges = 0, shared_edges = 0;
  uint32_t frame_colors = 0, background_colors = 0;  // differences from grey, levels of chroma

  // Adds a pixel. `right` is its right neighbour.
  // add(address, amount) must be atomic if several threads call this function.
  template <class Add>
  REGIONS_HD void add_pixel(const Color& frame, const Color& frame_right, const Color& background,
                            const Color& background_right, Add add) {
    const auto add_size = [&](uint32_t* sum, int size) {
      if (size > kMaxNoise) add(sum, static_cast<uint32_t>(size));
    };
    const int now = frame_right.y - frame.y, was = background_right.y - background.y;
    add_size(&frame_edges, size_of(now));
    add_size(&background_edges, size_of(was));
    if ((now < 0) == (was < 0)) add_size(&shared_edges, smaller(size_of(now), size_of(was)));
    add_size(&frame_colors, size_of(frame.u - 128) + size_of(frame.v - 128));
    add_size(&background_colors, size_of(background.u - 128) + size_of(background.v - 128));
  }
  REGIONS_HD void add(const ZoneSums& other) {
    frame_edges += other.frame_edges;
    background_edges += other.background_edges;
    shared_edges += other.shared_edges;
    frame_colors += other.frame_colors;
    background_colors += other.background_colors;
  }

 private:
  REGIONS_HD static int size_of(int difference) {
    return difference < 0 ? -difference : difference;
  }
};

// The pixels that a survey reads: every `step`-th pixel of every `step`-th row. Axis 0 is along a
// row, and axis 1 along a column.
struct SurveyGrid {
  static constexpr int kMaxStep = 4;
  static constexpr int kZones = 4;  // along each side of the picture

  int side[Profiles::kAxes];       // of the picture: width and height
  int step;                        // pixels; small pictures have a small step
  int bin_shift[Profiles::kAxes];  // binary logarithm of the number of surveyed pixels in a bin

  REGIONS_HD static SurveyGrid of(int width, int height) {
    constexpr int64_t kSmall = 1 << 16;  // pixels
    SurveyGrid grid{
        {width, height}, static_cast<int64_t>(width) * height < kSmall ? 2 : kMaxStep, {}};
    for (int axis = 0; axis < Profiles::kAxes; ++axis) {
      while ((grid.count(axis) - 1) >> grid.bin_shift[axis] >= Profiles::kBins) {
        ++grid.bin_shift[axis];
      }
    }
    return grid;
  }
  // Number of surveyed pixels along an axis.
  REGIONS_HD int count(int axis) const { return (side[axis] - 1) / step + 1; }
  REGIONS_HD bool includes(int x, int y) const { return x % step == 0 && y % step == 0; }
  // The index of the bin at a coordinate.
  REGIONS_HD int bin_of(int axis, int at) const { return at / step >> bin_shift[axis]; }
  // Number of bins of a profile.
  REGIONS_HD int bins(int axis) const { return ((count(axis) - 1) >> bin_shift[axis]) + 1; }
  // Number of surveyed pixels in a bin.
  REGIONS_HD int bin_pixels(int axis) const { return count(1 - axis) << bin_shift[axis]; }
  // The zones divide the picture into equal parts.
  REGIONS_HD int zone_of(int x, int y) const {
    return y * kZones / side[1] * kZones + x * kZones / side[0];
  }
  // The first column of pixels to the right of a column of zones.
  REGIONS_HD int zone_end(int column) const {
    return ((column + 1) * side[0] + kZones - 1) / kZones;
  }
};

// Statistics of the pixels of a SurveyGrid.
struct Survey {
  static constexpr int kBins = 512;
  static constexpr int kHalves = SurveySums::kHalves;

  SurveySums sums;
  // [half][bin], histogram of the frame's luma minus the background's luma; bin 0 is the difference
  // -kBins / 2.
  uint32_t change[kHalves][kBins] = {};
  Profiles profiles;
  static constexpr int kZones = SurveyGrid::kZones * SurveyGrid::kZones;
  ZoneSums zones[kZones];

  REGIONS_HD ZoneSums all_zones() const {
    ZoneSums all;
    for (const ZoneSums& zone : zones) all.add(zone);
    return all;
  }
  void add(const Survey& other) {
    sums.add(other.sums);
    profiles.add(other.profiles);
    for (int zone = 0; zone < kZones; ++zone) zones[zone].add(other.zones[zone]);
    for (int half = 0; half < kHalves; ++half) {
      for (int i = 0; i < kBins; ++i) change[half][i] += other.change[half][i];
    }
  }
};

// State of the scene, which changes from frame to frame. Each model has one.
struct Scene {
  uint32_t age = 0;        // number of frames that have updated the model since it started
  uint32_t frame = 0;      // number of frames seen
  uint32_t busy = 0;       // number of frames since a change of the scene began, see finish_frame()
  uint16_t split = 128;    // luma between the dark and the bright half of the background
  uint16_t turning = 0;    // number of frames in which the camera is still expected to turn
  uint32_t restarted = 0;  // 1: the model restarted with the last frame
};

// The usual values of a scene, and the change that is in progress. It is not stored with the model.
struct SceneWatch {
  static constexpr uint32_t kSettled = 10;  // number of frames after which changes are noticed

  SceneChange change = SceneChange::none;  // the change in progress
  uint32_t frames = 0;                     // number of frames without a change
  // Means over these frames. Old frames fade with a time constant of 8 frames.
  int shared = 0;      // edges that frame and background share, per edge of the background, 1/65536
  int texture = 0;     // edges of the frame, per edge of the background, 1/65536
  int foreground = 0;  // foreground, per pixel, 1/65536
  // Number of frames until a change of light is reported again. A lamp that flickers is usual.
  int flicker = 0;
  int equal_bins = 1 << 16;  // bins of a profile that equal the bins of the previous frame, 1/65536
  uint64_t digest = 0;       // digest of the last frame
  uint32_t repeats = 0;      // number of frames in a row that equalled the frame before
  uint32_t usual_repeats = 0;     // number of such frames that this video has regularly
  uint32_t profile[2][128] = {};  // profiles of the last frame
};

// Position of the median in a histogram: its bin, and the number of values in lower bins.
struct Rank {
  int bin = 0;
  uint32_t below = 0;
};
REGIONS_HD inline Rank rank_of(const uint32_t* bins, uint32_t count) {
  Rank rank;
  while (rank.below + bins[rank.bin] <= count / 2 && rank.bin < Survey::kBins - 1) {
    rank.below += bins[rank.bin++];
  }
  return rank;
}

// The median of the luma differences in a histogram, with 8 fraction bits.
struct Median {
  int value = 0;
  uint32_t near = 0;     // number of values within kNear of the median
  uint32_t unmoved = 0;  // number of values within kNear of zero
  uint32_t count = 0;
  static constexpr int kNear = 4;
};
struct Medians {
  Median half[Survey::kHalves];
};

REGIONS_HD inline Median median_of(const uint32_t* bins, uint32_t count, const Rank& rank) {
  Median median;
  median.count = count;
  if (median.count == 0) return median;
  const int at = rank.bin;
  const auto part = static_cast<int>((static_cast<uint64_t>(count / 2 - rank.below) << 8) /
                                     (bins[at] ? bins[at] : 1));
  constexpr int kZero = Survey::kBins / 2;
  median.value = ((at - kZero) << 8) + part - 128;
  for (int i = -Median::kNear; i <= Median::kNear; ++i) {
    if (at + i >= 0 && at + i < Survey::kBins) median.near += bins[at + i];
    median.unmoved += bins[kZero + i];
  }
  return median;
}

REGIONS_HD inline Medians medians_of(const Survey& survey) {
  Medians medians;
  for (int half = 0; half < Survey::kHalves; ++half) {
    const uint32_t* bins = survey.change[half];
    const uint32_t count = survey.sums.count[half];
    medians.half[half] = median_of(bins, count, rank_of(bins, count));
  }
  return medians;
}

// Compares the coarse shapes of two profiles. They stay alike if the light changes or the picture
// becomes blurred, but not if the camera moves or is covered.
struct ProfileMatch {
  static constexpr int kUnknown = 2;  // `correlation` if the background has no contrast
  static constexpr int kOne = 256;

  int correlation = kUnknown * kOne;  // from -kOne to kOne
  int gain = kOne;                    // contrast of the frame per contrast of the background

  // `bin_pixels` is the number of surveyed pixels in a bin. The last bin may have fewer pixels, and
  // is not used.
  REGIONS_HD static ProfileMatch of(const uint32_t* frame, const uint32_t* background, int bins,
                                    int bin_pixels) {
    constexpr int kMinBins = 8, kMinContrast = 4;  // kMinContrast: levels
    const int count = bins - 1;
    if (count < kMinBins) return {};
    const auto deviations = [&](const uint32_t* profile) {
      Deviations d{profile, count};
      for (int i = 0; i < count; ++i) d.sum += profile[i];
      for (int i = 0; i < count; ++i) {
        const int64_t size = d.at(i) < 0 ? -d.at(i) : d.at(i);
        d.total += size;
        d.largest = size > d.largest ? size : d.largest;
      }
      return d;
    };
    const Deviations a = deviations(frame), b = deviations(background);
    const int64_t level = static_cast<int64_t>(count) * bin_pixels;
    if (b.largest < kMinContrast * level) return {};
    ProfileMatch match;
    const int64_t gain = a.total * kOne / b.total;
    match.gain = static_cast<int>(gain < 16 * kOne ? gain : 16 * kOne);
    match.correlation = a.largest * 8 < level ? 0 : correlation_of(a, b);
    return match;
  }

 private:
  // The differences of a profile's values from their mean, times the number of values.
  struct Deviations {
    const uint32_t* profile;
    int count;
    int64_t sum = 0, total = 0, largest = 0;  // of the values, and of the sizes of the deviations

    REGIONS_HD int64_t at(int i) const { return static_cast<int64_t>(profile[i]) * count - sum; }
    // From -1024 to 1024.
    REGIONS_HD int64_t scaled(int i) const { return at(i) * 1024 / largest; }
  };
  REGIONS_HD static int correlation_of(const Deviations& a, const Deviations& b) {
    int64_t product = 0, square_a = 1, square_b = 1;
    for (int i = 0; i < a.count; ++i) {
      const int64_t x = a.scaled(i), y = b.scaled(i);
      product += x * y;
      square_a += x * x;
      square_b += y * y;
    }
    const auto root = static_cast<int64_t>(square_root(static_cast<uint64_t>(square_a * square_b)));
    return static_cast<int>(product * kOne / root);
  }
  // The largest integer whose square is at most `x`.
  REGIONS_HD static uint64_t square_root(uint64_t x) {
    uint64_t root = 0;
    for (uint64_t bit = 1ull << 31; bit > 0; bit >>= 1) {
      if ((root | bit) * (root | bit) <= x) root |= bit;
    }
    return root;
  }
};

// The camera has turned if the profile of the frame is that of the background, shifted by some
// bins. A shift must reduce the error to two thirds in three quarters of the picture, so that a
// large object does not count as a shift. Differences of neighbouring bins are compared, because
// the light may have changed.
struct CameraShift {
  static constexpr int kMax = 16;                // bins
  static constexpr int kCount = 2 * kMax + 1;    // number of shifts
  static constexpr uint32_t kMinError = 4 * 64;  // smaller errors are noise

  static constexpr uint64_t kNone = UINT64_MAX;

  // Rates a shift of the profile `frame` relative to `background`. The lowest rate is the best: its
  // upper bits are the mean error, and its lower bits are the index of the shift. Returns kNone if
  // the shift does not explain the profile.
  REGIONS_HD static uint64_t rate(const uint32_t* frame, const uint32_t* background, int bins,
                                  int index) {
    const int shift = index - kMax;
    if (shift == 0 || bins < 4 * kMax) return kNone;
    const auto error = [&](int at, int other) {
      const auto step = [](const uint32_t* sums, int i) {
        return static_cast<int32_t>(sums[i + 1] - sums[i]);
      };
      const int32_t difference = step(frame, at) - step(background, other);
      return static_cast<uint64_t>(difference < 0 ? -difference : difference);
    };
    int misfits = 0, count = 0;
    uint64_t all = 0;
    for (int quarter = 0; quarter < 4; ++quarter) {
      uint64_t shifted = 0, unshifted = 0;
      for (int i = quarter * bins / 4; i < smaller((quarter + 1) * bins / 4, bins - 1); ++i) {
        if (i + shift < 0 || i + shift + 1 >= bins) continue;
        shifted += error(i, i + shift);
        unshifted += error(i, i);
        ++count;
      }
      if (shifted * 3 >= unshifted * 2 || unshifted < kMinError) ++misfits;
      if (misfits > 1) return kNone;
      all += shifted;
    }
    return all * 16 / static_cast<uint64_t>(count) << 8 | static_cast<uint64_t>(index);
  }
  // The size of the shift with this rate, in bins.
  REGIONS_HD static int size_of(uint64_t rate) {
    if (rate == kNone) return 0;
    const int shift = static_cast<int>(rate & 255) - kMax;
    return shift < 0 ? -shift : shift;
  }
};

// The shift of the camera in bins, along the axis with the larger shift; 0 if it has not turned.
REGIONS_HD inline int camera_shift_of(const Profiles& profiles, const SurveyGrid& grid) {
  int largest = 0;
  for (int axis = 0; axis < Profiles::kAxes; ++axis) {
    const int bins = grid.bins(axis);
    uint64_t best = CameraShift::kNone;
    for (int i = 0; i < CameraShift::kCount; ++i) {
      const uint64_t rate =
          CameraShift::rate(profiles.frame[axis], profiles.background[axis], bins, i);
      best = rate < best ? rate : best;
    }
    largest = larger(largest, CameraShift::size_of(best));
  }
  return largest;
}

// Results of a survey.
struct SceneMeasures {
  Medians medians;
  int camera_shift = 0;  // bins, see camera_shift_of()
  ProfileMatch match[Profiles::kAxes];
  int bins = 1;        // number of bins of both profiles
  int equal_bins = 0;  // number of bins that equal the bins of the last frame
};

// Remembers the profiles in `watch`.
inline SceneMeasures measures_of(const Survey& survey, SceneWatch& watch, const SurveyGrid& grid) {
  SceneMeasures measures{medians_of(survey), camera_shift_of(survey.profiles, grid), {}};
  measures.bins = grid.bins(0) + grid.bins(1);
  for (int axis = 0; axis < Profiles::kAxes; ++axis) {
    const uint32_t* frame = survey.profiles.frame[axis];
    measures.match[axis] = ProfileMatch::of(frame, survey.profiles.background[axis],
                                            grid.bins(axis), grid.bin_pixels(axis));
    for (int i = 0; i < grid.bins(axis); ++i) {
      measures.equal_bins += frame[i] == std::exchange(watch.profile[axis][i], frame[i]);
    }
  }
  return measures;
}

// Share of the shadow rule that the hues of this picture justify, 1/256. It is 0 for grey pictures,
// for example from infrared cameras. It depends on the variance of chroma in the picture, so a tint
// that all pixels share does not count. Noise has variances up to 3, and coloured scenes have 50 to
// 1000.
REGIONS_HD inline int colorfulness_of(const SurveySums& sums) {
  constexpr uint64_t kMin = 9, kMax = 36;  // variances of grey and of coloured pictures
  if (sums.pixels == 0) return 256;
  const uint64_t pixels = sums.pixels, u = sums.chroma[0], v = sums.chroma[1];
  const uint64_t squared_means =
      u / pixels * u + v / pixels * v + (u % pixels * u + v % pixels * v) / pixels;
  const uint64_t variance = (sums.squared_chroma - squared_means) * 16 / pixels;  // 1/16
  if (variance <= kMin * 16) return 0;
  if (variance >= kMax * 16) return 256;
  return static_cast<int>((variance - kMin * 16) * 256 / ((kMax - kMin) * 16));
}

// Adapts the evidence to pictures with little colour: lowers the threshold, because noise adds to
// one component of the squared distance instead of three, and weights the evidence more, because
// luma alone separates less. Mean F-measure of thirteen grey kinds of clips with the thresholds
// 12, 10.5, 9 and 7.2 variances and the weights 1, 1.125, 1.25 and 1.5: .821, .828, .835, .845
// (bench/peers/graphcutbg_quality.py, seeds 1 to 4, 2026-11-30). But lower thresholds find more
// soft shadows: F-measure of people in the grey vtest.avi, compared with their masks in colour:
// .926, .924, .918, .912.
REGIONS_HD inline void adapt_to_grey(FramePlan& frame) {
  constexpr int kThreshold = 192, kGain = 320;  // of pictures without colour, 1/256
  const auto factor = [&](int grey) {
    return (grey * (256 - frame.colorfulness) >> 8) + frame.colorfulness;
  };
  frame.var_threshold = frame.var_threshold * factor(kThreshold) >> 8;
  frame.evidence_gain = factor(kGain);
}

// Computes the change of light from the median differences of the dark and the bright half of the
// background: a line through both. Medians are used because foreground that covers less than half
// of the pixels hardly changes them.
REGIONS_HD inline Light light_of(const SurveySums& sums, const Medians& medians) {
  constexpr uint32_t kMin = 64;         // minimum number of pixels of a median that is used
  constexpr int kMinLightChange = 384;  // 1.5 levels; the model update follows smaller changes
  Light light;
  const Median &dark = medians.half[0], &bright = medians.half[1];
  if (dark.count + bright.count < kMin) return light;
  const auto moved = [](const Median& m) {
    return m.value > kMinLightChange || m.value < -kMinLightChange;
  };
  if (!moved(dark) && !moved(bright)) return light;
  // The new light must explain clearly more of the picture than the old light.
  const uint32_t after = dark.near + bright.near;
  if (after < (dark.unmoved + bright.unmoved) * 5 / 4) return light;
  if (dark.count < kMin || bright.count < kMin) {
    light.offset = dark.count < bright.count ? bright.value : dark.value;
    return light;
  }
  const auto mean = [&](int half, const Median& m) {
    return static_cast<int>((static_cast<uint64_t>(sums.luma[half]) << 8) / m.count);
  };
  const int dark_luma = mean(0, dark);
  const int luma_span = mean(1, bright) - dark_luma;
  if (luma_span > 16 << 8) {
    light.gain += (bright.value - dark.value) * Light::kOne / luma_span;
    if (light.gain < Light::kOne / 4) light.gain = Light::kOne / 4;
    if (light.gain > Light::kOne * 4) light.gain = Light::kOne * 4;
  }
  light.offset = dark.value - static_cast<int>(static_cast<int64_t>(light.gain - Light::kOne) *
                                               dark_luma / Light::kOne);
  return light;
}

// Adds the change of light at one pixel to the survey. `now` is its colour in the frame,
// `background` its colour in the model. tally(half, bin) increments an entry of Survey::change.
template <class Tally>
REGIONS_HD void survey_light(SurveySums& sums, const Color& now, const Color& background,
                             uint32_t split, Tally tally) {
  const bool clipped = background.y < 4 || background.y > 250 || now.y < 2 || now.y > 253;
  if (clipped) return;
  const bool bright = background.y >= static_cast<int>(split);
  tally(bright ? 1 : 0, now.y - background.y + Survey::kBins / 2);
  const auto luma = static_cast<uint32_t>(background.y);
  sums.count[0] += bright ? 0 : 1;
  sums.count[1] += bright ? 1 : 0;
  sums.luma[0] += bright ? 0 : luma;
  sums.luma[1] += bright ? luma : 0;
}

// Sets the rates at which a model learns that has been updated by `age` frames. Before, `alpha` and
// `alpha_still` are their lower limits, which the property `history` determines.
REGIONS_HD inline void set_rates(FramePlan& frame, uint32_t age) {
  // All frames so far have equal weights, except that the first frame counts kFirstFrameWeight
  // times. Otherwise objects that pass soon after the start would become background.
  constexpr uint32_t kFirstFrameWeight = 12;
  const auto average = static_cast<int32_t>(65536 / (age + kFirstFrameWeight));
  frame.alpha = larger(average, frame.alpha);
  frame.alpha_slow = larger(frame.alpha / 2, 1);
  // Foreground that rests is learnt at its own rate once the model is old enough. In a young
  // model it may be a ghost of an object that was present from the start.
  constexpr int32_t kYoung = 60, kGrown = 100;  // frames
  const int32_t grown = clamp(static_cast<int32_t>(age), kYoung, kGrown) - kYoung;
  frame.alpha_still = frame.alpha_slow +
                      (larger(frame.alpha_still, 1) - frame.alpha_slow) * grown / (kGrown - kYoung);
  constexpr int32_t kGhostRate = 65536 / 32;  // a ghost is background after about ten frames
  frame.alpha_ghost = larger(frame.alpha_slow, kGhostRate);
  // The rate for new background is limited while the model is young. Otherwise an object that the
  // cut missed would become background within a few frames.
  constexpr int kMaxFastRate = 65536 / 128;
  frame.alpha_fast = larger(frame.alpha, smaller(frame.alpha * 4, kMaxFastRate));
}

// Notices whether the frame equals the last frame, and how many of its bins do.
REGIONS_HD inline void watch_repeats(SceneWatch& watch, const Survey& survey,
                                     const SceneMeasures& measures) {
  constexpr uint32_t kMaxUsual = 4;  // longer runs of equal frames are never usual
  const bool repeats = survey.sums.digest == watch.digest;
  if (!repeats && watch.repeats <= kMaxUsual) {
    watch.usual_repeats = watch.repeats > watch.usual_repeats ? watch.repeats : watch.usual_repeats;
  }
  watch.repeats = repeats ? watch.repeats + 1 : 0;
  watch.digest = survey.sums.digest;
  if (repeats) return;
  watch.equal_bins += ((measures.equal_bins << 16) / measures.bins - watch.equal_bins) / 16;
}

// `part` per `whole`, 1/65536, at most 16.
REGIONS_HD inline int ratio_of(uint32_t part, uint32_t whole) {
  if (whole == 0) return 0;
  const uint64_t ratio = (static_cast<uint64_t>(part) << 16) / whole;
  return static_cast<int>(ratio < (16u << 16) ? ratio : 16u << 16);
}

// The change of the scene that explains what happened to the edges of the background: they are
// still there, blurred, covered, or elsewhere. Three quarters of the zones that have edges must
// agree, so that a large object is not a change of the scene.
REGIONS_HD inline SceneChange edge_change_of(const SceneWatch& watch, const Survey& survey,
                                             const SceneMeasures& measures) {
  constexpr int kMinZones = 5;
  const uint32_t min_edges = survey.sums.pixels / (4 * Survey::kZones);
  int zones = 0, empty = 0, lost = 0, blurred = 0;
  for (const ZoneSums& zone : survey.zones) {
    if (zone.background_edges <= min_edges) continue;
    ++zones;
    const int shared = ratio_of(zone.shared_edges, zone.background_edges);
    const int texture = ratio_of(zone.frame_edges, zone.background_edges);
    if (shared < watch.shared / 4 && texture < watch.texture / 2) ++empty;
    if (shared < watch.shared * 2 / 5) ++lost;
    if (shared < watch.shared / 2 && texture < watch.texture * 4 / 5) ++blurred;
  }
  if (zones < kMinZones) return SceneChange::none;
  const auto are_most = [&](int count) { return count * 4 >= zones * 3; };
  const ProfileMatch &across = measures.match[0], &along = measures.match[1];
  const int correlation = smaller(across.correlation, along.correlation);
  const int gain = larger(across.gain, along.gain);
  constexpr int kOne = ProfileMatch::kOne;
  if (are_most(empty) && correlation < kOne * 6 / 10) return SceneChange::covered;
  if (are_most(blurred) && gain >= kOne * 6 / 10 && correlation >= kOne * 7 / 10) {
    return SceneChange::defocused;
  }
  const ZoneSums all = survey.all_zones();
  const bool has_texture = ratio_of(all.frame_edges, all.background_edges) >= watch.texture / 2;
  return are_most(lost) && has_texture ? SceneChange::moved : SceneChange::none;
}

// True if the colours of the background have disappeared, or a grey background shows colours, in
// three quarters of the zones.
REGIONS_HD inline bool switches_infrared(const Survey& survey) {
  const uint32_t colored = survey.sums.pixels / Survey::kZones * 2;  // two levels per pixel
  int zones = 0, lost = 0, gained = 0;
  for (const ZoneSums& zone : survey.zones) {
    if (zone.background_colors > colored) {
      ++zones;
      if (zone.frame_colors < zone.background_colors / 8) ++lost;
    } else if (zone.background_colors < zone.frame_colors / 8 && zone.frame_colors > colored) {
      ++gained;
    }
  }
  constexpr int kMost = Survey::kZones * 3 / 4;
  return gained >= kMost || (zones >= Survey::kZones / 4 && lost * 4 >= zones * 3);
}

// The change of the scene that the survey of a frame shows, compared with the usual values.
REGIONS_HD inline SceneChange change_of(const SceneWatch& watch, const Survey& survey,
                                        const SceneMeasures& measures, const Light& light) {
  if (watch.frames < SceneWatch::kSettled) return SceneChange::none;
  constexpr int kMaxEqualBins = (1 << 16) / 4;  // pictures without noise repeat more bins
  if (watch.repeats > watch.usual_repeats && watch.equal_bins < kMaxEqualBins) {
    return SceneChange::frozen;
  }
  if (const SceneChange change = edge_change_of(watch, survey, measures);
      change != SceneChange::none) {
    return change;
  }
  const ProfileMatch &across = measures.match[0], &along = measures.match[1];
  const int correlation = smaller(across.correlation, along.correlation);
  const int gain = larger(across.gain, along.gain);
  constexpr int kOne = ProfileMatch::kOne;
  // light_of() finds changes by a factor of up to 4. The profiles show larger ones.
  if (gain < kOne * 3 / 10 && correlation >= kOne * 7 / 10) return SceneChange::light;
  if (gain >= kOne * 3 / 10 && switches_infrared(survey)) return SceneChange::infrared;
  // A change of at least kMinLight levels of a grey with a luma of 128.
  constexpr int kMinLight = 12;
  const int levels = (light.apply<int32_t>(0, 128 << 8) >> 8) - 128;
  const bool is_lit = levels >= kMinLight || levels <= -kMinLight;
  return is_lit && watch.flicker == 0 ? SceneChange::light : SceneChange::none;
}

// Updates the usual values with a frame in which the scene does not change.
REGIONS_HD inline void watch_steady_frame(SceneWatch& watch, const Survey& survey) {
  const bool is_first = watch.frames == 0;
  const auto follow = [&](int& mean, int value) {
    mean = is_first ? value : mean + (value - mean) / 8;
  };
  const ZoneSums all = survey.all_zones();
  follow(watch.shared, ratio_of(all.shared_edges, all.background_edges));
  follow(watch.texture, ratio_of(all.frame_edges, all.background_edges));
  if (watch.frames < SceneWatch::kSettled) ++watch.frames;
}

// Completes the plan that frame_plan_of() has begun, with the results of the frame's survey.
// Advances the scene.
REGIONS_HD inline FramePlan plan_frame(Scene& scene, SceneWatch& watch, const Survey& survey,
                                       const SceneMeasures& measures, FramePlan frame) {
  // Number of frames after which the model restarts if the scene stays changed.
  constexpr uint32_t kBusyFrames = 8;
  // A camera that shakes shifts by less than kMinShift bins. A camera that turns goes on turning.
  constexpr int kMinShift = 3;
  constexpr int kTurningFrames = 30, kFlickerFrames = 50;
  const SurveySums& sums = survey.sums;
  frame.colorfulness = colorfulness_of(sums);
  adapt_to_grey(frame);
  if (scene.age > 0) frame.light = light_of(sums, measures.medians);
  watch_repeats(watch, survey, measures);
  frame.change =
      scene.age > 0 ? change_of(watch, survey, measures, frame.light) : SceneChange::none;
  watch.flicker =
      frame.change == SceneChange::light ? kFlickerFrames : larger(watch.flicker - 1, 0);
  const bool is_visible =
      frame.change != SceneChange::covered && frame.change != SceneChange::defocused;
  const bool turned =
      scene.age > 0 && is_visible && measures.camera_shift >= (scene.turning > 0 ? 1 : kMinShift);
  if (turned) frame.change = SceneChange::moved;
  const ZoneSums all = survey.all_zones();
  frame.keeps_edges = all.background_edges >= sums.pixels / 4 && watch.shared > 0 &&
                      ratio_of(all.shared_edges, all.background_edges) >= watch.shared * 3 / 4;
  scene.turning = static_cast<uint16_t>(turned ? kTurningFrames : larger(scene.turning - 1, 0));
  const bool is_new = turned || frame.change == SceneChange::infrared;
  scene.restarted = (scene.busy >= kBusyFrames || is_new) && frame.learns;
  if (scene.restarted) scene.age = scene.busy = 0;
  ++scene.frame;

  frame.frame = scene.frame;
  frame.starts = scene.age == 0;
  // The model does not learn from a changed scene, except changes of light that it can follow.
  const SceneChange change = frame.change == SceneChange::none ? watch.change : frame.change;
  if (change != SceneChange::none && change != SceneChange::light) {
    frame.learns = false;
    frame.light = Light();
  }
  frame.learns = frame.learns || frame.starts;
  if (frame.starts) {
    frame.light = Light();
    watch.frames = 0;
  } else if (scene.age > 1 && frame.change == SceneChange::none && scene.busy == 0) {
    watch_steady_frame(watch, survey);
  }
  set_rates(frame, scene.age);

  const uint32_t count = sums.count[0] + sums.count[1];
  if (count > 0) scene.split = static_cast<uint16_t>((sums.luma[0] + sums.luma[1]) / count);
  // Grey pictures are excluded: in infrared pictures, warm objects are as smooth as beams of light.
  constexpr uint32_t kMaxNightLuma = 39;  // mean luma of the background
  frame.is_night = scene.split <= kMaxNightLuma && frame.colorfulness > 0;
  auto contrast_scale = static_cast<uint32_t>(frame.contrasts.scale);
  if (contrast_scale == 0) {
    const uint64_t top = static_cast<uint64_t>(sums.pairs) * (65536 * kLinkSteps / 2);
    const uint64_t scale = sums.squared_contrast ? top / sums.squared_contrast : top;
    contrast_scale = scale > 65536 * kLinkSteps ? 65536 * kLinkSteps : static_cast<uint32_t>(scale);
  }
  frame.contrasts = ContrastScale::scaled(contrast_scale);
  if (frame.learns && scene.age < (1u << 20)) ++scene.age;
  return frame;
}

// Decides after the cut of a frame whether the scene has changed. Then the frame has no foreground:
// the caller clears its mask. If the scene stays changed, the model restarts. A scene has also
// changed if nearly all pixels are foreground, whatever the reason is. If a part of the picture is
// foreground but the edges of the background are still visible there, the light has changed in this
// part. `foreground` and `pixels` are numbers of pixels.
REGIONS_HD inline bool finish_frame(Scene& scene, SceneWatch& watch, const FramePlan& frame,
                                    uint32_t foreground, uint32_t pixels) {
  if (frame.starts || !frame.may_change) {
    const bool keeps_reason = scene.restarted && frame.change == SceneChange::none;
    if (!keeps_reason) watch.change = frame.change;
    if (keeps_reason && watch.change == SceneChange::none) watch.change = SceneChange::other;
    scene.busy = 0;
    return false;
  }
  const auto share = static_cast<int>((static_cast<uint64_t>(foreground) << 16) / pixels);
  const auto exceeds = [&](int tenths) { return share - watch.foreground > 65536 / 10 * tenths; };
  const bool is_lit = frame.keeps_edges && exceeds(2);
  const bool covers_all = share > 65536 / 10 * 7;
  const bool changed =
      frame.change != SceneChange::none || is_lit || covers_all || (scene.busy > 0 && exceeds(1));
  if (!changed) {
    scene.busy = 0;
    watch.change = SceneChange::none;
    watch.foreground += (share - watch.foreground) / 8;
    return false;
  }
  if (frame.change != SceneChange::none) watch.change = frame.change;
  if (watch.change == SceneChange::none) {
    watch.change = is_lit ? SceneChange::light : SceneChange::other;
  }
  // The model waits for the picture to return after a change that hides it.
  const bool waits = watch.change == SceneChange::covered || watch.change == SceneChange::frozen;
  scene.busy = waits ? 1 : scene.busy + 1;
  return true;
}

// A hash of the colour of pixel `i`. The sum over all surveyed pixels is the digest of a frame.
REGIONS_HD inline uint64_t digest_of(const Color& color, size_t i) {
  return (static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15ull | 1) * color.packed();
}

// Adds pixel (x, y) to the survey. at(x, y) returns a colour of the frame. All colours are read
// before any of them is used, because reads on a GPU have a high latency. add_luma(frame,
// background) adds to the entries of Survey::profiles for this pixel, and add_to_zone(frame,
// frame_right, background, background_right) to its zone.
template <class Tally, class AddLuma, class AddToZone, class At>
REGIONS_HD void survey_pixel(const ModelArrays& arrays, const Scene& scene, int x, int y,
                             SurveySums& sums, Tally tally, AddLuma add_luma, AddToZone add_to_zone,
                             At at) {
  const int right = smaller(x + 1, arrays.width - 1), down = smaller(y + 1, arrays.height - 1);
  const auto read = at(x, y), read_right = at(right, y), read_down = at(x, down);
  const Color background = Color::load(arrays.background + arrays.at(x, y));
  const Color right_background = Color::load(arrays.background + arrays.at(right, y));
  const Color color = read, right_color = read_right, down_color = read_down;
  if (scene.age > 0) {
    survey_light(sums, color, background, scene.split, tally);
    add_to_zone(color, right_color, background, right_background);
    add_luma(static_cast<uint32_t>(color.y), static_cast<uint32_t>(background.y));
  }
  sums.digest += digest_of(color, arrays.at(x, y));
  const auto u = static_cast<uint32_t>(color.u), v = static_cast<uint32_t>(color.v);
  ++sums.pixels;
  sums.chroma[0] += u;
  sums.chroma[1] += v;
  sums.squared_chroma += u * u + v * v;
  const auto pair = [&](const Color& other) {
    sums.squared_contrast += static_cast<uint64_t>(squared_contrast(color, other));
    ++sums.pairs;
  };
  if (right > x) pair(right_color);
  if (down > y) pair(down_color);
}

}  // namespace regions::graphcutbg
