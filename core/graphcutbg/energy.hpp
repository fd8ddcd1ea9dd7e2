// The energy of a frame, which the minimum cut minimises: terminal weights (evidence of each pixel)
// and link weights (similarity of neighbours). Evidence also considers attached masks, shadows and
// moving background. This file also contains the match cache.
#pragma once

#include "core/graphcutbg/graphcutbg.hpp"
#include "core/graphcutbg/label_history.hpp"

namespace regions::graphcutbg {

// Distance between neighbouring pixels of the frame, measured in pixels of the attached mask, in
// units of 2^-32.
struct MaskScale {
  uint64_t across = 0, down = 0;

  static MaskScale between(Size mask, Size frame) {
    const auto step = [](int from, int to) {
      return (static_cast<uint64_t>(from) << 32) / static_cast<uint64_t>(to);
    };
    return {step(mask.width, frame.width), step(mask.height, frame.height)};
  }
};

// Position of frame pixel n between two neighbouring mask pixels along one axis, measured at pixel
// centres. The mask has `count` pixels along the axis. Masks are interpolated, so that the edge of
// a coarse mask becomes uncertain and the cut finds the edge in the picture.
struct MaskPosition {
  int first, second;  // indices of the two mask pixels
  int part;           // weight of the second pixel, 1/256

  REGIONS_HD MaskPosition(int n, uint64_t step, int count) {
    // The value is at most 2^48, because sides are below 2^16.
    const auto middle = static_cast<int64_t>(static_cast<uint64_t>(n) * step + step / 2);
    const int64_t at = (middle - (int64_t{1} << 31)) >> 24;
    const auto before = static_cast<int>(at >> 8);
    part = static_cast<int>(at & 255);
    first = before < 0 ? 0 : before;
    second = before + 1 < count ? before + 1 : count - 1;
  }
};

// Value of a mask pixel, 0..255. Labels other than 0 count as 255.
REGIONS_HD inline int mask_pixel(const ConstFrame& mask, int x, int y) {
  const int value = mask.sample(0, x, y);
  if (mask.layout.sample_bytes == 2) return value >> 8;
  if (mask.layout.sample_bytes == 1) return value;
  const std::byte* label = mask.at(0, x, y);
  return label[0] != std::byte{} || label[1] != std::byte{} || label[2] != std::byte{} ||
                 label[3] != std::byte{}
             ? 255
             : 0;
}

// An attached mask at one pixel of the frame.
struct MaskValue {
  int value;       // interpolated, 0..255
  bool is_graded;  // a mask pixel that contributes is neither 0 nor 255
};

// The attached mask at pixel (x, y) of the frame.
REGIONS_HD inline MaskValue mask_value(const ConstFrame& mask, const MaskScale& scale, int x,
                                       int y) {
  const MaskPosition u(x, scale.across, mask.width), v(y, scale.down, mask.height);
  bool is_graded = false;
  const auto interpolate_row = [&](int row, int weight) {
    const int left = mask_pixel(mask, u.first, row), right = mask_pixel(mask, u.second, row);
    const auto is_between = [](int value) { return value > 0 && value < 255; };
    if (weight > 0 && (is_between(left) || (u.part > 0 && is_between(right)))) is_graded = true;
    return left * 256 + (right - left) * u.part;
  };
  const int upper = interpolate_row(v.first, 256 - v.part);
  const int lower = interpolate_row(v.second, v.part);
  return {(upper * 256 + (lower - upper) * v.part + (1 << 15)) >> 16, is_graded};
}

// The terminal weight of a pixel whose label is certain. It exceeds the sum of all links of a
// pixel: 4 * 2048 + 4 * 1448 < kCertainWeight. With the links it stays below 2^15, so that solvers
// may use 16 bits: 2 * kCertainWeight < 32768.
inline constexpr int kCertainWeight = 14000;
// Upper bound of the terminal weight of a pixel plus its links.
inline constexpr int kMaxWeight = 2 * kCertainWeight;

// Minimum link weight at any contrast (fraction of lambda). Isolated noise has contrast on all
// sides, so links that only depend on contrast would not remove it. With the default lambda and
// var-threshold, a line of one pixel's width costs 5.3 nats per pixel and has up to 6 nats of
// evidence, so it remains foreground if it is at least 8 pixels long. Attached masks do not have
// such noise, so this minimum is not used for source=mask.
inline constexpr double kMinLinkFraction = 0.12;

// Energy settings derived from the parameters. Small enough to pass by value.
struct EnergyPlan {
  // [step], link weight: lambda * max(exp(-step / kLinkSteps), minimum), units
  uint16_t lambda_table[kLinkEntries + 1] = {};
  int shadow = 0;              // property `shadow`, 1/256
  int shadow_darkest = 0;      // property `shadow-darkest`, 1/256
  int mask_foreground = 256;   // mask values of at least this are certain foreground
  int mask_background = -1;    // mask values of at most this are certain background
  int full_mask_evidence = 0;  // evidence of the mask value 255, units
  MaskScale mask_scale;
  bool uses_image = true;               // the background model gives evidence
  bool uses_mask = false;               // an attached mask gives evidence
  bool uses_foreground_colors = false;  // the colour histograms give evidence

  // The weight of a link for an index from link_step(). Links between similar neighbours are strong
  // (Boykov and Jolly 2001). Diagonal links are divided by their length.
  REGIONS_HD int link_for(int step, bool diagonal) const {
    return diagonal ? lambda_table[step] * 181 >> 8 : lambda_table[step];
  }
};

// Squared contrast between two neighbouring pixels. An edge that the background has at the same
// position is subtracted, because it is not an edge of the foreground (Sun et al., Background Cut,
// 2006).
template <class Int>
REGIONS_LANES Int squared_edge_contrast(const BasicColor<Int>& a, const BasicColor<Int>& b,
                                        const BasicColor<Int>& background_a,
                                        const BasicColor<Int>& background_b) {
  const Int now = squared_contrast(a, b);
  const Int dy = (a.y - b.y) - (background_a.y - background_b.y);
  const Int du = (a.u - b.u) - (background_a.u - background_b.u);
  const Int dv = (a.v - b.v) - (background_a.v - background_b.v);
  const Int moved = dy * dy + du * du + dv * dv;
  return smaller(moved, now);
}

// Shadows keep the hue and texture of the background, but are darker. For pixels that look like
// this, the evidence is reduced to that of chroma and texture only, but not below
// -kMaxShadowEvidence, which neighbours can easily outweigh.
inline constexpr int kMaxShadowEvidence = kUnitsPerNat;
// Factor that converts a squared texture difference, divided by a stored variance, to 1/16
// variances. It would be 256 if the noise of neighbours were independent, but all differences share
// the pixel's own noise, and shadows have soft borders. F-measure for the values 64 and 10: .955
// and .978 on composites with soft shadows, .815 and .810 on camouflage.
inline constexpr int kTextureScale = 10;
// Darker backgrounds have no shadows, because no light is left that an object could block.
inline constexpr int kMinShadowedLuma = 48;
// Reduces the evidence of pixels that look like a shadow. strength_of(shadow) returns the share of
// the evidence that is removed from these pixels, 1/256. shading_error(ratio) returns the texture
// difference in squared levels, below 2^18. Both are only called for pixels that may be in a
// shadow.
template <class Int, class Strength, class Error>
REGIONS_LANES Int suppress_shadow(const Int& evidence, const BasicColor<Int>& now,
                                  const BasicMode<Int>& background, int darkest,
                                  Strength strength_of, Error shading_error) {
  const Int background_luma = background.mean[0] >> Mode::kMeanShift;
  const LaneBool<Int> darker = (evidence > -kMaxShadowEvidence) & (now.y < background_luma) &
                               (background_luma >= kMinShadowedLuma) &
                               (now.y * 256 >= background_luma * darkest);
  if (!any(darker)) return evidence;
  const Int ratio = small_quotient(now.y << 8, background_luma);
  Int square = 0;
  REGIONS_UNROLL
  for (int c = 1; c < 3; ++c) {
    const Int expected = ((background.mean[c] - (128 << Mode::kMeanShift)) >> 4) * ratio >> 8;
    const Int d = ((now[c] - 128) << 4) - expected;  // 1/16 levels
    square = square + d * d;
  }
  // Maximum squared difference of chroma, 1/16 variances. A pixel with a larger difference has
  // another hue than the background.
  constexpr int kMax = 1 << 14;
  const Int d2 = smaller(quotient(square, background.var_chroma), Int(kMax + 1));  // 1/16 variances
  const LaneBool<Int> keeps_hue =
      darker & !(d2 > kMax) & (d2 * (kUnitsPerNat / 32) - kMaxShadowEvidence < evidence);
  if (!any(keeps_hue)) return evidence;  // no pixel is a shadow, whatever its texture is
  const Int texture = small_quotient(shading_error(ratio) * kTextureScale, background.var_luma);
  const Int remaining_evidence = (d2 + texture) * (kUnitsPerNat / 32) - kMaxShadowEvidence;
  const LaneBool<Int> is_reduced = keeps_hue & (remaining_evidence < evidence);
  if (!any(is_reduced)) return evidence;
  const Int strength = strength_of(is_reduced);
  // The difference is negative. Adding 255 rounds it towards zero.
  return select(is_reduced, evidence + (((remaining_evidence - evidence) * strength + 255) >> 8),
                evidence);
}

// Headlights brighten a dark background. Beams and halos keep its hue and texture, and are not
// foreground. For pixels that look like this, the evidence is reduced to that of chroma and
// texture. shading_error(256, rise) returns the texture difference in squared levels. It is
// measured relative to the rise in brightness, because the brightness of a beam changes from pixel
// to pixel.
template <class Int, class Error>
REGIONS_LANES Int suppress_beam(const Int& evidence, const BasicColor<Int>& now,
                                const BasicMode<Int>& background, Error shading_error) {
  constexpr int kMaxDark = 63, kMaxBeam = 199;  // lumas; lamps are brighter than beams
  const Int background_luma = background.mean[0] >> Mode::kMeanShift;
  const Int rise = now.y - background_luma;
  const LaneBool<Int> brighter =
      (evidence > 0) & (rise > 0) & (background_luma < kMaxDark + 1) & (now.y < kMaxBeam + 1);
  if (!any(brighter)) return evidence;
  Int square = 0;
  REGIONS_UNROLL
  for (int c = 1; c < 3; ++c) {
    const Int d = (now[c] << 4) - (background.mean[c] >> 4);  // 1/16 levels
    square = square + d * d;
  }
  constexpr int kMax = 1 << 14;  // maximum squared difference of chroma, 1/16 variances
  const Int d2 = smaller(quotient(square, background.var_chroma), Int(kMax));
  const LaneBool<Int> keeps_hue =
      brighter & (d2 * (kUnitsPerNat / 32) - kMaxShadowEvidence < evidence);
  if (!any(keeps_hue)) return evidence;
  const Int error = smaller(shading_error(Int(256), rise), Int((1 << 24) / kTextureScale));
  const Int texture = small_quotient(error * kTextureScale, background.var_luma + rise * rise);
  const Int remaining_evidence = (d2 + texture) * (kUnitsPerNat / 32) - kMaxShadowEvidence;
  return select(keeps_hue & (remaining_evidence < evidence), remaining_evidence, evidence);
}

// Factor of the evidence of graded masks. Intersection over union of 24 pictures without refinement
// and with the factors 1, 2, 3 and 4: masks whose outline is wrong by some pixels .922, .955, .951,
// .947, .943; masks that are wrong by at most one pixel .998, .974, .983, .987, .990
// (bench/peers/mask_refinement.py, seeds 1 to 24, 2026-11-28).
inline constexpr int kGradedWeight = 3;
// Factor of the evidence of colours with source=mask. Intersection over union of the same pictures
// without colours and with the factors 1 and 2: eroded masks .752, .788, .839; shifted masks .882,
// .896, .911.
inline constexpr int kMaskColorWeight = 2;

// Evidence from an attached mask: certain at both ends of the range of values, and linear between
// them. The values of a graded mask say how sure the mask is, so they count kGradedWeight times as
// much as values that were interpolated between 0 and 255.
REGIONS_HD inline int mask_evidence(const MaskValue& mask, const EnergyPlan& plan) {
  if (mask.value >= plan.mask_foreground) return kCertainWeight;
  if (mask.value <= plan.mask_background) return -kCertainWeight;
  const int weight = mask.is_graded ? kGradedWeight : 1;
  return clamp((2 * mask.value - 255) * plan.full_mask_evidence * weight / 255, 1 - kCertainWeight,
               kCertainWeight - 1);
}

// The part of a frame's plan that the parameters determine; plan_frame() completes it.
FramePlan frame_plan_of(const GraphCutBgParams& params, bool has_chroma = true);
// `size` is the size of the frames, and `mask` is the size of the attached mask.
EnergyPlan energy_plan_of(const GraphCutBgParams& params, Size size, Size mask = {});

// False for pixels that the exclusion picture marks as always background.
REGIONS_HD inline bool is_included(const ModelArrays& arrays, int x, int y) {
  return !(arrays.excluded && arrays.excluded[arrays.at(x, y)]);
}

// Reduces the evidence of jitter. Background that moves a little, such as leaves, shows colours of
// nearby pixels (Elgammal et al. 2000). If the background up to kMaxDistance pixels to the left,
// right, top or bottom has the pixel's colour, the evidence becomes zero; for similar colours it is
// reduced. It never becomes negative. Mixtures of this colour and of the pixel's own background
// colour count, too, because a camera may move by a fraction of a pixel. Such pixels are excused.
// In calm cells they are only counted, because they are then parts of objects that resemble the
// background. For SIMD lanes, kMaxDistance pixels on both sides of all lanes must be inside the
// picture. At last, the evidence is limited if none of these pixels was foreground in the last
// frame and the picture sparkles. add(address, amount) must be atomic if several threads call this
// function.
inline constexpr int kMaxDistance = 2;  // pixels
template <class Int, class Add>
REGIONS_LANES Int suppress_jitter(const Int& given, const ModelArrays& arrays,
                                  const FramePlan& frame, const BasicMode<Int>& mode, int x, int y,
                                  Add add) {
  const auto now = BasicColor<Int>::load(arrays.current + arrays.at(x, y));
  BasicMode<Int> moved = mode;
  Int word;
  read_words(arrays.background + arrays.at(x, y), word);
  Int around = word, evidence = given;
  for (int k = 0; k < 4 * kMaxDistance && any(evidence > 0); ++k) {
    const int distance = k / 4 + 1;
    const int x2 = x + (k % 4 == 0 ? distance : k % 4 == 1 ? -distance : 0);
    const int y2 = y + (k % 4 == 2 ? distance : k % 4 == 3 ? -distance : 0);
    if (x2 < 0 || y2 < 0 || x2 >= arrays.width || y2 >= arrays.height) continue;
    read_words(arrays.background + arrays.at(x2, y2), word);
    around = around | word;
    const auto moved_background = apply_illumination(BasicColor<Int>::unpacked(word), frame.light);
    REGIONS_UNROLL
    for (int c = 0; c < 3; ++c) {
      const Int end = moved_background[c] << Mode::kMeanShift;
      moved.mean[c] = clamp<Int>(now[c] << Mode::kMeanShift, smaller(mode.mean[c], end),
                                 larger(mode.mean[c], end));
    }
    const Int cost = squared_distance(moved, now, Int(frame.var_threshold), frame.has_chroma) *
                     (kUnitsPerNat / 32);
    evidence = smaller(cost, evidence);
  }
  // Where the evidence is zero, the loop has ended early and `around` is not complete.
  const LaneBool<Int> is_new =
      (evidence > 0) & (!BasicLabelHistory<Int>::of_background(around).was_foreground());
  const LaneBool<Int> is_reduced = evidence < given;
  if (any(is_reduced)) {
    count_excused<Int>(arrays, frame, is_reduced & (evidence * 2 < given), x, y, add);
    evidence = select(is_calm<Int>(arrays, x, y), given, evidence);
  }
  if (any(is_new)) evidence = limit_sparkle(evidence, is_new, arrays, frame, x, y);
  return evidence;
}

// Measures how much the texture differs from that of the background in a shadow or in a beam of
// light. A shadow dims all its pixels by the same factor, and a beam brightens them by the same
// levels. So neighbours should have `ratio` / 256 of the background's
// brightness, plus `rise`. On each axis, the error is measured for the kMaxDistance pixels on
// either side of the pixel. Only the smaller error counts, because the border of the shadow may
// cross the other side.
struct ShadingError {
  const ModelArrays& arrays;
  const FramePlan& frame;
  int x, y;

  // Returns squared levels, below 2^18.
  template <class Int>
  REGIONS_LANES Int operator()(const Int& ratio, const Int& rise = Int(0)) const {
    return axis(ratio, rise, 1, 0) + axis(ratio, rise, 0, 1);
  }

 private:
  template <class Int>
  REGIONS_LANES Int axis(const Int& ratio, const Int& rise, int dx, int dy) const {
    const bool before = x >= kMaxDistance * dx && y >= kMaxDistance * dy;
    const bool after =
        x + kMaxDistance * dx < arrays.width && y + kMaxDistance * dy < arrays.height;
    if (before && after) return smaller(arm(ratio, rise, -dx, -dy), arm(ratio, rise, dx, dy));
    if (before) return arm(ratio, rise, -dx, -dy);
    return after ? arm(ratio, rise, dx, dy) : Int(0);
  }
  template <class Int>
  REGIONS_LANES Int arm(const Int& ratio, const Int& rise, int dx, int dy) const {
    Int error = 0;
    for (int distance = 1; distance <= kMaxDistance; ++distance) {
      const size_t i = arrays.at(x + distance * dx, y + distance * dy);
      const auto background =
          apply_illumination(BasicColor<Int>::load(arrays.background + i), frame.light);
      const Int d =
          BasicColor<Int>::load(arrays.current + i).y - (background.y * ratio >> 8) - rise;
      error = error + d * d;
    }
    return error;
  }
};

// True if the texture around pixel (x, y) is that of the background. A shadow keeps the texture,
// and an object hides it (Sanin, Sanderson and Lovell, Shadow detection: a survey, Pattern
// Recognition 45(4), 2012). The pixels of a grid are compared with their neighbours in the grid.
// Where the background has no texture, the differences are not correlated.
REGIONS_RARE bool keeps_texture(const ModelArrays& arrays, int x, int y) {
  constexpr int kStep = 3, kSide = 5;  // of the grid
  constexpr int kMost = 8;             // levels; larger differences are borders and count as much
  int columns[kSide];
  for (int i = 0; i < kSide; ++i) {
    columns[i] = clamp(x + (i - kSide / 2) * kStep, 0, arrays.width - 1);
  }
  int both = 0, frame = 0, background = 0;  // sums of products, below 2^12
  int now_above[kSide], was_above[kSide];
  for (int i = 0; i < kSide; ++i) {
    const int row = clamp(y + (i - kSide / 2) * kStep, 0, arrays.height - 1);
    int now_left = 0, was_left = 0;
    for (int k = 0; k < kSide; ++k) {
      const size_t at = arrays.at(columns[k], row);
      const int now = Color::load(arrays.current + at).y;
      const int was = Color::load(arrays.background + at).y;
      const auto compare = [&](int other_now, int other_was) {
        const int now_differs = clamp(now - other_now, -kMost, kMost);
        const int was_differs = clamp(was - other_was, -kMost, kMost);
        both += now_differs * was_differs;
        frame += now_differs * now_differs;
        background += was_differs * was_differs;
      };
      if (k > 0) compare(now_left, was_left);
      if (i > 0) compare(now_above[k], was_above[k]);
      now_left = now_above[k] = now;
      was_left = was_above[k] = was;
    }
  }
  return both > 0 && both * both * 3 >= frame * background;  // the squared correlation, 1/3
}

// The strength of the shadow rule for the pixels from (x, y) on, 1/256: `kept` where the texture is
// kept and the lane of `is_open` is true, otherwise `lost`. Four pixels of a row share a decision,
// because deciding takes long.
template <class Int>
REGIONS_LANES Int strength_by_texture(const ModelArrays& arrays, const LaneBool<Int>& is_open,
                                      int kept, int lost, int x, int y) {
  if (!any(is_open)) return lost;
  constexpr int kLanes = static_cast<int>(sizeof(Int) / sizeof(int32_t)), kShared = 4;
  uint32_t strength[kLanes];
  write_words(strength, select(is_open, Int(1), Int(0)));
  int decided = -1;  // the pixels for which `is_kept` was decided
  bool is_kept = false;
  for (int k = 0; k < kLanes; ++k) {
    const int shared = (x + k) / kShared;
    if (strength[k] && shared != decided) {
      decided = shared;
      is_kept = keeps_texture(arrays, shared * kShared + kShared / 2, y);
    }
    strength[k] = static_cast<uint32_t>(strength[k] && is_kept ? kept : lost);
  }
  Int lanes;
  read_words(strength, lanes);
  return lanes;
}

// Evidence from the background model for the pixels from index i on, in units. `match` receives the
// matched modes; see evidence().
template <class Int>
REGIONS_LANES Int model_evidence(const ModelArrays& arrays, const FramePlan& frame, size_t i,
                                 Int& match) {
  if (frame.starts) return -frame.var_threshold;
  auto model = BasicModel<Int>::load(arrays.model + i, arrays.model_plane(), frame.has_chroma);
  model.apply_light(frame.light);
  return evidence(model, BasicColor<Int>::load(arrays.current + i), frame, match);
}

// Reduces the evidence of jitter, beams and shadows for the pixels from (x, y) on, whose colours
// are `now`.
template <class Int, class Add>
REGIONS_LANES Int suppress_background(Int evidence, const BasicColor<Int>& now,
                                      const ModelArrays& arrays, const FramePlan& frame,
                                      const EnergyPlan& plan, int x, int y, Add add) {
  const size_t i = arrays.at(x, y);
  auto model = BasicModel<Int>::load(arrays.model + i, arrays.model_plane(), frame.has_chroma);
  model.apply_light(frame.light);
  const BasicMode<Int> heaviest = model.heaviest();
  if (any(evidence > 0)) evidence = suppress_jitter(evidence, arrays, frame, heaviest, x, y, add);
  if (frame.is_night) {
    evidence = suppress_beam(evidence, now, heaviest, ShadingError{arrays, frame, x, y});
  }
  if (plan.shadow == 0) return evidence;
  const auto shadow = [&](const LaneBool<Int>& is_shadow) -> Int {
    const int by_hue = plan.shadow * frame.colorfulness >> 8;
    if (frame.colorfulness == 256) return by_hue;
    // Where hue does not justify the rule, texture must.
    return strength_by_texture<Int>(arrays, is_shadow & (evidence > 0), plan.shadow, by_hue, x, y);
  };
  return suppress_shadow(evidence, now, heaviest, plan.shadow_darkest, shadow,
                         ShadingError{arrays, frame, x, y});
}

// Refines the model's evidence for the pixels from (x, y) on: adds the evidence of colour
// histograms, reduces that of jitter and shadows, and weights the result. suppress_jitter() states
// when several pixels may be refined at once.
template <class Int, class Add>
REGIONS_LANES Int refine_evidence(Int evidence, const ModelArrays& arrays, const FramePlan& frame,
                                  const EnergyPlan& plan, int x, int y, Add add) {
  if (!frame.starts) {
    const auto now = BasicColor<Int>::load(arrays.current + arrays.at(x, y));
    if (plan.uses_foreground_colors)
      evidence = evidence + look_up(arrays.colors->bias, ColorHistograms::bin_of(now));
    // In pictures without colour, the rules only reduce positive evidence.
    const int least = frame.colorfulness > 0 ? -kMaxShadowEvidence : 0;
    if (any(evidence > least))
      evidence = suppress_background(evidence, now, arrays, frame, plan, x, y, add);
  }
  return evidence * frame.evidence_gain >> 8;
}

// The match cache: stores the matched mode and the history of a pixel in the upper byte of its
// colour word. Bits 24 to 26 are 0 if the mode is unknown, 1 if no mode matches, and k + 2 for mode
// k. So update_matched_modes() need not search for the mode again, and accesses only the weights of
// the other modes.
template <class Int>
REGIONS_LANES void store_match(const ModelArrays& arrays, const FramePlan& frame, size_t i,
                               const Int& match) {
  using History = BasicLabelHistory<Int>;
  Int word, background;
  read_words(arrays.current + i, word);
  read_words(arrays.background + i, background);
  const Int history = frame.starts ? Int(0) : History::of_background(background).bits;
  write_words(arrays.current + i,
              (word & 0xFFFFFF) | (match + 2) << 24 | history << History::kCurrentShift);
}

// True if the outline of the last frame's foreground is measured.
REGIONS_HD inline bool measures_outline(const FramePlan& frame, const EnergyPlan& plan) {
  return frame.learns && !frame.starts && plan.uses_image;
}

// Terminal weight of pixel (x, y): the evidence that it is foreground, in units. `add` is that of
// suppress_jitter().
template <class Add>
REGIONS_HD int terminal_at(const ModelArrays& arrays, const ConstFrame& mask,
                           const FramePlan& frame, const EnergyPlan& plan, int x, int y, Add add) {
  if (!is_included(arrays, x, y)) return -kCertainWeight;
  int32_t match = -2;
  if (plan.uses_mask && !mask.empty()) {
    const MaskValue value = mask_value(mask, plan.mask_scale, x, y);
    const int from_mask = mask_evidence(value, plan);
    const bool is_certain = from_mask == kCertainWeight || from_mask == -kCertainWeight;
    if (!plan.uses_image || is_certain) {
      store_match(arrays, frame, arrays.at(x, y), match);
      if (is_certain || !plan.uses_foreground_colors) return from_mask;
      const auto now = BasicColor<int32_t>::load(arrays.current + arrays.at(x, y));
      const int bias = look_up(arrays.colors->bias, ColorHistograms::bin_of(now));
      return clamp(from_mask + kMaskColorWeight * bias, 1 - kCertainWeight, kCertainWeight - 1);
    }
  }
  const auto from_model = model_evidence(arrays, frame, arrays.at(x, y), match);
  store_match(arrays, frame, arrays.at(x, y), match);
  return refine_evidence(from_model, arrays, frame, plan, x, y, add);
}

// The inputs of a link at one of its ends: the colours of the frame and of the background. Covers
// one pixel, or several pixels in SIMD lanes.
template <class Int>
struct EdgeSample {
  BasicColor<Int> current, background;

  REGIONS_LANES static EdgeSample at(const ModelArrays& arrays, const FramePlan& frame, size_t i) {
    return {BasicColor<Int>::load(arrays.current + i),
            apply_illumination(BasicColor<Int>::load(arrays.background + i), frame.light)};
  }
  // Index into EnergyPlan::lambda_table for a pair of neighbours.
  REGIONS_LANES friend Int link_step(const EdgeSample& a, const EdgeSample& b,
                                     const FramePlan& frame, const EnergyPlan& plan) {
    const bool has_background = plan.uses_image && !frame.starts;
    return frame.contrasts.step_of(
        has_background ? squared_edge_contrast(a.current, b.current, a.background, b.background)
                       : squared_contrast(a.current, b.current));
  }
};

// Computes and writes all weights of pixel (x, y). The inputs of all links are read without
// branches, and the inputs of the right and lower link before anything is written. So a GPU has
// many reads in flight at once, which hides their high latency.
template <class Add>
REGIONS_HD void compute_weights(const ModelArrays& arrays, const ConstFrame& mask,
                                const FramePlan& frame, const EnergyPlan& plan, int x, int y,
                                Add add) {
  const size_t i = arrays.at(x, y);
  const auto sample = EdgeSample<int32_t>::at(arrays, frame, i);
  const auto link_to = [&](int dx, int dy) {
    const int x2 = clamp(x + dx, 0, arrays.width - 1), y2 = smaller(y + dy, arrays.height - 1);
    const auto other = EdgeSample<int32_t>::at(arrays, frame, arrays.at(x2, y2));
    const int link = plan.link_for(link_step(sample, other, frame, plan), dx != 0 && dy != 0);
    return x2 == x + dx && y2 == y + dy ? link : 0;
  };
  const int right = link_to(1, 0), down = link_to(0, 1);
  if (arrays.down_right) {
    arrays.down_right[i] = link_to(1, 1);
    arrays.down_left[i] = link_to(-1, 1);
  }
  if (measures_outline(frame, plan)) add_outlines(arrays, frame, x, y, add);
  arrays.terminal[i] = terminal_at(arrays, mask, frame, plan, x, y, add);
  arrays.right[i] = right;
  arrays.down[i] = down;
}

// The share of pixel (x, y) in the capacity of the cut that `mask` defines: its terminal edge, and
// its links to the right, down and diagonally down.
REGIONS_HD inline int64_t cut_value_at(const ModelArrays& arrays, const Image<const uint8_t>& mask,
                                       int x, int y) {
  const size_t i = arrays.at(x, y);
  const bool foreground = mask(x, y) != 0;
  const int32_t t = arrays.terminal[i];
  int64_t value = foreground ? (t < 0 ? -t : 0) : (t > 0 ? t : 0);
  const auto link = [&](const int32_t* capacity, int x2, int y2) {
    if (!capacity || !mask.contains(x2, y2)) return;
    if ((mask(x2, y2) != 0) != foreground) value += capacity[i];
  };
  link(arrays.right, x + 1, y);
  link(arrays.down, x, y + 1);
  link(arrays.down_right, x + 1, y + 1);
  link(arrays.down_left, x - 1, y + 1);
  return value;
}

}  // namespace regions::graphcutbg
