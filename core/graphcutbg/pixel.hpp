// One pixel's way through a frame: look at it, weigh it for the cut, learn from the cut. Backends
// only loop over these.
#pragma once

#include "core/graphcutbg/colors.hpp"
#include "core/graphcutbg/energy.hpp"

namespace regions::graphcut {

// The arrays of one model and of the frame under way, all of the frame's size without padding.
struct Canvas {
  int width = 0, height = 0;
  uint32_t* now = nullptr;         // [height][width], Color::packed of the frame
  uint32_t* background = nullptr;  // the same of the model's heaviest modes
  uint32_t* model = nullptr;       // [Model::kWords][model_plane()], see Model
  int32_t* terminal = nullptr;     // [height][width], and the links alike, see GridGraph
  int32_t* right = nullptr;
  int32_t* down = nullptr;
  int32_t* down_right = nullptr;  // null for four neighbours
  int32_t* down_left = nullptr;
  Colors* colors = nullptr;
  const uint8_t* excluded = nullptr;  // [height][width], nonzero: no foreground; null: none

  REGIONS_HD size_t plane() const {
    return static_cast<size_t>(width) * static_cast<size_t>(height);
  }
  // Words from one plane of the model to the next. Planes a multiple of 4096 bytes apart, as those
  // of most pictures would be, share a few sets of a cache and drive each other out.
  REGIONS_HD static size_t plane_stride(size_t pixels) {
    return (pixels + 1023) / 1024 * 1024 + 144;
  }
  REGIONS_HD size_t model_plane() const { return plane_stride(plane()); }
  REGIONS_HD size_t at(int x, int y) const {
    return static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x);
  }
};

// Reads the frame's colour; every kStep-th pixel both ways is surveyed.
template <class Add>
REGIONS_HD void look(const Canvas& canvas, const ConstFrame& frame, const Scene& scene, int x,
                     int y, Survey& survey, Add add) {
  const size_t i = canvas.at(x, y);
  const Color color = color_at(frame, x, y);
  canvas.now[i] = color.packed();
  if (x % Survey::kStep != 0 || y % Survey::kStep != 0) return;
  if (scene.age > 0) {
    survey_light(survey, color, Color::unpacked(canvas.background[i]), scene.split, add);
  }
  if (x + 1 < canvas.width) {
    add(&survey.contrast2, static_cast<uint64_t>(contrast2(color, color_at(frame, x + 1, y))));
    add(&survey.pairs, 1u);
  }
  if (y + 1 < canvas.height) {
    add(&survey.contrast2, static_cast<uint64_t>(contrast2(color, color_at(frame, x, y + 1))));
    add(&survey.pairs, 1u);
  }
}

REGIONS_HD inline bool is_open(const Canvas& canvas, const EnergyPlan& plan, int x, int y) {
  return plan.looks_at(x, y) && !(canvas.excluded && canvas.excluded[canvas.at(x, y)]);
}

REGIONS_HD inline Color lit(uint32_t packed, const Light& light) {
  Color color = Color::unpacked(packed);
  if (light.same()) return color;
  color.y = clamp_byte(light.apply(0, color.y << 8) >> 8);
  color.u = clamp_byte(light.apply(1, color.u << 8) >> 8);
  color.v = clamp_byte(light.apply(2, color.v << 8) >> 8);
  return color;
}

// Background that moved a little, like leaves, comes from pixels nearby (Elgammal et al. 2000):
// where the background has this colour within kReach pixels, evidence shrinks, to nothing if it is
// the same; it never turns.
REGIONS_HD inline int without_sway(int evidence, const Canvas& canvas, const FramePlan& frame,
                                   const Mode& mode, int x, int y) {
  constexpr int kReach = 2;
  const Color now = Color::unpacked(canvas.now[canvas.at(x, y)]);
  Mode moved = mode;
  for (int k = 0; k < 4 * kReach && evidence > 0; ++k) {
    const int reach = k / 4 + 1;
    const int x2 = x + (k % 4 == 0 ? reach : k % 4 == 1 ? -reach : 0);
    const int y2 = y + (k % 4 == 2 ? reach : k % 4 == 3 ? -reach : 0);
    if (x2 < 0 || y2 < 0 || x2 >= canvas.width || y2 >= canvas.height) continue;
    const Color there = lit(canvas.background[canvas.at(x2, y2)], frame.model.light);
    for (int c = 0; c < 3; ++c) moved.mean[c] = there[c] << Mode::kMeanShift;
    const auto limit = static_cast<uint32_t>(frame.model.threshold);
    const int cost = static_cast<int>(distance2(moved, now, limit)) * (kNat / 32);
    if (cost < evidence) evidence = cost;
  }
  return evidence;
}

// Evidence of pixel (x, y) for the foreground, units.
REGIONS_HD inline int terminal_at(const Canvas& canvas, const ConstFrame& mask,
                                  const FramePlan& frame, const EnergyPlan& plan, int x, int y) {
  if (!is_open(canvas, plan, x, y)) return -kSure;
  const int threshold = frame.model.threshold;
  int from_mask = 0;
  if (plan.uses_mask && !mask.empty()) {
    int value = mask.sample(0, x, y);
    if (mask.layout.sample_bytes == 2) value >>= 8;
    if (mask.layout.sample_bytes == 4) value = value ? 255 : 0;
    from_mask = mask_evidence(value, threshold, plan);
    if (!plan.uses_image || from_mask == kSure || from_mask == -kSure) return from_mask;
  }
  if (frame.model.starts) return -threshold;
  const size_t i = canvas.at(x, y);
  Model model = Model::load(canvas.model + i, canvas.model_plane());
  model.relight(frame.model.light);
  const Color now = Color::unpacked(canvas.now[i]);
  int own = evidence(model, now, frame.model);
  if (plan.uses_colors) own += canvas.colors->bias[Colors::bin_of(now)];
  const Mode& most = model.mode[model.heaviest()];
  if (own > 0) own = without_sway(own, canvas, frame, most, x, y);
  return without_shadow(own, now, most, plan);
}

// The link between pixels (x, y) and (x2, y2).
REGIONS_HD inline int link_at(const Canvas& canvas, const FramePlan& frame, const EnergyPlan& plan,
                              int x, int y, int x2, int y2) {
  if (x2 < 0 || x2 >= canvas.width || y2 >= canvas.height) return 0;
  const size_t i = canvas.at(x, y);
  const size_t j = canvas.at(x2, y2);
  const Color a = Color::unpacked(canvas.now[i]);
  const Color b = Color::unpacked(canvas.now[j]);
  int contrast = contrast2(a, b);
  if (plan.uses_image && !frame.model.starts) {
    contrast = edge2(a, b, lit(canvas.background[i], frame.model.light),
                     lit(canvas.background[j], frame.model.light));
  }
  return plan.link_for(contrast, frame.contrast_scale, x != x2 && y != y2);
}

// Writes pixel (x, y)'s weights.
REGIONS_HD inline void weigh(const Canvas& canvas, const ConstFrame& mask, const FramePlan& frame,
                             const EnergyPlan& plan, int x, int y) {
  const size_t i = canvas.at(x, y);
  canvas.terminal[i] = terminal_at(canvas, mask, frame, plan, x, y);
  canvas.right[i] = link_at(canvas, frame, plan, x, y, x + 1, y);
  canvas.down[i] = link_at(canvas, frame, plan, x, y, x, y + 1);
  if (!canvas.down_right) return;
  canvas.down_right[i] = link_at(canvas, frame, plan, x, y, x + 1, y + 1);
  canvas.down_left[i] = link_at(canvas, frame, plan, x, y, x - 1, y + 1);
}

// Teaches the model what the cut made of pixel (x, y). add() as in look().
template <class Add>
REGIONS_HD void teach(const Canvas& canvas, const FramePlan& frame, const EnergyPlan& plan,
                      bool foreground, int x, int y, Add add) {
  if (!frame.model.learns || (!frame.model.starts && !is_open(canvas, plan, x, y))) return;
  const size_t i = canvas.at(x, y);
  Model model = Model::load(canvas.model + i, canvas.model_plane());
  const Color now = Color::unpacked(canvas.now[i]);
  learn(model, now, foreground, frame.model, static_cast<uint32_t>(i));
  model.store(canvas.model + i, canvas.model_plane());
  canvas.background[i] = model.mode[model.heaviest()].color().packed();
  if (!plan.uses_colors || x % Survey::kStep != 0 || y % Survey::kStep != 0) return;
  const int side = foreground ? 1 : 0;
  add(&canvas.colors->fresh[side][Colors::bin_of(now)], 1u);
  add(&canvas.colors->fresh_total[side], 1u);
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
  model.mode[0] = new_mode(Color::unpacked(picture[i]), Mode::kWhole);
  model.store(canvas.model + i, canvas.model_plane());
  canvas.background[i] = picture[i];
}

}  // namespace regions::graphcut
