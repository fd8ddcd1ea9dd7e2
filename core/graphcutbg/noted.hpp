// What weighing a frame tells teaching it, a byte a pixel: which mode its colour belongs to. With
// that most pixels are taught without finding it again, and of modes that the colour is not of the
// weight alone is read and written.
#pragma once

#include "core/graphcutbg/canvas.hpp"
#include "core/graphcutbg/learning.hpp"

namespace regions::graphcut {

// Stands in the upper byte of a colour's word: 0 for nothing, 1 for no mode, else the mode's number
// + 2.
template <class Int>
REGIONS_LANES void note_match(const Canvas& canvas, size_t i, const Int& match) {
  Int word;
  read_words(canvas.now + i, word);
  write_words(canvas.now + i, (word & 0xFFFFFF) | (match + 2) << 24);
}

// What teach_model() does, for pixels that all belong to a mode, in light that has not changed.
// Returns false, having done nothing, for others.
template <class Int>
REGIONS_LANES bool teach_noted(const Canvas& canvas, const ModelPlan& plan,
                               const Truth<Int>& foreground, size_t i) {
  if (plan.starts || !plan.light.same()) return false;
  const size_t plane = canvas.model_plane();
  const auto words = [&](int k) { return canvas.model + i + k * Mode::kWords * plane; };
  Int word, first[Model::kModes];
  read_words(canvas.now + i, word);
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) read_words(words(k), first[k]);
  const Int match = upper_bits(word, 24) - 2;
  if (any(match < 0)) return false;
  const auto color = BasicColor<Int>::unpacked(word);
  Int weight = 0, pixel;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    weight = pick(match == k, upper_bits(first[k], 16), weight);
  }
  count_up(static_cast<int32_t>(i), pixel);
  const auto lesson = Lesson<Int>::of(match, weight, foreground, plan, pixel);
  // What is needed of the other words is read for all modes before any is changed.
  Int share[Model::kModes], second[Model::kModes], third[Model::kModes], most = 0;
  Truth<Int> heavier[Model::kModes];
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    second[k] = third[k] = 0;
    const Int before = upper_bits(first[k], 16);
    share[k] = any(before != 0) ? lesson.share(before, k) : Int(0);
    heavier[k] = share[k] > most;
    most = pick(heavier[k], share[k], most);
    if (!any(heavier[k]) && !(any(before != 0) && any(lesson.visits(k)))) continue;
    read_words(words(k) + plane, second[k]);
    read_words(words(k) + 2 * plane, third[k]);
  }
  BasicColor<Int> background;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    if (!any(upper_bits(first[k], 16) != 0)) continue;
    auto mode = BasicMode<Int>::unpacked(first[k], second[k], third[k]);
    mode.weight = share[k];
    if (any(lesson.visits(k))) {
      join(mode, lesson.visits(k), color, lesson, plan.rate);
      mode.store(words(k), plane);
    } else {
      write_words(words(k), share[k] << 16 | mode.mean[0]);
    }
    if (any(heavier[k])) background = pick<Int>(heavier[k], mode.color(), background);
  }
  write_words(canvas.background + i, background.packed());
  return true;
}

// Of one pixel, the mode that it belongs to is found by its number: threads whose pixels belong to
// different ones join them together.
template <>
REGIONS_LANES bool teach_noted<int32_t>(const Canvas& canvas, const ModelPlan& plan,
                                        const bool& foreground, size_t i) {
  if (plan.starts || !plan.light.same()) return false;
  const size_t plane = canvas.model_plane();
  uint32_t* const words = canvas.model + i;
  constexpr int kModes = Model::kModes;
  const uint32_t word = canvas.now[i];
  uint32_t first[kModes];
  REGIONS_UNROLL
  for (int k = 0; k < kModes; ++k) first[k] = words[k * Mode::kWords * plane];
  const int match = static_cast<int>(word >> 24) - 2;
  if (match < 0) return false;
  uint32_t* const joined = words + static_cast<size_t>(match * Mode::kWords) * plane;
  const uint32_t second = joined[plane], third = joined[2 * plane];
  uint32_t of_match = first[0];
  REGIONS_UNROLL
  for (int k = 1; k < kModes; ++k) of_match = match == k ? first[k] : of_match;
  const auto lesson = Lesson<int32_t>::of(match, static_cast<int32_t>(of_match >> 16), foreground,
                                          plan, static_cast<int32_t>(i));
  int32_t most = 0, share_of_match = 0;
  int heaviest = match;
  uint32_t of_heaviest = of_match;
  REGIONS_UNROLL
  for (int k = 0; k < kModes; ++k) {
    const auto before = static_cast<int32_t>(first[k] >> 16);
    if (before == 0) continue;
    const int32_t share = lesson.share(before, k);
    if (match == k) share_of_match = share;
    if (share > most) {
      most = share;
      heaviest = k;
      of_heaviest = first[k];
    }
    if (match != k && share != before) {
      words[k * Mode::kWords * plane] = static_cast<uint32_t>(share) << 16 | (first[k] & 0xFFFF);
    }
  }
  auto mode = Mode::unpacked(static_cast<int32_t>(of_match), static_cast<int32_t>(second),
                             static_cast<int32_t>(third));
  if (lesson.learns) {
    mode.weight = share_of_match;
    join(mode, true, Color::unpacked(static_cast<int32_t>(word)), lesson, plan.rate);
    mode.store(joined, plane);
  }
  if (heaviest != match) {
    const uint32_t means = words[static_cast<size_t>(heaviest * Mode::kWords + 1) * plane];
    mode = Mode::unpacked(static_cast<int32_t>(of_heaviest), static_cast<int32_t>(means), 0);
  }
  canvas.background[i] = static_cast<uint32_t>(mode.color().packed());
  return true;
}

}  // namespace regions::graphcut
