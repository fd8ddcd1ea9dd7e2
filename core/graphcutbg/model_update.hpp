// The model update after a cut: how a pixel's colour and its label change the background model. All
// backends compute the same bits.
#pragma once

#include "core/graphcutbg/energy.hpp"

namespace regions::graphcutbg {

template <class Int>
REGIONS_LANES Int hash(const Int& a, uint32_t b) {
  // Finaliser of Ellis, "Prospecting for hash functions", 2018.
  const auto other = static_cast<int32_t>((b + 0x7F4A7C15u) * 0x85EBCA77u);
  Int h = wrapped_product(a, static_cast<int32_t>(0x9E3779B1u)) ^ other;
  h = wrapped_product(h ^ upper_bits(h, 15), static_cast<int32_t>(0x2C1B3C6Du));
  h = wrapped_product(h ^ upper_bits(h, 12), static_cast<int32_t>(0x297A2D39u));
  return h ^ upper_bits(h, 15);
}

// Returns value + (target - value) * rate / 2^12. The rounding is dithered, so that low rates have
// an effect. The product stays below 2^31.
template <class Int>
REGIONS_LANES Int approach(const Int& value, const Int& target, const Int& rate,
                           const Int& dither) {
  return value + (((target - value) * rate + (dither & 0xFFF)) >> 12);
}

// Like approach(), for the weight of a mode, with a rate in units of 1/2^16. The two bytes of the
// rate are multiplied separately, so that the products fit in 32 bits.
template <class Int>
REGIONS_LANES Int approach_share(const Int& value, const Int& target, const Int& rate,
                                 const Int& dither) {
  const Int difference = target - value;
  const Int low = difference * (rate & 255) + (dither & 0xFFFF);
  return value + ((difference * (rate >> 8) + (low >> 8)) >> 8);
}

// A new mode with this colour.
template <class Int>
REGIONS_LANES BasicMode<Int> new_mode(const BasicColor<Int>& color, const Int& weight) {
  BasicMode<Int> mode;
  mode.weight = weight;
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) mode.mean[c] = color[c] << Mode::kMeanShift;
  mode.var_luma = Variances::kInitialLuma;
  mode.var_chroma = Variances::kInitialChroma;
  return mode;
}

// Describes how one colour changes the modes of its pixel.
template <class Int>
struct ModelUpdate {
  Int match;             // index of the mode that the colour matches; -1: none
  LaneBool<Int> learns;  // false: the model does not change
  Int alpha;             // weight of this frame, 1/65536
  Int dither;            // pseudo-random bits for dithered rounding

  // `weight` is the weight of the matched mode; 0: no mode matches. `pixel` is the index of the
  // pixel.
  REGIONS_LANES static ModelUpdate of(const Int& match, const Int& weight,
                                      const LaneBool<Int>& foreground, const Int& foreground_rate,
                                      const FramePlan& frame, const Int& pixel) {
    const LaneBool<Int> known = weight >= kUpperShare;
    // A foreground pixel with a background colour does not change the model.
    return {
        match, !(foreground & known),
        select(foreground, foreground_rate, select(known, Int(frame.alpha), Int(frame.alpha_fast))),
        hash(pixel, frame.frame)};
  }
  REGIONS_LANES LaneBool<Int> matches(int k) const { return learns & (match == k); }
  // The weight of mode k after this frame.
  REGIONS_LANES Int updated_weight(const Int& weight, int k) const {
    const Int target = select(match == k, Int(Mode::kFullWeight), Int(0));
    return select(learns, approach_share<Int>(weight, target, alpha, dither >> (4 * k)), weight);
  }
};

// Updates the mean and the variances of a mode with a colour, in the lanes where `matches` is true.
// Variances follow at a rate of at most 1/16, because their initial values are typical values.
template <class Int>
REGIONS_LANES void update_mode(BasicMode<Int>& mode, const LaneBool<Int>& matches,
                               const BasicColor<Int>& color, const ModelUpdate<Int>& update,
                               const FramePlan& frame) {
  constexpr int kOne = 4096;
  const Int rate_per_match = small_quotient(update.alpha * (kOne >> 4), (mode.weight >> 4) + 1);
  const Int rate = clamp<Int>(rate_per_match, frame.learning_rate, kOne);
  const Int var_rate = smaller(rate, Int(kOne / 16));
  Int square[3] = {0, 0, 0};
  REGIONS_UNROLL
  for (int c = 0; c < 3; ++c) {
    if (c > 0 && !frame.has_chroma) break;
    const Int value = color[c] << Mode::kMeanShift;
    const Int d = (value - mode.mean[c]) >> (Mode::kMeanShift - 4);
    square[c] = d * d >> 4;
    const Int mean = approach<Int>(mode.mean[c], value, rate, update.dither >> c);
    mode.mean[c] = select(matches, mean, mode.mean[c]);
  }
  const Int luma = approach<Int>(mode.var_luma, square[0], var_rate, update.dither >> 4);
  const Int chroma =
      approach<Int>(mode.var_chroma, (square[1] + square[2]) >> 1, var_rate, update.dither >> 6);
  mode.var_luma =
      select(matches, clamp<Int>(luma, Variances::kMinLuma, Variances::kMax), mode.var_luma);
  mode.var_chroma =
      select(matches, clamp<Int>(chroma, Variances::kMinChroma, Variances::kMax), mode.var_chroma);
}

// Updates all modes of a pixel. `foreground` is the label from the cut; `pixel` is the index of the
// pixel.
template <class Int>
REGIONS_LANES void update_modes(BasicModel<Int>& model, const BasicColor<Int>& color,
                                const LaneBool<Int>& foreground, const Int& foreground_rate,
                                const FramePlan& frame, const Int& pixel) {
  if (frame.starts) {
    model = BasicModel<Int>();
    model.mode[0] = new_mode(color, Int(Mode::kFullWeight));
    return;
  }
  model.apply_light(frame.light);
  Int match = -1, nearest_distance = frame.match_distance, weight = 0;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    const BasicMode<Int>& mode = model.mode[k];
    const LaneBool<Int> exists = mode.weight != 0;
    const Int distance = squared_distance(mode, color, nearest_distance, frame.has_chroma);
    const LaneBool<Int> nearest = exists & (distance < nearest_distance);
    match = select(nearest, Int(k), match);
    weight = select(nearest, mode.weight, weight);
    nearest_distance = select(nearest, distance, nearest_distance);
  }
  const auto update =
      ModelUpdate<Int>::of(match, weight, foreground, foreground_rate, frame, pixel);
  if (!any(update.learns)) return;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!model.may_exist[k]) continue;
    BasicMode<Int>& mode = model.mode[k];
    mode.weight = update.updated_weight(mode.weight, k);
    if (any(update.matches(k))) update_mode(mode, update.matches(k), color, update, frame);
  }
  const LaneBool<Int> is_new = update.learns & (match < 0);
  if (!any(is_new)) return;
  const BasicMode<Int> added = new_mode(color, clamp<Int>(update.alpha, 0, 65535));
  const Int weakest = model.lightest();
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    const LaneBool<Int> replaces = is_new & (weakest == k);
    model.mode[k] = select<Int>(replaces, added, model.mode[k]);
    model.may_exist[k] = model.may_exist[k] | any(replaces);
  }
}

// Does the same as update_all_modes(), but faster, with the match cache. Changes nothing and
// returns false if a pixel matches no mode, the light has changed, or the model starts with this
// frame.
template <class Int>
REGIONS_LANES bool update_matched_modes(const ModelArrays& arrays, const FramePlan& frame,
                                        const LaneBool<Int>& foreground, const Int& foreground_rate,
                                        size_t i) {
  if (frame.starts || !frame.light.is_unchanged()) return false;
  const size_t plane = arrays.model_plane();
  const auto words = [&](int k) { return arrays.model + i + k * Mode::kWords * plane; };
  Int word, first[Model::kModes];
  read_words(arrays.current + i, word);
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) read_words(words(k), first[k]);
  const Int match = (upper_bits(word, 24) & 7) - 2;
  if (any(match < 0)) return false;
  const auto color = BasicColor<Int>::unpacked(word);
  const auto history = BasicLabelHistory<Int>::of_current(word).followed_by(foreground);
  Int weight = 0, pixel;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    weight = select(match == k, upper_bits(first[k], 16), weight);
  }
  count_up(static_cast<int32_t>(i), pixel);
  const auto update =
      ModelUpdate<Int>::of(match, weight, foreground, foreground_rate, frame, pixel);
  // All required words of the modes are read before any word is written.
  Int share[Model::kModes], second[Model::kModes], third[Model::kModes], max_share = 0;
  LaneBool<Int> heavier[Model::kModes];
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    second[k] = Mode::kNeutralChroma;
    third[k] = 0;
    const Int before = upper_bits(first[k], 16);
    share[k] = any(before != 0) ? update.updated_weight(before, k) : Int(0);
    heavier[k] = share[k] > max_share;
    max_share = select(heavier[k], share[k], max_share);
    if (!any(heavier[k]) && !(any(before != 0) && any(update.matches(k)))) continue;
    if (frame.has_chroma) read_words(words(k) + plane, second[k]);
    read_words(words(k) + 2 * plane, third[k]);
  }
  BasicColor<Int> background;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!any(upper_bits(first[k], 16) != 0)) continue;
    auto mode = BasicMode<Int>::unpacked(first[k], second[k], third[k]);
    mode.weight = share[k];
    if (any(update.matches(k))) {
      update_mode(mode, update.matches(k), color, update, frame);
      mode.store(words(k), plane, frame.has_chroma);
    } else {
      write_words(words(k), share[k] << 16 | mode.mean[0]);
    }
    if (any(heavier[k]))
      background = select<Int>(heavier[k], mode.color(frame.has_chroma), background);
  }
  write_words(arrays.background + i, history.with(background.packed()));
  return true;
}

// The version for one pixel uses the index of the matched mode directly, without a branch per mode.
// So threads of a warp whose pixels match different modes execute the same instructions.
template <>
REGIONS_LANES bool update_matched_modes<int32_t>(const ModelArrays& arrays, const FramePlan& frame,
                                                 const bool& foreground,
                                                 const int32_t& foreground_rate, size_t i) {
  if (frame.starts || !frame.light.is_unchanged()) return false;
  const size_t plane = arrays.model_plane();
  uint32_t* const words = arrays.model + i;
  constexpr int kModes = Model::kModes;
  const uint32_t word = arrays.current[i];
  uint32_t first[kModes];
  REGIONS_UNROLL
  for (int k = 0; k < kModes; ++k) first[k] = words[k * Mode::kWords * plane];
  const int match = static_cast<int>(word >> 24 & 7) - 2;
  if (match < 0) return false;
  const LabelHistory history =
      LabelHistory::of_current(static_cast<int32_t>(word)).followed_by(foreground);
  uint32_t* const matched = words + static_cast<size_t>(match * Mode::kWords) * plane;
  const auto chroma_of = [&](const uint32_t* mode) {
    return frame.has_chroma ? static_cast<int32_t>(mode[plane]) : Mode::kNeutralChroma;
  };
  const int32_t second = chroma_of(matched);
  const uint32_t third = matched[2 * plane];
  uint32_t match_word = first[0];
  REGIONS_UNROLL
  for (int k = 1; k < kModes; ++k) match_word = match == k ? first[k] : match_word;
  const auto update =
      ModelUpdate<int32_t>::of(match, static_cast<int32_t>(match_word >> 16), foreground,
                               foreground_rate, frame, static_cast<int32_t>(i));
  int32_t max_share = 0, match_share = 0;
  int heaviest = match;
  uint32_t heaviest_word = match_word;
  REGIONS_UNROLL
  for (int k = 0; k < kModes; ++k) {
    const auto before = static_cast<int32_t>(first[k] >> 16);
    if (before == 0) continue;
    const int32_t share = update.updated_weight(before, k);
    if (match == k) match_share = share;
    if (share > max_share) {
      max_share = share;
      heaviest = k;
      heaviest_word = first[k];
    }
    if (match != k && share != before) {
      words[k * Mode::kWords * plane] = static_cast<uint32_t>(share) << 16 | (first[k] & 0xFFFF);
    }
  }
  auto mode = Mode::unpacked(static_cast<int32_t>(match_word), second, static_cast<int32_t>(third));
  if (update.learns) {
    mode.weight = match_share;
    update_mode(mode, true, Color::unpacked(static_cast<int32_t>(word)), update, frame);
    mode.store(matched, plane, frame.has_chroma);
  }
  if (heaviest != match) {
    const int32_t means = chroma_of(words + static_cast<size_t>(heaviest * Mode::kWords) * plane);
    mode = Mode::unpacked(static_cast<int32_t>(heaviest_word), means, 0);
  }
  arrays.background[i] = static_cast<uint32_t>(history.with(mode.color().packed()));
  return true;
}

// Updates the models of the pixels from index i on. `foreground` contains their labels from the
// cut.
template <class Int>
REGIONS_LANES void update_all_modes(const ModelArrays& arrays, const FramePlan& frame,
                                    const LaneBool<Int>& foreground, const Int& foreground_rate,
                                    size_t i) {
  auto model = BasicModel<Int>::load(arrays.model + i, arrays.model_plane());
  Int pixel, word;
  count_up(static_cast<int32_t>(i), pixel);
  read_words(arrays.current + i, word);
  const auto history = BasicLabelHistory<Int>::of_current(word).followed_by(foreground);
  update_modes(model, BasicColor<Int>::load(arrays.current + i), foreground, foreground_rate, frame,
               pixel);
  model.store(arrays.model + i, arrays.model_plane());
  write_words(arrays.background + i, history.with(model.heaviest().color().packed()));
}

// The rate at which the model learns from foreground pixel (x, y). Objects that rest are
// learnt at the rate of the property `history`, and ghosts at once. Other foreground is learnt
// fast, because colours that come and go, for example of leaves and screens, are background.
REGIONS_HD inline int32_t foreground_rate_at(const ModelArrays& arrays, const FramePlan& frame,
                                             int x, int y) {
  const auto word = static_cast<int32_t>(arrays.current[arrays.at(x, y)]);
  const int shift = arrays.cells.shift;
  if (!LabelHistory::of_current(word).is_still()) return frame.alpha_slow;
  return is_ghost(arrays, x >> shift, y >> shift) ? frame.alpha_ghost : frame.alpha_still;
}

// Adds the colour of pixel (x, y) to the histogram of its label, if the survey reads this pixel.
// add(address, amount) must be atomic if several threads call this function.
template <class Add>
REGIONS_HD void count_color(const ModelArrays& arrays, bool foreground, int x, int y, Add add) {
  if (x % SurveyGrid::kMaxStep != 0 || y % SurveyGrid::kMaxStep != 0) return;
  const int bin = ColorHistograms::bin_of(Color::load(arrays.current + arrays.at(x, y)));
  add(&arrays.colors->fresh[foreground][bin], 1u);
  add(&arrays.colors->fresh_total[foreground], 1u);
}

// Adds the colour of pixel (x, y) to the histogram of the label that the attached mask gives it, if
// the mask is rather sure. With source=mask, this happens before the cut, so that the colours of a
// single picture are known.
template <class Add>
REGIONS_HD void count_masked_color(const ModelArrays& arrays, const ConstFrame& mask,
                                   const EnergyPlan& plan, int x, int y, Add add) {
  if (!is_included(arrays, x, y)) return;
  const int value = mask_value(mask, plan.mask_scale, x, y).value;
  if (value >= 64 && value < 192) return;
  count_color(arrays, value >= 192, x, y, add);
}

// True if pixel (x, y) updates the model.
REGIONS_HD inline bool is_updated(const ModelArrays& arrays, const FramePlan& frame, int x, int y) {
  return frame.learns && (frame.starts || is_included(arrays, x, y));
}

// Remembers the labels of the pixels from index i on in a frame that does not update the model.
template <class Int>
REGIONS_LANES void remember_labels(const ModelArrays& arrays, const LaneBool<Int>& foreground,
                                   size_t i) {
  Int current, background;
  read_words(arrays.current + i, current);
  read_words(arrays.background + i, background);
  const auto history = BasicLabelHistory<Int>::of_current(current).followed_by(foreground);
  write_words(arrays.background + i, history.with(background & 0xFFFFFF));
}

// Updates the model, the histograms and the history of labels with pixel (x, y).
template <class Add>
REGIONS_HD void update_model(const ModelArrays& arrays, const FramePlan& frame,
                             const EnergyPlan& plan, bool foreground, int x, int y, Add add) {
  if (!frame.starts && !is_included(arrays, x, y)) return;
  const size_t i = arrays.at(x, y);
  count_spark(arrays, frame, foreground, x, y, add);
  if (!frame.learns) return remember_labels<int32_t>(arrays, foreground, i);
  const int32_t rate = foreground ? foreground_rate_at(arrays, frame, x, y) : 0;
  if (!update_matched_modes<int32_t>(arrays, frame, foreground, rate, i)) {
    update_all_modes<int32_t>(arrays, frame, foreground, rate, i);
  }
  if (plan.uses_foreground_colors && plan.uses_image) count_color(arrays, foreground, x, y, add);
}

// Scene::age of a model that starts from a background picture, in frames.
inline constexpr uint32_t kKnownAge = 50;
// Sets the model of pixel i to the colour of a background picture.
REGIONS_HD inline void start_model_from(const ModelArrays& arrays, const uint32_t* picture,
                                        size_t i) {
  Model model;
  model.mode[0] = new_mode(Color::load(picture + i), int32_t{Mode::kFullWeight});
  model.store(arrays.model + i, arrays.model_plane());
  arrays.background[i] = picture[i];
}

}  // namespace regions::graphcutbg
