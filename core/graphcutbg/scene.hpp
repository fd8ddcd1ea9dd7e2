// What one frame tells about the whole scene, measured before its pixels are judged: the light, the
// contrast between neighbours, how much of the last frame was foreground. All sums are integers, so
// any order of adding gives the same.
#pragma once

#include "core/graphcutbg/model.hpp"

namespace regions::graphcut {

// Sums over the pixels that a survey looks at.
struct SurveySums {
  static constexpr int kHalves = 2;  // the dark and the bright part of the background

  uint64_t contrast2 = 0;        // sum over pairs of neighbours
  uint32_t pairs = 0;            // of neighbours
  uint32_t count[kHalves] = {};  // of pixels that tell of the light
  uint32_t luma[kHalves] = {};   // sum of the background's at those

  // Adds what other pixels gave.
  REGIONS_HD void add(const SurveySums& other) {
    contrast2 += other.contrast2;
    pairs += other.pairs;
    for (int half = 0; half < kHalves; ++half) {
      count[half] += other.count[half];
      luma[half] += other.luma[half];
    }
  }
};

// Of every kStep-th pixel of every kStep-th row.
struct Survey {
  static constexpr int kStep = 4;
  static constexpr int kBins = 512;
  static constexpr int kHalves = SurveySums::kHalves;

  SurveySums sums;
  uint32_t foreground = 0;  // pixels of the last frame's cut
  uint32_t pixels = 0;      // of the last frame
  // How often luma - background's luma is bin - kBins / 2.
  uint32_t change[kHalves][kBins] = {};

  void add(const Survey& other) {
    sums.add(other.sums);
    for (int half = 0; half < kHalves; ++half) {
      for (int i = 0; i < kBins; ++i) change[half][i] += other.change[half][i];
    }
  }
};

// How the scene stands; one a model.
struct Scene {
  uint32_t age = 0;      // frames learnt since the model started
  uint32_t frame = 0;    // frames seen
  uint32_t busy = 0;     // frames in a row that were mostly foreground
  uint32_t split = 128;  // luma between the dark and the bright half of the background
  uint32_t restarted = 0;
};

// What the parameters say, worked out on the host.
struct ScenePlan {
  int threshold = 0;            // units, see ModelPlan
  int32_t match = 0;            // of 1/16
  uint32_t least_alpha = 0;     // of 65536
  int32_t rate = 0;             // of 4096
  uint32_t contrast_scale = 0;  // see Contrasts; 0: from the frame
  bool freezes = false;
};

inline constexpr int kLinkSteps = 16;  // of the table a unit of the exponent
inline constexpr int kLinkEntries = 128;
inline constexpr double kMaxContrastScale = 65536.0 * kLinkSteps;

// From squared contrasts to steps of the link table.
struct Contrasts {
  int32_t scale = 0;  // steps a unit, of 65536
  int32_t end = 0;    // from here on a contrast is beyond the table

  REGIONS_HD static Contrasts scaled(uint32_t scale) {
    constexpr uint32_t kEnd = kLinkEntries << 16;
    const uint32_t end = scale == 0 ? kEnd : (kEnd + scale - 1) / scale;
    return {static_cast<int32_t>(scale), static_cast<int32_t>(end)};
  }
  // 0..kLinkEntries. Products stay below 2^24.
  template <class Int>
  REGIONS_LANES Int step_of(const Int& contrast2) const {
    const Int step = smaller(contrast2, Int(end)) * scale >> 16;
    return smaller(step, Int(kLinkEntries));
  }
};

// What one frame's pixels need; worked out on the backend's side, from the survey.
struct FramePlan {
  ModelPlan model;
  Contrasts contrasts;
};

// Where the median of a histogram lies: its bin, and how many values lie in the bins below.
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

// A median with 8 fraction bits, of the bins' values from -kBins / 2 up.
struct Median {
  int value = 0;
  uint32_t near = 0;     // how many lie within kNear of it
  uint32_t unmoved = 0;  // how many lie within kNear of zero
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

// The change of light that the medians of the dark and the bright half agree on: a line through
// both. Foreground moves a median little while it covers less than half.
REGIONS_HD inline Light light_of(const SurveySums& sums, const Medians& medians) {
  constexpr uint32_t kMin = 64;  // pixels of a half worth a median
  constexpr int kStill = 384;    // a change below 1.5 levels is learnt, not applied
  Light light;
  const Median &dark = medians.half[0], &bright = medians.half[1];
  if (dark.count + bright.count < kMin) return light;
  const auto moved = [](const Median& m) { return m.value > kStill || m.value < -kStill; };
  if (!moved(dark) && !moved(bright)) return light;
  // The new light must explain clearly more of the picture than the old one does.
  const uint32_t after = dark.near + bright.near;
  if (after < (dark.unmoved + bright.unmoved) * 5 / 4) return light;
  if (dark.count < kMin || bright.count < kMin) {
    light.offset = dark.count < bright.count ? bright.value : dark.value;
    return light;
  }
  const auto mean = [&](int half, const Median& m) {
    return static_cast<int>((static_cast<uint64_t>(sums.luma[half]) << 8) / m.count);
  };
  const int from = mean(0, dark);
  const int span = mean(1, bright) - from;
  if (span > 16 << 8) {
    light.gain += (bright.value - dark.value) * Light::kOne / span;
    if (light.gain < Light::kOne / 4) light.gain = Light::kOne / 4;
    if (light.gain > Light::kOne * 4) light.gain = Light::kOne * 4;
  }
  light.offset = dark.value - static_cast<int>(static_cast<int64_t>(light.gain - Light::kOne) *
                                               from / Light::kOne);
  return light;
}

// A pixel's part in the survey. `background`: the model's colour there. tally(half, bin) counts one
// in Survey::change.
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

// From the last scene and this frame's survey to this frame's plan.
REGIONS_HD inline FramePlan settle(Scene& scene, const Survey& survey, const Medians& medians,
                                   const ScenePlan& plan) {
  // A camera that jumps, or a light no line can describe, leaves nearly all foreground.
  constexpr uint32_t kBusyFrames = 8;
  FramePlan frame;
  const bool busy =
      scene.age > 1 && survey.pixels > 0 &&
      static_cast<uint64_t>(survey.foreground) * 10 > static_cast<uint64_t>(survey.pixels) * 7;
  scene.busy = busy ? scene.busy + 1 : 0;
  scene.restarted = scene.busy >= kBusyFrames && !plan.freezes;
  if (scene.restarted) scene.age = scene.busy = 0;
  ++scene.frame;

  ModelPlan& model = frame.model;
  model.threshold = plan.threshold;
  model.match = plan.match;
  model.frame = scene.frame;
  model.starts = scene.age == 0;
  model.learns = !plan.freezes || model.starts;
  model.rate = plan.rate;
  // Every frame so far counts the same, the first some more: else what passes early on is learnt.
  constexpr uint32_t kFirstCounts = 12;
  const uint32_t average = 65536 / (scene.age + kFirstCounts);
  model.alpha = static_cast<int32_t>(average > plan.least_alpha ? average : plan.least_alpha);
  model.alpha_slow = model.alpha / 2 > 0 ? model.alpha / 2 : 1;
  // New background, too, is learnt no faster while the model is young: else what a cut missed of
  // something alike is background a few frames later.
  constexpr int kFast = 65536 / 128;
  model.alpha_fast = larger(model.alpha, smaller(model.alpha * 4, kFast));
  if (!model.starts) model.light = light_of(survey.sums, medians);

  const SurveySums& sums = survey.sums;
  const uint32_t count = sums.count[0] + sums.count[1];
  if (count > 0) scene.split = (sums.luma[0] + sums.luma[1]) / count;
  uint32_t contrast_scale = plan.contrast_scale;
  if (contrast_scale == 0) {
    const uint64_t top = static_cast<uint64_t>(sums.pairs) * (65536 * kLinkSteps / 2);
    const uint64_t scale = sums.contrast2 ? top / sums.contrast2 : top;
    contrast_scale = scale > 65536 * kLinkSteps ? 65536 * kLinkSteps : static_cast<uint32_t>(scale);
  }
  frame.contrasts = Contrasts::scaled(contrast_scale);
  if (model.learns && scene.age < (1u << 20)) ++scene.age;
  return frame;
}

}  // namespace regions::graphcut
