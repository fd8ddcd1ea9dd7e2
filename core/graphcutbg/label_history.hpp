// Evidence from the labels of earlier frames. Each pixel remembers its last label and for how long
// it has had it. Sums over small cells of the picture then distinguish ghosts from resting objects,
// and find places where the picture sparkles, such as water or snow, and where it is calm.
#pragma once

#include "core/graphcutbg/scene_statistics.hpp"

namespace regions::graphcutbg {

// The history of a pixel. Stored above the colour in a word of
// ModelArrays::background, and during the next frame in the upper five bits of a word of
// ModelArrays::current.
template <class Int>
struct BasicLabelHistory {
  static constexpr int kBackgroundShift = 24, kCurrentShift = 27;
  static constexpr int kLimited = 1 << 4;
  // Number of frames without a change after which the pixel belongs to something that rests.
  static constexpr int kStill = 7;
  static constexpr int kBrief = 3;  // foreground for fewer frames is brief

  // Bit 0: the label; bits 1 to 3: number of frames since it changed, at most kStill; bit 4:
  // limit_sparkle() has limited the pixel's evidence in this frame.
  Int bits = 0;

  REGIONS_LANES static BasicLabelHistory of_background(const Int& word) {
    return {upper_bits(word, kBackgroundShift) & 15};
  }
  REGIONS_LANES static BasicLabelHistory of_current(const Int& word) {
    return {upper_bits(word, kCurrentShift)};
  }
  REGIONS_LANES LaneBool<Int> was_foreground() const { return (bits & 1) != 0; }
  REGIONS_LANES LaneBool<Int> is_still() const { return (bits & 14) == 2 * kStill; }
  REGIONS_LANES LaneBool<Int> is_limited() const { return (bits & kLimited) != 0; }
  REGIONS_LANES LaneBool<Int> was_brief() const {
    return was_foreground() & ((bits & 14) < 2 * kBrief);
  }
  // The history after one more frame.
  REGIONS_LANES BasicLabelHistory followed_by(const LaneBool<Int>& foreground) const {
    const Int label = select(foreground, Int(1), Int(0));
    const Int frames = smaller(Int((bits & 14) + 2), Int(2 * kStill));
    return {label | select((bits & 1) == label, frames, Int(0))};
  }
  // Adds the history to a packed background colour.
  REGIONS_LANES Int with(const Int& color) const { return color | bits << kBackgroundShift; }
};
using LabelHistory = BasicLabelHistory<int32_t>;

// A ghost is a place that an object has left while the model still has the object, so that it looks
// like foreground. The outline of a ghost is an edge in the model. The outline of an object is an
// edge in the picture (Wang et al., FTSG, 2014).
//
// Adds the contrast between pixels (x, y) and (x + dx, y + dy) to the sums of the cell. One of the
// two pixels was foreground. Edges are soft, so the next pixels on both sides are compared.
template <class Add>
REGIONS_HD void add_outline(const ModelArrays& arrays, const FramePlan& frame, int x, int y, int dx,
                            int dy, Add add) {
  constexpr int kMaxContrast = 64 * 64;  // larger contrasts count as much
  const size_t first = arrays.at(larger(x - dx, 0), larger(y - dy, 0));
  const size_t last =
      arrays.at(smaller(x + 2 * dx, arrays.width - 1), smaller(y + 2 * dy, arrays.height - 1));
  const auto background = [&](size_t i) {
    return apply_illumination(Color::load(arrays.background + i), frame.light);
  };
  const int in_picture =
      squared_contrast(Color::load(arrays.current + first), Color::load(arrays.current + last));
  const int in_model = squared_contrast(background(first), background(last));
  OutlineSums& sums = arrays.outline[arrays.cells.index_of(x, y)];
  add(&sums.in_picture, static_cast<uint32_t>(smaller(in_picture, kMaxContrast)));
  add(&sums.in_model, static_cast<uint32_t>(smaller(in_model, kMaxContrast)));
}

// Adds the outlines between pixel (x, y) and its right and lower neighbours, if both pixels have
// kept their labels. add(address, amount) must be atomic if several threads call this function.
template <class Add>
REGIONS_HD void add_outlines(const ModelArrays& arrays, const FramePlan& frame, int x, int y,
                             Add add) {
  const auto history = [&](int x2, int y2) {
    const uint32_t word = arrays.background[arrays.at(x2, y2)];
    return LabelHistory::of_background(static_cast<int32_t>(word));
  };
  const LabelHistory here = history(x, y);
  if (!here.is_still()) return;
  const auto compare = [&](int dx, int dy) {
    if (x + dx >= arrays.width || y + dy >= arrays.height) return;
    const LabelHistory other = history(x + dx, y + dy);
    if (other.was_foreground() == here.was_foreground() || !other.is_still()) return;
    add_outline(arrays, frame, x, y, dx, dy, add);
  };
  compare(1, 0);
  compare(0, 1);
}

// True if the foreground in this cell is a ghost, according to the outlines in the cells around it.
REGIONS_HD inline bool is_ghost(const ModelArrays& arrays, int column, int row) {
  constexpr uint32_t kMin = 400;  // smaller sums are noise; 16 squared levels
  const PictureCells& cells = arrays.cells;
  uint32_t in_picture = 0, in_model = 0;  // 16 squared levels
  for (int y = larger(row - 1, 0); y <= smaller(row + 1, cells.rows - 1); ++y) {
    for (int x = larger(column - 1, 0); x <= smaller(column + 1, cells.columns - 1); ++x) {
      const OutlineSums& sums = arrays.outline[y * cells.columns + x];
      in_picture += sums.in_picture >> 4;
      in_model += sums.in_model >> 4;
    }
  }
  return in_model > kMin && in_model > in_picture + in_picture / 2;
}

// Counts pixel (x, y) as a spark if it was foreground only briefly, or if only its limited evidence
// has prevented this. Objects that move fast are brief, too, but larger. So a pixel inside an
// object is counted negatively.
template <class Add>
REGIONS_HD void count_spark(const ModelArrays& arrays, const FramePlan& frame, bool foreground,
                            int x, int y, Add add) {
  const auto history = [&](int x2, int y2) {
    const size_t i = arrays.at(clamp(x2, 0, arrays.width - 1), clamp(y2, 0, arrays.height - 1));
    return LabelHistory::of_current(static_cast<int32_t>(arrays.current[i]));
  };
  const LabelHistory before = history(x, y);
  if (foreground || !(before.is_limited() || before.was_brief())) return;
  const bool is_inside = history(x - 1, y).was_foreground() && history(x + 1, y).was_foreground() &&
                         history(x, y - 1).was_foreground() && history(x, y + 1).was_foreground();
  add(arrays.sparks[frame.frame % 2] + arrays.cells.index_of(x, y), is_inside ? ~0u : 1u);
}

// Counts the pixels from (x, y) on that suppress_jitter() excuses in this frame.
template <class Int, class Add>
REGIONS_LANES void count_excused(const ModelArrays& arrays, const FramePlan& frame,
                                 const LaneBool<Int>& is_excused, int x, int y, Add add) {
  if (!any(is_excused)) return;
  constexpr int kLanes = static_cast<int>(sizeof(Int) / sizeof(int32_t));
  uint32_t counts[kLanes];
  write_words(counts, select(is_excused, Int(1), Int(0)));
  uint32_t* sums = arrays.excused[frame.frame % 2];
  const int first = arrays.cells.index_of(x, y), last = arrays.cells.index_of(x + kLanes - 1, y);
  if (first == last) {  // one addition, because atomic additions take long
    uint32_t count = 0;
    for (int k = 0; k < kLanes; ++k) count += counts[k];
    return add(sums + first, count);
  }
  for (int k = 0; k < kLanes; ++k) {
    if (counts[k]) add(sums + arrays.cells.index_of(x + k, y), 1u);
  }
}

// The value of ModelArrays::calm of a cell whose background has not moved for a long time.
inline constexpr int32_t kFullCalm = 1 << 16;

// Prepares a cell for a frame: updates its sparkle and its calm with the counts of the last frame
// around it, and clears its sums. `scene` is that before this frame.
// - Sparkle is 256 times the sum of sparks per pixel, in which old frames fade with a time constant
//   of 32 frames.
// - Calm rises in frames without excused pixels, with a time constant of 32 frames, and falls in
//   other frames, with one of 128 frames. So an object that passes does not end the calm. Noise
//   causes few excused pixels. A new model has no calm.
REGIONS_HD inline void advance_cell(const ModelArrays& arrays, const Scene& scene, int index) {
  const PictureCells& cells = arrays.cells;
  const uint32_t half = scene.frame % 2;
  const int row = index / cells.columns, column = index - row * cells.columns;
  int32_t sparks = 0;
  uint32_t excused = 0, pixels = 0;
  for (int y = larger(row - 1, 0); y <= smaller(row + 1, cells.rows - 1); ++y) {
    for (int x = larger(column - 1, 0); x <= smaller(column + 1, cells.columns - 1); ++x) {
      sparks += static_cast<int32_t>(arrays.sparks[half][y * cells.columns + x]);
      excused += arrays.excused[half][y * cells.columns + x];
      pixels += 1u << (2 * cells.shift);
    }
  }
  const int32_t before = arrays.sparkle[index], calm = arrays.calm[index];
  arrays.sparkle[index] =
      larger(before - (before + 31) / 32 + (sparks * 256 >> (2 * cells.shift)), 0);
  constexpr uint32_t kNoise = 128;  // noise alone excuses at most one of this many pixels
  const int32_t change = excused > pixels / kNoise ? -calm / 128 : (kFullCalm - calm + 31) / 32;
  arrays.calm[index] = scene.age > 1 ? calm + change : 0;
  arrays.sparks[1 - half][index] = arrays.excused[1 - half][index] = 0;
  arrays.outline[index] = {};
}

// The indices of the cells of the pixels from (x, y) on.
template <class Int>
REGIONS_LANES Int cells_from(const PictureCells& cells, int x, int y) {
  Int column;
  count_up(x, column);
  return (column >> cells.shift) + (y >> cells.shift) * cells.columns;
}

// True for pixels in cells that are calm.
template <class Int>
REGIONS_LANES LaneBool<Int> is_calm(const ModelArrays& arrays, int x, int y) {
  constexpr int32_t kLeast = kFullCalm * 5 / 8;
  return look_up(arrays.calm, cells_from<Int>(arrays.cells, x, y)) >= kLeast;
}

// The maximum evidence of a pixel without foreground around it in the last frame, in a cell with
// this sparkle. `most` is the maximum evidence elsewhere.
template <class Int>
REGIONS_LANES Int evidence_limit(const Int& sparkle, int most) {
  // An object of 3x3 pixels needs 3.5 nats per pixel, see kMinLinkFraction. In moving pictures with
  // waves, sparkle is above 1000; passers-by cause less than 300.
  constexpr int kLow = 320, kSlope = 2, kLeast = 120;
  const int least = smaller(kLeast, most);
  return clamp<Int>(Int(most) - (sparkle - kLow) * kSlope, Int(least), Int(most));
}

// Limits the evidence of new foreground where the picture sparkles. Remembers this in
// ModelArrays::current for count_spark().
template <class Int>
REGIONS_LANES Int limit_sparkle(const Int& evidence, const LaneBool<Int>& is_new,
                                const ModelArrays& arrays, const FramePlan& frame, int x, int y) {
  const Int sparkle = look_up(arrays.sparkle, cells_from<Int>(arrays.cells, x, y));
  const Int limit = evidence_limit(sparkle, frame.var_threshold);
  const LaneBool<Int> is_limited = is_new & (evidence > limit);
  if (!any(is_limited)) return evidence;
  const size_t i = arrays.at(x, y);
  Int word;
  read_words(arrays.current + i, word);
  using History = BasicLabelHistory<Int>;
  const Int mark = Int(History::kLimited) << History::kCurrentShift;
  write_words(arrays.current + i, word | select(is_limited, mark, Int(0)));
  return select(is_limited, limit, evidence);
}

}  // namespace regions::graphcutbg
