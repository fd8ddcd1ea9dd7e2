// What a pixel's colour says against its model: a log-likelihood ratio for a cut, alike on every
// backend.
#pragma once

#include "core/graphcutbg/model.hpp"

namespace regions::graphcut {

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

}  // namespace regions::graphcut
