// Statistics of a whole frame: colour histograms, contrast, and changes of light. They are measured
// before the evidence of pixels is computed. All sums are integers, so the order of additions does
// not matter. ModelArrays contains the arrays of a model.
#pragma once

#include <algorithm>

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
  int32_t* sparkle = nullptr;  // [cells.rows][cells.columns], see advance_cell()

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

  // Adds the sums over other pixels.
  REGIONS_HD void add(const SurveySums& other) {
    squared_contrast += other.squared_contrast;
    pairs += other.pairs;
    pixels += other.pixels;
    squared_chroma += other.squared_chroma;
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

// Statistics of every kStep-th pixel of every kStep-th row.
struct Survey {
  static constexpr int kStep = 4;
  static constexpr int kBins = 512;
  static constexpr int kHalves = SurveySums::kHalves;

  SurveySums sums;
  uint32_t foreground = 0;  // number of foreground pixels in the previous frame
  uint32_t pixels = 0;      // number of pixels in the previous frame
  // [half][bin], histogram of the frame's luma minus the background's luma; bin 0 is the difference
  // -kBins / 2.
  uint32_t change[kHalves][kBins] = {};
  Profiles profiles;

  // Binary logarithm of the number of surveyed pixels in a bin of a profile, for a side of the
  // picture.
  REGIONS_HD static int bin_shift_of(int side) {
    int shift = 0;
    while ((side - 1) / kStep >> shift >= Profiles::kBins) ++shift;
    return shift;
  }
  // The index of the bin at a coordinate.
  REGIONS_HD static int bin_of(int at, int bin_shift) { return at / kStep >> bin_shift; }
  // Number of bins of a profile, for a side of the picture.
  REGIONS_HD static int bins_of(int side) { return ((side - 1) / kStep >> bin_shift_of(side)) + 1; }

  void add(const Survey& other) {
    sums.add(other.sums);
    profiles.add(other.profiles);
    for (int half = 0; half < kHalves; ++half) {
      for (int i = 0; i < kBins; ++i) change[half][i] += other.change[half][i];
    }
  }
};

// State of the scene, which changes from frame to frame. Each model has one.
struct Scene {
  uint32_t age = 0;        // number of frames that have updated the model since it started
  uint32_t frame = 0;      // number of frames seen
  uint32_t busy = 0;       // number of consecutive frames that were mostly foreground
  uint16_t split = 128;    // luma between the dark and the bright half of the background
  uint16_t turning = 0;    // number of frames in which the camera is still expected to turn
  uint32_t restarted = 0;  // 1: the model restarted with the last frame
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
REGIONS_HD inline int camera_shift_of(const Profiles& profiles, int width, int height) {
  int largest = 0;
  for (int axis = 0; axis < Profiles::kAxes; ++axis) {
    const int bins = Survey::bins_of(axis == 0 ? width : height);
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

// Completes the plan that frame_plan_of() has begun, with the results of the frame's survey.
// Advances the scene.
// `camera_shift` is the result of camera_shift_of().
REGIONS_HD inline FramePlan plan_frame(Scene& scene, const Survey& survey, const Medians& medians,
                                       FramePlan frame, int camera_shift = 0) {
  // Number of consecutive frames that are mostly foreground until the model restarts. If the camera
  // jumps, or if the light changes in a way that is not linear, nearly all pixels become
  // foreground.
  constexpr uint32_t kBusyFrames = 8;
  const bool busy =
      scene.age > 1 && survey.pixels > 0 &&
      static_cast<uint64_t>(survey.foreground) * 10 > static_cast<uint64_t>(survey.pixels) * 7;
  scene.busy = busy ? scene.busy + 1 : 0;
  // A camera that shakes shifts by less than kMinShift bins. A camera that turns goes on turning.
  constexpr int kMinShift = 3;
  constexpr int kTurningFrames = 30;
  const bool turned = scene.age > 0 && camera_shift >= (scene.turning > 0 ? 1 : kMinShift);
  scene.turning = static_cast<uint16_t>(turned ? kTurningFrames : larger(scene.turning - 1, 0));
  scene.restarted = (scene.busy >= kBusyFrames || turned) && frame.learns;
  if (scene.restarted) scene.age = scene.busy = 0;
  ++scene.frame;

  frame.frame = scene.frame;
  frame.starts = scene.age == 0;
  frame.learns = frame.learns || frame.starts;
  set_rates(frame, scene.age);
  if (!frame.starts) frame.light = light_of(survey.sums, medians);
  frame.colorfulness = colorfulness_of(survey.sums);

  const SurveySums& sums = survey.sums;
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

// Adds pixel (x, y) to the survey. at(x, y) returns a colour of the frame. All colours are read
// before any of them is used, because reads on a GPU have a high latency. add_luma(frame,
// background) adds to the entries of Survey::profiles for this pixel.
template <class Tally, class AddLuma, class At>
REGIONS_HD void survey_pixel(const ModelArrays& arrays, const Scene& scene, int x, int y,
                             SurveySums& sums, Tally tally, AddLuma add_luma, At at) {
  const int right = smaller(x + 1, arrays.width - 1), down = smaller(y + 1, arrays.height - 1);
  const auto read = at(x, y), read_right = at(right, y), read_down = at(x, down);
  const Color background = Color::load(arrays.background + arrays.at(x, y));
  const Color color = read, right_color = read_right, down_color = read_down;
  if (scene.age > 0) {
    survey_light(sums, color, background, scene.split, tally);
    add_luma(static_cast<uint32_t>(color.y), static_cast<uint32_t>(background.y));
  }
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
