// The background model of one pixel: colours, Gaussian modes, and the evidence that a colour is
// foreground. The model has up to three Gaussian modes in fixed point (Stauffer and Grimson 1999).
// A new mode replaces the weakest mode (Zivkovic 2004). All backends compute the same bits.
#pragma once

#include "core/frame.hpp"
#include "core/graphcutbg/graphcutbg.hpp"
#include "core/graphcutbg/lanes.hpp"

namespace regions::graphcutbg {

REGIONS_HD constexpr uint8_t clamp_byte(int value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

template <class Int>
struct BasicColor {
  Int y = 0, u = 128, v = 128;  // 0..255; black is y = 0, neutral chroma is 128

  REGIONS_LANES const Int& operator[](int c) const { return c == 0 ? y : c == 1 ? u : v; }
  // Packs the colour into one 32-bit word. The upper byte stays free for the match cache, see
  // store_match(), and for the history of labels.
  REGIONS_LANES Int packed() const { return y | u << 8 | v << 16; }
  REGIONS_LANES static BasicColor unpacked(const Int& word) {
    return {word & 255, word >> 8 & 255, word >> 16 & 255};
  }
  REGIONS_LANES static BasicColor load(const uint32_t* from) {
    Int word;
    read_words(from, word);
    return unpacked(word);
  }
};
using Color = BasicColor<int32_t>;

template <class Int>
REGIONS_LANES BasicColor<Int> select(const LaneBool<Int>& first, const BasicColor<Int>& a,
                                     const BasicColor<Int>& b) {
  return {select(first, a.y, b.y), select(first, a.u, b.u), select(first, a.v, b.v)};
}

// Converts R, G, B to Y, U, V by BT.601 with full range, in 8-bit fixed point.
REGIONS_HD inline Color color_of_rgb(int r, int g, int b) {
  return {clamp_byte(luma_of(r, g, b)), clamp_byte(((-43 * r - 85 * g + 128 * b + 128) >> 8) + 128),
          clamp_byte(((128 * r - 107 * g - 21 * b + 128) >> 8) + 128)};
}

// Converts the stored components of a pixel to a colour. Samples of more than 8 bits lose their low
// bits.
REGIONS_HD inline Color color_of(const Layout& layout, bool full_range, const int (&component)[3]) {
  if (layout.model == ColorModel::rgb) {
    return color_of_rgb(component[0], component[1], component[2]);
  }
  const int shift = layout.sample_bits - 8;
  const bool limited = layout.model == ColorModel::yuv && !full_range;
  const uint8_t luma = clamp_byte((component[0] >> shift) - (limited ? 16 : 0));
  if (layout.model == ColorModel::gray) return {luma, 128, 128};
  return {luma, static_cast<uint8_t>(component[1] >> shift),
          static_cast<uint8_t>(component[2] >> shift)};
}

// The stored components of a pixel before conversion to a colour. A GPU can start further reads
// before it converts them.
template <class Byte>
struct StoredColor {
  const BasicFrame<Byte>& frame;
  int component[3] = {};

  REGIONS_HD operator Color() const {
    return color_of(frame.layout, frame.color.full_range, component);
  }
};

// Reads the components of pixel (x, y). Chroma comes from the nearest sample.
template <class Byte>
REGIONS_HD StoredColor<Byte> stored_color_at(const BasicFrame<Byte>& frame, int x, int y) {
  StoredColor<Byte> stored{frame};
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) {
    if (c < frame.layout.channels) stored.component[c] = frame.sample(c, x, y);
  }
  return stored;
}
template <class Byte>
REGIONS_HD Color color_at(const BasicFrame<Byte>& frame, int x, int y) {
  return stored_color_at(frame, x, y);
}

template <class Int>
REGIONS_LANES Int squared_contrast(const BasicColor<Int>& a, const BasicColor<Int>& b) {
  const Int dy = a.y - b.y;
  const Int du = a.u - b.u;
  const Int dv = a.v - b.v;
  return dy * dy + du * du + dv * dv;
}

// A change of light in the whole picture: new = old * gain + offset. Chroma is scaled relative to
// its neutral value and has no offset.
struct Light {
  static constexpr int kGainBits = 12;
  static constexpr int kOne = 1 << kGainBits;
  int gain = kOne;  // factor of luma and chroma, in units of 1 / kOne
  int offset = 0;   // added to luma, 1/256 levels

  REGIONS_HD bool is_unchanged() const { return gain == kOne && offset == 0; }
  // Returns the component after the change. `value` has 8 fraction bits. The products fit in 32
  // bits, because value - base is below 2^16 and the gain below 2^15.
  template <class Int>
  REGIONS_LANES Int apply(int component, const Int& value) const {
    constexpr int kMiddle = 128 << 8;
    const int base = component == 0 ? 0 : kMiddle;
    const int summand = component == 0 ? offset : kMiddle;
    const Int scaled = (value - base) * gain + kOne / 2;
    const Int towards_zero = select(scaled < 0, Int(kOne - 1), Int(0));
    return clamp<Int>(((scaled + towards_zero) >> kGainBits) + summand, 0, 65535);
  }
};

template <class Int>
REGIONS_LANES BasicColor<Int> apply_illumination(BasicColor<Int> color, const Light& light) {
  if (light.is_unchanged()) return color;
  color.y = light.apply<Int>(0, color.y << 8) >> 8;
  color.u = light.apply<Int>(1, color.u << 8) >> 8;
  color.v = light.apply<Int>(2, color.v << 8) >> 8;
  return color;
}

// Constants of BasicMode. A mode is stored as three words, each in its own plane of the model. If
// its weight is 0, the mode does not exist and its other values are undefined.
struct ModeScale {
  static constexpr int kWords = 3;
  static constexpr int kMeanShift = 8;           // fraction bits of means
  static constexpr int32_t kFullWeight = 65535;  // weight of a mode that every frame matched
  // The second word of a mode without chroma.
  static constexpr auto kNeutralChroma = static_cast<int32_t>(0x80008000);
};

// One mode: a Gaussian with diagonal covariance, in fixed point.
template <class Int>
struct BasicMode : ModeScale {
  Int weight = 0;  // share of the frames that matched this mode, in units of 1 / kFullWeight
  Int mean[3] = {0, 0, 0};  // mean luma and chroma, 1/256 levels
  Int var_luma = 0;         // variance of luma, 1/16 (levels squared)
  Int var_chroma = 0;       // variance of each chroma component, 1/16 (levels squared)

  // Unpacks the three words of a mode.
  REGIONS_LANES static BasicMode unpacked(const Int& first, const Int& second, const Int& third) {
    BasicMode mode;
    mode.weight = upper_bits(first, 16);
    mode.mean[0] = first & 0xFFFF;
    mode.mean[1] = second & 0xFFFF;
    mode.mean[2] = upper_bits(second, 16);
    mode.var_luma = third & 0xFFFF;
    mode.var_chroma = upper_bits(third, 16);
    return mode;
  }
  // Without `has_chroma`, the second word does not change.
  REGIONS_LANES void store(uint32_t* words, size_t plane, bool has_chroma = true) const {
    write_words(words, weight << 16 | mean[0]);
    if (has_chroma) write_words(words + plane, mean[2] << 16 | mean[1]);
    write_words(words + 2 * plane, var_chroma << 16 | var_luma);
  }
  REGIONS_LANES BasicColor<Int> color(bool has_chroma = true) const {
    constexpr int kHalf = 1 << (kMeanShift - 1);
    const Int luma = clamp<Int>((mean[0] + kHalf) >> kMeanShift, 0, 255);
    if (!has_chroma) return {luma, 128, 128};
    return {luma, clamp<Int>((mean[1] + kHalf) >> kMeanShift, 0, 255),
            clamp<Int>((mean[2] + kHalf) >> kMeanShift, 0, 255)};
  }
};
using Mode = BasicMode<int32_t>;

template <class Int>
REGIONS_LANES BasicMode<Int> select(const LaneBool<Int>& first, const BasicMode<Int>& a,
                                    const BasicMode<Int>& b) {
  BasicMode<Int> mode;
  mode.weight = select(first, a.weight, b.weight);
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) mode.mean[c] = select(first, a.mean[c], b.mean[c]);
  mode.var_luma = select(first, a.var_luma, b.var_luma);
  mode.var_chroma = select(first, a.var_chroma, b.var_chroma);
  return mode;
}

// Scale of all energies and evidence: units per nat of log-likelihood.
inline constexpr int kUnitsPerNat = 64;

// Initial values and limits of variances, 1/16 (levels squared).
struct Variances {
  // Variances of a new mode.
  static constexpr int32_t kInitialLuma = 16 * 64, kInitialChroma = 16 * 24;
  // Minimum variances: the noise of a camera.
  static constexpr int32_t kMinLuma = 16 * 8, kMinChroma = 16 * 4;
  static constexpr int32_t kMax = 16 * 600;  // maximum of both variances
};

// Sizes of the table of link weights, EnergyPlan::lambda_table. Entry i, 0 .. kLinkEntries, is the
// weight of a link for the similarity exp(-i / kLinkSteps).
inline constexpr int kLinkSteps = 16;
inline constexpr int kLinkEntries = 128;
inline constexpr double kMaxContrastScale = 65536.0 * kLinkSteps;

// Converts squared contrasts to entries of the table of link weights.
struct ContrastScale {
  int32_t scale = 0;  // table entries per squared level of contrast, 1/65536
  int32_t end = 0;    // squared contrasts from this value on exceed the table

  REGIONS_HD static ContrastScale scaled(uint32_t scale) {
    constexpr uint32_t kEnd = kLinkEntries << 16;
    const uint32_t end = scale == 0 ? kEnd : (kEnd + scale - 1) / scale;
    return {static_cast<int32_t>(scale), static_cast<int32_t>(end)};
  }
  // Returns the index of a table entry, 0..kLinkEntries. Products stay below 2^24.
  template <class Int>
  REGIONS_LANES Int step_of(const Int& squared_contrast) const {
    const Int step = smaller(squared_contrast, Int(end)) * scale >> 16;
    return smaller(step, Int(kLinkEntries));
  }
};

// Settings of one frame, equal for all pixels. frame_plan_of() derives some of them from the
// parameters. plan_frame() derives the other settings from the survey of the frame.
struct FramePlan {
  // Evidence threshold, units. In nats, it is half of the property `var-threshold`.
  int var_threshold = 0;
  // Squared distance below which a colour matches a mode, 1/16 variances.
  int32_t match_distance = 0;
  // Weight of the frame in the weights of the modes, 1/65536. Before plan_frame(), its lower limit,
  // which the property `history` determines.
  int32_t alpha = 0;
  int32_t alpha_slow = 0;     // `alpha` for foreground pixels that have changed recently
  int32_t alpha_still = 0;    // `alpha` for foreground pixels of objects that rest
  int32_t alpha_ghost = 0;    // `alpha` for the pixels of ghosts, see is_ghost()
  int32_t alpha_fast = 0;     // `alpha` for background pixels whose colour is new to the model
  int32_t learning_rate = 0;  // minimum weight of a matching colour in its mode's mean, 1/4096
  bool learns = true;         // false: the model does not change
  // The change of the scene that the survey shows.
  SceneChange change = SceneChange::none;
  bool keeps_edges = false;  // most edges of the background are visible in the frame
  // False: foreground is shown even if the scene changes, because the property `freeze` is set or
  // a mask determines the foreground.
  bool may_change = true;
  bool starts = false;  // the model starts with this frame
  uint32_t frame = 0;   // frame number, for dithering
  // False: the chroma of the frame and of all modes is neutral, so the modes' second words need not
  // be read.
  bool has_chroma = true;
  int colorfulness = 256;   // share of the shadow rule that hue justifies, 1/256
  int evidence_gain = 256;  // factor of the model's evidence, see adapt_to_grey(), 1/256
  bool is_night = false;    // the background is dark, so beams of light are visible
  Light light;              // change of light from the model to this frame
  // Before plan_frame(), its member `scale` is 0 unless the property `sigma` determines it.
  ContrastScale contrasts;
};

// A mode with at least kUpperShare of the frames is background; a mode with at most kLowerShare is
// not background. Between these shares, background_penalty() changes linearly.
inline constexpr int32_t kLowerShare = Mode::kFullWeight * 6 / 100;
inline constexpr int32_t kUpperShare = Mode::kFullWeight * 24 / 100;

// The modes of one pixel, or of several pixels in SIMD lanes.
template <class Int>
struct BasicModel {
  static constexpr int kModes = 3;
  static constexpr int kWords = kModes * Mode::kWords;  // number of words per pixel
  BasicMode<Int> mode[kModes];
  // [mode], false: no lane has this mode, and store() skips it.
  bool may_exist[kModes] = {true, true, true};

  // Reads the first words of all modes, which contain the weights, and then the other words of the
  // existing modes. So the thread waits for memory only twice. Without `has_chroma`, the second
  // words are not read.
  REGIONS_LANES static BasicModel load(const uint32_t* words, size_t plane,
                                       bool has_chroma = true) {
    BasicModel model;
    Int first[kModes], second[kModes], third[kModes];
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) read_words(words + k * Mode::kWords * plane, first[k]);
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      second[k] = Mode::kNeutralChroma;
      third[k] = 0;
      model.may_exist[k] = any(upper_bits(first[k], 16) != 0);
      if (!model.may_exist[k]) continue;
      if (has_chroma) read_words(words + (k * Mode::kWords + 1) * plane, second[k]);
      read_words(words + (k * Mode::kWords + 2) * plane, third[k]);
    }
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (!model.may_exist[k]) continue;
      model.mode[k] = BasicMode<Int>::unpacked(first[k], second[k], third[k]);
    }
    return model;
  }
  REGIONS_LANES void store(uint32_t* words, size_t plane) const {
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (may_exist[k]) mode[k].store(words + k * Mode::kWords * plane, plane);
    }
  }

  REGIONS_LANES BasicMode<Int> heaviest() const {
    BasicMode<Int> best = mode[0];
    REGIONS_UNROLL
    for (int k = 1; k < kModes; ++k) {
      if (may_exist[k]) best = select(mode[k].weight > best.weight, mode[k], best);
    }
    return best;
  }
  // Index of the mode with the smallest weight.
  REGIONS_LANES Int lightest() const {
    Int best = 0, lowest = mode[0].weight;
    REGIONS_UNROLL
    for (int k = 1; k < kModes; ++k) {
      best = select(mode[k].weight < lowest, Int(k), best);
      lowest = select(mode[k].weight < lowest, mode[k].weight, lowest);
    }
    return best;
  }
  // Applies a change of light to all modes.
  REGIONS_LANES void apply_light(const Light& light) {
    if (light.is_unchanged()) return;
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (!may_exist[k]) continue;
      const LaneBool<Int> exists = mode[k].weight != 0;
      REGIONS_UNROLL
      for (int c = 0; c < 3; ++c) {
        mode[k].mean[c] = select(exists, light.apply(c, mode[k].mean[c]), mode[k].mean[c]);
      }
    }
  }
};
using Model = BasicModel<int32_t>;

// Squared distance between a colour and a mode, in 1/16 of the mode's variances. Returns `limit` if
// the distance is not below `limit`. Most colours are that far away, and then no division is
// needed. Limits are below 2^13, variances below 2^16.
template <class Int>
REGIONS_LANES Int squared_distance(const BasicMode<Int>& mode, const BasicColor<Int>& color,
                                   const Int& limit, bool has_chroma = true) {
  constexpr int kDroppedBits = Mode::kMeanShift - 4;
  Int d[3];  // 1/16 levels
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c)
    d[c] = ((color[c] << Mode::kMeanShift) - mode.mean[c]) >> kDroppedBits;
  const Int luma = d[0] * d[0];
  if (!has_chroma) {
    const LaneBool<Int> is_near = luma < limit * mode.var_luma;
    if (!any(is_near)) return limit;
    const Int distance = small_quotient(luma, mode.var_luma);
    return select(is_near & (distance < limit), distance, limit);
  }
  const Int chroma = d[1] * d[1] + d[2] * d[2];
  const LaneBool<Int> near = (luma < limit * mode.var_luma) & (chroma < limit * mode.var_chroma);
  if (!any(near)) return limit;
  const Int chroma_distance = any(near & (chroma > 1 << 24))
                                  ? quotient(chroma, mode.var_chroma)
                                  : small_quotient(chroma, mode.var_chroma);
  const Int distance = small_quotient(luma, mode.var_luma) + chroma_distance;
  return select(near & (distance < limit), distance, limit);
}

// Penalty for a mode whose weight is below kUpperShare: 0..max_penalty units.
template <class Int>
REGIONS_LANES Int background_penalty(const Int& weight, int max_penalty) {
  constexpr int kTransition = kUpperShare - kLowerShare;
  const Int missing = clamp<Int>(Int(kUpperShare) - weight, 0, kTransition);
  if (!any(missing > 0)) return 0;
  return quotient(missing * max_penalty, Int(kTransition));
}

// Evidence that the pixel is foreground, in units, within -var_threshold..var_threshold. It is the
// lowest cost of all modes minus the threshold. The cost of a mode is D^2 / 2 (the negative
// log-likelihood of a Gaussian) plus background_penalty(). `match` becomes the index of the mode
// that the colour matches, or -1.
template <class Int>
REGIONS_LANES Int evidence(const BasicModel<Int>& model, const BasicColor<Int>& color,
                           const FramePlan& frame, Int& match) {
  Int min_cost = 2 * frame.var_threshold, closest = frame.match_distance;
  match = -1;
  // If the distance is at least var_threshold, the cost is at least 2 * var_threshold.
  const Int limit =
      frame.match_distance < frame.var_threshold ? frame.var_threshold : frame.match_distance;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    const BasicMode<Int>& mode = model.mode[k];
    const LaneBool<Int> exists = mode.weight != 0;
    const Int distance = squared_distance(mode, color, limit, frame.has_chroma);
    const LaneBool<Int> closer = exists & (distance < closest);
    match = select(closer, Int(k), match);
    closest = select(closer, distance, closest);
    const LaneBool<Int> near = exists & (distance < frame.var_threshold);
    if (!any(near)) continue;
    const Int cost =
        distance * (kUnitsPerNat / 32) + background_penalty(mode.weight, 2 * frame.var_threshold);
    min_cost = select(near, smaller(cost, min_cost), min_cost);
  }
  return min_cost - frame.var_threshold;
}

}  // namespace regions::graphcutbg
