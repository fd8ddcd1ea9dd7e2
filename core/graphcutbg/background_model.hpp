// The background model of one pixel: colours, Gaussian modes and the evidence of a colour. The
// model has three Gaussian modes in fixed point, after Stauffer and Grimson 1999, and replaces the
// weakest mode as Zivkovic 2004 does. All backends compute the same bits.
#pragma once

#include "core/frame.hpp"
#include "core/graphcutbg/lanes.hpp"

namespace regions::graphcutbg {

REGIONS_HD constexpr uint8_t clamp_byte(int value) {
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

template <class Int>
struct BasicColor {
  Int y = 0, u = 128, v = 128;  // 0..255; black is y = 0, neutral chroma is 128

  REGIONS_LANES const Int& operator[](int c) const { return c == 0 ? y : c == 1 ? u : v; }
  // As one word, which is read at once. Its upper byte is free for the match cache, see
  // store_match().
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

// BT.601 at full range, in 8-bit fixed point.
REGIONS_HD inline Color color_of_rgb(int r, int g, int b) {
  return {clamp_byte(luma_of(r, g, b)), clamp_byte(((-43 * r - 85 * g + 128 * b + 128) >> 8) + 128),
          clamp_byte(((128 * r - 107 * g - 21 * b + 128) >> 8) + 128)};
}

// Converts components as a frame stores them. Depths above 8 lose their low bits.
REGIONS_HD inline Color color_of(const Layout& layout, bool full_range, const int (&component)[3]) {
  if (layout.model == ColorModel::rgb) {
    return color_of_rgb(component[0], component[1], component[2]);
  }
  const int shift = layout.depth - 8;
  const bool limited = layout.model == ColorModel::yuv && !full_range;
  const uint8_t luma = clamp_byte((component[0] >> shift) - (limited ? 16 : 0));
  if (layout.model == ColorModel::gray) return {luma, 128, 128};
  return {luma, static_cast<uint8_t>(component[1] >> shift),
          static_cast<uint8_t>(component[2] >> shift)};
}

// The stored components of a pixel, not yet converted. A GPU can issue further reads meanwhile.
template <class Byte>
struct StoredColor {
  const BasicFrame<Byte>& frame;
  int component[3] = {};

  REGIONS_HD operator Color() const {
    return color_of(frame.layout, frame.color.full_range, component);
  }
};

// The colour of pixel (x, y), with chroma of the nearest sample.
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

// A change of light over the whole picture: new = old * gain + offset. Chroma is scaled about its
// neutral value.
struct Light {
  static constexpr int kGainBits = 12;
  static constexpr int kOne = 1 << kGainBits;
  int gain = kOne;
  int offset = 0;  // of luma, 1/256 levels

  REGIONS_HD bool is_unchanged() const { return gain == kOne && offset == 0; }
  // `value` has 8 fraction bits. Differences from the base stay below 2^16 and gains below 2^15.
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

// Constants of a mode. A mode has three words in memory, each in its own plane of the model. Weight
// 0 means that the mode does not exist; its other values are undefined.
struct ModeScale {
  static constexpr int kWords = 3;
  static constexpr int kMeanShift = 8;           // fraction bits of means
  static constexpr int32_t kFullWeight = 65535;  // weight of a mode that got every frame
};

// One mode: a Gaussian with diagonal covariance, in fixed point.
template <class Int>
struct BasicMode : ModeScale {
  Int weight = 0;  // share of the frames, in units of 1 / kFullWeight
  Int mean[3] = {0, 0, 0};
  Int var_luma = 0;  // 1/16 (levels squared)
  Int var_chroma = 0;

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
  REGIONS_LANES void store(uint32_t* words, size_t plane) const {
    write_words(words, weight << 16 | mean[0]);
    write_words(words + plane, mean[2] << 16 | mean[1]);
    write_words(words + 2 * plane, var_chroma << 16 | var_luma);
  }
  REGIONS_LANES BasicColor<Int> color() const {
    constexpr int kHalf = 1 << (kMeanShift - 1);
    return {clamp<Int>((mean[0] + kHalf) >> kMeanShift, 0, 255),
            clamp<Int>((mean[1] + kHalf) >> kMeanShift, 0, 255),
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

inline constexpr int kUnitsPerNat =
    64;  // units per nat (a log-likelihood ratio of 1), in the whole energy

// Limits of variances, 1/16 (levels squared).
struct Variances {
  static constexpr int32_t kInitialLuma = 16 * 64, kInitialChroma = 16 * 24;  // of a new mode
  static constexpr int32_t kMinLuma = 16 * 8, kMinChroma = 16 * 4;            // noise of a camera
  static constexpr int32_t kMax = 16 * 600;
};

// Per-frame values for all pixels, derived from the parameters and the scene.
struct ModelPlan {
  int threshold = 0;  // units; half of var-threshold
  int32_t match = 0;  // squared distance below which a colour belongs to a mode, 1/16 variances
  int32_t alpha = 0;  // weight of a frame in the weight of its mode, 1/65536
  int32_t alpha_slow = 0;  // the same for foreground pixels
  int32_t alpha_fast = 0;  // the same for an unknown colour that the cut labels background
  int32_t rate = 0;        // minimum weight of a frame in a mode's colour, 1/4096
  bool learns = true;
  bool starts = false;  // the model starts with this frame
  uint32_t frame = 0;   // frame number, for dithering
  Light light;
};

// Modes with at least the upper share of frames are background; modes up to the lower share are
// not. In between the evidence changes linearly.
inline constexpr int32_t kLowerShare = Mode::kFullWeight * 6 / 100;
inline constexpr int32_t kUpperShare = Mode::kFullWeight * 24 / 100;

// The modes of a pixel, or of several pixels in SIMD lanes.
// One mode: a Gaussian with diagonal covariance, in fixed point.
template <class Int>
struct BasicModel {
  static constexpr int kModes = 3;
  static constexpr int kWords = kModes * Mode::kWords;  // per pixel
  BasicMode<Int> mode[kModes];
  bool may_exist[kModes] = {true, true,
                            true};  // false: no lane has this mode, neither here nor in memory

  // Reads the first words of all modes, which contain the weights, and then the other words of
  // existing modes. So there are only two waits for memory.
  REGIONS_LANES static BasicModel load(const uint32_t* words, size_t plane) {
    BasicModel model;
    Int first[kModes], second[kModes], third[kModes];
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) read_words(words + k * Mode::kWords * plane, first[k]);
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      second[k] = third[k] = 0;
      model.may_exist[k] = any(upper_bits(first[k], 16) != 0);
      if (!model.may_exist[k]) continue;
      read_words(words + (k * Mode::kWords + 1) * plane, second[k]);
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

// Squared distance from a mode in units of 1/16 of its variances; `limit` if it is at least that,
// which is usually known without a division. Limits are below 2^13, variances below 2^16.
template <class Int>
REGIONS_LANES Int squared_distance(const BasicMode<Int>& mode, const BasicColor<Int>& color,
                                   const Int& limit) {
  constexpr int kDroppedBits = Mode::kMeanShift - 4;
  Int d[3];  // 1/16 levels
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c)
    d[c] = ((color[c] << Mode::kMeanShift) - mode.mean[c]) >> kDroppedBits;
  const Int luma = d[0] * d[0];
  const Int chroma = d[1] * d[1] + d[2] * d[2];
  const LaneBool<Int> near = (luma < limit * mode.var_luma) & (chroma < limit * mode.var_chroma);
  if (!any(near)) return limit;
  const Int chroma_distance = any(near & (chroma > 1 << 24))
                                  ? quotient(chroma, mode.var_chroma)
                                  : small_quotient(chroma, mode.var_chroma);
  const Int distance = small_quotient(luma, mode.var_luma) + chroma_distance;
  return select(near & (distance < limit), distance, limit);
}

// Penalty in units, 0..max_penalty, for a mode whose weight is below the upper share.
template <class Int>
REGIONS_LANES Int background_penalty(const Int& weight, int max_penalty) {
  constexpr int kTransition = kUpperShare - kLowerShare;
  const Int missing = clamp<Int>(Int(kUpperShare) - weight, 0, kTransition);
  if (!any(missing > 0)) return 0;
  return quotient(missing * max_penalty, Int(kTransition));
}

// Evidence for the foreground in units: the minimum over the modes of D^2 / 2 (the negative
// log-likelihood of a Gaussian) plus background_penalty(), minus the threshold. The result is
// within -threshold..threshold. `match` becomes the index of the mode that the colour belongs to,
// or -1.
template <class Int>
REGIONS_LANES Int evidence(const BasicModel<Int>& model, const BasicColor<Int>& color,
                           const ModelPlan& plan, Int& match) {
  Int min_cost = 2 * plan.threshold, closest = plan.match;
  match = -1;
  // At or above the threshold the cost is at least 2 * threshold.
  const Int limit = plan.match < plan.threshold ? plan.threshold : plan.match;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    const BasicMode<Int>& mode = model.mode[k];
    const LaneBool<Int> exists = mode.weight != 0;
    const Int distance = squared_distance(mode, color, limit);
    const LaneBool<Int> closer = exists & (distance < closest);
    match = select(closer, Int(k), match);
    closest = select(closer, distance, closest);
    const LaneBool<Int> near = exists & (distance < plan.threshold);
    if (!any(near)) continue;
    const Int cost =
        distance * (kUnitsPerNat / 32) + background_penalty(mode.weight, 2 * plan.threshold);
    min_cost = select(near, smaller(cost, min_cost), min_cost);
  }
  return min_cost - plan.threshold;
}

}  // namespace regions::graphcutbg
