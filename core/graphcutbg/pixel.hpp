// One pixel's way through a frame: look at it, weigh it for the cut, learn from the cut. Backends
// only loop over these.
#pragma once

#include "core/graphcutbg/energy.hpp"
#include "core/graphcutbg/noted.hpp"

namespace regions::graphcut {

// What pixel (x, y) tells of the scene, one of those that a survey looks at. at(x, y): the frame's
// colours. All are read before the first is used, as in weigh().
template <class Tally, class At>
REGIONS_HD void survey_pixel(const Canvas& canvas, const Scene& scene, int x, int y,
                             SurveySums& sums, Tally tally, At at) {
  const int right = smaller(x + 1, canvas.width - 1), down = smaller(y + 1, canvas.height - 1);
  const auto read = at(x, y), read_right = at(right, y), read_down = at(x, down);
  const Color background = Color::load(canvas.background + canvas.at(x, y));
  const Color color = read, beside = read_right, below = read_down;
  if (scene.age > 0) survey_light(sums, color, background, scene.split, tally);
  const auto pair = [&](const Color& other) {
    sums.contrast2 += static_cast<uint64_t>(contrast2(color, other));
    ++sums.pairs;
  };
  if (right > x) pair(beside);
  if (down > y) pair(below);
}

REGIONS_HD inline bool is_open(const Canvas& canvas, int x, int y) {
  return !(canvas.excluded && canvas.excluded[canvas.at(x, y)]);
}

template <class Int>
REGIONS_LANES BasicColor<Int> lit(BasicColor<Int> color, const Light& light) {
  if (light.same()) return color;
  color.y = light.apply<Int>(0, color.y << 8) >> 8;
  color.u = light.apply<Int>(1, color.u << 8) >> 8;
  color.v = light.apply<Int>(2, color.v << 8) >> 8;
  return color;
}

// Background that moved a little, like leaves, comes from pixels nearby (Elgammal et al. 2000):
// where the background has this colour within kReach pixels, or passes through it on the way there,
// as a camera's pixels do that moved by a part of one, evidence shrinks, to nothing if it is the
// same; it never turns. All of kReach pixels to both sides of lanes that lie side by side are
// in the picture.
inline constexpr int kReach = 2;
template <class Int>
REGIONS_LANES Int without_sway(Int evidence, const Canvas& canvas, const FramePlan& frame,
                               const BasicMode<Int>& mode, int x, int y) {
  const auto now = BasicColor<Int>::load(canvas.now + canvas.at(x, y));
  BasicMode<Int> moved = mode;
  for (int k = 0; k < 4 * kReach && any(evidence > 0); ++k) {
    const int reach = k / 4 + 1;
    const int x2 = x + (k % 4 == 0 ? reach : k % 4 == 1 ? -reach : 0);
    const int y2 = y + (k % 4 == 2 ? reach : k % 4 == 3 ? -reach : 0);
    if (x2 < 0 || y2 < 0 || x2 >= canvas.width || y2 >= canvas.height) continue;
    const auto there =
        lit(BasicColor<Int>::load(canvas.background + canvas.at(x2, y2)), frame.model.light);
    REGIONS_UNROLL
    for (int c = 0; c < 3; ++c) {
      const Int end = there[c] << Mode::kMeanShift;
      moved.mean[c] = within<Int>(now[c] << Mode::kMeanShift, smaller(mode.mean[c], end),
                                  larger(mode.mean[c], end));
    }
    const Int cost = distance2(moved, now, Int(frame.model.threshold)) * (kNat / 32);
    evidence = smaller(cost, evidence);
  }
  return evidence;
}

// How far pixels are from the background's texture in the shade: a shadow dims its pixels alike, so
// that neighbours are as bright as `ratio` (of 256) of the background says. Of arms of kReach
// pixels, those to the left or right and up or down that fit better count, as a shadow's border may
// lie across the others.
struct ShadingError {
  const Canvas& canvas;
  const FramePlan& frame;
  int x, y;

  // Squared levels, below 2^18.
  template <class Int>
  REGIONS_LANES Int operator()(const Int& ratio) const {
    return axis(ratio, 1, 0) + axis(ratio, 0, 1);
  }

 private:
  template <class Int>
  REGIONS_LANES Int axis(const Int& ratio, int dx, int dy) const {
    const bool before = x >= kReach * dx && y >= kReach * dy;
    const bool after = x + kReach * dx < canvas.width && y + kReach * dy < canvas.height;
    if (before && after) return smaller(arm(ratio, -dx, -dy), arm(ratio, dx, dy));
    if (before) return arm(ratio, -dx, -dy);
    return after ? arm(ratio, dx, dy) : Int(0);
  }
  template <class Int>
  REGIONS_LANES Int arm(const Int& ratio, int dx, int dy) const {
    Int error = 0;
    for (int reach = 1; reach <= kReach; ++reach) {
      const size_t i = canvas.at(x + reach * dx, y + reach * dy);
      const auto background = lit(BasicColor<Int>::load(canvas.background + i), frame.model.light);
      const Int d = BasicColor<Int>::load(canvas.now + i).y - (background.y * ratio >> 8);
      error = error + d * d;
    }
    return error;
  }
};

// What the model says of the pixels from number i on, units; and of their modes, see evidence().
template <class Int>
REGIONS_LANES Int model_evidence(const Canvas& canvas, const ModelPlan& plan, size_t i,
                                 Int& match) {
  if (plan.starts) return -plan.threshold;
  auto model = BasicModel<Int>::load(canvas.model + i, canvas.model_plane());
  model.relight(plan.light);
  return evidence(model, BasicColor<Int>::load(canvas.now + i), plan, match);
}

// What else is known of the pixels from (x, y) on whose model gives this evidence. See
// without_sway() for which several may be judged at once.
template <class Int>
REGIONS_LANES Int judged(Int own, const Canvas& canvas, const FramePlan& frame,
                         const EnergyPlan& plan, int x, int y) {
  if (frame.model.starts) return own;
  const size_t i = canvas.at(x, y);
  const auto now = BasicColor<Int>::load(canvas.now + i);
  if (plan.uses_colors) own = own + look_up(canvas.colors->bias, Colors::bin_of(now));
  if (!any(is_in_doubt(own))) return own;
  auto model = BasicModel<Int>::load(canvas.model + i, canvas.model_plane());
  model.relight(frame.model.light);
  const BasicMode<Int> most = model.heaviest();
  if (any(own > 0)) own = without_sway(own, canvas, frame, most, x, y);
  return without_shadow(own, now, most, plan, ShadingError{canvas, frame, x, y});
}

// Evidence of pixel (x, y) for the foreground, units.
REGIONS_HD inline int terminal_at(const Canvas& canvas, const ConstFrame& mask,
                                  const FramePlan& frame, const EnergyPlan& plan, int x, int y) {
  if (!is_open(canvas, x, y)) return -kSure;
  if (plan.uses_mask && !mask.empty()) {
    const int value = mask_value(mask, plan.mask_scale, x, y);
    const int from_mask = mask_evidence(value, frame.model.threshold, plan);
    if (!plan.uses_image || from_mask == kSure || from_mask == -kSure) return from_mask;
  }
  int32_t match = -2;
  const auto own = model_evidence(canvas, frame.model, canvas.at(x, y), match);
  note_match(canvas, canvas.at(x, y), match);
  return judged(own, canvas, frame, plan, x, y);
}

// What links are made of: the pixels from number i on, and the background there.
template <class Int>
struct Spot {
  BasicColor<Int> now, background;

  REGIONS_LANES static Spot at(const Canvas& canvas, const FramePlan& frame, size_t i) {
    return {BasicColor<Int>::load(canvas.now + i),
            lit(BasicColor<Int>::load(canvas.background + i), frame.model.light)};
  }
  // The step in the link table between two.
  REGIONS_LANES friend Int link_step(const Spot& a, const Spot& b, const FramePlan& frame,
                                     const EnergyPlan& plan) {
    const bool has_background = plan.uses_image && !frame.model.starts;
    return frame.contrasts.step_of(has_background ? edge2(a.now, b.now, a.background, b.background)
                                                  : contrast2(a.now, b.now));
  }
};

// Writes pixel (x, y)'s weights. All that links are made of is read before anything is written, and
// without a branch: GPUs are slow to read, but read much at a time.
REGIONS_HD inline void weigh(const Canvas& canvas, const ConstFrame& mask, const FramePlan& frame,
                             const EnergyPlan& plan, int x, int y) {
  const size_t i = canvas.at(x, y);
  const auto own = Spot<int32_t>::at(canvas, frame, i);
  const auto link_to = [&](int dx, int dy) {
    const int x2 = within(x + dx, 0, canvas.width - 1), y2 = smaller(y + dy, canvas.height - 1);
    const auto other = Spot<int32_t>::at(canvas, frame, canvas.at(x2, y2));
    const int link = plan.link_for(link_step(own, other, frame, plan), dx != 0 && dy != 0);
    return x2 == x + dx && y2 == y + dy ? link : 0;
  };
  const int right = link_to(1, 0), down = link_to(0, 1);
  if (canvas.down_right) {
    canvas.down_right[i] = link_to(1, 1);
    canvas.down_left[i] = link_to(-1, 1);
  }
  canvas.terminal[i] = terminal_at(canvas, mask, frame, plan, x, y);
  canvas.right[i] = right;
  canvas.down[i] = down;
}

// Teaches the model what the cut made of the pixels from number i on.
template <class Int>
REGIONS_LANES void teach_model(const Canvas& canvas, const ModelPlan& plan,
                               const Truth<Int>& foreground, size_t i) {
  auto model = BasicModel<Int>::load(canvas.model + i, canvas.model_plane());
  Int pixel;
  count_up(static_cast<int32_t>(i), pixel);
  learn(model, BasicColor<Int>::load(canvas.now + i), foreground, plan, pixel);
  model.store(canvas.model + i, canvas.model_plane());
  write_words(canvas.background + i, model.heaviest().color().packed());
}

// Counts what the cut made of pixel (x, y)'s colour. add(address, amount) adds, atomically where it
// must.
template <class Add>
REGIONS_HD void count_color(const Canvas& canvas, bool foreground, int x, int y, Add add) {
  if (x % Survey::kStep != 0 || y % Survey::kStep != 0) return;
  const int bin = Colors::bin_of(Color::load(canvas.now + canvas.at(x, y)));
  add(&canvas.colors->fresh[foreground][bin], 1u);
  add(&canvas.colors->fresh_total[foreground], 1u);
}

// Whether the model learns of pixel (x, y).
REGIONS_HD inline bool is_taught(const Canvas& canvas, const FramePlan& frame, int x, int y) {
  return frame.model.learns && (frame.model.starts || is_open(canvas, x, y));
}

// All that is learnt of pixel (x, y).
template <class Add>
REGIONS_HD void teach(const Canvas& canvas, const FramePlan& frame, const EnergyPlan& plan,
                      bool foreground, int x, int y, Add add) {
  if (!is_taught(canvas, frame, x, y)) return;
  const size_t i = canvas.at(x, y);
  if (!teach_noted<int32_t>(canvas, frame.model, foreground, i)) {
    teach_model<int32_t>(canvas, frame.model, foreground, i);
  }
  if (plan.uses_colors) count_color(canvas, foreground, x, y, add);
}

// What pixel (x, y) adds to the value of the cut that `mask` makes.
REGIONS_HD inline int64_t cut_value_at(const Canvas& canvas, const Image<const uint8_t>& mask,
                                       int x, int y) {
  const size_t i = canvas.at(x, y);
  const bool foreground = mask(x, y) != 0;
  const int32_t t = canvas.terminal[i];
  int64_t value = foreground ? (t < 0 ? -t : 0) : (t > 0 ? t : 0);
  const auto link = [&](const int32_t* capacity, int x2, int y2) {
    if (!capacity || !mask.contains(x2, y2)) return;
    if ((mask(x2, y2) != 0) != foreground) value += capacity[i];
  };
  link(canvas.right, x + 1, y);
  link(canvas.down, x, y + 1);
  link(canvas.down_right, x + 1, y + 1);
  link(canvas.down_left, x - 1, y + 1);
  return value;
}

// A model that starts from a picture known to be background, which counts for some frames.
inline constexpr uint32_t kKnownAge = 50;
REGIONS_HD inline void start_from(const Canvas& canvas, const uint32_t* picture, size_t i) {
  Model model;
  model.mode[0] = new_mode(Color::load(picture + i), int32_t{Mode::kWhole});
  model.store(canvas.model + i, canvas.model_plane());
  canvas.background[i] = picture[i];
}

}  // namespace regions::graphcut
