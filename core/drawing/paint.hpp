// Painting: mixes the colours of boxes, tags, outlines and fills into the pixels of a picture, in
// place and in blocks of 2x2 pixels. The functions support all formats, and both backends use them.
#pragma once

#include "core/drawing/stamp.hpp"

namespace regions {

// Converts R, G, B to a frame's stored components, in fixed point.
struct ColorEncoder {
  static constexpr int kShift = 14;
  int32_t weight[3][3] = {};  // [component][red, green, blue], in units of 1 / (1 << kShift)
  int32_t offset[3] = {};     // [component], added to the weighted sum; includes 0.5 for rounding
  int max = 255;              // largest value of a stored component

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

// Reads the label that is nearest to a pixel of the picture.
struct LabelSampler {
  LabelView view;
  uint32_t step_x = 0;  // label columns per picture column, times 1 << 16
  uint32_t step_y = 0;  // label rows per picture row, times 1 << 16

  // Index of the label nearest to picture coordinate n. The position (n + 0.5) * step stays below
  // 2^32 and inside the view for all sizes up to 65535.
  REGIONS_HD static constexpr ptrdiff_t nearest(int n, uint32_t step) {
    return (static_cast<uint32_t>(n) * step + step / 2) >> 16;
  }
  REGIONS_HD const std::byte* row(int y) const {
    return view.data + nearest(y, step_y) * view.pitch;
  }
  // True if each row contains one 32-bit label per picture pixel.
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

// Outlines. An edge pixel has an 8-neighbour with another label. A pixel has another label within
// Chebyshev distance d exactly if it has an edge pixel within d - 1. Therefore an outline of any
// thickness is a dilation of the edge bits by a square. Edge pixels with label 0 need no bit.
//
// Returns the middle word of five words after dilation by `radius` <= 64 bits to the left and
// right. Each step triples the width of the dilation window, as long as the radius allows it.
REGIONS_HD inline uint32_t dilated_word(const uint32_t (&around)[5], int radius) {
  if ((around[0] | around[1] | around[2] | around[3] | around[4]) == 0) return 0;
  uint32_t bits[5];
  for (int i = 0; i < 5; ++i) bits[i] = around[i];
  // For radius 64, the steps are 1, 3, 9, 27 and 24. They must be smaller than the 32 bits of a
  // word.
  for (int covered = 0; covered < radius;) {
    const int step = 2 * covered + 1 < radius - covered ? 2 * covered + 1 : radius - covered;
    uint32_t next[5];
    for (int i = 0; i < 5; ++i) {
      const uint64_t lower = i > 0 ? bits[i - 1] : 0;
      const uint64_t higher = i < 4 ? bits[i + 1] : 0;
      // Bit numbers increase with x: `up` moves bits to greater x, `down` to smaller x.
      const auto up = (static_cast<uint64_t>(bits[i]) << 32 | lower) << step >> 32;
      const auto down = (higher << 32 | bits[i]) >> step;
      next[i] = bits[i] | static_cast<uint32_t>(up) | static_cast<uint32_t>(down);
    }
    for (int i = 0; i < 5; ++i) bits[i] = next[i];
    covered += step;
  }
  return bits[2];
}

// Everything required to draw one frame. Passed to kernels by value.
struct Painter {
  Frame picture;  // drawn on in place
  LabelSampler labels;
  ColorEncoder encoder;
  int dark[3] = {};      // colour of shadows and tag backgrounds, as stored components
  int fill_opacity = 0;  // opacity of fills, 0..256
};
Painter painter_of(const Frame& picture, const LabelView& labels, const DrawingParams& params);

// Determines a colour: a track id, or the colour of a mark as 0xRRGGBB.
struct ColorKey {
  bool is_mark = false;
  uint32_t value = 0;

  REGIONS_HD constexpr bool operator==(const ColorKey& other) const {
    return is_mark == other.is_mark && value == other.value;
  }
  REGIONS_HD constexpr Rgb color() const {
    if (!is_mark) return track_color(value);
    return {static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
            static_cast<uint8_t>(value)};
  }
};

// Looks up the colour of a label or of an ink code in the region records.
struct Tracks {
  const Region* regions = nullptr;
  uint32_t count = 0;

  // The track id of a label. A region without a record uses its label. Must not be called for label
  // 0.
  REGIONS_HD ColorKey of_label(uint32_t label) const {
    const bool has_record = label <= count && has_label(regions[label - 1]);
    return {false, has_record ? regions[label - 1].track : label};
  }
  REGIONS_HD ColorKey of_code(uint32_t code) const {
    const Region& record = regions[index_of(code)];
    return is_mark(record) ? ColorKey{true, static_cast<uint32_t>(record.first_x)}
                           : ColorKey{false, record.track};
  }
};

// Caches the last encoded colour, because neighbouring pixels usually have the same colour.
struct TrackColor {
  bool known = false;  // false: no colour is cached yet
  ColorKey key;
  int value[3] = {};

  REGIONS_HD void set(const ColorEncoder& encoder, const ColorKey& requested) {
    if (known && key == requested) return;
    known = true;
    key = requested;
    encoder.encode(requested.color(), value);
  }
};

// A colour in the picture's components, and its opacity: it is mixed into the picture with weight
// alpha / 256.
struct Paint {
  int value[3] = {};
  int alpha = 0;

  Paint() = default;
  REGIONS_HD Paint(const int (&v)[3], int a) : value{v[0], v[1], v[2]}, alpha(a) {}
};

// Colour of shadows and of the background of tags.
inline constexpr Rgb kDark = {12, 12, 16};
inline constexpr int kShadowAlpha = 150;  // opacity of shadows, 0..256
inline constexpr int kTagAlpha = 205;     // opacity of the background of tags, 0..256

// Returns the paint of the topmost layer at one pixel. From top to bottom, the layers are tag, box,
// outline, shadow of box or outline, and fill.
REGIONS_HD inline Paint paint_of(const Painter& painter, const Tracks& tracks, uint32_t code,
                                 bool outline, bool shadow, uint32_t label, TrackColor& color) {
  const InkKind kind = kind_of(code);
  if (kind == InkKind::tag) {
    Paint paint(painter.dark, kTagAlpha);
    const int cover = coverage_of(code);
    if (cover == 0) return paint;
    color.set(painter.encoder, tracks.of_code(code));
    for (int c = 0; c < 3; ++c) paint.value[c] += (color.value[c] - paint.value[c]) * cover / 255;
    paint.alpha += (256 - paint.alpha) * cover / 255;
    return paint;
  }
  if (kind == InkKind::box_edge) {
    color.set(painter.encoder, tracks.of_code(code));
    return {color.value, 256};
  }
  if (!outline && (shadow || kind == InkKind::box_shadow)) return {painter.dark, kShadowAlpha};
  if (!outline && (label == 0 || painter.fill_opacity == 0)) return {};
  color.set(painter.encoder, tracks.of_label(label));
  return {color.value, outline ? 256 : painter.fill_opacity};
}

// The inputs of a block of 2x2 pixels at (x0, y0). Pixel i is (x0 + i % 2, y0 + i / 2). Values
// outside the picture are zero.
struct BlockInk {
  uint32_t codes[4] = {};
  uint32_t labels[4] = {};  // only read for fills and where `outline` or `shadow` is set
  unsigned outline = 0;     // bit i: pixel i belongs to an outline
  unsigned shadow = 0;      // bit i: pixel i belongs to an outline's shadow

  // True if pixels i and j get the same paint.
  REGIONS_HD bool are_equal(int i, int j) const {
    return codes[i] == codes[j] && labels[i] == labels[j] &&
           ((outline >> i ^ outline >> j) & 1) == 0 && ((shadow >> i ^ shadow >> j) & 1) == 0;
  }
};

// Properties of a format's storage that are compile-time constants.
template <int kX, int kY, int kBytes>
struct Storage {
  static constexpr int kXShift = kX;  // log2 of the horizontal chroma subsampling
  static constexpr int kYShift = kY;  // log2 of the vertical chroma subsampling
  static constexpr int kSampleBytes = kBytes;
};

// Address of one stored sample; `low_bits` is the number of its unused low bits.
template <int kBytes>
struct SamplePosition {
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

// Mixes the paint into component c of the 2x2 block at (x0, y0). One sample covers (1 << kXShift) x
// (1 << kYShift) pixels and gets the mean of their results. `value_of(i)` is the value of the
// component in the paint of pixel i.
template <int kXShift, int kYShift, int kBytes, class ValueOf>
REGIONS_HD void mix_component(const Frame& picture, int c, int x0, int y0, const Paint (&paint)[4],
                              ValueOf value_of) {
  // A sample covers 1, 2 or 4 pixels; at the right and bottom borders of odd-sized pictures it
  // covers fewer than elsewhere.
  const int shift = 8 + (kXShift && x0 + 1 < picture.width) + (kYShift && y0 + 1 < picture.height);
  const int low_bits = picture.layout.low_bits;
  const int step = picture.layout.component[c].step;
  const ptrdiff_t pitch = picture.pitch[picture.layout.component[c].plane];
  auto* first = reinterpret_cast<uint8_t*>(picture.at(c, x0, y0));
  for (int i = 0; i < 4; ++i) {
    if (((i & 1) & kXShift) != 0 || ((i >> 1) & kYShift) != 0)
      continue;  // an earlier pixel of the block has handled this sample
    int alpha_sum = 0;
    int sum = 0;
    for (int j = i; j < 4; ++j) {
      if (((i ^ j) & 1 & ~kXShift) != 0 || ((i ^ j) >> 1 & ~kYShift) != 0) continue;
      alpha_sum += paint[j].alpha;
      sum += paint[j].alpha * value_of(j);
    }
    if (alpha_sum == 0) continue;  // nothing to paint; this is also the case outside the picture
    const SamplePosition<kBytes> sample{first + (i >> 1) * pitch + (i & 1) * step, low_bits};
    const int old = sample.load();
    sample.store(old + ((sum - alpha_sum * old + (1 << (shift - 1))) >> shift));
  }
}

// Paints the pixels (x0, y0)..(x0 + 1, y0 + 1); x0 and y0 are even.
template <class Stored>
REGIONS_HD void paint_block(const Painter& painter, const Tracks& tracks, int x0, int y0,
                            const BlockInk& ink, TrackColor& color) {
  Paint paint[4];
  int alpha_sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && ink.are_equal(i, i - 1)) {
      paint[i] = paint[i - 1];
    } else {
      const uint32_t label = ink.labels[i];
      paint[i] = paint_of(painter, tracks, ink.codes[i], (ink.outline >> i & 1) && label,
                          (ink.shadow >> i & 1) && label, label, color);
    }
    alpha_sum += paint[i].alpha;
  }
  if (alpha_sum == 0) return;
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
    // Painted pixels become opaque, also in transparent pictures.
    const int opaque = picture.layout.max_value();
    mix_component<0, 0, kBytes>(picture, 3, x0, y0, paint, [=](int) { return opaque; });
  }
}

// Calls use(Storage<...>()) for this format.
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
