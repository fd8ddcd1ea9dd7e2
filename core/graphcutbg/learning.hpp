// What a model learns of its pixel's colour, alike on every backend; the cut's mask steers it.
#pragma once

#include "core/graphcutbg/evidence.hpp"

namespace regions::graphcut {

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
      pick(visits, within<Int>(luma, Variances::kMinLuma, Variances::kMax), mode.var_luma);
  mode.var_chroma =
      pick(visits, within<Int>(chroma, Variances::kMinChroma, Variances::kMax), mode.var_chroma);
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
