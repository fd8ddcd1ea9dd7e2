// What weighing a frame tells teaching it, a byte a pixel: which mode its colour belongs to. With
// that most pixels are taught without finding it again, and of modes that the colour is not of the
// weight alone is read and written.
#pragma once

#include "core/graphcutbg/canvas.hpp"

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
  Int word;
  read_words(canvas.now + i, word);
  const Int match = upper_bits(word, 24) - 2;
  if (any(match < 0)) return false;
  const auto color = BasicColor<Int>::unpacked(word);
  const size_t plane = canvas.model_plane();
  const auto words = [&](int k) { return canvas.model + i + k * Mode::kWords * plane; };
  Int first[Model::kModes], weight = 0, pixel;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    read_words(words(k), first[k]);
    weight = pick(match == k, upper_bits(first[k], 16), weight);
  }
  count_up(static_cast<int32_t>(i), pixel);
  const auto lesson = Lesson<Int>::of(match, weight, foreground, plan, pixel);
  Int most = 0;
  BasicColor<Int> background;
  REGIONS_UNROLL
  for (int k = 0; k < Model::kModes; ++k) {
    BasicMode<Int> mode;
    mode.weight = upper_bits(first[k], 16);
    if (!any(mode.weight != 0)) continue;
    const Int share = lesson.share(mode.weight, k);
    const Truth<Int> heavier = share > most;
    if (any(lesson.visits(k))) {
      mode = BasicMode<Int>::load(first[k], words(k), plane);
      mode.weight = share;
      join(mode, lesson.visits(k), color, lesson, plan.rate);
      mode.store(words(k), plane);
    } else {
      write_words(words(k), share << 16 | (first[k] & 0xFFFF));
      if (!any(heavier)) continue;
      mode = BasicMode<Int>::load(first[k], words(k), plane);
    }
    most = pick(heavier, share, most);
    background = pick<Int>(heavier, mode.color(), background);
  }
  write_words(canvas.background + i, background.packed());
  return true;
}

}  // namespace regions::graphcut
