// From ink, outlines and labels to pixels: the colours of one 2x2 block of a picture, in place.
// One function for all formats and both backends.
#pragma once

#include "core/stamp.hpp"

namespace regions {

// Turns R, G, B into a frame's stored components, in fixed point.
struct ColorEncoder {
  static constexpr int kShift = 14;
  int32_t weight[3][3] = {};  // [component][red, green, blue], of 1 << kShift
  int32_t offset[3] = {};     // rounding included
  int max = 255;

  REGIONS_HD void encode(Rgb color, int (&value)[3]) const {
    for (int c = 0; c < 3; ++c) {
      const int v = (weight[c][0] * color.red + weight[c][1] * color.green +
                     weight[c][2] * color.blue + offset[c]) >>
                    kShift;
      value[c] = v < 0 ? 0 : v > max ? max : v;
    }
  }
};
ColorEncoder encoder_of(const Layout& layout, const Colorimetry& color);

// Labels at the picture's pixels, by the nearest one.
struct LabelSampler {
  LabelView view;
  uint32_t step_x = 0;  // label pixels a picture pixel, of 1 << 16
  uint32_t step_y = 0;

  // Positions (n + 0.5) * step stay below 2^32 and inside the view for all sizes to 65535.
  REGIONS_HD static constexpr ptrdiff_t nearest(int n, uint32_t step) {
    return (static_cast<uint32_t>(n) * step + step / 2) >> 16;
  }
  REGIONS_HD const std::byte* row(int y) const {
    return view.data + nearest(y, step_y) * view.pitch;
  }
  REGIONS_HD uint32_t at(int x, int y) const {
    const std::byte* p = row(y) + nearest(x, step_x) * view.bytes;
    if (view.bytes == 4) return *reinterpret_cast<const uint32_t*>(p);
    const auto low = static_cast<uint32_t>(p[0]);
    return view.bytes == 1 ? low : low | static_cast<uint32_t>(p[1]) << 8;
  }
};
inline LabelSampler sampler_of(const LabelView& view, Size picture) {
  const auto step = [](int labels, int pixels) {
    return static_cast<uint32_t>((static_cast<uint64_t>(labels) << 16) /
                                 static_cast<uint64_t>(pixels));
  };
  return {view, step(view.width, picture.width), step(view.height, picture.height)};
}

// Outlines. A pixel is an edge if an 8-neighbour in the picture has another label; then "another
// label within Chebyshev distance d" is "an edge within d - 1", so an outline of any thickness is a
// dilation of one bit a pixel by a square. Edges of label 0 need no bit for that.
//
// Of 160 bits around a word, that word's 32 dilated by `radius` <= 64 to the left and right.
// Windows grow threefold a step as long as they leave no gap.
REGIONS_HD inline uint32_t dilated_word(const uint32_t (&around)[5], int radius) {
  if ((around[0] | around[1] | around[2] | around[3] | around[4]) == 0) return 0;
  uint32_t bits[5];
  for (int i = 0; i < 5; ++i) bits[i] = around[i];
  for (int reach = 0; reach < radius;) {  // steps of 1, 3, 9, 27, 24: below the width of a word
    const int step = 2 * reach + 1 < radius - reach ? 2 * reach + 1 : radius - reach;
    uint32_t next[5];
    for (int i = 0; i < 5; ++i) {
      const uint64_t lower = i > 0 ? bits[i - 1] : 0;
      const uint64_t higher = i < 4 ? bits[i + 1] : 0;
      // Bit numbers rise with x. First towards greater x, then towards smaller.
      const auto up = (static_cast<uint64_t>(bits[i]) << 32 | lower) << step >> 32;
      const auto down = (higher << 32 | bits[i]) >> step;
      next[i] = bits[i] | static_cast<uint32_t>(up) | static_cast<uint32_t>(down);
    }
    for (int i = 0; i < 5; ++i) bits[i] = next[i];
    reach += step;
  }
  return bits[2];
}

// What drawing one frame needs; a kernel gets it by value.
struct Painter {
  Frame picture;  // drawn on in place
  LabelSampler labels;
  ColorEncoder encoder;
  int dark[3] = {};    // of shadows and plates, encoded
  int fill_alpha = 0;  // of 256
};
Painter painter_of(const Frame& picture, const LabelView& labels, const DrawingParams& params);

// The records that give labels and ink their tracks.
struct Tracks {
  const Region* regions = nullptr;
  uint32_t count = 0;

  // Label 0 has none; do not ask.
  REGIONS_HD uint32_t of_label(uint32_t label) const {
    return label <= count ? regions[label - 1].track : label;
  }
  REGIONS_HD uint32_t of_code(uint32_t code) const { return regions[index_of(code)].track; }
};

// The colour last used and its encoding: neighbours mostly ask for the same.
struct TrackColor {
  bool known = false;
  uint32_t track = 0;
  int value[3] = {};

  REGIONS_HD void choose(const ColorEncoder& encoder, uint32_t wanted) {
    if (known && track == wanted) return;
    known = true;
    track = wanted;
    encoder.encode(track_color(wanted), value);
  }
};

// A colour in the picture's components, mixed in at alpha / 256.
struct Paint {
  int value[3] = {};
  int alpha = 0;

  Paint() = default;
  REGIONS_HD Paint(const int (&v)[3], int a) : value{v[0], v[1], v[2]}, alpha(a) {}
};

inline constexpr Rgb kDark = {12, 12, 16};
inline constexpr int kShadowAlpha = 150;  // of 256
inline constexpr int kPlateAlpha = 205;   // of 256

// One pixel: the uppermost of tag, box, outline, their shadows, fill.
REGIONS_HD inline Paint paint_of(const Painter& painter, const Tracks& tracks, uint32_t code,
                                 bool outline, bool shadow, uint32_t label, TrackColor& color) {
  const InkKind kind = kind_of(code);
  if (kind == InkKind::tag) {
    Paint paint(painter.dark, kPlateAlpha);
    const int cover = coverage_of(code);
    if (cover == 0) return paint;
    color.choose(painter.encoder, tracks.of_code(code));
    for (int c = 0; c < 3; ++c) paint.value[c] += (color.value[c] - paint.value[c]) * cover / 255;
    paint.alpha += (256 - paint.alpha) * cover / 255;
    return paint;
  }
  if (kind == InkKind::box_edge) {
    color.choose(painter.encoder, tracks.of_code(code));
    return {color.value, 256};
  }
  if (!outline && (shadow || kind == InkKind::box_shadow)) return {painter.dark, kShadowAlpha};
  if (!outline && (label == 0 || painter.fill_alpha == 0)) return {};
  color.choose(painter.encoder, tracks.of_label(label));
  return {color.value, outline ? 256 : painter.fill_alpha};
}

// Mixes component c of the block at (x0, y0), one sample for (1 << kXShift) x (1 << kYShift)
// pixels: the mean of what the pixels would get each. `wanted(i)` is the value that pixel i's paint
// wants.
template <int kXShift, int kYShift, class Wanted>
REGIONS_HD void mix_component(const Frame& picture, int c, int x0, int y0, const Paint (&paint)[4],
                              Wanted wanted) {
  for (int i = 0; i < 4; ++i) {
    const bool first_of_cell = ((i & 1) & kXShift) == 0 && ((i >> 1) & kYShift) == 0;
    const int x = x0 + (i & 1);
    const int y = y0 + (i >> 1);
    if (!first_of_cell || x >= picture.width || y >= picture.height) continue;
    int alphas = 0;
    for (int j = i; j < 4; ++j) {
      const bool same_cell = ((i ^ j) & 1 & ~kXShift) == 0 && ((i ^ j) >> 1 & ~kYShift) == 0;
      if (same_cell) alphas += paint[j].alpha;
    }
    if (alphas == 0) continue;
    const int old = picture.sample(c, x, y);
    int sum = 0;
    for (int j = i; j < 4; ++j) {
      const bool same_cell = ((i ^ j) & 1 & ~kXShift) == 0 && ((i ^ j) >> 1 & ~kYShift) == 0;
      if (same_cell) sum += paint[j].alpha * (wanted(j) - old);
    }
    // Cells at the right and lower end of an odd picture hold fewer pixels: 1, 2 or 4 in all.
    const int shift = 8 + (kXShift && x + 1 < picture.width) + (kYShift && y + 1 < picture.height);
    picture.set_sample(c, x, y, old + ((sum + (1 << (shift - 1))) >> shift));
  }
}

// Paints the block of pixels (x0, y0)..(x0 + 1, y0 + 1), both even. Bit i of `outline` and `shadow`
// and codes[i] belong to pixel (x0 + i % 2, y0 + i / 2); they are 0 outside the picture.
template <int kXShift, int kYShift>
REGIONS_HD void paint_block(const Painter& painter, const Tracks& tracks, int x0, int y0,
                            const uint32_t (&codes)[4], unsigned outline, unsigned shadow,
                            TrackColor& color) {
  const Frame& picture = painter.picture;
  Paint paint[4];
  for (int i = 0; i < 4; ++i) {
    const int x = x0 + (i & 1);
    const int y = y0 + (i >> 1);
    if (x >= picture.width || y >= picture.height) continue;
    const bool edge = outline >> i & 1;
    const bool rim = shadow >> i & 1;
    const bool reads_label = edge || rim || painter.fill_alpha != 0;
    const uint32_t label = reads_label ? painter.labels.at(x, y) : 0;
    paint[i] = paint_of(painter, tracks, codes[i], edge && label, rim && label, label, color);
  }
  const Layout& layout = picture.layout;
  mix_component<0, 0>(picture, 0, x0, y0, paint, [&](int i) { return paint[i].value[0]; });
  for (int c = 1; c < 3; ++c) {
    if (c >= layout.channels) break;
    mix_component<kXShift, kYShift>(picture, c, x0, y0, paint,
                                    [&](int i) { return paint[i].value[c]; });
  }
  if (layout.alpha) {
    // What is painted becomes visible on transparent pixels too.
    mix_component<0, 0>(picture, 3, x0, y0, paint, [&](int) { return layout.max_value(); });
  }
}

}  // namespace regions
