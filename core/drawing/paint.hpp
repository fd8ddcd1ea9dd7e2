// From ink, outlines and labels to pixels: the colours of one 2x2 block of a picture, in place.
// One function for all formats and both backends.
#pragma once

#include "core/drawing/stamp.hpp"

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
  // Whether a row holds one 32-bit label for each pixel of the picture.
  REGIONS_HD bool is_plain() const { return view.bytes == 4 && step_x == 1 << 16; }
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

// What a 2x2 block of pixels gets, zeros outside the picture. Pixel i is (x0 + i % 2, y0 + i / 2).
struct BlockInk {
  uint32_t codes[4] = {};
  uint32_t labels[4] = {};  // read where `outline` or `shadow` is set, and by fill
  unsigned outline = 0;     // bit i
  unsigned shadow = 0;      // bit i

  REGIONS_HD bool alike(int i, int j) const {
    return codes[i] == codes[j] && labels[i] == labels[j] &&
           ((outline >> i ^ outline >> j) & 1) == 0 && ((shadow >> i ^ shadow >> j) & 1) == 0;
  }
};

// How a format stores samples, as far as it is worth compiling apart.
template <int kX, int kY, int kBytes>
struct Storage {
  static constexpr int kXShift = kX;  // of chroma
  static constexpr int kYShift = kY;
  static constexpr int kSampleBytes = kBytes;
};

template <int kBytes>
struct SamplePlace {
  uint8_t* at;
  int low_bits;

  REGIONS_HD int load() const {
    if constexpr (kBytes == 1) return at[0];
    return (at[0] | at[1] << 8) >> low_bits;
  }
  REGIONS_HD void store(int value) const {
    if constexpr (kBytes == 2) {
      value <<= low_bits;
      at[1] = static_cast<uint8_t>(value >> 8);
    }
    at[0] = static_cast<uint8_t>(value);
  }
};

// Mixes component c of the block at (x0, y0), one sample for (1 << kXShift) x (1 << kYShift)
// pixels: the mean of what the pixels would get each. `wanted(i)` is the value pixel i's paint
// wants.
template <int kXShift, int kYShift, int kBytes, class Wanted>
REGIONS_HD void mix_component(const Frame& picture, int c, int x0, int y0, const Paint (&paint)[4],
                              Wanted wanted) {
  // Cells at the right and lower end of an odd picture hold fewer pixels: 1, 2 or 4 in all.
  const int shift = 8 + (kXShift && x0 + 1 < picture.width) + (kYShift && y0 + 1 < picture.height);
  const int low_bits = picture.layout.low_bits;
  const int step = picture.layout.component[c].step;
  const ptrdiff_t pitch = picture.pitch[picture.layout.component[c].plane];
  auto* first = reinterpret_cast<uint8_t*>(picture.at(c, x0, y0));
  for (int i = 0; i < 4; ++i) {
    if (((i & 1) & kXShift) != 0 || ((i >> 1) & kYShift) != 0) continue;  // in an earlier cell
    int alphas = 0;
    int sum = 0;
    for (int j = i; j < 4; ++j) {
      if (((i ^ j) & 1 & ~kXShift) != 0 || ((i ^ j) >> 1 & ~kYShift) != 0) continue;
      alphas += paint[j].alpha;
      sum += paint[j].alpha * wanted(j);
    }
    if (alphas == 0) continue;  // also outside the picture
    const SamplePlace<kBytes> place{first + (i >> 1) * pitch + (i & 1) * step, low_bits};
    const int old = place.load();
    place.store(old + ((sum - alphas * old + (1 << (shift - 1))) >> shift));
  }
}

// Paints the block of pixels (x0, y0)..(x0 + 1, y0 + 1), both even.
template <class Stored>
REGIONS_HD void paint_block(const Painter& painter, const Tracks& tracks, int x0, int y0,
                            const BlockInk& ink, TrackColor& color) {
  Paint paint[4];
  int alphas = 0;
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && ink.alike(i, i - 1)) {
      paint[i] = paint[i - 1];
    } else {
      const uint32_t label = ink.labels[i];
      paint[i] = paint_of(painter, tracks, ink.codes[i], (ink.outline >> i & 1) && label,
                          (ink.shadow >> i & 1) && label, label, color);
    }
    alphas += paint[i].alpha;
  }
  if (alphas == 0) return;
  constexpr int kBytes = Stored::kSampleBytes;
  const Frame& picture = painter.picture;
  mix_component<0, 0, kBytes>(picture, 0, x0, y0, paint, [&](int i) { return paint[i].value[0]; });
  if (picture.layout.channels == 3) {
    for (int c = 1; c < 3; ++c) {
      mix_component<Stored::kXShift, Stored::kYShift, kBytes>(
          picture, c, x0, y0, paint, [&](int i) { return paint[i].value[c]; });
    }
  }
  if (picture.layout.alpha) {
    // What is painted becomes visible on transparent pixels too.
    const int opaque = picture.layout.max_value();
    mix_component<0, 0, kBytes>(picture, 3, x0, y0, paint, [=](int) { return opaque; });
  }
}

// Calls use(Storage<...>()) with how this format stores samples.
template <class Use>
auto with_storage(const Layout& layout, Use use) {
  const Component& chroma = layout.component[1];
  if (layout.sample_bytes == 2) {
    return chroma.y_shift ? use(Storage<1, 1, 2>()) : use(Storage<0, 0, 2>());
  }
  if (chroma.y_shift) return use(Storage<1, 1, 1>());
  return chroma.x_shift ? use(Storage<1, 0, 1>()) : use(Storage<0, 0, 1>());
}

}  // namespace regions
