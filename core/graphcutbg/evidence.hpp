// What a pixel's colour says against its model: a log-likelihood ratio for a cut, alike on every
// backend.
#pragma once

#include "core/graphcutbg/model.hpp"

namespace regions::graphcut {

// Squared distance from a mode in its own variances, of 1/16; `limit` if it is that or more, which
// is mostly seen without dividing. Limits are below 2^13, variances below 2^16.
template <class Int>
REGIONS_LANES Int distance2(const BasicMode<Int>& mode, const BasicColor<Int>& color,
                            const Int& limit) {
  constexpr int kDrop = Mode::kMeanShift - 4;
  Int d[3];  // of 1/16 levels
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) d[c] = ((color[c] << Mode::kMeanShift) - mode.mean[c]) >> kDrop;
  const Int luma = d[0] * d[0];
  const Int chroma = d[1] * d[1] + d[2] * d[2];
  const Truth<Int> near = (luma < limit * mode.var_luma) & (chroma < limit * mode.var_chroma);
  if (!any(near)) return limit;
  const Int of_chroma = any(near & (chroma > 1 << 24)) ? quotient(chroma, mode.var_chroma)
                                                       : small_quotient(chroma, mode.var_chroma);
  const Int d2 = small_quotient(luma, mode.var_luma) + of_chroma;
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

}  // namespace regions::graphcut
