// The energy of a frame: what a pixel's evidence and a pair of neighbours are worth to the cut.
#pragma once

#include "core/graphcutbg/graphcutbg.hpp"
#include "core/graphcutbg/mask.hpp"
#include "core/graphcutbg/scene.hpp"

namespace regions::graphcut {

// More than all links of a pixel: its label is certain. With them it stays below 2^15, so that
// solvers may hold 16 bits: 4 * 2048 + 4 * 1448 < kSure, and twice kSure < 32768.
inline constexpr int kSure = 14000;
// What a pixel's evidence and links together never exceed.
inline constexpr int kMaxWeight = 2 * kSure;

// What a border costs whatever the contrast, of lambda: noise stands out on all sides, so contrast
// alone would leave its specks. With the default lambda and var-threshold a line of a pixel's width
// costs 5.3 nats a pixel, and its evidence may be 6: it stays from 8 pixels on. Masks that come
// with the frame have no such noise, and are refined along every edge.
inline constexpr double kLinkFloor = 0.12;

// What the parameters say of the energy; small enough to travel by value.
struct EnergyPlan {
  uint16_t link[kLinkEntries + 1] = {};  // lambda * max(exp(-i / kLinkSteps), floor), units
  int shadow = 0;                        // of 256
  int darkest = 0;                       // of 256
  int mask_foreground = 256, mask_background = -1;
  MaskScale mask_scale;
  bool uses_image = true;
  bool uses_mask = false;
  bool uses_colors = false;

  // Boykov and Jolly 2001: links between alike neighbours are strong. `diagonal`: by distance.
  REGIONS_HD int link_for(int step, bool diagonal) const {
    return diagonal ? link[step] * 181 >> 8 : link[step];
  }
};

// The contrast between two neighbours that the cut may follow: an edge that the background has at
// the same place is none of the foreground's (Sun et al., Background Cut, 2006).
template <class Int>
REGIONS_LANES Int edge2(const BasicColor<Int>& a, const BasicColor<Int>& b,
                        const BasicColor<Int>& background_a, const BasicColor<Int>& background_b) {
  const Int now = contrast2(a, b);
  const Int dy = (a.y - b.y) - (background_a.y - background_b.y);
  const Int du = (a.u - b.u) - (background_a.u - background_b.u);
  const Int dv = (a.v - b.v) - (background_a.v - background_b.v);
  const Int moved = dy * dy + du * du + dv * dv;
  return smaller(moved, now);
}

// A shadow keeps the background's hue and texture and loses brightness; its evidence shrinks
// towards what chroma and texture say, and down to kShadowMost against the foreground, which
// neighbours easily outweigh.
inline constexpr int kShadowMost = kNat;
// What a squared level off the texture counts, of 1/16 variances of 1/16: 256, were neighbours
// independent, but they share the pixel's own noise, and shadows have soft borders. Of the
// composites' soft shadows F is .955 at 64 and .978 at 10, of camouflage .815 and .810.
inline constexpr int kTextureScale = 10;
// Whether anything but the model has a say in this evidence.
template <class Int>
REGIONS_LANES Truth<Int> is_in_doubt(const Int& evidence) {
  return evidence > -kShadowMost;
}
// shading_error(ratio): squared levels below 2^18, only asked where there may be a shadow.
template <class Int, class Error>
REGIONS_LANES Int without_shadow(const Int& evidence, const BasicColor<Int>& now,
                                 const BasicMode<Int>& background, const EnergyPlan& plan,
                                 Error shading_error) {
  const Int lit = background.mean[0] >> Mode::kMeanShift;
  const Truth<Int> darker =
      is_in_doubt(evidence) & (now.y < lit) & (now.y * 256 >= lit * plan.darkest);
  if (plan.shadow == 0 || !any(darker)) return evidence;
  const Int ratio = small_quotient(now.y << 8, lit);
  Int square = 0;
  REGIONS_UNROLL
  for (int c = 1; c < 3; ++c) {
    const Int expected = ((background.mean[c] - (128 << Mode::kMeanShift)) >> 4) * ratio >> 8;
    const Int d = ((now[c] - 128) << 4) - expected;  // of 1/16 levels
    square = square + d * d;
  }
  constexpr int kMax = 1 << 14;                                                    // another hue
  const Int d2 = smaller(quotient(square, background.var_chroma), Int(kMax + 1));  // of 1/16
  const Truth<Int> of_hue = darker & !(d2 > kMax) & (d2 * (kNat / 32) - kShadowMost < evidence);
  if (!any(of_hue)) return evidence;  // whatever the texture
  const Int texture = small_quotient(shading_error(ratio) * kTextureScale, background.var_luma);
  const Int remains = (d2 + texture) * (kNat / 32) - kShadowMost;
  const Truth<Int> less = of_hue & (remains < evidence);
  // Negative, and rounded towards zero.
  return pick(less, evidence + (((remains - evidence) * plan.shadow + 255) >> 8), evidence);
}

// Evidence of an attached mask: sure at the ends, graded between.
REGIONS_HD inline int mask_evidence(int value, int threshold, const EnergyPlan& plan) {
  if (value >= plan.mask_foreground) return kSure;
  if (value <= plan.mask_background) return -kSure;
  return (2 * value - 255) * threshold / 255;
}

ScenePlan scene_plan_of(const GraphCutBgParams& params);
// `mask`: size of the mask that came with the frame.
EnergyPlan energy_plan_of(const GraphCutBgParams& params, Size size, Size mask = {});

}  // namespace regions::graphcut
