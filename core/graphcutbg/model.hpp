// The background model of one pixel: three Gaussian modes in fixed point, scored and taught alike
// on every backend. After Stauffer and Grimson 1999 with Zivkovic's 2004 replacement of the weakest
// mode; new here: scores stay soft (log-likelihood ratios for a cut) and the cut's mask steers what
// is learnt.
#pragma once

#include <cstdint>

#include "core/graphcutbg/color.hpp"

namespace regions::graphcut {

inline constexpr int kNat = 64;  // units of a log-likelihood ratio of 1, everywhere in the energy

// One mode, and how it lies in memory: three words, each a plane of the model.
struct Mode {
  static constexpr int kWords = 3;
  static constexpr int kMeanShift = 8;       // means have so many fraction bits
  static constexpr uint32_t kWhole = 65535;  // weight of a mode that is alone

  uint32_t weight = 0;  // share of the frames, of kWhole; 0: no mode
  int32_t mean[3] = {};
  uint32_t var_luma = 0;  // of 1/16
  uint32_t var_chroma = 0;

  REGIONS_HD static Mode load(const uint32_t* words, size_t plane) {
    Mode mode;
    const uint32_t a = words[0];
    const uint32_t b = words[plane];
    const uint32_t c = words[2 * plane];
    mode.weight = a >> 16;
    mode.mean[0] = static_cast<int32_t>(a & 0xFFFF);
    mode.mean[1] = static_cast<int32_t>(b & 0xFFFF);
    mode.mean[2] = static_cast<int32_t>(b >> 16);
    mode.var_luma = c & 0xFFFF;
    mode.var_chroma = c >> 16;
    return mode;
  }
  REGIONS_HD void store(uint32_t* words, size_t plane) const {
    words[0] = weight << 16 | static_cast<uint32_t>(mean[0]);
    words[plane] = static_cast<uint32_t>(mean[2]) << 16 | static_cast<uint32_t>(mean[1]);
    words[2 * plane] = var_chroma << 16 | var_luma;
  }
  REGIONS_HD Color color() const {
    constexpr int kHalf = 1 << (kMeanShift - 1);
    return {clamp_byte((mean[0] + kHalf) >> kMeanShift),
            clamp_byte((mean[1] + kHalf) >> kMeanShift),
            clamp_byte((mean[2] + kHalf) >> kMeanShift)};
  }
};

// Variances, of 1/16 (levels squared).
struct Variances {
  static constexpr uint32_t kFirstLuma = 16 * 64, kFirstChroma = 16 * 24;  // of a new mode
  static constexpr uint32_t kLeastLuma = 16 * 8, kLeastChroma = 16 * 4;    // a camera's noise
  static constexpr uint32_t kMost = 16 * 600;
};

// What a frame's work needs of the parameters and of the scene, for all pixels.
struct ModelPlan {
  int threshold = 0;        // units: half of var-threshold
  uint32_t match = 0;       // squared distance up to which a colour belongs to a mode, of 1/16
  uint32_t alpha = 0;       // what a frame adds to the weight of its mode, of 65536
  uint32_t alpha_slow = 0;  // the same in the foreground
  uint32_t alpha_fast = 0;  // the same where the cut calls an unknown colour background
  uint32_t rate = 0;        // least weight of a frame in a mode's colour, of 4096
  bool learns = true;
  bool starts = false;  // this frame is the first
  uint32_t frame = 0;   // numbers the frames, for dithering
  Light light;
};

// A mode is background from the upper share on, and no background up to the lower one; between them
// the evidence fades.
inline constexpr uint32_t kLowerShare = Mode::kWhole * 6 / 100;
inline constexpr uint32_t kUpperShare = Mode::kWhole * 24 / 100;

// Squared distance from a mode in its own variances, of 1/16; `limit` if it is that or more, which
// is mostly seen without dividing.
REGIONS_HD inline uint32_t distance2(const Mode& mode, const Color& color, uint32_t limit) {
  constexpr int kDrop = Mode::kMeanShift - 4;
  const int dy = ((color.y << Mode::kMeanShift) - mode.mean[0]) >> kDrop;  // of 1/16 levels
  const auto luma = static_cast<uint32_t>(dy * dy);
  if (luma >= static_cast<uint64_t>(limit) * mode.var_luma) return limit;
  const int du = ((color.u << Mode::kMeanShift) - mode.mean[1]) >> kDrop;
  const int dv = ((color.v << Mode::kMeanShift) - mode.mean[2]) >> kDrop;
  const auto chroma = static_cast<uint32_t>(du * du + dv * dv);
  if (chroma >= static_cast<uint64_t>(limit) * mode.var_chroma) return limit;
  const uint32_t d2 = luma / mode.var_luma + chroma / mode.var_chroma;
  return d2 < limit ? d2 : limit;
}

// What is missing to a background mode, in units, out of `most`.
REGIONS_HD inline int doubt(uint32_t weight, int most) {
  if (weight >= kUpperShare) return 0;
  if (weight <= kLowerShare) return most;
  return static_cast<int>((kUpperShare - weight) * static_cast<uint32_t>(most) /
                          (kUpperShare - kLowerShare));
}

REGIONS_HD inline uint32_t hash(uint32_t a, uint32_t b) {
  uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
  h = (h ^ h >> 15) * 0x2C1B3C6Du;  // finaliser of Ellis' "prospecting for hash functions", 2018
  h = (h ^ h >> 12) * 0x297A2D39u;
  return h ^ h >> 15;
}

// value + (target - value) * rate / 2^kShift, rounded by dither so that slow rates keep moving.
template <int kShift>
REGIONS_HD int32_t approach(int32_t value, int32_t target, uint32_t rate, uint32_t dither) {
  const int64_t step = static_cast<int64_t>(target - value) * static_cast<int64_t>(rate);
  return value + static_cast<int32_t>((step + (dither & ((1u << kShift) - 1))) >> kShift);
}

// A pixel's modes.
struct Model {
  static constexpr int kModes = 3;
  static constexpr int kWords = kModes * Mode::kWords;  // of a pixel
  Mode mode[kModes];

  REGIONS_HD static Model load(const uint32_t* words, size_t plane) {
    Model model;
    for (int k = 0; k < kModes; ++k) {
      model.mode[k] = Mode::load(words + k * Mode::kWords * plane, plane);
    }
    return model;
  }
  REGIONS_HD void store(uint32_t* words, size_t plane) const {
    for (int k = 0; k < kModes; ++k) mode[k].store(words + k * Mode::kWords * plane, plane);
  }

  REGIONS_HD int heaviest() const {
    int best = 0;
    for (int k = 1; k < kModes; ++k) {
      if (mode[k].weight > mode[best].weight) best = k;
    }
    return best;
  }
  REGIONS_HD int lightest() const {
    int best = 0;
    for (int k = 1; k < kModes; ++k) {
      if (mode[k].weight < mode[best].weight) best = k;
    }
    return best;
  }
  // The whole scene became lighter or darker.
  REGIONS_HD void relight(const Light& light) {
    if (light.same()) return;
    for (Mode& m : mode) {
      for (int c = 0; c < 3; ++c) m.mean[c] = light.apply(c, m.mean[c]);
    }
  }
};

// Evidence for the foreground in units: the least over the modes of D^2 / 2 (a Gaussian's negative
// log-likelihood) and its doubt, less the threshold; within -threshold..threshold.
REGIONS_HD inline int evidence(const Model& model, const Color& color, const ModelPlan& plan) {
  int least = 2 * plan.threshold;
  for (const Mode& mode : model.mode) {
    if (mode.weight == 0) continue;
    // From there on the cost is at least 2 * threshold.
    const auto limit = static_cast<uint32_t>(plan.threshold);
    const uint32_t d2 = distance2(mode, color, limit);
    if (d2 >= limit) continue;
    const int cost = static_cast<int>(d2) * (kNat / 32) + doubt(mode.weight, 2 * plan.threshold);
    if (cost < least) least = cost;
  }
  return least - plan.threshold;
}

REGIONS_HD inline Mode new_mode(const Color& color, uint32_t weight) {
  Mode mode;
  mode.weight = weight;
  for (int c = 0; c < 3; ++c) mode.mean[c] = color[c] << Mode::kMeanShift;
  mode.var_luma = Variances::kFirstLuma;
  mode.var_chroma = Variances::kFirstChroma;
  return mode;
}

REGIONS_HD inline uint32_t within(int32_t value, uint32_t least, uint32_t most) {
  if (value < static_cast<int32_t>(least)) return least;
  return value > static_cast<int32_t>(most) ? most : static_cast<uint32_t>(value);
}

// A colour joins its mode. A variance starts from what is usual and counts for some frames.
REGIONS_HD inline void join(Mode& mode, const Color& color, uint32_t alpha, uint32_t least_rate,
                            uint32_t dither) {
  constexpr uint32_t kOne = 4096;
  uint32_t rate = alpha * (kOne >> 4) / ((mode.weight >> 4) + 1);  // 1 / visits
  if (rate < least_rate) rate = least_rate;
  if (rate > kOne) rate = kOne;
  const uint32_t var_rate = rate > kOne / 16 ? kOne / 16 : rate;
  int32_t square[3];
  for (int c = 0; c < 3; ++c) {
    const int32_t value = color[c] << Mode::kMeanShift;
    const int32_t d = (value - mode.mean[c]) >> (Mode::kMeanShift - 4);
    square[c] = d * d >> 4;
    mode.mean[c] = approach<12>(mode.mean[c], value, rate, dither >> c);
  }
  mode.var_luma =
      within(approach<12>(static_cast<int32_t>(mode.var_luma), square[0], var_rate, dither >> 4),
             Variances::kLeastLuma, Variances::kMost);
  mode.var_chroma = within(approach<12>(static_cast<int32_t>(mode.var_chroma),
                                        (square[1] + square[2]) / 2, var_rate, dither >> 6),
                           Variances::kLeastChroma, Variances::kMost);
}

// Learns one frame's colour. `foreground`: what the cut made of the pixel; `pixel` numbers it.
REGIONS_HD inline void learn(Model& model, const Color& color, bool foreground,
                             const ModelPlan& plan, uint32_t pixel) {
  if (plan.starts) {
    model = Model();
    model.mode[0] = new_mode(color, Mode::kWhole);
    return;
  }
  model.relight(plan.light);
  int match = -1;
  uint32_t least = plan.match;
  for (int k = 0; k < Model::kModes; ++k) {
    if (model.mode[k].weight == 0) continue;
    const uint32_t d2 = distance2(model.mode[k], color, least);
    if (d2 < least) {
      least = d2;
      match = k;
    }
  }
  const bool known = match >= 0 && model.mode[match].weight >= kUpperShare;
  // Something that looks like the background passes before it: nothing is learnt of either.
  if (foreground && known) return;
  const uint32_t alpha = foreground ? plan.alpha_slow : known ? plan.alpha : plan.alpha_fast;
  const uint32_t dither = hash(pixel, plan.frame);
  for (int k = 0; k < Model::kModes; ++k) {
    const auto weight = static_cast<int32_t>(model.mode[k].weight);
    const int32_t target = k == match ? static_cast<int32_t>(Mode::kWhole) : 0;
    model.mode[k].weight =
        static_cast<uint32_t>(approach<16>(weight, target, alpha, dither >> (4 * k)));
  }
  if (match >= 0) {
    join(model.mode[match], color, alpha, plan.rate, dither);
  } else {
    model.mode[model.lightest()] = new_mode(color, alpha > 65535 ? 65535 : alpha);
  }
}

}  // namespace regions::graphcut
