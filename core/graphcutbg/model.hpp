// The background model of one pixel: three Gaussian modes in fixed point, scored and taught alike
// on every backend. After Stauffer and Grimson 1999 with Zivkovic's 2004 replacement of the weakest
// mode; new here: scores stay soft (log-likelihood ratios for a cut) and the cut's mask steers what
// is learnt.
#pragma once

#include "core/graphcutbg/mode.hpp"

namespace regions::graphcut {

inline constexpr int kNat = 64;  // units of a log-likelihood ratio of 1, everywhere in the energy

// Variances, of 1/16 (levels squared).
struct Variances {
  static constexpr int32_t kFirstLuma = 16 * 64, kFirstChroma = 16 * 24;  // of a new mode
  static constexpr int32_t kLeastLuma = 16 * 8, kLeastChroma = 16 * 4;    // a camera's noise
  static constexpr int32_t kMost = 16 * 600;
};

// What a frame's work needs of the parameters and of the scene, for all pixels.
struct ModelPlan {
  int threshold = 0;       // units: half of var-threshold
  int32_t match = 0;       // squared distance up to which a colour belongs to a mode, of 1/16
  int32_t alpha = 0;       // what a frame adds to the weight of its mode, of 65536
  int32_t alpha_slow = 0;  // the same in the foreground
  int32_t alpha_fast = 0;  // the same where the cut calls an unknown colour background
  int32_t rate = 0;        // least weight of a frame in a mode's colour, of 4096
  bool learns = true;
  bool starts = false;  // this frame is the first
  uint32_t frame = 0;   // numbers the frames, for dithering
  Light light;
};

// A mode is background from the upper share on, and no background up to the lower one; between them
// the evidence fades.
inline constexpr int32_t kLowerShare = Mode::kWhole * 6 / 100;
inline constexpr int32_t kUpperShare = Mode::kWhole * 24 / 100;

// How far a colour is from a mode's mean, of 1/256 squared levels.
template <class Int>
struct Offset {
  Int luma, chroma;

  REGIONS_LANES static Offset of(const BasicColor<Int>& color, const BasicMode<Int>& mode) {
    constexpr int kDrop = Mode::kMeanShift - 4;
    Int d[3];  // of 1/16 levels
    REGIONS_UNROLL
    for (int c = 0; c < 3; ++c) d[c] = ((color[c] << Mode::kMeanShift) - mode.mean[c]) >> kDrop;
    return {d[0] * d[0], d[1] * d[1] + d[2] * d[2]};
  }
  // Whether neither luma nor chroma alone is `limit` or more of the mode's variances, of 1/16.
  // Limits are below 2^13, variances below 2^16.
  REGIONS_LANES Truth<Int> is_near(const BasicMode<Int>& mode, const Int& limit) const {
    return (luma < limit * mode.var_luma) & (chroma < limit * mode.var_chroma);
  }
  // In the mode's variances, of 1/16, where it is near.
  REGIONS_LANES Int distance2(const BasicMode<Int>& mode, const Truth<Int>& near) const {
    const Int of_chroma = any(near & (chroma > 1 << 24)) ? quotient(chroma, mode.var_chroma)
                                                         : small_quotient(chroma, mode.var_chroma);
    return small_quotient(luma, mode.var_luma) + of_chroma;
  }
};

// Squared distance from a mode in its own variances, of 1/16; `limit` if it is that or more, which
// is mostly seen without dividing.
template <class Int>
REGIONS_LANES Int distance2(const BasicMode<Int>& mode, const BasicColor<Int>& color,
                            const Int& limit) {
  const auto offset = Offset<Int>::of(color, mode);
  const Truth<Int> near = offset.is_near(mode, limit);
  if (!any(near)) return limit;
  const Int d2 = offset.distance2(mode, near);
  return pick(near & (d2 < limit), d2, limit);
}

// What is missing to a background mode, in units, out of `most`.
template <class Int>
REGIONS_LANES Int doubt(const Int& weight, int most) {
  constexpr int kFade = kUpperShare - kLowerShare;
  const Int missing = within<Int>(Int(kUpperShare) - weight, 0, kFade);
  if (!any(missing > 0)) return 0;
  return quotient(missing * most, Int(kFade));
}

template <class Int>
REGIONS_LANES Int hash(const Int& a, uint32_t b) {
  // Finaliser of Ellis' "prospecting for hash functions", 2018.
  const auto other = static_cast<int32_t>((b + 0x7F4A7C15u) * 0x85EBCA77u);
  Int h = wrapped_product(a, static_cast<int32_t>(0x9E3779B1u)) ^ other;
  h = wrapped_product(h ^ upper_bits(h, 15), static_cast<int32_t>(0x2C1B3C6Du));
  h = wrapped_product(h ^ upper_bits(h, 12), static_cast<int32_t>(0x297A2D39u));
  return h ^ upper_bits(h, 15);
}

// value + (target - value) * rate / 2^12, rounded by dither so that slow rates keep moving. The
// product stays below 2^31.
template <class Int>
REGIONS_LANES Int approach(const Int& value, const Int& target, const Int& rate,
                           const Int& dither) {
  return value + (((target - value) * rate + (dither & 0xFFF)) >> 12);
}

// The same of a share, with a rate of 2^16, whose two bytes are multiplied one by one, so that 32
// bits hold it.
template <class Int>
REGIONS_LANES Int approach_share(const Int& value, const Int& target, const Int& rate,
                                 const Int& dither) {
  const Int way = target - value;
  const Int low = way * (rate & 255) + (dither & 0xFFFF);
  return value + ((way * (rate >> 8) + (low >> 8)) >> 8);
}

// A pixel's modes.
template <class Int>
struct BasicModel {
  static constexpr int kModes = 3;
  static constexpr int kWords = kModes * Mode::kWords;  // of a pixel
  BasicMode<Int> mode[kModes];
  bool may_exist[kModes] = {true, true, true};  // in any lane, here or in memory

  // First all words that tell which modes there are, then the others of those, so that memory is
  // waited for twice.
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
      if (may_exist[k]) best = pick(mode[k].weight > best.weight, mode[k], best);
    }
    return best;
  }
  // Its number.
  REGIONS_LANES Int lightest() const {
    Int best = 0, least = mode[0].weight;
    REGIONS_UNROLL
    for (int k = 1; k < kModes; ++k) {
      best = pick(mode[k].weight < least, Int(k), best);
      least = pick(mode[k].weight < least, mode[k].weight, least);
    }
    return best;
  }
  // The whole scene became lighter or darker.
  REGIONS_LANES void relight(const Light& light) {
    if (light.same()) return;
    REGIONS_UNROLL
    for (int k = 0; k < kModes; ++k) {
      if (!may_exist[k]) continue;
      const Truth<Int> exists = mode[k].weight != 0;
      REGIONS_UNROLL
      for (int c = 0; c < 3; ++c) {
        mode[k].mean[c] = pick(exists, light.apply(c, mode[k].mean[c]), mode[k].mean[c]);
      }
    }
  }
};
using Model = BasicModel<int32_t>;

// Evidence for the foreground in units: the least over the modes of D^2 / 2 (a Gaussian's negative
// log-likelihood) and its doubt, less the threshold; within -threshold..threshold. `match`: the
// number of the mode that the colour belongs to, -1 for none.
template <class Int>
REGIONS_LANES Int evidence(const BasicModel<Int>& model, const BasicColor<Int>& color,
                           const ModelPlan& plan, Int& match) {
  Int least = 2 * plan.threshold, closest = plan.match;
  match = -1;
  // From the threshold on the cost is at least 2 * threshold.
  const Int limit = plan.match < plan.threshold ? plan.threshold : plan.match;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    const BasicMode<Int>& mode = model.mode[k];
    const Truth<Int> exists = mode.weight != 0;
    const Int d2 = distance2(mode, color, limit);
    const Truth<Int> closer = exists & (d2 < closest);
    match = pick(closer, Int(k), match);
    closest = pick(closer, d2, closest);
    const Truth<Int> near = exists & (d2 < plan.threshold);
    if (!any(near)) continue;
    const Int cost = d2 * (kNat / 32) + doubt(mode.weight, 2 * plan.threshold);
    least = pick(near, smaller(cost, least), least);
  }
  return least - plan.threshold;
}

// Of one pixel, only the modes that it is near, mostly one, are visited: threads whose pixels are
// near different ones divide together.
template <>
REGIONS_LANES int32_t evidence(const Model& model, const Color& color, const ModelPlan& plan,
                               int32_t& match) {
  int32_t least = 2 * plan.threshold, closest = plan.match;
  match = -1;
  const int32_t limit = larger(plan.match, plan.threshold);
  Offset<int32_t> offset[Model::kModes] = {};
  bool visits[Model::kModes] = {};
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (model.mode[k].weight == 0) continue;
    offset[k] = Offset<int32_t>::of(color, model.mode[k]);
    visits[k] = offset[k].is_near(model.mode[k], limit);
  }
  static_assert(Model::kModes == 3);
  while (visits[0] | visits[1] | visits[2]) {
    const int k = visits[0] ? 0 : visits[1] ? 1 : 2;
    Mode mode = model.mode[2];
    Offset<int32_t> from = offset[2];
    REGIONS_UNROLL
    for (int other = 0; other < 2; ++other) {
      mode = pick<int32_t>(k == other, model.mode[other], mode);
      from = {pick(k == other, offset[other].luma, from.luma),
              pick(k == other, offset[other].chroma, from.chroma)};
    }
    visits[2] = visits[2] & (k != 2);
    visits[1] = visits[1] & (k != 1);
    visits[0] = false;
    const int32_t d2 = from.distance2(mode, true);
    if (d2 < closest) {
      match = k;
      closest = d2;
    }
    if (d2 >= plan.threshold) continue;
    least = smaller(least, d2 * (kNat / 32) + doubt(mode.weight, 2 * plan.threshold));
  }
  return least - plan.threshold;
}

template <class Int>
REGIONS_LANES BasicMode<Int> new_mode(const BasicColor<Int>& color, const Int& weight) {
  BasicMode<Int> mode;
  mode.weight = weight;
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) mode.mean[c] = color[c] << Mode::kMeanShift;
  mode.var_luma = Variances::kFirstLuma;
  mode.var_chroma = Variances::kFirstChroma;
  return mode;
}

// What a colour changes of the modes that are there.
template <class Int>
struct Lesson {
  Int match;  // the number of the mode that it belongs to, -1 for none
  Truth<Int> learns;
  Int alpha, dither;

  // `weight`: of its mode, 0 for none.
  REGIONS_LANES static Lesson of(const Int& match, const Int& weight, const Truth<Int>& foreground,
                                 const ModelPlan& plan, const Int& pixel) {
    const Truth<Int> known = weight >= kUpperShare;
    // Something that looks like the background passes before it: nothing is learnt of either.
    return {
        match, !(foreground & known),
        pick(foreground, Int(plan.alpha_slow), pick(known, Int(plan.alpha), Int(plan.alpha_fast))),
        hash(pixel, plan.frame)};
  }
  REGIONS_LANES Truth<Int> visits(int k) const { return learns & (match == k); }
  // The weight of mode k with this frame.
  REGIONS_LANES Int share(const Int& weight, int k) const {
    const Int target = pick(match == k, Int(Mode::kWhole), Int(0));
    return pick(learns, approach_share<Int>(weight, target, alpha, dither >> (4 * k)), weight);
  }
};

// A colour joins its mode where it `visits` that. A variance starts from what is usual and counts
// for some frames.
template <class Int>
REGIONS_LANES void join(BasicMode<Int>& mode, const Truth<Int>& visits,
                        const BasicColor<Int>& color, const Lesson<Int>& lesson, int least_rate) {
  constexpr int kOne = 4096;
  const Int per_visit = small_quotient(lesson.alpha * (kOne >> 4), (mode.weight >> 4) + 1);
  const Int rate = within<Int>(per_visit, least_rate, kOne);
  const Int var_rate = smaller(rate, Int(kOne / 16));
  Int square[3];
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) {
    const Int value = color[c] << Mode::kMeanShift;
    const Int d = (value - mode.mean[c]) >> (Mode::kMeanShift - 4);
    square[c] = d * d >> 4;
    const Int mean = approach<Int>(mode.mean[c], value, rate, lesson.dither >> c);
    mode.mean[c] = pick(visits, mean, mode.mean[c]);
  }
  const Int luma = approach<Int>(mode.var_luma, square[0], var_rate, lesson.dither >> 4);
  const Int chroma =
      approach<Int>(mode.var_chroma, (square[1] + square[2]) >> 1, var_rate, lesson.dither >> 6);
  mode.var_luma =
      pick(visits, within<Int>(luma, Variances::kLeastLuma, Variances::kMost), mode.var_luma);
  mode.var_chroma =
      pick(visits, within<Int>(chroma, Variances::kLeastChroma, Variances::kMost), mode.var_chroma);
}

// Learns one frame's colour. `foreground`: what the cut made of the pixel; `pixel` numbers it.
template <class Int>
REGIONS_LANES void learn(BasicModel<Int>& model, const BasicColor<Int>& color,
                         const Truth<Int>& foreground, const ModelPlan& plan, const Int& pixel) {
  if (plan.starts) {
    model = BasicModel<Int>();
    model.mode[0] = new_mode(color, Int(Mode::kWhole));
    return;
  }
  model.relight(plan.light);
  Int match = -1, least = plan.match, weight = 0;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    const BasicMode<Int>& mode = model.mode[k];
    const Truth<Int> exists = mode.weight != 0;
    const Int d2 = distance2(mode, color, least);
    const Truth<Int> nearest = exists & (d2 < least);
    match = pick(nearest, Int(k), match);
    weight = pick(nearest, mode.weight, weight);
    least = pick(nearest, d2, least);
  }
  const auto lesson = Lesson<Int>::of(match, weight, foreground, plan, pixel);
  if (!any(lesson.learns)) return;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    BasicMode<Int>& mode = model.mode[k];
    mode.weight = lesson.share(mode.weight, k);
    if (any(lesson.visits(k))) join(mode, lesson.visits(k), color, lesson, plan.rate);
  }
  const Truth<Int> is_new = lesson.learns & (match < 0);
  if (!any(is_new)) return;
  const BasicMode<Int> fresh = new_mode(color, within<Int>(lesson.alpha, 0, 65535));
  const Int place = model.lightest();
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    const Truth<Int> here = is_new & (place == k);
    model.mode[k] = pick<Int>(here, fresh, model.mode[k]);
    model.may_exist[k] = model.may_exist[k] | any(here);
  }
}

}  // namespace regions::graphcut
